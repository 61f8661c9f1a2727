"""The notes of a recurrent network as a square, into which pairs of a key and a value are written."""

import numpy as np
from traitlets import Enum, Int, TraitError

from attn import softmax
from attn_course.figures.base import Explorable, Place, Shaped, check_range

GATE = 0.8  # by which the notes are multiplied, under that rule, before each pair
SHARP = 40  # by which attention multiplies its scores


class NotesSquare(Explorable):
    """Pairs in one square of notes: each pair that is written, how well it is read back, and by attention.

    Parameters
    ----------
    K : array_like, shape (n, d_k)
        The keys, each of length 1.
    V : array_like, shape (n, d_v)
        The values: none is zero, and no two are the same.
    written : int
        How many of the pairs are written, from the first.
    rule : "sum", "delta rule" or "gate"
    asked : int
        The pair whose key is read.
    """

    K = Shaped("n d_k")
    V = Shaped("n d_v")
    written = Int(1)
    rule = Enum(["sum", "delta rule", "gate"], "sum")
    asked = Place("n")

    def check(self, state):
        n, lengths = len(state["K"]), np.linalg.norm(state["K"], axis=1)
        if np.abs(lengths - 1).max() > 0.001:
            raise TraitError(f"the keys in K need length 1, but there is {lengths[np.abs(lengths - 1).argmax()]:.3g}")
        if not np.any(state["V"], axis=1).all():
            raise TraitError("the values in V need a direction, but one of them is zero")
        if len({tuple(value) for value in state["V"]}) < n:
            raise TraitError("the values in V need to differ, but two of them are the same")
        check_range(state, 0, n, "written")

    @property
    def notes(self):
        """The square: ndarray, shape (d_k, d_v)."""
        K, V = np.array(self.K), np.array(self.V)
        notes = np.zeros((K.shape[1], V.shape[1]))
        for k, v in zip(K[: self.written], V):
            kept = GATE if self.rule == "gate" else 1
            notes = kept * notes + np.outer(k, v - k @ notes if self.rule == "delta rule" else v)
        return notes

    @property
    def right(self):
        """How many pairs the notes read right, and attention, by the nearest of the values written: list of int."""
        if not self.written:
            return [0, 0]
        K, V = (np.array(rows[: self.written]) for rows in (self.K, self.V))
        read = np.stack([K @ self.notes, softmax(SHARP * K @ K.T) @ V])
        nearest = (read @ (V / np.linalg.norm(V, axis=1, keepdims=True)).T).argmax(axis=-1)
        return (nearest == np.arange(self.written)).sum(axis=1).tolist()

    def describe(self):
        told = "of {} pairs written by the {}, the notes read {} right, and attention {}"
        return f"Notes: {told.format(self.written, self.rule, *self.right)}"
