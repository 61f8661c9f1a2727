"""From the layer of GPT-2 to that of Llama 3, part by part, with what each change does to the counts."""

from dataclasses import replace

import traitlets

from attn.figures.base import Explorable
from attn.parameters import TransformerConfig, cache_bytes, count_parameters

GPT_2_LIKE = TransformerConfig(vocab_size=128_256, d_model=4096, n_heads=32, n_layers=32, n_positions=8192)
CHANGES = {  # all together make Llama 3 8B
    "RMSNorm": {"norm_type": "rms"},
    "no biases": {"biases": "none"},
    "rotary positions": {"positions": "rotary", "n_positions": None},
    "gated MLP": {"activation": "swiglu", "d_ff": 14_336},
    "fewer key heads": {"n_key_heads": 8},
    "separate unembedding": {"unembedding": "separate"},
}
SIZES = ("vocab_size", "d_model", "n_heads", "d_k", "n_layers", "n_positions", "d_ff")


class TodaysLayer(Explorable):
    """A model with layers like those of GPT-2, at the size of Llama 3 8B: press a part, and it is built as today.

    Parameters
    ----------
    changed : list of str
        What is built as today, of `CHANGES`; a gated MLP has no biases.
    """

    changed = traitlets.List(traitlets.Enum([*CHANGES]))
    sizes = traitlets.Dict({name: getattr(GPT_2_LIKE, name) for name in SIZES} | {"gated": 14_336, "shared": 8})

    def check(self, state):
        changed = state["changed"]
        if len(set(changed)) < len(changed):
            raise traitlets.TraitError(f"each change is made once, but there are {', '.join(changed)}")
        if "gated MLP" in changed and "no biases" not in changed:
            raise traitlets.TraitError(f"a gated MLP has no biases, but the changes are {', '.join(changed)}")

    @property
    def config(self):
        """The `TransformerConfig` as it stands."""
        changes = [CHANGES[name] for name in CHANGES if name in self.changed]
        return replace(GPT_2_LIKE, **{key: value for change in changes for key, value in change.items()})

    def describe(self):
        counted, kept = count_parameters(self.config)["total"], cache_bytes(self.config, 1) // 2**10
        built = ", ".join(self.changed) or "nothing"
        return f"Today's layer: changed {built}; {counted:,} parameters, {kept} KiB of cache per token"
