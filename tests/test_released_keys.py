"""Each key of a model's header is varied once: it is read as transformers or llama.cpp reads it, or refused."""

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from released import BERT, GPT2, SIZES, logits_of, params_of, post, write

from attn import decoder, encoder, softmax
from attn_course.released import read_model

LLAMA = {**SIZES, "hidden_size": 48}  # heads that fill it: llama.cpp takes that for granted
FAMILIES = {
    "GPT2LMHeadModel": GPT2,
    "LlamaForCausalLM": LLAMA,
    "MistralForCausalLM": {**LLAMA, "sliding_window": 13},
    "Qwen2ForCausalLM": LLAMA,
    "BertModel": BERT,
}
YARN = {"rope_type": "yarn", "factor": 2.0}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
SAID = {  # what a config.json may say, and other models' files do
    "is_causal": [False], "sliding_window": [5, None], "use_sliding_window": [True], "max_window_layers": [0],
    "layer_types": [["sliding_attention", "full_attention"], ["full_attention"] * 2], "rope_theta": [50.0],
    "partial_rotary_factor": [0.5, 1.0], "rope_type": ["linear"], "factor": [2.0],
    "rope_scaling": [
        None, {}, {"type": "linear", "factor": 2.5}, {"rope_type": "linear", "factor": 2.5}, {"factor": 2.5},
        {"rope_type": "default", "factor": 2.5}, {"type": "dynamic", "factor": 2.0}, YARN, LLAMA3,
        {"rope_type": "linear", "factor": 2.5, "rope_theta": 9.0}, {"rope_type": "none"},
    ],
    "rope_parameters": [
        None, {}, {"rope_theta": 9.0}, {"rope_type": "linear", "factor": 2.5, "rope_theta": 9.0},
        {"rope_type": "default", "rope_theta": 9.0, "partial_rotary_factor": 0.5},
        {"full_attention": {"rope_type": "default", "rope_theta": 9.0}},
    ],
    "hidden_act": ["gelu", "silu", "gelu_new"], "activation_function": ["gelu", "gelu_new"], "head_dim": [8, None, 4],
    "num_key_value_heads": [None, 6, 1], "n_inner": [40, None], "hidden_size": [30, 48], "num_attention_heads": [1, 3],
    "num_hidden_layers": [1, 3], "n_head": [1, 6], "n_layer": [2], "max_position_embeddings": [100], "n_ctx": [5],
    "tie_word_embeddings": [True, False], "vocab_size": [58, 60], "type_vocab_size": [2], "rms_norm_eps": [0.5],
    "layer_norm_epsilon": [0.5], "layer_norm_eps": [0.5], "scale_attn_weights": [False], "is_decoder": [True],
    "scale_attn_by_inverse_layer_idx": [True], "reorder_and_upcast_attn": [True], "add_cross_attention": [True],
    "position_embedding_type": ["relative_key"], "pad_token_id": [3], "attention_bias": [True], "mlp_bias": [True],
    "attention_multiplier": [0.5], "query_pre_attn_scalar": [4], "attn_logit_softcapping": [2.0],
    "logits_scaling": [3.0], "logit_scale": [3.0], "embedding_multiplier": [3.0], "residual_multiplier": [2.0],
    "final_logit_softcapping": [2.0], "clip_qkv": [0.1], "rotary_pct": [0.5], "no_rope_layers": [[0, 1]],
    "attention_chunk_size": [8], "use_qk_norm": [True], "pretraining_tp": [2], "dtype": ["float16"],
}  # fmt: skip


def answer(compute):
    """Return what is computed, or None where it is refused by a sentence."""
    try:
        return compute()
    except ValueError:
        return None


@pytest.mark.parametrize("name", FAMILIES)
def test_each_key_of_a_config_is_read_as_transformers_reads_it_or_refused(name, saved, torch, transformers):
    transformers.utils.logging.set_verbosity_error()
    _, folder = saved(name, FAMILIES[name])
    kind, run = getattr(transformers, name), encoder if name == "BertModel" else decoder
    path, tokens = folder / "config.json", np.random.default_rng(0).integers(58, size=90)
    plain = json.loads(path.read_text(encoding="utf-8"))
    older = {name: it for name, it in plain.items() if name != "rope_parameters"} | {"rope_theta": 77.0}
    cases = [{key: it for key, it in plain.items() if key != left_out} for left_out in plain]
    for key, values in SAID.items():
        cases += [{**(older if key in ("rope_scaling", "rope_theta") else plain), key: value} for value in values]
    read = 0
    for said in cases:
        path.write_text(json.dumps(said), encoding="utf-8")
        ours = answer(lambda: run(*read_model(folder), tokens))
        if ours is None:
            continue
        try:
            theirs = logits_of(torch, kind.from_pretrained(folder, dtype=torch.float32).eval(), tokens)
        except Exception:  # their sentences are of many kinds
            continue
        assert_allclose(ours, theirs, atol=1e-4, err_msg=json.dumps(said))
        read += 1
    assert read > 40


# --- GGUF -----------------------------------------------------------------------------------------

WORDS = [chr(97 + number // 16) + chr(97 + number % 16) for number in range(256)] + ["<|end|>"]
HEADER = {
    "block_count": 2, "context_length": 211, "embedding_length": 48, "feed_forward_length": 37,
    "attention.head_count": 6, "attention.head_count_kv": 2, "attention.layer_norm_rms_epsilon": 0.02,
    "rope.freq_base": 77.0, "rope.dimension_count": 8, "vocab_size": 257,
}  # fmt: skip
ABOUT_TOKENS = {
    "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm", "tokenizer.ggml.tokens": WORDS,
    "tokenizer.ggml.token_type": [1] * 256 + [3], "tokenizer.ggml.merges": ["a a"], "tokenizer.ggml.eos_token_id": 256,
}  # fmt: skip
HEEDED = [  # what llama.cpp computes with
    {"attention.causal": False}, {"rope.scale_linear": 2.5}, {"rope.scaling.factor": 2.5}, {"rope.freq_base": 2.5},
    {"rope.scaling.attn_factor": 2.5}, {"attention.layer_norm_rms_epsilon": 2.5},
]  # fmt: skip
SCALED = [
    {"attention.sliding_window": 3}, {"rope.scaling.type": "none"}, {"rope.scaling.type": "linear"},
    *({"rope.scaling.type": kind, "rope.scaling.factor": 2.0} for kind in ("none", "linear", "yarn")),
    {"rope.scaling.factor": 2.0, "rope.scale_linear": 3.0}, {"rope.scaling.factor": 0.0, "rope.scale_linear": 3.0},
    {"rope.scale_linear": 0.0}, {"rope.scaling.type": "linear", "rope.scale_linear": 2.0}, {"attention.key_length": 8},
    {"attention.value_length": 8}, {"rope.scaling.attn_factor": 1.0}, {"attention.causal": True},
    {"rope.scaling.type": "linear", "rope.scaling.factor": 2.0, "rope.scaling.original_context_length": 100},
]  # fmt: skip
LEFT_OUT = ["rope.freq_base", "rope.dimension_count", "vocab_size", "attention.head_count_kv"]
# An array would be needed as well, or the text would be longer than the model reads.
SIZES_OF_ARRAYS = re.compile("expert|nextn|length|count|vocab_size")


@pytest.fixture(scope="module")
def gguf():
    return pytest.importorskip("gguf")


@pytest.fixture
def written(gguf, tmp_path):
    """Write a small random model as a GGUF file, with more in its header, or less."""

    def make(kind, more=(), left_out=()):
        rng, path = np.random.default_rng(0), tmp_path / "model.gguf"
        header = {name: value for name, value in {**HEADER, **dict(more)}.items() if name not in left_out}
        sizes = {"attn_q": (48, 48), "attn_k": (16, 48), "attn_v": (16, 48), "attn_output": (48, 48)}
        sizes |= {"ffn_gate": (37, 48), "ffn_up": (37, 48), "ffn_down": (48, 37), "attn_norm": (48,), "ffn_norm": (48,)}
        shapes = {f"blk.{i}.{name}.weight": size for i in range(2) for name, size in sizes.items()}
        if kind == "qwen2":
            shapes |= {f"blk.{i}.attn_{one}.bias": sizes[f"attn_{one}"][:1] for i in range(2) for one in "qkv"}
        shapes |= {"token_embd.weight": (257, 48), "output.weight": (257, 48), "output_norm.weight": (48,)}
        arrays = {
            name: rng.normal(0, 0.3, size=shape).astype(np.float32) + name.endswith("norm.weight")
            for name, shape in shapes.items()
        }
        write(gguf, path, kind, header | ABOUT_TOKENS, arrays)
        return path

    return make


TOKENS = np.random.default_rng(1).integers(256, size=60)


def ours_of(path):
    return np.log(softmax(decoder(*read_model(path), TOKENS, last=True)[0].astype(float)))


@pytest.fixture(scope="module")
def theirs_of(xllamacpp):
    """Return the logarithms of what a GGUF file gives to each next token in llama.cpp, all in float32."""

    def compute(path):
        about = params_of(xllamacpp, path, 256)
        about.cache_type_k = about.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
        about.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        question = {"prompt": TOKENS.tolist(), "n_predict": 1, "n_probs": len(WORDS), "temperature": 1.0}
        (found,) = post(xllamacpp.Server(about), "completion", **question)["completion_probabilities"]
        logs = {one["id"]: one["logprob"] for one in found["top_logprobs"]}
        return np.array([logs[token] for token in range(len(WORDS))])

    return compute


@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_each_key_of_a_gguf_file_is_read_as_llama_cpp_reads_it_or_refused(kind, written, theirs_of, gguf):
    groups = [vars(group).values() for group in vars(gguf.constants.Keys).values() if isinstance(group, type)]
    names = [key.removeprefix("{arch}.") for group in groups for key in group if str(key).startswith("{arch}.")]
    plain = theirs_of(written(kind))
    assert_allclose(ours_of(written(kind)), plain, atol=1e-4)
    others = [{name: 2.5} for name in names if not SIZES_OF_ARRAYS.search(name) and "{" not in name]
    assert len(others) > 40
    for more, left_out in [*((more, []) for more in [*HEEDED, *SCALED, *others]), *(({}, [name]) for name in LEFT_OUT)]:
        path = written(kind, more, left_out)
        ours = answer(lambda: ours_of(path))  # noqa: B023
        if ours is None:
            assert left_out or set(more) & {"attention.causal", "rope.scaling.attn_factor", "rope.scaling.type"}, more
            continue
        try:
            theirs = theirs_of(path)
        except RuntimeError:  # a number where llama.cpp wants another kind
            continue
        assert_allclose(ours, theirs, atol=1e-4, err_msg=f"{more} {left_out}")
        assert more not in HEEDED or np.abs(theirs - plain).max() > 0.1, more
