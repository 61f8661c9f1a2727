"""One sentence with a wire in it: one head of another sentence hands over what it has mixed there."""

import traitlets

from attn.interventions import head_names
from attn_course.figures.base import Explorable, check_heads
from attn_course.figures.wall import MODELS
from attn_course.measured import read_measured

HEADS = head_names(*MODELS["SmolLM2"][1:3])


class Wire(Explorable):
    """Two sentences that differ in the country, and the heads of SmolLM2, one of which may connect them.

    Parameters
    ----------
    one, other : str
        The countries of the sentence that is continued, and of the one from which a head hands over.
    head : str
        The head that does, or "" for none.
    recording : dict, optional
        That of `recordings.smollm2.wire`.
    """

    wording = traitlets.Unicode()
    capitals = traitlets.Dict()
    pairs = traitlets.Dict()
    one = traitlets.Unicode()
    other = traitlets.Unicode()
    head = traitlets.Unicode("")

    def __init__(self, one="France", other="Japan", *, recording=None, **kwargs):
        recording = read_measured("smollm2_wire") if recording is None else recording
        known = {"wording": recording["wording"], "capitals": recording["capitals"], "pairs": recording["runs"]}
        super().__init__(**known, one=one, other=other, **kwargs)

    def check(self, state):
        if f"{state['one']}, {state['other']}" not in state["pairs"]:
            raise traitlets.TraitError(
                f"two of {', '.join(state['capitals'])} are compared, but these are {state['one']} and {state['other']}"
            )
        if state["head"]:
            check_heads([state["head"]], HEADS)

    @property
    def likely(self):
        """How likely the own capital and the other one are with the wire as it is: tuple of float."""
        pair = self.pairs[f"{self.one}, {self.other}"]
        if not self.head:
            return tuple(pair["as it is"])
        place = HEADS.index(self.head)
        return pair["own"][place], pair["other"][place]

    def describe(self):
        own, other = self.likely
        by = f"with {self.head} of {self.wording.format(self.other)!r}" if self.head else "as it is"
        return (
            f"{self.wording.format(self.one)!r}, {by}: {self.capitals[self.one]} {own:.3f}, "
            f"{self.capitals[self.other]} {other:.3f}"
        )
