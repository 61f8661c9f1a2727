"""Many heads: against one head at a time, and their gradients against central differences."""

import numpy as np
import pytest
from differences import assert_gradients
from numpy.testing import assert_allclose

from attn import causal_mask, multi_head_attention, scaled_dot_product_attention

N, M, D_MODEL, D_K, D_V = 3, 5, 7, 11, 13


def random_heads(n_heads=4, n_key_heads=None, d_v=D_V):
    rng = np.random.default_rng(0)
    n_key_heads = n_key_heads or n_heads
    keys = (n_key_heads, D_MODEL, D_K), (n_key_heads, D_MODEL, d_v)
    shapes = [(n_heads, D_MODEL, D_K), *keys, (n_heads, d_v, D_MODEL)]
    return [rng.normal(size=shape) / np.sqrt(D_MODEL) for shape in shapes]


def random_tokens(*shape, seed=1):
    return np.random.default_rng(seed).normal(size=(*shape, D_MODEL))


def test_heads_side_by_side_are_heads_one_by_one_added_up():
    X, (W_Q, W_K, W_V, W_O) = random_tokens(2, N), random_heads()
    output, weights = multi_head_attention(X, W_Q, W_K, W_V, W_O, causal_mask(N))
    total = 0
    for h in range(4):
        mixture, one_weights = scaled_dot_product_attention(X @ W_Q[h], X @ W_K[h], X @ W_V[h], causal_mask(N))
        assert_allclose(weights[:, h], one_weights)
        total = total + mixture @ W_O[h]
    assert_allclose(output, total)


@pytest.mark.parametrize("n_key_heads", [1, 2, 3, 6])
def test_grouped_queries_are_shared_key_heads_written_out(n_key_heads):
    X = random_tokens(N)
    W_Q, W_K, W_V, W_O = random_heads(6, n_key_heads)
    written_out = [np.repeat(W, 6 // n_key_heads, axis=0) for W in (W_K, W_V)]
    found, expected = (multi_head_attention(X, W_Q, *shared, W_O) for shared in ([W_K, W_V], written_out))
    for array, wanted in zip(found, expected):
        assert_allclose(array, wanted)


@pytest.mark.parametrize("n_key_heads", [2, 4])
def test_the_gradient_agrees_with_central_differences(n_key_heads):
    X, context, matrices = random_tokens(2, N), random_tokens(2, M, seed=2), random_heads(4, n_key_heads)

    def asked(X, context, *matrices):
        return multi_head_attention(X, *matrices, causal_mask(N, M), context=context)

    assert_gradients(asked, X, context, *matrices)
    assert_gradients(multi_head_attention, X, *matrices)


def test_small_integers_are_multiplied_as_floats():
    small = [np.full(W.shape, 100, np.int8) for W in random_heads()]
    X = np.full((N, D_MODEL), 100, np.int8)
    expected, _ = multi_head_attention(X.astype(float), *(W.astype(float) for W in small))
    assert_allclose(multi_head_attention(X, *small)[0], expected)
