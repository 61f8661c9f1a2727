"""Quotations that are begun and gone on with, by the model and by the author: which mark comes first."""

import numpy as np

from attn import decoder, switch_off
from attn.course import novels
from attn.course.novels import CONFIG
from attn.generation import Cache, draw

from .quotations import name, other_pairs
from .reading import mean

N_READ, N_NEW, SEEDS = 10, 60, range(6)
FIRST = (novels.CLOSING, novels.OPENING, "\n")  # what may come first: a closing mark, an opening one, a paragraph's end


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


def measure(params, tokenizer, text, quoting):
    """Return by name which mark comes first: the author's, and the model's, draw by draw. Pairs of other heads are
    drawn once each."""
    texts = beginnings(tokenizer, text)
    read = texts[:, : N_READ + 2]
    found = {"Austen": first_marks(texts[:, N_READ + 2 :], tokenizer)}
    draws = {(): SEEDS, quoting: SEEDS, **{pair: [seed] for seed, pair in enumerate(other_pairs(quoting))}}
    for heads, seeds in draws.items():
        off = [switch_off(*head) for head in heads]
        found[name(*heads)] = [first_marks(written(params, read, off, seed), tokenizer) for seed in seeds]
    return found
