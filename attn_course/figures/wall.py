"""The wall: all heads of a released model on one sentence, and what each is good for there."""

import json

import numpy as np
import traitlets

from attn.interventions import head_names
from attn_course.figures.base import Explorable, Place, Words, check_heads, check_range, listed
from attn_course.measured import read_measured

MIDDLE, STEEP = 43, 10  # of a change in nats, the letter that says none, and letters to the root of a nat
LOOKS = ["see", "rest", "work", "matter", "exchange"]
MODELS = {  # by name the recording, the layers, the heads of each, its looks, and the head that is shown first
    "SmolLM2": ("smollm2_wall", 30, 9, LOOKS, "L24H5"),
    "MiniLM": ("minilm_patterns", 6, 12, LOOKS[:1], "L1H3"),
}


def wall_scripts():
    """Yield the names and texts of the scripts that bring all sentences but the first to a page without a kernel."""
    for model, (recording, *_) in MODELS.items():
        runs = json.dumps(read_measured(recording)["runs"][1:])
        yield f"wall-{model}.js", f"(window.attnWall ??= {{}}).{model} = {runs};\n"


class HeadsWall(Explorable):
    """The patterns of all heads of a model on some sentences, with up to five ways to look at them.

    Parameters
    ----------
    recording : dict
        That of the model, as `MODELS` names it, or some of its runs.
    model : {"SmolLM2", "MiniLM"}
    sentence : int
        Which sentence is shown.
    token : int
        The token that asks; where heads are switched off, the one that is guessed.
    head : str
        "L24H5" is the fifth head of layer 24.
    look : one of `LOOKS`
        Where the head looks; which heads rest on the first token; which do a known work; what each is needed for; what
        each hands over of another sentence.
    work : {"one back", "same word", "after the same word"}
        What is looked for where the look is "work".
    """

    _on_request = ("more",)

    model = traitlets.Enum([*MODELS], "SmolLM2")
    per_layer = traitlets.Int()
    n_heads = traitlets.Int()
    looks = traitlets.List(traitlets.Unicode())
    texts = Words("n_texts")
    levels = traitlets.Unicode()
    first = traitlets.Dict()
    more = traitlets.List(traitlets.Dict())
    sentence = Place("n_texts")
    token = traitlets.Int(0)
    head = traitlets.Unicode()
    look = traitlets.Enum(LOOKS, "see")
    work = traitlets.Enum(["one back", "same word", "after the same word"], "one back")

    def __init__(self, recording, model="SmolLM2", **kwargs):
        _, layers, per_layer, looks, head = MODELS[model]
        first, *more = recording["runs"]
        texts, tokens = ([run[name] for run in recording["runs"]] for name in ("text", "tokens"))
        kwargs.setdefault("token", len(tokens[kwargs.get("sentence", 0)]) - 1)
        sizes = {"per_layer": per_layer, "n_heads": layers * per_layer, "looks": looks, "head": head}
        super().__init__(
            model=model, texts=texts, levels=recording["levels"], first=first, more=more, **(sizes | kwargs)
        )

    @property
    def heads(self):
        """The names of all heads, layer by layer."""
        return head_names(self.n_heads // self.per_layer, self.per_layer)

    def check(self, state):
        n_tokens = len([state["first"], *state["more"]][state["sentence"]]["tokens"])
        check_range(state, 0, n_tokens - 1, "token")
        check_heads([state["head"]], self.heads)

    @property
    def record(self):
        """What was recorded of the sentence that is shown."""
        return [self.first, *self.more][self.sentence]

    @property
    def patterns(self):
        """The weights of all heads on the sentence that is shown: array of shape (n_heads, n, n)."""
        n = len(self.record["tokens"])
        letters = np.array([self.levels.index(letter) for letter in self.record["weights"]])
        weights, patterns = letters.reshape(self.n_heads, -1) / (len(self.levels) - 1), np.zeros((self.n_heads, n, n))
        places = np.tril_indices(n) if weights.shape[1] < n * n else np.indices((n, n)).reshape(2, -1)
        patterns[(slice(None), *places)] = weights
        return patterns

    @property
    def effects(self):
        """By how many nats each next token costs more with each head switched off: array of shape (n_heads, n - 1)."""
        letters = np.array([self.levels.index(letter) for letter in self.record["off"]]) - MIDDLE
        return (np.sign(letters) * (letters / STEEP) ** 2).reshape(self.n_heads, -1)

    def describe(self):
        tokens, row = self.record["tokens"], self.patterns[self.heads.index(self.head), self.token]
        best = np.argsort(-row, kind="stable")[:3]
        told = listed([tokens[j].strip() for j in best], row[best], 2)
        resting = (self.patterns[:, 2:, 0].mean(axis=1) > 0.5).sum()
        return (
            f"Wall of {len(self.patterns)} heads reading {self.record['text']!r}: {resting} rest on the first token; "
            f"head {self.head}, asked by {tokens[self.token].strip()!r}, looks at {told}"
        )
