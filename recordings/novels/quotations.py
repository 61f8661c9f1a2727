"""Quotation marks: which heads attend to the last one, by place, by distance and beside other heads."""

from dataclasses import replace
from itertools import combinations

import numpy as np

from attn_course.novels import CONFIG, LENGTH

from .reading import mean

HEADS = [(layer, head) for layer in range(1, CONFIG.n_layers + 1) for head in range(1, CONFIG.n_heads + 1)]
LATER = [head for head in HEADS if head[0] > 1]
DISTANCES = [(1, 16), (17, 36), (37, 64), (65, 127)]


def name(*heads):
    return " and ".join(f"L{layer}H{head}" for layer, head in heads)


def other_sets(heads, n, n_sets=10):
    """Return sets of n heads that are not among these, of the layers after the first, drawn at random."""
    sets = list(combinations([head for head in LATER if head not in heads], n))
    return [sets[i] for i in np.random.default_rng(0).permutation(len(sets))[:n_sets]]


def on_the_mark(weights, held):
    """Return each head's mean weight on the last quotation mark: lists [layer][head]."""
    row, place = np.nonzero((held.marks > 0) & (held.marks < np.arange(LENGTH)))
    return weights[row, :, :, place, held.marks[row, place]].mean(axis=0).astype(float).round(4).tolist()


def on_the_mark_by_distance(weights, held, layer, head):
    """Return the head's mean weight on the mark of an open quotation, by how many tokens back it stands."""
    row, place = np.nonzero(held.inside)
    mark = held.marks[row, place]
    on, back = weights[row, layer - 1, head - 1, place, mark], place - mark
    return {f"{few} to {many}": mean(on[(few <= back) & (back <= many)]) for few, many in DISTANCES}


def most_on_the_mark(on_mark):
    """Return the two heads whose weights on the mark, lists [layer][head], are the largest."""
    return tuple(HEADS[place] for place in np.argsort(np.ravel(on_mark))[:-3:-1])


def quoting_by_half(weights, held):
    """Return the names of these two heads as found on either half of the rows."""
    found, half = [], len(held.rows) // 2
    for part in (slice(half), slice(half, None)):
        rows = replace(held, **{field: array[part] for field, array in vars(held).items()})
        found.append([name(head) for head in most_on_the_mark(on_the_mark(weights[part], rows))])
    return found
