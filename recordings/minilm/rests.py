"""Whether heads rest on [CLS]: what they change, what stands there, and how long sentences are."""

import numpy as np

from recordings._arithmetic import correlation, plain

from .heads import mean_weights
from .model import N_HEADS, N_LAYERS, SENTENCES, read, weights_and_values


def rests(model, by_head):
    """Measure how, in each layer, the weight on [CLS] goes with what changes without the head; how long its values are
    there; and how the share of [CLS] goes with the length of the sentence."""
    seen = read(model, SENTENCES["natural"])
    lengths, shares = [len(one.text.ids) for one in seen], [mean_weights(one)["[CLS]"].mean() for one in seen]
    values = np.mean([lengths_of_values(model, sentence) for sentence in SENTENCES["natural"]], axis=0)
    by_layer = [np.reshape(by_head[name], (N_LAYERS, N_HEADS)) for name in ("[CLS]", "off: change of tokens")]
    return {
        "correlation of the weight on [CLS] with the change of tokens": {
            "off": {"within layers, 1 to 6": plain([correlation(*both) for both in zip(*by_layer)])}
        },
        "length of values, [CLS] over words": plain(values),
        "by sentence": {"tokens": lengths, "share on [CLS]": plain(shares)},
        "correlation of tokens with the share": plain(correlation(lengths, shares)),
    }


def lengths_of_values(model, sentence):
    """Return how long the value at [CLS] is beside the mean of the words, shape (72,)."""
    lengths = np.linalg.norm(weights_and_values(model, sentence)[1], axis=-1)
    return lengths[:, 0] / lengths[:, 1:-1].mean(axis=1)
