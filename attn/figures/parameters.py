"""How many numbers each part of a transformer has to learn."""

from traitlets import Bool, Dict, Int

from attn.figures.base import Explorable
from attn.parameters import TransformerConfig, count_parameters

SIZES = ("d_model", "n_heads", "d_k", "n_layers", "vocab_size", "n_positions", "d_ff")


class ParameterCounter(Explorable):
    """The sizes of a transformer, and how many numbers each of its parts has to learn.

    Parameters
    ----------
    presets : dict of TransformerConfig
        Models to choose from, by name.
    chosen : str
        The one to start with.
    biases, norms, positions, tied : bool
        Whether there are biases, layer norms and a table of positions, and whether the unembedding
        is the embedding once more.
    """

    presets = Dict()
    d_model, n_heads, d_k, n_layers, vocab_size, n_positions, d_ff = (Int(1, min=1, max=1_000_000) for _ in SIZES)
    biases, norms, positions, tied = (Bool(True) for _ in range(4))

    def __init__(self, presets, chosen, **kwargs):
        presets = {name: {size: getattr(config, size) for size in SIZES} for name, config in presets.items()}
        super().__init__(presets=presets, **presets[chosen], **kwargs)

    @property
    def config(self):
        """What is counted, as it stands: a TransformerConfig."""
        return TransformerConfig(
            **{size: getattr(self, size) for size in SIZES},
            biases="all" if self.biases else "none",
            norm="pre" if self.norms else "none",
            positions="learned" if self.positions else "none",
            unembedding="tied" if self.tied else "separate",
        )

    @property
    def counts(self):
        """The parameters of each part as they stand: dict of int."""
        return count_parameters(self.config)

    def describe(self):
        return f"Parameter counter: {self.counts['total']:,} parameters"
