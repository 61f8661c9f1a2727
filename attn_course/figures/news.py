"""News of a word, handed on from word to word or taken in one jump."""

import math

import traitlets

from attn_course.figures.base import Explorable, Number, check_range

FARTHEST = 40


class NewsExplorer(Explorable):
    """What arrives of a change of the first word: handed on from word to word, and by attention in one jump.

    Parameters
    ----------
    keeps : float
        The share of the trace that a recurrent network keeps at each word, from 0 to 1.
    score : float
        The score of the first word in attention; all other words have 0.
    distance : int
        How many words after the first one the last word stands, from 1 to 40.
    """

    keeps = Number(0.78)
    score = Number(10.0)
    distance = traitlets.Int(12)

    def check(self, state):
        check_range(state, 0, 1, "keeps")
        check_range(state, 1, FARTHEST, "distance")

    @property
    def shares(self):
        """What arrives through the notes of the network, and what attention takes from the first word."""
        return self.keeps**self.distance, 1 / (1 + self.distance * math.exp(-self.score))

    def describe(self):
        notes, jump = self.shares
        return f"News explorer: over {self.distance} words {notes:.2g} arrives word by word, {jump:.3f} in one jump"
