"""Scaled dot-product attention: softmax, masks, the mechanism itself and its gradient.

Tokens are rows everywhere: row i of `Q` is one query, row j of `K` and `V` one key with
its value, and row i of `weights` is the distribution of query i over all keys.
"""

import operator

import numpy as np


def softmax(scores, axis=-1):
    """Turn scores into a probability distribution along one axis.

    Parameters
    ----------
    scores : array_like, shape (..., n, ...)
        Real numbers; `-inf` stands for "impossible".
    axis : int
        The axis whose entries compete with each other.

    Returns
    -------
    array of the shape of `scores`
        Non-negative, with sum 1 along `axis`. Floats keep their type, integers become
        float64. A line of nothing but `-inf` gives zeros; a line that holds NaN or `+inf`
        has no distribution and gives NaN.

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers.

    Notes
    -----
    softmax(s)_j = exp(s_j) / sum_l exp(s_l). The maximum is subtracted first: it cancels
    in the quotient, and no exponent is ever above zero.

    Examples
    --------
    >>> softmax([1, 1, 2]).round(3)
    array([0.212, 0.212, 0.576])
    >>> softmax([1000.0, 1000.0, -np.inf])
    array([0.5, 0.5, 0. ])
    """
    (scores,) = _as_floats(scores=scores)
    top = np.max(scores, axis=axis, keepdims=True, initial=-np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = scores - np.where(np.isneginf(top), 0, top)
        np.exp(weights, out=weights)
    total = np.sum(weights, axis=axis, keepdims=True)
    return np.divide(weights, np.where(total == 0, 1, total), out=weights)


def softmax_backward(grad_weights, weights):
    """Carry a gradient from the weights of softmax back to the scores.

    Parameters
    ----------
    grad_weights, weights : array_like, shape (..., n)
        The gradient of a loss with respect to the weights, and the weights themselves; softmax
        ran over the last axis.

    Returns
    -------
    array, shape (..., n)
        Each row sums to zero: adding the same to all scores changes nothing.

    Notes
    -----
    weights * (grad_weights - sum(weights * grad_weights)), which is the Jacobian
    diag(p) - p p^T times the gradient without ever building it.

    Examples
    --------
    >>> softmax_backward([1.0, 0.0], [0.5, 0.5])
    array([ 0.25, -0.25])
    """
    grad_weights, weights = _as_floats(grad_weights=grad_weights, weights=weights)
    grad_scores = grad_weights - np.sum(weights * grad_weights, axis=-1, keepdims=True)
    grad_scores *= weights
    return grad_scores


def causal_mask(n_queries, n_keys=None):
    """Say which keys each query may attend to when no query may look ahead.

    Parameters
    ----------
    n_queries, n_keys : int
        How many queries and keys; as many keys as queries unless said otherwise.

    Returns
    -------
    array of bool, shape (n_queries, n_keys)
        True = may attend. Aligned at the lower right: the last query sees every key, which
        is what generation with stored keys needs.

    Raises
    ------
    ValueError
        If a size is negative.
    TypeError
        If a size is not an integer.

    Examples
    --------
    >>> causal_mask(2, 3).astype(int)
    array([[1, 1, 0],
           [1, 1, 1]])
    """
    n_queries = operator.index(n_queries)
    n_keys = n_queries if n_keys is None else operator.index(n_keys)
    if n_queries < 0 or n_keys < 0:
        raise ValueError(f"sizes cannot be negative: n_queries is {n_queries}, n_keys is {n_keys}")
    return np.tri(n_queries, n_keys, k=n_keys - n_queries, dtype=bool)


def scaled_dot_product_attention(Q, K, V, mask=None, *, scale=None):
    """Let every query collect a mixture of the values whose keys it matches.

    Parameters
    ----------
    Q : array_like, shape (..., n_queries, d_k)
    K : array_like, shape (..., n_keys, d_k)
    V : array_like, shape (..., n_keys, d_v)
        Leading axes broadcast against each other.
    mask : array_like, broadcastable to (..., n_queries, n_keys), optional
        Boolean: True where the query may attend. Float: added to the scaled scores, `-inf`
        forbids. A forbidden key has no influence, whatever it and its value hold.
    scale : float, optional
        What the dot products are multiplied by; `d_k ** -0.5` unless given.

    Returns
    -------
    output : array, shape (..., n_queries, d_v)
    weights : array, shape (..., n_queries, n_keys)
        Rows sum to one; a query that may attend to nothing has zeros in both.
        float32 stays float32, integers become float64.

    Raises
    ------
    ValueError
        If shapes do not fit; the sentence names those that clash.
    TypeError
        If an input does not hold real numbers, or a mask is neither boolean nor float.

    Notes
    -----
    softmax(Q K^T / sqrt(d_k)) V: Vaswani et al. 2017, equation 1.

    Examples
    --------
    >>> Q, K, V = [[0, 1]], [[2, 1], [1, 1], [1, 2]], [[2, 1], [1, 3], [1, 2]]
    >>> output, weights = scaled_dot_product_attention(Q, K, V)
    >>> weights.round(4), output.round(4)
    (array([[0.2483, 0.2483, 0.5035]]), array([[1.2483, 2.    ]]))
    """
    Q, K, V = _as_floats(Q=Q, K=K, V=V)
    _check_shapes(Q, K, V)
    # Forbidden keys may hold anything; only what passes the mask can make a NaN matter.
    with np.errstate(over="ignore", invalid="ignore"):
        weights = softmax(_apply_mask((Q * _scale(Q, scale)) @ np.swapaxes(K, -1, -2), mask))
    return _weighted_sum(weights, V), weights


def scaled_dot_product_attention_backward(grad_output, Q, K, V, weights, *, scale=None):
    """Carry a gradient from the output of attention back to queries, keys and values.

    Parameters
    ----------
    grad_output : array_like, shape (..., n_queries, d_v)
        Gradient of a loss with respect to `output`.
    Q, K, V : array_like
        As given to `scaled_dot_product_attention`.
    weights : array_like, shape (..., n_queries, n_keys)
        As returned by it. A weight of zero lets no gradient through, so no mask is needed.
    scale : float, optional
        As given to it.

    Returns
    -------
    grad_Q, grad_K, grad_V : arrays in the shapes of Q, K and V
        Summed over axes along which the argument was broadcast.

    Raises
    ------
    ValueError
        If shapes do not fit; the sentence names those that clash.
    TypeError
        If an input does not hold real numbers.

    Notes
    -----
    With output = weights V, weights = softmax(scores), scores = scale Q K^T:
    grad_V = weights^T grad_output, grad_weights = grad_output V^T,
    grad_scores = weights * (grad_weights - rowsum(weights * grad_weights)),
    grad_Q = scale grad_scores K, grad_K = scale grad_scores^T Q.
    """
    grad_output, Q, K, V, weights = _as_floats(grad_output=grad_output, Q=Q, K=K, V=V, weights=weights)
    leading = _check_shapes(Q, K, V)
    _check_same("weights", weights, (*leading, Q.shape[-2], K.shape[-2]))
    _check_same("grad_output", grad_output, (*leading, Q.shape[-2], V.shape[-1]))
    scale = _scale(Q, scale)
    with np.errstate(over="ignore", invalid="ignore"):
        grad_weights = grad_output @ np.swapaxes(V, -1, -2)
    grad_weights[weights == 0] = 0
    grad_scores = softmax_backward(grad_weights, weights)
    grad_scores *= scale
    grad_Q = _weighted_sum(grad_scores, K)
    grad_K = _weighted_sum(np.swapaxes(grad_scores, -1, -2), Q)
    grad_V = _weighted_sum(np.swapaxes(weights, -1, -2), grad_output)
    return _sum_to(grad_Q, Q.shape), _sum_to(grad_K, K.shape), _sum_to(grad_V, V.shape)


def blockwise_attention(Q, K, V, *, causal=False, scale=None, block_size=None):
    """Compute attention a block at a time, without ever holding all scores.

    Parameters
    ----------
    Q : array_like, shape (..., n_queries, d_k)
    K : array_like, shape (..., n_keys, d_k)
    V : array_like, shape (..., n_keys, d_v)
        Leading axes broadcast against each other.
    causal : bool
        Whether a query sees only the keys that `causal_mask` allows.
    scale : float, optional
        What the dot products are multiplied by; `d_k ** -0.5` unless given.
    block_size : int, optional
        How many queries and keys a block holds; unless given 512, or 384 if `causal`. Memory
        beyond the output grows with it, not with the number of tokens.

    Returns
    -------
    output : array, shape (..., n_queries, d_v)
        As from `scaled_dot_product_attention`, up to rounding.

    Raises
    ------
    ValueError
        If shapes do not fit, or `block_size` is below 1.
    TypeError
        If an input does not hold real numbers, or `block_size` is not an integer.

    Notes
    -----
    The online softmax of Milakov and Gimelshein 2018, as in Dao et al. 2022: a sum of
    exponentials taken against one maximum is moved to a larger one by a factor.
    """
    Q, K, V = _as_floats(Q=Q, K=K, V=V)
    leading = _check_shapes(Q, K, V)
    if block_size is None:
        block_size = 384 if causal else 512  # smaller ones waste less on the diagonal, larger ones less on calls
    block_size = operator.index(block_size)
    if block_size < 1:
        raise ValueError(f"block_size must be at least 1, but is {block_size}")
    n_queries, n_keys = Q.shape[-2], K.shape[-2]
    output = np.empty((*leading, n_queries, V.shape[-1]), Q.dtype)
    Q, K, V = (np.broadcast_to(array, (*leading, *array.shape[-2:])) for array in (Q, K, V))
    for head in np.ndindex(leading):  # one at a time: its block stays in the processor's cache
        for start in range(0, n_queries, block_size):
            rows = slice(start, min(start + block_size, n_queries))
            first_hidden = n_keys - n_queries + start + 1 if causal else None
            output[head][rows] = _attend_online(
                Q[head][rows] * _scale(Q, scale), K[head], V[head], first_hidden, block_size
            )
    return output


def _attend_online(Q, K, V, first_hidden, block_size):
    """Attend over blocks of keys; from `first_hidden` on, keys are hidden from the first query."""
    n_queries, n_keys = len(Q), len(K)
    n_seen = n_keys if first_hidden is None else min(n_keys, first_hidden + n_queries - 1)
    top = np.full((n_queries, 1), -np.inf, Q.dtype)
    total, mixture = np.zeros((n_queries, 1), Q.dtype), np.zeros((n_queries, V.shape[-1]), Q.dtype)
    for start in range(0, n_seen, block_size):
        columns = slice(start, min(start + block_size, n_seen))
        with np.errstate(over="ignore", invalid="ignore"):
            scores = Q @ K[columns].T
            if first_hidden is not None and columns.stop > first_hidden:
                seen = np.tri(n_queries, columns.stop - start, k=first_hidden - 1 - start, dtype=bool)
                np.putmask(scores, ~seen, -np.inf)
            higher = np.maximum(top, scores.max(axis=1, keepdims=True))
            shift = np.where(np.isneginf(higher), 0, higher)
            powers = np.exp(np.subtract(scores, shift, out=scores), out=scores)
        kept = np.exp(top - shift)  # what the sums so far are worth against the new maximum
        total = total * kept + powers @ np.ones((powers.shape[1], 1), powers.dtype)  # a product is faster than a sum
        mixture = mixture * kept + _weighted_sum(powers, V[columns])
        top = higher
    return mixture / np.where(total == 0, 1, total)


def _as_floats(**arrays):
    """Return the arrays in one floating type; integers count as float64."""
    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    for name, array in arrays.items():
        if array.dtype.kind not in "iuf":
            raise TypeError(f"{name} must hold real numbers, but its type is {array.dtype}")
    dtypes = [array.dtype if array.dtype.kind == "f" else np.float64 for array in arrays.values()]
    return [array.astype(np.result_type(*dtypes), copy=False) for array in arrays.values()]


def _check_shapes(Q, K, V):
    """Return the common leading axes, or say which two shapes do not fit."""
    for name, array in {"Q": Q, "K": K, "V": V}.items():
        if array.ndim < 2:
            raise ValueError(f"{name} needs at least two axes (tokens, entries), but its shape is {array.shape}")
    if Q.shape[-1] != K.shape[-1] or Q.shape[-1] == 0:
        raise ValueError(f"Q and K need the same d_k of at least 1: Q has shape {Q.shape}, K has shape {K.shape}")
    if K.shape[-2] != V.shape[-2]:
        raise ValueError(f"each key needs one value: K has shape {K.shape}, V has shape {V.shape}")
    try:
        return np.broadcast_shapes(Q.shape[:-2], K.shape[:-2], V.shape[:-2])
    except ValueError:
        raise ValueError(
            f"leading axes do not broadcast: Q has shape {Q.shape}, K has shape {K.shape}, V has shape {V.shape}"
        ) from None


def _check_same(name, array, shape):
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape} for these Q, K and V, but has shape {array.shape}")


def _scale(Q, scale):
    """Return the scale as a Python float: a NumPy float64 would widen float32 arrays."""
    return Q.shape[-1] ** -0.5 if scale is None else float(scale)


def _apply_mask(scores, mask):
    if mask is None:
        return scores
    mask = np.asarray(mask)
    if mask.dtype.kind not in "bf":
        raise TypeError(f"mask must be boolean (True = may attend) or float (added), but its type is {mask.dtype}")
    try:
        np.broadcast_to(mask, scores.shape)
    except ValueError:
        raise ValueError(f"mask of shape {mask.shape} does not broadcast to scores of shape {scores.shape}") from None
    if mask.dtype == bool:
        return np.where(mask, scores, -np.inf)
    mask = mask.astype(scores.dtype, copy=False)
    return np.where(np.isneginf(mask), -np.inf, scores + mask)


def _weighted_sum(weights, rows):
    """Return weights @ rows, where a weight of zero hides whatever its row holds."""
    with np.errstate(over="ignore", invalid="ignore"):
        mixed = weights @ rows
        if np.isfinite(mixed).all() or np.isfinite(rows).all():
            return mixed
        terms = weights[..., None] * rows[..., None, :, :]  # 0 * NaN is NaN, so no matrix product can do it
    return np.sum(np.where(weights[..., None] == 0, 0, terms), axis=-2)


def _sum_to(grad, shape):
    """Sum a gradient over the axes along which an argument of `shape` was broadcast."""
    if grad.shape == shape:
        return grad
    grad = np.sum(grad, axis=tuple(range(grad.ndim - len(shape))))
    stretched = tuple(axis for axis, size in enumerate(shape) if size == 1 and grad.shape[axis] != 1)
    return np.sum(grad, axis=stretched, keepdims=True)
