"""Quotation marks: which heads attend to the opening mark, and what becomes of the closing mark without them."""

from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np

from attn import Forbid, switch_off
from attn.course import novels
from attn.course.novels import CONFIG, LENGTH

from .reading import mean, read

HEADS = [(layer, head) for layer in range(1, CONFIG.n_layers + 1) for head in range(CONFIG.n_heads)]
DISTANCES, READS = [(1, 16), (17, 36), (37, 64), (65, 127)], (17, 33, 65)


def name(*heads):
    return " and ".join(f"{layer}.{head}" for layer, head in heads)


# --- how likely the closing mark is ----------------------------------------------------------------------------------


def inside_and_outside(P, held):
    """Return how likely a closing mark is, on average, inside quotations and outside them."""
    return [mean(P[held.inside], 5), mean(P[held.outside], 5)]


def times_likelier(P, held):
    """Return inside / outside, and where 95 % of it lies if other rows had been drawn."""
    parts = (P * held.inside, held.inside, P * held.outside, held.outside)
    by_row = np.stack([part.sum(axis=1) for part in parts])
    drawn = by_row[:, np.random.default_rng(0).integers(len(P), size=(1000, len(P)))].sum(axis=-1)
    ratios = [sums[0] / sums[1] / (sums[2] / sums[3]) for sums in (by_row.sum(axis=1), drawn)]
    return [round(float(number), 2) for number in (ratios[0], *np.quantile(ratios[1], [0.025, 0.975]))]


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
    """Return each head's mean weight on the last quotation mark, and on the token before it: lists [layer][head]."""
    row, place = np.nonzero((held.marks > 0) & (held.marks < np.arange(LENGTH)))
    mark = held.marks[row, place]
    return [weights[row, :, :, place, key].mean(axis=0).astype(float).round(4).tolist() for key in (mark, mark - 1)]


def on_the_mark_by_distance(weights, held, layer, head):
    """Return the head's mean weight on the mark of an open quotation, by how many tokens back it stands."""
    row, place = np.nonzero(held.inside)
    mark = held.marks[row, place]
    on, back = weights[row, layer - 1, head, place, mark], place - mark
    return {f"{few} to {many}": mean(on[(few <= back) & (back <= many)]) for few, many in DISTANCES}


def most_on_the_mark(on_mark):
    """Return the two heads whose weights on the mark, lists [layer][head], are the largest."""
    return tuple(HEADS[place] for place in np.argsort(np.ravel(on_mark))[:-3:-1])


def quoting_by_half(weights, held):
    """Return the names of these two heads as found on either half of the rows."""
    found, half = [], len(held.rows) // 2
    for part in (slice(half), slice(half, None)):
        rows = replace(held, **{field: array[part] for field, array in vars(held).items()})
        found.append([name(head) for head in most_on_the_mark(on_the_mark(weights[part], rows)[0])])
    return found


# --- interventions ---------------------------------------------------------------------------------------------------


def measure_heads(params, tokenizer, held, quoting):
    """Return by name what it costs that heads are off: each one, the two that quote, and pairs of others."""
    sets = [(), *((head,) for head in HEADS), quoting, *other_pairs(quoting)]
    return {name(*heads): measure_off(params, tokenizer, held, *heads) for heads in sets}


def measure_off(params, tokenizer, held, *heads):
    """Return what it costs that heads are off, and what becomes of the closing marks."""
    losses, log_odds = read(params, held.rows, tokenizer, [switch_off(*head) for head in heads])
    P = 1 / (1 + np.exp(-log_odds))
    return {"loss": mean(losses), "closing": inside_and_outside(P, held), "ratio": times_likelier(P, held)}


def other_pairs(quoting, n_pairs=10):
    """Return pairs of other heads, of the layers after the first, drawn at random."""
    others = [head for head in HEADS if head not in quoting and head[0] > 1]
    drawn = np.random.default_rng(0).permutation(list(combinations(range(len(others)), 2)))[:n_pairs]
    return [(others[i], others[j]) for i, j in drawn]


def measure_edges(params, tokenizer, held, quoting):
    """Return what becomes of closing marks if two heads may not look at quotation marks, or at other keys instead; and
    how much weight that takes from the first of them, at ends inside quotations."""
    weights = novels.in_parts(partial(novels.looks, params), held.rows[:, :-1])
    forbidden = [edges(weights, held, tokenizer, *head) for head in quoting]
    (layer, head), found = quoting[0], {}

    def closing(rows, *keys):
        return novels.closing(params, rows, tokenizer, [Forbid(one, *where) for one, where in zip(keys, quoting)])

    for kind in forbidden[0]:
        P = novels.in_parts(closing, held.rows[:, :-1], *(keys[kind] for keys in forbidden))
        taken = (weights[:, layer - 1, head] * forbidden[0][kind]).sum(axis=-1)[held.inside]
        found[kind] = [*inside_and_outside(P, held), mean(taken)]
    return found


def edges(weights, held, tokenizer, layer, head):
    """Return which keys are taken from a head, by name: arrays of bool, shape (n_rows, length, length).

    The last quotation mark of the paragraph, all marks so far, and in their place the heaviest key that is no mark.
    """
    row, place = np.nonzero((held.marks >= 0) & (held.marks < np.arange(LENGTH)))
    marks = np.isin(held.rows[:, :-1], [tokenizer.words.index(word) for word in (novels.OPENING, novels.CLOSING)])
    found = {kind: np.zeros((len(marks), LENGTH, LENGTH), bool) for kind in ("last mark", "all marks", "another key")}
    found["last mark"][row, place, held.marks[row, place]] = True
    found["all marks"] |= marks[:, None, :] & np.tri(LENGTH, k=-1, dtype=bool)
    others = np.where(marks[:, None, :], 0, weights[:, layer - 1, head])[row, place]
    found["another key"][row, place, others.argmax(axis=-1)] = True
    return found
