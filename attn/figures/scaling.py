"""How large scores, and the scale that tames them, change softmax."""

import numpy as np
from traitlets import Bool

from attn.attention import softmax
from attn.figures.base import Explorable, Number, Place, Shaped


class ScalingExplorer(Explorable):
    """One query's scores for vectors of more and more entries, their softmax, and its Jacobian.

    Parameters
    ----------
    sizes : array_like of int, shape (n_sizes,)
        The numbers of entries d_k to choose from.
    scores : array_like, shape (n_sizes, n_keys)
        The unscaled scores for each d_k, of at most 8 keys.
    chosen : int
        Which of the sizes is shown.
    scaled : bool
        Whether the scores are divided by the square root of d_k.
    key : int
        The key whose score is moved.
    nudge : float
        By how much it is moved, after the division.
    """

    sizes = Shaped("n_sizes", int)
    scores = Shaped("n_sizes n_keys")
    chosen = Place("n_sizes")
    scaled = Bool(False)
    key = Place("n_keys")
    nudge = Number(0.0, min=-1, max=1)

    @property
    def weights(self):
        """The weights as they stand: array, shape (n_keys,)."""
        scores = np.array(self.scores[self.chosen])
        if self.scaled:
            scores /= np.sqrt(self.sizes[self.chosen])
        scores[self.key] += self.nudge
        return softmax(scores)

    @property
    def jacobian(self):
        """How each weight answers to each score: array, shape (n_keys, n_keys)."""
        weights = self.weights
        return np.diag(weights) - np.outer(weights, weights)

    def describe(self):
        d_k, largest, trace = self.sizes[self.chosen], self.weights.max(), np.trace(self.jacobian)
        return f"Scaling explorer: d_k {d_k}, largest weight {largest:.3f}, trace {trace:.3f}"
