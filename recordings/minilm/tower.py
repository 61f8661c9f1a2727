"""The tower: where names and sizes in front of it move its vector."""

from functools import cache

import numpy as np

from recordings._arithmetic import cosine, interval, mean_interval, plain

from .model import SENTENCES, anchor, read

N_DIRECTIONS = 300


def tower(model):
    """Measure where names and sizes move the tower: a cosine, a share of the way, and what random directions reach."""
    about = SENTENCES["tower"]
    lines = [(frame, word) for frame in about["frames"] for word in frame.split(" | ")[1].split(", ")]
    groups = [frame for frame, _ in lines]

    @cache
    def towers(adjective):
        sentences = [" ".join(frame.split(" | ")[0].format(adjective, word).split()) for frame, word in lines]
        return np.stack([one.vector("tower") for one in read(model, sentences)])

    ways = {name: np.subtract(*(anchor(model, words) for words in ends)) for name, ends in about["directions"].items()}
    random = random_directions(model)
    others = np.mean([towers(name) for name in about["other names"]], axis=0)
    french = np.mean([towers(name) for name in about["French names"]], axis=0)
    miniature, gigantic = towers("miniature Eiffel"), towers("gigantic Eiffel")
    moves = {
        "Eiffel, not another name, towards Paris": (towers("Eiffel") - others, ways["Paris"]),
        "a French name, not another name, towards Paris": (french - others, ways["Paris"]),
        "Eiffel, not a French name, towards Paris": (towers("Eiffel") - french, ways["Paris"]),
        "Eiffel, not another name, towards iron": (towers("Eiffel") - others, ways["iron"]),
        "miniature, not gigantic, towards small": (towers("miniature") - towers("gigantic"), ways["small"]),
        "miniature Eiffel, not gigantic Eiffel, towards small": (miniature - gigantic, ways["small"]),
        "miniature Eiffel, not Eiffel, towards Paris": (miniature - towers("Eiffel"), ways["Paris"]),
    }
    return {
        "random directions": N_DIRECTIONS,
        "moves": {name: measured(move, way, random, groups) for name, (move, way) in moves.items()},
    }


def random_directions(model):
    """Return differences of two means of three words each: shape (N_DIRECTIONS, 7, 384)."""
    rng, words = np.random.default_rng(0), SENTENCES["tower"]["other words"].split()
    anchors = {word: anchor(model, [word]) for word in words}
    drawn = [rng.permutation(words)[:6] for _ in range(N_DIRECTIONS)]

    def mean(some):
        return np.mean([anchors[word] for word in some], axis=0)

    return np.stack([mean(words[:3]) - mean(words[3:]) for words in drawn])


def measured(move, way, random, groups):
    reached = np.abs(pull(move.mean(axis=0), random)) >= np.abs(pull(move.mean(axis=0), way))
    shares = ((move * way).sum(-1) / (way * way).sum(-1))[:, 1:]
    return {
        "cosine, layers 1 to 6": interval(lambda rows: pull(move[rows].mean(axis=0), way), groups),
        "share of the way, layers 1 to 6": mean_interval(shares, groups),
        "random directions that reach it, layers 1 to 6": plain(reached.mean(axis=0), 3),
    }


def pull(move, way):
    """Return the cosine of a move with a way, layers 1 to 6; below them a word does not move."""
    return cosine(move[..., 1:, :], way[..., 1:, :])
