"""Rows to train on in which something comes again: random tokens, passages, and made-up names in place of real ones."""

import re

import numpy as np

from attn_course.novels import CONFIG

FIRST_JOIN = 80  # tokens before it are single characters
TITLES = {" Mr", " Mrs", " Miss", " Captain", " Colonel", " Oh", " Street"}  # capitals that no name can replace
FEWEST, NEAREST = 100, 8  # how often a name comes in a text, and how soon again in a row
ONSETS, VOWELS, CODAS = map(
    str.split,
    (
        "b br c ch cl d dr f fl g gl gr h j k kn l m n p pl pr qu r s sh sl st t th tr v w wh y z",
        "a e i o u ai au ea ee ie oa oo ou",
        "b ck d ft g l ld ll m mp n nd ng nt p r rd rn rt s sk ss st t th x",
    ),
)
OPEN = 12  # of how many syllables, beside those with a coda, there is none


def random_again(rng, length, shortest, longest):
    """Return random tokens, no two alike, which come again after `shortest` to `longest` tokens; and how many."""
    period = int(rng.integers(shortest, longest + 1))
    once = rng.choice(np.arange(FIRST_JOIN, CONFIG.vocab_size), period, replace=False)
    return np.resize(once, length), period


def passage(rng, tokens, length):
    start = rng.integers(len(tokens) - length)
    return tokens[start : start + length]


def passage_again(rng, tokens, length, shortest, longest):
    """Return a passage of the novels that comes again after `shortest` to `longest` tokens."""
    return np.resize(passage(rng, tokens, int(rng.integers(shortest, longest + 1))), length)


def passages(rng, tokens, length, shortest, longest):
    """Return passages of the novels of `shortest` to `longest` tokens, one after the other, up to a length."""
    parts = [passage(rng, tokens, int(rng.integers(shortest, longest + 1))) for _ in range(-(-length // shortest))]
    return np.concatenate(parts)[:length]


# --- made-up names -------------------------------------------------------------------------------


def made_up(rng):
    """Return a name of two or three syllables, which no novel has and hardly anybody."""
    parts = (ONSETS, VOWELS, CODAS + [""] * OPEN)
    return "".join(rng.choice(part) for _ in range(rng.integers(2, 4)) for part in parts).capitalize()


def names_of(tokens, tokenizer):
    """Return which tokens are names that come often in a text: array of bool, shape (vocab_size,)."""
    words, often = tokenizer.words, np.bincount(tokens, minlength=len(tokenizer.words))
    capital = [bool(re.fullmatch(" [A-Z][a-z]+", word)) and word not in TITLES for word in words]
    return capital & ~np.isin([word.lower() for word in words], words) & (often >= FEWEST)


def ends(tokens, tokenizer):
    """Return after which tokens of a text no letter goes on at once."""
    return np.array([not word[:1].isalpha() for word in tokenizer.words])[np.append(tokens[1:], 0)]


class Names:
    """Where the names of a text stand, and where one stands twice in a row of some length.

    are : array of bool, shape (vocab_size,), which tokens are names.
    """

    def __init__(self, tokens, tokenizer, are, length):
        self._tokens, self._tokenizer, self._length = tokens, tokenizer, length
        self._here = are[tokens] & ends(tokens, tokenizer)
        places = np.flatnonzero(self._here)
        places = places[np.argsort(tokens[places], kind="stable")]
        first, second = places[:-1], places[1:]
        near = (tokens[first] == tokens[second]) & (second - first >= NEAREST) & (second - first <= 3 * length // 4)
        self.twice = np.stack([first, second], axis=1)[near]

    def renamed(self, rng):
        """Return a row of the text in which some name stands twice, and each name has become one that is made up; and
        which mention of its name each token belongs to, from 1 on, or 0 if to none: two arrays, shape (length,)."""
        first, second = rng.choice(self.twice)
        start = max(0, first - int(rng.integers(self._length - (second - first))))
        new, row, mentions = {}, [], []
        for place in range(start, min(start + self._length, len(self._tokens))):
            token, pieces, mention = int(self._tokens[place]), [int(self._tokens[place])], 0
            if self._here[place]:
                pieces, mention = new.get(token) or (self._tokenizer.encode(" " + made_up(rng)).tolist(), 0)
                mention += 1
                new[token] = pieces, mention
            row += pieces
            mentions += [mention] * len(pieces)
        if len(row) < self._length:
            return self.renamed(rng)
        return np.array(row[: self._length]), np.array(mentions[: self._length])
