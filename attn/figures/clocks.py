"""The vectors of places as the hands of clocks."""

import traitlets

from attn.figures.base import Explorable, check_range
from attn.positions import sinusoid


class ClockExplorer(Explorable):
    """The sinusoids of two places, each pair of entries as the hand of a clock, and their dot product.

    Parameters
    ----------
    one, other : int
        The places, from 0 to `last`.
    last : int
    entries : int
        How many entries a vector has: even, at most 12.
    """

    one = traitlets.Int(10)
    other = traitlets.Int(13)
    last = traitlets.Int(100)
    entries = traitlets.Int(8, min=2, max=12)

    def check(self, state):
        check_range(state, 0, state["last"], "one", "other")
        if state["entries"] % 2:
            raise traitlets.TraitError(f"entries must be even, but is {state['entries']}")

    @property
    def product(self):
        """The dot product of the vectors of both places."""
        one, other = (sinusoid(1, self.entries, start=place)[0] for place in (self.one, self.other))
        return float(one @ other)

    def describe(self):
        return f"Clocks: places {self.one} and {self.other}, dot product {self.product:.2f}"
