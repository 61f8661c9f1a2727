"""What is measured of a model that has read six novels: at each of its marks, at its end, and rounded to bytes."""

from functools import partial

import numpy as np

from attn import decoder, switch_off
from attn.generation import Cache, draw
from attn.interventions import named_head
from attn_course import novels
from attn_course.novels import CONFIG

from . import counting, exchange, places, quotations, reading
from .learn import MARKS, STEPS, params_at
from .quotations import HEADS, name, other_sets
from .reading import mean

N_READ, N_NEW, SEEDS = 10, 60, range(6)
FIRST = (novels.CLOSING, novels.OPENING, "\n")  # what may come first: a closing mark, an opening one, a paragraph's end


def measure(seed, tokenizer, held):
    """Measure one model that was trained to the end."""
    params, passages = params_at(seed, STEPS), held.rows.ravel()[:3000].reshape(60, 50)
    found = measure_at_marks(seed, tokenizer, held)
    weights = novels.in_parts(partial(novels.looks, params), held.rows[:, :-1])
    quoting = quotations.most_on_the_mark(found["on the mark"][-1])
    return found | {
        "quoting": [name(head) for head in quoting],
        "quoting, by half": quotations.quoting_by_half(weights, held),
        "by distance": quotations.on_the_mark_by_distance(weights, held, *quoting[0]),
        "told: once, again, behind others": {
            "random": reading.read_twice(params, reading.RANDOM),
            "novels": reading.read_twice(params, passages),
        },
    }


def measure_at_marks(seed, tokenizer, held):
    """Return by name what a model does at each of its marks; a head's weights are lists [layer][head]."""
    found = {"held out": [], "closing": [], "on the mark": []}
    for step in MARKS:
        params = params_at(seed, step)
        weights = novels.in_parts(partial(novels.looks, params), held.rows[:, :-1])
        losses, log_odds = reading.read(params, held.rows, tokenizer)
        found["held out"].append(mean(losses))
        P = 1 / (1 + np.exp(-log_odds))
        found["closing"].append([mean(P[held.inside], 5), mean(P[held.outside], 5)])
        found["on the mark"].append(quotations.on_the_mark(weights, held))
    return found


def measure_rounded(number, quoting, tokenizer, held, counted):
    """Measure one of the models as the package has them, a byte a number.

    quoting : the names of the two heads that attend most to quotation marks; counted : dict of the losses of n-grams.
    """
    params, rows = novels.read_model(number), held.rows
    quoting = tuple(named_head(head) for head in quoting)
    return {
        "zero ablation": places.zero_ablation(params, tokenizer, held, quoting),
        "mean ablation": places.mean_ablation(params, tokenizer, held, *quoting[0]),
        "first mark": continued(params, tokenizer, rows.ravel(), quoting),
        "n-grams": counting.beside(reading.read(params, rows, tokenizer)[0], counted),
        "values put in": exchange.measure(params, tokenizer, held, [*((head,) for head in HEADS), quoting]),
    }


# --- quotations that are begun, and gone on with by the model and by the author --------------------------------------


def beginnings(tokenizer, text):
    """Return what is read of each quotation that is still open then, and what the author has written on: array of int,
    shape (n, N_READ + 2 + N_NEW). The token before the mark is read as well."""
    marks, inside = novels.quotations(text, tokenizer)
    starts = np.flatnonzero(inside & (marks == np.arange(len(text))))
    starts = starts[(starts > 0) & (starts + N_READ + N_NEW < len(text)), None]
    ends = [tokenizer.words.index(word) for word in FIRST]
    texts = text[starts + np.arange(-1, N_READ + 1 + N_NEW)]
    return texts[~np.isin(texts[:, 2 : N_READ + 2], ends).any(axis=1)]


def written(params, read, interventions=(), seed=0):
    """Return what the model writes on from what it has read: array of int, shape (n, N_NEW)."""
    rng, cache, new, found = np.random.default_rng(seed), Cache(), read, []
    for _ in range(N_NEW):
        logits = decoder(params, CONFIG, new, cache=cache, interventions=interventions)[:, -1]
        new = draw(logits, rng)[:, None]
        found.append(new)
    return np.concatenate(found, axis=1)


def first_marks(new, tokenizer):
    """Return in what share of texts, shape (n, N_NEW), a closing mark, an opening one or a paragraph's end comes first,
    and in what share there is none of them."""
    kinds = np.stack([new == tokenizer.words.index(word) for word in FIRST], axis=-1)
    first = kinds[np.arange(len(new)), kinds.any(axis=-1).argmax(axis=1)]
    return [mean(first[:, kind]) for kind in range(len(FIRST))] + [mean(~first.any(axis=-1))]


def continued(params, tokenizer, text, quoting):
    """Return by name which mark comes first: the author's, and the model's, draw by draw. Pairs of other heads are
    drawn once each."""
    texts = beginnings(tokenizer, text)
    read = texts[:, : N_READ + 2]
    found = {"Austen": first_marks(texts[:, N_READ + 2 :], tokenizer)}
    draws = {(): SEEDS, quoting: SEEDS, **{pair: [seed] for seed, pair in enumerate(other_sets(quoting, 2))}}
    for heads, seeds in draws.items():
        off = [switch_off(*head) for head in heads]
        found[name(*heads)] = [first_marks(written(params, read, off, seed), tokenizer) for seed in seeds]
    return found
