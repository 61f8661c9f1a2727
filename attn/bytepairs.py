"""Byte-pair encoding: a text as tokens, which are the pieces of words that a text has most often."""

import re
from collections import Counter, defaultdict
from functools import cached_property
from itertools import pairwise

import numpy as np

from attn.checks import as_size, as_tokens, check_tokens

# Letters of any script, digits, any other character, each with the space before it: no token crosses a piece's end.
PIECES = re.compile(r" ?[^\W\d_]+| ?[0-9]+| ?[^ \n]|\n| ")
UNKNOWN = "\ufffd"


class Tokenizer:
    """Turns text into tokens and back.

    Parameters
    ----------
    characters : list of str
        What every text is cut into at first: single characters.
    joins : list of (str, str)
        The pairs of neighbours that become one token, in the order in which they were learned.

    Attributes
    ----------
    words : tuple of str
        The text of each token; token 0 stands for every unknown character.

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
        self.characters, self.joins = list(characters), pairs_of(joins)
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
        return np.array([token for piece in self._pieces(text) for token in self._encode(piece)], dtype=int)

    def decode(self, tokens):
        """Return the text of tokens, array_like of int, shape (n,)."""
        tokens = as_tokens(tokens)
        if tokens.ndim > 1:
            raise ValueError(f"decode takes the tokens of one text, but these have shape {tokens.shape}")
        check_tokens(tokens, len(self.words))
        return self._text([self.words[token] for token in tokens])

    def _text(self, words):
        return "".join(words)

    def _pieces(self, text):
        return PIECES.findall(text)

    def _encode(self, piece):
        if piece not in self._known:
            parts = list(piece)
            while pairs := [pair for pair in pairwise(parts) if pair in self._order]:
                parts = join(parts, min(pairs, key=self._order.get))
            self._known[piece] = self._numbers(parts)
        return self._known[piece]

    def _numbers(self, parts):
        return [self._tokens.get(part, 0) for part in parts]


def pairs_of(joins):
    """Return joins as tuples, or say which is no pair of texts."""
    pairs = [pair if isinstance(pair, str) else tuple(pair) for pair in joins]
    if wrong := [pair for pair in pairs if isinstance(pair, str) or list(map(type, pair)) != [str, str]]:
        raise TypeError(f"a join is a pair of texts, (first, second), but there is {wrong[0]!r}")
    return pairs


def join(parts, pair):
    """Return a list of parts in which each occurrence of the pair has become one part.

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
    """Learn which neighbours to join: again and again the pair that is most frequent in the text.

    Parameters
    ----------
    text : str
    vocab_size : int
        The number of tokens in the end, with the unknown one.

    Returns
    -------
    Tokenizer

    Raises
    ------
    ValueError
        If the text has more characters than that, or too few neighbours to join.
    """
    vocab_size, counts = as_size("vocab_size", vocab_size), Counter(PIECES.findall(text))
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
