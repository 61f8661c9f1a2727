"""Training: cross-entropy, Adam, batches, and one loop."""

from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from attn.checks import as_array, as_booleans, as_floats, check_rng, widened
from attn.memory import keep_freed_memory
from attn.rows import as_rows, row_max, row_sums
from attn.tape import leaves
from attn.threads import on_one_thread


def cross_entropy(logits, targets, loss_mask=None):
    """Measure in nats how surprising the targets are, and give the gradient.

    Parameters
    ----------
    logits : array_like, shape (..., n_outputs)
    targets : array_like of int, shape (...)
    loss_mask : array_like of bool, shape (...), optional
        Which places count; default: all.

    Returns
    -------
    loss : float
        Mean over the places that count.
    grad_logits : array, shape (..., n_outputs)
        Zero at the places that do not count.

    Raises
    ------
    ValueError
        If the shapes do not fit, a target that counts is not an output, or no place counts.
    TypeError
        If targets are not integers, or the loss mask is neither boolean nor made of 0 and 1.

    Notes
    -----
    -log softmax(logits)[target]; its gradient is softmax(logits) less 1 at the target.
    """
    (logits,), targets = as_floats(logits=logits), as_array("targets", targets)
    counts = np.ones(targets.shape, bool) if loss_mask is None else as_booleans("a loss mask", loss_mask)
    if logits.ndim == 0 or targets.shape != logits.shape[:-1] or counts.shape != targets.shape or not counts.any():
        raise ValueError(
            f"each place needs one target, and one at least must count: logits have shape {logits.shape}, "
            f"targets {targets.shape}, {counts.sum()} of {counts.shape} count"
        )
    if targets.dtype.kind not in "iu":
        raise TypeError(f"targets must be integers, but their type is {targets.dtype}")
    here = slice(None) if loss_mask is None else counts.ravel()  # a slice copies nothing
    rows, wanted = widened(as_rows(logits)[here]), targets.ravel()[here]
    if not 0 <= wanted.min() <= wanted.max() < logits.shape[-1]:
        raise ValueError(
            f"targets must be from 0 to {logits.shape[-1] - 1}, but reach from {wanted.min()} to {wanted.max()}"
        )
    at_targets = np.arange(len(rows)), wanted
    shifted = rows - row_max(rows)
    grad_rows = np.exp(shifted)
    sums = row_sums(grad_rows)
    loss = float(np.mean(np.log(sums[:, 0]) - shifted[at_targets]))
    grad_rows /= sums * len(rows)
    grad_rows[at_targets] -= 1 / len(rows)
    grad = grad_rows.astype(logits.dtype, copy=False)
    if loss_mask is not None:
        grad = np.zeros_like(as_rows(logits))
        grad[here] = grad_rows
    return loss, grad.reshape(logits.shape)


def batches(rng, steps, size, *arrays):
    """Yield batches of rows drawn at random, the same rows from each array.

    Parameters
    ----------
    rng : numpy Generator
    steps, size : int
        How many batches, and how many rows in each.
    *arrays : arrays of one length, which is at least 1

    Yields
    ------
    tuple of arrays
    """
    check_rng(rng)
    lengths = sorted({len(array) for array in arrays})
    if len(lengths) != 1 or lengths == [0]:
        raise ValueError(f"batches are drawn from arrays of one length of at least 1, but theirs are {lengths}")
    for _ in range(steps):
        rows = rng.integers(len(arrays[0]), size=size)
        yield tuple(array[rows] for array in arrays)


@dataclass
class Trained:
    """What training returns.

    Parameters
    ----------
    params : nested dict of arrays
        After the last step that was taken.
    losses : list of float
        One for each step, in nats, before the step.
    probes : list
        What the probe returned: before the first step, then after every `probe_every` steps.
    """

    params: dict
    losses: list = field(default_factory=list)
    probes: list = field(default_factory=list)


class _Unfinished:
    def __init__(self, message, trained):
        super().__init__(message)
        self.trained = trained


class Stopped(_Unfinished, KeyboardInterrupt):
    """A training was interrupted: `trained` holds what it had reached, a `Trained`."""

    def _render_traceback_(self):
        """Have a notebook print the message alone."""
        return [str(self)]


class Diverged(_Unfinished, FloatingPointError):
    """A loss or a gradient is not finite: `trained` holds what was reached before, a `Trained`."""


class RanOut(_Unfinished, ValueError):
    """The data ended before the last step: `trained` holds what was reached, a `Trained`."""


class Adam:
    """Moves parameters against their gradients, each by steps of its own size.

    Parameters
    ----------
    params : nested dict of arrays
        Where to start; left as it is.
    beta_1, beta_2 : float
        How much of the mean of gradients, and of their squares, is kept from step to step.
    epsilon : float
        Keeps the division from zero.

    Attributes
    ----------
    params : nested dict of arrays
        As they are now; they change in place.

    Notes
    -----
    Kingma and Ba 2015.
    """

    def __init__(self, params, *, beta_1=0.9, beta_2=0.98, epsilon=1e-9):
        self._vector, self.params = _flatten(params)
        self._mean, self._square = np.zeros_like(self._vector), np.zeros_like(self._vector)
        self._betas, self._epsilon, self._n_steps = (float(beta_1), float(beta_2)), float(epsilon), 0

    def state(self):
        """Return all that the next steps depend on, as a dict of arrays."""
        return {"params": self._vector, "mean": self._mean, "square": self._square, "n_steps": np.array(self._n_steps)}

    def restore(self, state):
        """Go back to where `state()` was taken."""
        self._vector[:], self._mean[:], self._square[:] = (state[name] for name in ("params", "mean", "square"))
        self._n_steps = int(state["n_steps"])

    def step(self, grads, learning_rate, *, clip=np.inf):
        """Move the parameters by one step.

        Parameters
        ----------
        grads : nested dict of arrays
            As the parameters, in any order.
        learning_rate : float
        clip : float
            A longer gradient, by the norm over all parameters, is shortened to this.

        Raises
        ------
        ValueError
            If a gradient is missing, or has another shape than its parameter.
        FloatingPointError
            If the length of the gradient is not finite.
        """
        beta_1, beta_2 = self._betas
        grad = np.concatenate([part.ravel() for part in _in_order(self.params, grads)], dtype=self._vector.dtype)
        length = float(grad @ grad) ** 0.5
        if not np.isfinite(length):
            raise FloatingPointError(f"the length of the gradient is {length}")
        grad *= min(1.0, clip / (length + 1e-12))
        self._n_steps += 1
        self._mean = beta_1 * self._mean + (1 - beta_1) * grad
        self._square = beta_2 * self._square + (1 - beta_2) * grad**2
        # Both averages are corrected at once, by one number.
        rate = float(learning_rate) * (1 - beta_2**self._n_steps) ** 0.5 / (1 - beta_1**self._n_steps)
        self._vector -= rate * (self._mean / (np.sqrt(self._square) + self._epsilon))


@on_one_thread
def train(
    params, gradients, data, steps, *, learning_rate, warm_up=0, clip=1.0, probe=None, probe_every=1, n_taken=None
):
    """Train by Adam with warm-up, linear decay and clipped gradients.

    Parameters
    ----------
    params : nested dict of arrays
        Where to start; left as it is.
    gradients : callable
        Takes params and what `data` yields; returns the loss and gradients nested like params.
    data : iterable of tuples
        As from `batches`.
    steps : int
        How many are planned; the learning rate falls to zero by then.
    learning_rate : float
        The highest.
    warm_up : int
        Steps in which the learning rate rises to it.
    clip : float
        Longest gradient, as the norm over all parameters.
    probe : callable, optional
        Takes params, returns anything worth recording.
    probe_every : int
    n_taken : int, optional
        How many of the planned steps are taken; default: all.

    Returns
    -------
    Trained

    Raises
    ------
    RanOut
        If there are fewer batches than steps.
    Diverged
        If a loss or a gradient is not finite.
    Stopped
        If it is interrupted.

    Notes
    -----
    All three carry what was trained so far: in the next cell of a notebook, `import sys` and
    `sys.last_value.trained`.
    """
    n_taken = steps if n_taken is None else n_taken
    adam = Adam(params)
    trained = Trained(adam.params)
    keep_freed_memory()
    if probe:
        trained.probes.append(probe(adam.params))
    try:
        for step, batch in enumerate(islice(data, n_taken), start=1):
            loss, grads = gradients(adam.params, *batch)
            if not np.isfinite(loss):
                raise FloatingPointError(f"the loss is {loss}")
            adam.step(grads, learning_rate * schedule(step, steps, warm_up), clip=clip)
            trained.losses.append(loss)
            if probe and step % probe_every == 0:
                trained.probes.append(probe(adam.params))
    except KeyboardInterrupt:
        message = f"Stopped after {len(trained.losses)} of {steps} steps; sys.last_value.trained is what was trained."
        raise Stopped(message, trained) from None
    except (FloatingPointError, OverflowError) as error:
        done = len(trained.losses)
        advice = f"try a lower learning_rate than {learning_rate:g}" if done else "look at the parameters and the data"
        raise Diverged(f"training diverged at step {done + 1}: {error}; {advice}", trained) from None
    if len(trained.losses) < n_taken:
        told = f"{n_taken} steps need as many batches, but the data ended after {len(trained.losses)}"
        raise RanOut(f"{told}; sys.last_value.trained is what was trained.", trained)
    return trained


def schedule(step, steps, warm_up):
    """Return the share of the learning rate at a step, counted from 1: it rises in `warm_up` steps, then falls to 0."""
    return min(1.0, step / (warm_up + 1)) * max(0.0, 1 - (step - 1) / steps)


def _in_order(params, grads, path=""):
    """Yield the gradient of each parameter, found by its name."""
    if unknown := set(params) ^ set(grads):
        raise ValueError(f"parameters and gradients differ in {', '.join(path + name for name in sorted(unknown))}")
    for name, part in params.items():
        if isinstance(part, dict):
            yield from _in_order(part, grads[name], f"{path}{name} / ")
        elif np.shape(grads[name]) != part.shape:
            raise ValueError(f"{path}{name} has shape {part.shape}, but its gradient has shape {np.shape(grads[name])}")
        else:
            yield grads[name]


def _flatten(params):
    """Copy nested dicts of arrays into one vector; return it and the same dicts of views into it."""
    vector = np.concatenate([part.ravel() for part in leaves(params)])
    start = 0

    def view(part):
        nonlocal start
        if isinstance(part, dict):
            return {name: view(inner) for name, inner in part.items()}
        start += part.size
        return vector[start - part.size : start].reshape(part.shape)

    return vector, view(params)
