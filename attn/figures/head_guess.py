"""What a head does: a guess by the look of its pattern, beside what was measured."""

import json

import numpy as np
import traitlets
import yaml

from attn.course.recordings import read_recording
from attn.figures.base import Explorable, Named, Place, Shaped, Words, check_heads, listed, read_source
from attn.interventions import named_head

RULES = {  # the least measure by which a head is called so; the first that holds
    "previous token": 0.5,
    "same word": 0.3,  # what a word that comes again gives to its other places
    "the noun that fits": 0.2,  # a difference of differences, from 0 on
    "rests on the first": 0.5,
}
NAMELESS = "nothing I can name"
CASES = yaml.safe_load(read_source("head_guess.yml"))
REMARKS = {case["head"]: case["remark"] for case in CASES}


def class_of(measures):
    """Return what a head is called by its measures: the first of `RULES` that holds, or `NAMELESS`."""
    return next((kind for kind, least in RULES.items() if measures[kind] >= least), NAMELESS)


def evidence(kind, measures, sentences, pairs):
    """Return, in words, the measure by which a head is called so."""
    previous, same, noun, first = (f"{measures[rule]:.2f}" for rule in RULES)
    return {
        "previous token": f"over {sentences} sentences a token gives {previous} to the one before it",
        "same word": f"over {sentences} sentences a word that comes again gives {same} to its other places",
        "the noun that fits": f"in {pairs} pairs of sentences like the cat’s, the difference of differences is {noun}",
        "rests on the first": f"over {sentences} sentences a token gives {first} to [CLS]",
        NAMELESS: f"over {sentences} sentences a token gives {previous} to the one before it, {same} to the same word "
        f"and {first} to [CLS]",
    }[kind]


def rank(numbers, place):
    """Return the rank of the number at a place, 1 for the largest."""
    return sum(number > numbers[place] for number in numbers) + 1


def effect(heads, change, place):
    """Return, in words, what switching off the head at a place changes, and how that ranks."""
    layer = [i for i, head in enumerate(heads) if named_head(head)[0] == named_head(heads[place])[0]]
    in_layer = rank([change[i] for i in layer], layer.index(place))
    ranks = f"rank {in_layer} of {len(layer)} in its layer, {rank(change, place)} of all {len(heads)}"
    return f"Switched off, it changes the tokens by {change[place]:.3f}: {ranks}."


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
        "L4H2" is the second head of layer 4; default: that of the first case.
    text : int
        The sentence that is shown.
    token : int
        The token that asks.
    guesses : dict of str
        By head, what the reader has said it does.
    """

    _without_script = "To guess, run this cell in JupyterLab, or open the built book with JavaScript."
    _on_request = ("weights",)

    heads = Words("n_heads")
    kinds = Words("n_kinds")
    levels = traitlets.Unicode()
    texts = Words("n_texts")
    tokens = Words("n_texts")  # those of a text, with spaces between
    weights = Words("n_texts")
    here = Shaped("n_texts n_heads")
    measures = Named("n_measures n_heads")
    least = Shaped("n_measures")
    change = Shaped("n_heads")
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
        sentences, pairs = found["every head"]["sentences"], found["it"]["pairs reported"]
        change, nouns = looked["off: change of tokens"], found["it"]["difference of differences of all heads"]
        measures = dict(zip(RULES, [looked["previous"], looked["same word"], nouns, looked["[CLS]"]]))
        classes, verdicts = [], []
        for place, head in enumerate(heads):
            of_head = {kind: row[place] for kind, row in measures.items()}
            kind = class_of(of_head)
            remark = REMARKS.get(head) or effect(heads, change, place)
            classes.append(kind)
            verdicts.append(f"by measure it is “{kind}”: {evidence(kind, of_head, sentences, pairs)}. {remark}")
        cases = [{name: case[name] for name in ("head", "text", "token")} for case in CASES]
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
            sentences=sentences,
            cases=cases,
            **{**cases[0], **({"token": 0} if "text" in kwargs else {}), **kwargs},
        )

    def check(self, state):
        heads, kinds = state["heads"], state["kinds"]
        check_heads((state["head"], *state["guesses"]), heads)
        if unknown := [kind for kind in state["guesses"].values() if kind not in kinds]:
            raise traitlets.TraitError(f"a head is called {', '.join(kinds)}, but there is {', '.join(unknown)}")
        n_tokens = len(state["tokens"][state["text"]].split())
        if not 0 <= state["token"] < n_tokens:
            told = f"text {state['text']} from 0 to {n_tokens - 1}, but is {state['token']}"
            raise traitlets.TraitError(f"token must be a position in {told}")

    @property
    def pattern(self):
        """The weights of the chosen head on the chosen sentence: array of shape (n, n)."""
        weights = np.array([self.levels.index(letter) for letter in self.weights[self.text]]) / 100
        n = len(self.tokens[self.text].split())
        return weights.reshape(-1, n, n)[self.heads.index(self.head)]

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
