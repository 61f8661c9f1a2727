"""Pairs of sentences that differ in one word, which says what "it" stands for; and the weights and vectors of "it"."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from .arithmetic import cosine
from .model import SENTENCES, read


@dataclass(frozen=True)
class Pair:
    """Two sentences that differ in one word, which says whether `it` is the first noun or the other."""

    sentences: tuple
    nouns: tuple
    adjectives: tuple


def pairs_of(name):
    """Return the pairs of a set of sentences.yml."""
    about = SENTENCES["it"]["sets"][name]
    firsts, others = about["a"].split(), about["o"].split()
    pairs = []
    for (f, frame), (i, a), (j, o) in product(enumerate(about["frames"]), enumerate(firsts), enumerate(others)):
        words = about["x"][(i + j + 2 * f) % len(about["x"])]
        pairs.append(Pair(tuple(frame.format(a=a, o=o, x=word) for word in words), (a, o), tuple(words)))
    return pairs


def read_pairs(model, pairs):
    """Return what was seen for the first and for the second sentence of each pair."""
    seen = read(model, [sentence for pair in pairs for sentence in pair.sentences])
    return list(zip(seen[::2], seen[1::2]))


def weights_from(word, pairs, seen):
    """Return what a word gives to both nouns in both sentences: shape (pairs, 2 sentences, 2 nouns, 72)."""
    return np.array(
        [[[one.weight(word, noun) for noun in pair.nouns] for one in two] for pair, two in zip(pairs, seen)]
    )


def difference_of_differences(values):
    """Return how much more the first noun leads the other in the first sentence: axis 1 sentences, axis 2 nouns."""
    return (values[:, 0, 0] - values[:, 0, 1]) - (values[:, 1, 0] - values[:, 1, 1])


def leaning(pairs, seen, word="it"):
    """Return how much nearer, by cosine, a word stands to the first noun than to the other, in the first sentence
    above the second: shape (pairs, 7)."""
    cosines = [
        [[cosine(one.vector(word), one.vector(noun)) for noun in pair.nouns] for one in two]
        for pair, two in zip(pairs, seen)
    ]
    return difference_of_differences(np.array(cosines))


def edges_from_it(pairs, part, text):
    """Return the edges of a text from "it" to both nouns, to the adjective, or to two words that are neither."""
    words = [word for pair in pairs if text.text in pair.sentences for word in (getattr(pair, part) if part else ())]
    if part is None:
        places = [text.place("the", 1), text.place("because")]
    else:
        places = [text.place(word) for word in dict.fromkeys(words) if word in text.words]
    query = text.place("it").start
    return [(query, key) for place in places for key in range(place.start, place.stop)]
