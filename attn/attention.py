"""Scaled dot-product attention: softmax, masks, the mechanism itself and its gradient.

Tokens are rows everywhere: row i of `Q` is one query, row j of `K` and `V` one key with
its value, and row i of `weights` is the distribution of query i over all keys.
"""

import math
import operator

import numpy as np

from attn._arrays import as_floats, row_sums, sum_to, weighted_sum, wide
from attn.tape import differentiable

BLOCK = 2**18  # scores worked on at once: few enough to stay in a core's cache from one pass to the next
SMALL = 40  # the powers of scores up to this size, and their sums, are ordinary float32 numbers


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
        Non-negative, with sum 1 along `axis`. Floats keep their type, integers become
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
    softmax(s)_j = exp(s_j) / sum_l exp(s_l). Where scores are large, the maximum is subtracted
    first: it cancels in the quotient, and no power overflows.

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
    rows = np.array(np.swapaxes(scores, axis, -1), dtype=wide(scores), order="C")
    _weigh(rows)
    weights = np.swapaxes(rows, axis, -1).astype(scores.dtype, copy=False)

    def backward(grad):
        heard = np.where(grad.any(axis=axis, keepdims=True), weights, 0)  # what nobody asks for may hold NaN
        return (heard * (grad - np.sum(heard * grad, axis=axis, keepdims=True)),)

    return weights, backward


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
    softmax(Q K^T / sqrt(d_k)) V: Vaswani et al. 2017, equation 1. On the way back, with
    scores = scale Q K^T: grad_V = weights^T grad_output, grad_weights = grad_output V^T,
    grad_scores = weights * (grad_weights - rowsum(weights * grad_weights)),
    grad_Q = scale grad_scores K, grad_K = scale grad_scores^T Q. A float mask is learned
    with grad_scores; a weight of zero lets no gradient through.

    Examples
    --------
    >>> Q, K, V = [[0, 1]], [[2, 1], [1, 1], [1, 2]], [[2, 1], [1, 3], [1, 2]]
    >>> output, weights = scaled_dot_product_attention(Q, K, V)
    >>> weights.round(4), output.round(4)
    (array([[0.2483, 0.2483, 0.5035]]), array([[1.2483, 2.    ]]))
    """
    Q, K, V = as_floats(Q=Q, K=K, V=V)
    leading, kind, scale = _check_shapes(Q, K, V), Q.dtype, _scale(Q, scale)
    Q, K, V = (array.astype(wide(array), copy=False) for array in (Q, K, V))
    scaled = Q * scale
    weights = _softmax_of_products(scaled, K, (*leading, Q.shape[-2], K.shape[-2]), mask)
    output = weighted_sum(weights, V)  # what a weight of zero hides may hold anything

    def backward(grad_output):
        asked = weights
        with np.errstate(over="ignore", invalid="ignore"):
            grad_scores = grad_output @ np.swapaxes(V, -1, -2)
            grad_scores -= np.vecdot(weights, grad_scores)[..., None]
            grad_scores *= weights
            if not np.isfinite(grad_scores).all():  # what is hidden, or asked for by nobody, may hold anything
                asked = np.where(grad_output.any(axis=-1, keepdims=True), weights, 0)
                grad_weights = np.where(asked == 0, 0, grad_output @ np.swapaxes(V, -1, -2))
                grad_scores = asked * (grad_weights - np.vecdot(asked, grad_weights)[..., None])
        grad_Q = weighted_sum(grad_scores, K) * scale
        grad_K = weighted_sum(np.swapaxes(grad_scores, -1, -2), scaled)
        grad_V = weighted_sum(np.swapaxes(asked, -1, -2), grad_output)
        grads = [sum_to(grad, array.shape) for grad, array in ((grad_Q, Q), (grad_K, K), (grad_V, V))]
        learned = isinstance(mask, np.ndarray) and mask.dtype.kind == "f"
        return *grads, sum_to(grad_scores, mask.shape) if learned else None

    return (output.astype(kind, copy=False), weights.astype(kind, copy=False)), backward


@differentiable
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
        How many queries and keys a block holds; unless given 512, or 256 if `causal`. Memory
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
    The softmax is online, `online_softmax`: Milakov and Gimelshein 2018; with the mixture
    beside it Rabe and Staats 2021, Dao et al. 2022.
    """
    Q, K, V = as_floats(Q=Q, K=K, V=V)
    leading, kind, scale = _check_shapes(Q, K, V), Q.dtype, _scale(Q, scale)
    if block_size is None:
        block_size = 256 if causal else 512  # smaller ones waste less on the diagonal, larger ones less on calls
    block_size = operator.index(block_size)
    if block_size < 1:
        raise ValueError(f"block_size must be at least 1, but is {block_size}")
    n_queries, n_keys = Q.shape[-2], K.shape[-2]
    Q, K, V = (array.astype(wide(array), copy=False) for array in (Q, K, V))
    headroom = _headroom(V)
    V = V * headroom if headroom < 1 else V
    Q, K, V = (np.broadcast_to(array, (*leading, *array.shape[-2:])) for array in (Q, K, V))
    output = np.zeros((*leading, n_queries, V.shape[-1]), Q.dtype)
    room = np.empty(
        min(block_size, n_queries) * min(block_size, n_keys), Q.dtype
    )  # for every block: it stays in the cache
    for head in np.ndindex(leading):  # one at a time: its block stays in the processor's cache
        bound = abs(scale) * _longest(Q[head]) * _longest(K[head])
        for start in range(0, n_queries, block_size):
            rows = slice(start, min(start + block_size, n_queries))
            first_hidden = n_keys - n_queries + start + 1 if causal else None
            blocks = _score_blocks(Q[head][rows] * scale, K[head], V[head], first_hidden, block_size, room)
            output[head][rows] = online_softmax(blocks, bound)

    def backward(grad):
        raise TypeError("blockwise_attention has no way back: under a tape, use scaled_dot_product_attention")

    return (output / headroom if headroom < 1 else output).astype(kind, copy=False), backward


def online_softmax(blocks, bound=np.inf):
    """Mix values whose scores come block by block, as softmax over all of them at once would.

    Parameters
    ----------
    blocks : iterable of (scores, V)
        Scores of shape (n_queries, n_block), `-inf` for what is hidden, and the values of the
        block's keys, shape (n_block, d_v). The scores are used up: their powers take their place.
    bound : float
        What no score but `-inf` exceeds in size, if it is known: small ones need no maximum.

    Returns
    -------
    array, shape (n_queries, d_v)

    Notes
    -----
    A sum of exponentials taken against one maximum is moved to a larger one by a factor:
    Milakov and Gimelshein 2018. The sum is divided by at the end, so values times the number
    of keys must be numbers that can be held; `blockwise_attention` makes room for them.

    Examples
    --------
    >>> blocks = [(np.array([[0.0, 1.0]]), np.eye(3)[:2]), (np.array([[2.0]]), np.eye(3)[2:])]
    >>> online_softmax(blocks).round(4), softmax([[0.0, 1.0, 2.0]]).round(4)
    (array([[0.09  , 0.2447, 0.6652]]), array([[0.09  , 0.2447, 0.6652]]))
    """
    top, total, mixture = -np.inf, 0.0, 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for scores, V in blocks:
            scores, V = (array.astype(wide(array), copy=False) for array in (scores, V))
            higher = np.maximum(top, scores.dtype.type(0) if bound < SMALL else _tops(scores))
            shift = np.where(np.isneginf(higher), 0, higher)
            kept = np.exp(top - shift)  # what the sums so far are worth against the new maximum
            if shift.any():
                scores -= shift
            powers = np.exp(scores, out=scores)
            total = total * kept + row_sums(powers)
            mixture = mixture * kept + weighted_sum(powers, V)
            top = higher
    return mixture / np.where(total == 0, 1, total)


def _score_blocks(Q, K, V, first_hidden, block_size, room):
    """Yield blocks of scores with their values; from `first_hidden` on, keys are hidden from the first query."""
    n_queries, n_keys = len(Q), len(K)
    n_seen = n_keys if first_hidden is None else max(0, min(n_keys, first_hidden + n_queries - 1))
    for start in range(0, n_seen, block_size):
        columns = slice(start, min(start + block_size, n_seen))
        scores = room[: n_queries * (columns.stop - start)].reshape(n_queries, -1)
        np.matmul(Q, K[columns].T, out=scores)
        if first_hidden is not None and columns.stop > first_hidden:
            seen = np.tri(n_queries, columns.stop - start, k=first_hidden - 1 - start, dtype=bool)
            np.copyto(scores, -np.inf, where=~seen)
        yield scores, V[columns]


def _softmax_of_products(Q, K, shape, mask):
    """Return softmax(Q K^T + mask), a block of scores at a time: each pass over a block finds it in the cache."""
    added, reach = _added(mask, shape, Q.dtype)
    K_T, weights = np.swapaxes(K, -1, -2), np.empty(shape, Q.dtype)
    with np.errstate(over="ignore", invalid="ignore"):  # forbidden keys may hold anything
        for head, rows in _blocks(shape):
            scores = weights[head][..., rows, :]
            np.matmul(_of_heads(Q, shape, head)[..., rows, :], _of_heads(K_T, shape, head), out=scores)
            _weigh(scores, None if added is None else np.broadcast_to(added, shape)[head][..., rows, :], reach)
    return weights


def _weigh(scores, added=None, reach=0.0):
    """Turn scores into weights, in place: add a mask, take powers, let each row sum to one.

    `reach` bounds what a mask adds where it forbids nothing.
    """
    if _all_small(scores, reach):
        if added is not None:
            scores += added
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            if added is not None:
                scores[...] = np.where(np.isneginf(added), -np.inf, scores + added)
            top = scores.max(axis=-1, keepdims=True, initial=-np.inf)
            scores -= np.where(np.isneginf(top), 0, top)
    np.exp(scores, out=scores)
    total = row_sums(scores)
    scores /= np.where(total == 0, 1, total)  # not times the reciprocal: a key that is alone gets exactly 1


def _all_small(scores, reach=0.0):
    """Say whether no power of a score can over- or underflow, so that no maximum need be subtracted."""
    return scores.size > 0 and scores.max() < SMALL - reach and scores.min() > reach - SMALL


def _longest(rows):
    """Return the length of the longest row."""
    return np.vecdot(rows, rows).max(initial=0) ** 0.5


def _tops(scores):
    """Return a number for each row that is large enough to be subtracted before powers are taken."""
    return scores.dtype.type(0) if _all_small(scores) else scores.max(axis=-1, keepdims=True, initial=-np.inf)


def _blocks(shape):
    """Yield the places of parts of a table of scores: an index for the leading axes, and a slice of rows."""
    *leading, n_queries, n_keys = shape
    if math.prod(shape) <= BLOCK:
        yield (), slice(None)
    elif not leading:
        step = max(1, BLOCK // n_keys)
        for start in range(0, n_queries, step):
            yield (), slice(start, start + step)
    elif step := BLOCK // math.prod(shape[1:]):
        for start in range(0, leading[0], step):
            yield (slice(start, start + step),), slice(None)
    else:
        for i in range(leading[0]):
            for head, rows in _blocks(shape[1:]):
                yield (i, *head), rows


def _of_heads(array, shape, head):
    """Return what an array with broadcast leading axes holds for some heads."""
    return np.broadcast_to(array, (*shape[:-2], *array.shape[-2:]))[head] if head else array


def _headroom(V):
    """Return a power of two, at most 1, that makes room for a sum of as many values as there are."""
    n_keys, largest = V.shape[-2], max(float(V.max(initial=0)), -float(V.min(initial=0)))
    too_large = np.isfinite(largest) and largest * 2 * n_keys > float(np.finfo(V.dtype).max)
    return 0.5 ** n_keys.bit_length() if too_large else 1.0


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


def _scale(Q, scale):
    """Return the scale as a Python float: a NumPy float64 would widen float32 arrays."""
    return Q.shape[-1] ** -0.5 if scale is None else float(scale)


def _added(mask, shape, kind):
    """Return what a mask adds to scores, and the most that it adds where it forbids nothing."""
    if mask is None:
        return None, 0.0
    mask = np.asarray(mask)
    if mask.dtype.kind not in "bf":
        raise TypeError(f"mask must be boolean (True = may attend) or float (added), but its type is {mask.dtype}")
    try:
        np.broadcast_to(mask, shape)
    except ValueError:
        raise ValueError(f"mask of shape {mask.shape} does not broadcast to scores of shape {shape}") from None
    if mask.dtype == bool:
        return np.where(mask, 0, -np.inf).astype(kind), 0.0
    return mask.astype(kind, copy=False), np.abs(mask[~np.isneginf(mask)]).max(initial=0)
