"""A progress bar for a reader who waits: builds and tests set TQDM_DISABLE."""

import os

from tqdm.auto import tqdm


def each(items):
    """Return the items, such as seeds for each of which a cell trains a model, under a bar that goes when all are done.

    Examples
    --------
    >>> squares = [seed**2 for seed in each(range(5))]
    """
    return tqdm(items, leave=False, disable="TQDM_DISABLE" in os.environ)  # in a notebook, tqdm does not look there
