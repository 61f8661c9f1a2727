"""Several heads on one short sentence."""

import numpy as np

from attn.figures.base import Explorable, Named, Place, Shaped, Words, listed
from attn.heads import multi_head_attention


class HeadsExplorer(Explorable):
    """Several heads on one short sentence: the pattern of each, and what each adds to a word.

    Parameters
    ----------
    tokens : list of str, 2 to 8 of them
    known : dict of array_like, shape (d_model,)
        The embedding of each word that has one; other words have only zeros.
    W_Q, W_K : array_like, shape (n_heads, d_model, d_k)
    W_V : array_like, shape (n_heads, d_model, d_v)
    W_O : array_like, shape (n_heads, d_v, d_model)
    heads, axes : list of str
        Names of the heads, and of the entries of an embedding.
    head, query : int
        The head and the word that are shown.
    """

    tokens = Words("n")
    known = Named("n_known d_model")
    W_Q = Shaped("n_heads d_model d_k")
    W_K = Shaped("n_heads d_model d_k")
    W_V = Shaped("n_heads d_model d_v")
    W_O = Shaped("n_heads d_v d_model")
    heads = Words("n_heads")
    axes = Words("d_model")
    head = Place("n_heads")
    query = Place("n")

    @property
    def weights(self):
        """The pattern of each head: array, shape (n_heads, n, n)."""
        nothing = np.zeros(len(self.axes))
        X = np.array([self.known.get(token, nothing) for token in self.tokens])
        return multi_head_attention(X, *map(np.array, (self.W_Q, self.W_K, self.W_V, self.W_O)))[1]

    def describe(self):
        head, word = self.heads[self.head], self.tokens[self.query]
        weights = listed(self.tokens, self.weights[self.head, self.query], 2)
        return f"Heads explorer: in the head {head!r}, {word!r} attends to {weights}"
