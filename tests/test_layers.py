"""The layers against PyTorch, and their gradients against autograd and central differences, in float64."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from attn.layers import (
    embedding,
    embedding_backward,
    feed_forward,
    feed_forward_backward,
    layer_norm,
    layer_norm_backward,
    linear,
    linear_backward,
    relative_bias,
    relative_bias_backward,
    rotary,
    rotary_backward,
    sinusoid,
)

SHAPES = {
    "linear": (linear, linear_backward, [(2, 5, 7), (7, 3), (3,)], 1),
    "layer norm": (layer_norm, layer_norm_backward, [(2, 5, 7), (7,), (7,)], 1),
    "feed-forward": (feed_forward, feed_forward_backward, [(2, 5, 7), (7, 11), (11,), (11, 3), (3,)], 1),
    "rotary": (rotary, rotary_backward, [(2, 3, 5, 6)], 1),
}


def arrays(shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


def slopes(function, inputs, i, grad_output, step=1e-6):
    """Central differences of sum(grad_output * function) with respect to input i."""
    found = np.empty_like(inputs[i])
    for place in np.ndindex(found.shape):
        ends = []
        for sign in (1, -1):
            moved = [array.copy() for array in inputs]
            moved[i][place] += sign * step
            ends.append(np.sum(grad_output * function(*moved)))
        found[place] = (ends[0] - ends[1]) / (2 * step)
    return found


@pytest.mark.parametrize("name", SHAPES)
def test_a_gradient_is_the_slope_of_its_function(name):
    function, backward, shapes, _ = SHAPES[name]
    inputs = arrays(shapes)
    grad_output = np.random.default_rng(1).normal(size=function(*inputs).shape)
    needed = inputs if name == "rotary" else inputs[:-1]  # no gradient depends on the last bias
    grads = backward(grad_output) if name == "rotary" else backward(grad_output, *needed)
    grads = grads if isinstance(grads, tuple) else (grads,)
    assert len(grads) == len(inputs)
    for i, grad in enumerate(grads):
        assert_allclose(grad, slopes(function, inputs, i, grad_output), atol=1e-7)


def test_layers_agree_with_pytorch(torch):
    X, W, b = arrays([(2, 5, 7), (7, 3), (3,)])
    as_torch = [torch.tensor(array) for array in (X, W, b)]
    assert_allclose(linear(X, W, b), torch.nn.functional.linear(as_torch[0], as_torch[1].T, as_torch[2]), atol=1e-12)
    X, gain, bias = arrays([(2, 5, 7), (7,), (7,)])
    expected = torch.nn.functional.layer_norm(torch.tensor(X), (7,), torch.tensor(gain), torch.tensor(bias))
    assert_allclose(layer_norm(X, gain, bias), expected, atol=1e-12)


def test_an_embedding_collects_the_gradients_of_its_tokens():
    tokens, table = np.array([[3, 0, 3], [1, 3, 0]]), np.random.default_rng(2).normal(size=(5, 7))
    assert_allclose(embedding(tokens, table)[1, 0], table[1])
    grad = np.random.default_rng(3).normal(size=(2, 3, 7))
    found = embedding_backward(grad, tokens, 5)
    assert_allclose(found[3], grad[0, 0] + grad[0, 2] + grad[1, 1])
    assert_allclose(found[[2, 4]], 0)


def test_relative_positions_depend_on_the_distance_alone():
    table = np.random.default_rng(4).normal(size=(2, 7))
    bias = relative_bias(table, 11, 13)
    assert bias.shape == (2, 11, 13)
    assert_allclose(bias[:, 5, 7], table[:, 3 + 2])
    assert_allclose(bias[:, 1:, 1:], bias[:, :-1, :-1])
    assert_allclose(bias[:, 0, 3:], np.repeat(table[:, 6:], 10, axis=1))  # beyond the reach all count alike
    grad = np.random.default_rng(5).normal(size=(3, 2, 11, 13))
    found = relative_bias_backward(grad, 7)
    assert_allclose(
        found, slopes(lambda t: relative_bias(t, 11, 13) + np.zeros((3, 1, 1, 1)), [table], 0, grad), atol=1e-7
    )


def test_rotary_scores_depend_on_the_distance_alone():
    q, k = arrays([(6,), (6,)])
    Q, K = rotary(np.tile(q, (9, 1))), rotary(np.tile(k, (9, 1)))
    scores = Q @ K.T
    assert_allclose(scores[1:, 1:], scores[:-1, :-1], atol=1e-12)
    assert_allclose(np.linalg.norm(Q, axis=1), np.linalg.norm(q))
    assert_allclose(Q[0], q)
    assert np.ptp(scores) > 0.1
    assert rotary(np.ones((3, 4), np.float32)).dtype == np.float32


def test_sinusoids_are_those_of_the_paper():
    positions = sinusoid(11, 6)
    for place in (0, 1, 10):
        for pair in range(3):
            angle = place / 10_000 ** (2 * pair / 6)
            assert_allclose(positions[place, 2 * pair : 2 * pair + 2], [np.sin(angle), np.cos(angle)], atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: linear(np.ones((2, 3)), np.ones((5, 7)), np.ones(7)), r"\(2, 3\), \(5, 7\), \(7,\)"),
        (lambda: linear(np.ones((2, 5)), np.ones((5, 7)), np.ones(5)), r"\(5, 7\), \(5,\)"),
        (lambda: embedding([0, 5], np.ones((5, 2))), r"from 0 to 4, but reach from 0 to 5"),
        (lambda: embedding([-1, 3], np.ones((5, 2))), r"from 0 to 4, but reach from -1 to 3"),
        (lambda: sinusoid(3, 5), r"even, but is 5"),
        (lambda: rotary(np.ones((3, 7))), r"even, but is 7"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_sizes(call, message):
    with pytest.raises(ValueError, match=message):
        call()
