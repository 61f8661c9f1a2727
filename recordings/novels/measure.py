"""What is measured of a model that has read six novels: at each of its marks, at its end, and rounded to bytes.

A first version measured more, which no page shows; novels.json is of that version, and holds it as well.
"""

from functools import partial

import numpy as np

from attn.interventions import named_head
from attn_course import novels

from . import continuing, copying, counting, exchange, places, quotations, reading, writing
from .learn import MARKS, STEPS, params_at


def measure(seed, tokenizer, held):
    """Measure one model that was trained to the end."""
    params, text = params_at(seed, STEPS), held.rows.ravel()
    found = measure_at_marks(seed, tokenizer, held)
    weights = novels.in_parts(partial(novels.looks, params), held.rows[:, :-1])
    quoting = quotations.most_on_the_mark(found["on the mark"][-1])
    return found | {
        "quoting": [quotations.name(head) for head in quoting],
        "quoting, by half": quotations.quoting_by_half(weights, held),
        "by distance": quotations.on_the_mark_by_distance(weights, held, *quoting[0]),
        "closing, reading few": quotations.measure_context(params, tokenizer, held),
        "told: once, again, behind others": reading.read_twice(params, text),
        "last 20 tokens behind": reading.loss_by_context(params, held),
        "she, not he: women": reading.she_not_he(params, tokenizer, reading.WOMEN),
        "she, not he: men": reading.she_not_he(params, tokenizer, reading.MEN),
    }


def measure_at_marks(seed, tokenizer, held):
    """Return by name what a model does at each of its marks; a head's weights are lists [layer][head]."""
    found = {"held out": [], "closing": [], "on the mark": [], "before the mark": []}
    for step in MARKS:
        params = params_at(seed, step)
        weights = novels.in_parts(partial(novels.looks, params), held.rows[:, :-1])
        on_it, before_it = quotations.on_the_mark(weights, held)
        losses, log_odds = reading.read(params, held.rows, tokenizer)
        found["held out"].append(reading.mean(losses))
        found["closing"].append(quotations.inside_and_outside(1 / (1 + np.exp(-log_odds)), held))
        found["on the mark"].append(on_it)
        found["before the mark"].append(before_it)
    return found


def counted(tokens, held):
    """Return what needs no model: by name the losses of n-grams, arrays of shape (n_rows, length), and how often each
    token comes in the training text."""
    losses = {f"{n}-grams": counting.losses(tokens, held.rows, n) for n in counting.ORDERS}
    return losses, np.bincount(tokens, minlength=novels.CONFIG.vocab_size)


def measure_rounded(number, quoting, tokenizer, held, losses, often):
    """Measure one of the models as the package has them, a byte a number.

    Parameters
    ----------
    number : int
    quoting : pair of str
        The names of the heads that attend most to quotation marks.
    tokenizer : Tokenizer
    held : HeldOut
    losses, often
        As from `counted`.
    """
    params, rows = novels.read_model(number), held.rows
    quoting = tuple(named_head(head) for head in quoting)
    lost, five = reading.read(params, rows, tokenizer)[0], losses["5-grams"]
    beside_five = {"model": lost, "5-grams": five, "model - 5-grams": lost - five}
    return {
        "zero ablation": places.zero_ablation(params, tokenizer, held, quoting),
        "mean ablation": places.mean_ablation(params, tokenizer, held),
        "only itself": places.only_itself(params, tokenizer, held),
        "where heads look": places.where_heads_look(params, rows[:, :-1]),
        "first mark": continuing.measure(params, tokenizer, rows.ravel(), quoting),
        "n-grams": counting.beside(lost, losses),
        "values put in": exchange.measure(params, tokenizer, held, quoting),
        "direct logit attribution": writing.inside_less_closed(params, tokenizer, held),
        "one back": writing.one_back(params, tokenizer, held, *quoting[0]),
        "named again, beside others": copying.named_again(params, tokenizer),
        "stood in the row": copying.repeated(beside_five, rows, tokenizer, often),
    }
