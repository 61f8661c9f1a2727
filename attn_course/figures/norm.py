"""What layer norm keeps of a vector, and what it forgets."""

import numpy as np
import traitlets

from attn.layers import layer_norm
from attn_course.figures.base import Explorable, Shaped


class NormExplorer(Explorable):
    """A vector before and after layer norm, with gain 1 and bias 0.

    Parameters
    ----------
    x : array_like, shape (n,)
        2 to 5 entries, from -6 to 6.
    """

    x = Shaped("n")

    def check(self, state):
        if not 2 <= len(state["x"]) <= 5 or np.abs(state["x"]).max() > 6:
            raise traitlets.TraitError(f"x needs 2 to 5 entries from -6 to 6, but is {state['x']}")

    @property
    def normed(self):
        """The vector after the norm: array, shape (n,)."""
        return layer_norm(np.array(self.x), np.ones(len(self.x)), np.zeros(len(self.x)))

    def describe(self):
        return f"Layer norm: {self.x} becomes {self.normed.round(2).tolist()}"
