"""Positions: how a transformer is told where its tokens stand.

Each way adds something to embeddings, turns queries and keys, or adds something to scores. `POSITIONS` lists the ways:
configs, parameters and models look them up there, so that a new way is a new entry.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attn.checks import as_floats, widened
from attn.layers import embedding
from attn.tape import differentiable, sum_to


def sinusoid(n, d_model, *, start=0):
    """Return one vector for each of n positions, made of sines and cosines of growing wavelength.

    Parameters
    ----------
    n : int
    d_model : int
        Even.
    start : int, or array of int, shape (..., 1)
        The first position; one for each text, where they differ.

    Returns
    -------
    array, shape (..., n, d_model)

    Notes
    -----
    Sines in even entries and cosines in odd ones: Vaswani et al. 2017, section 3.5.
    """
    angles = _angles(start, n, d_model)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(*angles.shape[:-1], d_model)


@differentiable
def rotary(X, *, start=0, step=1, base=10_000):
    """Turn each pair of entries by an angle that grows with the position.

    The dot product of two turned vectors then depends on how far apart they stand.

    Parameters
    ----------
    X : array_like, shape (..., n, d_k)
        Queries or keys; `d_k` is even.
    start : int
        The position of the first of them.
    step : float
        How far apart neighbours count. With 0.5 a model that was trained on short texts meets no angles in one twice as
        long that it does not know: position interpolation, Chen et al. 2023.
    base : float
        Pair m of M turns by base ** (-m / M) with each position.

    Returns
    -------
    array, shape (..., n, d_k)

    Notes
    -----
    Su et al. 2021. A pair is a complex number, and a turn is a product with exp(i angle).
    """
    (X,) = as_floats(X=X)
    if X.ndim < 2:
        raise ValueError(f"X needs at least two axes (tokens, entries), but its shape is {X.shape}")
    if not 0 < base < np.inf:
        raise ValueError(f"the base of rotary positions is a number above 0, but is {base}")
    dtype = widened(X).dtype
    turns = np.exp(1j * step * _angles(start, *X.shape[-2:], base)).astype(np.result_type(dtype, np.complex64))

    def turn(rows, turns):
        turned = np.ascontiguousarray(rows, dtype).view(turns.dtype) * turns
        return turned.view(dtype).astype(X.dtype, copy=False)

    return turn(X, turns), lambda grad: (turn(grad, np.conj(turns)),)


@differentiable
def relative_bias(table, n_queries, n_keys):
    """Return what is added to a score for how far the key stands from the query.

    Parameters
    ----------
    table : array_like, shape (n_heads, 2 * max_distance + 1)
        One number for each distance from -max_distance (key before query) to max_distance; what
        is further away counts as that far.
    n_queries, n_keys : int
        The last query stands where the last key does, as in `causal_mask`.

    Returns
    -------
    array, shape (n_heads, n_queries, n_keys)

    Notes
    -----
    The scalar bias of Raffel et al. 2020, with one bucket for each distance.
    """
    (table,) = as_floats(table=table)
    if table.ndim != 2 or table.shape[1] % 2 == 0:
        raise ValueError(f"the table needs shape (n_heads, 2 * max_distance + 1), but has shape {table.shape}")
    n_heads, n_entries = table.shape
    furthest = n_entries // 2
    apart = np.arange(n_keys) - np.arange(n_keys - n_queries, n_keys)[:, None]
    entries = np.clip(apart, -furthest, furthest) + furthest

    def backward(grad):
        one_hot = entries.reshape(-1, 1) == np.arange(n_entries)
        return (grad.reshape(n_heads, n_queries * n_keys) @ one_hot.astype(grad.dtype),)

    return table[:, entries], backward


@differentiable
def masked(bias, mask=None):
    """Return what is added to scores: the bias where a query may attend, -inf elsewhere.

    Parameters
    ----------
    bias : array, shape (n_heads, n_queries, n_keys)
    mask : array of bool, broadcastable to (..., n_heads, n_queries, n_keys), optional

    Returns
    -------
    array, shape (..., n_heads, n_queries, n_keys)
    """
    return np.where(True if mask is None else mask, bias, -np.inf), lambda grad: (sum_to(grad, bias.shape), None)


def _angles(start, n, size, base=10_000):
    """Return the angle of each of n positions and of each pair of entries."""
    if size % 2:
        raise ValueError(f"positions are told by pairs of entries, so their number must be even, but is {size}")
    return (start + np.arange(n))[..., None] * float(base) ** -(np.arange(0, size, 2) / size)


@dataclass(frozen=True, kw_only=True)
class PositionalEncoding:
    """A way to tell positions; each default changes nothing.

    Parameters
    ----------
    embed : callable (X, params, start) -> array of the shape of X
        Adds to embeddings X, shape (..., n, d_model); the first token stands at position `start`, an int or an array of
        shape (..., 1), and below 0 if it is padding.
    turn : callable (X, start, config) -> array of the shape of X
        Turns queries or keys, shape (..., n_heads, n, d_k).
    bias : callable (p, n_heads, n_queries, n_keys) -> array, shape (n_heads, n_queries, n_keys), or None
        What is added to scores; `p` holds the parameters of the layer's attention.
    shapes, attention_shapes : callable (config) -> dict of tuples of int
        The parameters that it learns: once in a model, and in the self-attention of each layer.
    needs, even : str, optional
        The size of the config that must be given, and the one that must be even.
    max_distance : int, optional
        The config's default, for a way that has a largest distance.
    steps : bool
        Whether neighbours can count as more or less than one position apart.
    """

    embed: Callable = lambda X, params, start: X
    turn: Callable = lambda X, start, config: X
    bias: Callable = lambda p, n_heads, n_queries, n_keys: None
    shapes: Callable = lambda config: {}
    attention_shapes: Callable = lambda config: {}
    needs: str | None = None
    even: str | None = None
    max_distance: int | None = None
    steps: bool = False


POSITIONS = {
    "learned": PositionalEncoding(
        embed=lambda X, params, start: (
            X + embedding(np.maximum(start + np.arange(X.shape[-2]), 0), params["positions"])
        ),
        shapes=lambda config: {"positions": (config.n_positions, config.d_model)},
        needs="n_positions",
    ),
    "sinusoid": PositionalEncoding(
        embed=lambda X, params, start: X + sinusoid(*X.shape[-2:], start=start).astype(X.dtype), even="d_model"
    ),
    "relative": PositionalEncoding(
        bias=lambda p, n_heads, n_queries, n_keys: relative_bias(p["relative"], n_queries, n_keys),
        attention_shapes=lambda config: {"relative": (config.n_heads, 2 * config.max_distance + 1)},
        max_distance=8,
    ),
    "rotary": PositionalEncoding(
        turn=lambda X, start, config: rotary(X, start=start, step=config.position_step, base=config.rotary_base),
        even="d_k",
        steps=True,
    ),
    "none": PositionalEncoding(),
}
