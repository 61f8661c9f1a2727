"""One module of PyTorch, followed through exporters into other runtimes."""

import io

import onnxruntime
import openvino
import torch
from onnx.reference import ReferenceEvaluator
from torch_module import exported

PINS = [
    "torch==2.13.0", "onnxscript==0.7.2", "onnx==1.23.2", "onnxruntime==1.32.0", "openvino==2026.4.1", "numpy==2.4.6"
]  # fmt: skip


def onnx_file(module, tensors, opset):
    file = io.BytesIO()
    torch.onnx.export(module, tensors, file, dynamo=True, opset_version=opset, verbose=False)
    return file.getvalue()


def in_onnxruntime(opset=None):
    def run(module, tensors, arrays):
        file = onnx_file(module, tensors, opset)
        session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        names = [one.name for one in session.get_inputs()]
        return session.run(None, dict(zip(names, arrays, strict=True)))[0]

    return exported(run)


def in_reference(module, tensors, arrays):
    evaluator = ReferenceEvaluator(onnx_file(module, tensors, None))
    return evaluator.run(None, dict(zip(evaluator.input_names, arrays, strict=True)))[0]


def compiled(model, arrays):
    return openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(arrays)[0]


def in_openvino(opset=None):
    def run(module, tensors, arrays):
        return compiled(openvino.Core().read_model(io.BytesIO(onnx_file(module, tensors, opset))), arrays)

    return exported(run)


def straight_to_openvino(module, tensors, arrays):
    return compiled(openvino.convert_model(module, example_input=tensors), arrays)


FUNCTIONS = {
    "torch → ONNX → onnxruntime": in_onnxruntime(),
    "torch → ONNX → onnx.reference": exported(in_reference),
    "torch → ONNX → openvino": in_openvino(),
    "torch → ONNX, opset 23 → onnxruntime": in_onnxruntime(23),
    "torch → ONNX, opset 23 → openvino": in_openvino(23),
    "torch → openvino": exported(straight_to_openvino),
}
