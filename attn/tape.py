"""The tape: how gradients go back through functions of plain arrays.

A layer is one function. It computes its output and says, right below, how a gradient of the
output becomes gradients of what it took; a tape that is open at the time notes both. What layers
give under a tape can be given to layers and added by `+`; until the tape is closed, all else is
refused, for it would lose gradients and say nothing.
"""

import functools
import inspect
from contextvars import ContextVar

import numpy as np

from attn.checks import as_floats
from attn.threads import on_one_thread

_open_tape = ContextVar("open tape", default=None)


class Tape:
    """Notes each layer and each sum that runs inside `with`, so that gradients can go back through all of them.

    A tape that is opened inside hides it. What is computed with parameters themselves, before any layer has taken
    them, is not seen; and `np.asarray` of what a layer gave is the same numbers, without their past.

    Examples
    --------
    >>> from attn.layers import linear
    >>> X, params = np.array([[1.0, 2.0]]), {"W": np.eye(2), "b": np.zeros(2)}
    >>> with Tape() as tape:
    ...     Y = X + linear(X, params["W"], params["b"])
    >>> tape.gradients(params, (Y, np.array([[1.0, 0.0]])))["W"]
    array([[1., 0.],
           [2., 0.]])
    """

    def __init__(self):
        self._notes, self._met, self._made = [], set(), {}  # _made: whether a layer made what lies in this memory

    def __enter__(self):
        self._token = _open_tape.set(self)
        return self

    def __exit__(self, *_):
        _open_tape.reset(self._token)

    def note(self, outputs, inputs, backward):
        """Write down that `outputs` came from `inputs`; `backward` takes the gradient of the first to theirs."""
        met, made = self._met, self._made
        for array in inputs:
            if id(array) not in met:
                lost = made.setdefault(id(_memory(array)), False)
                if lost or (isinstance(array, (list, tuple)) and self.knows(array)):
                    raise TypeError(
                        f"the tape cannot follow an array of shape {np.shape(array)} back: it is not what a layer "
                        "gave, but a view of it, a list, or what a layer gives to look at"
                    )
                met.add(id(array))
        for array in outputs:
            made.setdefault(id(_memory(array)), True)
        met.add(id(outputs[0]))
        self._notes.append((outputs, inputs, backward))

    def knows(self, part):
        """Return whether an array, or one in a list, was met, or lies in the memory of what a layer gave."""
        if isinstance(part, (list, tuple)):
            return any(map(self.knows, part))
        return isinstance(part, np.ndarray) and (id(part) in self._met or self._made.get(id(_memory(part)), False))

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
            If the tape has not met an array, no gradient came back to it, or one has another shape than its array.
        TypeError
            If a gradient does not hold real numbers.
        """
        found, wanted = {}, {id(array) for array in leaves(params)}
        for output, grad in pairs:
            (grad,) = as_floats(gradient=grad)
            if id(output) not in self._met:
                raise ValueError(
                    f"the tape has not met this array of shape {np.shape(output)}, so no gradient starts there"
                )
            if grad.shape != np.shape(output):
                raise ValueError(f"a gradient of shape {grad.shape} does not fit an array of shape {np.shape(output)}")
            _add(found, output, grad)
        for (output, *_), inputs, backward in reversed(self._notes):
            if id(output) in found:
                grad = found[id(output)] if id(output) in wanted else found.pop(id(output))
                for array, part in zip(inputs, backward(grad), strict=False):
                    if part is not None:
                        _add(found, array, part)
        return _like(params, found, self._met)


def differentiable(layer):
    """Turn a function that returns a result and the backward pass into one that returns the result.

    The backward pass takes the gradient of the result and returns one gradient for each input that
    may be positional, or None; it leaves the gradient it is given as it is. Of a tuple, the first
    array is what gradients come back from; the others are there to look at. The layer itself is given plain arrays.
    """
    parameters = inspect.signature(layer).parameters.values()
    positional = [(one.name, one.default) for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]

    @functools.wraps(layer)
    def run(*inputs, **options):
        for name, default in positional[len(inputs) :]:  # an input that is given by name is an input as well
            if name not in options and default is inspect.Parameter.empty:
                break
            inputs = (*inputs, options.pop(name, default))
        result, backward = layer(*map(_plain, inputs), **options)
        tape = _open_tape.get()
        if tape is None:
            return result
        outputs = tuple(map(_noted, result)) if isinstance(result, tuple) else (_noted(result),)
        tape.note(outputs, inputs, backward)
        return outputs if isinstance(result, tuple) else outputs[0]

    return run


class Noted(np.ndarray):
    """What a layer gave under a tape. Nobody can write into it, for the backward pass needs it as it was."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        known, out = _is_followed(inputs), options.get("out", ())
        if known and ufunc is np.add and method == "__call__" and not options:
            return _sum(*inputs)
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        if out:
            _refuse_if(_is_followed((inputs, out)), f"{name} in place")
            options["out"] = tuple(map(_plain, out))
        result = getattr(ufunc, method)(*map(_plain, inputs), **options)
        _refuse_if(known and _holds_floats(result), name)
        return result

    def __array_function__(self, function, types, inputs, options):
        known = function not in (np.shape, np.ndim, np.size) and _is_followed((inputs, tuple(options.values())))
        _refuse_if(known, function.__name__)
        return super().__array_function__(function, types, inputs, options)

    def __array_finalize__(self, source):
        if isinstance(source, Noted):
            _refuse_if(_is_followed(source), "a copy or another shape of what a layer gave")

    def __getitem__(self, key):
        _refuse_if(_is_followed(self), "a part of what a layer gave")
        return super().__getitem__(key)

    def __repr__(self):
        return repr(_plain(self))

    def __str__(self):
        return str(_plain(self))


@differentiable
def _sum(X, Y):
    return X + Y, lambda grad: (sum_to(grad, np.shape(X)), sum_to(grad, np.shape(Y)))


def _noted(array):
    array = array.view(Noted)
    array.setflags(write=False)
    return array


def _plain(array):
    return np.asarray(array) if isinstance(array, Noted) else array


def _memory(array):
    """Return the array that owns the memory of an array."""
    while isinstance(base := getattr(array, "base", None), np.ndarray):
        array = base
    return array


def _is_followed(part):
    tape = _open_tape.get()
    return tape is not None and tape.knows(part)


def _holds_floats(result):
    """Return whether a result can have a gradient: comparisons and places have none."""
    return not (isinstance(result, (np.ndarray, np.generic)) and result.dtype.kind in "biu")


def _refuse_if(known, what):
    if known:
        raise TypeError(f"the tape cannot follow {what}: use the functions of attn.layers, or leave the tape first")


def leaves(params):
    """Yield the arrays of nested dicts in order."""
    for part in params.values():
        if isinstance(part, dict):
            yield from leaves(part)
        else:
            yield part


def sum_to(grad, shape):
    """Sum a gradient over the axes along which an argument of `shape` was broadcast."""
    if grad.shape == shape:
        return grad
    grad = np.sum(grad, axis=tuple(range(grad.ndim - len(shape))))
    stretched = tuple(axis for axis, size in enumerate(shape) if size == 1 and grad.shape[axis] != 1)
    return np.sum(grad, axis=stretched, keepdims=True)


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
        elif id(part) not in found:
            raise ValueError(
                f"no gradient came back to the array {path}{name}: what was made of it left the tape, or took no part "
                "in what the gradients start from"
            )
        else:
            grads[name] = found[id(part)]
    return grads
