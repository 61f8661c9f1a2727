#!/usr/bin/env bash
# relax.op.nn.attention of Apache TVM (apache-tvm 0.27.0.post1, CPU) with causal_mask="TopLeft", in float32.
#
# Guessed: scores that the mask hides take no part, however low those are that it leaves.
# Seen: hidden scores are set to 0 and take part in the maximum that is subtracted before exp. Where the scores that are
# seen are about -105 or less, exp gives 0 for all of them, and the query gets NaN. Without the mask -120 does no harm.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 apache-tvm==0.27.0.post1
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import tvm
from tvm import relax


def weights(score, causal_mask):
    """Return the weights of three queries whose scores are all `score`."""
    Q, K = np.ones((1, 3, 1, 4), np.float32), np.full((1, 3, 1, 4), score / 4, np.float32)
    V = np.eye(4, dtype=np.float32)[None, :3, None]  # the output is the row of weights
    inputs = [relax.Var(name, relax.TensorType(array.shape, "float32")) for name, array in zip("QKV", (Q, K, V))]
    builder = relax.BlockBuilder()
    with builder.function("main", inputs):
        builder.emit_func_output(builder.emit(relax.op.nn.attention(*inputs, scale=1.0, causal_mask=causal_mask)))
    machine = relax.VirtualMachine(tvm.compile(builder.get(), target="llvm"), tvm.cpu())
    output = machine["main"](*[tvm.runtime.tensor(array) for array in (Q, K, V)]).numpy()
    return output[0, :, 0, :3].astype(float)


print("apache-tvm", tvm.__version__)
found = {(score, mask): weights(score, mask) for score in (-90, -120) for mask in (None, "TopLeft")}
for (score, mask), rows in found.items():
    print(f"scores {score:>4}, causal_mask {mask!s:<8} {rows.round(3).tolist()}")
assert np.isnan(found[-120, "TopLeft"][:2]).all() and np.allclose(found[-120, "TopLeft"][2], 1 / 3)
assert np.allclose(found[-90, "TopLeft"], np.tril(np.ones((3, 3))) / [[1], [2], [3]], atol=1e-4)
assert np.allclose(found[-90, None], 1 / 3) and np.allclose(found[-120, None], 1 / 3)
PYTHON
