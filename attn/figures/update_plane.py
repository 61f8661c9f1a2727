"""A word in the plane, moved by weighted values."""

import numpy as np
from traitlets import Unicode

from attn.attention import softmax
from attn.figures.base import Explorable, Named, Shaped, Words, listed


class UpdatePlane(Explorable):
    """A word in the plane, moved by the weighted sum of values; the reader pulls at the weights.

    Parameters
    ----------
    tokens : list of str
        The words it attends to.
    asker : str
        The word that moves.
    E : array_like, shape (2,)
        Where it starts.
    V : array_like, shape (n, 2)
    scores : array_like, shape (n,)
        Scaled scores.
    axes : list of two str
        What the entries stand for.
    spots : dict of array_like, shape (2,)
        Named places to aim for.
    """

    tokens = Words("n")
    asker = Unicode()
    E = Shaped("2")
    V = Shaped("n 2")
    scores = Shaped("n")
    axes = Words("2")
    spots = Named("n_spots 2")

    @property
    def weights(self):
        """The weights as they stand: array, shape (n,)."""
        return softmax(self.scores)

    @property
    def moved(self):
        """Where the word goes: array, shape (2,)."""
        return np.array(self.E) + self.weights @ np.array(self.V)

    def describe(self):
        x, y = self.moved
        weights = listed(self.tokens, self.weights, 2)
        return f"Update plane: {self.asker!r} moves to ({x:.2f}, {y:.2f}), attending to {weights}"
