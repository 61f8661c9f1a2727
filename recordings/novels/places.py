"""What a model makes of a closing mark at three kinds of places, and what it costs to take something from it.

Inside a quotation, behind one that was closed in the same paragraph, and where the paragraph has had no mark.
"""

import numpy as np

from attn import Forbid, ReplaceValues, Trace, decoder, switch_off
from attn_course import novels
from attn_course.novels import CONFIG, LENGTH

from .quotations import HEADS, name, other_pairs
from .reading import mean, read

ONLY_ITSELF = ~np.eye(LENGTH, dtype=bool)
KINDS = ("inside", "closed", "narration")


# --- what is measured ------------------------------------------------------------------------------------------------


def at_places(log_odds, held):
    """Return by name how likely a closing mark is at each kind of place, and how well two of them are told apart.

    Each comparison stands with the bounds of 95 % of its values if rows are drawn again.
    """
    P, two = 1 / (1 + np.exp(-log_odds)), (held.inside, held.closed)
    return {
        "P": [mean(P[getattr(held, kind)], 5) for kind in KINDS],
        "inside : closed": compared(P, two, np.divide, digits=1),
        "log-odds, inside - closed": compared(log_odds, two, np.subtract, digits=2),
    }


def compared(X, two, compare, digits, n_drawn=1000):
    """Return how the means of X at two kinds of places compare, and the 2.5 % and 97.5 % quantiles over drawn rows.

    X, and each of `two`, of bool : shape (n_rows, length).
    """
    by_row = np.stack([part.sum(axis=1) for kind in two for part in (X * kind, kind)])
    rows = np.flatnonzero(by_row[1] + by_row[3])  # the others add nothing, in whatever number they are drawn
    counts = np.random.default_rng(0).multinomial(len(X), np.full(len(X), 1 / len(X)), size=n_drawn)[:, rows]
    sums = np.concatenate([by_row[:, rows].sum(axis=1, keepdims=True), by_row[:, rows] @ counts.T], axis=1)
    found = compare(sums[0] / sums[1], sums[2] / sums[3])
    return [round(float(number), digits) for number in (found[0], *np.quantile(found[1:], [0.025, 0.975]))]


def measure(params, tokenizer, held, interventions=()):
    """Return by name the loss, and what becomes of closing marks at the three kinds of places."""
    losses, log_odds = read(params, held.rows, tokenizer, interventions)
    return {"loss": mean(losses), **at_places(log_odds, held)}


# --- what is taken away ----------------------------------------------------------------------------------------------


def zero_ablation(params, tokenizer, held, quoting):
    """Measure the model without a head: none, each one, the two that quote, and pairs of others."""
    sets = [(), *((head,) for head in HEADS), quoting, *other_pairs(quoting)]
    return {name(*heads): measure(params, tokenizer, held, [switch_off(*head) for head in heads]) for heads in sets}


def mean_ablation(params, tokenizer, held):
    """Measure the model if a head writes at all places what it writes on average."""
    mixtures = mean_mixtures(params, held.rows[:, :-1])
    means = [ReplaceValues(slice(None), mixtures[layer - 1, head - 1], layer, head) for layer, head in HEADS]
    return {name((one.layer, one.head)): measure(params, tokenizer, held, [one]) for one in means}


def mean_mixtures(params, rows):
    """Return what each head mixes on average, over all places of rows: array, shape (n_layers, n_heads, d_v)."""

    def mixtures(part):
        with Trace() as trace:
            decoder(params, CONFIG, part)
        found = [(layer.attention.weights @ layer.attention.V).mean(axis=-2) for layer in trace.layers]
        return np.stack(found, axis=1)

    return novels.in_parts(mixtures, rows).mean(axis=0)


def only_itself(params, tokenizer, held):
    """Measure the model if a head of layer 1, or all of them, may attend to nothing but the token itself."""
    each = {name((1, head)): Forbid(ONLY_ITSELF, 1, head) for head in range(1, CONFIG.n_heads + 1)}
    cuts = {**each, "all": Forbid(ONLY_ITSELF, 1)}
    return {which: measure(params, tokenizer, held, [cut]) for which, cut in cuts.items()}


def where_heads_look(params, rows, first=8):
    """Return each head's mean weight on the token itself, the one before, and the row's first: lists [layer][head].

    rows : array of int, shape (n_rows, length); places before `first` are not asked.
    """
    asks = np.arange(first, rows.shape[1])
    keys = {"itself": asks, "one back": asks - 1, "first of the row": np.zeros_like(asks)}

    def looks(part):
        weights = novels.looks(params, part)
        return np.stack([weights[..., asks, there].mean(axis=-1) for there in keys.values()], axis=1)

    found = novels.in_parts(looks, rows).mean(axis=0, dtype=float)
    return dict(zip(keys, found.round(4).tolist()))
