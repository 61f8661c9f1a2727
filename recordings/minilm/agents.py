"""Does the vector of a sentence hold who does it to whom? A linear probe reads it from the two orders of two nouns."""

from itertools import product

import numpy as np

from recordings._arithmetic import cosine, plain

from .model import SENTENCES, read

RIDGE = 0.1  # of 0.001 to 10, all find as much in the active sentences, and from 0.1 on in the others


def agents(model):
    """Return the mean cosine of two such sentences, and in what share of new ones a probe finds the right order.

    The nouns and verbs of the first half are learned from; those of the other half are new.
    """
    seen, new = (differences(model, half) for half in (0, 1))
    learned_from = {"active": [seen["active"]], "both": list(seen.values())}
    found = {
        f"learned from {name}": {frame: plain(share_right(probe(parts), vectors)) for frame, vectors in new.items()}
        for name, parts in learned_from.items()
    }
    return {"cosine": plain(cosine(*np.moveaxis(new["active"], 1, 0)).mean()), **found}


def differences(model, half):
    """Return by frame the vectors of sentences, the animal as agent first: shape (pairs, 2, 384)."""
    about = SENTENCES["agents"]
    lists = (about[name].split() for name in ("people", "animals", "verbs", "participles"))
    people, animals, verbs, participles = (words[half * len(words) // 2 :][: len(words) // 2] for words in lists)
    sentences = {
        frame: [
            text.format(a=a, b=b, v=v, p=p)
            for one, animal, (v, p) in product(people, animals, zip(verbs, participles))
            for a, b in [(animal, one), (one, animal)]
        ]
        for frame, text in about["frames"].items()
    }
    return {
        frame: np.reshape([one.streams[-1].mean(axis=0) for one in read(model, texts)], (len(texts) // 2, 2, -1))
        for frame, texts in sentences.items()
    }


def probe(parts):
    """Return the direction that separates the first of two sentences from the second, by ridge regression."""
    X = np.concatenate([vectors[:, 0] - vectors[:, 1] for vectors in parts])
    return np.linalg.solve(X.T @ X + RIDGE * np.eye(X.shape[1]), X.sum(axis=0))


def share_right(direction, vectors):
    return np.mean((vectors[:, 0] - vectors[:, 1]) @ direction > 0)
