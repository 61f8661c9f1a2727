"""Gradients measured by small steps, to hold those that the tape finds to."""

import numpy as np
from numpy.testing import assert_allclose

from attn import Tape


def central_differences(loss, array, step=1e-6):
    """Return the numerical gradient of `loss()` with respect to `array`, which it reads."""
    grad = np.zeros_like(array)
    for index in np.ndindex(*array.shape):
        kept = array[index]
        array[index] = kept + step
        above = loss()
        array[index] = kept - step
        grad[index] = (above - loss()) / (2 * step)
        array[index] = kept
    return grad


def assert_gradients(layer, *arrays, rtol=1e-5, atol=1e-7):
    """Hold the gradients of sum(side * layer(*arrays)) to central differences, for each array of floats."""

    def output():
        result = layer(*arrays)
        return result[0] if isinstance(result, tuple) else result

    with Tape() as tape:
        made = output()
    side = np.random.default_rng(0).normal(size=made.shape)
    learned = {str(i): array for i, array in enumerate(arrays) if np.asarray(array).dtype.kind == "f"}
    found = tape.gradients(learned, (made, side))
    for name, array in learned.items():
        assert found[name].shape == array.shape
        assert_allclose(found[name], central_differences(lambda: np.sum(side * output()), array), rtol=rtol, atol=atol)
