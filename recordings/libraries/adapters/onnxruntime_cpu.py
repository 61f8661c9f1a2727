"""ONNX Runtime on a CPU: the standard operator Attention, and two operators of Microsoft's own."""

import numpy as np
import onnxruntime
from axes import heads, rows
from onnx_node import attention, one_node

PINS = ["onnxruntime==1.32.0", "onnx==1.23.2", "numpy==2.4.6"]
ENVIRONMENTS = {
    "onnxruntime 1.32.0": {},
    "onnxruntime 1.25.1": {"pins": ["onnxruntime==1.25.1", "onnx==1.23.2", "numpy==2.4.6"]},
    "onnxruntime 1.23.2": {"pins": ["onnxruntime==1.23.2", "onnx==1.23.2", "numpy==2.4.6"]},
}


def run(model, arrays):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, arrays)


def before(K, V, past):
    """Return the new keys and values, and those of before, if there are any."""
    return K[:, :, past:], V[:, :, past:], *((K[:, :, :past], V[:, :, :past]) if past else (None, None))


def multi_head(Q, K, V, *, mask=None, bias=None, causal=False, scale=None, past=0):
    """Its mask is of 32-bit integers, 0 for a key to be left out, and is called key_padding_mask; the bias is added."""
    K, V, *kept = before(K, V, past)
    if mask is not None and mask.dtype.kind in "bi":
        mask = mask.astype(np.int32)
    four_axes = None if bias is None else bias[None, None]
    names = ["query", "key", "value", "bias", "key_padding_mask", "attention_bias", "past_key", "past_value"]
    given = [*map(rows, (Q, K, V)), None, None if mask is None else mask[None], four_axes, *kept]
    attributes = {"num_heads": Q.shape[1], "scale": scale, "unidirectional": int(causal)}
    outputs = ["output", *(["present_key", "present_value"] if past else [])]
    node = one_node("MultiHeadAttention", dict(zip(names, given)), outputs, attributes, domain="com.microsoft")
    return heads(run(*node)[0], Q.shape[1])


def group_query(
    Q, K, V, *, mask=None, causal=False, scale=None, softcap=None, window=None, past=0, sink=False, groups=False
):
    """Each query brings a key with it: what keys there are besides can only be handed over as those of before."""
    n_keys = K.shape[2]
    K_new, V_new, *kept = before(K, V, past or max(n_keys - Q.shape[2], 0))
    lengths = [np.full(Q.shape[0], n_keys - 1, np.int32), np.array([n_keys], np.int32)]
    four_axes = None if mask is None else mask[None, None]
    names = ["query", "key", "value", "past_key", "past_value", "seqlens_k", "total_sequence_length"]
    names += ["cos_cache", "sin_cache", "position_ids", "attention_bias"]
    given = [*map(rows, (Q, K_new, V_new)), *kept, *lengths, None, None, None, four_axes]
    attributes = {"num_heads": Q.shape[1], "kv_num_heads": K.shape[1], "causal": int(causal), "scale": scale}
    attributes |= {"softcap": softcap, "local_window_size": window, "smooth_softmax": int(sink)}
    outputs = ["output", "present_key", "present_value"]
    node = one_node("GroupQueryAttention", dict(zip(names, given)), outputs, attributes, domain="com.microsoft")
    return heads(run(*node)[0], Q.shape[1])


FUNCTIONS = {"onnxruntime Attention, opset 23": attention(run, 23)}
if onnxruntime.__version__ == "1.32.0":
    FUNCTIONS |= {
        "onnxruntime Attention, opset 25": attention(run, 25),
        "onnxruntime com.microsoft MultiHeadAttention": multi_head,
        "onnxruntime com.microsoft GroupQueryAttention": group_query,
    }
