"""The module of PyTorch in tract, by the ONNX file that torch.onnx.export writes when no opset is named."""

import torch
import tract
from torch_module import exported

PINS = ["tract==0.23.9", "torch==2.13.0", "onnx==1.23.2", "onnxscript==0.7.2", "numpy==2.4.6"]


def run(module, tensors, arrays):
    torch.onnx.export(module, tensors, "attention.onnx", verbose=False)
    return tract.onnx().load("attention.onnx").into_model().into_runnable().run(arrays)[0].to_numpy()


FUNCTIONS = {"torch → ONNX → tract": exported(run)}
