"""The layers around attention: linear, layer norm, feed-forward, embedding.

Each layer is one function that computes its output and, below it, the way back.
"""

import numpy as np

from attn._arrays import as_floats, as_rows, column_sums, heard_rows, row_sums, sum_to, weighted_sum
from attn.tape import differentiable


@differentiable
def add(X, update):
    """Add an update to the stream: X + update.

    Parameters
    ----------
    X, update : array_like, shapes that broadcast against each other

    Returns
    -------
    array of the shape of both

    Raises
    ------
    TypeError
        If an input does not hold real numbers.
    """
    X, update = as_floats(X=X, update=update)

    def backward(grad):
        return sum_to(grad, X.shape), sum_to(grad, update.shape)

    return X + update, backward


@differentiable
def linear(X, W, b=None):
    """Map every row of X by the same matrix and add a bias: X W + b.

    Parameters
    ----------
    X : array_like, shape (..., d_in)
    W : array_like, shape (d_in, d_out)
    b : array_like, shape (d_out,), optional

    Returns
    -------
    array, shape (..., d_out)

    Raises
    ------
    ValueError
        If sizes do not fit.
    TypeError
        If an input does not hold real numbers.
    """
    X, W = as_floats(X=X, W=W)
    _check_linear(X, W, b)
    rows = as_rows(X)
    output = _affine(rows, W, b)

    def backward(grad):
        grad = as_rows(grad)
        return (grad @ W.T).reshape(X.shape), *_matrix_gradients(grad, rows, b)

    return output.reshape(*X.shape[:-1], W.shape[1]), backward


@differentiable
def layer_norm(X, gain, bias, *, epsilon=1e-5):
    """Bring every row to mean 0 and variance 1, then stretch and shift each entry.

    Parameters
    ----------
    X : array_like, shape (..., d_model)
    gain, bias : array_like, shape (d_model,)
    epsilon : float
        Added to the variance, so that a constant row gives zeros.

    Returns
    -------
    array, shape (..., d_model)

    Raises
    ------
    ValueError
        If sizes do not fit.
    OverflowError
        If entries are so large that their variance cannot be held.
    TypeError
        If an input does not hold real numbers.

    Notes
    -----
    Ba et al. 2016.
    """
    X, gain, bias = as_floats(X=X, gain=gain, bias=bias)
    if X.ndim == 0 or gain.shape != X.shape[-1:] or bias.shape != X.shape[-1:]:
        raise ValueError(
            f"X, gain and bias do not fit each other: their shapes are {X.shape}, {gain.shape}, {bias.shape}"
        )
    rows, size = as_rows(X), X.shape[-1]
    with np.errstate(over="ignore"):
        normal = rows - row_sums(rows) / size
        variance = np.vecdot(normal, normal)[:, None] / size
    if not np.isfinite(variance).all():
        lost = rows[np.isfinite(rows).all(axis=1) & ~np.isfinite(variance[:, 0])]
        if lost.size:
            raise OverflowError(f"layer_norm squares entries, and {np.abs(lost).max():.0e} squared overflows {X.dtype}")
    inverse = 1 / np.sqrt(variance + epsilon)
    normal *= inverse
    output = normal * gain
    output += bias

    def backward(grad):
        grad, heard, by = as_rows(grad), normal, inverse
        product = grad * heard
        grad_gain = column_sums(product)
        if not np.isfinite(grad_gain).all():
            heard, by = heard_rows(grad, normal), heard_rows(grad, inverse)
            product = grad * heard
            grad_gain = column_sums(product)
        along, mean = (product @ gain)[:, None] / size, (grad @ gain)[:, None] / size
        grad_X = grad * gain
        grad_X -= mean
        grad_X -= heard * along
        grad_X *= by
        return grad_X.reshape(X.shape), grad_gain, column_sums(grad)

    return output.reshape(X.shape), backward


@differentiable
def feed_forward(X, W_1, b_1, W_2, b_2, *, activation="relu"):
    """Widen every row, bend it, and narrow it again (an MLP).

    Parameters
    ----------
    X : array_like, shape (..., d_model)
    W_1 : array_like, shape (d_model, d_ff)
    b_1 : array_like, shape (d_ff,), or None
    W_2 : array_like, shape (d_ff, d_model)
    b_2 : array_like, shape (d_model,), or None
    activation : {"relu", "gelu"}

    Returns
    -------
    array, shape (..., d_model)

    Raises
    ------
    ValueError
        If sizes do not fit, or there is no such activation.

    Notes
    -----
    max(0, X W_1 + b_1) W_2 + b_2: Vaswani et al. 2017, equation 2. GELU in place of max(0, .):
    Hendrycks and Gimpel 2016.
    """
    X, W_1, W_2 = as_floats(X=X, W_1=W_1, W_2=W_2)
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, but is {activation!r}")
    _check_linear(X, W_1, b_1)
    rows = as_rows(X)
    hidden, slope = ACTIVATIONS[activation](_affine(rows, W_1, b_1))
    _check_linear(hidden, W_2, b_2)
    output = _affine(hidden, W_2, b_2)

    def backward(grad):
        grad = as_rows(grad)
        grad_hidden = grad @ W_2.T
        grad_hidden *= slope(grad)
        grad_X = (grad_hidden @ W_1.T).reshape(X.shape)
        return grad_X, *_matrix_gradients(grad_hidden, rows, b_1), *_matrix_gradients(grad, hidden, b_2)

    return output.reshape(*X.shape[:-1], W_2.shape[1]), backward


def _relu(X):
    """Set negative numbers to zero, in place; return that and what gives the slopes where a gradient arrives."""
    np.maximum(X, 0, out=X)
    return X, lambda grad: X > 0


def _gelu(X):
    """Return X times the share of a normal distribution that lies below X, and what gives the slopes.

    The error function is Abramowitz and Stegun 1964, 7.1.26: at most 1.5e-7 off.
    """
    bell = np.exp(-0.5 * X * X)
    t = 1 / (1 + 0.3275911 * 0.5**0.5 * np.abs(X))
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    tail = 0.5 * bell * series
    below = np.where(X < 0, tail, 1 - tail)
    return X * below, lambda grad: heard_rows(grad, below + X * bell * (2 * np.pi) ** -0.5)


ACTIVATIONS = {"relu": _relu, "gelu": _gelu}


@differentiable
def embedding(tokens, table):
    """Look up one row for each token.

    Parameters
    ----------
    tokens : array_like of int, shape (...)
    table : array_like, shape (vocab_size, d_model)

    Returns
    -------
    array, shape (..., d_model)

    Raises
    ------
    ValueError
        If a token is not a row of the table.
    TypeError
        If tokens are not integers.
    """
    tokens, (table,) = np.asarray(tokens), as_floats(table=table)
    if tokens.size and tokens.dtype.kind not in "iu":
        raise TypeError(f"tokens must be integers, but their type is {tokens.dtype}")
    if tokens.size and not 0 <= tokens.min() <= tokens.max() < len(table):
        raise ValueError(f"tokens must be from 0 to {len(table) - 1}, but reach from {tokens.min()} to {tokens.max()}")
    tokens = tokens.astype(int, copy=False)

    def backward(grad):
        one_hot = np.arange(len(table))[:, None] == np.ravel(tokens)  # a product is faster than adding row by row
        return None, one_hot.astype(grad.dtype) @ as_rows(grad)

    return table[tokens], backward


@differentiable
def unembedding(X, table):
    """Score every row of an embedding as the next token: X table^T, for a tied unembedding.

    Parameters
    ----------
    X : array_like, shape (..., d_model)
    table : array_like, shape (vocab_size, d_model)

    Returns
    -------
    array, shape (..., vocab_size)
    """
    X, table = as_floats(X=X, table=table)
    rows = as_rows(X)

    def backward(grad):
        grad = as_rows(grad)
        return (grad @ table).reshape(X.shape), weighted_sum(grad.T, rows)

    return (rows @ table.T).reshape(*X.shape[:-1], len(table)), backward


# --- what linear and feed-forward share -----------------------------------------------------------


def _affine(rows, W, b):
    output = rows @ W
    if b is not None:
        output += b
    return output


def _matrix_gradients(grad, rows, b):
    """Return the gradients of W and b; a row without gradient has no influence, whatever it holds."""
    return weighted_sum(grad.T, rows).T, None if b is None else column_sums(grad)


def _check_linear(X, W, b):
    if X.ndim == 0 or W.ndim != 2 or X.shape[-1] != W.shape[0] or (b is not None and np.shape(b) != W.shape[1:]):
        shapes = ", ".join(str(np.shape(array)) for array in (X, W, b) if array is not None)
        raise ValueError(f"X, W{' and b' if b is not None else ''} do not fit each other: their shapes are {shapes}")
