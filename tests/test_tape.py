"""The tape: gradients of composed layers, and what it refuses."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from attn import Tape, softmax
from attn.layers import add, linear
from attn.tape import leaves


def params(seed=0):
    rng = np.random.default_rng(seed)
    return {"first": {"W": rng.normal(size=(3, 5)), "b": rng.normal(size=5)}, "second": rng.normal(size=(5, 3))}


def test_an_array_that_is_used_twice_collects_both_gradients():
    X, p = np.random.default_rng(1).normal(size=(2, 3)), params()
    with Tape() as tape:
        Y = add(X, linear(linear(X, p["first"]["W"], p["first"]["b"]), p["second"]))
    grad = np.random.default_rng(2).normal(size=Y.shape)
    found = tape.gradients({"X": X, **p}, (Y, grad))
    assert_allclose(found["X"], grad + grad @ p["second"].T @ p["first"]["W"].T)
    assert_allclose(found["second"], (X @ p["first"]["W"] + p["first"]["b"]).T @ grad)
    assert list(found) == ["X", "first", "second"] and list(found["first"]) == ["W", "b"]


def test_gradients_start_at_several_places_and_are_found_on_the_way():
    X, W = np.random.default_rng(1).normal(size=(2, 3)), np.random.default_rng(2).normal(size=(3, 3))
    with Tape() as tape:
        H = linear(X, W)
        Y = linear(H, W)
    one, two = np.ones_like(Y), np.full_like(H, 2.0)
    found = tape.gradients({"H": H, "W": W}, (Y, one), (H, two))
    assert_allclose(found["H"], one @ W.T + two)
    assert_allclose(found["W"], H.T @ one + X.T @ (one @ W.T + two))


def test_going_back_a_second_time_gives_the_same():
    X, W = np.random.default_rng(1).normal(size=(2, 3)), np.random.default_rng(2).normal(size=(3, 3))
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


def test_inputs_may_be_given_by_name():
    X, p = np.ones((2, 3)), params()["first"]
    with Tape() as tape:
        Y = linear(X, **p)
    with Tape() as other:
        Z = linear(b=p["b"], W=p["W"], X=X)
    assert_array_equal(Y, linear(X, p["W"], p["b"]))
    for found in (tape.gradients(p, (Y, Y)), other.gradients(p, (Z, Z))):
        assert_allclose(found["W"], X.T @ Y)
        assert_allclose(found["b"], Y.sum(axis=0))


def test_a_parameter_that_took_no_part_is_named():
    X, p = np.ones((2, 3)), params()
    with Tape() as tape:
        Y = linear(X, p["first"]["W"])
    with pytest.raises(ValueError, match="not met the array first / b: it took no part"):
        tape.gradients(p, (Y, Y))
    copied = {"W": p["first"]["W"].copy()}
    with pytest.raises(ValueError, match="not met the array W"):
        tape.gradients(copied, (Y, Y))


def test_a_parameter_that_the_loss_does_not_depend_on_has_gradient_zero():
    X, p = np.ones((2, 3)), params()
    with Tape() as tape:
        Y = linear(X, p["first"]["W"])
        linear(Y, p["second"])
    found = tape.gradients({"second": p["second"]}, (Y, Y))
    assert_array_equal(found["second"], np.zeros((5, 3)))


def test_a_gradient_of_another_shape_is_refused_with_both_shapes():
    X, W = np.ones((2, 5, 3)), np.eye(3)
    with Tape() as tape:
        Y = linear(X, W)
    with pytest.raises(ValueError, match=r"gradient of shape \(5, 2, 3\) does not fit an array of shape \(2, 5, 3\)"):
        tape.gradients({"W": W}, (Y, np.ones((5, 2, 3))))


def test_a_gradient_of_whole_numbers_counts_as_floats_and_one_of_truth_values_is_refused():
    X, p = np.ones((300, 3)), params()["first"]
    with Tape() as tape:
        Y = linear(X, p["W"], p["b"])
    assert_array_equal(tape.gradients(p, (Y, np.ones(Y.shape, np.int8)))["b"], np.full(5, 300.0))
    with pytest.raises(TypeError, match="gradient must hold real numbers, but its type is bool"):
        tape.gradients(p, (Y, np.ones(Y.shape, bool)))


def test_leaves_are_the_arrays_in_order():
    p = params()
    assert [array is wanted for array, wanted in zip(leaves(p), [p["first"]["W"], p["first"]["b"], p["second"]])] == [
        True
    ] * 3
