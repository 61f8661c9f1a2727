"""The tape: how gradients go back through functions of plain arrays.

A layer is one function. It computes its output and says, right below, how a gradient of the
output becomes gradients of what it took; a tape that is open at the time notes both.
"""

import functools
import inspect
from contextvars import ContextVar

import numpy as np

from attn._arrays import as_floats, on_one_thread

_open_tape = ContextVar("open tape", default=None)


class Tape:
    """Notes each layer that runs inside `with`, so that gradients can go back through all of them.

    Examples
    --------
    >>> from attn.layers import linear
    >>> X, params = np.array([[1.0, 2.0]]), {"W": np.eye(2), "b": np.zeros(2)}
    >>> with Tape() as tape:
    ...     Y = linear(X, params["W"], params["b"])
    >>> tape.gradients(params, (Y, np.array([[1.0, 0.0]])))["W"]
    array([[1., 0.],
           [2., 0.]])
    """

    def __init__(self):
        self._notes = []

    def __enter__(self):
        self._token = _open_tape.set(self)
        return self

    def __exit__(self, *_):
        _open_tape.reset(self._token)

    def note(self, output, inputs, backward):
        """Write down that `output` came from `inputs`; `backward` takes its gradient to theirs."""
        self._notes.append((output, inputs, backward))

    @on_one_thread
    def gradients(self, params, *pairs):
        """Return the gradients of parameters, in nested dicts like theirs.

        Parameters
        ----------
        params : nested dict of arrays
            The very arrays that the layers took, not copies of them.
        *pairs : (array, array)
            An array that a layer made, and the gradient of the loss with respect to it.

        Returns
        -------
        nested dict of arrays

        Raises
        ------
        ValueError
            If the tape has not met an array, or a gradient has another shape than its array.
        TypeError
            If a gradient does not hold real numbers.
        """
        found, wanted = {}, {id(array) for array in leaves(params)}
        met = {id(array) for output, inputs, _ in self._notes for array in (output, *inputs)}
        for output, grad in pairs:
            (grad,) = as_floats(gradient=grad)
            if id(output) not in met:
                raise ValueError(
                    f"the tape has not met this array of shape {np.shape(output)}, so no gradient starts there"
                )
            if grad.shape != np.shape(output):
                raise ValueError(f"a gradient of shape {grad.shape} does not fit an array of shape {np.shape(output)}")
            _add(found, output, grad)
        for output, inputs, backward in reversed(self._notes):
            if id(output) in found:
                grad = found[id(output)] if id(output) in wanted else found.pop(id(output))
                for array, part in zip(inputs, backward(grad), strict=False):
                    if part is not None:
                        _add(found, array, part)
        return _like(params, found, met)


def differentiable(layer):
    """Turn a function that returns a result and the way back into one that returns the result.

    The way back takes the gradient of the result and returns one gradient for each input that
    may be positional, or None; it leaves the gradient it is given as it is. Of a tuple, the first
    array is what gradients come back from; the others are there to look at.
    """
    parameters = inspect.signature(layer).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]

    @functools.wraps(layer)
    def run(*inputs, **options):
        for name in names[len(inputs) :]:  # an input that is given by name is an input as well
            if name not in options:
                break
            inputs = (*inputs, options.pop(name))
        result, backward = layer(*inputs, **options)
        tape = _open_tape.get()
        if tape is not None:
            tape.note(result[0] if isinstance(result, tuple) else result, inputs, backward)
        return result

    return run


def leaves(params):
    """Yield the arrays of nested dicts in order."""
    for part in params.values():
        if isinstance(part, dict):
            yield from leaves(part)
        else:
            yield part


def _add(found, array, grad):
    found[id(array)] = found[id(array)] + grad if id(array) in found else grad


def _like(params, found, met, path=""):
    """Return nested dicts like `params` with what was found for each array."""
    grads = {}
    for name, part in params.items():
        if isinstance(part, dict):
            grads[name] = _like(part, found, met, f"{path}{name} / ")
        elif id(part) not in met:
            raise ValueError(f"the tape has not met the array {path}{name}: it took no part in what was run")
        else:
            grads[name] = found[id(part)] if id(part) in found else np.zeros_like(part)
    return grads
