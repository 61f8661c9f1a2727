"""Softmax, masks, attention and its gradient: against their formulas, differences and properties."""

import tracemalloc

import numpy as np
import pytest
from differences import assert_gradients
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from attn import Tape, blockwise_attention, causal_mask, online_softmax, scaled_dot_product_attention, softmax
from attn.attention import weighted_sum
from attn.rows import softmax_in_place

N_QUERIES, N_KEYS, D_K, D_V = 3, 5, 7, 11  # distinct primes: no transposition can hide
seeds = st.integers(0, 2**32 - 1)


def random_inputs(seed=0, leading_Q=(), leading_K=(), leading_V=(), dtype=np.float64):
    rng = np.random.default_rng(seed)
    Q = rng.normal(size=(*leading_Q, N_QUERIES, D_K)).astype(dtype)
    K = rng.normal(size=(*leading_K, N_KEYS, D_K)).astype(dtype)
    V = rng.normal(size=(*leading_V, N_KEYS, D_V)).astype(dtype)
    return Q, K, V


def gradients(grad_output, Q, K, V, mask=None, **options):
    """Return the output's gradients of Q, K and V, as the tape finds them."""
    with Tape() as tape:
        output, _ = scaled_dot_product_attention(Q, K, V, mask, **options)
    return list(tape.gradients({"Q": Q, "K": K, "V": V}, (output, grad_output)).values())


def peak(call):
    """Return what a call returns, and the most memory that it held: bytes."""
    tracemalloc.start()
    found = call()
    highest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found, highest


def random_mask(seed):
    """A boolean mask in which the first query may attend to nothing."""
    mask = np.random.default_rng(seed).random((N_QUERIES, N_KEYS)) < 0.6
    mask[0] = False
    return mask


# --- softmax -------------------------------------------------------------------------------------


def test_softmax_is_its_definition_along_any_axis_and_its_gradient_the_slope_of_it():
    scores = np.random.default_rng(0).normal(size=(2, 3, 5))
    for axis in range(3):
        assert_allclose(softmax(scores, axis=axis), np.exp(scores) / np.exp(scores).sum(axis=axis, keepdims=True))
        assert_gradients(lambda scores, axis=axis: softmax(scores, axis=axis), scores)


def test_softmax_never_overflows_and_a_line_of_minus_infinity_is_zero():
    with np.errstate(all="raise", under="ignore"):
        assert_array_equal(softmax([1e308, -1e308, 1e308]), [0.5, 0, 0.5])
        assert_array_equal(softmax(np.array([3e38, -3e38], np.float32)), [1, 0])
    assert_array_equal(softmax([[-np.inf, -np.inf], [-np.inf, 2.0]]), [[0, 0], [0, 1]])
    assert softmax(np.zeros((2, 0))).shape == (2, 0)


@pytest.mark.parametrize("n_keys", [0, 1, 5, 97])
def test_softmax_in_place_is_softmax(n_keys):
    scores = np.random.default_rng(0).normal(size=(2, 3, n_keys))
    scores[0, 1, 1:] = scores[1, 2] = -np.inf
    scores[1, 0, :1] = np.nan
    assert_allclose(softmax_in_place(scores.copy()), softmax(scores), rtol=1e-14)


# --- masks ---------------------------------------------------------------------------------------


def test_the_causal_mask_hides_what_comes_later_and_is_aligned_at_the_lower_right():
    assert_array_equal(causal_mask(3), [[1, 0, 0], [1, 1, 0], [1, 1, 1]])
    assert_array_equal(causal_mask(2, 5), [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]])
    assert_array_equal(causal_mask(3, 2), [[0, 0], [1, 0], [1, 1]])
    assert causal_mask(2, 5).dtype == bool


@given(seeds, st.sampled_from([0.0, 1e30, np.inf, -np.inf, np.nan]), st.booleans())
def test_a_masked_key_has_no_influence_even_when_it_holds_nan(seed, poison, as_float):
    Q, K, V = random_inputs(seed)
    allowed = random_mask(seed)
    allowed[1:, 0] = True  # at least one key for the other queries
    allowed[:, 2] = False
    mask = np.where(allowed, 0.0, -np.inf) if as_float else allowed
    keep = np.arange(N_KEYS) != 2
    expected, expected_weights = scaled_dot_product_attention(Q, K[keep], V[keep], allowed[:, keep])
    K[2], V[2] = poison, poison
    output, weights = scaled_dot_product_attention(Q, K, V, mask)
    assert_array_equal(weights[:, 2], 0)
    assert_allclose(weights[:, keep], expected_weights)
    assert_allclose(output, expected)

    grad_output = np.random.default_rng(seed).normal(size=output.shape)
    grads = gradients(grad_output, Q, K, V, mask)
    expected_grads = gradients(grad_output, Q, K[keep], V[keep], allowed[:, keep])
    assert_allclose(grads[0], expected_grads[0])
    for grad, expected_grad in zip(grads[1:], expected_grads[1:]):
        assert_array_equal(grad[2], 0)
        assert_allclose(grad[keep], expected_grad)


def test_a_query_that_may_attend_to_nothing_gets_zeros():
    Q, K, V = random_inputs()
    Q[0] = np.nan
    output, weights = scaled_dot_product_attention(Q, K, V, random_mask(0))
    assert_array_equal(weights[0], 0)
    assert_array_equal(output[0], 0)
    grad_Q, grad_K, _ = gradients(np.ones_like(output), Q, K, V, random_mask(0))
    assert_array_equal(grad_Q[0], 0)
    assert np.isfinite(grad_K).all()
    Q[0], asked = 1, np.ones_like(output)
    expected = gradients(asked, Q, K, V, random_mask(0))
    asked[0] = np.nan  # nor does it let a gradient through
    for grad, wanted in zip(gradients(asked, Q, K, V, random_mask(0)), expected):
        assert_allclose(grad, wanted)


# --- attention -----------------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    seed=seeds,
    leading=st.sampled_from([((), (), ()), ((2,), (), ()), ((), (2, 1), (1,)), ((2, 1), (1, 3), (3,))]),
    kind=st.sampled_from(["none", "boolean", "causal", "float"]),
    scale=st.sampled_from([None, 0.37]),
)
def test_attention_is_its_formula_and_its_gradient_the_slope_of_it(seed, leading, kind, scale):
    Q, K, V = random_inputs(seed, *leading)
    mask = {"none": None, "boolean": random_mask(seed), "causal": causal_mask(N_QUERIES, N_KEYS)}.get(kind)
    if kind == "float":  # one row for all queries, which is learned
        mask = np.random.default_rng(seed).normal(size=(1, N_KEYS))
        mask[0, 2] = -np.inf
    output, weights = scaled_dot_product_attention(Q, K, V, mask, scale=scale)
    added = mask if kind == "float" else np.where(True if mask is None else mask, 0, -np.inf)
    powers = np.exp(Q @ K.mT * (D_K**-0.5 if scale is None else scale) + added)
    exact = powers / np.maximum(powers.sum(axis=-1, keepdims=True), 1e-300)  # zero where all is hidden
    assert_allclose(weights, np.broadcast_to(exact, weights.shape))
    assert_allclose(output, exact @ V, atol=1e-14)
    assert_gradients(lambda Q, K, V, mask: scaled_dot_product_attention(Q, K, V, mask, scale=scale), Q, K, V, mask)


def test_types_are_kept():
    for dtype in (np.float32, np.float64):
        Q, K, V = random_inputs(dtype=dtype)
        for mask in (None, random_mask(0), np.zeros((N_QUERIES, N_KEYS))):
            for scale in (None, np.float64(0.3)):
                output, weights = scaled_dot_product_attention(Q, K, V, mask, scale=scale)
                grads = gradients(output, Q, K, V, mask, scale=scale)
                assert {output.dtype, weights.dtype, *(grad.dtype for grad in grads)} == {np.dtype(dtype)}
        assert softmax(Q).dtype == dtype
    assert scaled_dot_product_attention([[1]], [[2]], [[3]])[0].dtype == np.float64
    assert softmax([1, 2]).dtype == np.float64


def test_a_hidden_value_that_is_nan_costs_no_table_of_all_products():
    n = 400
    Q, K, V = (np.random.default_rng(0).normal(size=(n, 16)) for _ in range(3))
    V[-1] = np.nan
    (output, _), highest = peak(lambda: scaled_dot_product_attention(Q, K, V, causal_mask(n)))
    assert np.isfinite(output[:-1]).all() and np.isnan(output[-1]).all()
    assert highest < 8 * n * n * 8


@given(seeds)
def test_what_is_not_finite_is_mixed_in_where_its_weight_is_not_zero(seed):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(2, 3, 5)) * (rng.random((2, 3, 5)) < 0.6)
    rows = np.where(rng.random((2, 5, 7)) < 0.3, rng.choice([np.nan, np.inf, -np.inf, 1e200], size=(2, 5, 7)), 1.5)
    with np.errstate(invalid="ignore"):
        terms = weights[..., None] * rows[:, None]
        exact = np.sum(np.where(weights[..., None] == 0, 0, terms), axis=-2)
    assert_allclose(weighted_sum(weights, rows), exact, atol=1e-12)


# --- numbers that are hard to hold ---------------------------------------------------------------


def test_float16_is_kept_but_not_computed_in():
    Q, K = np.zeros((1, 2), np.float16), np.zeros((70_000, 2), np.float16)
    V = np.ones((70_000, 1), np.float16)
    output, weights = scaled_dot_product_attention(Q, K, V)
    assert output.dtype == weights.dtype == np.float16
    assert_allclose(output, [[1]], rtol=1e-3)
    blocks = blockwise_attention(Q, K[:3000], 30 * V[:3000])
    assert blocks.dtype == np.float16
    assert_allclose(blocks, [[30]], rtol=1e-3)
    half = (np.arange(5000) % 2).astype(np.float16)[:, None]
    assert_allclose(blockwise_attention(Q, K[:5000], half, block_size=1), [[0.5]], rtol=1e-3)
    large = np.full((1, 1024), 40, np.float16)  # the dot product is beyond float16
    assert_allclose(scaled_dot_product_attention(large, np.tile(large, (2, 1)), V[:2])[1], [[0.5, 0.5]])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1.0, 20.0, 39.0, 41.0, 100.0, 700.0, 1e4])
def test_scores_of_any_size_give_the_same_weights_with_and_without_a_maximum(kind, size):
    scores = (size * np.random.default_rng(0).uniform(-1, 1, size=(3, 5))).astype(kind)
    mask = np.array([[True, False, True, True, False], [False] * 5, [True] * 5])
    exact = np.where(mask, scores, -np.inf).astype(np.longdouble)
    powers = np.exp(exact - np.maximum(exact.max(axis=1, keepdims=True), -1e6))
    expected = powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-300)
    K = np.eye(5, dtype=kind)
    rounding = np.finfo(kind).eps * (1 + size)
    for given_mask in (mask, np.where(mask, 0.0, -np.inf), np.where(mask, 300.0, -np.inf)):
        _, weights = scaled_dot_product_attention(scores, K, K, given_mask, scale=1)
        assert_allclose(weights, expected.astype(kind), rtol=10 * rounding, atol=300 * np.finfo(kind).eps)
    assert_allclose(softmax(np.where(mask, scores, -np.inf)), expected.astype(kind), rtol=10 * rounding, atol=1e-38)


def test_a_row_far_below_the_others_is_not_lost():
    scores = np.array([[0.0, 1.0], [-1000.0, -1001.0]], np.float32)
    assert_allclose(softmax(scores)[1], softmax(scores[1] + 1000), rtol=1e-6)
    assert_allclose(
        scaled_dot_product_attention(scores, np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), scale=1)[1],
        softmax(scores),
    )
    for bound in (np.inf, 1001.0):
        mixed = online_softmax([(scores.copy(), np.eye(2, dtype=np.float32))], bound)
        assert_allclose(mixed, softmax(scores), rtol=1e-6)


def test_many_large_scores_do_not_add_up_to_infinity():
    for size in (30, 39, 41, 79, 88):
        scores = np.full((1, 20_000), size, np.float32)
        assert_allclose(softmax(scores), np.full((1, 20_000), 5e-5), rtol=1e-4)
        V = np.full((20_000, 1), 1e4, np.float32)
        assert_allclose(online_softmax([(scores.copy(), V)], float(size)), [[1e4]], rtol=1e-4)


# --- a block at a time ---------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-6), (np.float64, 1e-12)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("n_queries", "n_keys"), [(23, 23), (7, 23), (23, 7), (1, 23), (5, 0)])
@pytest.mark.parametrize("block_size", [1, 2, 5, 23, 100, None])
def test_blocks_of_any_size_give_the_same_output(dtype, tolerance, causal, n_queries, n_keys, block_size):
    rng = np.random.default_rng(0)
    Q, K, V = (rng.normal(size=(*size, 7)).astype(dtype) for size in [(2, 1, n_queries), (3, n_keys), (3, n_keys)])
    V = V[..., :5]
    expected, _ = scaled_dot_product_attention(Q, K, V, causal_mask(n_queries, n_keys) if causal else None, scale=0.7)
    output = blockwise_attention(Q, K, V, causal=causal, scale=0.7, block_size=block_size)
    assert output.dtype == dtype
    assert_allclose(output, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_of_scores_of_any_size_give_the_same_output(dtype):
    for size, scale in [(1, 1000.0), (1, -1000.0), (30, None), (1000, None), (1000, 1e-9)]:
        Q, K, V = random_inputs(dtype=dtype)
        expected, _ = scaled_dot_product_attention(size * Q, K, V, scale=scale)
        for block_size in (2, None):
            output = blockwise_attention(size * Q, K, V, scale=scale, block_size=block_size)
            assert_allclose(output, expected, rtol=1e-3 if dtype == np.float32 else 1e-9, atol=1e-6)


def test_blocks_hide_what_a_masked_key_holds():
    Q, K, V = random_inputs()
    K[-1], V[-1] = np.nan, np.inf
    output = blockwise_attention(Q, K, V, causal=True, block_size=2)
    expected, _ = scaled_dot_product_attention(Q, K, V, causal_mask(N_QUERIES, N_KEYS))
    assert np.isfinite(output[:-1]).all()
    assert_allclose(output, expected)


def test_the_memory_of_blocks_grows_with_the_text_and_not_with_its_square():
    def bytes_held(n, attend, **options):
        Q = np.random.default_rng(0).normal(size=(n, 16)).astype(np.float32)
        return peak(lambda: attend(Q, Q, Q, **options))[1]

    blocks, doubled = (bytes_held(n, blockwise_attention, causal=True, block_size=64) for n in (1024, 2048))
    assert doubled < 2.5 * blocks
    assert doubled < bytes_held(2048, scaled_dot_product_attention) / 10


@pytest.mark.parametrize("kind", [np.float16, np.int64])
def test_scores_of_other_types_are_mixed_online_in_floats_that_can_hold_the_sum(kind):
    blocks = [(np.zeros((1, 1), kind), np.array([[60 * (i % 2)]], np.float16)) for i in range(5000)]
    assert_allclose(online_softmax(blocks), [[30]], rtol=1e-5)
