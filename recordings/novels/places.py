"""How well a model tells where a closing mark may come, and what it costs to take something from it.

Two kinds of places are compared: inside a quotation, and behind one that was closed in the same paragraph.
"""

import numpy as np

from attn import ReplaceValues, Trace, decoder, switch_off
from attn_course import novels
from attn_course.novels import CONFIG

from .quotations import HEADS, name
from .reading import mean, read

ALONE = [*HEADS[: CONFIG.n_heads], (4, 1)]  # heads that the page switches off beside those that quote


# --- what is measured ------------------------------------------------------------------------------------------------


def told_apart(log_odds, held, n_drawn=1000):
    """Return by name the mean log-odds of a closing mark, array of shape (n_rows, length), inside less closed, and the
    bounds of 95 % of its values if rows are drawn again."""
    two = held.inside, held.closed
    by_row = np.stack([part.sum(axis=1) for kind in two for part in (log_odds * kind, kind)])
    rows = np.flatnonzero(by_row[1] + by_row[3])  # the others add nothing, in whatever number they are drawn
    n = len(log_odds)
    counts = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=n_drawn)[:, rows]
    sums = np.concatenate([by_row[:, rows].sum(axis=1, keepdims=True), by_row[:, rows] @ counts.T], axis=1)
    found = sums[0] / sums[1] - sums[2] / sums[3]
    numbers = found[0], *np.quantile(found[1:], [0.025, 0.975])
    return {"log-odds, inside - closed": [round(float(number), 2) for number in numbers]}


def measure(params, tokenizer, held, interventions=()):
    """Return by name the loss, how well the two kinds of places are told apart, and how likely a closing mark is at the
    ends of clauses: inside, outside, closed, narration."""
    losses, log_odds = read(params, held.rows, tokenizer, interventions)
    P = 1 / (1 + np.exp(-log_odds))
    likely = [mean(P[kind], 7) for kind in (held.inside, held.outside, held.closed, held.narration)]
    return {"loss": mean(losses), **told_apart(log_odds, held), "closing": likely}


# --- what is taken away ----------------------------------------------------------------------------------------------


def zero_ablation(params, tokenizer, held, quoting):
    """Measure the model as it is, without one head, and without the two that quote."""
    sets = [(), *((head,) for head in sorted({*ALONE, *quoting})), quoting]
    return {name(*heads): measure(params, tokenizer, held, [switch_off(*head) for head in heads]) for heads in sets}


def mean_ablation(params, tokenizer, held, layer, head):
    """Measure the model if a head writes at all places what it writes on average."""

    def mixtures(part):
        with Trace() as trace:
            decoder(params, CONFIG, part)
        found = trace.layers[layer - 1].attention
        return (found.weights[:, head - 1] @ found.V[:, head - 1]).mean(axis=1)

    mixture = novels.in_parts(mixtures, held.rows[:, :-1]).mean(axis=0)
    at_its_mean = ReplaceValues(slice(None), mixture, layer, head)
    return {name((layer, head)): measure(params, tokenizer, held, [at_its_mean])}
