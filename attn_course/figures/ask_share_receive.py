"""The one picture of attention: a question, shares, and what is received."""

import numpy as np
from traitlets import Bool, Enum, Int, List, TraitError, Unicode

from attn.attention import scaled_dot_product_attention
from attn_course.figures.base import Explorable, Number, Shaped, Words, check_range, listed

ADDED = ["", "temperature", "length", "mask", "learning"]


class AskShareReceive(Explorable):
    """One query as an arrow in the plane, shares as ribbons, and values that pull the output.

    Parameters
    ----------
    tokens : list of str
        The words whose keys and values are shown.
    asker : str
        The word that asks.
    q : array_like, shape (2,)
    K : array_like, shape (n, 2)
    V : array_like, shape (n, 2)
    adds : {"", "temperature", "length", "mask", "learning"}
        What this one has more: a temperature; longer vectors, which multiply the scores; words that can be hidden; or
        the step that learning takes.
    temperature : float
        What the scores are divided by as well; above zero.
    d_k : int
        How many entries queries and keys have. The plane shows two; scores of d_k independent entries spread as widely
        as those of two, times the square root of d_k / 2, and so the scores of the plane are multiplied by that.
    scaled : bool
        Whether the scores are divided by the square root of d_k.
    hidden : array_like of bool, shape (n,), optional
        Which words may not be looked at.
    E : array_like, shape (2,), optional
        The vector of the asker, to which the output is added.
    learns : str
        The word that the query can learn to take more from; "" for none.
    puzzle : list
        A word, the share that it is to get, and what is said when it does; or nothing. With one pane the word is to get
        the highest score.
    panes : int
        How many of the three pictures are shown, from the first on.
    linked : str
        Figures of a page that have the same word here have the same arrow; "" for none.
    shows : bool
        Whether it learns once by itself, when it is seen first, and goes back to where it was.
    """

    tokens = Words("n")
    asker = Unicode()
    q = Shaped("2")
    K = Shaped("n 2")
    V = Shaped("n 2")
    adds = Enum(ADDED, "")
    temperature = Number(1.0)
    d_k = Int(2, min=1)
    scaled = Bool(True)
    hidden = Shaped("n", bool, optional=True)
    E = Shaped("2", optional=True)
    learns = Unicode("")
    puzzle = List()
    panes = Int(3)
    linked = Unicode("")
    shows = Bool(False)

    def check(self, state):
        if state["temperature"] <= 0:
            raise TraitError(f"temperature must be above zero, but is {state['temperature']}")
        check_range(state, 1, 3, "panes")
        for name, word in {"learns": state["learns"], "puzzle": "".join(state["puzzle"][:1])}.items():
            if word and word not in state["tokens"]:
                raise TraitError(f"{name} needs one of {', '.join(state['tokens'])}, but names {word!r}")

    def _attend(self):
        """The output and weights as they stand, of one query."""
        divisor = self.temperature * (np.sqrt(self.d_k) if self.scaled else 1)
        allowed = None if self.hidden is None else ~np.array([self.hidden])
        return scaled_dot_product_attention([self.q], self.K, self.V, allowed, scale=np.sqrt(self.d_k / 2) / divisor)

    @property
    def weights(self):
        """The weights of the asker as they stand: array, shape (n,)."""
        return self._attend()[1][0]

    @property
    def output(self):
        """What the asker receives: array, shape (2,)."""
        return self._attend()[0][0]

    def describe(self):
        return f"Ask, share, receive: {self.asker!r} takes {listed(self.tokens, self.weights, 3)}"
