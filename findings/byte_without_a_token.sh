#!/usr/bin/env bash
# A byte-level vocabulary without a token for one byte, in tokenizers 0.23.3 and in llama.cpp (xllamacpp 2026.10.11549,
# gguf 0.19.0). Released vocabularies are so: that of SmolLM2 has no token for six of the control characters.
#
# Guessed: both leave the byte out and cut what stands around it as if it were still between.
# Seen: llama.cpp joins neighbours first, so that the letters at both sides stay apart; tokenizers leaves the byte out
# first, and joins two letters that were never neighbours. A text with such a byte has other tokens in each.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 gguf==0.19.0 tokenizers==0.23.3 xllamacpp==2026.10.11549
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import json
import urllib.request

import gguf
import numpy as np
import tokenizers
import xllamacpp

MISSING = "\x04"
spelled = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
missing = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(MISSING)[0][0]
words = [letter for letter in spelled if letter != missing] + ["!!", "<|end|>"]

theirs = tokenizers.Tokenizer(tokenizers.models.BPE({word: i for i, word in enumerate(words)}, [("!", "!")]))
theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)

writer = gguf.GGUFWriter("model.gguf", "llama")
for name, value in {"block_count": 1, "context_length": 128, "embedding_length": 8, "feed_forward_length": 8, "attention.head_count": 1}.items():
    writer.add_uint32(f"llama.{name}", value)
writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
writer.add_tokenizer_model("gpt2")
writer.add_tokenizer_pre("gpt-2")
writer.add_token_list(words)
writer.add_token_types([1] * (len(words) - 1) + [3])
writer.add_token_merges(["! !"])
writer.add_eos_token_id(len(words) - 1)
shapes = {"token_embd": (len(words), 8), "output_norm": (8,), "blk.0.attn_norm": (8,), "blk.0.ffn_norm": (8,)}
shapes |= {f"blk.0.{name}": (8, 8) for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")}
for name, shape in shapes.items():
    writer.add_tensor(f"{name}.weight", np.zeros(shape, np.float32))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
about = xllamacpp.CommonParams()
about.model.path, about.n_ctx, about.warmup, about.verbosity = "model.gguf", 128, False, -1
server = xllamacpp.Server(about)
for text in ("!!", f"!{MISSING}!"):
    request = urllib.request.Request(f"{server.listening_address}/tokenize", json.dumps({"content": text}).encode())
    with urllib.request.urlopen(request) as answer:
        llama_cpp = [words[token] for token in json.load(answer)["tokens"]]
    found = [words[token] for token in theirs.encode(text).ids]
    print(f"{text!r:<12} tokenizers {found}   llama.cpp {llama_cpp}")
assert found == ["!!"] and llama_cpp == ["!", "!"]
PYTHON
