#!/usr/bin/env bash
# MultiHeadAttention of openai-whisper 20250625 (torch 2.13.0, CPU), called with a mask that is not causal.
#
# Guessed: the mask that is given is added to the scores, both with SDPA (the default) and inside disable_sdpa().
# Seen: with SDPA a mask is not read: any mask, even one of zeros alone, hides the later tokens and nothing else. Inside
# disable_sdpa() it is added. The decoder of Whisper itself gives only the causal mask, for which both agree.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 openai-whisper==20250625
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import torch
from whisper.model import MultiHeadAttention, disable_sdpa
from whisper.version import __version__

layer = MultiHeadAttention(8, 1).requires_grad_(False)
for parameter in layer.parameters():
    parameter.zero_()
for matrix in (layer.value, layer.out):
    matrix.weight.copy_(torch.eye(8))
x = torch.eye(8)[None, :3]  # the output is the row of weights
masks = {
    "causal": torch.full((3, 3), -torch.inf).triu(1),
    "zeros": torch.zeros(3, 3),
    "first token hidden": torch.tensor([-torch.inf, 0, 0]).repeat(3, 1),
}
print("openai-whisper", __version__, "torch", torch.__version__)
found = {}
for name, mask in masks.items():
    by_sdpa = layer(x, mask=mask)[0][0, :, :3]
    with disable_sdpa():
        by_hand = layer(x, mask=mask)[0][0, :, :3]
    for way, rows in {"SDPA": by_sdpa, "disable_sdpa": by_hand}.items():
        found[name, way] = rows
        print(f"{name:<18} {way:<12}", [[round(one, 3) for one in row] for row in rows.tolist()])
for name, mask in masks.items():
    torch.testing.assert_close(found[name, "SDPA"], masks["causal"].softmax(-1))
    torch.testing.assert_close(found[name, "disable_sdpa"], mask.softmax(-1))
PYTHON
