"""The tape: gradients of composed layers, and what it refuses."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from test_layers import arrays

from attn import Tape, blockwise_attention, scaled_dot_product_attention, softmax
from attn.layers import linear
from attn.tape import differentiable


def params(seed=0):
    rng = np.random.default_rng(seed)
    return {"first": {"W": rng.normal(size=(3, 5)), "b": rng.normal(size=5)}, "second": rng.normal(size=(5, 3))}


def test_gradients_start_at_several_places_and_are_found_on_the_way():
    X, W = arrays((2, 3), (3, 3))
    with Tape() as tape:
        H = linear(X, W)
        Y = linear(H, W)
    one, two = np.ones_like(Y), np.full_like(H, 2.0)
    found = tape.gradients({"H": H, "W": W}, (Y, one), (H, two))
    assert_allclose(found["H"], one @ W.T + two)
    assert_allclose(found["W"], H.T @ one + X.T @ (one @ W.T + two))


def test_going_back_a_second_time_gives_the_same():
    X, W = arrays((2, 3), (3, 3))
    with Tape() as tape:
        Y = softmax(linear(X, W))
    grad = np.random.default_rng(3).normal(size=Y.shape)
    first = tape.gradients({"W": W}, (Y, grad))["W"]
    assert_array_equal(tape.gradients({"W": W}, (Y, grad))["W"], first)


def test_a_layer_outside_a_tape_is_a_plain_function_and_an_inner_tape_hides_the_outer():
    X, W = np.ones((2, 3)), np.eye(3)
    assert_array_equal(linear(X, W), X)
    with Tape() as outer:
        with Tape() as inner:
            Y = linear(X, W)
        Z = linear(X, 2 * W)
    inner.gradients({"W": W}, (Y, Y))
    with pytest.raises(ValueError, match="not met this array"):
        outer.gradients({"X": X}, (Y, Y))
    assert_allclose(outer.gradients({"X": X}, (Z, Z))["X"], 4 * X)


def test_inputs_may_be_given_by_name_in_any_order():
    X, p = np.ones((2, 3)), params()["first"]
    with Tape() as tape:
        Y = linear(b=p["b"], W=p["W"], X=X)
    assert_array_equal(Y, linear(X, p["W"], p["b"]))
    found = tape.gradients(p, (Y, Y))
    assert_allclose(found["W"], X.T @ Y)
    assert_allclose(found["b"], Y.sum(axis=0))


def test_gradients_that_cannot_be_are_refused_and_the_array_is_named():
    X, p = np.ones((300, 3)), params()
    W, second = p["first"]["W"], p["second"]
    with Tape() as tape:
        Y = linear(X, W)
        Z = linear(Y, second)
        copied = linear(np.array(Y), second)
    for learned, start, message in [
        (p, (Y, Y), "not met the array first / b: it took no part"),
        ({"W": W.copy()}, (Y, Y), "not met the array W"),
        ({"second": second}, (Y, Y), "no gradient came back to the array second: "),
        ({"first": {"W": W}}, (copied, Z), "no gradient came back to the array first / W: what was made of it left"),
        ({"W": W}, (Y, np.ones((5, 300))), r"of shape \(5, 300\) does not fit an array of shape \(300, 5\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            tape.gradients(learned, start)
    with pytest.raises(TypeError, match="gradient must hold real numbers, but its type is bool"):
        tape.gradients({"W": W}, (Y, np.ones(Y.shape, bool)))
    assert tape.gradients({"second": second}, (Z, 0 * Z))["second"].shape == (5, 3)
    assert_array_equal(tape.gradients({"W": W}, (Y, np.ones(Y.shape, np.int8)))["W"], 300)  # whole numbers are floats


# --- what is no layer -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "join", [lambda X, H, c: X + H + c, lambda X, H, c: c + (X + (1 + H)), lambda X, H, c: sum((H, X, c))]
)
def test_sums_are_followed_on_either_side_and_where_they_broadcast(join):
    X, W_1, W_2, c = arrays((2, 4, 3), (3, 3), (3, 5), (4, 1))
    with Tape() as tape:
        Y = linear(join(X, linear(X, W_1), c), W_2)
    grad = np.cos(Y)
    found = tape.gradients({"W_1": W_1, "c": c, "X": X}, (Y, grad))
    back = grad @ W_2.T
    assert_allclose(found["W_1"], np.einsum("bni,bnj->ij", X, back))
    assert_allclose(found["c"], back.sum(axis=(0, 2))[:, None])
    assert_allclose(found["X"], back + back @ W_1.T)


REFUSED = {
    "multiply": [lambda X, H: 2 * H, lambda X, H: X * H, lambda X, H: np.multiply(H, 2)],
    "subtract": [lambda X, H: X - H],
    "matmul": [lambda X, H: H @ np.eye(3), lambda X, H: np.eye(2) @ H],
    "tanh": [lambda X, H: np.tanh(H)],
    "add in place": [lambda X, H: X.__iadd__(H), lambda X, H: H.__iadd__(X), lambda X, H: H.__iadd__(1)],
    "multiply in place": [lambda X, H: np.multiply(X, 2, out=H), lambda X, H: np.multiply(H, 2, out=X)],
    "add.reduce": [lambda X, H: H.sum(axis=0), lambda X, H: H.mean()],
    "maximum.reduce": [lambda X, H: H.max()],
    "concatenate": [lambda X, H: np.concatenate([X, H])],
    "where": [lambda X, H: np.where(X > 0, H, 0)],
    "einsum": [lambda X, H: np.einsum("ni,mi->nm", X, H)],
    "a part": [lambda X, H: H[0], lambda X, H: H[0, 0], lambda X, H: H[:, [1, 0]], lambda X, H: list(H)],
    "a copy or another shape": [
        *(lambda X, H: H.T, lambda X, H: H.copy(), lambda X, H: H.reshape(-1), lambda X, H: H.astype(np.float32)),
        *(lambda X, H: H.swapaxes(0, 1), lambda X, H: H.ravel(), lambda X, H: H.take([0]), lambda X, H: H.dot(X.T)),
        *(lambda X, H: H.view(), lambda X, H: H.repeat(2)),
    ],
    r"an array of shape \(2, 3\) back": [
        *(lambda X, H: linear(np.asarray(H), np.eye(3)), lambda X, H: H + np.asarray(H)),
    ],
}


@pytest.mark.parametrize(("what", "call"), [(what, call) for what, calls in REFUSED.items() for call in calls])
def test_what_the_tape_cannot_follow_is_refused_until_it_is_closed(what, call):
    X, W = arrays((2, 3), (3, 3))
    with Tape():
        H = linear(X, W)
        with pytest.raises(TypeError, match=f"the tape cannot follow {what}"):
            call(X, H)


def test_a_list_and_what_a_layer_gives_to_look_at_are_refused_by_the_next_layer():
    X, W = arrays((2, 3), (3, 3))
    with Tape():
        H = linear(X, W)
        with pytest.raises(TypeError, match=r"the tape cannot follow an array of shape \(2, 2, 3\) back"):
            linear([H, H], W)
        _, weights = scaled_dot_product_attention(H, H, H)
        for call in (lambda: linear(weights, X), lambda: X + weights[:1], lambda: weights + 1, lambda: 2 * weights):
            with pytest.raises(TypeError, match="the tape cannot follow"):
                call()


def test_what_can_have_no_gradient_may_be_asked_and_shown_under_a_tape():
    X, W = arrays((2, 3), (3, 3))
    with Tape():
        H = linear(X, W)
        assert np.shape(H) == H.shape and np.ndim(H) == 2 and np.size(H) == 6
        assert_array_equal(H > 0, np.asarray(H) > 0)
        assert np.isfinite(H).all()
        assert (repr(H), str(H), f"{H}") == (repr(np.asarray(H)), str(np.asarray(H)), str(np.asarray(H)))


def test_what_a_closed_tape_has_noted_is_an_array_like_any_other_but_stays_as_it_was():
    X, W = arrays((2, 3), (3, 3))
    with Tape() as tape:
        H = linear(X, W)
    expected = X @ W
    assert_array_equal((2 * H)[0], 2 * expected[0])
    assert_array_equal(np.concatenate([H, H.copy()], axis=1).T, np.concatenate([expected.T, expected.T]))
    assert type(2 * H) is np.ndarray and type(linear(H, W)) is np.ndarray
    for change in (lambda: H.__iadd__(1), lambda: H.__setitem__(0, 0), lambda: H.sort()):
        with pytest.raises(ValueError, match="read-only"):
            change()
    with Tape():  # for another tape it is an input
        linear(2 * H + H[:1], W)
    assert_allclose(tape.gradients({"W": W}, (H, H))["W"], X.T @ expected)


def test_a_layer_that_gives_a_view_of_what_it_took_is_followed_and_so_is_what_it_took():
    @differentiable
    def turned(X):
        return X.T, lambda grad: (grad.T,)

    X, vector = arrays((3, 3), (2, 3, 3))
    W, V = vector  # as Adam keeps all parameters
    with Tape() as tape:
        H = linear(X, turned(W))
        Y = linear(turned(H), V) + H
    grad = np.cos(Y)
    found = tape.gradients({"W": W, "V": V, "X": X}, (Y, grad))
    back = (grad @ V.T).T + grad
    assert_allclose(found["X"], back @ W)
    assert_allclose(found["W"], back.T @ X)
    assert_allclose(found["V"], (X @ W.T) @ grad)


def test_an_input_that_is_given_by_name_behind_one_that_is_not_given_is_followed():
    @differentiable
    def scaled(X, shift=0.0, scale=1.0):
        return X * scale + shift, lambda grad: (grad * scale, None, np.sum(grad * X))

    X, scale = arrays((2, 3), ())
    with Tape() as tape:
        Y = scaled(X, scale=scale)
    assert_allclose(tape.gradients({"scale": scale}, (Y, np.ones((2, 3))))["scale"], X.sum())


def test_attention_in_blocks_says_that_it_has_no_backward_pass():
    X, W = arrays((2, 3), (3, 3))
    with Tape() as tape:
        H = linear(X, W)
        Y = blockwise_attention(H, H, H)
    with pytest.raises(TypeError, match="blockwise_attention has no backward pass: under a tape, use scaled_dot"):
        tape.gradients({"W": W}, (Y, Y))
