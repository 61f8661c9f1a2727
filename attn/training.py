"""Training: cross-entropy, Adam, batches, and one loop."""

import os
from dataclasses import dataclass, field

import numpy as np
from tqdm.auto import tqdm


def cross_entropy(logits, targets, keep=None):
    """Measure in nats how surprising the targets are, and give the gradient.

    Parameters
    ----------
    logits : array, shape (..., n_outputs)
    targets : array of int, shape (...)
    keep : array of bool, shape (...), optional
        Which places count; all unless given.

    Returns
    -------
    loss : float
        Mean over the places that count.
    grad_logits : array, shape (..., n_outputs)

    Raises
    ------
    ValueError
        If the shapes do not fit, a target is not an output, or no place counts.

    Notes
    -----
    -log softmax(logits)[target]; its gradient is softmax(logits) less 1 at the target.
    """
    targets = np.asarray(targets)
    keep = np.ones(targets.shape, dtype=bool) if keep is None else np.asarray(keep)
    if targets.shape != logits.shape[:-1] or keep.shape != targets.shape or not keep.any():
        raise ValueError(
            f"each place needs one target: logits {logits.shape}, targets {targets.shape}, kept {keep.sum()} of {keep.shape}"
        )
    if not 0 <= targets.min() <= targets.max() < logits.shape[-1]:
        raise ValueError(
            f"targets must be from 0 to {logits.shape[-1] - 1}, but reach from {targets.min()} to {targets.max()}"
        )
    places = (*np.indices(targets.shape), targets)
    top = np.max(logits, axis=-1)
    grad = np.exp(logits - top[..., None])
    total = np.sum(grad, axis=-1)
    surprise = np.log(total) + top - logits[places]
    grad /= total[..., None]  # softmax of the logits; the powers are needed for the loss as well
    grad[places] -= 1
    count = int(keep.sum())
    grad *= (keep / count)[..., None].astype(grad.dtype)
    return float(np.sum(surprise[keep])) / count, grad


def batches(rng, steps, size, *arrays):
    """Yield batches of rows drawn at random, the same rows from each array.

    Parameters
    ----------
    rng : numpy Generator
    steps, size : int
        How many batches, and how many rows in each.
    *arrays : arrays of one length

    Yields
    ------
    tuple of arrays
    """
    for _ in range(steps):
        rows = rng.integers(len(arrays[0]), size=size)
        yield tuple(array[rows] for array in arrays)


@dataclass
class Trained:
    """What training leaves behind.

    Parameters
    ----------
    params : nested dict of arrays
        As after the last step that was taken.
    losses : list of float
        One for each step, in nats, before the step.
    probes : list
        What the probe returned: before the first step, then after every `probe_every` steps.
    """

    params: dict
    losses: list = field(default_factory=list)
    probes: list = field(default_factory=list)


def train(params, gradients, data, steps, *, rate, warm_up=0, clip=1.0, probe=None, probe_every=1):
    """Train by Adam with warm-up, linear decay and clipped gradients.

    A keyboard interrupt ends it early and keeps what it has.

    Parameters
    ----------
    params : nested dict of arrays
        Where to start; left as it is.
    gradients : callable
        Takes params and what `data` yields; returns the loss and gradients nested like params.
    data : iterable of tuples
        As from `batches`.
    steps : int
        How many are planned; the rate falls to zero by then.
    rate : float
        The highest learning rate.
    warm_up : int
        Steps in which the rate rises to it.
    clip : float
        Longest gradient, as the norm over all parameters.
    probe : callable, optional
        Takes params, returns anything worth recording.
    probe_every : int

    Returns
    -------
    Trained

    Notes
    -----
    Kingma and Ba 2015, with beta_1 0.9 and beta_2 0.98.
    """
    vector, params = _flatten(params)
    mean, square = np.zeros_like(vector), np.zeros_like(vector)
    trained = Trained(params)
    if probe:
        trained.probes.append(probe(params))
    try:
        quiet = "TQDM_DISABLE" in os.environ  # the bar in notebooks does not look there by itself
        for step, batch in enumerate(tqdm(data, total=steps, leave=False, disable=quiet), start=1):
            loss, grads = gradients(params, *batch)
            trained.losses.append(loss)
            grad = np.concatenate([part.ravel() for part in leaves(grads)])
            grad *= min(1.0, clip / (float(np.linalg.norm(grad)) + 1e-12))
            now = rate * min(1.0, step / (warm_up + 1)) * max(0.0, 1 - (step - 1) / steps)
            _adam(vector, grad, mean, square, step, now)
            if probe and step % probe_every == 0:
                trained.probes.append(probe(params))
    except KeyboardInterrupt:
        print(f"stopped after {len(trained.losses)} of {steps} steps")
    return trained


def leaves(params):
    """Yield the arrays of nested dicts in order."""
    for part in params.values():
        if isinstance(part, dict):
            yield from leaves(part)
        else:
            yield part


def _adam(vector, grad, mean, square, step, rate, beta_1=0.9, beta_2=0.98, epsilon=1e-9):
    """Move the parameters by one step of Adam, in place."""
    mean += (1 - beta_1) * (grad - mean)
    square += (1 - beta_2) * (grad * grad - square)
    size = rate * (1 - beta_2**step) ** 0.5 / (1 - beta_1**step)
    vector -= size * mean / (np.sqrt(square) + epsilon)


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
