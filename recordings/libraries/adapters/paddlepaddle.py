"""PaddlePaddle: its function, and its layer with weights that change nothing."""

import paddle
from axes import heads, rows
from paddle.nn.functional import scaled_dot_product_attention

PINS = ["paddlepaddle==3.3.1", "numpy==2.4.6"]


def four_axes(mask):
    return None if mask is None else paddle.to_tensor(mask)[None, None]


def sdpa(Q, K, V, *, mask=None, causal=False, scale=None, bfloat16=False, gradient=False, groups=False, raw=False):
    inputs = [paddle.to_tensor(array if raw else array.swapaxes(1, 2).copy()) for array in (Q, K, V)]
    inputs = [tensor.astype("bfloat16") for tensor in inputs] if bfloat16 else inputs
    for tensor in inputs:
        tensor.stop_gradient = not gradient
    output = scaled_dot_product_attention(*inputs, attn_mask=four_axes(mask), is_causal=causal, scale=scale)
    if gradient:
        output[:, 1].sum().backward()
        return [tensor.grad.numpy() for tensor in inputs]
    output = output.astype("float32").numpy()
    return output if raw else output.swapaxes(1, 2)


def layer(Q, K, V, *, mask=None, weights=False):
    _, n_heads, _, d = Q.shape
    made = paddle.nn.MultiHeadAttention(d * n_heads, n_heads, need_weights=weights)
    for projection in (made.q_proj, made.k_proj, made.v_proj, made.out_proj):
        projection.weight.set_value(paddle.eye(d * n_heads))
        projection.bias.set_value(paddle.zeros([d * n_heads]))
    output = made(*(paddle.to_tensor(rows(array)) for array in (Q, K, V)), attn_mask=four_axes(mask))
    output, returned = output if weights else (output, None)
    output = heads(output.numpy(), n_heads)
    return (output, returned.numpy()) if weights else output


FUNCTIONS = {"paddle scaled_dot_product_attention": sdpa, "paddle nn.MultiHeadAttention": layer}
