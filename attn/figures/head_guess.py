"""What a head does: a guess by the look of its pattern, beside what was measured."""

import json

import numpy as np
import traitlets
import yaml

from attn.course.recordings import read_recording
from attn.figures.base import Explorable, Named, Place, Shaped, Words, listed, read_source

PREVIOUS, SAME_WORD, NOUN, FIRST = 0.5, 0.3, 0.2, 0.5
RULES = {  # from which measure on a head is named so; the first that holds
    "previous token": PREVIOUS,
    "same word": SAME_WORD,  # what a word that comes again gives to its other places
    "the noun that fits": NOUN,  # a difference of differences, from 0 on
    "rests on the first": FIRST,
}
NAMELESS = "nothing I can name"
TOLD = yaml.safe_load(read_source("head_guess.yml"))


def class_of(measures):
    """Return what a head is called by what was measured of it.

    Parameters
    ----------
    measures : dict of float
        By the names of `RULES`.

    Returns
    -------
    str
        The first of `RULES` that holds, or `NAMELESS`.
    """
    return next((kind for kind, least in RULES.items() if measures[kind] >= least), NAMELESS)


def rank(numbers, place):
    """Return how many numbers are larger than the one at a place, and one."""
    return sum(number > numbers[place] for number in numbers) + 1


def decoded(levels, letters, n_heads):
    """Return weights from one letter each: array of shape (n_heads, n, n)."""
    values = {letter: level / 100 for level, letter in enumerate(levels)}
    n = round((len(letters) / n_heads) ** 0.5)
    return np.array([values[letter] for letter in letters]).reshape(n_heads, n, n)


class _Lookup:
    """What a format field reads by words, as {weight[dog chased.2 chased.1]}."""

    def __init__(self, read):
        self.read = read

    def __getitem__(self, words):
        return self.read(*words.split())


class _Sentences:
    """The sentences of a recording, named by a word that only one of them has, and their weights."""

    def __init__(self, patterns, n_heads):
        self.rows = patterns["runs"]
        self.weights = [decoded(patterns["levels"], row["weights"], n_heads) for row in self.rows]

    def place(self, word):
        (place,) = [i for i, row in enumerate(self.rows) if word in row["text"].strip(".").split()]
        return place

    def token(self, place, word):
        word, _, nth = word.partition(".")
        return [i for i, token in enumerate(self.rows[place]["tokens"]) if token == word][int(nth or 1) - 1]


def _fields(head, names, rows, found, measures, change):
    """Return what the texts may tell of a head."""
    i, it, every = names.index(head), found["it"], found["every head"]
    layer = [j for j, name in enumerate(names) if name.split(".")[0] == head.split(".")[0]]
    trophies, cause = it["other sets"]["trophy and suitcase"], it["cause"]

    def weight(sentence, query, key):
        place = rows.place(sentence)
        return rows.weights[place][i, rows.token(place, query), rows.token(place, key)]

    def mean(sentence, to):  # of words alone, as in the recording
        W = rows.weights[rows.place(sentence)][i]
        return W[1:-1, 0].mean() if to == "first" else np.diagonal(W, -1)[1:-1].mean()

    def most(sentence, key):
        place = rows.place(sentence)
        return int((rows.weights[place][i].argmax(axis=1) == rows.token(place, key)).sum())

    return {
        **dict(zip(("previous", "same", "noun", "first"), (float(row[i]) for row in measures.values()))),
        "change": change[i],
        "rank": rank(change, i),
        "below": sum(number < change[i] for number in change),
        "in_layer": rank([change[j] for j in layer], layer.index(i)),
        "in_a_layer": len(layer),
        "heads": len(names),
        "sentences": every["sentences"],
        "pairs": it["pairs reported"],
        "right": round(it["weights"]["the right way"][0] * it["pairs reported"]),
        "trophies": trophies["pairs"],
        "right_trophies": round(trophies["the right way"][0] * trophies["pairs"]),
        "lean": cause["nothing done"][0],
        "lean_without": cause["off, each head"]["vector of it without the head, by layer"][-1][0],
        "three": ", ".join(sorted(it["before it"]["three heads"])),
        "lean_without_three": it["before it"]["vector of it, three heads off"][0],
        "weight": _Lookup(weight),
        "mean": _Lookup(mean),
        "most": _Lookup(most),
        "length": _Lookup(lambda sentence: len(rows.rows[rows.place(sentence)]["tokens"])),
        "here": _Lookup(lambda sentence: rank(rows.rows[rows.place(sentence)]["off: change of tokens"], i)),
    }


def weights_script():
    """Return the name and the text of the script that brings the recorded weights to a page without a kernel."""
    letters = [row["weights"] for row in read_recording("minilm_patterns")["runs"]]
    return "head_guess.js", f"window.attnHeads = {json.dumps(letters)};\n"


class HeadGuess(Explorable):
    """The patterns of all heads of MiniLM on ten sentences, and a guess to write down before the measure is told.

    Parameters
    ----------
    patterns, measured : dict
        The recordings `minilm_patterns` and `minilm`.
    head : str
        "4.1" is head 1 of layer 4; that of the first case unless given.
    text : int
        The sentence that is shown.
    token : int
        The token that asks.
    guesses : dict of str
        By head, what the reader has said it does.

    Raises
    ------
    traitlets.TraitError
        If sizes do not fit each other, or a head, token or guess is unknown.
    """

    _without_script = "To guess, run this cell in JupyterLab, or open the built book with JavaScript."

    _on_request = ("weights",)

    heads = Words("n_heads")
    kinds = Words("n_kinds")
    levels = traitlets.Unicode()
    texts = Words("n_texts")
    tokens = Words("n_texts")  # those of a text, with spaces between
    weights = Words("n_texts")
    here = Shaped("n_texts n_heads", least=0)
    measures = Named("n_measures n_heads")
    least = Shaped("n_measures")
    change = Shaped("n_heads", least=0)
    classes = Words("n_heads")
    verdicts = Words("n_heads")
    sentences = traitlets.Int()  # over which heads were measured
    cases = traitlets.List(traitlets.Dict())
    head = traitlets.Unicode()
    text = Place("n_texts")
    token = traitlets.Int(0)
    guesses = traitlets.Dict(traitlets.Unicode(), key_trait=traitlets.Unicode())

    def __init__(self, patterns, measured, **kwargs):
        found, runs = measured["runs"], patterns["runs"]
        heads, looked = found["heads"], found["every head"]["by head"]
        rows, change = _Sentences(patterns, len(heads)), looked["off: change of tokens"]
        nouns = found["it"]["difference of differences of all heads"]
        measures = dict(zip(RULES, [looked["previous"], looked["same word"], nouns, looked["[CLS]"]]))
        classes = [class_of({kind: row[i] for kind, row in measures.items()}) for i in range(len(heads))]
        verdicts = []
        for head, kind in zip(heads, classes):
            remark = TOLD["cases"][head]["remark"] if head in TOLD["cases"] else TOLD["switched off"]
            told = f"by measure it is “{kind}”: {TOLD['evidence'][kind]}. {remark}"
            verdicts.append(told.format(**_fields(head, heads, rows, found, measures, change)))
        cases = [
            {"head": head, "text": place, "token": rows.token(place, case["token"])}
            for head, case in TOLD["cases"].items()
            for place in [rows.place(case["sentence"])]
        ]
        super().__init__(
            heads=heads,
            kinds=[*RULES, NAMELESS],
            levels=patterns["levels"],
            texts=[row["text"] for row in runs],
            tokens=[" ".join(row["tokens"]) for row in runs],
            weights=[row["weights"] for row in runs],
            here=[row["off: change of tokens"] for row in runs],
            measures=measures,
            least=list(RULES.values()),
            change=change,
            classes=classes,
            verdicts=verdicts,
            sentences=found["every head"]["sentences"],
            cases=cases,
            **{**cases[0], **({"token": 0} if "text" in kwargs else {}), **kwargs},
        )

    def check(self, state):
        heads, kinds, texts = (state[name] for name in ("heads", "kinds", "texts"))
        tokens = [words.split() for words in state["tokens"]]
        for text, words, letters in zip(texts, tokens, state["weights"]):
            if len(letters) != len(heads) * len(words) ** 2:
                told = f"{len(heads)} heads and {len(words)} tokens, but has {len(letters)}"
                raise traitlets.TraitError(f"weights of {text!r} needs one letter for each pair of tokens, with {told}")
            if strange := set(letters) - set(state["levels"]):
                raise traitlets.TraitError(f"weights of {text!r} has letters without a level: {sorted(strange)}")
        if list(state["measures"]) != kinds[:-1]:
            told = f"kinds {', '.join(kinds[:-1])}, but of {', '.join(state['measures'])}"
            raise traitlets.TraitError(f"measures are of the {told}")
        known = [state["head"], *state["guesses"], *(case["head"] for case in state["cases"])]
        if unknown := [head for head in known if head not in heads]:
            raise traitlets.TraitError(f"heads are {heads[0]} to {heads[-1]}, but there is {', '.join(unknown)}")
        if unknown := [kind for kind in (*state["guesses"].values(), *state["classes"]) if kind not in kinds]:
            raise traitlets.TraitError(f"a head is called {', '.join(kinds)}, but there is {', '.join(unknown)}")
        for place in (state, *state["cases"]):
            words = tokens[place["text"]] if 0 <= place["text"] < len(texts) else []
            if not 0 <= place["token"] < len(words):
                told = f"text {place['text']} from 0 to {len(words) - 1}, but is {place['token']}"
                raise traitlets.TraitError(f"token must be a position in {told}")

    @property
    def pattern(self):
        """The weights of the chosen head on the chosen sentence: array of shape (n, n)."""
        return decoded(self.levels, self.weights[self.text], len(self.heads))[self.heads.index(self.head)]

    @property
    def ranks(self):
        """Where the chosen head stands when it is switched off: for the chosen sentence and for all that were measured,
        the rank in its layer and among all heads, 1 for that which changes most."""
        i = self.heads.index(self.head)
        layer = [j for j, head in enumerate(self.heads) if head.split(".")[0] == self.head.split(".")[0]]
        both = (self.here[self.text], self.change)
        return [[rank([row[j] for j in layer], layer.index(i)), rank(row, i)] for row in both]

    @property
    def verdict(self):
        """What is told of the chosen head once there is a guess; before, nothing."""
        if self.head not in self.guesses:
            return ""
        return f"You said “{self.guesses[self.head]}”; {self.verdicts[self.heads.index(self.head)]}"

    @property
    def agreeing(self):
        """How many guesses agree with the measure."""
        return sum(self.classes[self.heads.index(head)] == guess for head, guess in self.guesses.items())

    def describe(self):
        tokens, row = self.tokens[self.text].split(), self.pattern[self.token]
        best = np.argsort(-row, kind="stable")[:3]
        told = listed([tokens[j] for j in best], row[best], 2)
        guessed = f"{self.agreeing} of {len(self.guesses)} guesses agree with the measure"
        return f"Head guess: head {self.head}, asked by {tokens[self.token]!r}, looks at {told}; {guessed}"
