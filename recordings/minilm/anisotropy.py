"""Vectors of all words point one way: how far, by layer, and what is left if their mean is taken off."""

from dataclasses import replace

import numpy as np

from .arithmetic import cosine, plain
from .model import SENTENCES, anchor, read
from .senses import sentences_of


def mean_of_words(model):
    """Return the mean vector of all tokens of natural sentences but [CLS] and [SEP], by layer: shape (7, 384)."""
    return np.concatenate([one.streams[:, 1:-1] for one in read(model, SENTENCES["natural"])], axis=1).mean(axis=1)


def without_mean(seen, mean):
    """Return what was seen with a vector of each layer, shape (7, 384), taken off all tokens."""
    return replace(seen, streams=seen.streams - mean[:, None])


def anisotropy(model, mean):
    """Measure the mean cosine of pairs of words, and how often a word is nearest to its sense by plain cosine, as it is
    and with the mean taken off."""
    seen = read(model, SENTENCES["natural"])
    ways = {"as they are": np.zeros_like(mean), "mean taken off": mean}
    return {
        "share of the mean in the squared length, by layer": plain(share_of_mean(seen, mean)),
        "cosine of two words, by layer": {
            name: pairs_of_words([without_mean(one, taken) for one in seen]) for name, taken in ways.items()
        },
        "right by plain cosine, by layer": {
            word: {name: right_by_cosine(model, word, taken) for name, taken in ways.items()}
            for word in SENTENCES["senses"]
        },
    }


def share_of_mean(seen, mean):
    """Return the squared length of the mean vector over the mean squared length of all, shape (7,)."""
    lengths = np.concatenate([(one.streams[:, 1:-1] ** 2).sum(axis=-1) for one in seen], axis=1)
    return (mean**2).sum(axis=-1) / lengths.mean(axis=1)


def pairs_of_words(seen):
    """Return the mean cosine of two words of one sentence, and of two sentences, by layer."""
    X = np.concatenate([one.streams[:, 1:-1] for one in seen], axis=1).astype(float)
    X /= np.linalg.norm(X, axis=-1, keepdims=True)
    cosines = X @ X.swapaxes(1, 2)
    sentence = np.repeat(np.arange(len(seen)), [len(one.text.ids) - 2 for one in seen])
    same, itself = sentence[:, None] == sentence, np.eye(len(sentence), dtype=bool)
    return {
        "of one sentence": plain(cosines[:, same & ~itself].mean(axis=1)),
        "of two sentences": plain(cosines[:, ~same].mean(axis=1)),
    }


def right_by_cosine(model, word, taken):
    """Return how often a word's vector has the largest cosine with the anchors of its sense, by layer; a vector of each
    layer is taken off both."""
    found = {}
    for name, part in (("word", "templates"), ("misleading", "misleading")):
        sentences, senses, _ = sentences_of(word, part)
        X = np.stack([one.vector(word) for one in read(model, sentences)])
        anchors = [anchor(model, words) for words in SENTENCES["senses"][word]["anchors"].values()]
        best = np.stack([cosine(X - taken, one - taken) for one in anchors]).argmax(axis=0)
        found[name] = plain((best == senses[:, None]).mean(axis=0))
    return found
