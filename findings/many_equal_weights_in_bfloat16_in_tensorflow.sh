#!/usr/bin/env bash
# keras.ops.dot_product_attention of Keras 3.15.1 on TensorFlow (tensorflow-cpu 2.21.0), in bfloat16: one query, and 4,096
# keys with equal scores, so that each weight is 1/4096, and values that are all 1.
#
# Guessed: 1, with oneDNN and without. Weights and values are exact in bfloat16, and so is their sum.
# Seen: 0.5 with TF_ENABLE_ONEDNN_OPTS=0. So it is with eight sums in bfloat16: each stays at 1/16, to which 1/4096 can
# no longer be added.
# With oneDNN it was 1 on the processor where this was seen, one that has AVX-512 for bfloat16; that is not asserted.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 keras==3.15.1 tensorflow-cpu==2.21.0
cd "$folder"
cat >asked.py <<'PYTHON'
import os

from keras import ops


def asked(dtype):
    query, key = ops.zeros((1, 1, 1, 8), dtype), ops.zeros((1, 4096, 1, 8), dtype)
    output = ops.dot_product_attention(query, key, ops.ones(key.shape, dtype))
    return ops.convert_to_numpy(ops.cast(output, "float32")).ravel()


one_dnn, found = os.environ["TF_ENABLE_ONEDNN_OPTS"], {dtype: asked(dtype) for dtype in ("float32", "bfloat16")}
for dtype, numbers in found.items():
    print(f"TF_ENABLE_ONEDNN_OPTS={one_dnn} {dtype:<8} {numbers[0]}")
assert (found["float32"] == 1).all()
assert one_dnn == "1" or (found["bfloat16"] == 0.5).all()
PYTHON
for one_dnn in 1 0; do
    export KERAS_BACKEND=tensorflow KERAS_HOME="$folder" TF_ENABLE_ONEDNN_OPTS=$one_dnn
    "$folder/venv/bin/python" asked.py 2>/dev/null
done
