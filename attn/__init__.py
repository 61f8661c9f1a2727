"""Attention in NumPy, small enough to read: the package behind *Attention, Worked Out*."""

from attn.attention import (
    causal_mask,
    scaled_dot_product_attention,
    scaled_dot_product_attention_backward,
    softmax,
)

__all__ = [
    "causal_mask",
    "scaled_dot_product_attention",
    "scaled_dot_product_attention_backward",
    "softmax",
]
