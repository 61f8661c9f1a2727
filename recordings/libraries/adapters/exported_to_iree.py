"""The module of PyTorch in IREE, to which iree-turbine exports it as one operation."""

import iree.compiler
import iree.runtime
import torch
from iree.turbine import aot
from torch_module import exported

PINS = [
    "iree-base-runtime==3.13.0", "iree-base-compiler==3.13.0", "iree-turbine==3.9.0", "torch==2.13.0", "numpy==2.4.6"
]  # fmt: skip


def run(module, tensors, arrays):
    """A mask has to have four axes there."""
    tensors = *tensors[:3], *(mask[None, None] for mask in tensors[3:])
    program = aot.export(torch.export.export(module, tensors))
    compiled = iree.compiler.compile_str(str(program.mlir_module), target_backends=["llvm-cpu"])
    loaded = iree.runtime.load_vm_flatbuffer(compiled, driver="local-sync")
    return loaded.main(*(tensor.numpy() for tensor in tensors)).to_host()


FUNCTIONS = {"torch → iree": exported(run)}
