"""The layers against PyTorch, and their gradients against autograd and central differences, in float64."""

import math

import numpy as np
import pytest
from differences import assert_gradients
from numpy.testing import assert_allclose, assert_array_equal

from attn import Tape, layers, softmax
from attn.layers import (
    embedding,
    feed_forward,
    gated,
    gated_feed_forward,
    gelu,
    gelu_tanh,
    layer_norm,
    linear,
    relu,
    rms_norm,
    unembedding,
)


def arrays(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


LAYERS = {
    "linear": (linear, [(2, 5, 7), (7, 3), (3,)]),
    "linear without bias": (linear, [(2, 5, 7), (7, 3)]),
    "layer norm": (layer_norm, [(2, 5, 7), (7,), (7,)]),
    "rms norm": (rms_norm, [(2, 5, 7), (7,)]),
    "gated": (gated, [(2, 5, 7), (2, 5, 7)]),
    "gated feed-forward": (gated_feed_forward, [(2, 5, 7), (7, 11), (11, 3), (7, 11)]),
    "feed-forward, relu": (feed_forward, [(2, 5, 7), (7, 11), (11,), (11, 3), (3,)]),
    "feed-forward, gelu": (lambda *a: feed_forward(*a, activation="gelu"), [(2, 5, 7), (7, 11), (11,), (11, 3), (3,)]),
    "feed-forward, gelu_tanh": (
        lambda *a: feed_forward(*a, activation="gelu_tanh"),
        [(2, 5, 7), (7, 11), (11,), (11, 3), (3,)],
    ),
    "embedding": (lambda table: embedding([[3, 0, 3], [1, 3, 0]], table), [(5, 7)]),
    "unembedding": (unembedding, [(2, 5, 7), (11, 7)]),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_gradient_is_the_slope_of_its_layer(name):
    layer, shapes = LAYERS[name]
    assert_gradients(layer, *arrays(*shapes), atol=3e-6 if "gelu" in name else 1e-7)


def test_layers_agree_with_pytorch(torch):
    functional = torch.nn.functional
    X, W, b, gain, bias = arrays((2, 5, 7), (7, 3), (3,), (7,), (7,))
    x, w, c, g, h = map(torch.tensor, (X, W, b, gain, bias))
    assert_allclose(linear(X, W, b), functional.linear(x, w.T, c), atol=1e-12)
    assert_allclose(layer_norm(X, gain, bias), functional.layer_norm(x, (7,), g, h), atol=1e-12)
    assert_allclose(layer_norm(X, gain, bias, epsilon=1e-2), functional.layer_norm(x, (7,), g, h, eps=1e-2), atol=1e-12)


def test_the_layers_of_llama_agree_with_pytorch(torch):
    functional = torch.nn.functional
    X, gain, W_1, W_2, W_3 = arrays((2, 5, 7), (7,), (7, 11), (11, 7), (7, 11))
    x, g, w_1, w_2, w_3 = map(torch.tensor, (X, gain, W_1, W_2, W_3))
    assert_allclose(rms_norm(X, gain, epsilon=1e-2), functional.rms_norm(x, (7,), g, eps=1e-2), atol=1e-12)
    expected = functional.silu(x @ w_1) * (x @ w_3) @ w_2
    assert_allclose(gated_feed_forward(X, W_1, W_2, W_3), expected, atol=1e-12)
    far = np.array([[-800.0, 800.0]])
    assert_array_equal(gated(np.ones((1, 2)), far), [[0, 800]])


def test_gelu_is_that_of_pytorch_within_its_stated_error(torch):
    X = np.linspace(-9, 9, 1001)[:, None]
    eye, zero = np.eye(1), np.zeros(1)
    with Tape() as tape:
        bent = feed_forward(X, eye, zero, eye, zero, activation="gelu")
    slope = tape.gradients({"X": X}, (bent, np.ones_like(bent)))["X"]
    x = torch.tensor(X, requires_grad=True)
    expected = torch.nn.functional.gelu(x)
    expected.sum().backward()
    assert_allclose(bent / np.maximum(np.abs(X), 1), expected.detach().numpy() / np.maximum(np.abs(X), 1), atol=1.6e-7)
    assert_allclose(slope, x.grad.numpy(), atol=1e-6)


def test_gelu_is_its_definition_within_its_stated_error():
    X, eye, zero = np.linspace(-9, 9, 1001)[:, None], np.eye(1), np.zeros(1)
    below = np.array([[(1 + math.erf(x / 2**0.5)) / 2] for x in X[:, 0]])
    bent = feed_forward(X, eye, zero, eye, zero, activation="gelu")
    assert (np.abs(bent - X * below) <= 0.76e-7 * np.abs(X)).all()  # the error function at most 1.5e-7, halved


def test_the_gelu_of_gpt_2_is_its_formula_and_near_the_other():
    X = np.linspace(-9, 9, 1001)
    formula = 0.5 * X * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3)))
    assert_allclose(gelu_tanh(X), formula, atol=1e-15)
    assert 4e-4 < np.abs(gelu_tanh(X) - gelu(X)).max() < 5e-4


def test_layer_norm_adds_a_hundred_thousandth_to_the_variance():
    X, gain, bias = np.array([[0.001, -0.001]]), np.array([2.0, 3.0]), np.array([5.0, 7.0])
    assert_allclose(layer_norm(X, gain, bias), gain * X / np.sqrt(1e-6 + 1e-5) + bias)
    assert_allclose(layer_norm(X, gain, bias, epsilon=1e-6), gain * X / np.sqrt(2e-6) + bias)


def test_relu_cuts_off_what_is_negative():
    X, eye, zero = np.array([[-2.0, 0.0, 3.0]]), np.eye(3), np.zeros(3)
    assert_array_equal(feed_forward(X, eye, zero, eye, zero), [[0, 0, 3]])


def test_biases_may_be_missing():
    X, W_1, W_2 = arrays((2, 5, 7), (7, 11), (11, 3))
    zeros = np.zeros(11), np.zeros(3)
    assert_allclose(feed_forward(X, W_1, None, W_2, None), feed_forward(X, W_1, zeros[0], W_2, zeros[1]))
    assert_allclose(linear(X, W_1), linear(X, W_1, zeros[0]))


def test_layers_take_no_tokens_at_all():
    W, b, gain = np.ones((7, 3)), np.ones(3), np.ones(7)
    all_layers = [(linear, [W, b]), (layer_norm, [gain, gain.copy()]), (feed_forward, [W, b, W.T.copy(), gain])]
    for layer, params in [*all_layers, (unembedding, [W.T.copy()])]:
        for shape in [(0, 7), (0, 5, 7), (2, 0, 7)]:
            X = np.ones(shape)
            with Tape() as tape:
                Y = layer(X, *params)
            assert Y.shape == (*shape[:-1], 3 if layer in (linear, unembedding) else 7)
            grads = tape.gradients(dict(enumerate([X, *params])), (Y, Y)).values()
            assert [grad.shape for grad in grads] == [shape, *(array.shape for array in params)]
            assert not any(grad.any() for grad in grads)


def test_whole_numbers_and_swapped_bytes_count_as_floats():
    (X,) = arrays((3, 4))
    for layer in (softmax, relu):
        assert_array_equal(layer(X.astype(">f8")), layer(X))
        assert layer(X.astype(">f8")).dtype.isnative
    with pytest.raises(TypeError, match="W must hold real numbers, but its type is complex128"):
        linear(X, np.ones((4, 2)) + 0j)


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_takes_small_integers_as_floats_and_nothing_complex(name):
    layer, shapes = LAYERS[name]
    small = [np.rint(30 * array).astype(np.int8) for array in arrays(*shapes)]
    output = layer(*small)
    assert output.dtype == np.float64
    assert_array_equal(output, layer(*(array.astype(float) for array in small)))
    with pytest.raises(TypeError, match="must hold real numbers, but its type is complex128"):
        layer(*(array + 0j for array in small))


def test_an_embedding_looks_up_rows():
    table = np.random.default_rng(2).normal(size=(5, 7))
    assert_array_equal(embedding([[3, 0, 3], [1, 3, 0]], table)[1, 0], table[1])
    assert embedding([], table).shape == (0, 7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: linear(np.ones((2, 3)), np.ones((5, 7)), np.ones(7)), r"X, W and b.*\(2, 3\), \(5, 7\), \(7,\)"),
        (lambda: linear(np.ones((2, 5)), np.ones((5, 7)), np.ones(5)), r"\(5, 7\), \(5,\)"),
        (lambda: layer_norm(np.ones((2, 5)), np.ones(7), np.ones(7)), r"\(2, 5\), \(7,\), \(7,\)"),
        (lambda: feed_forward(np.ones((2, 3)), np.ones((3, 5)), None, np.ones((7, 3)), None), r"\(2, 5\), \(7, 3\)"),
        (lambda: feed_forward(*[np.eye(2), np.eye(2), None, np.eye(2), None], activation="swish"), r"is 'swish'"),
        (lambda: embedding([0, 5], np.ones((5, 2))), r"from 0 to 4, but reach from 0 to 5"),
        (lambda: embedding([-1, 3], np.ones((5, 2))), r"from 0 to 4, but reach from -1 to 3"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_sizes(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_tokens_that_are_no_integers_are_refused():
    with pytest.raises(TypeError, match="float64"):
        embedding([0.5], np.ones((5, 2)))


@pytest.mark.parametrize("rows", [[[1e200, -1e200]], [[np.nan, 0], [1e200, 0]], [[1e308, 1e308]]])
def test_entries_whose_squares_cannot_be_held_are_refused(rows):
    with pytest.raises(FloatingPointError, match=r"overflow: the squares of entries of up to .* cannot be held"):
        layer_norm(np.array(rows), np.ones(2), np.zeros(2))
    with pytest.raises(FloatingPointError, match=r"up to 1e\+(200|308) cannot be held"):
        rms_norm(np.array(rows), np.ones(2))


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


def test_an_epsilon_of_numpy_leaves_float32_as_it_is():
    X, gain = np.ones((2, 3), np.float32), np.ones(3, np.float32)
    assert layer_norm(X, gain, gain, epsilon=np.float64(1e-5)).dtype == np.float32
    assert rms_norm(X, gain, epsilon=np.float64(1e-5)).dtype == np.float32
