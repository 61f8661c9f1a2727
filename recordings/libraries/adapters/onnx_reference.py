"""ONNX: the operator Attention in the reference evaluator of the package onnx, of several releases."""

from onnx import defs
from onnx.reference import ReferenceEvaluator
from onnx_node import attention

PINS = ["onnx==1.23.2", "numpy==2.4.6"]
ENVIRONMENTS = {
    "onnx 1.23.2": {},
    "onnx 1.22.0": {"pins": ["onnx==1.22.0", "numpy==2.4.6"]},
    "onnx 1.20.1": {"pins": ["onnx==1.20.1", "numpy==2.4.6"]},
    "onnx 1.18.0": {"pins": ["onnx==1.18.0", "numpy==2.4.6"]},
}


def run(model, arrays):
    return ReferenceEvaluator(model).run(None, arrays)


FUNCTIONS = {"onnx.reference Attention, opset 23": attention(run, 23)}
if defs.onnx_opset_version() >= 25 and "left_window_size" in defs.get_schema("Attention", 25).attributes:
    FUNCTIONS["onnx.reference Attention, opset 25"] = attention(run, 25)
