"""Many heads: split, attend, merge."""

import numpy as np

from attn.attention import scaled_dot_product_attention, scaled_dot_product_attention_backward


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
        As for `scaled_dot_product_attention`.
    context : array_like, shape (..., m, d_model), optional
        The tokens that answer (cross-attention); X itself unless given.

    Returns
    -------
    output : array, shape (..., n, d_model)
        The sum over heads of weights V W_O.
    weights : array, shape (..., n_heads, n, m)

    Raises
    ------
    ValueError
        If sizes do not fit; the sentence names those that clash.
    TypeError
        If an input does not hold real numbers.

    Notes
    -----
    Adding the heads' proposals is the same as concatenating their mixtures and multiplying
    with all W_O stacked: Vaswani et al. 2017, section 3.2.2.
    """
    X, W_Q, W_K, W_V, W_O = map(np.asarray, (X, W_Q, W_K, W_V, W_O))
    context = X if context is None else np.asarray(context)
    _check_sizes(X, W_Q, W_K, W_V, W_O, context)
    Q, K, V = _project(X, context, W_Q, W_K, W_V)
    mixtures, weights = scaled_dot_product_attention(Q, K, V, mask)
    return merge(mixtures, W_O), weights


def multi_head_attention_backward(grad_output, X, W_Q, W_K, W_V, W_O, weights, *, context=None):
    """Carry a gradient from the output of the heads back to tokens and matrices.

    Parameters
    ----------
    grad_output : array_like, shape (..., n, d_model)
    X, W_Q, W_K, W_V, W_O, context : array_like
        As given to `multi_head_attention`.
    weights : array_like, shape (..., n_heads, n, m)
        As returned by it.

    Returns
    -------
    grad_X, grad_W_Q, grad_W_K, grad_W_V, grad_W_O, grad_context : arrays in the shapes of the arguments
        `grad_context` is None where no context was given: it is part of `grad_X` then.

    Raises
    ------
    ValueError
        If sizes do not fit; the sentence names those that clash.
    """
    grad_output, X, W_Q, W_K, W_V, W_O = map(np.asarray, (grad_output, X, W_Q, W_K, W_V, W_O))
    asked = X if context is None else np.asarray(context)
    _check_sizes(X, W_Q, W_K, W_V, W_O, asked)
    Q, K, V = _project(X, asked, W_Q, W_K, W_V)
    grad_mixtures, grad_W_O = merge_backward(grad_output, weights @ V, W_O)
    grad_Q, grad_K, grad_V = scaled_dot_product_attention_backward(grad_mixtures, Q, K, V, weights)
    grad_X, grad_W_Q = split_backward(grad_Q, X, W_Q)
    grad_keys, grad_W_K = split_backward(_sum_groups(grad_K, len(W_K)), asked, W_K)
    grad_values, grad_W_V = split_backward(_sum_groups(grad_V, len(W_V)), asked, W_V)
    grad_asked, grads_W = grad_keys + grad_values, (grad_W_Q, grad_W_K, grad_W_V)
    if context is None:
        return grad_X + grad_asked, *grads_W, grad_W_O, None
    return grad_X, *grads_W, grad_W_O, grad_asked


def split(X, W):
    """Map tokens into every head: X W for each head, as one product.

    Parameters
    ----------
    X : array, shape (..., n, d_model)
    W : array, shape (n_heads, d_model, d_k)

    Returns
    -------
    array, shape (..., n_heads, n, d_k)
    """
    *leading, n, _ = X.shape
    return np.swapaxes((as_rows(X) @ _beside(W)).reshape(*leading, n, len(W), W.shape[2]), -2, -3)


def split_backward(grad_output, X, W):
    """Return the gradients of X and W; shapes as in `split`."""
    rows, grad = as_rows(X), as_rows(_unite(grad_output))
    grad_W = (rows.T @ grad).reshape(-1, len(W), W.shape[2])
    return (grad @ _beside(W).T).reshape(X.shape), np.swapaxes(grad_W, 0, 1)


def merge(mixtures, W_O):
    """Add up what all heads propose: mixtures side by side, times all W_O stacked.

    Parameters
    ----------
    mixtures : array, shape (..., n_heads, n, d_v)
    W_O : array, shape (n_heads, d_v, d_model)

    Returns
    -------
    array, shape (..., n, d_model)
    """
    united = _unite(mixtures)
    return (as_rows(united) @ as_rows(W_O)).reshape(*united.shape[:-1], -1)


def merge_backward(grad_output, mixtures, W_O):
    """Return the gradients of the mixtures and of W_O; shapes as in `merge`."""
    united, grad = _unite(mixtures), as_rows(grad_output)
    grad_united = (grad @ as_rows(W_O).T).reshape(*united.shape[:-1], len(W_O), -1)
    return np.swapaxes(grad_united, -2, -3), (as_rows(united).T @ grad).reshape(W_O.shape)


def as_rows(X):
    """Return X as a matrix of rows: one large product is faster than many small ones."""
    return X.reshape(-1, X.shape[-1])


def _project(X, context, W_Q, W_K, W_V):
    """Return Q, K and V of every head; a shared key head is repeated for its group."""
    group = len(W_Q) // len(W_K)
    K, V = split(context, W_K), split(context, W_V)
    return split(X, W_Q), np.repeat(K, group, axis=-3), np.repeat(V, group, axis=-3)


def _beside(W):
    """Put the matrices of all heads side by side: (d_model, n_heads * d_k)."""
    return np.swapaxes(W, 0, 1).reshape(W.shape[1], -1)


def _unite(per_head):
    """Put what all heads hold of a token side by side: (..., n, n_heads * d)."""
    swapped = np.swapaxes(per_head, -2, -3)
    return swapped.reshape(*swapped.shape[:-2], -1)


def _sum_groups(grad, n_key_heads):
    """Add up the gradients of the heads that share a key head."""
    *leading, n_heads, n, size = grad.shape
    return grad.reshape(*leading, n_key_heads, n_heads // n_key_heads, n, size).sum(axis=-3)


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
