"""Copying: random words told twice, the heads that look at what came after, and whether they suffice."""

import numpy as np

from attn import switch_off
from attn.interventions import named_head
from recordings._arithmetic import mean_interval, plain

from .model import HEADS, N_LAYERS, handed_over, losses, mixtures

N_TEXTS, N_WORDS, N_RANDOM = 24, 25, 30


def words_of(model, rng, n):
    """Return tokens that are whole words behind a blank, drawn at random."""
    known = [token for token in range(model.config.vocab_size) if is_word(model.tokenizer.decode([token]))]
    return rng.choice(known, n, replace=False)


def is_word(text):
    return text[:1] == " " and len(text) > 3 and text[1:].isascii() and text[1:].isalpha() and text[1:].islower()


def copying(model):
    rng = np.random.default_rng(0)
    drawn = words_of(model, rng, 2 * N_TEXTS * N_WORDS).reshape(2, N_TEXTS, N_WORDS)
    told_twice, told_once = np.hstack([drawn[0], drawn[0]]), np.hstack([drawn[1], drawn[0]])
    seen, new = np.arange(N_TEXTS) % 2 == 0, np.arange(N_TEXTS) % 2 == 1
    trace = model.trace(told_twice)
    again = np.arange(N_WORDS, 2 * N_WORDS - 1)  # of these the next word is known
    weights = np.concatenate([layer.attention.weights for layer in trace.layers], axis=1)  # (texts, heads, n, n)
    after = weights[:, :, again, again - N_WORDS + 1].mean(axis=-1)
    order = [HEADS[place] for place in np.argsort(-after[seen].mean(axis=0))]
    rows, other = told_twice[new], told_once[new]

    def loss(rows, done=()):
        return losses(model.logits(rows, done, last=False), rows)[:, again].mean(axis=1)

    first = losses(model.logits(rows, last=False), rows)[:, : N_WORDS - 1].mean(axis=1)
    of_layers = [[head for head in order[20:] if named_head(head)[0] == named_head(one)[0]] for one in order[:5]]
    randoms = [[str(rng.choice(heads)) for heads in of_layers] for _ in range(N_RANDOM)]
    off = [loss(rows, [switch_off(*named_head(head)) for head in heads]).mean() for heads in randoms]
    mixed = [mixtures(model.trace(rows), layer) for layer in range(1, N_LAYERS + 1)]

    def given(heads):
        done = [
            handed_over(mixed[layer - 1], layer, head, place=slice(N_WORDS, None))
            for layer, head in map(named_head, heads)
        ]
        return mean_interval(loss(other, done), range(len(rows)))

    strangers = [str(head) for head in rng.choice(order[20:], 20, replace=False)]
    texts = range(len(rows))
    return {
        "texts": len(rows),
        "words": N_WORDS,
        "heads": {head: plain(after[new].mean(axis=0)[HEADS.index(head)], 3) for head in order[:5]},
        "loss": {
            "first time": mean_interval(first, texts),
            "second time": mean_interval(loss(rows), texts),
            "five heads off": mean_interval(loss(rows, [switch_off(*named_head(head)) for head in order[:5]]), texts),
            "five others of the same layers off, least and most": plain([min(off), max(off)]),
        },
        "put into a text that repeats nothing": {
            "nothing": mean_interval(loss(other), texts),
            "twenty others": given(strangers),
            **{str(n): given(order[:n]) for n in (5, 10, 20)},
        },
    }
