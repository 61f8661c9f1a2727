"""The gradient at scores, from the gradient at the weights that softmax made of them."""

import numpy as np

from attn import softmax
from attn_course.figures.base import Explorable, Shaped, Words, listed


class SoftmaxBackward(Explorable):
    """Weights as the widths of columns, the gradient at them as heights, and what arrives at the scores as areas.

    Parameters
    ----------
    tokens : list of str
        The keys.
    scores, gradient : array_like, shape (n,)
        The scores, and how the error changes with each weight.
    """

    tokens = Words("n")
    scores = Shaped("n")
    gradient = Shaped("n")

    @property
    def at_scores(self):
        """How the error changes with each score: ndarray, shape (n,)."""
        weights, gradient = softmax(np.array(self.scores)), np.array(self.gradient)
        return weights * (gradient - weights @ gradient)

    def describe(self):
        return f"Softmax, backward: the gradient at the scores is {listed(self.tokens, self.at_scores, 2)}"
