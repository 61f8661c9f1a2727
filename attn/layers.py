"""The layers around attention: linear, layer norm, feed-forward, embedding, positions.

Each function is followed by its gradient. A gradient takes the gradient of a loss with respect to
the output first, then what the function took, and returns the gradients of what can be learned or
comes from below, in that order.
"""

import numpy as np

from attn.heads import as_rows


def linear(X, W, b):
    """Map every row of X by the same matrix and add a bias.

    Parameters
    ----------
    X : array, shape (..., d_in)
    W : array, shape (d_in, d_out)
    b : array, shape (d_out,)

    Returns
    -------
    array, shape (..., d_out)

    Raises
    ------
    ValueError
        If sizes do not fit.
    """
    if X.shape[-1] != W.shape[0] or W.shape[1:] != b.shape:
        raise ValueError(f"X, W and b do not fit each other: their shapes are {X.shape}, {W.shape}, {b.shape}")
    output = as_rows(X) @ W
    output += b
    return output.reshape(*X.shape[:-1], -1)


def linear_backward(grad_output, X, W):
    """Return the gradients of X, W and b; shapes as in `linear`."""
    rows, grad = as_rows(X), as_rows(grad_output)
    return (grad @ W.T).reshape(X.shape), rows.T @ grad, _sum_rows(grad)


def layer_norm(X, gain, bias, epsilon=1e-5):
    """Bring every row to mean 0 and variance 1, then stretch and shift each entry.

    Parameters
    ----------
    X : array, shape (..., d_model)
    gain, bias : array, shape (d_model,)
    epsilon : float
        Added to the variance, so that a constant row gives zeros.

    Returns
    -------
    array, shape (..., d_model)

    Notes
    -----
    Ba et al. 2016.
    """
    normal, _ = normalise(X, epsilon)
    return normal * gain + bias


def layer_norm_backward(grad_output, X, gain, epsilon=1e-5):
    """Return the gradients of X, gain and bias; shapes as in `layer_norm`."""
    normal, deviation = normalise(X, epsilon)
    return back_through_norm(grad_output, normal, deviation, gain)


def normalise(X, epsilon=1e-5):
    """Bring every row to mean 0 and variance 1; return that and the deviations it was divided by, shape (..., 1)."""
    centred = X - _row_means(X)
    deviation = np.sqrt(_row_means(centred * centred) + epsilon)
    centred /= deviation
    return centred, deviation


def back_through_norm(grad_output, normal, deviation, gain):
    """Return what `layer_norm_backward` does, where `normalise` ran before."""
    grad_gain, grad_bias = _sum_rows(as_rows(grad_output * normal)), _sum_rows(as_rows(grad_output))
    grad_X = grad_output * gain
    along = normal * _row_means(grad_X * normal)
    grad_X -= _row_means(grad_X)
    grad_X -= along
    grad_X /= deviation
    return grad_X, grad_gain, grad_bias


def feed_forward(X, W_1, b_1, W_2, b_2):
    """Widen every row, cut off what is negative, and narrow it again (an MLP with ReLU).

    Parameters
    ----------
    X : array, shape (..., d_model)
    W_1 : array, shape (d_model, d_ff)
    b_1 : array, shape (d_ff,)
    W_2 : array, shape (d_ff, d_model)
    b_2 : array, shape (d_model,)

    Returns
    -------
    array, shape (..., d_model)

    Notes
    -----
    max(0, X W_1 + b_1) W_2 + b_2: Vaswani et al. 2017, equation 2.
    """
    return linear(np.maximum(linear(X, W_1, b_1), 0), W_2, b_2)


def feed_forward_backward(grad_output, X, W_1, b_1, W_2):
    """Return the gradients of X, W_1, b_1, W_2 and b_2; shapes as in `feed_forward`."""
    hidden = np.maximum(linear(X, W_1, b_1), 0)
    grad_hidden, grad_W_2, grad_b_2 = linear_backward(grad_output, hidden, W_2)
    grad_hidden *= hidden > 0
    return *linear_backward(grad_hidden, X, W_1), grad_W_2, grad_b_2


def embedding(tokens, table):
    """Look up one row for each token.

    Parameters
    ----------
    tokens : array of int, shape (...)
    table : array, shape (vocab_size, d_model)

    Returns
    -------
    array, shape (..., d_model)

    Raises
    ------
    ValueError
        If a token is not a row of the table.
    """
    tokens = np.asarray(tokens)
    if tokens.size and not 0 <= tokens.min() <= tokens.max() < len(table):
        raise ValueError(f"tokens must be from 0 to {len(table) - 1}, but reach from {tokens.min()} to {tokens.max()}")
    return table[tokens]


def embedding_backward(grad_output, tokens, vocab_size):
    """Return the gradient of the table, shape (vocab_size, d_model): each row collects from its tokens."""
    one_hot = np.arange(vocab_size)[:, None] == np.ravel(tokens)  # a product is faster than adding row by row
    return one_hot.astype(grad_output.dtype) @ as_rows(grad_output)


def sinusoid(n, d_model):
    """Return one vector for each of n positions, made of waves of growing length.

    Parameters
    ----------
    n : int
    d_model : int
        Even.

    Returns
    -------
    array, shape (n, d_model)

    Raises
    ------
    ValueError
        If `d_model` is odd.

    Notes
    -----
    Sines in even entries and cosines in odd ones: Vaswani et al. 2017, section 3.5.
    """
    return np.ascontiguousarray(_turns(n, d_model)).view(float).reshape(n, -1, 2)[:, :, ::-1].reshape(n, d_model)


def rotary(X):
    """Turn each pair of entries by an angle that grows with the position.

    The dot product of two turned vectors then depends on how far apart they stand.

    Parameters
    ----------
    X : array, shape (..., n, d_k)
        Queries or keys; `d_k` is even.

    Returns
    -------
    array, shape (..., n, d_k)

    Raises
    ------
    ValueError
        If `d_k` is odd.

    Notes
    -----
    Su et al. 2021.
    """
    return _turn(X, _turns(*X.shape[-2:]))


def rotary_backward(grad_output):
    """Return the gradient of X: the same turn, backwards."""
    return _turn(grad_output, np.conj(_turns(*grad_output.shape[-2:])))


def relative_bias(table, n_queries, n_keys):
    """Return what is added to a score for how far the key stands from the query.

    Parameters
    ----------
    table : array, shape (n_heads, 2 * reach + 1)
        One number for each distance from -reach (key before query) to reach; what is further
        away counts as that far.
    n_queries, n_keys : int

    Returns
    -------
    array, shape (n_heads, n_queries, n_keys)

    Notes
    -----
    A simple form of Shaw et al. 2018.
    """
    return table[:, _distances(table.shape[1], n_queries, n_keys)]


def relative_bias_backward(grad_output, n_entries):
    """Return the gradient of the table, shape (n_heads, n_entries), summed over leading axes."""
    *_, n_heads, n_queries, n_keys = grad_output.shape
    grad = grad_output.reshape(-1, n_heads, n_queries * n_keys).sum(axis=0)
    one_hot = _distances(n_entries, n_queries, n_keys).reshape(-1, 1) == np.arange(n_entries)
    return grad @ one_hot.astype(grad.dtype)


def _sum_rows(rows):
    return np.ones(len(rows), rows.dtype) @ rows


def _row_means(X):
    size = X.shape[-1]
    return (as_rows(X) @ np.full((size, 1), 1 / size, X.dtype)).reshape(*X.shape[:-1], 1)


def _turns(n, size):
    """Return a complex number of length 1 for each position and each pair of entries."""
    if size % 2:
        raise ValueError(f"positions are told by pairs of entries, so their number must be even, but is {size}")
    speeds = 10_000.0 ** -(np.arange(0, size, 2) / size)
    return np.exp(1j * np.arange(n)[:, None] * speeds)


def _turn(X, turns):
    X = np.ascontiguousarray(X)
    pairs = X.view(np.result_type(X.dtype, np.complex64))
    return (pairs * turns.astype(pairs.dtype)).view(X.dtype)


def _distances(n_entries, n_queries, n_keys):
    reach = n_entries // 2
    return np.clip(np.arange(n_keys) - np.arange(n_queries)[:, None], -reach, reach) + reach
