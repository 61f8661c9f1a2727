"""Many heads: against one head at a time, and their gradients against central differences."""

import numpy as np
import pytest
from differences import assert_gradients
from numpy.testing import assert_allclose

from attn import Tape, causal_mask, multi_head_attention, scaled_dot_product_attention
from attn.heads import project_into_heads, project_out_of_heads

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
    output, weights = multi_head_attention(X, W_Q, W_K, W_V, W_O)
    repeat = 6 // n_key_heads
    full, full_weights = multi_head_attention(
        X, W_Q, np.repeat(W_K, repeat, axis=0), np.repeat(W_V, repeat, axis=0), W_O
    )
    assert_allclose(output, full)
    assert_allclose(weights, full_weights)


def test_context_answers_and_x_asks():
    X, context, matrices = random_tokens(N), random_tokens(M, seed=2), random_heads()
    output, weights = multi_head_attention(X, *matrices, context=context)
    assert output.shape == (N, D_MODEL) and weights.shape == (4, N, M)
    assert_allclose(multi_head_attention(X, *matrices, context=context[::-1])[0], output)


def test_float32_stays_float32():
    output, weights = multi_head_attention(
        random_tokens(N).astype(np.float32), *(W.astype(np.float32) for W in random_heads())
    )
    assert output.dtype == weights.dtype == np.float32


@pytest.mark.parametrize("n_key_heads", [2, 4])
def test_the_gradient_agrees_with_central_differences(n_key_heads):
    X, context, matrices = random_tokens(2, N), random_tokens(2, M, seed=2), random_heads(4, n_key_heads)

    def asked(X, context, *matrices):
        return multi_head_attention(X, *matrices, causal_mask(N, M), context=context)

    assert_gradients(asked, X, context, *matrices)
    assert_gradients(multi_head_attention, X, *matrices)


def test_biases_are_added_to_each_head_and_to_the_sum():
    X, (W_Q, _, _, W_O) = random_tokens(2, N), random_heads(d_v=D_K)
    b_Q, b_O = np.random.default_rng(4).normal(size=(4, D_K)), np.random.default_rng(5).normal(size=D_MODEL)
    Q = project_into_heads(X, W_Q, b_Q)
    assert_allclose(Q[:, 2], X @ W_Q[2] + b_Q[2])
    assert_allclose(project_out_of_heads(Q, W_O, b_O), sum(Q[:, h] @ W_O[h] for h in range(4)) + b_O)
    assert_gradients(lambda *a: project_out_of_heads(project_into_heads(*a[:3]), *a[3:]), X, W_Q, b_Q, W_O, b_O)


def test_types_and_empty_axes_are_kept():
    small = [np.full(W.shape, 100, np.int8) for W in random_heads()]
    X = np.full((N, D_MODEL), 100, np.int8)
    expected, _ = multi_head_attention(X.astype(float), *(W.astype(float) for W in small))
    assert_allclose(multi_head_attention(X, *small)[0], expected)
    for shape, d_v in [((0, N), D_V), ((2, 0), D_V), ((2, N), 0)]:
        X, matrices = random_tokens(*shape), random_heads(d_v=d_v)
        with Tape() as tape:
            output, weights = multi_head_attention(X, *matrices)
        assert output.shape == (*shape, D_MODEL) and weights.shape == (shape[0], 4, shape[1], shape[1])
        assert not output.any()
        found = tape.gradients(dict(enumerate([X, *matrices])), (output, np.ones_like(output))).values()
        assert [grad.shape for grad in found] == [array.shape for array in (X, *matrices)]
        assert not any(grad.any() for grad in found)
