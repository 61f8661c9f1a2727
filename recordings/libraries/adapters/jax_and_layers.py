"""JAX's function, Flax's function and layer, and the layers of Equinox and Haiku, with weights that change nothing."""

import equinox
import haiku
import jax
import jax.numpy as jnp
import numpy as np
from axes import heads, rows
from flax import linen, nnx

PINS = ["jax==0.10.2", "flax==0.12.8", "equinox==0.13.8", "dm-haiku==0.0.17", "numpy==2.4.6"]


def arrays(*given, bfloat16=False):
    return [jnp.asarray(array, jnp.bfloat16 if bfloat16 else array.dtype) for array in given]


def four_axes(array):
    return None if array is None else jnp.asarray(array)[None, None]


def function(attend, inputs, raw, gradient=False):
    """Ask a function of (batch, tokens, heads, entries)."""
    inputs = inputs if raw else [array.swapaxes(1, 2) for array in inputs]
    if gradient:
        return jax.grad(lambda *inputs: attend(*inputs)[:, 1].sum(), argnums=(0, 1, 2))(*inputs)
    output = np.asarray(attend(*inputs).astype(jnp.float32))
    return output if raw else output.swapaxes(1, 2)


def jax_nn(
    Q,
    K,
    V,
    *,
    mask=None,
    bias=None,
    causal=False,
    scale=None,
    window=None,
    bfloat16=False,
    gradient=False,
    groups=False,
    raw=False,
):
    options = {"mask": four_axes(mask), "bias": four_axes(bias), "is_causal": causal, "scale": scale}

    def attend(*inputs):
        return jax.nn.dot_product_attention(*inputs, **options, local_window_size=window)

    return function(attend, arrays(Q, K, V, bfloat16=bfloat16), raw, gradient)


def flax_nnx(Q, K, V, *, mask=None, bias=None, bfloat16=False, gradient=False, groups=False, raw=False):
    def attend(*inputs):
        return nnx.dot_product_attention(*inputs, mask=four_axes(mask), bias=four_axes(bias))

    return function(attend, arrays(Q, K, V, bfloat16=bfloat16), raw, gradient)


def flax_layer(Q, K, V, *, mask=None, bfloat16=False):
    inputs = arrays(rows(Q), rows(K), rows(V), bfloat16=bfloat16)
    identity = {"kernel_init": lambda key, shape, dtype: jnp.eye(*shape, dtype=dtype), "use_bias": False}
    made = linen.MultiHeadDotProductAttention(Q.shape[1], **identity, param_dtype=inputs[0].dtype)
    output, _ = made.init_with_output(jax.random.key(0), *inputs, mask=four_axes(mask))
    return heads(np.asarray(output.astype(jnp.float32)), Q.shape[1])


def equinox_layer(Q, K, V, *, mask=None, bfloat16=False):
    inputs, (_, n_heads, _, d) = arrays(rows(Q), rows(K), rows(V), bfloat16=bfloat16), V.shape
    sizes = {"value_size": n_heads * d, "vo_size": d, "output_size": n_heads * d, "key": jax.random.key(0)}
    made = equinox.nn.MultiheadAttention(n_heads, inputs[0].shape[2], **sizes, dtype=inputs[0].dtype)
    made = jax.tree.map(lambda leaf: jnp.eye(*leaf.shape, dtype=leaf.dtype) if equinox.is_array(leaf) else leaf, made)
    mask = None if mask is None else jnp.asarray(mask)
    output = jax.vmap(lambda *inputs: made(*inputs, mask=mask))(*inputs)
    return heads(np.asarray(output.astype(jnp.float32)), n_heads)


def haiku_layer(Q, K, V, *, mask=None, bfloat16=False):
    (_, n_heads, _, d), d_v = Q.shape, V.shape[3]

    def layer(*inputs):
        sizes = {"value_size": d_v, "model_size": n_heads * d_v, "w_init": haiku.initializers.Identity()}
        return haiku.MultiHeadAttention(n_heads, d, **sizes, with_bias=False)(*inputs, mask=four_axes(mask))

    changed, inputs = haiku.transform(layer), arrays(rows(Q), rows(K), rows(V), bfloat16=bfloat16)
    output = changed.apply(changed.init(jax.random.key(0), *inputs), None, *inputs)
    return heads(np.asarray(output.astype(jnp.float32)), n_heads)


FUNCTIONS = {
    "jax nn.dot_product_attention": jax_nn,
    "flax nnx.dot_product_attention": flax_nnx,
    "flax linen.MultiHeadDotProductAttention": flax_layer,
    "equinox nn.MultiheadAttention": equinox_layer,
    "haiku MultiHeadAttention": haiku_layer,
}
