"""What a text asks of a model."""

from traitlets import Dict, Int, TraitError, Unicode

from attn.parameters import TransformerConfig, cache_bytes, count_parameters, pattern_bytes, share_of_pairs
from attn_course.figures.base import Explorable


class CostExplorer(Explorable):
    """What a text of n tokens asks of a model: memory, and the share of work that grows with n.

    Parameters
    ----------
    presets : dict of TransformerConfig
        Models to choose from, by name.
    chosen : str
        The one that is shown.
    n_tokens : int
        The reader goes in steps of 128, or in powers of two, up to 1,048,576.
    key_heads : int, optional
        How many heads of keys and values a layer keeps; default: as many as there are heads.
    """

    presets = Dict()
    chosen = Unicode()
    n_tokens = Int()
    key_heads = Int()

    def __init__(self, presets, chosen, *, n_tokens=2048, key_heads=None, **kwargs):
        presets = {
            name: {**vars(config), "parameters": count_parameters(config)["total"]} for name, config in presets.items()
        }
        key_heads = presets[chosen]["n_heads"] if key_heads is None else key_heads
        super().__init__(presets=presets, chosen=chosen, n_tokens=n_tokens, key_heads=key_heads, **kwargs)

    def check(self, state):
        n_heads = state["presets"][state["chosen"]]["n_heads"]
        if state["key_heads"] < 1 or n_heads % state["key_heads"]:
            raise TraitError(
                f"key_heads must divide the {n_heads} heads of {state['chosen']!r}, but is {state['key_heads']}"
            )

    @property
    def costs(self):
        """Bytes of `parameters`, of one layer's `patterns` and of the `cache`, and the `share` of work: dict."""
        sizes = {name: size for name, size in self.presets[self.chosen].items() if name != "parameters"}
        config = TransformerConfig(**{**sizes, "n_key_heads": self.key_heads})
        return {
            "parameters": 2 * count_parameters(config)["total"],
            "patterns": pattern_bytes(config, self.n_tokens),
            "cache": cache_bytes(config, self.n_tokens),
            "share": share_of_pairs(config, self.n_tokens),
        }

    def describe(self):
        cache = self.costs["cache"] / 2**30
        return f"Cost explorer: {self.n_tokens:,} tokens in {self.chosen!r} keep {cache:.2f} GiB of keys and values"
