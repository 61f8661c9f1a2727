"""How many numbers each part of a transformer has to learn."""

from traitlets import Bool, Dict, Int, TraitError

from attn.parameters import TransformerConfig, cache_bytes, count_parameters
from attn_course.figures.base import Explorable

SIZES = ("d_model", "n_heads", "n_key_heads", "d_k", "n_layers", "vocab_size", "n_positions", "d_ff")


def _state_of(config):
    """Return what the figure shows of a TransformerConfig; one without a table of positions has one row of it."""
    return {
        **{size: getattr(config, size) or 1 for size in SIZES},
        "biases": config.biases == "all",
        "norms": config.norm == "pre",
        "rms": config.norm_type == "rms",
        "gated": config.activation == "swiglu",
        "positions": config.positions == "learned",
        "tied": config.unembedding == "tied",
    }


class ParameterCounter(Explorable):
    """The sizes of a transformer, and how many numbers each of its parts has to learn.

    Parameters
    ----------
    presets : dict of TransformerConfig
        Models to choose from, by name.
    chosen : str
        The one to start with.
    biases, norms, rms, gated, positions, tied : bool
        Whether there are biases, norms, of the root of the mean square alone, gated MLPs, which have no biases, and a
        table of positions, and whether the unembedding is the embedding once more.
    """

    presets = Dict()
    d_model, n_heads, n_key_heads, d_k, n_layers, vocab_size, n_positions, d_ff = (
        Int(1, min=1, max=1_000_000) for _ in SIZES
    )
    biases, norms, rms, gated, positions, tied = (Bool(default) for default in (True, True, False, False, True, True))

    def __init__(self, presets, chosen, **kwargs):
        presets = {name: _state_of(config) for name, config in presets.items()}
        super().__init__(presets=presets, **{**presets[chosen], **kwargs})

    def check(self, state):
        if state["n_heads"] % state["n_key_heads"]:
            raise TraitError(f"n_key_heads must divide n_heads, {state['n_heads']}, but is {state['n_key_heads']}")
        if state["gated"] and state["biases"]:
            raise TraitError("a gated MLP has no biases, but biases and gated are both True")

    @property
    def config(self):
        """What is counted, as it stands: a TransformerConfig."""
        return TransformerConfig(
            **{size: getattr(self, size) for size in SIZES},
            biases="all" if self.biases else "none",
            norm="pre" if self.norms else "none",
            norm_type="rms" if self.rms else "layer",
            activation="swiglu" if self.gated else "gelu",
            positions="learned" if self.positions else "none",
            unembedding="tied" if self.tied else "separate",
        )

    @property
    def counts(self):
        """The parameters of each part as they stand: dict of int."""
        return count_parameters(self.config)

    def describe(self):
        kept = cache_bytes(self.config, 1)
        return f"Parameter counter: {self.counts['total']:,} parameters, {kept:,} bytes of cache per token"
