"""Many heads: project tokens into every head, attend, and project what the heads found back out."""

import numpy as np

from attn.attention import scaled_dot_product_attention
from attn.checks import as_floats
from attn.rows import as_rows, column_sums
from attn.tape import differentiable


def multi_head_attention(X, W_Q, W_K, W_V, W_O, mask=None, *, context=None):
    """Let several heads attend side by side and add up what they propose.

    Parameters
    ----------
    X : array_like, shape (..., n, d_model)
        The tokens that ask.
    W_Q : array_like, shape (n_heads, d_model, d_k)
    W_K : array_like, shape (n_key_heads, d_model, d_k)
    W_V : array_like, shape (n_key_heads, d_model, d_v)
        As many key heads as heads, or fewer where their number divides it: then each serves
        a group of neighbouring heads (grouped queries; Ainslie et al. 2023).
    W_O : array_like, shape (n_heads, d_v, d_model)
    mask : array_like, broadcastable to (..., n_heads, n, m), optional
        As for `scaled_dot_product_attention`; one for each text and all heads, shape (batch, n, m), is given as
        `mask[:, None]`.
    context : array_like, shape (..., m, d_model), optional
        The tokens that answer (cross-attention); default: X itself.

    Returns
    -------
    output : array, shape (..., n, d_model)
        The sum over heads of weights V W_O.
    weights : array, shape (..., n_heads, n, m)

    Notes
    -----
    Adding the heads' proposals is the same as concatenating their mixtures and multiplying
    with all W_O stacked: Vaswani et al. 2017, section 3.2.2.
    """
    context = X if context is None else context
    _check_sizes(*as_floats(X=X, W_Q=W_Q, W_K=W_K, W_V=W_V, W_O=W_O, context=context))
    Q = project_into_heads(X, W_Q)
    K, V = (share_heads(project_into_heads(context, W), len(W_Q)) for W in (W_K, W_V))
    mixtures, weights = scaled_dot_product_attention(Q, K, V, mask)
    return project_out_of_heads(mixtures, W_O), weights


@differentiable
def project_into_heads(X, W, b=None):
    """Map tokens into every head: X W (+ b) for each head, as one product.

    Parameters
    ----------
    X : array_like, shape (..., n, d_model)
    W : array_like, shape (n_heads, d_model, d_k)
    b : array_like, shape (n_heads, d_k), optional

    Returns
    -------
    array, shape (..., n_heads, n, d_k)
    """
    X, W = as_floats(X=X, W=W)
    n_heads, d_model, d_k = W.shape
    rows, beside = as_rows(X), W.swapaxes(0, 1).reshape(d_model, n_heads * d_k)
    projected = rows @ beside
    if b is not None:
        projected += np.ravel(b)
    heads = projected.reshape(*X.shape[:-1], n_heads, d_k).swapaxes(-2, -3)

    def backward(grad):
        grad = as_rows(_side_by_side(grad))
        grad_W = (rows.T @ grad).reshape(d_model, n_heads, d_k).swapaxes(0, 1)
        grad_b = None if b is None else column_sums(grad).reshape(n_heads, d_k)
        return (grad @ beside.T).reshape(X.shape), grad_W, grad_b

    return heads, backward


@differentiable
def project_out_of_heads(mixtures, W_O, b=None):
    """Add up what all heads propose: mixtures side by side, times all W_O stacked (+ b).

    Parameters
    ----------
    mixtures : array_like, shape (..., n_heads, n, d_v)
    W_O : array_like, shape (n_heads, d_v, d_model)
    b : array_like, shape (d_model,), optional

    Returns
    -------
    array, shape (..., n, d_model)
    """
    mixtures, W_O = as_floats(mixtures=mixtures, W_O=W_O)
    n_heads, d_v, d_model = W_O.shape
    united = _side_by_side(mixtures)
    rows, stacked = as_rows(united), W_O.reshape(n_heads * d_v, d_model)
    output = rows @ stacked
    if b is not None:
        output += b

    def backward(grad):
        grad = as_rows(grad)
        grad_united = (grad @ stacked.T).reshape(*united.shape[:-1], n_heads, d_v)
        grad_W_O = (rows.T @ grad).reshape(W_O.shape)
        return grad_united.swapaxes(-2, -3), grad_W_O, None if b is None else column_sums(grad)

    return output.reshape(*united.shape[:-1], d_model), backward


def share_heads(heads, n_heads):
    """Repeat each key head for its group of neighbouring heads; where each head has its own, they are as they were.

    Parameters
    ----------
    heads : array, shape (..., n_key_heads, n, d)
    n_heads : int
        A multiple of n_key_heads.

    Returns
    -------
    array, shape (..., n_heads, n, d)
    """
    n_key_heads = heads.shape[-3]
    return heads if n_key_heads == n_heads else _repeat_heads(heads, n_heads // n_key_heads)


@differentiable
def _repeat_heads(heads, group):
    *leading, n_key_heads, n, d = heads.shape

    def backward(grad):
        return grad.reshape(*leading, n_key_heads, group, n, d).sum(axis=-3), None

    return np.repeat(heads, group, axis=-3), backward


def _side_by_side(heads):
    """Put what all heads hold of a token side by side: (..., n, n_heads * d)."""
    *leading, n_heads, n, d = heads.shape
    return heads.swapaxes(-2, -3).reshape(*leading, n, n_heads * d)


def _check_sizes(X, W_Q, W_K, W_V, W_O, context):
    shapes = {"W_Q": W_Q.shape, "W_K": W_K.shape, "W_V": W_V.shape, "W_O": W_O.shape}
    for name, shape in shapes.items():
        if len(shape) != 3:
            raise ValueError(f"{name} needs three axes (heads, rows, columns), but its shape is {shape}")
    for name, tokens in {"X": X, "context": context}.items():
        if tokens.ndim < 2 or tokens.shape[-1] != W_Q.shape[1]:
            raise ValueError(
                f"{name} needs the d_model of W_Q: {name} has shape {tokens.shape}, W_Q has shape {W_Q.shape}"
            )
    n_heads, d_model, d_k = W_Q.shape
    n_key_heads, _, d_v = W_V.shape
    if W_K.shape != (n_key_heads, d_model, d_k) or W_V.shape[1] != d_model:
        raise ValueError(
            f"W_Q, W_K and W_V do not fit each other: their shapes are {W_Q.shape}, {W_K.shape}, {W_V.shape}"
        )
    if n_key_heads == 0 or n_heads % n_key_heads:
        raise ValueError(
            f"the number of key heads must divide the number of heads: W_K has {n_key_heads}, W_Q has {n_heads}"
        )
    if W_O.shape != (n_heads, d_v, d_model):
        raise ValueError(
            f"W_O must have shape {(n_heads, d_v, d_model)} for these W_Q and W_V, but has shape {W_O.shape}"
        )
