"""Whether heads rest on [CLS]: what they change, what stands there, and how long sentences are."""

import numpy as np

from attn import Trace, encoder
from attn.course.minilm import encode

from .arithmetic import correlation, plain, ranks
from .heads import mean_weights
from .model import N_HEADS, N_LAYERS, SENTENCES, read


def rests(model, by_head):
    """Measure, over heads, how the weight on [CLS] goes with what changes without the head; how long its values are
    there; and how the share of [CLS] goes with the length of the sentence."""
    seen = read(model, SENTENCES["natural"])
    lengths, shares = [len(one.text.ids) for one in seen], [mean_weights(one)["[CLS]"].mean() for one in seen]
    values, written = np.mean([lengths_of_values(model, sentence) for sentence in SENTENCES["natural"]], axis=0)
    changes = {way: by_head[f"{way}: change of tokens"] for way in ("off", "mean")}
    return {
        "correlation of the weight on [CLS] with the change of tokens": {
            way: {
                "within layers, 1 to 6": plain([correlation(*both) for both in zip(*map(layers, (cls, change)))]),
                "of ranks, all heads": plain(correlation(ranks(cls), ranks(change))),
            }
            for way, change in changes.items()
            for cls in [by_head["[CLS]"]]
        },
        "length of values, [CLS] over words": plain(values),
        "length of values times W_O, [CLS] over words": plain(written),
        "correlation of the weight on [CLS] with that length, of ranks, all heads": plain(
            correlation(ranks(by_head["[CLS]"]), ranks(written))
        ),
        "by sentence": {"tokens": lengths, "share on [CLS]": plain(shares)},
        "correlation of tokens with the share": plain(correlation(lengths, shares)),
    }


def layers(numbers):
    return np.reshape(numbers, (N_LAYERS, N_HEADS))


def lengths_of_values(model, sentence):
    """Return how long the value at [CLS] is beside the mean of the words, as it is and times W_O: shape (2, 72)."""
    with Trace() as trace:
        encoder(model.params, model.config, encode(model.tokenizer, sentence).ids)
    found = []
    for number, layer in enumerate(trace.layers, start=1):
        V = layer.attention.V
        written = V @ model.params[f"layer {number}"]["attention"]["W_O"]
        long = [np.linalg.norm(X, axis=-1) for X in (V, written)]
        found.append([X[:, 0] / X[:, 1:-1].mean(axis=1) for X in long])
    return np.concatenate(found, axis=1)
