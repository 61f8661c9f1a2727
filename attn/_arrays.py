"""Plumbing that the layers share: types of numbers, products and sums over rows, and on how many threads they run."""

import functools
import math

import numpy as np
from threadpoolctl import ThreadpoolController

PLAIN = {np.dtype(np.float32), np.dtype(np.float64)}


def as_floats(**arrays):
    """Return the arrays in one floating type; integers count as float64."""
    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    kinds = {array.dtype for array in arrays.values()}
    if len(kinds) == 1 and kinds <= PLAIN:
        return list(arrays.values())
    for name, array in arrays.items():
        if array.dtype.kind not in "iuf":
            raise TypeError(f"{name} must hold real numbers, but its type is {array.dtype}")
    kind = np.result_type(*(kind if kind.kind == "f" else np.float64 for kind in kinds)).newbyteorder("=")
    return [array.astype(kind, copy=False) for array in arrays.values()]


def wide(array):
    """Return the type to compute in: float16 overflows at 65,504 and is only kept, not worked with."""
    return np.promote_types(array.dtype, np.float32)


def as_booleans(name, mask):
    """Return a mask as booleans; it may be made of 0 and 1, but not of what is added to scores."""
    mask = np.asarray(mask)
    if mask.dtype != bool and not np.isin(mask, (0, 1)).all():
        raise TypeError(f"{name} is boolean, or made of 0 and 1, but its type is {mask.dtype}")
    return mask.astype(bool, copy=False)


def as_tokens(tokens):
    """Return tokens as an array with an axis of positions, or say what they are instead."""
    try:
        tokens = np.asarray(tokens)
    except ValueError:
        lengths = sorted({np.size(row) for row in tokens})
        raise ValueError(f"texts side by side need one length, but theirs are {lengths}: pad them") from None
    if tokens.dtype.kind == "U":
        raise TypeError(f"tokens are integers, but this is the text {str(tokens.flat[0])!r}: encode it first")
    if tokens.ndim == 0:
        raise ValueError("tokens need an axis of positions, but there is a single number")
    return tokens


def check_tokens(tokens, vocab_size):
    """Refuse tokens that are none of the vocabulary, with the first of them."""
    unknown = [int(token) for token in tokens if not 0 <= token < vocab_size]
    if unknown:
        raise ValueError(f"tokens must be from 0 to {vocab_size - 1}, but there is {unknown[0]}")


def significant(numbers):
    """Return numbers, as nested lists, with the digits that every processor agrees on.

    These are six; and what is less than a millionth of a millionth of the largest is what rounding has left, and zero.
    """
    array = np.asarray(numbers)
    if array.dtype.kind != "f":
        return array.tolist()
    array = np.where(np.abs(array) < 1e-12 * np.abs(array).max(initial=0), 0, array) + 0.0  # no zero is negative
    return np.array([float(f"{number:.6g}") for number in array.flat]).reshape(array.shape).tolist()


def on_one_thread(function):
    """Return the function as one whose matrix products each run on one thread.

    Threads that share a small product wait for each other longer than they work, above all where others are busy.
    """

    @functools.wraps(function)
    def run(*inputs, **options):
        with _threads().limit(limits=1, user_api="blas"):
            return function(*inputs, **options)

    return run


@functools.cache
def _threads():
    return ThreadpoolController()  # NumPy is loaded by now, and with it the library that makes its products


def as_rows(X):
    """Return X as a matrix of rows: one large product is faster than many small ones."""
    return X.reshape(math.prod(X.shape[:-1]), X.shape[-1])


def row_sums(X):
    """Return the sum of each row, shape (..., 1); a product is several times faster than a sum."""
    return (as_rows(X) @ np.ones((X.shape[-1], 1), X.dtype)).reshape(*X.shape[:-1], 1)


def column_sums(rows):
    """Return the sum of each column of a matrix; again as a product."""
    return np.ones(len(rows), rows.dtype) @ rows


def heard_rows(grad, rows):
    """Return rows for a way back: zeros where no gradient arrives, if some row holds what is not finite."""
    return rows if np.isfinite(rows).all() else np.where(grad.any(axis=-1, keepdims=True), rows, 0)


def weighted_sum(weights, rows):
    """Return weights @ rows, where a weight of zero hides whatever its row holds."""
    with np.errstate(over="ignore", invalid="ignore"):
        mixed = weights @ rows
        if np.isfinite(mixed).all() or np.isfinite(rows).all():
            return mixed
        terms = weights[..., None] * rows[..., None, :, :]  # 0 * NaN is NaN, so no matrix product can do it
    return np.sum(np.where(weights[..., None] == 0, 0, terms), axis=-2)


def sum_to(grad, shape):
    """Sum a gradient over the axes along which an argument of `shape` was broadcast."""
    if grad.shape == shape:
        return grad
    grad = np.sum(grad, axis=tuple(range(grad.ndim - len(shape))))
    stretched = tuple(axis for axis, size in enumerate(shape) if size == 1 and grad.shape[axis] != 1)
    return np.sum(grad, axis=stretched, keepdims=True)
