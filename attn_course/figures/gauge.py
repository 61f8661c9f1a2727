"""What a stretch of queries and a shrinking of keys leave alone."""

import numpy as np

from attn_course.figures.base import Explorable, Number, Shaped, Words


class GaugeExplorer(Explorable):
    """Queries stretched and keys shrunk along their first entry: cosines move, scores do not.

    Parameters
    ----------
    tokens : list of str, 2 to 8 of them
    Q, K : array_like, shape (n, d_k)
    power : float
        The first entry of each query is multiplied by 2 ** power, that of each key divided by it.
    """

    tokens = Words("n")
    Q = Shaped("n d_k")
    K = Shaped("n d_k")
    power = Number(0.0, min=-2, max=2)

    @property
    def maps(self):
        """Cosines of keys, scores, cosines of queries: array, shape (3, n, n)."""
        factors = np.ones(np.shape(self.Q)[1])
        factors[0] = 2.0**self.power
        Q, K = np.array(self.Q) * factors, np.array(self.K) / factors
        keys, queries = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (K, Q))
        return np.array([keys @ keys.T, Q @ K.T / np.sqrt(len(factors)), queries @ queries.T])

    def describe(self):
        cosine, score, _ = self.maps[:, 0, -1]
        stretch = f"stretched by {2.0**self.power:.2f}"
        return f"Gauge explorer: {stretch}, cosine of the first key and the last {cosine:.2f}, their score {score:.2f}"
