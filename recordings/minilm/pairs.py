"""Pairs of sentences that differ in one word, which says what "it" stands for; and the weights and vectors of "it"."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from recordings._arithmetic import cosine

from .model import SENTENCES, read

SETS, CROSSED = SENTENCES["it"]["sets"], SENTENCES["it"]["crossed"]


@dataclass(frozen=True)
class Pair:
    """Two sentences that differ in one word, which says whether `it` is the first noun or the other."""

    sentences: tuple
    nouns: tuple


def pairs_from(frames, a, o, x):
    """Return the pairs of some frames: the nouns of each are of a and of o, and the two adjectives are one of x."""
    pairs = []
    for (f, frame), (i, first), (j, other) in product(enumerate(frames), enumerate(a.split()), enumerate(o.split())):
        adjectives = x[(i + j + 2 * f) % len(x)]
        pairs.append(Pair(tuple(frame.format(a=first, o=other, x=word) for word in adjectives), (first, other)))
    return pairs


def halves():
    """Return the pairs with the animals on which a head is chosen, and those with the ten on which it is judged."""
    animals, pairs = SETS["animal first"]["a"].split(), pairs_from(**SETS["animal first"])
    return [[pair for pair in pairs if pair.nouns[0] in animals[half::2]] for half in (0, 1)]


def crossed_pairs():
    """Return the pairs of each frame with each filling of sentences.yml, by both names."""
    return {
        f"{frame}: {filling}": pairs_from(frames, **words)
        for (frame, frames), (filling, words) in product(CROSSED["frames"].items(), CROSSED["fillings"].items())
    }


def first_nouns(pairs):
    return [pair.nouns[0] for pair in pairs]


def read_pairs(model, pairs, *interventions):
    """Return what was seen for the first and for the second sentence of each pair."""
    seen = read(model, [sentence for pair in pairs for sentence in pair.sentences], *interventions)
    return list(zip(seen[::2], seen[1::2]))


def weights_from(model, pairs, word="it"):
    """Return what a word gives to both nouns in both sentences: shape (pairs, 2 sentences, 2 nouns, 72)."""
    seen = zip(pairs, read_pairs(model, pairs))
    return np.array([[[one.weight(word, noun) for noun in pair.nouns] for one in two] for pair, two in seen])


def difference_of_differences(values):
    """Return how much more the first noun leads the other in the first sentence: axis 1 sentences, axis 2 nouns."""
    return (values[:, 0, 0] - values[:, 0, 1]) - (values[:, 1, 0] - values[:, 1, 1])


def shifts(model, pairs, word="it"):
    """Return the difference of differences of a word's weights in all heads: shape (pairs, 72)."""
    return difference_of_differences(weights_from(model, pairs, word))


def leaning(pairs, seen):
    """Return how much nearer, by cosine, "it" is to the first noun, first sentence less second: shape (pairs, 7)."""
    cosines = [
        [[cosine(one.vector("it"), one.vector(noun)) for noun in pair.nouns] for one in two]
        for pair, two in zip(pairs, seen)
    ]
    return difference_of_differences(np.array(cosines))
