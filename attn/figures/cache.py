"""Writing one token at a time, with and without keeping keys and values."""

from traitlets import Int

from attn.figures.base import Explorable

MOST = 12


class CacheExplorer(Explorable):
    """What is computed when a text is written token by token: everything anew, or one row a step.

    Parameters
    ----------
    n_tokens : int
        How many tokens have been written, from 1 to 12.
    """

    n_tokens = Int(5, min=1, max=MOST)

    @property
    def work(self):
        """The `tokens` that go through the matrices and the `pairs`, each (anew, with a cache): dict."""
        steps = range(1, self.n_tokens + 1)
        return {"tokens": (sum(steps), len(steps)), "pairs": (sum(i * i for i in steps), sum(steps))}

    def describe(self):
        (anew, kept), _ = self.work.values()
        return f"Cache explorer: {self.n_tokens} tokens written; {anew} rows without a cache, {kept} with it"
