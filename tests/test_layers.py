"""The layers against PyTorch or their formula, and their gradients against central differences, in float64."""

import math
from functools import partial

import numpy as np
import pytest
from differences import assert_gradients
from numpy.testing import assert_allclose, assert_array_equal

from attn import layers, softmax
from attn.layers import embedding, feed_forward, gated_feed_forward, layer_norm, linear, rms_norm, unembedding
from attn.positions import masked, relative_bias, rotary
from attn.rows import column_sums, row_sums


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble"])
@pytest.mark.parametrize("shape", [(2, 3, 5), (0, 5), (3, 0), (2, 2**14 + 1), (2**14 + 1, 2)])
def test_sums_by_products_are_sums(shape, dtype):
    exact = np.random.default_rng(0).integers(2, size=shape)
    X, others = exact.astype(dtype), tuple(range(len(shape) - 1))
    for found, sums in [(row_sums(X), exact.sum(axis=-1, keepdims=True)), (column_sums(X), exact.sum(axis=others))]:
        assert found.dtype == dtype
        assert_allclose(found, sums, rtol=1e-3 if dtype == "float16" else 0)


def arrays(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


MASK = np.random.default_rng(1).random((3, 1, 5, 7)) < 0.6  # one of its own for each of three texts
LAYERS = {
    "linear": (linear, [(2, 5, 7), (7, 3), (3,)]),
    "linear without bias": (linear, [(2, 5, 7), (7, 3)]),
    "layer norm": (layer_norm, [(2, 5, 7), (7,), (7,)]),
    "rms norm": (rms_norm, [(2, 5, 7), (7,)]),
    "gated": (layers.gated, [(2, 5, 7), (2, 5, 7)]),
    "gated feed-forward": (gated_feed_forward, [(2, 5, 7), (7, 11), (11, 3), (7, 11)]),
    "feed-forward": (feed_forward, [(2, 5, 7), (7, 11), (11,), (11, 3), (3,)]),
    "gelu": (layers.gelu, [(2, 5, 7)]),
    "gelu_tanh": (layers.gelu_tanh, [(2, 5, 7)]),
    "softmax": (softmax, [(2, 5, 7)]),
    "rotary": (rotary, [(2, 3, 5, 6)]),
    "rotary from 4 on": (partial(rotary, start=4), [(3, 5, 6)]),
    "relative bias": (lambda table: relative_bias(table, 5, 7), [(2, 5)]),
    "relative bias, masked": (lambda table: softmax(masked(relative_bias(table, 5, 7), MASK)), [(2, 5)]),
    "embedding": (lambda table: embedding([[3, 0, 3], [1, 3, 0]], table), [(5, 7)]),
    "unembedding": (unembedding, [(2, 5, 7), (11, 7)]),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_gradient_is_the_slope_of_its_layer(name):
    layer, shapes = LAYERS[name]
    assert_gradients(layer, *arrays(*shapes), atol=3e-6 if "gelu" in name else 1e-7)


def test_a_layer_norm_has_the_epsilon_of_pytorch(torch):
    X, gain, bias = given = arrays((2, 5, 7), (7,), (7,))
    x, g, b = map(torch.tensor, given)
    assert_allclose(layer_norm(X, gain, bias), torch.nn.functional.layer_norm(x, (7,), g, b), atol=1e-12)


def test_a_gate_far_out_overflows_nowhere():
    assert_array_equal(layers.gated(np.ones((1, 2)), np.array([[-800.0, 800.0]])), [[0, 800]])


def bent(X, activation):
    """Return what an MLP of a single hidden number makes of each number."""
    one = np.ones((1, 1))
    return feed_forward(X[:, None], one, None, one, None, activation=activation)[:, 0]


def test_gelu_is_its_definition_within_its_stated_error_and_that_of_gpt_2_its_formula_and_near_it():
    X = np.linspace(-9, 9, 1001)
    below = np.array([(1 + math.erf(x / 2**0.5)) / 2 for x in X])
    assert (np.abs(bent(X, "gelu") - X * below) <= 0.76e-7 * np.abs(X)).all()  # erf at most 1.5e-7 off, halved
    formula = 0.5 * X * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3)))
    assert_allclose(bent(X, "gelu_tanh"), formula, atol=1e-15)
    assert 4e-4 < np.abs(formula - bent(X, "gelu")).max() < 5e-4


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_takes_small_integers_and_swapped_bytes_as_floats_and_nothing_complex(name):
    layer, shapes = LAYERS[name]
    given = arrays(*shapes)
    small = [np.rint(30 * array).astype(np.int8) for array in given]
    swapped = [array.astype(">f8") for array in given]
    for taken, floats in [(small, [array.astype(float) for array in small]), (swapped, given)]:
        output = layer(*taken)
        assert output.dtype == np.float64 and output.dtype.isnative
        assert_array_equal(output, layer(*floats))
    with pytest.raises(TypeError, match="must hold real numbers, but its type is complex128"):
        layer(*(array + 0j for array in given))


def test_a_product_that_tells_of_an_overflow_that_never_was_stops_no_norm(monkeypatch):
    def row_means(X):
        np.float32(3e38) * np.float32(10)  # as the products of some processors do
        return X.mean(axis=-1, keepdims=True)

    (X,) = arrays((3, 7))
    expected = layer_norm(X, np.ones(7), np.zeros(7)), rms_norm(X, np.ones(7))
    monkeypatch.setattr(layers, "row_means", row_means)
    assert_allclose(layer_norm(X, np.ones(7), np.zeros(7)), expected[0])
    assert_allclose(rms_norm(X, np.ones(7)), expected[1])


def test_a_norm_of_float16_holds_the_squares_of_all_its_numbers():
    X, gain = np.array([[300, -300, 60_000, 0]], np.float16), np.ones(4, np.float16)
    for found, exact in [
        (layer_norm(X, gain, 0 * gain), layer_norm(X.astype(float), gain, 0 * gain)),
        (rms_norm(X, gain), rms_norm(X.astype(float), gain)),
    ]:
        assert found.dtype == np.float16
        assert_allclose(found, exact, atol=1e-3)
