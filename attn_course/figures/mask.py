"""Who may see whom."""

import numpy as np
from traitlets import Bool, default

from attn.attention import softmax
from attn_course.figures.base import Explorable, Shaped, Words, listed


class MaskExplorer(Explorable):
    """The scores of a short sentence under a mask, and the weights that are left of them.

    Parameters
    ----------
    tokens : list of str, 2 to 8 of them
    scores : array_like, shape (n, n)
        Scaled scores; row i belongs to the word that asks.
    mask : array_like of bool, shape (n, n)
        True where the word of the row may see the word of the column; default: all True.
    after : bool
        Whether a hidden word loses its weight after softmax, instead of its score before it.
    """

    tokens = Words("n")
    scores = Shaped("n n")
    mask = Shaped("n n", bool)
    after = Bool(False)

    @default("mask")
    def _see_all(self):
        return np.ones(np.shape(self.scores), bool)

    @property
    def weights(self):
        """The pattern as it stands: array, shape (n, n)."""
        scores, mask = np.array(self.scores), np.array(self.mask)
        return softmax(scores) * mask if self.after else softmax(np.where(mask, scores, -np.inf))

    def describe(self):
        hidden = np.size(self.mask) - np.sum(self.mask)
        weights = listed(self.tokens, self.weights[-1], 2)
        return f"Mask explorer: {hidden} of {np.size(self.mask)} pairs hidden; {self.tokens[-1]!r} attends to {weights}"
