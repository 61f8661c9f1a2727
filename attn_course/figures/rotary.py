"""A query and a key that are turned by where they stand."""

import numpy as np
import traitlets

from attn_course.figures.base import Explorable, Number, Shaped, Words, check_range

LAST = 40  # as in rotary.js


class RotaryExplorer(Explorable):
    """One pair of entries of a query and of a key, each turned by an angle that grows with its position.

    Parameters
    ----------
    query, key : array_like, shape (2,)
        As they are before they are turned.
    turn : float
        The angle per position, in radians.
    query_at, key_at : int
        Their positions, from 0 to 40.
    names : list of str
        What the two and their dot product are called.
    """

    query = Shaped("2")
    key = Shaped("2")
    turn = Number(0.3)
    query_at = traitlets.Int(5)
    key_at = traitlets.Int(2)
    names = Words("3")

    @traitlets.default("names")
    def _of_attention(self):
        return ["query", "key", "score"]

    def check(self, state):
        check_range(state, 0, LAST, "query_at", "key_at")

    @property
    def turned(self):
        """Query and key as they are compared: array, shape (2, 2)."""
        pairs = np.array([self.query, self.key]) @ [1, 1j]
        pairs = pairs * np.exp(1j * self.turn * np.array([self.query_at, self.key_at]))
        return np.stack([pairs.real, pairs.imag], axis=-1)

    @property
    def score(self):
        """The dot product of both, not scaled."""
        query, key = self.turned
        return float(query @ key)

    def describe(self):
        one, other, product = self.names
        places = f"{one} at {self.query_at}, {other} at {self.key_at}"
        return f"Rotary explorer: {places}, {self.turn:.2f} radians a position: {product} {self.score:.2f}"
