"""Keras: its function and its layers, on three back ends."""

import math

import keras
import numpy as np
from axes import heads, rows
from keras import ops

PINS = ["keras==3.15.1", "numpy==2.4.6"]
ENVIRONMENTS = {
    "jax": {"pins": ["keras==3.15.1", "jax==0.10.2", "numpy==2.4.6"], "variables": {"KERAS_BACKEND": "jax"}},
    "torch": {"pins": ["keras==3.15.1", "torch==2.13.0", "numpy==2.4.6"], "variables": {"KERAS_BACKEND": "torch"}},
    "tensorflow": {
        "pins": ["keras==3.15.1", "tensorflow-cpu==2.21.0", "numpy==2.4.6"],
        "variables": {"KERAS_BACKEND": "tensorflow"},
    },
}


def tensors(*arrays, bfloat16=False):
    made = [ops.convert_to_tensor(array) for array in arrays]
    return [ops.cast(one, "bfloat16") for one in made] if bfloat16 else made


def numpy(tensor):
    return ops.convert_to_numpy(ops.cast(tensor, "float32"))


def function(Q, K, V, *, mask=None, bias=None, causal=False, scale=None, bfloat16=False, groups=False, raw=False):
    four_axes = [None if one is None else ops.convert_to_tensor(one[None, None]) for one in (mask, bias)]
    inputs = tensors(*(array if raw else array.swapaxes(1, 2) for array in (Q, K, V)), bfloat16=bfloat16)
    output = numpy(ops.dot_product_attention(*inputs, *four_axes[::-1], is_causal=causal, scale=scale))
    return output if raw else output.swapaxes(1, 2)


def layer(scores):
    """layers.MultiHeadAttention, with weights that change nothing, with or without its scores."""

    def attend(Q, K, V, *, mask=None, causal=False, bfloat16=False, weights=False):
        (_, n_heads, _, d), d_v = Q.shape, V.shape[3]
        sizes = {"value_dim": d_v, "output_shape": n_heads * d_v, "dtype": "bfloat16" if bfloat16 else str(Q.dtype)}
        made = keras.layers.MultiHeadAttention(n_heads, d, use_bias=False, **sizes)
        query, key, value = tensors(rows(Q), rows(K), rows(V), bfloat16=bfloat16)
        made.build(query.shape, value.shape, key.shape)
        made.set_weights([np.eye(math.isqrt(math.prod(one.shape))).reshape(one.shape) for one in made.weights])
        options = {"use_causal_mask": causal, "return_attention_scores": scores or weights}
        if mask is not None:
            options["attention_mask"] = ops.convert_to_tensor(mask[None])
        returned = made(query, value, key, **options)
        output, found = returned if scores or weights else (returned, None)
        output = heads(numpy(output), n_heads)
        return (output, numpy(found)) if weights else output

    return attend


def attention(Q, K, V, *, causal=False, bfloat16=False):
    """layers.Attention has no heads and no weights; its masks are of tokens alone, not of pairs of them."""
    query, key, value = tensors(*(array.reshape(-1, *array.shape[2:]) for array in (Q, K, V)), bfloat16=bfloat16)
    made = keras.layers.Attention(dtype="bfloat16" if bfloat16 else str(Q.dtype))
    return numpy(made([query, value, key], use_causal_mask=causal)).reshape(*Q.shape[:3], V.shape[3])


FUNCTIONS = {
    "keras ops.dot_product_attention": function,
    "keras layers.MultiHeadAttention": layer(scores=False),
    "keras layers.MultiHeadAttention, return_attention_scores=True": layer(scores=True),
    "keras layers.Attention": attention,
}
