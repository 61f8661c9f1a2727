"""Scaled dot-product attention: softmax, masks, the mechanism itself, and their gradients.

Tokens are rows everywhere: row i of `Q` is one query, row j of `K` and `V` one key with
its value, and row i of `weights` is the distribution of query i over all keys.
"""

import operator

import numpy as np

from attn.checks import as_array, as_floats, widened, with_common_axes
from attn.rows import lowest, row_sums, softmax_in_place, surely_finite
from attn.tape import differentiable, sum_to


@differentiable
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
        Non-negative, with sum 1 along `axis`. Floats keep their dtype, integers become
        float64. A line of nothing but `-inf` gives zeros; a line that holds NaN or `+inf`
        has no distribution and gives NaN.

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers.
    ValueError
        If `scores` is a single number.

    Notes
    -----
    softmax(s)_j = exp(s_j) / sum_l exp(s_l). On the backward pass, grad_scores =
    weights * (grad_weights - sum(weights * grad_weights)), the sum along `axis`.

    Examples
    --------
    >>> softmax([1, 1, 2]).round(3)
    array([0.212, 0.212, 0.576])
    >>> softmax([1000.0, 1000.0, -np.inf])
    array([0.5, 0.5, 0. ])
    """
    (scores,) = as_floats(scores=scores)
    if scores.ndim == 0:
        raise ValueError("softmax compares scores along an axis, but got a single number")
    dtype, scores = scores.dtype, widened(scores)
    with np.errstate(over="ignore", invalid="ignore"):
        powers = np.exp(scores - scores.max(axis=axis, keepdims=True, initial=lowest(scores)))  # no overflow
        weights = powers / np.maximum(powers.sum(axis=axis, keepdims=True), 1)  # zero where all is impossible
    weights = weights.astype(dtype, copy=False)

    def backward(grad_weights):
        return (weights * (grad_weights - np.sum(weights * grad_weights, axis=axis, keepdims=True)),)

    return weights, backward


def causal_mask(n_queries, n_keys=None):
    """Say which keys each query may attend to when no query may look ahead.

    Parameters
    ----------
    n_queries, n_keys : int
        How many queries and keys; default: as many keys as queries.

    Returns
    -------
    array of bool, shape (n_queries, n_keys)
        True = may attend. Aligned at the lower right: the last query sees every key, which
        is what generation with stored keys needs.

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


@differentiable
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
        hides. A hidden key has no influence, whatever it and its value hold. The last two axes
        are queries and keys: give a mask of keys alone, shape (batch, n_keys), as
        `mask[:, None, :]`. Give `-inf` and not the lowest number: two of these add up to `-inf`,
        and a key that only one of them was to hide is seen.
    scale : float, optional
        What the dot products are multiplied by; default: `d_k ** -0.5`.

    Returns
    -------
    output : array, shape (..., n_queries, d_v)
    weights : array, shape (..., n_queries, n_keys)
        Rows sum to one; a query that may attend to nothing has zeros in both.
        Floats keep their dtype, integers become float64.

    Raises
    ------
    ValueError
        If shapes do not fit; the sentence names those that clash.
    TypeError
        If an input does not hold real numbers, or a mask is neither boolean nor float, or
        made of the floats 0 and 1, which hide nothing.

    Notes
    -----
    softmax(Q K^T / sqrt(d_k)) V: Vaswani et al. 2017, equation 1. The backward pass takes its
    steps in reverse order; a float mask is learned with grad_scores.

    Examples
    --------
    >>> Q, K, V = [[0, 1]], [[2, 1], [1, 1], [1, 2]], [[2, 1], [1, 3], [1, 2]]
    >>> output, weights = scaled_dot_product_attention(Q, K, V)
    >>> weights.round(4), output.round(4)
    (array([[0.2483, 0.2483, 0.5035]]), array([[1.2483, 2.    ]]))
    """
    Q, K, V = as_floats(Q=Q, K=K, V=V)
    shapes, dtype = [array.shape for array in (Q, K, V)], Q.dtype
    Q, K, V = map(widened, with_common_axes(Q, K, V))
    scale = Q.shape[-1] ** -0.5 if scale is None else float(scale)

    scaled_Q = scale * Q
    with np.errstate(over="ignore", invalid="ignore"):  # a hidden key may hold anything
        scores = scaled_Q @ K.mT
    weights = softmax_in_place(_masked(scores, mask))
    output = weighted_sum(weights, V)

    def backward(grad_output):
        with np.errstate(over="ignore", invalid="ignore"):
            grad_scores = grad_output @ V.mT  # at first those of the weights
            if not surely_finite(grad_scores):
                np.copyto(grad_scores, 0, where=weights == 0)  # no gradient passes a weight of zero
        grad_scores -= row_sums(weights * grad_scores)
        grad_scores *= weights
        grad_Q = weighted_sum(grad_scores, K)
        grad_Q *= scale
        grad_K = weighted_sum(grad_scores.mT, scaled_Q)
        grad_V = weighted_sum(weights.mT, grad_output)
        is_learned = isinstance(mask, np.ndarray) and mask.dtype.kind == "f"
        grad_mask = sum_to(grad_scores, mask.shape) if is_learned else None
        return *map(sum_to, (grad_Q, grad_K, grad_V), shapes), grad_mask

    return (output.astype(dtype, copy=False), weights.astype(dtype, copy=False)), backward


def _masked(scores, mask):
    """Add a float mask to the scores, or make them -inf where a boolean one is False; in place."""
    if mask is None:
        return scores
    mask = as_array("mask", mask)
    if mask.dtype.kind not in "bf":
        raise TypeError(f"mask must be boolean (True = may attend) or float (added), but its type is {mask.dtype}")
    if mask.dtype != bool and mask.any() and ((mask == 0) | (mask == 1)).all():
        raise TypeError(f"the zeros and ones of a {mask.dtype} mask are added and hide nothing: make it boolean")
    try:
        if mask.dtype != bool:
            with np.errstate(over="ignore", invalid="ignore"):
                scores += mask
        np.copyto(scores, -np.inf, where=~mask if mask.dtype == bool else np.isneginf(mask))
    except ValueError:
        raise ValueError(
            f"mask of shape {mask.shape} does not broadcast to scores of shape {scores.shape}: one of keys, shape "
            "(batch, n_keys), needs an axis of queries, mask[:, None, :]"
        ) from None
    return scores


def weighted_sum(weights, rows):
    """Return weights @ rows, where a weight of zero hides whatever its row holds, even NaN (0 * NaN is NaN)."""
    with np.errstate(over="ignore", invalid="ignore"):
        mixed = weights @ rows
        if surely_finite(mixed) or np.isfinite(rows).all():
            return mixed
        held = np.isfinite(rows).all(axis=-1, keepdims=True)
        mixed, others = weights @ np.where(held, rows, 0), np.where(held, 0, rows)
        for row in np.flatnonzero(~held.all(axis=tuple(range(held.ndim - 2)))):
            share = weights[..., row, None]
            mixed += np.where(share == 0, 0, share * others[..., row, None, :])
    return mixed
