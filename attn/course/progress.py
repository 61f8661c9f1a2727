"""How far a cell is that trains models: one bar, however many they are."""

import contextlib
import functools
import os
import sys

from tqdm.auto import tqdm

from attn.course.keeping import FOLDER

TIME_LEFT = "{l_bar}{bar}| {elapsed}, {remaining} left"
_cell = None  # the bar of a cell that trains several models


def reader_waits():
    """Return whether someone waits in a notebook, and not a build or a test."""
    return "TQDM_DISABLE" not in os.environ and "ipykernel" in sys.modules


def each(items):
    """Yield the items, such as seeds, for each of which a cell trains a model, under one bar.

    Parameters
    ----------
    items : iterable

    Examples
    --------
    >>> models = [seed**2 for seed in each(range(5))]
    """
    global _cell
    items = list(items)
    with _bar(len(items)) as bar:
        _cell, bar.kept = bar, 0
        try:
            for number, item in enumerate(items, start=1):
                bar.set_description(f"model {number} of {len(items)}")
                yield item
                bar.update(number - bar.n)
        finally:
            _cell = None if _cell is bar else _cell
    if bar.kept:
        _tell(f"{bar.kept} of {len(items)} models")


@contextlib.contextmanager
def steps(total):
    """Give a function to be called after each step of a training: it moves the bar of the cell, or one of its own."""
    global _cell
    own = _cell is None
    bar = _bar(total) if own else _cell
    try:
        yield functools.partial(bar.update, 1 if own else 1 / total)
    except BaseException:  # the cell ends here; the loop in it that asks `each` for the next one does not come back
        own, _cell = True, None
        raise
    finally:
        if own:
            bar.close()


def tell_kept():
    """Say that a model was trained before; of several, once for all."""
    if _cell is None:
        _tell("This model")
    else:
        _cell.kept += 1


def _bar(total):
    quiet = "TQDM_DISABLE" in os.environ  # the bar in notebooks does not look there by itself
    return tqdm(total=total, leave=False, disable=quiet, bar_format=TIME_LEFT)


def _tell(what):
    print(f"{what} had been trained before, and came from {FOLDER}. attn.course.keeping.forget() erases what is there.")
