#!/usr/bin/env bash
# A GGUF file of a Llama that has `rope.scaling.factor` and no `rope.scaling.type`, run by llama.cpp
# (xllamacpp 2026.10.11549, gguf 0.19.0).
#
# Guessed: what has no type is not scaled, as in a config.json, where transformers 5.24.0 takes a factor without a type for
# type "default" and does not scale.
# Seen: positions are divided by the factor, exactly as with the type "linear"; `rope.scaling.attn_factor` without a type
# is heeded too; with the type "none" the factor is ignored.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 gguf==0.19.0 xllamacpp==2026.10.11549
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import json
import urllib.request

import gguf
import numpy as np
import xllamacpp

WORDS = [chr(97 + i // 16) + chr(97 + i % 16) for i in range(256)] + ["<|end|>"]
HEADER = {"block_count": 1, "context_length": 128, "embedding_length": 32, "feed_forward_length": 24,
          "attention.head_count": 4, "attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": 100.0}


def predicted(**more):
    rng, writer = np.random.default_rng(0), gguf.GGUFWriter("model.gguf", "llama")
    for name, value in {**HEADER, **more}.items():
        {int: writer.add_uint32, float: writer.add_float32, str: writer.add_string}[type(value)](f"llama.{name}", value)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(WORDS)
    writer.add_token_types([1] * 256 + [3])
    writer.add_token_merges(["a a"])
    writer.add_eos_token_id(256)
    shapes = {"token_embd": (257, 32), "output": (257, 32), "output_norm": (32,), "blk.0.attn_norm": (32,), "blk.0.ffn_norm": (32,)}
    shapes |= {f"blk.0.attn_{name}": (32, 32) for name in ("q", "k", "v", "output")}
    shapes |= {"blk.0.ffn_gate": (24, 32), "blk.0.ffn_up": (24, 32), "blk.0.ffn_down": (32, 24)}
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", rng.normal(0, 0.3, size=shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    about = xllamacpp.CommonParams()
    about.model.path, about.n_ctx, about.warmup, about.verbosity = "model.gguf", 128, False, -1
    about.cache_type_k = about.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    question = {"prompt": [*range(40)], "n_predict": 1, "n_probs": 257, "temperature": 1.0}
    server = xllamacpp.Server(about)
    request = urllib.request.Request(f"{server.listening_address}/completion", json.dumps(question).encode())
    with urllib.request.urlopen(request) as answer:
        (found,) = json.load(answer)["completion_probabilities"]
    logs = {one["id"]: one["logprob"] for one in found["top_logprobs"]}
    return np.array([logs[token] for token in range(257)])


plain = predicted()
far = {name: float(np.abs(predicted(**more) - plain).max()) for name, more in {
    "factor 2.5, no type": {"rope.scaling.factor": 2.5},
    "factor 2.5, linear": {"rope.scaling.type": "linear", "rope.scaling.factor": 2.5},
    "factor 2.5, none": {"rope.scaling.type": "none", "rope.scaling.factor": 2.5},
    "attn_factor 2.5, no type": {"rope.scaling.attn_factor": 2.5},
}.items()}
for name, number in far.items():
    print(f"{name:<26} largest change of a log probability {number:.2f}")
assert far["factor 2.5, no type"] == far["factor 2.5, linear"] > 0.1
assert far["factor 2.5, none"] == 0 and far["attn_factor 2.5, no type"] > 0.1
PYTHON
