"""Models that others have released, read from their files into this package's own parameters.

A file names its arrays and says what kind of model they make. Here stands what its names and words are in this package;
the bytes are read by the libraries made for it, `gguf` and `safetensors`, which `make models` installs.
"""

import importlib.util
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attn.parameters import TransformerConfig, flat, nested, shapes

# What this package calls a module, and what files do: a GGUF file, and in a folder a Llama, a GPT-2 and a BERT.
MODULES = {
    "embedding": ("token_embd", "embed_tokens", "wte", "embeddings.word_embeddings"),
    "positions": ("", "", "wpe", "embeddings.position_embeddings"),
    "token_types": ("", "", "", "embeddings.token_type_embeddings"),
    "norm": ("output_norm", "norm", "ln_f", "embeddings.LayerNorm"),
    "unembedding": ("output", "lm_head", "lm_head", ""),
    "attention norm": ("attn_norm", "input_layernorm", "ln_1", "attention.output.LayerNorm"),
    "attention Q": ("attn_q", "self_attn.q_proj", "attn.c_attn Q", "attention.self.query"),
    "attention K": ("attn_k", "self_attn.k_proj", "attn.c_attn K", "attention.self.key"),
    "attention V": ("attn_v", "self_attn.v_proj", "attn.c_attn V", "attention.self.value"),
    "attention O": ("attn_output", "self_attn.o_proj", "attn.c_proj", "attention.output.dense"),
    "mlp norm": ("ffn_norm", "post_attention_layernorm", "ln_2", "output.LayerNorm"),
    "mlp 1": ("ffn_gate", "mlp.gate_proj", "mlp.c_fc", "intermediate.dense"),
    "mlp 2": ("ffn_down", "mlp.down_proj", "mlp.c_proj", "output.dense"),
    "mlp 3": ("ffn_up", "mlp.up_proj", "", ""),
}
GGUF, LLAMA, GPT2, BERT = (
    {ours: (layer if " " in ours else "") + theirs[at] for ours, theirs in MODULES.items() if theirs[at]}
    for at, layer in enumerate(("blk.{}.", "layers.{}.", "h.{}.", "encoder.layer.{}."))
)
GGUF_SAYS = {  # what it says of a model, by its name in a config.json
    "hidden_size": "embedding_length",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "attention.key_length",
    "num_hidden_layers": "block_count",
    "intermediate_size": "feed_forward_length",
    "max_position_embeddings": "context_length",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "sliding_window": "attention.sliding_window",
    "rope_theta": "rope.freq_base",
    "rope_type": "rope.scaling.type",
    "rope_size": "rope.dimension_count",
}
# Masks and counted places, which are computed here, and a pooler, which vectors of tokens do without.
NOT_NEEDED = re.compile(r"h\.\d+\.attn\.(masked_)?bias|embeddings\.position_ids|pooler\.dense\.(weight|bias)")


@dataclass(frozen=True)
class Family:
    """Models that differ in their sizes alone.

    Parameters
    ----------
    config : callable (said) -> TransformerConfig
        From what a config.json says.
    modules : dict of str
    whole : str
        What the names of all modules but the head for words may begin with.
    computes : dict
        What is computed here, as a config.json says it.
    """

    config: Callable
    modules: dict
    whole: str
    computes: dict


def read_model(path):
    """Read a released model: a GPT-2, Llama, Mistral, Qwen 2 or BERT.

    Parameters
    ----------
    path : path
        A GGUF file (of a Llama, Mistral or Qwen 2), or a folder with config.json and model.safetensors.

    Returns
    -------
    params : nested dict of arrays
        For `decoder`, of a BERT for `encoder`; in float32.
    config : TransformerConfig

    Raises
    ------
    ValueError
        If the model has a part that is not computed here, or lacks one; the sentence names it.
    """
    return model_of(*(read_folder(Path(path)) if Path(path).is_dir() else read_gguf(path)))


def model_of(said, arrays, modules, in_halves):
    """Turn what a file says, and its arrays by name, into parameters and a config.

    Parameters
    ----------
    said : dict
        In the words of a config.json.
    arrays : dict of arrays
        A matrix has shape (n_out, n_in), with all heads in one.
    modules : dict of str
        What the file calls its modules: `GGUF`, `LLAMA`, `GPT2` or `BERT`.
    in_halves : bool
        Whether a rotary pair is the entries m and m + d_k / 2; here it is two neighbours.

    Returns
    -------
    params, config
        As from `read_model`.
    """
    config, unread, found = _family(said).config(said), dict(arrays), {}
    for path, shape in flat(shapes(config)):
        name = _their_name(path, modules)
        array = unread.pop(name, np.empty(0))
        if array.size != math.prod(shape):
            raise ValueError(f"{name} of this model should have {math.prod(shape)} numbers, but has {array.size}")
        found[path] = _ours(array, path[-1], shape, in_halves and config.positions == "rotary")
    if unread:
        raise ValueError(f"this model has {next(iter(unread))}, with which nothing is computed here")
    return nested(found.items()), config


def as_neighbours(heads):
    """Put the entries of queries or keys in another order, so that m and m + d_k / 2 become neighbours.

    What is turned together then stands together, as `rotary` has it. Reordered alike, queries and keys have the dot
    products that they had.

    Parameters
    ----------
    heads : array, shape (n_heads, d_k, ...)

    Returns
    -------
    array of the same shape

    Examples
    --------
    >>> as_neighbours(np.array([[0, 1, 2, 3, 4, 5]]))
    array([[0, 3, 1, 4, 2, 5]])
    """
    n_heads, d_k, *rest = heads.shape
    return heads.reshape(n_heads, 2, d_k // 2, *rest).swapaxes(1, 2).reshape(heads.shape)


def _their_name(path, modules):
    """Return what a file calls a parameter: ("layer 3", "mlp", "W_1") is the weight of module "mlp 1" in layer 2."""
    *parts, last = path if len(path) > 1 else (*path, "W")
    layer = int(parts.pop(0).split()[1]) - 1 if parts[0].startswith("layer") else None
    kind, _, which = last.partition("_")
    module = modules[" ".join(filter(None, [*parts, which]))].format(layer)
    return f"{module}.{'bias' if kind in ('b', 'bias') else 'weight'}"


def _ours(array, name, shape, in_halves):
    """Return an array of a file as this package has it; a view of it, where no entries change places."""
    letter = name[2:]
    if letter in ("Q", "K", "V"):
        n_heads, d_k = shape[0], shape[-1]
        heads = array.reshape(n_heads, d_k, -1)
        heads = as_neighbours(heads) if in_halves and letter != "V" else heads
        return heads.mT.reshape(shape)
    return (array.T if name.startswith("W") else array).reshape(shape)


# --- files ----------------------------------------------------------------------------------------


def read_folder(folder):
    """Read what `model_of` takes from a folder as `transformers` saves it."""
    for name in ("config.json", "model.safetensors"):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"there is no {name} in {folder}")
    from safetensors import deserialize

    said = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    family, file = _family(said), deserialize((folder / "model.safetensors").read_bytes())
    parts = {name.removeprefix(family.whole): part for name, part in file}
    arrays = {name: _from_bytes(**part) for name, part in parts.items() if not NOT_NEEDED.fullmatch(name)}
    said.setdefault("tie_word_embeddings", "lm_head.weight" not in arrays)
    if family is FAMILIES["gpt2"]:
        arrays = dict(_as_elsewhere(arrays))
    return said, arrays, family.modules, True


def _from_bytes(dtype, shape, data):
    """Return an array of a safetensors file in float32, of which bfloat16 is the upper half."""
    if dtype == "BF16":
        array = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    else:
        array = np.frombuffer(data, f"<{dtype[0].lower()}{int(dtype[1:]) // 8}")
    return array.reshape(shape).astype(np.float32, copy=False)


def _as_elsewhere(arrays):
    """Yield the arrays of a GPT-2, whose matrices have shape (n_in, n_out), as those of other families are."""
    for name, array in arrays.items():
        if ".c_attn." in name:
            parts = np.split(array.T, 3)
            yield from ((name.replace("c_attn", f"c_attn {letter}"), part) for letter, part in zip("QKV", parts))
        else:
            yield name, array.T if ".c_" in name else array


def read_gguf(path):
    """Read what `model_of` takes from a GGUF file; what it says of its tokens is there as it stands in the file."""
    from gguf import GGUFReader, dequantize

    class Reader(GGUFReader):
        """Slices of a memory map are slow, and there are two hundred thousand."""

        data = property(lambda self: self.plain, lambda self, mapped: setattr(self, "plain", np.asarray(mapped)))

    file = Reader(path)
    own = {name: field.contents() for name, field in file.fields.items()}
    kind = own["general.architecture"]
    if kind not in ("llama", "qwen2"):
        raise ValueError(f"a GGUF file of a {kind} is not read here, but those of a llama and a qwen2 are")
    said = {name: own[f"{kind}.{theirs}"] for name, theirs in GGUF_SAYS.items() if f"{kind}.{theirs}" in own}
    arrays = {one.name: dequantize(np.array(one.data), one.tensor_type) for one in file.tensors}
    said |= {"model_type": kind, "vocab_size": len(arrays["token_embd.weight"])}
    said["tie_word_embeddings"] = "output.weight" not in arrays
    return {**own, **said}, arrays, GGUF, kind != "llama"  # who writes a Llama's file makes pairs of neighbours


# --- families -------------------------------------------------------------------------------------


def _family(said):
    """Return the family that a model is of, or say what is not computed here."""
    name = said.get("model_type")
    if name not in FAMILIES:
        raise ValueError(f"a {name} is not computed here, but {', '.join(FAMILIES)} are")
    for key, value in FAMILIES[name].computes.items():
        if said.get(key, value) != value:
            raise ValueError(f"a {name} is computed here where {key} is {value}, but it is {said[key]}")
    return FAMILIES[name]


def _unembedding(said):
    return "tied" if said["tie_word_embeddings"] else "separate"


def _gpt2(said):
    return TransformerConfig(
        vocab_size=said["vocab_size"], d_model=said["n_embd"], n_heads=said["n_head"], n_layers=said["n_layer"],
        d_ff=said.get("n_inner"), n_positions=said["n_positions"], activation="gelu_tanh",
        unembedding=_unembedding(said), epsilon=said["layer_norm_epsilon"],
    )  # fmt: skip


def _llama(said, biases="none"):
    rope = {"rope_type": "default", **said, **(said.get("rope_scaling") or {}), **said.get("rope_parameters", {})}
    config = TransformerConfig(
        vocab_size=said["vocab_size"], d_model=said["hidden_size"], n_heads=said["num_attention_heads"],
        n_layers=said["num_hidden_layers"], d_k=said.get("head_dim"), d_ff=said["intermediate_size"],
        n_key_heads=said.get("num_key_value_heads"), n_positions=said["max_position_embeddings"],
        positions="rotary", rotary_base=rope.get("rope_theta", 10_000), window=said.get("sliding_window"),
        norm_type="rms", activation="swiglu", biases=biases, unembedding=_unembedding(said),
        epsilon=said["rms_norm_eps"],
    )  # fmt: skip
    for key, value in {"rope_type": "default", "type": "default", "rope_size": config.d_k}.items():
        if rope.get(key, value) != value:
            raise ValueError(f"rotary positions are computed here where {key} is {value}, but it is {rope[key]}")
    return config


def _qwen2(said):
    return _llama({**said, "sliding_window": None}, biases="qkv")


def _bert(said):
    return TransformerConfig(
        vocab_size=said["vocab_size"], d_model=said["hidden_size"], n_heads=said["num_attention_heads"],
        n_layers=said["num_hidden_layers"], d_ff=said["intermediate_size"],
        n_positions=said["max_position_embeddings"], norm="post", unembedding="none",
        n_token_types=said["type_vocab_size"], epsilon=said["layer_norm_eps"],
    )  # fmt: skip


FAMILIES = {
    "gpt2": Family(
        _gpt2,
        GPT2,
        "transformer.",
        {
            "activation_function": "gelu_new",
            "scale_attn_weights": True,
            "scale_attn_by_inverse_layer_idx": False,
            "add_cross_attention": False,
        },
    ),
    "llama": Family(_llama, LLAMA, "model.", {"hidden_act": "silu"}),
    "mistral": Family(_llama, LLAMA, "model.", {"hidden_act": "silu"}),
    "qwen2": Family(_qwen2, LLAMA, "model.", {"hidden_act": "silu", "use_sliding_window": False}),
    "bert": Family(
        _bert, BERT, "bert.", {"hidden_act": "gelu", "position_embedding_type": "absolute", "is_decoder": False}
    ),
}


# --- installed by make models ---------------------------------------------------------------------


def installed(package, name):
    """Return where an installed package has a file or folder, without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise FileNotFoundError(f"the package {package.replace('_', '-')} is not installed: run make models")
    return next(Path(spec.submodule_search_locations[0]).glob(name))
