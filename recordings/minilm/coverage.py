"""How often the bounds of the recordings hold what they are taken to hold, by the number of templates."""

import numpy as np

from recordings._arithmetic import draws_of, plain

N_TRIALS = 2000
N_TEMPLATES = 4, 9, 10, 18, 27
MEANS = {"Beta(1, 1)": (1, 1), "Beta(.4, .4)": (0.4, 0.4), "Beta(8, .5)": (8, 0.5)}  # of templates


def coverage():
    """Simulate, for each number of templates and each distribution of their means."""
    return {
        f"{n} templates": {name: covered(np.random.default_rng(0), n, *beta) for name, beta in MEANS.items()}
        for n in N_TEMPLATES
    }


def covered(rng, n, a, b):
    """Return how often bounds hold the mean of the distribution."""
    draws, mean = draws_of(n), a / (a + b)
    means = rng.beta(a, b, size=(N_TRIALS, n))
    low, high = np.transpose([np.quantile(one[draws].mean(axis=1), [0.025, 0.975]) for one in means])
    return {"drawn anew, hold the mean": plain(((low <= mean) & (mean <= high)).mean())}
