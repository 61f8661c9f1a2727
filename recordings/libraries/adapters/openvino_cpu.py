"""OpenVINO on a CPU: its own ScaledDotProductAttention, and the operator Attention of an ONNX file."""

import io

import numpy as np
import openvino
from onnx_node import attention
from openvino import opset13

PINS = ["openvino==2026.4.1", "onnx==1.23.2", "numpy==2.4.6"]


def compiled(model):
    return openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})


def sdpa(Q, K, V, *, mask=None, causal=False, scale=None, bfloat16=False, groups=False, raw=False):
    arrays = [array for array in (Q, K, V, mask) if array is not None]
    parameters = [opset13.parameter(array.shape, array.dtype) for array in arrays]
    inputs = [opset13.convert(one, "bf16") for one in parameters] if bfloat16 else parameters
    named = dict(zip(["query", "key", "value", "attention_mask"], inputs, strict=False))
    if scale is not None:
        named["scale"] = opset13.constant(np.array(scale, Q.dtype))
    output = opset13.scaled_dot_product_attention(**named, causal=causal)
    output = opset13.convert(output, "f32") if bfloat16 else output
    return compiled(openvino.Model([output], parameters))(arrays)[0]


def run(model, arrays):
    file = io.BytesIO(model.SerializeToString())
    return list(compiled(openvino.Core().read_model(file))(list(arrays.values())).values())


FUNCTIONS = {
    "openvino opset13 ScaledDotProductAttention": sdpa,
    "openvino ONNX Attention, opset 23": attention(run, 23),
}
