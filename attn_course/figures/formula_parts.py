"""A formula whose parts answer when they are pressed."""

import traitlets

from attn_course.figures.base import Explorable, check_range

ROLES = ["", "query", "key", "weight", "value"]


class FormulaParts(Explorable):
    """A formula in one line, and what the part that is pressed means.

    Parameters
    ----------
    parts : list of (str, str, str)
        A symbol, its role (one of `ROLES`), and what it means; nothing, where it is not to be pressed.
    chosen : int
        Which part is explained, counted among all; -1 for none yet.
    """

    parts = traitlets.List(traitlets.List(traitlets.Unicode(), minlen=3, maxlen=3), minlen=1)
    chosen = traitlets.Int(-1)

    def check(self, state):
        if unknown := {role for _, role, _ in state["parts"]} - {*ROLES}:
            raise traitlets.TraitError(f"a role is one of {ROLES}, but there is {sorted(unknown)}")
        check_range(state, -1, len(state["parts"]) - 1, "chosen")

    def describe(self):
        return " ".join(symbol for symbol, _, _ in self.parts)
