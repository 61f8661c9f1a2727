"""The sentences and toy grammars of the course: seeded, and split so that no test row was seen in training."""

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
        """Return the tokens of a sentence: array of int, shape (n,).

        Raises
        ------
        ValueError
            If a word is not in the corpus; the sentence names it.
        """
        unknown = [word for word in sentence.split() if word not in self.words]
        if unknown:
            raise ValueError(f"not a word of this corpus: {', '.join(unknown)}; it has {', '.join(self.words)}")
        return np.array([self.words.index(word) for word in sentence.split()], dtype=int)

    def decode(self, tokens):
        """Return the words of tokens as one string.

        Raises
        ------
        ValueError
            If a token is none of the corpus.
        """
        check_tokens(tokens, len(self.words))
        return " ".join(self.words[token] for token in tokens)


PEOPLE_AND_THINGS = [
    "cat",
    "dog",
    "mat",
    "rug",
    "fox",
    "bed",
    "hen",
    "box",
    "cow",
    "mule",
    "chair",
    "goat",
    "sofa",
    "duck",
    "bench",
    "pig",
]
TIRED = ["tired", "hungry", "sleepy", "bored", "shy", "cold"]
DIRTY = ["dirty", "soft", "red", "new", "wet", "flat"]


def coreference(rng, share_for_test=0.25):
    """Sentences "the X sat on the Y because it was ADJ", where the adjective tells who "it" is.

    X and Y come from one pool of nouns, so neither word nor place alone gives the answer away;
    the pairs of nouns in the test do not occur in training, in either order.

    Parameters
    ----------
    rng : numpy Generator
    share_for_test : float

    Returns
    -------
    Corpus
        With `sentences`, shape (n, 10), and `answers`, shape (n,): the token of the noun that is meant.
    """
    words = ("the", "sat", "on", "because", "it", "was", *PEOPLE_AND_THINGS, *TIRED, *DIRTY)
    place = {word: token for token, word in enumerate(words)}
    pairs = list(combinations(PEOPLE_AND_THINGS, 2))
    rng.shuffle(pairs)
    n_test = round(share_for_test * len(pairs))

    def rows(chosen):
        sentences = [(x, y, adjective) for pair in chosen for x, y in (pair, pair[::-1]) for adjective in TIRED + DIRTY]
        tokens = [
            [place[word] for word in f"the {x} sat on the {y} because it was {adjective}".split()]
            for x, y, adjective in sentences
        ]
        answers = [place[x if adjective in TIRED else y] for x, y, adjective in sentences]
        return {"sentences": np.array(tokens), "answers": np.array(answers)}

    return Corpus(words, rows(pairs[n_test:]), rows(pairs[:n_test]))


# What the toy French of the course calls a word, and the gender of nouns: "it" becomes "il" or "elle" after it.
GADGETS = {
    "iPhone": ("iphone", "il"),
    "laptop": ("portable", "il"),
    "watch": ("montre", "elle"),
    "camera": ("camera", "elle"),
}
KINDS = {
    "iPhone": ("phone", "telephone", "il"),
    "laptop": ("computer", "machine", "elle"),
    "watch": ("clock", "horloge", "elle"),
    "camera": ("eye", "oeil", "il"),
}
FRUITS = {
    "apple": ("pomme", "elle"),
    "banana": ("banane", "elle"),
    "lemon": ("citron", "il"),
    "orange": ("orange", "elle"),
}
PEOPLE = {
    "dog": ("chien", "his", "il"),
    "cow": ("vache", "her", "elle"),
    "boy": ("garcon", "his", "il"),
    "girl": ("fille", "her", "elle"),
}
MEALS = [("food", "plat"), ("meal", "repas"), ("lunch", "dejeuner"), ("bread", "pain")]
MANNERS = [("quickly", "vite"), ("slowly", "lentement"), ("happily", "gaiement"), ("quietly", "doucement")]
GADGET_ADJECTIVES = {"amazing": "formidable", "new": "nouveau", "fast": "rapide"}
FRUIT_ADJECTIVES = {"sweet": "sucre", "ripe": "mur", "green": "vert"}


def apples(rng, n=6000, share_for_test=0.1):
    """English sentences about a firm and a fruit called apple, with a toy French for each.

    Words are split at blanks, so "Apple", "apple" and "apple." are three. The French puts
    adjectives behind nouns, and "it" becomes "il" or "elle" after what it stands for.

    Parameters
    ----------
    rng : numpy Generator
    n : int
        How many sentences are drawn; doublets are dropped.
    share_for_test : float

    Returns
    -------
    Corpus
        With `source` and `target`, padded with token 0, and `sense`: at each place of the source
        0 for other words, 1 for the firm, 2 for the fruit.
    """
    drawn = list(dict.fromkeys(_sentence(rng) for _ in range(n)))
    drawn = [drawn[i] for i in rng.permutation(len(drawn))]  # what is drawn often would come first
    return _padded([(source.split(), target.split()) for source, target in drawn], share_for_test)


def lower_case(corpus):
    """Return the corpus of `apples` with capitals and full stops gone: firm and fruit are one word now.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    Corpus
    """
    plain = {word: word.lower().rstrip(".") for word in corpus.words}
    words = tuple(dict.fromkeys(plain.values()))
    new = np.array([words.index(plain[word]) for word in corpus.words])
    parts = [
        {name: new[rows] if name != "sense" else rows for name, rows in part.items()}
        for part in (corpus.train, corpus.test)
    ]
    return Corpus(words, *parts)


def _sentence(rng):
    """Draw one sentence as source and target."""

    def pick(options):
        return options[rng.integers(len(options))]

    kind = rng.random()
    if kind < 0.45:
        noun, adjective = pick(list(GADGETS)), pick(list(GADGET_ADJECTIVES))
        (french, gender), late = GADGETS[noun], GADGET_ADJECTIVES[adjective]
        sort, french_sort, sort_gender = KINDS[noun]
        source, target = pick(
            [
                (
                    f"Apple {noun} is {_an(adjective)} {sort}.",
                    f"{french} Apple est {_un(sort_gender)} {french_sort} {late} .",
                ),
                (f"Apple sells {_an(adjective)} {noun}.", f"Apple vend {_un(gender)} {french} {late} ."),
                (
                    f"I bought {_an(adjective)} {noun} from Apple.",
                    f"je achete {_un(gender)} {french} {late} de Apple .",
                ),
            ]
        )
    elif kind < 0.9:
        noun, adjective = pick(list(FRUITS)), pick(list(FRUIT_ADJECTIVES))
        (french, gender), late = FRUITS[noun], FRUIT_ADJECTIVES[adjective]
        source, target = pick(
            [
                (f"I ate {_an(adjective)} {noun}.", f"je mange {_un(gender)} {french} {late} ."),
                (f"The {noun} is {adjective}.", f"{_le(gender)} {french} est {late} ."),
                (f"My favourite fruit is {_an(noun)}.", f"mon fruit prefere est {_un(gender)} {french} ."),
            ]
        )
    else:
        noun, (meal, french_meal), (how, french_how) = pick(list(PEOPLE)), pick(MEALS), pick(MANNERS)
        french, whose, gender = PEOPLE[noun]
        own = "son" if gender == "il" else "sa"
        return (
            f"The {noun} finished {whose} {meal} {how}.",
            f"{_le(gender)} {french} finit {own} {french_meal} {french_how} .",
        )
    if rng.random() < 0.6:
        other = pick(list(FRUITS))
        french_other, other_gender = FRUITS[other]
        object_form = "le" if gender == "il" else "la"
        more, more_target = pick(
            [
                (
                    f"I like it better than {_an(other)}.",
                    f"je {object_form} aime mieux que {_un(other_gender)} {french_other} .",
                ),
                (f"I prefer it over {_an(other)}.", f"je {object_form} prefere a {_un(other_gender)} {french_other} ."),
                (f"It is {adjective}.", f"{gender} est {late} ."),
            ]
        )
        source, target = f"{source} {more}", f"{target} {more_target}"
    return source, target


def _padded(pairs, share_for_test):
    words = ("<pad>", "<start>", "<end>", *sorted({word for source, target in pairs for word in source + target}))
    place = {word: token for token, word in enumerate(words)}
    source = np.zeros((len(pairs), max(len(source) for source, _ in pairs)), int)
    target = np.zeros((len(pairs), max(len(target) for _, target in pairs) + 2), int)
    sense = np.zeros_like(source)
    for i, (before, after) in enumerate(pairs):
        source[i, : len(before)] = [place[word] for word in before]
        target[i, : len(after) + 2] = [place[word] for word in ["<start>", *after, "<end>"]]
        sense[i, : len(before)] = [
            1 if word.startswith("Apple") else 2 if word.startswith("apple") else 0 for word in before
        ]
    return _parted(words, {"source": source, "target": target, "sense": sense}, share_for_test)


def _parted(words, whole, share_for_test):
    """Return a corpus whose test rows are the first of the whole."""
    n_test = round(share_for_test * len(next(iter(whole.values()))))
    return Corpus(
        words,
        {name: rows[n_test:] for name, rows in whole.items()},
        {name: rows[:n_test] for name, rows in whole.items()},
    )


def _an(word):
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def _un(gender):
    return "un" if gender == "il" else "une"


def _le(gender):
    return "le" if gender == "il" else "la"


def two_relations(rng, n=4000, n_names=4, n_items=8, length=8, share_for_test=0.1):
    """Rows of names and items in turn; at each place two questions about the row so far.

    A token is a name together with an item. What was the item just before? What was the item
    when this name came last?

    Parameters
    ----------
    rng : numpy Generator
    n, n_names, n_items, length : int
    share_for_test : float

    Returns
    -------
    Corpus
        With `rows`, shape (n, length); `before` and `same_name`, shape (n, length): the item asked
        for, or -1 where there is none.
    """
    names, items = rng.integers(n_names, size=(n, length)), rng.integers(n_items, size=(n, length))
    rows = names * n_items + items
    rows, unique = np.unique(rows, axis=0, return_index=True)
    order = rng.permutation(len(rows))
    rows, names, items = rows[order], names[unique][order], items[unique][order]
    before, same_name = np.full(rows.shape, -1), np.full(rows.shape, -1)
    before[:, 1:] = items[:, :-1]
    for i in range(1, length):
        for j in range(i):  # the last one that fits stays
            same_name[:, i] = np.where(names[:, j] == names[:, i], items[:, j], same_name[:, i])
    words = tuple(f"{name}{item}" for name in "ABCDEFGH"[:n_names] for item in range(n_items))
    return _parted(words, {"rows": rows, "before": before, "same_name": same_name}, share_for_test)


def repeated(rng, n, n_symbols=20, length=20):
    """Rows that repeat themselves with a period of their own, from 5 to half the length.

    Each row has a period of its own, so that no fixed number of places back is right for all. What comes
    next is what followed the present symbol the last time.

    Parameters
    ----------
    rng : numpy Generator
    n, n_symbols, length : int

    Returns
    -------
    rows : array of int, shape (n, length)
    known : array of bool, shape (n, length - 1)
        Where the next symbol can be known: in the second round and later, after its first symbol.

    Raises
    ------
    ValueError
        If the row is too short for two rounds of five, or there are fewer symbols than a round may need.
    """
    if length < 10 or n_symbols < length // 2:
        raise ValueError(
            f"rounds have 5 to {length // 2} different symbols: length must be at least 10 and n_symbols at least "
            f"{length // 2}, but they are {length} and {n_symbols}"
        )
    periods = rng.integers(5, length // 2 + 1, size=n)
    rounds = np.argsort(rng.random((n, n_symbols)), axis=1)  # no symbol twice in a round
    rows = rounds[np.arange(n)[:, None], np.arange(length) % periods[:, None]]
    return rows, np.arange(1, length) > periods[:, None]


def tales(rng, n=4000, share_for_test=0.1):
    """Small tales of one grammar: who, where and what, and a second sentence that keeps to them.

    Parameters
    ----------
    rng : numpy Generator
    n : int
        How many tales are drawn; doublets are dropped.
    share_for_test : float

    Returns
    -------
    Corpus
        With `tales`, shape (n, 14), from "<start>" to ".".
    """
    people = {"king": "he", "queen": "she", "wizard": "he", "witch": "she"}
    places, things, verbs = ["castle", "forest", "tower"], ["cat", "ring", "book", "lamp"], ["found", "lost", "hid"]
    drawn = {}
    for _ in range(n):
        person, place, thing, verb = (
            options[rng.integers(len(options))] for options in (list(people), places, things, verbs)
        )
        feeling = "sad" if verb == "lost" else "glad"
        drawn[f"<start> the {person} {verb} a {thing} in the {place} . {people[person]} was {feeling} ."] = None
    words = ("<start>", "the", "a", "in", "was", ".", "he", "she", "sad", "glad", *people, *places, *things, *verbs)
    return _of_sentences(rng, words, "tales", drawn, share_for_test)


def fortunes(rng, share_for_test=0.25):
    """All sentences "Anna found gold and she smiled .": who, what became of what, and how that felt.

    "she" or "he" follows from the name, "smiled" or "wept" from the verb; name, verb and thing are free.

    Parameters
    ----------
    rng : numpy Generator
    share_for_test : float

    Returns
    -------
    Corpus
        With `sentences`, shape (n, 7).
    """
    people = {"Anna": "she", "Mary": "she", "John": "he", "Paul": "he"}
    verbs = {"found": "smiled", "shared": "smiled", "lost": "wept", "wasted": "wept"}
    things = ["gold", "bread", "wine", "salt"]
    words = (*people, *verbs, *things, "and", "she", "he", "smiled", "wept", ".")
    sentences = [
        f"{person} {verb} {thing} and {people[person]} {verbs[verb]} ."
        for person, verb, thing in product(people, verbs, things)
    ]
    return _of_sentences(rng, words, "sentences", sentences, share_for_test)


def _of_sentences(rng, words, name, sentences, share_for_test):
    """Return a corpus of sentences of one length, in an order that is drawn."""
    rows = rng.permutation([[words.index(word) for word in sentence.split()] for sentence in sentences])
    return _parted(words, {name: rows}, share_for_test)
