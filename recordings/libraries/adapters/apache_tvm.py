"""Apache TVM: relax.op.nn.attention, built for the CPU, with each of its two causal masks."""

import numpy as np
import tvm
from tvm import relax

PINS = ["apache-tvm==0.27.0.post1", "numpy==2.4.6"]


def attention(corner):
    def attend(Q, K, V, *, bias=None, causal=False, scale=None, window=None, groups=False, raw=False):
        arrays = [Q, K, V] if raw else [np.ascontiguousarray(one.transpose(0, 2, 1, 3)) for one in (Q, K, V)]
        arrays += [] if bias is None else [bias[None, None]]
        names = ["Q", "K", "V", "bias"]
        inputs = [relax.Var(name, relax.TensorType(one.shape, str(one.dtype))) for name, one in zip(names, arrays)]
        builder = relax.BlockBuilder()
        with builder.function("main", inputs):
            mask = corner if causal else None
            builder.emit_func_output(
                builder.emit(relax.op.nn.attention(*inputs, scale=scale, causal_mask=mask, window_size=window))
            )
        machine = relax.VirtualMachine(tvm.compile(builder.get(), target="llvm"), tvm.cpu())
        output = machine["main"](*[tvm.runtime.tensor(one) for one in arrays]).numpy()
        return output if raw else output.transpose(0, 2, 1, 3)

    return attend


FUNCTIONS = {
    "tvm relax.op.nn.attention, TopLeft": attention("TopLeft"),
    "tvm relax.op.nn.attention, BottomRight": attention("BottomRight"),
}
