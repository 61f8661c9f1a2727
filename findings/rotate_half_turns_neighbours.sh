#!/usr/bin/env bash
# A function rotate_half, by which rotary positions are written in many programs, in transformers 5.24.0,
# rotary-embedding-torch 0.9.1 and x-transformers 2.31.10 (torch 2.13.0).
#
# Guessed: one function under one name. It moves the second half of a row in front of the first, with the other sign.
# Seen: it does so in the Llama of transformers. In the other two it exchanges neighbours, so that code which is carried
# over with its function turns other pairs, with shapes that fit.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0 rotary-embedding-torch==0.9.1 x-transformers==2.31.10
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import rotary_embedding_torch.rotary_embedding_torch as rotary
import torch
import x_transformers.x_transformers as x
from transformers.models.llama.modeling_llama import rotate_half as of_transformers

row = torch.tensor([[[1.0, 2.0, 3.0, 4.0]]])
named = {
    "transformers": of_transformers, "rotary-embedding-torch": rotary.rotate_half, "x-transformers": x.rotate_half,
}
found = {name: function(row).flatten().tolist() for name, function in named.items()}
for name, turned in found.items():
    print(f"{name}: rotate_half of 1 2 3 4 is {turned}")
assert found.pop("transformers") == [-3, -4, 1, 2]
assert all(turned == [-2, 1, -4, 3] for turned in found.values())
PYTHON
