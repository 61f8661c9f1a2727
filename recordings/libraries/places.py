"""Where does a word stand? Questions for functions that turn rows by their places, or add something to them.

    .venv/bin/python -m recordings.libraries.places [ADAPTER ...]

A function takes rows, shape (1, 1, n, d), and returns them turned, or what is added: waves, or the number of a table's
row in each entry. Options: `start`, the place of the first row; `n_places`, the rows of a table, or else 16; `longer`,
the library's number for texts longer than the 2,048 places of training; `part`, how many entries are turned; `padding`,
how many rows in front are padding; `bfloat16`.
"""

import functools
import sys

import numpy as np

from attn_course.conventions import NotOffered, answer, offered
from attn_course.conventions import question as enter

D = 8
PAIRS = {"neighbours": (slice(0, None, 2), slice(1, None, 2)), "halves": (slice(0, D // 2), slice(D // 2, None))}
QUESTIONS = {}
question = functools.partial(enter, questions=QUESTIONS)


def ask(turn, names=()):
    """Ask a function all questions, or those that are named: dict of str, as in `conventions.ask`."""
    run = offered(turn)
    run.adds, run.back = _rows(run, np.zeros(D)).any(), False
    run.pairs = next((name for name in PAIRS if np.ptp(abs(_turned(run, pairs=name))) < 1e-5), None)
    run.back = run.pairs is not None and _speeds(run)[0] < 0
    return {name: answer(QUESTIONS[name][0], run) for name in names or QUESTIONS}


def _rows(run, row, n=5, **options):
    X = np.broadcast_to(np.asarray(row, np.float32), (1, 1, n, len(row))).copy()
    return np.asarray(run(X, **options), dtype=float).reshape(n, len(row))


def _turned(run, n=5, pairs=None, **options):
    """Return a complex number for each row and pair, which turns forwards; of waves the sine is its imaginary part."""
    if (pairs := pairs or run.pairs) is None:
        raise NotOffered
    (first, second), row = PAIRS[pairs], np.zeros(D)
    row[first] = 1
    rows = _rows(run, row, n, **options)
    numbers = rows[:, first] + 1j * rows[:, second]
    return (1j if run.adds else 1) * numbers.conj() if run.back else numbers


def _speeds(run, n=5, **options):
    numbers = _turned(run, n, **options)
    return np.angle(numbers[1] / numbers[0])


def _places(run, n, **options):
    """Return at which places rows stand, or which rows of a table they get."""
    if run.pairs is None:
        return _rows(run, np.zeros(D), n, **options)[:, 0]
    return np.angle(_turned(run, n, **options)[:, 1]) / _speeds(run)[1]


def _told(numbers):
    return " ".join(f"{number:.3g}" for number in numbers.round(3) + 0.0)


@question
def pairs(run):
    """Which entries belong together, as a pair that turns or as a sine and its cosine?
    Take entries of queries and keys in another order: np.arange(d).reshape(2, -1).T.ravel(), or back by its argsort."""
    _speeds(run)
    kind = f", {'sine' if run.back else 'cosine'} first" if run.adds else ", turned back" if run.back else ""
    return run.pairs + kind


@question
def base_that_is_not_given(run):
    """No base is given: which is it, where pair m of M turns by base ** (-m / M) with each place?
    Give it; where the last pair has the speed 1 / base, that is base ** (M / (M - 1)) elsewhere."""
    ratio = np.divide(*_speeds(run)[[0, -1]])
    if np.isclose(ratio, 1):
        raise NotOffered  # as all speeds are given
    known = {"10,000": 1e4 ** (1 - 2 / D), "10,000, reached by the last pair": 1e4}
    return next(
        (name for name, one in known.items() if np.isclose(ratio, one, rtol=0.01)), f"first / last: {ratio:.3g}"
    )


@question
def first_place(run):
    """The first row stands at which place?
    Count again: give the start, or leave out the rows of a table before it."""
    return _told(_places(run, 1))


@question
def place_below_zero(run):
    """The first of 2 rows is padding, at place -1: at which places are they, or which of a table's 16 rows do they get?
    Give padding place 0, since no query may see it: np.maximum(places, 0)."""
    return _told(_places(run, 2, start=-1))


@question
def past_the_last_row(run):
    """A table of 4 rows, and 2 words at the places 3 and 4: which rows do they get?
    Ask before you call: start + n may not be more than the table has."""
    return _told(_places(run, 2, start=3, n_places=4))


@question
def number_for_longer_texts(run):
    """The number for longer texts is 2: what are the speeds of 4 pairs multiplied by, in 5 words and in 4,096?
    If all are alike, give 1/2 for 2; if they depend on the text, keep no keys, and put no longer text beside it."""
    shares = dict.fromkeys(_told(_speeds(run, n, longer=2) / _speeds(run)) for n in (5, 4096))
    size = abs(_turned(run, longer=2)[0, 0])
    return ", in 4,096 words by ".join(shares) + (f", and rows by {size:.4g}" if size > 1.001 else "")


@question
def part_of_a_row(run):
    """Of 8 entries 4 are turned: which?
    Take entries of queries and keys in another order, so that the same ones are turned."""
    return _told(np.flatnonzero(np.ptp(_rows(run, np.ones(D), part=4), axis=0) > 1e-6))


@question
def places_in_bfloat16(run):
    """4,096 rows of 64 entries in bfloat16: at how many different places do they stand?
    Count places and angles in float32, and round sines and cosines to bfloat16 after it."""
    return f"{len(np.unique(_rows(run, np.ones(64), 4096, bfloat16=True), axis=0)):,}"


@question
def padding_in_front(run):
    """2 rows of padding in front of 3 words: how far from the first place do the words stand?
    Give places yourself: np.maximum(np.cumsum(real, axis=-1) - 1, 0)."""
    return _told(_places(run, 5, padding=2)[2:] - _places(run, 1))


if __name__ == "__main__":
    from recordings.libraries.__main__ import adapters_in, record

    record("library_places", __file__, sys.modules[__name__], adapters_in("adapters_places"))
