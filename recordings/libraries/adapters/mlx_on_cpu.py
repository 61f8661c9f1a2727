"""MLX on a CPU: its fast function. The scale has to be given, and "causal" stands in the place of a mask."""

import mlx.core as mx
import numpy as np

PINS = ["mlx==0.32.4", "mlx-cpu==0.32.4", "numpy==2.4.6"]


def sdpa(
    Q, K, V, *, mask=None, causal=False, scale=None, sink=False, bfloat16=False, gradient=False, groups=False, raw=False
):
    inputs = [mx.array(array).astype(mx.bfloat16) if bfloat16 else mx.array(array) for array in (Q, K, V)]
    given = {} if mask is None else {"mask": mx.array(mask)}
    flag = {"mask": "causal"} if causal else {}
    sinks = mx.zeros(Q.shape[1]) if sink else None
    scale = Q.shape[-1] ** -0.5 if scale is None else scale

    def output(*inputs):
        return mx.fast.scaled_dot_product_attention(*inputs, scale=scale, sinks=sinks, **given, **flag)

    if gradient:
        return [np.array(one) for one in mx.grad(lambda *inputs: output(*inputs)[..., 1, :].sum(), (0, 1, 2))(*inputs)]
    return np.array(output(*inputs).astype(mx.float32))


FUNCTIONS = {"mlx fast.scaled_dot_product_attention": sdpa}
