"""Two apples, a firm's and a fruit, in one sentence: which stands nearer to firms?"""

from itertools import product

import numpy as np

from attn import Trace, encoder
from attn_course.minilm import encode
from recordings._arithmetic import cosine, mean_interval, plain

from .model import SENTENCES, anchor, read, shuffled
from .senses import N_SHUFFLED


def pairs_of_apples(firm, fruit):
    """Return sentences with both apples, which of the two is the firm's, and what they share with others."""
    both = list(product(firm, fruit))
    first = [(f"{one} while {other}.", 0, one) for one, other in both]
    return first + [(f"{other} while {one}.", 1, one) for one, other in both]


def two_apples(model):
    """Measure whether the firm's apple stands nearer to firms than the fruit's in one sentence, by layer."""
    about = SENTENCES["two apples"]
    sides = {
        "different words": (about["firm"], about["fruit"]),
        "alike": ([f"she bought {x}" for x in about["alike firm"]], [f"he saw {x}" for x in about["alike fruit"]]),
    }
    texts = {name: pairs_of_apples(*side) for name, side in sides.items()}
    score, mixed = scorer(model), [shuffled(model, seed) for seed in range(N_SHUFFLED)]
    mixed = [(other, scorer(other)) for other in mixed]
    found = {}
    for name, rows in texts.items():
        groups, gap = [row[2] for row in rows], gaps(model, score, rows)
        alone = [[score(one.vector("apple")) for one in read(model, [f"{x}." for x in side])] for side in sides[name]]
        apart = np.subtract(*(np.mean(side, axis=0) for side in alone))
        shares = [plain((gaps(other, its_score, rows) > 0).mean(axis=0)) for other, its_score in mixed]
        found[name] = {
            "sentences": len(rows),
            "right order, by layer": mean_interval(gap > 0, groups),
            "right order, firm first": plain((gap[: len(rows) // 2] > 0).mean(axis=0)),
            "share of the gap, layers 1 to 6": mean_interval(gap[:, 1:] / apart[1:], groups),
            "right order, shuffled, by seed and layer": shares,
        }
    firm, fruit = scores(model, score, [(about["source"], 0, "")])
    found["source"] = {"text": about["source"], "firm, by layer": plain(firm[0]), "fruit, by layer": plain(fruit[0])}
    found["cosines of keys and queries"] = {"source": keys_and_queries(model, about["source"])}
    return found


def scorer(model):
    """Return a function of vectors: how far they point from fruits to firms, a cosine."""
    firm, fruit = (anchor(model, words) for words in SENTENCES["senses"]["apple"]["anchors"].values())
    return lambda X: cosine(X - (firm + fruit) / 2, firm - fruit)


def scores(model, score, rows):
    """Return the scores of the firm's and of the fruit's apple, each of shape (rows, 7)."""
    seen = read(model, [sentence for sentence, *_ in rows])
    return [
        np.stack([score(one.vector("apple", abs(firm - i))) for one, (_, firm, _) in zip(seen, rows)]) for i in (0, 1)
    ]


def gaps(model, score, rows):
    return np.subtract(*scores(model, score, rows))


def keys_and_queries(model, sentence, mean_off=False):
    """Compare keys and queries of all heads side by side, layers 1 to 6: the two apples, Apple and than; if asked with
    the mean over all words of natural sentences taken off."""
    text, sides = projections(model, sentence)
    if mean_off:
        read_too = [projections(model, one)[1] for one in SENTENCES["natural"]]
        words = {side: np.concatenate([one[side][:, :, 1:-1] for one in read_too], axis=2) for side in sides}
        sides = {side: X - words[side].mean(axis=2, keepdims=True) for side, X in sides.items()}
    first = text.place("apple").start
    others = {
        "apple": text.place("apple", 1).start,
        "than": text.place("than").start,
        "iphone": text.place("iphone").start,
    }
    return {
        f"apple, {word}": {
            side: plain([cosine(layer[:, first].ravel(), layer[:, other].ravel()) for layer in X], 3)
            for side, X in sides.items()
        }
        for word, other in others.items()
    }


def projections(model, sentence):
    """Return a text, and its keys and queries: arrays of shape (n_layers, n_heads, n_tokens, d_k)."""
    text = encode(model.tokenizer, sentence)
    with Trace() as trace:
        encoder(model.params, model.config, text.ids)
    return text, {
        "keys": np.stack([layer.attention.K for layer in trace.layers]),
        "queries": np.stack([layer.attention.Q for layer in trace.layers]),
    }
