"""The sentences and toy grammars of the course: seeded, and split so that no test row was seen in training.

What makes a corpus takes a numpy Generator, `rng`, and returns a `Corpus`.
"""

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from attn.checks import check_tokens


@dataclass(frozen=True)
class Corpus:
    """Rows of tokens, split into training and test.

    Parameters
    ----------
    words : tuple of str
        The word of each token.
    train, test : dict of arrays
        Rows by name; no row of `test` occurs in `train`.
    """

    words: tuple
    train: dict
    test: dict

    def encode(self, sentence):
        """Return the tokens of a sentence: array of int, shape (n,)."""
        unknown = [word for word in sentence.split() if word not in self.words]
        if unknown:
            raise ValueError(f"not a word of this corpus: {', '.join(unknown)}; it has {', '.join(self.words)}")
        return np.array([self.words.index(word) for word in sentence.split()], dtype=int)

    def decode(self, tokens):
        """Return the words of tokens as one string."""
        check_tokens(tokens, len(self.words))
        return " ".join(self.words[token] for token in tokens)


PEOPLE_AND_THINGS = [
    "cat", "dog", "mat", "rug", "fox", "bed", "hen", "box", "cow", "mule", "chair", "goat", "sofa", "duck", "bench",
    "pig",
]  # fmt: skip
TIRED = ["tired", "hungry", "sleepy", "bored", "shy", "cold"]
DIRTY = ["dirty", "soft", "red", "new", "wet", "flat"]


def coreference(rng):
    """Sentences "the X sat on the Y because it was ADJ", where the adjective decides what "it" is.

    With `sentences`, shape (n, 10), and `answers`, shape (n,): the token of the noun that is meant. X and Y come from
    one pool of nouns, so neither word nor place alone gives the answer away; the pairs of nouns in the test do not
    occur in training, in either order.
    """
    words = ("the", "sat", "on", "because", "it", "was", *PEOPLE_AND_THINGS, *TIRED, *DIRTY)
    pairs = list(combinations(PEOPLE_AND_THINGS, 2))
    rng.shuffle(pairs)
    n_test = len(pairs) // 4

    def rows(chosen):
        drawn = [(x, y, adjective) for pair in chosen for x, y in (pair, pair[::-1]) for adjective in TIRED + DIRTY]
        sentences = [f"the {x} sat on the {y} because it was {adjective}" for x, y, adjective in drawn]
        meant = [x if adjective in TIRED else y for x, y, adjective in drawn]
        return {"sentences": _tokens(words, sentences), "answers": _tokens(words, meant)[:, 0]}

    return Corpus(words, rows(pairs[n_test:]), rows(pairs[:n_test]))


# Toy French: each noun and what "it" is for it, "il" or "elle"; of a gadget also what kind of thing it is.
GADGETS = {
    "iPhone": ("iphone", "il", "phone", "telephone", "il"),
    "laptop": ("portable", "il", "computer", "machine", "elle"),
    "watch": ("montre", "elle", "clock", "horloge", "elle"),
    "camera": ("camera", "elle", "eye", "oeil", "il"),
}
FRUITS = {
    "apple": ("pomme", "elle"),
    "banana": ("banane", "elle"),
    "lemon": ("citron", "il"),
    "orange": ("orange", "elle"),
}
PEOPLE = {
    "dog": ("chien", "il", "his"),
    "cow": ("vache", "elle", "her"),
    "boy": ("garcon", "il", "his"),
    "girl": ("fille", "elle", "her"),
}
MEALS = {"food": "plat", "meal": "repas", "lunch": "dejeuner", "bread": "pain"}
MANNERS = {"quickly": "vite", "slowly": "lentement", "happily": "gaiement", "quietly": "doucement"}
GADGET_ADJECTIVES = {"amazing": "formidable", "new": "nouveau", "fast": "rapide"}
FRUIT_ADJECTIVES = {"sweet": "sucre", "ripe": "mur", "green": "vert"}
UN, LE, SON = {"il": "un", "elle": "une"}, {"il": "le", "elle": "la"}, {"il": "son", "elle": "sa"}


def apples(rng):
    """English sentences about a firm and a fruit called apple, with a toy French for each.

    With `source` and `target`, padded with token 0. Words are split at blanks, so "Apple", "apple" and "apple." are
    three. In the French an adjective follows its noun, and "it" is "il" or "elle", by what it stands for.
    """
    drawn = list(dict.fromkeys(_sentence(rng) for _ in range(6000)))
    drawn = [drawn[i] for i in rng.permutation(len(drawn))]  # what is drawn often would come first
    sources, targets = zip(*drawn)
    words = ("<pad>", "<start>", "<end>", *sorted(set(" ".join(sources + targets).split())))
    target = _tokens(words, [f"<start> {one} <end>" for one in targets])
    return _parted(words, {"source": _tokens(words, sources), "target": target}, 1 / 10)


def _sentence(rng):
    """Draw one sentence, or two, as source and target."""

    def pick(options):
        return list(options)[rng.integers(len(options))]

    topic = rng.random()
    if topic >= 0.9:
        noun, meal, manner = pick(PEOPLE), pick(MEALS), pick(MANNERS)
        french, it, whose = PEOPLE[noun]
        source = f"The {noun} finished {whose} {meal} {manner}."
        return source, f"{LE[it]} {french} finit {SON[it]} {MEALS[meal]} {MANNERS[manner]} ."
    if topic < 0.45:
        noun, english = pick(GADGETS), pick(GADGET_ADJECTIVES)
        (french, it, sort, french_sort, of_sort), adjective = GADGETS[noun], GADGET_ADJECTIVES[english]
        sentences = {
            f"Apple {noun} is {_an(english)} {sort}.": f"{french} Apple est {UN[of_sort]} {french_sort} {adjective} .",
            f"Apple sells {_an(english)} {noun}.": f"Apple vend {UN[it]} {french} {adjective} .",
            f"I bought {_an(english)} {noun} from Apple.": f"je achete {UN[it]} {french} {adjective} de Apple .",
        }
    else:
        noun, english = pick(FRUITS), pick(FRUIT_ADJECTIVES)
        (french, it), adjective = FRUITS[noun], FRUIT_ADJECTIVES[english]
        sentences = {
            f"I ate {_an(english)} {noun}.": f"je mange {UN[it]} {french} {adjective} .",
            f"The {noun} is {english}.": f"{LE[it]} {french} est {adjective} .",
            f"My favourite fruit is {_an(noun)}.": f"mon fruit prefere est {UN[it]} {french} .",
        }
    source = pick(sentences)
    if rng.random() >= 0.6:
        return source, sentences[source]
    other = pick(FRUITS)
    french_other, it_other = FRUITS[other]
    seconds = {
        f"I like it better than {_an(other)}.": f"je {LE[it]} aime mieux que {UN[it_other]} {french_other} .",
        f"I prefer it over {_an(other)}.": f"je {LE[it]} prefere a {UN[it_other]} {french_other} .",
        f"It is {english}.": f"{it} est {adjective} .",
    }
    second = pick(seconds)
    return f"{source} {second}", f"{sentences[source]} {seconds[second]}"


def _an(word):
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def _tokens(words, sentences):
    """Return sentences as tokens, those that are shorter with token 0 behind them: array of int, shape (n, longest)."""
    place = {word: token for token, word in enumerate(words)}
    rows = [[place[word] for word in sentence.split()] for sentence in sentences]
    longest = max(map(len, rows))
    return np.array([row + [0] * (longest - len(row)) for row in rows])


def _parted(words, whole, share):
    """Return a corpus whose test rows are a share of the whole, its first."""
    n_test = round(share * len(next(iter(whole.values()))))
    return Corpus(
        words,
        {name: rows[n_test:] for name, rows in whole.items()},
        {name: rows[:n_test] for name, rows in whole.items()},
    )


def two_relations(rng):
    """Rows of names and items in turn; at each place two questions about the row so far.

    With `rows`, shape (n, 8); `before` and `same_name`, shape (n, 8): the item asked for, or -1 where there is none. A
    token is a name together with an item. What was the item just before? What was the item when this name came last?
    """
    names, items = rng.integers(4, size=(4000, 8)), rng.integers(8, size=(4000, 8))
    rows = names * 8 + items
    rows, unique = np.unique(rows, axis=0, return_index=True)
    order = rng.permutation(len(rows))
    rows, names, items = rows[order], names[unique][order], items[unique][order]
    before, same_name = np.full(rows.shape, -1), np.full(rows.shape, -1)
    before[:, 1:] = items[:, :-1]
    for i in range(1, 8):
        for j in range(i):  # the last one that fits stays
            same_name[:, i] = np.where(names[:, j] == names[:, i], items[:, j], same_name[:, i])
    words = tuple(f"{name}{item}" for name in "ABCD" for item in range(8))
    return _parted(words, {"rows": rows, "before": before, "same_name": same_name}, 1 / 10)


def repeated(rng, n, length=20):
    """Rows of 20 symbols that repeat themselves with a period of their own, from 5 to half the length.

    Each row has a period of its own, so that no fixed number of places back is right for all. What comes next is what
    followed the present symbol the last time.

    Parameters
    ----------
    rng : numpy Generator
    n, length : int

    Returns
    -------
    rows : array of int, shape (n, length)
    known : array of bool, shape (n, length - 1)
        Where the next symbol can be known: in the second round and later, after its first symbol.

    Raises
    ------
    ValueError
        If the row is too short for two rounds of five, or a round may be longer than there are symbols.
    """
    if not 10 <= length <= 41:
        raise ValueError(f"rounds have 5 to 20 different symbols: length must be from 10 to 41, but is {length}")
    periods = rng.integers(5, length // 2 + 1, size=n)
    rounds = np.argsort(rng.random((n, 20)), axis=1)  # no symbol twice in a round
    rows = rounds[np.arange(n)[:, None], np.arange(length) % periods[:, None]]
    return rows, np.arange(1, length) > periods[:, None]


def fortunes(rng):
    """All sentences "Anna found gold and she smiled .": who, what became of what, and how that felt.

    With `sentences`, shape (n, 7). "she" or "he" follows from the name, "smiled" or "wept" from the verb; name, verb
    and thing are free.
    """
    people = {"Anna": "she", "Mary": "she", "John": "he", "Paul": "he"}
    verbs = {"found": "smiled", "shared": "smiled", "lost": "wept", "wasted": "wept"}
    things = ["gold", "bread", "wine", "salt"]
    words = (*people, *verbs, *things, "and", "she", "he", "smiled", "wept", ".")
    sentences = [
        f"{person} {verb} {thing} and {people[person]} {verbs[verb]} ."
        for person, verb, thing in product(people, verbs, things)
    ]
    return _parted(words, {"sentences": rng.permutation(_tokens(words, sentences))}, 1 / 4)
