"""The digits that every processor agrees on."""

import numpy as np


def significant(numbers):
    """Return numbers, as nested lists, with the digits that every processor agrees on.

    These are six; and what is less than a millionth of a millionth of the largest is what rounding has left, and zero.
    """
    array = np.asarray(numbers)
    if array.dtype.kind != "f":
        return array.tolist()
    array = np.where(np.abs(array) < 1e-12 * np.abs(array).max(initial=0), 0, array) + 0.0  # no zero is negative
    return np.array([float(f"{number:.6g}") for number in array.flat]).reshape(array.shape).tolist()
