"""The module of PyTorch in ExecuTorch, with the XNNPACK delegate and with its portable kernels."""

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime
from torch_module import exported

PINS = ["executorch==1.5.1", "torch==2.13.0", "numpy==2.4.6"]


def by(partitioners):
    def run(module, tensors, arrays):
        lowered = to_edge_transform_and_lower(torch.export.export(module, tensors), partitioner=partitioners)
        method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
        return method.execute(tensors)[0].numpy()

    return exported(run)


FUNCTIONS = {
    "torch → executorch, XNNPACK": by([XnnpackPartitioner()]),
    "torch → executorch, portable kernels": by([]),
}
