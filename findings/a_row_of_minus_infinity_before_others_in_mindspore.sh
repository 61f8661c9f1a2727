#!/usr/bin/env bash
# mindspore.ops.softmax of MindSpore 2.10.0 (numpy 1.26.4, CPU) where a row before others is all minus infinity.
#
# Guessed: that row gets NaN, as in NumPy, or zeros; the other rows are right, since no row concerns another.
# Seen: that row gets zeros, and the rows after it are wrong. The same rows in an order in which it comes last are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==1.26.4 mindspore==2.10.0
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import mindspore
import numpy as np

rows = {"hidden": [-np.inf] * 4, "one": [0, 1, 2, 3], "two": [3, 0, 1, 1]}
right = {name: np.exp(rows[name]) / np.exp(rows[name]).sum() for name in ("one", "two")} | {"hidden": np.zeros(4)}


def are_right(*order):
    """Say of each row whether it is as it should be, with zeros for the row that is hidden."""
    x = mindspore.Tensor(np.array([rows[name] for name in order], np.float32))
    found = mindspore.ops.softmax(x, -1).asnumpy()
    return {name: np.allclose(row, right[name], atol=1e-6) for name, row in zip(order, found)}


print("mindspore", mindspore.__version__)
first = are_right("hidden", "one", "two")  # asked before anything else
middle = are_right("one", "hidden", "two")
last = are_right("one", "two", "hidden")
for answer in (first, middle, last):
    print({name: "right" if good else "wrong" for name, good in answer.items()})
assert first == {"hidden": True, "one": False, "two": False}
assert all(last.values())
PYTHON
