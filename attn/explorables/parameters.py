"""How many numbers each part of a transformer has to learn."""

from dataclasses import fields

from traitlets import Bool, Dict, Int

from attn.explorables.base import Explorable
from attn.parameters import TransformerConfig, count_parameters


class ParameterCounter(Explorable):
    """The sizes of a transformer, and how many numbers each of its parts has to learn.

    Parameters
    ----------
    presets : dict of TransformerConfig
        Models to choose from, by name.
    chosen : str
        The one to start with.
    biases, norms, positions, tied : bool
        As for `count_parameters`.

    Raises
    ------
    KeyError
        If there is no such model.
    traitlets.TraitError
        If a size is set to something other than an integer from 1 to 1,000,000.
    """

    presets = Dict()
    d_model, n_heads, d_k, n_layers, vocab_size, n_positions, d_ff = (Int(1, min=1, max=1_000_000) for _ in range(7))
    biases, norms, positions, tied = (Bool(True) for _ in range(4))

    def __init__(self, presets, chosen, **kwargs):
        presets = {name: vars(config) for name, config in presets.items()}
        super().__init__(presets=presets, **presets[chosen], **kwargs)

    @property
    def config(self):
        """The sizes as they stand: a TransformerConfig."""
        return TransformerConfig(**{field.name: getattr(self, field.name) for field in fields(TransformerConfig)})

    @property
    def counts(self):
        """The parameters of each part as they stand: dict of int."""
        return count_parameters(
            self.config, biases=self.biases, norms=self.norms, positions=self.positions, tied=self.tied
        )

    def describe(self):
        return f"Parameter counter: {self.counts['total']:,} parameters"
