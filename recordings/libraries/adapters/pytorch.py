"""PyTorch: its functions and its layer."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

PINS = ["torch==2.13.0", "numpy==2.4.6"]


def tensors(*arrays, bfloat16=False):
    made = [None if array is None else torch.tensor(array) for array in arrays]
    return [one.bfloat16() if bfloat16 and one is not None and one.dtype == torch.float32 else one for one in made]


def sdpa(Q, K, V, *, mask=None, causal=False, scale=None, bfloat16=False, gradient=False, groups=False, raw=False):
    *inputs, mask = tensors(Q, K, V, mask, bfloat16=bfloat16)
    for tensor in inputs:
        tensor.requires_grad_(gradient)
    output = scaled_dot_product_attention(
        *inputs, attn_mask=mask, is_causal=causal, scale=scale, enable_gqa=Q.shape[1] != K.shape[1]
    )
    if gradient:
        output[..., 1, :].sum().backward()
        return [tensor.grad.numpy() for tensor in inputs]
    return output.detach().float().numpy()


def sdpa_math(Q, K, V, *, mask=None, causal=False, scale=None, bfloat16=False, gradient=False, groups=False, raw=False):
    with sdpa_kernel(SDPBackend.MATH):
        return sdpa(Q, K, V, mask=mask, causal=causal, scale=scale, bfloat16=bfloat16, gradient=gradient)


def flex(Q, K, V, *, mask=None, scale=None, softcap=None, groups=False):
    """FlexAttention takes a function of scores and a table of what is seen; both as its documentation writes them."""
    Q, K, V, given = tensors(Q, K, V, mask)
    seen = given is not None and given.dtype == torch.bool

    def score(value, batch, head, query, key):
        value = value if softcap is None else softcap * torch.tanh(value / softcap)
        return value if given is None or seen else value + given[query, key]

    def table():
        return create_block_mask(lambda b, h, q, k: given[q, k], None, None, Q.shape[2], K.shape[2], device="cpu")

    options = {"block_mask": table() if seen else None, "scale": scale, "enable_gqa": Q.shape[1] != K.shape[1]}
    return flex_attention(Q, K, V, score_mod=score, **options).float().numpy()


def layer(need_weights):
    """nn.MultiheadAttention with weights that change nothing: W = 1, no bias."""

    def attend(
        Q, K, V, *, mask=None, causal=False, bfloat16=False, gradient=False, weights=False, sink=False, training=True
    ):
        (_, n_heads, n_queries, d), n_keys = Q.shape, K.shape[2]
        *inputs, mask = tensors(Q, K, V, mask, bfloat16=bfloat16)
        made = torch.nn.MultiheadAttention(d * n_heads, n_heads, bias=False, batch_first=True, add_zero_attn=sink)
        made.in_proj_weight.data = torch.eye(d * n_heads).repeat(3, 1)
        made.out_proj.weight.data = torch.eye(d * n_heads)
        made.to(inputs[0].dtype).train(training)
        rows = [one.transpose(1, 2).flatten(2).requires_grad_(gradient) for one in inputs]
        if causal and mask is None:
            mask = torch.nn.Transformer.generate_square_subsequent_mask(n_keys)[:n_queries]
        output, returned = made(*rows, attn_mask=mask, is_causal=causal, need_weights=need_weights or weights)
        if gradient:
            output[:, 1].sum().backward()
            return [row.grad.numpy() for row in rows]
        output = output.detach().unflatten(2, (n_heads, d)).transpose(1, 2).float().numpy()
        return (output, returned.detach().numpy()) if weights else output

    return attend


@torch.no_grad()
def layer_in_use(Q, K, V, *, mask=None, causal=False, bfloat16=False, weights=False, sink=False):
    options = {"mask": mask, "causal": causal, "bfloat16": bfloat16, "weights": weights, "sink": sink}
    return layer(need_weights=False)(Q, K, V, **options, training=False)


FUNCTIONS = {
    "torch scaled_dot_product_attention": sdpa,
    "torch scaled_dot_product_attention, math kernel": sdpa_math,
    "torch nn.MultiheadAttention": layer(need_weights=True),
    "torch nn.MultiheadAttention, need_weights=False": layer(need_weights=False),
    "torch nn.MultiheadAttention, need_weights=False, eval, no_grad": layer_in_use,
    "torch flex_attention": flex,
}
