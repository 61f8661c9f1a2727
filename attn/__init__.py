"""Attention in NumPy, small enough to read: the package behind *Attention, Worked Out*."""

from attn.attention import causal_mask, scaled_dot_product_attention, softmax
from attn.blockwise import blockwise_attention, online_softmax
from attn.generation import generate
from attn.heads import multi_head_attention
from attn.interventions import Forbid, Replace, ReplaceMixtures, ReplaceValues, Trace, hold, switch_off
from attn.parameters import TransformerConfig, count_parameters
from attn.tape import Tape
from attn.transformer import decoder, encoder, init_transformer

__all__ = [
    "Forbid", "Replace", "ReplaceMixtures", "ReplaceValues", "Tape", "Trace", "TransformerConfig",
    "blockwise_attention", "causal_mask", "count_parameters", "decoder", "encoder", "generate", "hold",
    "init_transformer", "multi_head_attention", "online_softmax", "scaled_dot_product_attention", "softmax",
    "switch_off",
]  # fmt: skip
