#!/usr/bin/env bash
# A Llama whose config.json says `tie_word_embeddings: true`, and whose file also holds an lm_head.weight that is not the
# embedding, read by transformers 5.24.0 (torch 2.13.0, safetensors 0.8.0).
#
# Guessed: the config decides; tokens are scored by the embedding, and the second matrix is unused.
# Seen: the file decides. The head is kept and the model is not tied, though its config still says that it is.
# The same file without that matrix is tied.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0 safetensors==0.8.0
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import torch
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM

sizes = {"vocab_size": 11, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
torch.manual_seed(0)
LlamaForCausalLM(LlamaConfig(**sizes, tie_word_embeddings=True)).save_pretrained("model")
arrays = load_file("model/model.safetensors")
for name, more in {"without": {}, "with": {"lm_head.weight": torch.ones(11, 8)}}.items():
    save_file({**arrays, **more}, "model/model.safetensors", metadata={"format": "pt"})
    model = LlamaForCausalLM.from_pretrained("model")
    tied = torch.equal(model.lm_head.weight, model.model.embed_tokens.weight)
    print(f"{name} an lm_head in the file: config says tied {model.config.tie_word_embeddings}, the head is the embedding {tied}")
assert not tied and bool((model.lm_head.weight == 1).all())
PYTHON
