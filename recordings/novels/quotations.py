"""Quotation marks: how likely the closing mark is, and which heads attend to the opening one."""

from dataclasses import replace
from itertools import combinations

import numpy as np

from attn_course import novels
from attn_course.novels import CONFIG, LENGTH

from .reading import mean

HEADS = [(layer, head) for layer in range(1, CONFIG.n_layers + 1) for head in range(1, CONFIG.n_heads + 1)]
DISTANCES, READS = [(1, 16), (17, 36), (37, 64), (65, 127)], (17, 33, 65)


def name(*heads):
    return " and ".join(f"L{layer}H{head}" for layer, head in heads)


# --- how likely the closing mark is ----------------------------------------------------------------------------------


def inside_and_outside(P, held):
    """Return how likely a closing mark is, on average, inside quotations and outside them."""
    return [mean(P[held.inside], 5), mean(P[held.outside], 5)]


def measure_context(params, tokenizer, held):
    """Return how likely closing marks are, late in a row, if the model reads all before them, or a few tokens only."""
    P, late = novels.closing(params, held.rows[:, :-1], tokenizer), np.arange(LENGTH) >= READS[-1] - 1
    found = {"all": [mean(P[kind & late], 5) for kind in (held.inside, held.outside)]}
    for n_read in READS:
        found[n_read] = []
        for kind in (held.inside, held.outside):
            row, place = np.nonzero(kind & late)
            text = held.rows[row[:, None], place[:, None] + np.arange(1 - n_read, 1)]
            found[n_read].append(mean(novels.closing(params, text, tokenizer)[:, -1], 5))
    return found


# --- which heads attend to the opening mark --------------------------------------------------------------------------


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


def other_pairs(quoting, n_pairs=10):
    """Return pairs of other heads, of the layers after the first, drawn at random."""
    others = [head for head in HEADS if head not in quoting and head[0] > 1]
    drawn = np.random.default_rng(0).permutation(list(combinations(range(len(others)), 2)))[:n_pairs]
    return [(others[i], others[j]) for i, j in drawn]
