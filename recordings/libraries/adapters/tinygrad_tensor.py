"""tinygrad: the method of its tensors, on its device that is written in Python."""

from tinygrad import Tensor, dtypes

PINS = ["tinygrad==0.14.0", "numpy==2.4.6"]
ENVIRONMENTS = {"": {"variables": {"DEV": "PYTHON"}}}


def attend(Q, K, V, *, mask=None, causal=False, bfloat16=False, gradient=False, groups=False, raw=False):
    shared = Q.shape[1] != K.shape[1]
    Q, K, V = (Tensor(array).cast(dtypes.bfloat16) if bfloat16 else Tensor(array) for array in (Q, K, V))
    mask = None if mask is None else Tensor(mask)
    output = Q.scaled_dot_product_attention(K, V, attn_mask=mask, is_causal=causal, enable_gqa=shared)
    if gradient:
        return [one.numpy() for one in output[..., 1, :].sum().gradient(Q, K, V)]
    return output.float().numpy()


FUNCTIONS = {"tinygrad Tensor.scaled_dot_product_attention": attend}
