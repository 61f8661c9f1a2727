"""A dot product as a random walk."""

import numpy as np
from traitlets import Int

from attn_course.figures.base import Explorable


class WalkExplorer(Explorable):
    """Forty dot products of two random vectors, entry by entry: walks that spread like the root of d_k.

    The entries are drawn in the page, by Box and Muller from mulberry32, so that a seed always gives the same walks.

    Parameters
    ----------
    d_k : int
        How many entries the vectors have, at most 256.
    seed : int
    """

    d_k = Int(64, min=1, max=256)
    seed = Int(1, min=0)

    def describe(self):
        return f"Walks: forty dot products of {self.d_k} entries, expected to spread by {np.sqrt(self.d_k):.1f}"
