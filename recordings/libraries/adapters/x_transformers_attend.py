"""x-transformers: its module Attend, plain and with flash."""

import torch
from x_transformers.attend import Attend

PINS = ["x-transformers==2.31.10", "torch==2.13.0", "numpy==2.4.6"]


def called(module, Q, K, V, mask, bias, bfloat16):
    Q, K, V = (torch.tensor(array).bfloat16() if bfloat16 else torch.tensor(array) for array in (Q, K, V))
    mask, bias = (None if one is None else torch.tensor(one)[None, None] for one in (mask, bias))
    output, about = module(Q, K, V, mask=mask, attn_bias=bias)
    return output.detach().float().numpy(), about


def attend(
    Q, K, V, *, mask=None, bias=None, causal=False, scale=None, softcap=None, sink=False, bfloat16=False, weights=False,
    groups=False, raw=False,
):  # fmt: skip
    cap = {} if softcap is None else {"softclamp_logits": True, "logit_softclamp_value": softcap}
    module = Attend(causal=causal, scale=scale, heads=Q.shape[1], head_learned_sink=sink, **cap)
    output, about = called(module, Q, K, V, mask, bias, bfloat16)
    return (output, about.post_softmax_attn.detach().numpy()) if weights else output


def flash(
    Q, K, V, *, mask=None, bias=None, causal=False, scale=None, sink=False, bfloat16=False, groups=False, raw=False
):
    module = Attend(causal=causal, scale=scale, add_zero_kv=sink, flash=True)
    return called(module, Q, K, V, mask, bias, bfloat16)[0]


FUNCTIONS = {"x-transformers Attend": attend, "x-transformers Attend, flash=True": flash}
