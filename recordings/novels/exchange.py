"""Activation patching: closing marks are given the values of opening ones in one head, and opening ones of closing.

    .venv/bin/python -m recordings.novels.exchange

writes the mean values that a page puts in, attn_course/data/novels/mark_values.npz, for the book's model and for the
one that learned to copy.
"""

import numpy as np

from attn import ReplaceValues, Trace, decoder
from attn_course import novels
from attn_course.novels import CONFIG

from .places import told_apart
from .quotations import name
from .reading import read


def mean_values(params, held):
    """Return each head's mean value at opening marks, and at closing ones: arrays, shape (n_layers, n_heads, d_v)."""

    def values(rows, *kinds):
        with Trace() as trace:
            decoder(params, CONFIG, rows)
        V = np.stack([layer.attention.V for layer in trace.layers], axis=1)
        return np.stack([np.einsum("rlhnd,rn->rlhd", V, kind) for kind in kinds], axis=1)

    kinds = held.opening_marks, held.closing_marks
    sums = novels.in_parts(values, held.rows[:, :-1], *kinds).sum(axis=0)
    return [total / kind.sum() for total, kind in zip(sums, kinds)]


def put_in(heads, values, opens, closes):
    """Return the interventions that give heads (layer, head) the mean values of opening marks where quotations close,
    and the reverse; `opens` and `closes` are of bool, shape (n_rows, length)."""
    return [
        ReplaceValues(where, value[layer - 1, head - 1], layer, head)
        for layer, head in heads
        for where, value in zip((closes, opens), values)
    ]


def patched(params, rows, opens, closes, tokenizer, heads, values):
    """Return the log-odds of a closing mark with values put in: array, shape (n_rows, length)."""

    def log_odds(rows, opens, closes):
        return read(params, rows, tokenizer, put_in(heads, values, opens, closes))[1]

    return novels.in_parts(log_odds, rows, opens, closes)


def measure(params, tokenizer, held, sets):
    """Return how well closing marks are placed, by the heads into which values are put."""
    values, log_odds = mean_values(params, held), read(params, held.rows, tokenizer)[1]
    touched = (held.opening_marks | held.closing_marks).any(axis=1)
    marked = [part[touched] for part in (held.rows, held.opening_marks, held.closing_marks)]
    found = {}
    for heads in sets:
        log_odds[touched] = patched(params, *marked, tokenizer, heads, values)
        found[name(*heads)] = told_apart(log_odds, held)
    return {"exchanged": found}


def values_of(number):
    """Return the mean values of a model of the package: array, shape (2, n_layers, n_heads, d_v)."""
    held = novels.held_out(novels.read_tokenizer())
    return np.stack(mean_values(novels.read_model(number), held)).astype(np.float32)


if __name__ == "__main__":
    values = {model: values_of(number) for model, number in novels.ALIVE.items()}
    np.savez_compressed(novels.FOLDER / novels.MARK_VALUES, **values)
