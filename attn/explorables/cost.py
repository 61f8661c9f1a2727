"""What a text asks of a model."""

from traitlets import Dict, Int, TraitError, Unicode

from attn.explorables.base import Explorable
from attn.parameters import count_parameters


class CostExplorer(Explorable):
    """What a text of n tokens asks of a model: memory, and the share of work that grows with n.

    Parameters
    ----------
    presets : dict of TransformerConfig
        Models to choose from, by name.
    chosen : str
        The one that is shown.
    n_tokens : int
        A power of two from 128 to 1,048,576.
    key_heads : int, optional
        How many heads of keys and values a layer keeps; as many as there are heads unless given.

    Raises
    ------
    traitlets.TraitError
        If there is no such model, `n_tokens` is no such power of two, or `key_heads` does not divide
        the number of heads.
    """

    presets = Dict()
    chosen = Unicode()
    n_tokens = Int()
    key_heads = Int()

    def __init__(self, presets, chosen, *, n_tokens=2048, key_heads=None, **kwargs):
        presets = {
            name: {**vars(config), "parameters": count_parameters(config)["total"]} for name, config in presets.items()
        }
        key_heads = presets.get(chosen, {"n_heads": 1})["n_heads"] if key_heads is None else key_heads
        super().__init__(presets=presets, chosen=chosen, n_tokens=n_tokens, key_heads=key_heads, **kwargs)

    def check(self, state):
        if state["chosen"] not in state["presets"]:
            raise TraitError(f"chosen must be one of {', '.join(state['presets'])}, but is {state['chosen']!r}")
        n_heads = state["presets"][state["chosen"]]["n_heads"]
        if state["key_heads"] < 1 or n_heads % state["key_heads"]:
            raise TraitError(
                f"key_heads must divide the {n_heads} heads of {state['chosen']!r}, but is {state['key_heads']}"
            )
        if state["n_tokens"] not in [2**power for power in range(7, 21)]:
            raise TraitError(f"n_tokens must be a power of two from 128 to 1,048,576, but is {state['n_tokens']}")

    @property
    def costs(self):
        """Bytes of `parameters`, of one layer's `patterns` and of the `cache`, and the `share` of work: dict."""
        sizes = self.presets[self.chosen]
        pairs = 4 * self.n_tokens * sizes["n_heads"] * sizes["d_k"]
        matrices = 2 * sizes["d_model"] * (2 * (sizes["n_heads"] + self.key_heads) * sizes["d_k"] + 2 * sizes["d_ff"])
        saved = 2 * sizes["n_layers"] * (sizes["n_heads"] - self.key_heads) * sizes["d_k"] * (sizes["d_model"] + 1)
        return {
            "parameters": 2 * (sizes["parameters"] - saved),
            "patterns": 2 * sizes["n_heads"] * self.n_tokens**2,
            "cache": 4 * sizes["n_layers"] * self.key_heads * sizes["d_k"] * self.n_tokens,
            "share": pairs / (pairs + matrices),
        }

    def describe(self):
        cache = self.costs["cache"] / 2**30
        return f"Cost explorer: {self.n_tokens:,} tokens in {self.chosen!r} keep {cache:.2f} GiB of keys and values"
