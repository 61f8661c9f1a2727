"""Single words: the keys and queries of two apples, and where names and sizes in front of it move a tower."""

from functools import cache

import numpy as np

from recordings._arithmetic import cosine, interval, mean_interval, plain

from .model import N_LAYERS, SENTENCES, anchor, read

N_DIRECTIONS = 300


def two_apples(model):
    """Return cosines of keys and of queries of all heads side by side, layers 1 to 6: Apple and later words."""
    (one,) = read(model, [SENTENCES["two apples"]])

    def of_heads(X, word, nth=0):
        return X[:, one.text.place(word, nth).start].reshape(N_LAYERS, -1)

    return {
        f"apple, {word}": {
            side: plain(cosine(of_heads(X, "apple"), of_heads(X, word, nth)), 3)
            for side, X in [("keys", one.K), ("queries", one.Q)]
        }
        for word, nth in [("apple", 1), ("than", 0), ("iphone", 0)]
    }


def tower(model):
    """Measure where names and sizes move the tower: a cosine, a share of the way, and what random directions reach."""
    about = SENTENCES["tower"]
    lines = [(frame, word) for frame in about["frames"] for word in frame.split(" | ")[1].split(", ")]
    groups = [frame for frame, _ in lines]

    @cache
    def towers(adjective):
        sentences = [" ".join(frame.split(" | ")[0].format(adjective, word).split()) for frame, word in lines]
        return np.stack([one.vector("tower") for one in read(model, sentences)])

    def move(adjectives, others):
        return np.mean([towers(one) for one in adjectives], axis=0) - np.mean([towers(one) for one in others], axis=0)

    ways = {name: np.subtract(*(anchor(model, words) for words in ends)) for name, ends in about["directions"].items()}
    random = random_directions(model)
    moves = {
        name: measured(move(adjectives, others), ways[way], random, groups)
        for name, (adjectives, others, way) in about["moves"].items()
    }
    return {"random directions": N_DIRECTIONS, "moves": moves}


def random_directions(model):
    """Return differences of two means of three words each: shape (N_DIRECTIONS, 7, 384)."""
    rng, words = np.random.default_rng(0), SENTENCES["tower"]["other words"].split()
    anchors = {word: anchor(model, [word]) for word in words}
    drawn = [[anchors[word] for word in rng.permutation(words)[:6]] for _ in range(N_DIRECTIONS)]
    return np.stack([np.mean(six[:3], axis=0) - np.mean(six[3:], axis=0) for six in drawn])


def measured(move, way, random, groups):
    """Return how well a move, shape (sentences, 7, 384), points where it should; below layer 1 a word does not move."""
    move, way, random = (X[..., 1:, :] for X in (move, way, random))
    reached = np.abs(cosine(move.mean(axis=0), random)) >= np.abs(cosine(move.mean(axis=0), way))
    return {
        "cosine, layers 1 to 6": interval(lambda rows: cosine(move[rows].mean(axis=0), way), groups),
        "share of the way, layers 1 to 6": mean_interval((move * way).sum(-1) / (way * way).sum(-1), groups),
        "random directions that reach it, layers 1 to 6": plain(reached.mean(axis=0), 3),
    }
