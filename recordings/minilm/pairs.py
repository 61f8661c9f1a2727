"""Pairs of sentences that differ in one word, which says what "it" stands for; and the weights and vectors of "it"."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from recordings._arithmetic import cosine

from .model import SENTENCES, read


@dataclass(frozen=True)
class Pair:
    """Two sentences of a frame that differ in one word, which says whether `it` is the first noun or the other."""

    sentences: tuple
    nouns: tuple
    adjectives: tuple
    frame: str


def pairs_of(name):
    """Return the pairs of a set of sentences.yml."""
    return pairs_from(**SENTENCES["it"]["sets"][name])


def crossed_pairs():
    """Return the pairs of each frame with each filling of sentences.yml, by both names."""
    about = SENTENCES["it"]["crossed"]
    return {
        f"{frame}: {filling}": pairs_from(frames, **words)
        for (frame, frames), (filling, words) in product(about["frames"].items(), about["fillings"].items())
    }


def pairs_from(frames, a, o, x):
    """Return the pairs of some frames: the nouns of each are of a and of o, and the two adjectives are one of x."""
    firsts, others = a.split(), o.split()
    pairs = []
    for (f, frame), (i, first), (j, other) in product(enumerate(frames), enumerate(firsts), enumerate(others)):
        words = x[(i + j + 2 * f) % len(x)]
        sentences = tuple(frame.format(a=first, o=other, x=word) for word in words)
        pairs.append(Pair(sentences, (first, other), tuple(words), frame))
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
