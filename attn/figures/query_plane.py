"""A query as an arrow in the plane."""

from traitlets import Unicode

from attn.attention import scaled_dot_product_attention
from attn.figures.base import Explorable, Shaped, Words, listed, read_source


class QueryPlane(Explorable):
    """One query as an arrow in the plane, the keys as points, and the mixture that comes out.

    Parameters
    ----------
    tokens : list of str
        The words whose keys are shown.
    asker : str
        The word that asks.
    q : array_like, shape (2,)
    K : array_like, shape (n, 2)
    V : array_like, shape (n, d_v)
    """

    _name = "query_plane"
    _esm = read_source("common.js", "query_plane.js")

    tokens = Words("n")
    asker = Unicode()
    q = Shaped("2")
    K = Shaped("n 2")
    V = Shaped("n d_v")

    @property
    def weights(self):
        """The weights of the asker as they stand: array, shape (n,)."""
        return scaled_dot_product_attention([self.q], self.K, self.V)[1][0]

    def describe(self):
        return f"Query plane: {self.asker!r} attends to {listed(self.tokens, self.weights, 3)}"
