#!/usr/bin/env bash
# A transposed NumPy array, saved by safetensors 0.8.0 (safetensors.numpy.save_file).
#
# Guessed: it is copied into rows first, or refused, as the PyTorch side refuses tensors that are not contiguous.
# Seen: its shape is written, and its numbers in the order in which they lie in memory. What is read back has the right
# shape and other numbers, and nothing is said. np.ascontiguousarray before saving keeps them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 safetensors==0.8.0
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import safetensors
from safetensors.numpy import load_file, save_file

W = np.arange(6, dtype=np.float32).reshape(2, 3)
save_file({"as it is": W.T, "copied": np.ascontiguousarray(W.T)}, "weights.safetensors")
read = load_file("weights.safetensors")
print("safetensors", safetensors.__version__)
for name, array in read.items():
    print(f"{name:<9} shape {array.shape}, equal to what was saved: {np.array_equal(array, W.T)}, {array.tolist()}")
assert read["as it is"].tolist() == [[0, 1], [2, 3], [4, 5]] and not np.array_equal(read["as it is"], W.T)
assert np.array_equal(read["copied"], W.T)
PYTHON
