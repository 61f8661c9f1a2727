"""Byte-pair encoding: a text as tokens, which are the pieces of words that a text has most often."""

import re
from collections import Counter, defaultdict
from functools import cached_property
from itertools import pairwise

import numpy as np

from attn.checks import check_tokens

PIECES = re.compile(r" ?[A-Za-z]+| ?[0-9]+| ?[^A-Za-z0-9 \n]|\n| ")  # no token reaches over the end of one
UNKNOWN = "\ufffd"


class Tokenizer:
    """Turns text into tokens and back.

    Parameters
    ----------
    characters : list of str
        What every text begins as: single characters.
    joins : list of (str, str)
        Which two neighbours become one token, in the order in which that was learned.

    Attributes
    ----------
    words : tuple of str
        The text of each token; token 0 stands for every character that is unknown.

    Examples
    --------
    >>> tokenizer = Tokenizer(list("eht "), [("t", "h"), ("th", "e")])
    >>> tokenizer.encode("the tea")
    array([6, 4, 3, 1, 0])
    >>> tokenizer.decode([6, 4, 3, 1])
    'the te'

    Notes
    -----
    Sennrich, Haddow and Birch 2016, on characters.
    """

    def __init__(self, characters, joins):
        self.characters, self.joins = list(characters), [tuple(pair) for pair in joins]
        self.words = (UNKNOWN, *self.characters, *(first + second for first, second in self.joins))
        self._known = {}

    @cached_property
    def _tokens(self):
        return {word: token for token, word in enumerate(self.words) if token}

    @cached_property
    def _order(self):
        return {pair: number for number, pair in enumerate(self.joins)}

    def encode(self, text):
        """Return the tokens of a text: array of int, shape (n,)."""
        return np.array([token for piece in PIECES.findall(text) for token in self._encode(piece)], dtype=int)

    def decode(self, tokens):
        """Return the text of tokens, array_like of int, shape (n,).

        Raises
        ------
        ValueError
            If a token is none of the vocabulary.
        """
        check_tokens(tokens, len(self.words))
        return "".join(self.words[token] for token in tokens)

    def _encode(self, piece):
        if piece not in self._known:
            parts = list(piece)
            while pairs := [pair for pair in pairwise(parts) if pair in self._order]:
                parts = join(parts, min(pairs, key=self._order.get))
            self._known[piece] = [self._tokens.get(part, 0) for part in parts]
        return self._known[piece]


def join(parts, pair):
    """Return a list of parts in which each two neighbours that are the pair have become one.

    >>> join(["t", "h", "e", "t", "h"], ("t", "h"))
    ['th', 'e', 'th']
    """
    joined, i = [], 0
    while i < len(parts):
        together = tuple(parts[i : i + 2]) == pair
        joined.append(parts[i] + parts[i + 1] if together else parts[i])
        i += 1 + together
    return joined


def learn(text, vocab_size):
    """Learn which neighbours to join: again and again the two that stand together most often in the text.

    Parameters
    ----------
    text : str
    vocab_size : int
        How many tokens there are in the end, the unknown one included.

    Returns
    -------
    Tokenizer

    Raises
    ------
    ValueError
        If the text has more characters than that, or too few neighbours to join.
    """
    counts = Counter(PIECES.findall(text))
    characters = sorted(set(text))
    if 1 + len(characters) > vocab_size:
        raise ValueError(f"the text has {len(characters)} characters, too many for {vocab_size} tokens")
    pieces = [(list(piece), count) for piece, count in sorted(counts.items())]
    pairs, where, joins = Counter(), defaultdict(set), []

    def count(number, sign):
        parts, times = pieces[number]
        for pair in pairwise(parts):
            pairs[pair] += sign * times
            where[pair].add(number)

    for number in range(len(pieces)):
        count(number, 1)
    while 1 + len(characters) + len(joins) < vocab_size:
        best = max(pairs, key=lambda pair: (pairs[pair], pair), default=None)
        if best is None or pairs[best] < 1:
            raise ValueError(f"the text gives {1 + len(characters) + len(joins)} tokens, but {vocab_size} are wanted")
        joins.append(best)
        for number in sorted(where[best]):
            count(number, -1)
            pieces[number][0][:] = join(pieces[number][0], best)
            count(number, 1)
    return Tokenizer(characters, joins)
