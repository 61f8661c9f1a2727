"""The package of this book."""

import numpy as np

from attn import Tape, blockwise_attention, causal_mask, scaled_dot_product_attention

PINS = ["attention-worked-out @ file://{repository}", "numpy==2.4.6"]


def attend(Q, K, V, *, mask=None, causal=False, scale=None, gradient=False, weights=False, groups=False, raw=False):
    if causal:
        past = causal_mask(Q.shape[-2], K.shape[-2])
        mask = past if mask is None else past & mask
    inputs = {"Q": Q, "K": K, "V": V}
    with Tape() as tape:
        output, shares = scaled_dot_product_attention(*inputs.values(), mask, scale=scale)
    if gradient:
        grad = np.zeros_like(output)
        grad[..., 1, :] = 1
        return list(tape.gradients(inputs, (output, grad)).values())
    return (output, shares) if weights else output


def in_blocks(Q, K, V, *, causal=False, scale=None, groups=False, raw=False):
    return blockwise_attention(Q, K, V, causal=causal, scale=scale)


FUNCTIONS = {"attn scaled_dot_product_attention": attend, "attn blockwise_attention": in_blocks}
