#!/usr/bin/env bash
# dispatch_attention_fn of diffusers 0.42.1 (torch 2.13.0, CPU): is_causal=True with the back end "flex".
#
# Guessed: no query sees a later token, as with the back end "native".
# Seen: without a mask the flag has no effect with "flex", and nothing is said of it: every query sees every token.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 torch==2.13.0 diffusers==0.42.1
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import diffusers
import torch
from diffusers.models.attention_dispatch import dispatch_attention_fn

query = key = torch.zeros(1, 3, 1, 4)
value = torch.eye(4)[None, :3, None]  # the output is the row of weights
print("diffusers", diffusers.__version__, "torch", torch.__version__)
found = {}
for backend in ("native", "flex"):
    for causal in (False, True):
        output = dispatch_attention_fn(query, key, value, is_causal=causal, backend=backend)
        found[backend, causal] = rows = output[0, :, 0, :3]
        print(f"{backend:<6} is_causal={causal!s:<5}", [[round(one, 3) for one in row] for row in rows.tolist()])
everything = torch.full((3, 3), 1 / 3)
torch.testing.assert_close(found["flex", True], everything)
torch.testing.assert_close(found["flex", False], everything)
torch.testing.assert_close(found["native", True], everything.tril() * torch.tensor([[3], [1.5], [1]]))
PYTHON
