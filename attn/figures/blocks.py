"""Heads side by side, or added up: one product in blocks."""

import numpy as np

from attn.figures.base import Explorable, Number, Place, Shaped, check_range


class BlocksExplorer(Explorable):
    """The mixtures of all heads in one long row, times all of W_O; or each head's times its own block, added up.

    Parameters
    ----------
    mixtures : array_like, shape (n_heads, d_v)
        What each head has mixed for one word.
    W_O : array_like, shape (n_heads, d_v, d_model)
    apart : float
        How far the blocks are drawn apart: from 0, side by side, to 1, each head alone.
    entry : int
        The entry of the update whose sum is written out.
    """

    mixtures = Shaped("n_heads d_v")
    W_O = Shaped("n_heads d_v d_model")
    apart = Number(0.0)
    entry = Place("d_model")

    def check(self, state):
        check_range(state, 0, 1, "apart")

    @property
    def updates(self):
        """What each head writes: array, shape (n_heads, d_model)."""
        return np.einsum("hv,hvd->hd", self.mixtures, self.W_O)

    def describe(self):
        total = ", ".join(f"{number:.3g}" for number in self.updates.sum(axis=0))
        return f"Blocks explorer: {len(self.mixtures)} heads, side by side or added up, write ({total})"
