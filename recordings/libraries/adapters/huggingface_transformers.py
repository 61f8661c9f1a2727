"""Transformers of Hugging Face: the functions behind attn_implementation="eager" and "sdpa"."""

import torch
from transformers import LlamaConfig
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.models.llama.modeling_llama import LlamaAttention, eager_attention_forward

PINS = ["transformers==5.24.0", "torch==2.13.0", "numpy==2.4.6"]


def called(function, arrays, mask, bfloat16, raw, scale, **options):
    """Ask a function, which takes masks of four axes and returns the axis of tokens before that of heads."""
    tensors = [torch.tensor(array) for array in arrays]
    tensors = [tensor.bfloat16() for tensor in tensors] if bfloat16 else tensors
    (_, n_heads, _, d), n_key_heads = arrays[0].shape, arrays[1].shape[1]
    sizes = {"num_attention_heads": n_heads, "num_key_value_heads": n_key_heads, "head_dim": d}
    config = LlamaConfig(hidden_size=n_heads * d, **sizes)
    layer = LlamaAttention(config, layer_idx=0).eval()  # says how many heads share keys
    four_axes = None if mask is None else torch.tensor(mask)[None, None]
    scale = layer.scaling if scale is None else scale
    output, weights = function(layer, *tensors, four_axes, scaling=scale, **options)
    output = output.float()
    return (output if raw else output.transpose(1, 2)).detach().numpy(), weights


def eager(Q, K, V, *, mask=None, scale=None, bfloat16=False, weights=False, groups=False, raw=False):
    output, found = called(eager_attention_forward, (Q, K, V), mask, bfloat16, raw, scale)
    return (output, found.numpy()) if weights else output


def sdpa(Q, K, V, *, mask=None, causal=False, scale=None, bfloat16=False, groups=False, raw=False):
    return called(sdpa_attention_forward, (Q, K, V), mask, bfloat16, raw, scale, is_causal=causal)[0]


FUNCTIONS = {
    "transformers eager_attention_forward (Llama)": eager,
    "transformers sdpa_attention_forward": sdpa,
}
