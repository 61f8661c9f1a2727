"""The module of PyTorch in LiteRT, converted by litert-torch, with its default delegate and without."""

import litert_torch
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from torch_module import exported

PINS = ["ai-edge-litert==2.3.0", "litert-torch==0.10.0", "litert-converter==0.5.0", "torch==2.13.0", "numpy==2.4.6"]


def by(resolver):
    def run(module, tensors, arrays):
        model = litert_torch.convert(module, tensors).model_content()
        runner = Interpreter(model_content=model, experimental_op_resolver_type=resolver).get_signature_runner()
        return next(iter(runner(**{f"args_{i}": array for i, array in enumerate(arrays)}).values()))

    return exported(run)


FUNCTIONS = {
    "torch → litert": by(OpResolverType.AUTO),
    "torch → litert, no delegate": by(OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES),
}
