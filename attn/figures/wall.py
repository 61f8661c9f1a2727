"""The wall: all 270 heads of a released model on one sentence, and what each is good for there."""

import json

import numpy as np
import traitlets

from attn.course.recordings import read_recording
from attn.course.smollm2 import HEADS
from attn.figures.base import Explorable, Place, Words, check_heads, check_range, listed


def wall_script():
    """Return the name and the text of the script that brings all sentences but the first to a page without a kernel."""
    return "wall.js", f"window.attnWall = {json.dumps(read_recording('smollm2_wall')['runs'][1:])};\n"


class HeadsWall(Explorable):
    """The patterns of all heads of SmolLM2 on some sentences, with five ways to look at them.

    Parameters
    ----------
    recording : dict
        The recording `smollm2_wall`.
    sentence : int
        Which sentence is shown.
    token : int
        The token that asks; where heads are switched off, the one that is guessed.
    head : str
        "L24H5" is the fifth head of layer 24.
    look : {"see", "rest", "work", "matter", "exchange"}
        Where the head looks; which heads rest on the first token; which do a known work; what each is needed for; what
        each hands over of another sentence.
    work : {"one back", "same word", "after the same word"}
        What is looked for where the look is "work".
    """

    _builds_on = ("windows.js",)
    _on_request = ("more",)

    texts = Words("n_texts")
    levels = traitlets.Unicode()
    first = traitlets.Dict()
    more = traitlets.List(traitlets.Dict())
    sentence = Place("n_texts")
    token = traitlets.Int(0)
    head = traitlets.Unicode("L24H5")
    look = traitlets.Enum(["see", "rest", "work", "matter", "exchange"], "see")
    work = traitlets.Enum(["one back", "same word", "after the same word"], "one back")

    def __init__(self, recording, **kwargs):
        first, *more = recording["runs"]
        texts, tokens = ([run[name] for run in recording["runs"]] for name in ("text", "tokens"))
        kwargs.setdefault("token", len(tokens[kwargs.get("sentence", 0)]) - 1)
        super().__init__(texts=texts, levels=recording["levels"], first=first, more=more, **kwargs)

    def check(self, state):
        n_tokens = len([state["first"], *state["more"]][state["sentence"]]["tokens"])
        check_range(state, 0, n_tokens - 1, "token")
        check_heads([state["head"]], HEADS)

    @property
    def record(self):
        """What was recorded of the sentence that is shown."""
        return [self.first, *self.more][self.sentence]

    @property
    def patterns(self):
        """The weights of all heads on the sentence that is shown: array of shape (270, n, n)."""
        n = len(self.record["tokens"])
        letters = np.array([self.levels.index(letter) for letter in self.record["weights"]])
        patterns = np.zeros((len(HEADS), n, n))
        patterns[(slice(None), *np.tril_indices(n))] = letters.reshape(len(HEADS), -1) / (len(self.levels) - 1)
        return patterns

    def describe(self):
        tokens, row = self.record["tokens"], self.patterns[HEADS.index(self.head), self.token]
        best = np.argsort(-row, kind="stable")[:3]
        told = listed([tokens[j].strip() for j in best], row[best], 2)
        resting = (self.patterns[:, 2:, 0].mean(axis=1) > 0.5).sum()
        return (
            f"Wall of {len(self.patterns)} heads reading {self.record['text']!r}: {resting} rest on the first token; "
            f"head {self.head}, asked by {tokens[self.token].strip()!r}, looks at {told}"
        )
