"""One head on a short sentence, step by step."""

from traitlets import Bool

from attn.attention import causal_mask, scaled_dot_product_attention
from attn.figures.base import Explorable, Place, Shaped, Words, listed


class AttentionExplorer(Explorable):
    """One head of attention on a short sentence, followed step by step for one word.

    Parameters
    ----------
    tokens : list of str, 2 to 8 of them
    Q, K : array_like, shape (n, d_k)
    V : array_like, shape (n, d_v)
        One row a token.
    query : int
        The position of the word whose steps are shown.
    causal : bool
        Whether a word sees only itself and earlier words.
    """

    tokens = Words("n")
    Q = Shaped("n d_k")
    K = Shaped("n d_k")
    V = Shaped("n d_v")
    query = Place("n")
    causal = Bool(False)

    @property
    def weights(self):
        """The pattern as it stands: array, shape (n, n)."""
        mask = causal_mask(len(self.tokens)) if self.causal else None
        return scaled_dot_product_attention(self.Q, self.K, self.V, mask)[1]

    def describe(self):
        weights = listed(self.tokens, self.weights[self.query], 2)
        return f"Attention explorer: {self.tokens[self.query]!r} attends to {weights}"
