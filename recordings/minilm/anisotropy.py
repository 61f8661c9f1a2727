"""Vectors of all words point one way: how far, by layer."""

import numpy as np

from recordings._arithmetic import plain

from .model import SENTENCES, read


def anisotropy(model):
    """Measure the mean cosine of pairs of words of natural sentences."""
    return {"cosine of two words, by layer": {"as they are": pairs_of_words(read(model, SENTENCES["natural"]))}}


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
