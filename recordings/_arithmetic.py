"""Cosines, rounding, and intervals from whole groups of rows."""

import numpy as np

N_DRAWN = 1000
STUDENT = {7: 2.365, 9: 2.262}  # 97.5 % of Student's t lie below, by degrees of freedom


def cosine(X, Y):
    return (X * Y).sum(axis=-1) / np.linalg.norm(X, axis=-1) / np.linalg.norm(Y, axis=-1)


def plain(array, digits=4):
    """Return an array rounded, as nested lists."""
    return np.round(np.asarray(array, float), digits).tolist()


def interval(statistic, groups):
    """Return [value, low, high] of a statistic, called with rows; an array gives a list of them.

    95 % of the values lie between the bounds if whole groups of rows are drawn anew from these, with replacement. For
    few groups such bounds are too close to each other.
    """
    groups = np.asarray(groups)
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    draws = np.random.default_rng(0).integers(len(members), size=(N_DRAWN, len(members)))
    drawn = [statistic(np.concatenate([members[i] for i in draw])) for draw in draws]
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return plain(np.stack([statistic(np.arange(len(groups))), low, high], axis=-1))


def mean_interval(values, groups):
    """Return [value, low, high] of a mean over the first axis; further axes give lists of them."""
    values = np.asarray(values, float)
    return interval(lambda rows: values[rows].mean(axis=0), groups)


def t_interval(values, groups):
    """Return [mean, low, high] of the means of groups, with bounds by Student's t; further axes give lists of them."""
    values, groups = np.asarray(values, float), np.asarray(groups)
    means = np.stack([values[groups == group].mean(axis=0) for group in np.unique(groups)])
    mean, error = means.mean(axis=0), means.std(axis=0, ddof=1) / len(means) ** 0.5
    reach = STUDENT[len(means) - 1] * error
    return plain(np.stack([mean, mean - reach, mean + reach], axis=-1))
