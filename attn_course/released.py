"""Models that others have released, read from their files into this package's own parameters.

A file names its arrays and says what kind of model they make. Here stands what its names and words are in this package;
the bytes are read by the libraries made for it, `gguf` and `safetensors`, which `make models` installs.
"""

import importlib.util
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
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
GGUF_MUST_SAY = {  # of a model, by its name in a config.json
    "hidden_size": "embedding_length",
    "num_attention_heads": "attention.head_count",
    "num_hidden_layers": "block_count",
    "intermediate_size": "feed_forward_length",
    "max_position_embeddings": "context_length",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
}
GGUF_MAY_SAY = {
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "attention.key_length",
    "value_size": "attention.value_length",
    "is_causal": "attention.causal",
    "rope_theta": "rope.freq_base",
    "rope_size": "rope.dimension_count",
    "rope_type": "rope.scaling.type",
    "factor": "rope.scaling.factor",
    "older_factor": "rope.scale_linear",
    "attention_factor": "rope.scaling.attn_factor",
}
MARKS = (3, 4)  # the kinds of a GGUF file's words that are in a text as they are, such as <|endoftext|>
# Masks, places and speeds of turning, which are computed here; a BERT's pooler and its heads for pretraining, which
# vectors of tokens do without.
NOT_NEEDED = re.compile(
    r"h\.\d+\.attn\.(masked_)?bias|embeddings\.position_ids|(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq"
    r"|pooler\.dense\.(weight|bias)|cls\..*"
)


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
        What is computed here, as a config.json says it; it may leave it out.
    defaults : dict
        What else a config.json may leave out, and is then this, as in transformers 5.24.0.
    aliases : dict of str
        Other names under which a config.json may say something.
    """

    config: Callable
    modules: dict
    whole: str
    computes: dict
    defaults: dict
    aliases: dict = field(default_factory=dict)


def read_model(path):
    """Read a released model: a GPT-2, Llama, Mistral, Qwen 2 or BERT.

    Parameters
    ----------
    path : path
        A GGUF file (of a Llama, Mistral or Qwen 2), or a folder with config.json and model.safetensors, or its parts.

    Returns
    -------
    params : nested dict of arrays
        For `decoder`, of a BERT for `encoder`; in float32.
    config : TransformerConfig

    Raises
    ------
    ValueError
        If the model has a part that is not computed here, or lacks one, or a file is none of these or not whole.
    FileNotFoundError
        If there is no such file or folder: nothing is downloaded.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}: nothing is downloaded, give where the model lies")
    return model_of(*(read_folder(path) if path.is_dir() else read_gguf(path)))


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
    embedding, head = f"{modules['embedding']}.weight", f"{modules.get('unembedding')}.weight"
    if config.unembedding == "tied" and head in unread:
        second = unread.pop(head)
        if not np.array_equal(unread.setdefault(embedding, second), second):
            raise ValueError(f"this model is said to be tied, but its {head} is not its {embedding}")
    for path, shape in flat(shapes(config)):
        name = _their_name(path, modules)
        wanted = _their_shape(path[-1], shape)
        if name not in unread:
            raise ValueError(f"this model lacks {name}, of shape {wanted}")
        array = unread.pop(name)
        if array.shape != wanted:
            raise ValueError(f"{name} of this model should have shape {wanted}, but has shape {array.shape}")
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


def _their_shape(name, shape):
    """Return the shape of an array in a file: of a matrix (n_out, n_in), with all heads in one."""
    if name in ("W_Q", "W_K", "W_V"):
        return shape[0] * shape[2], shape[1]
    if name.startswith("W"):
        return shape[-1], math.prod(shape[:-1])
    return (math.prod(shape),) if name.startswith("b_") else shape


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
    said = _json(folder / "config.json")

    from safetensors import SafetensorError, deserialize

    family = _family(said)
    said = {**family.computes, **family.defaults, **{family.aliases.get(name, name): it for name, it in said.items()}}
    whole, index, arrays = folder / "model.safetensors", folder / "model.safetensors.index.json", {}
    in_parts = not whole.exists() and index.exists()
    for path in [folder / name for name in sorted({*_json(index)["weight_map"].values()})] if in_parts else [whole]:
        try:
            file = deserialize(content_of(path))
        except SafetensorError as error:
            raise ValueError(f"{path} is not a whole file of the kind safetensors: {error}") from None
        for name, part in file:
            name = re.sub("LayerNorm.gamma$", "LayerNorm.weight", name.removeprefix(family.whole))
            name = re.sub("LayerNorm.beta$", "LayerNorm.bias", name)  # as they were called first
            if name in arrays:
                raise ValueError(f"this model has {name} twice")
            if not NOT_NEEDED.fullmatch(name):
                arrays[name] = _from_bytes(name, **part)
    if family is FAMILIES["gpt2"]:
        arrays = dict(_as_elsewhere(arrays))
        if not said["tie_word_embeddings"]:
            arrays["lm_head.bias"] = np.zeros(said["vocab_size"], np.float32)  # which others have
    return said, arrays, family.modules, True


def _json(path):
    try:
        return json.loads(content_of(path))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no whole file of JSON: {error}") from None


def content_of(path, size=-1):
    """Return the bytes of a file, or its first ones; or say that it is missing, or that git has not brought it."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no {path.name} in {path.parent}")
    with path.open("rb") as file:
        content = file.read(size)
    if content.startswith(b"version https://git-lfs"):
        raise ValueError(f"{path} is a pointer to the file, which git lfs pull brings")
    return content


def _from_bytes(name, dtype, shape, data):
    """Return an array of a safetensors file in float32, of which bfloat16 is the upper half."""
    if dtype == "BF16":
        array = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    elif dtype in ("F64", "F32", "F16"):
        array = np.frombuffer(data, f"<f{int(dtype[1:]) // 8}")
    else:
        raise ValueError(f"{name} of this model is in {dtype}, and F64, F32, F16 and BF16 are read here")
    return array.reshape(shape).astype(np.float32, copy=False)


def _as_elsewhere(arrays):
    """Yield the arrays of a GPT-2, whose matrices have shape (n_in, n_out), as those of other families are."""
    for name, array in arrays.items():
        if ".c_attn." in name:
            parts = np.split(array.T, 3)
            yield from ((name.replace("c_attn", f"c_attn {letter}"), part) for letter, part in zip("QKV", parts))
        else:
            yield name, array.T if ".c_" in name else array


def open_gguf(path):
    """Return what a GGUF file says, by its own names, and its arrays as `gguf` gives them."""
    from gguf import GGUFReader

    class Reader(GGUFReader):
        """Slices of a memory map are slow, and there are two hundred thousand."""

        data = property(lambda self: self.plain, lambda self, mapped: setattr(self, "plain", np.asarray(mapped)))

    if content_of(Path(path), 64)[:4] != b"GGUF":
        raise ValueError(f"{path} is no GGUF file; of a model in safetensors, give the folder")
    try:
        file = Reader(path)
        return {name: field.contents() for name, field in file.fields.items()}, file.tensors
    except (ValueError, IndexError, KeyError) as error:
        raise ValueError(f"{path} is not a whole GGUF file: {error}") from error


def read_gguf(path):
    """Read what `model_of` takes from a GGUF file; what it says of its tokens is there as it stands in the file."""
    from gguf import dequantize

    own, tensors = open_gguf(path)
    kind, keys = own.get("general.architecture"), {**GGUF_MUST_SAY, **GGUF_MAY_SAY}
    if kind not in ("llama", "qwen2"):
        raise ValueError(f"a GGUF file of a {kind} is not read here, but those of a llama and a qwen2 are")
    said = {name: own[f"{kind}.{theirs}"] for name, theirs in keys.items() if f"{kind}.{theirs}" in own}
    arrays = {one.name: dequantize(np.array(one.data), one.tensor_type) for one in tensors}
    if missing := [f"{kind}.{GGUF_MUST_SAY[name]}" for name in GGUF_MUST_SAY if name not in said]:
        raise ValueError(f"{path} holds no whole model: it does not say {missing[0]}")
    if "token_embd.weight" not in arrays:
        raise ValueError(f"{path} holds no whole model: it has no token_embd.weight")
    factor = said.pop("factor", said.pop("older_factor", 0)) or 1
    said["rope_scaling"] = {"rope_type": said.pop("rope_type", "linear"), "factor": factor}
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
    base, step = _turning(said)
    return TransformerConfig(
        vocab_size=said["vocab_size"], d_model=said["hidden_size"], n_heads=said["num_attention_heads"],
        n_layers=said["num_hidden_layers"], d_k=said.get("head_dim"), d_ff=said["intermediate_size"],
        n_key_heads=said.get("num_key_value_heads"), n_positions=said["max_position_embeddings"],
        positions="rotary", rotary_base=base, position_step=step, norm_type="rms", activation="swiglu", biases=biases,
        unembedding=_unembedding(said), epsilon=said["rms_norm_eps"],
    )  # fmt: skip


def _turning(said):
    """Return the base and the step of rotary positions, which older files say in rope_scaling."""
    own = said.get("rope_scaling") or said.get("rope_parameters") or {}
    rope = {"rope_theta": 10_000, **said, **own}
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind not in ("default", "none", "linear"):
        raise ValueError(f"rotary positions are computed here where rope_type is default or linear, but it is {kind}")
    if "sliding_attention" in (said.get("layer_types") or ()) or any(isinstance(part, dict) for part in own.values()):
        raise ValueError("all layers are computed alike here, but this model has several types of layers")
    d_k = said.get("head_dim") or said["hidden_size"] // said["num_attention_heads"]
    wanted = {"rope_size": d_k, "value_size": d_k, "partial_rotary_factor": 1, "attention_factor": 1}
    for key, value in wanted.items():
        if rope.get(key) not in (None, value):
            raise ValueError(f"rotary positions are computed here where {key} is {value}, but it is {rope[key]}")
    return rope["rope_theta"], 1 / rope["factor"] if kind == "linear" else 1


def _mistral(said):
    return replace(_llama(said), window=said["sliding_window"])


def _qwen2(said):
    return _llama(said, biases="qkv")


def _bert(said):
    return TransformerConfig(
        vocab_size=said["vocab_size"], d_model=said["hidden_size"], n_heads=said["num_attention_heads"],
        n_layers=said["num_hidden_layers"], d_ff=said["intermediate_size"],
        n_positions=said["max_position_embeddings"], norm="post", unembedding="none",
        n_token_types=said["type_vocab_size"], epsilon=said["layer_norm_eps"],
    )  # fmt: skip


LLAMA_COMPUTES = {"hidden_act": "silu", "is_causal": True}
LLAMA_DEFAULTS = {
    "vocab_size": 32_000, "hidden_size": 4096, "intermediate_size": 11_008, "num_hidden_layers": 32,
    "num_attention_heads": 32, "max_position_embeddings": 2048, "rms_norm_eps": 1e-6, "tie_word_embeddings": False,
}  # fmt: skip
MISTRAL_DEFAULTS = LLAMA_DEFAULTS | {
    "intermediate_size": 14_336, "num_key_value_heads": 8, "max_position_embeddings": 131_072, "sliding_window": 4096
}  # fmt: skip
QWEN2_DEFAULTS = LLAMA_DEFAULTS | {
    "vocab_size": 151_936, "intermediate_size": 22_016, "num_key_value_heads": 32, "max_position_embeddings": 32_768
}  # fmt: skip
GPT2_COMPUTES = {
    "activation_function": "gelu_new", "scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False,
    "add_cross_attention": False, "is_causal": True,
}  # fmt: skip
GPT2_DEFAULTS = {
    "vocab_size": 50_257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": None,
    "layer_norm_epsilon": 1e-5, "tie_word_embeddings": True,
}  # fmt: skip
GPT2_ALIASES = {
    "hidden_size": "n_embd", "max_position_embeddings": "n_positions", "num_attention_heads": "n_head",
    "num_hidden_layers": "n_layer",
}  # fmt: skip
BERT_COMPUTES = {
    "hidden_act": "gelu", "position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False,
}  # fmt: skip
BERT_DEFAULTS = {
    "vocab_size": 30_522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
}  # fmt: skip
FAMILIES = {
    "gpt2": Family(_gpt2, GPT2, "transformer.", GPT2_COMPUTES, GPT2_DEFAULTS, GPT2_ALIASES),
    "llama": Family(_llama, LLAMA, "model.", LLAMA_COMPUTES, LLAMA_DEFAULTS),
    "mistral": Family(_mistral, LLAMA, "model.", LLAMA_COMPUTES, MISTRAL_DEFAULTS),
    "qwen2": Family(_qwen2, LLAMA, "model.", {**LLAMA_COMPUTES, "use_sliding_window": False}, QWEN2_DEFAULTS),
    "bert": Family(_bert, BERT, "bert.", BERT_COMPUTES, BERT_DEFAULTS),
}


def _of_2024(vocab_size, **sizes):
    """A model of 2023 or 2024, of which no file is needed to count: nothing in it has a bias."""
    return TransformerConfig(
        vocab_size=vocab_size, positions="rotary", norm_type="rms", activation="swiglu", biases="none",
        unembedding="separate", epsilon=1e-5, **sizes,
    )  # fmt: skip


# From the config.json of each release.
RELEASED = {
    "Llama 2 7B": _of_2024(32_000, d_model=4096, n_heads=32, n_layers=32, d_ff=11_008),
    "Mistral 7B": _of_2024(32_000, d_model=4096, n_heads=32, n_layers=32, d_ff=14_336, n_key_heads=8),
    "Llama 3 8B": _of_2024(128_256, d_model=4096, n_heads=32, n_layers=32, d_ff=14_336, n_key_heads=8),
}


# --- installed by make models ---------------------------------------------------------------------


def installed(package, name):
    """Return where an installed package has a file or folder, without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise FileNotFoundError(f"the package {package.replace('_', '-')} is not installed: run make models")
    return next(Path(spec.submodule_search_locations[0]).glob(name))
