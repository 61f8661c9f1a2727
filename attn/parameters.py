"""What a transformer is made of: its sizes, how many numbers it has to learn, and what running it takes."""

import functools
import math
from dataclasses import dataclass, replace

import numpy as np

from attn.checks import as_size
from attn.positions import POSITIONS

CHOICES = {
    "positions": POSITIONS,
    "norm": ("pre", "post", "none"),
    "norm_type": ("layer", "rms"),
    "activation": ("gelu", "gelu_tanh", "relu", "swiglu"),
    "biases": ("all", "mlp", "qkv", "none"),
    "unembedding": ("tied", "separate", "none"),
}
REQUIRED = ("vocab_size", "d_model", "n_heads", "n_layers", "n_token_types")
OPTIONAL = ("d_k", "d_ff", "n_key_heads", "n_positions", "max_distance", "window")
MAY_BE_ZERO = ("d_ff", "n_token_types")


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """All that has to be said of a transformer before its parameters are drawn.

    The defaults are GPT-2's choices, but for the form of its GELU.

    Parameters
    ----------
    vocab_size, d_model, n_heads, n_layers : int
    d_k : int, optional
        Numbers in a query, a key and a value of a head; default: d_model / n_heads.
    d_ff : int, optional
        Hidden numbers of the MLP; default: 4 d_model. With 0 there is no MLP.
    n_key_heads : int, optional
        Heads of keys and values; default: as many as heads.
    n_positions : int, optional
        The longest text; default: any length. Learned positions need it.
    positions : {"learned", "sinusoid", "relative", "rotary", "none"}
        One of `attn.positions.POSITIONS`.
    max_distance : int, optional
        The largest distance that relative positions tell from the next one; default: 8.
    position_step : float
        How far apart neighbours count in rotary positions, above 0.
    rotary_base : float
        How much more slowly the last pair of rotary positions turns than the first, nearly; above 0.
    window : int, optional
        How many tokens a query of a decoder sees at most, its own included (Mistral); default: all.
    norm : {"pre", "post", "none"}
        Whether the residual stream is normalised before each sublayer and once at the end (GPT-2), or
        after each sublayer and once at the beginning (BERT).
    norm_type : {"layer", "rms"}
        Layer norm, or the root of the mean square alone, without mean and bias (Llama).
    activation : {"gelu", "gelu_tanh", "relu", "swiglu"}
        GPT-2's own GELU is "gelu_tanh", BERT's is "gelu". With "swiglu" the MLP is gated: it has a third matrix, W_3,
        and no biases.
    biases : {"all", "mlp", "qkv", "none"}
        Whether attention, MLP and a separate unembedding have biases, or the last two alone, or queries, keys and
        values alone (Qwen 2).
    unembedding : {"tied", "separate", "none"}
        Whether tokens are scored by the embedding once more, by a matrix of its own, or not.
    cross : bool
        Whether each layer also attends to a context.
    n_token_types : int
        Rows of a second embedding, as BERT has for its two sentences.
    scale : float, optional
        What dot products are multiplied by; default: d_k ** -0.5.
    epsilon : float
        What layer norm adds to a variance.

    Examples
    --------
    >>> TransformerConfig(vocab_size=50257, d_model=768, n_heads=12, n_layers=12, n_positions=1024).d_ff
    3072
    """

    vocab_size: int
    d_model: int
    n_heads: int
    n_layers: int
    d_k: int | None = None
    d_ff: int | None = None
    n_key_heads: int | None = None
    n_positions: int | None = None
    positions: str = "learned"
    max_distance: int | None = None
    position_step: float = 1
    rotary_base: float = 10_000
    window: int | None = None
    norm: str = "pre"
    norm_type: str = "layer"
    activation: str = "gelu"
    biases: str = "all"
    unembedding: str = "tied"
    cross: bool = False
    n_token_types: int = 0
    scale: float | None = None
    epsilon: float = 1e-5

    def __post_init__(self):
        for name, options in CHOICES.items():
            if getattr(self, name) not in options:
                raise ValueError(f"{name} must be one of {', '.join(options)}, but is {getattr(self, name)!r}")
        for name in REQUIRED + OPTIONAL:
            size = getattr(self, name)
            if not (size is None and name in OPTIONAL):
                self._set(name, as_size(name, size, 0 if name in MAY_BE_ZERO else 1))
        self._fill_in()
        self._check_together()

    def _set(self, name, value):
        vars(self)[name] = value  # the one place where a frozen config changes

    def _fill_in(self):
        """Set the sizes that follow from others where they are not given."""
        if self.d_k is None and self.d_model % self.n_heads:
            raise ValueError(f"n_heads must divide d_model, but {self.n_heads} does not divide {self.d_model}")
        sizes = {"d_k": self.d_model // self.n_heads, "d_ff": 4 * self.d_model, "n_key_heads": self.n_heads}
        sizes["max_distance"] = POSITIONS[self.positions].max_distance
        for name, size in sizes.items():
            if getattr(self, name) is None:
                self._set(name, size)

    def _check_together(self):
        positions = POSITIONS[self.positions]
        if self.n_heads % self.n_key_heads:
            raise ValueError(f"n_key_heads must divide n_heads, but {self.n_key_heads} does not divide {self.n_heads}")
        if self.activation == "swiglu" and self.biases not in ("qkv", "none"):
            raise ValueError(f"a gated MLP has no biases, but biases are {self.biases!r}: say biases='none'")
        if self.max_distance is not None and positions.max_distance is None:
            raise ValueError(f"positions {self.positions!r} have no max_distance, but it is {self.max_distance}")
        if not 0 < self.position_step < math.inf or (self.position_step != 1 and not positions.steps):
            told = f"but it is {self.position_step} with {self.positions} positions"
            raise ValueError(f"position_step is a number above 0, and for rotary positions alone other than 1, {told}")
        if not 0 < self.rotary_base < math.inf or (self.rotary_base != 10_000 and self.positions != "rotary"):
            told = f"but it is {self.rotary_base} with {self.positions} positions"
            raise ValueError(f"rotary_base is a number above 0, and for rotary positions alone not 10000, {told}")
        if positions.needs and getattr(self, positions.needs) is None:
            raise ValueError(f"{self.positions} positions need {positions.needs}, but it is not given")
        if positions.even and getattr(self, positions.even) % 2:
            size = getattr(self, positions.even)
            raise ValueError(f"{self.positions} positions need an even {positions.even}, but it is {size}")


# --- parameters -----------------------------------------------------------------------------------


def shapes(config):
    """Return the shape of each parameter of a transformer.

    Parameters
    ----------
    config : TransformerConfig

    Returns
    -------
    nested dict of tuples of int
        In the order in which `init_transformer` draws the parameters.
    """
    d_model, heads, key_heads, d_k = config.d_model, config.n_heads, config.n_key_heads, config.d_k
    positions = POSITIONS[config.positions]
    norm = {"gain": (d_model,), **({"bias": (d_model,)} if config.norm_type == "layer" else {})}
    norm = {} if config.norm == "none" else {"norm": norm}
    attention = {
        **norm,
        **{"W_Q": (heads, d_model, d_k), "W_K": (key_heads, d_model, d_k), "W_V": (key_heads, d_model, d_k)},
        "W_O": (heads, d_k, d_model),
    }
    biases = {"b_Q": (heads, d_k), "b_K": (key_heads, d_k), "b_V": (key_heads, d_k)}
    biases = {"all": {**biases, "b_O": (d_model,)}, "qkv": biases}.get(config.biases, {})
    has_more = config.biases in ("all", "mlp")
    layer = {"attention": {**attention, **positions.attention_shapes(config), **biases}}
    if config.cross:
        layer["cross"] = {**attention, **biases}
    if config.d_ff:
        mlp_biases = {"b_1": (config.d_ff,), "b_2": (d_model,)} if has_more else {}
        gate = {"W_3": (d_model, config.d_ff)} if config.activation == "swiglu" else {}
        layer["mlp"] = {**norm, "W_1": (d_model, config.d_ff), "W_2": (config.d_ff, d_model), **gate, **mlp_biases}
    last = {"W": (d_model, config.vocab_size), **({"b": (config.vocab_size,)} if has_more else {})}
    return {
        "embedding": (config.vocab_size, d_model),
        **positions.shapes(config),
        **({"token_types": (config.n_token_types, d_model)} if config.n_token_types else {}),
        **{f"layer {number}": layer for number in range(1, config.n_layers + 1)},
        **norm,
        **({"unembedding": last} if config.unembedding == "separate" else {}),
    }


def flat(whole, path=()):
    """Yield the path and the value of each entry of nested dicts: ("layer 1", "mlp", "W_1") and what stands there."""
    for name, part in whole.items():
        if isinstance(part, dict):
            yield from flat(part, (*path, name))
        else:
            yield (*path, name), part


def nested(entries):
    """Return the nested dicts of which `flat` yields these paths and values."""
    whole = {}
    for (*way, name), value in entries:
        part = whole
        for step in way:
            part = part.setdefault(step, {})
        part[name] = value
    return whole


def save(file, params):
    """Write nested dicts of arrays, such as the parameters of a model, into a file whose name ends in .npz."""
    np.savez(file, **{"/".join(path): array for path, array in flat(params)})


def load(file):
    """Return what `save` wrote: nested dicts of arrays."""
    with np.load(file) as arrays:
        return nested((path.split("/"), array) for path, array in arrays.items())


@functools.cache
def _flat_shapes(config):
    return dict(flat(shapes(config)))


def check_params(params, config):
    """Refuse parameters of other names or shapes than `init_transformer` draws for a config, with the first of them."""
    expected, found = _flat_shapes(config), {path: array.shape for path, array in flat(params)}
    if found == expected:
        return
    path = next(path for path in {**expected, **found} if expected.get(path) != found.get(path))
    name = " / ".join(path)
    if path not in found:
        clash = f"the config asks for {name} of shape {expected[path]}, but there is none"
    elif path not in expected:
        clash = f"there is {name}, but the config asks for none"
    else:
        clash = f"the config asks for {name} of shape {expected[path]}, but it has shape {found[path]}"
    raise ValueError(f"params and config do not belong together: {clash}")


# --- counting -------------------------------------------------------------------------------------

PARTS = {  # which parameters are counted together
    "attention": ("W_Q", "W_K", "W_V", "W_O"),
    "mlp": ("W_1", "W_2", "W_3"),
    "embedding": ("embedding",),
    "unembedding": ("W",),
    "positions": (),  # all that have no other place
    "token_types": ("token_types",),
    "norms": ("gain", "bias"),
    "biases": ("b_Q", "b_K", "b_V", "b_O", "b_1", "b_2", "b"),
}


def count_parameters(config):
    """Count the parameters of a transformer, part by part.

    Parameters
    ----------
    config : TransformerConfig

    Returns
    -------
    dict of int, in parameters
        `W_Q`, `W_K`, `value_down` and `value_up` of one head, their sum `head`, the
        `attention_block` of one layer, `attention` and `mlp` of all layers (matrices only),
        `embedding`, `unembedding`, `positions`, `token_types`, `norms`, `biases`, and the `total`.

    Notes
    -----
    The value map is counted as it is built: down to d_k numbers, and up again by that part
    of W_O that belongs to the head. Sizes: Brown et al. 2020, table 2.1.

    Examples
    --------
    >>> count_parameters(GPT3["175B"])["total"]
    174604259328
    """
    matrix, n_matrices = config.d_model * config.d_k, 2 * (config.n_heads + config.n_key_heads)
    head = {"W_Q": matrix, "W_K": matrix, "value_down": matrix, "value_up": matrix, "head": 4 * matrix}
    parts = dict.fromkeys(PARTS, 0)
    for path, shape in flat(shapes(replace(config, n_layers=1))):
        part = next((part for part, names in PARTS.items() if path[-1] in names), "positions")
        parts[part] += math.prod(shape) * (config.n_layers if path[0] == "layer 1" else 1)
    return {**head, "attention_block": n_matrices * matrix, **parts, "total": sum(parts.values())}


def cache_bytes(config, n_tokens, *, bytes_each=2):
    """Return the bytes of all keys and values that are kept while n_tokens are read or written.

    Parameters
    ----------
    config : TransformerConfig
    n_tokens : int
    bytes_each : int
        2 for the numbers of 16 bits with which models are usually run.

    Returns
    -------
    int

    Examples
    --------
    >>> cache_bytes(GPT3["175B"], 1) / 2**20
    4.5
    """
    return 2 * bytes_each * config.n_layers * config.n_key_heads * config.d_k * n_tokens


def pattern_bytes(config, n_tokens, *, bytes_each=2):
    """Return the bytes of the patterns of one layer, if all of them are held at once."""
    return bytes_each * config.n_heads * n_tokens**2


def share_of_pairs(config, n_tokens):
    """Return the share of the last token's work in a layer that goes into pairs of tokens.

    Parameters
    ----------
    config : TransformerConfig
    n_tokens : int
        How many keys it is compared with, its own included.

    Returns
    -------
    float
        Work is counted in multiplications and additions: two for each number of the matrices,
        two for each number of a key and of a value that is met.
    """
    pairs = 4 * n_tokens * config.n_heads * config.d_k
    mlp = (3 if config.activation == "swiglu" else 2) * config.d_ff
    matrices = 2 * config.d_model * (2 * (config.n_heads + config.n_key_heads) * config.d_k + mlp)
    return pairs / (pairs + matrices)


def _gpt3(n_layers, d_model, n_heads, d_k):
    return TransformerConfig(
        vocab_size=50_257, d_model=d_model, n_heads=n_heads, n_layers=n_layers, d_k=d_k, n_positions=2_048
    )


# Brown et al. 2020, table 2.1. In two of its rows the heads do not fill d_model: XL prints 24 heads of 128 numbers for
# 2,048, and 13B prints 5,140 for 40 heads of 128. Here they do, and then all totals are those of the paper's table D.1.
GPT3 = {
    "Small": _gpt3(12, 768, 12, 64),
    "Medium": _gpt3(24, 1024, 16, 64),
    "Large": _gpt3(24, 1536, 16, 96),
    "XL": _gpt3(24, 2048, 16, 128),
    "2.7B": _gpt3(32, 2560, 32, 80),
    "6.7B": _gpt3(32, 4096, 32, 128),
    "13B": _gpt3(40, 5120, 40, 128),
    "175B": _gpt3(96, 12288, 96, 128),
}
