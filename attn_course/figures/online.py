"""Softmax and mixture of scores that are read one at a time."""

import numpy as np
from traitlets import Int

from attn import softmax
from attn_course.figures.base import Explorable, Shaped, check_range


class OnlineSoftmax(Explorable):
    """Scores that come one by one: the largest so far, the sum of powers below it, and the mixture of values.

    Parameters
    ----------
    scores, values : array_like, shape (n,)
        A value is one number here.
    seen : int
        How many of them have come, from 1.
    """

    scores = Shaped("n")
    values = Shaped("n")
    seen = Int(1)

    def check(self, state):
        check_range(state, 1, len(state["scores"]), "seen")

    @property
    def output(self):
        """The mixture of what has come: float."""
        return float(softmax(np.array(self.scores[: self.seen])) @ self.values[: self.seen])

    def describe(self):
        return f"Online softmax: {self.seen} of {len(self.scores)} scores have come; output {self.output:.2f}"
