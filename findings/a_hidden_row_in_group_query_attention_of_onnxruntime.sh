#!/usr/bin/env bash
# com.microsoft.GroupQueryAttention of onnxruntime 1.32.0 (onnx 1.23.2, CPU), with an attention_bias that is minus
# infinity for every key of one query.
#
# Guessed: that query gets the same with causal=1 and with causal=0, since it has nothing to attend to in either.
# Seen: it gets NaN with causal=0, and zeros with causal=1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 onnx==1.23.2 onnxruntime==1.32.0
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime
from onnx import helper

x, V = np.zeros((1, 3, 8), np.float32), np.eye(8, dtype=np.float32)[None, :3]  # the output is the row of weights
bias = np.zeros((1, 1, 3, 3), np.float32)
bias[0, 0, 1] = -np.inf
arrays = {"query": x, "key": x, "value": V, "attention_bias": bias}
arrays |= {"seqlens_k": np.array([2], np.int32), "total_sequence_length": np.array([3], np.int32)}
names = ["query", "key", "value", "", "", "seqlens_k", "total_sequence_length", "", "", "", "attention_bias"]
outputs = ["output", "present_key", "present_value"]


def weights(causal):
    sizes = {"num_heads": 1, "kv_num_heads": 1}
    node = helper.make_node("GroupQueryAttention", names, outputs, domain="com.microsoft", causal=causal, **sizes)
    taken = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in arrays.items()
    ]
    given = [helper.make_tensor_value_info(name, 1, None) for name in outputs]
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
    graph, version = helper.make_graph([node], "attention", taken, given), helper.find_min_ir_version_for(opsets[:1])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=version)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(["output"], arrays)[0][0, :, :3].astype(float)


print("onnxruntime", onnxruntime.__version__)
plain, causal = weights(0), weights(1)
print("causal=0:", plain.round(3).tolist())
print("causal=1:", causal.round(3).tolist())
assert np.isnan(plain[1]).all() and np.allclose(plain[[0, 2]], 1 / 3)
assert (causal[1] == 0).all() and np.allclose(causal[[0, 2]], [[1, 0, 0], [1 / 3] * 3])
PYTHON
