"""Scores, and what softmax makes of them."""

import numpy as np
from traitlets import Bool, TraitError

from attn.attention import softmax
from attn_course.figures.base import Explorable, Number, Shaped, Words, listed


class SoftmaxExplorer(Explorable):
    """One score for each word, and the weights that softmax makes of the scores.

    Parameters
    ----------
    tokens : list of str, 2 to 10 of them
    scores : array_like, shape (n,)
    temperature : float
        What the scores are divided by; above zero.
    offset : float
        What is added to every score.
    knobs : bool
        Whether the reader can move temperature and offset.
    """

    tokens = Words("n")
    scores = Shaped("n")
    temperature = Number(1.0)
    offset = Number(0.0)
    knobs = Bool(False)

    def check(self, state):
        if state["temperature"] <= 0:
            raise TraitError(f"temperature must be above zero, but is {state['temperature']}")

    @property
    def weights(self):
        """The distribution as it stands: array, shape (n,)."""
        return softmax((np.array(self.scores) + self.offset) / self.temperature)

    def describe(self):
        return f"Softmax explorer: {listed(self.tokens, self.weights, 3)}"
