"""Several heads ask the same words, and what they receive is added up."""

import numpy as np
from traitlets import Unicode

from attn.attention import scaled_dot_product_attention
from attn_course.figures.base import Explorable, Shaped, Words, listed


class AskThreeTimes(Explorable):
    """A query for each head as an arrow among that head's keys, and their outputs added to the word.

    Parameters
    ----------
    tokens : list of str
        The words that are asked.
    asker : str
        The word that asks.
    heads : list of str
        A name for each head; three fit beside each other.
    E : array_like, shape (2,)
        The vector of the asker.
    Q : array_like, shape (h, 2)
        Its query in each head.
    K, V : array_like, shape (h, n, 2)
        Keys and values of the words in each head, the values after the output matrix, so that they can be added.
    """

    tokens = Words("n")
    asker = Unicode()
    heads = Words("h")
    E = Shaped("2")
    Q = Shaped("h 2")
    K = Shaped("h n 2")
    V = Shaped("h n 2")

    def _attend(self):
        """The outputs and weights of all heads as they stand."""
        output, weights = scaled_dot_product_attention(np.array(self.Q)[:, None], self.K, self.V)
        return output[:, 0], weights[:, 0]

    @property
    def weights(self):
        """The weights of each head as they stand: array, shape (h, n)."""
        return self._attend()[1]

    @property
    def moved(self):
        """The vector of the asker with all outputs added: array, shape (2,)."""
        return np.array(self.E) + self._attend()[0].sum(axis=0)

    def describe(self):
        told = [f"{head} ({listed(self.tokens, weights, 3)})" for head, weights in zip(self.heads, self.weights)]
        return f"Ask, three times: {self.asker!r} asks " + "; ".join(told)
