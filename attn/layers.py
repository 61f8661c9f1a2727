"""The layers around attention: linear, layer norm, feed-forward, embedding.

Each layer is one function: it computes its output and, right below, its backward pass.
"""

import numpy as np

from attn.checks import as_array, as_floats, widened
from attn.rows import as_rows, column_sums, row_means
from attn.tape import differentiable


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
    """
    X, W = as_floats(X=X, W=W)
    if X.ndim == 0 or W.ndim != 2 or X.shape[-1] != W.shape[0] or (b is not None and np.shape(b) != W.shape[1:]):
        shapes = ", ".join(str(np.shape(array)) for array in (X, W, b) if array is not None)
        raise ValueError(f"X, W{' and b' if b is not None else ''} do not fit each other: their shapes are {shapes}")
    rows = as_rows(X)
    Y = rows @ W
    if b is not None:
        Y += b

    def backward(grad):
        grad = as_rows(grad)
        return (grad @ W.T).reshape(X.shape), rows.T @ grad, None if b is None else column_sums(grad)

    return Y.reshape(*X.shape[:-1], W.shape[1]), backward


@differentiable
def layer_norm(X, gain, bias, *, epsilon=1e-5):
    """Give every row mean 0 and variance 1, then scale and shift each entry.

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
    FloatingPointError
        If entries are so large that their squares cannot be held.

    Notes
    -----
    Ba et al. 2016.
    """
    X, gain, bias = as_floats(X=X, gain=gain, bias=bias)
    if X.ndim == 0 or gain.shape != X.shape[-1:] or bias.shape != X.shape[-1:]:
        raise ValueError(
            f"X, gain and bias do not fit each other: their shapes are {X.shape}, {gain.shape}, {bias.shape}"
        )
    dtype, X = X.dtype, widened(X)
    with np.errstate(over="ignore"):
        normal = X - row_means(X)
        inverse = _inverse_deviation(normal, epsilon)
    normal *= inverse
    Y = normal * gain
    Y += bias

    def backward(grad):
        along = grad * normal
        grad_X = grad * gain
        grad_X -= row_means(grad, gain)
        grad_X -= normal * row_means(along, gain)
        grad_X *= inverse
        return grad_X, column_sums(along), column_sums(grad)

    return Y.astype(dtype, copy=False), backward


@differentiable
def rms_norm(X, gain, *, epsilon=1e-5):
    """Give the squares of every row mean 1, then scale each entry: a layer norm without mean and bias.

    Parameters
    ----------
    X : array_like, shape (..., d_model)
    gain : array_like, shape (d_model,)
    epsilon : float
        Added to the mean of the squares, so that a row of zeros stays one.

    Returns
    -------
    array, shape (..., d_model)

    Raises
    ------
    FloatingPointError
        If entries are so large that their squares cannot be held.

    Notes
    -----
    Zhang and Sennrich 2019.
    """
    X, gain = as_floats(X=X, gain=gain)
    if X.ndim == 0 or gain.shape != X.shape[-1:]:
        raise ValueError(f"X and gain do not fit each other: their shapes are {X.shape}, {gain.shape}")
    dtype, X = X.dtype, widened(X)
    with np.errstate(over="ignore"):
        inverse = _inverse_deviation(X, epsilon)
    normal = X * inverse

    def backward(grad):
        along = grad * normal
        return inverse * (grad * gain - normal * row_means(along, gain)), column_sums(along)

    return (normal * gain).astype(dtype, copy=False), backward


def _inverse_deviation(X, epsilon):
    """Return 1 / sqrt(mean square + epsilon) of each row, shape (..., 1), or say that squares cannot be held."""
    inverse = 1 / np.sqrt(row_means(X**2) + float(epsilon))
    if not inverse.all():  # and not by the flag of an overflow, which the products of some processors raise in error
        raise FloatingPointError(f"overflow: the squares of entries of up to {np.nanmax(np.abs(X)):.3g} cannot be held")
    return inverse


@differentiable
def relu(X):
    """Set negative entries to zero."""
    (X,) = as_floats(X=X)
    zeros = np.zeros(X.shape[-1:], X.dtype)  # in float32 NumPy compares with them in half the time that a number takes
    return np.maximum(X, zeros), lambda grad: (grad * (X > 0),)


@differentiable
def gelu(X):
    """Multiply each entry by the share of a normal distribution that lies below it: Hendrycks and Gimpel 2016.

    The error function is Abramowitz and Stegun 1964, 7.1.26: at most 1.5e-7 off.
    """
    (X,) = as_floats(X=X)
    bell = np.exp(-0.5 * X * X)
    t = 1 / (1 + 0.3275911 * 0.5**0.5 * np.abs(X))
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    tail = 0.5 * bell * series
    below = np.where(X < 0, tail, 1 - tail)
    return X * below, lambda grad: (grad * (below + X * bell * (2 * np.pi) ** -0.5),)


@differentiable
def gelu_tanh(X):
    """GELU as GPT-2 has it, by a hyperbolic tangent: at most 5e-4 off `gelu`."""
    (X,) = as_floats(X=X)
    slope = (2 / np.pi) ** 0.5
    bend = np.tanh(slope * (X + 0.044715 * X * X * X))
    below = 0.5 * (1 + bend)
    rise = 0.5 * slope * (1 - bend * bend) * (1 + 3 * 0.044715 * X * X)
    return X * below, lambda grad: (grad * (below + X * rise),)


@differentiable
def gated(X, gate):
    """Let each entry through as far as its gate is open: X times SiLU(gate), where SiLU(g) = g / (1 + e^-g)."""
    X, gate = as_floats(X=X, gate=gate)
    share = 0.5 + 0.5 * np.tanh(0.5 * gate)  # 1 / (1 + e^-g), which this way cannot overflow
    opened = gate * share

    def backward(grad):
        return grad * opened, grad * X * (share + opened * (1 - share))

    return X * opened, backward


NONLINEARITIES = {"relu": relu, "gelu": gelu, "gelu_tanh": gelu_tanh}


def feed_forward(X, W_1, b_1, W_2, b_2, *, activation="relu"):
    """Widen every row, apply a nonlinearity, and narrow it again (an MLP).

    Parameters
    ----------
    X : array_like, shape (..., d_model)
    W_1 : array_like, shape (d_model, d_ff)
    b_1 : array_like, shape (d_ff,), or None
    W_2 : array_like, shape (d_ff, d_model)
    b_2 : array_like, shape (d_model,), or None
    activation : {"relu", "gelu", "gelu_tanh"}

    Returns
    -------
    array, shape (..., d_model)

    Notes
    -----
    max(0, X W_1 + b_1) W_2 + b_2: Vaswani et al. 2017, equation 2.
    """
    if activation not in NONLINEARITIES:
        raise ValueError(f"activation must be one of {', '.join(NONLINEARITIES)}, but is {activation!r}")
    return linear(NONLINEARITIES[activation](linear(X, W_1, b_1)), W_2, b_2)


def gated_feed_forward(X, W_1, W_2, W_3):
    """Widen every row twice, let one of the two gate the other, and narrow it again (SwiGLU).

    Parameters
    ----------
    X : array_like, shape (..., d_model)
    W_1, W_3 : array_like, shape (d_model, d_ff)
        For the gates, and for what they let through: named as in Llama.
    W_2 : array_like, shape (d_ff, d_model)

    Returns
    -------
    array, shape (..., d_model)

    Notes
    -----
    (SiLU(X W_1) * X W_3) W_2: Shazeer 2020.
    """
    return linear(gated(linear(X, W_3), linear(X, W_1)), W_2)


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
    tokens, (table,) = as_array("tokens", tokens), as_floats(table=table)
    if tokens.size and tokens.dtype.kind not in "iu":
        raise TypeError(f"tokens must be integers, but their type is {tokens.dtype}")
    if tokens.size and not 0 <= tokens.min() <= tokens.max() < len(table):
        raise ValueError(f"tokens must be from 0 to {len(table) - 1}, but reach from {tokens.min()} to {tokens.max()}")
    tokens = tokens.astype(int, copy=False)

    def backward(grad):
        one_hot = np.zeros((tokens.size, len(table)), grad.dtype)  # a product is faster than adding row by row
        one_hot[np.arange(tokens.size), np.ravel(tokens)] = 1
        return None, one_hot.T @ as_rows(grad)

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
        return (grad @ table).reshape(X.shape), grad.T @ rows

    return (rows @ table.T).reshape(*X.shape[:-1], len(table)), backward
