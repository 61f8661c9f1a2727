"""Cosines, rounding, and intervals from whole groups drawn anew."""

import numpy as np

N_DRAWN = 1000


def cosine(X, Y):
    return (X * Y).sum(axis=-1) / np.linalg.norm(X, axis=-1) / np.linalg.norm(Y, axis=-1)


def plain(array, digits=4):
    """Return an array rounded, as nested lists."""
    return np.round(np.asarray(array, float), digits).tolist()


def interval(statistic, groups):
    """Return [value, low, high] of a statistic, called with rows; an array gives a list of them.

    95 % of the values lie between the bounds if whole groups of rows are drawn anew, with replacement.
    """
    groups, rng = np.asarray(groups), np.random.default_rng(0)
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    draws = rng.integers(len(members), size=(N_DRAWN, len(members)))
    drawn = [statistic(np.concatenate([members[i] for i in draw])) for draw in draws]
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return plain(np.stack([statistic(np.arange(len(groups))), low, high], axis=-1))


def mean_interval(values, groups):
    """Return [value, low, high] of a mean over the first axis; further axes give lists of them."""
    values = np.asarray(values, float)
    return interval(lambda rows: values[rows].mean(axis=0), groups)
