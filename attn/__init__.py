"""Attention in NumPy, small enough to read: the package behind *Attention, Worked Out*."""

from attn.attention import (
    blockwise_attention,
    causal_mask,
    scaled_dot_product_attention,
    scaled_dot_product_attention_backward,
    softmax,
    softmax_backward,
)
from attn.heads import multi_head_attention, multi_head_attention_backward

__all__ = [
    "blockwise_attention",
    "causal_mask",
    "multi_head_attention",
    "multi_head_attention_backward",
    "scaled_dot_product_attention",
    "scaled_dot_product_attention_backward",
    "softmax",
    "softmax_backward",
]
