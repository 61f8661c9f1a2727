"""One of each figure that moves, and what a reader does to it."""

import numpy as np
from hands import choose, click, drag, fill, hold, key, point, press, touch, words

from attn import TransformerConfig, causal_mask, init_transformer, softmax
from attn.course.recordings import read_recording
from attn.figures import (
    AttentionExplorer,
    BlocksExplorer,
    CostExplorer,
    GaugeExplorer,
    HeadGuess,
    HeadsExplorer,
    MaskExplorer,
    NewsExplorer,
    NovelReader,
    ParameterCounter,
    QueryPlane,
    RotaryExplorer,
    ScalingExplorer,
    SelfCheck,
    SentenceStepper,
    SoftmaxExplorer,
    TrainingExplorer,
    UpdatePlane,
)
from attn.parameters import GPT3

SENTENCE = ["The", "black", "cat", "ate", "fish"]
STEP, CELL, TOKEN = ".attn-step", "button.attn-cell", ".attn-token"


def explorer(**changes):
    rng = np.random.default_rng(0)
    Q, K, V = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), rng.normal(size=(5, 2))
    return AttentionExplorer(**{"tokens": SENTENCE, "Q": Q, "K": K, "V": V, "query": 2, **changes})


def heads_explorer(**changes):
    rng = np.random.default_rng(7)
    known = {word: rng.normal(size=5) for word in ["wizard", "Queen", "Harry"]}
    shapes = {"W_Q": (3, 5, 2), "W_K": (3, 5, 2), "W_V": (3, 5, 7), "W_O": (3, 7, 5)}
    matrices = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    named = {"tokens": ["the", "wizard", "met", "Harry"], "heads": ["one", "two", "three"], "axes": list("abcde")}
    return HeadsExplorer(**{"known": known, **matrices, **named, "query": 3, **changes})


def training_explorer(**changes):
    rng = np.random.default_rng(8)
    runs = {name: (softmax(3 * rng.normal(size=(4, 3))).round(5), rng.random(4)) for name in ("queries", "all")}
    return TrainingExplorer(**{"tokens": ["cat", "sat", "<b>mat"], "steps": [0, 1, 10, 500], "runs": runs, **changes})


def self_check(**changes):
    first = ("1 + 1 <b>?", "2", {"2": "One more.", "11": "Joined."})
    return SelfCheck([first, ("2 + 2?", "4", {"22": "Joined.", "4": "Two more."})], **changes)


def stirred(config, seed):
    """Parameters in which no gain is one and no bias zero."""
    rng = np.random.default_rng(seed)

    def stir(part):
        if isinstance(part, dict):
            return {name: stir(inner) for name, inner in part.items()}
        return part + rng.normal(size=part.shape) / 3

    return stir(init_transformer(rng, config, dtype=float))


def stepper(**changes):
    words = ["<b>Anna", "lost", "gold", "and", "she"]
    config = TransformerConfig(
        vocab_size=5, d_model=4, n_heads=2, n_layers=2, d_ff=9, n_positions=6,
        activation="relu", biases="mlp", unembedding="separate",
    )  # fmt: skip
    return SentenceStepper(stirred(config, 3), config, words, ["<b>Anna lost gold and she", "<b>Anna lost"], **changes)


def head_guess(**changes):
    return HeadGuess(read_recording("minilm_patterns"), read_recording("minilm"), **changes)


def one_of_each():
    rng = np.random.default_rng(11)
    plane = {"axes": ["x", "y"], "spots": {"here": [0, 1], "there": [2, -1]}}
    alike = softmax(rng.normal(size=(2, 4, 5)) + np.outer([0, 1, 2, 9], [1, 0, 0, 0, 0]))  # most end at the bottom
    runs = {name: (weights, rng.random(4)) for name, weights in zip(["queries", "all"], alike)}
    return {
        "attention": explorer(),
        "softmax": SoftmaxExplorer(["fox", "dog", "the"], [1, 2, -1], knobs=True),
        "query_plane": QueryPlane(["cat", "sat", "mat"], "it", [0, 1], *rng.normal(size=(2, 3, 2)).round(3)),
        "scaling": ScalingExplorer([1, 16, 1024], 4 * rng.normal(size=(3, 5)), chosen=1, scaled=True),
        "mask": MaskExplorer(SENTENCE, rng.normal(size=(5, 5)), causal_mask(5)),
        "update_plane": UpdatePlane(["big", "tower"], "tower", [0, 1], rng.normal(size=(2, 2)), [1, -1], **plane),
        # nothing is written to one axis
        "heads": heads_explorer(W_O=rng.normal(size=(3, 7, 5)) * [1, 1, 0, 1, 1]),
        "news": NewsExplorer(0.8, 6, 5),
        "blocks": BlocksExplorer(
            [[2, -1], [1, 3], [-2, 1]],
            [[[3, 1, 3, -2], [2, 0, -2, 1]], [[0, -1, 2, 3], [-2, 2, 3, 1]], [[2, 0, -2, -1], [3, -1, 3, 2]]],
        ),
        "parameters": ParameterCounter(GPT3, "175B"),
        "cost": CostExplorer(GPT3, "175B", key_heads=8),
        "training": training_explorer(tokens=["cat", "sat", "<b>mat", "on", "it"], runs=runs, run=1, moment=2),
        "gauge": GaugeExplorer(["a", "b", "c"], rng.normal(size=(3, 5)), rng.normal(size=(3, 5)), power=2.0),
        "self_check": self_check(chosen=[1, 1]),
        "rotary": RotaryExplorer([2, 0.5], [1.5, -1], 0.3),
        "stepper": stepper(),
        "head_guess": head_guess(),
        "novel_reader": NovelReader(['"My dear Mr. Bennet," said', "It is a <b>truth</b> universally acknowledged,"]),
    }


EACH = one_of_each()
OTHERS = [  # states that no move below leads to
    SoftmaxExplorer(["fox", "dog", "the"], [1, 2, -1], 3.0, 7.0),
    SoftmaxExplorer(["fox", "dog"], [100, 0], 0.1, knobs=True),  # a weight of zero adds nothing to the entropy
    ScalingExplorer([1, 4], [[9, 1, 0], [6, 1, 0]]),  # the weights hardly answer to the scores
    ScalingExplorer([1, 4], [[9, 1, 0], [6, 1, 0]], chosen=1, scaled=True),  # weakly
    ScalingExplorer([1, 4], [[9, 1, 0], [2, 1, 0]], chosen=1, scaled=True),  # or plainly
    explorer(causal=True, query=0),
    MaskExplorer(["a", "b"], [[0, 5], [-5, 0]], [[False, False], [True, False]]),
    training_explorer(steps=[0, 3, 5, 9]),
    self_check(),
    self_check(chosen=[1, -1]),
    SoftmaxExplorer(list("abcdef"), [0] * 6, knobs=True),  # more labels than there is room for above one dot
    BlocksExplorer([[0.25], [2]], [[[1, -1.5]], [[3, 0]]], apart=1, entry=1),
]
MOVES = {
    "attention": [
        (key, "q₂", "End"),
        (click, "ate"),
        (touch, "summary", 0),
        (point, CELL, 1),
        (key, "q₁", "Home"),
        (click, "itself and earlier words"),
        (words, "fish cat ate fish"),
        (touch, CELL, 14 + 4),
        (words, "who knows who"),
    ],
    "softmax": [
        (hold, "score of fox", "Shift+ArrowRight"),
        (hold, "score of the", "ArrowDown"),
        (drag, "score of dog", 60),
        (drag, "score of dog", -900),
        (key, "temperature", "ArrowRight"),
        (key, "added to every score", "End"),
        (words, "the new extraordinary-fox"),
        (drag, "score of new", 900),
        (key, "temperature", "Home"),
    ],
    "query_plane": [(key, "q₁", "End"), (key, "q₂", "ArrowLeft"), (words, "one two three"), (key, "q₁", "Home")],
    "scaling": [
        (key, "d_k", "ArrowRight"),
        (click, "as they are"),
        (key, "d_k", "Home"),
        (click, "divided by √d_k"),
    ],
    "mask": [
        (hold, "edge of the mask", "ArrowRight"),
        (drag, "edge of the mask", -900),
        (click, "itself and the word before"),
        (click, "zero after softmax"),
        (click, "all but itself"),
        (touch, CELL, 5 + 2),
        (touch, CELL, 5 + 1),
        (words, "cat fish"),
        (click, "all but itself"),
        (words, "fish cat fish who"),
        (click, "−∞ before softmax"),
        (click, "all words"),
    ],
    "update_plane": [(key, "big", "End"), (key, "tower", "Home"), (key, "tower", "ArrowRight")],
    "heads": [
        (click, "two"),
        (click, "wizard"),
        (words, "Queen toString Harry"),
        (click, "three"),
        (click, "toString"),
        (words, "<b>who</b> knows"),
    ],
    "blocks": [
        (hold, "how far the blocks are apart", "Shift+ArrowRight"),
        (click, "3"),
        (drag, "how far the blocks are apart", 0, -200),
        (click, "each with its own block"),
    ],
    "news": [
        (hold, "place of the last word", "Shift+ArrowUp"),
        (key, "score of the clue", "Home"),
        (drag, "place of the last word", 900),
        (key, "kept at each word", "Home"),
        (press, "▶ Send the news"),
        (key, "kept at each word", "End"),
        (drag, "place of the last word", -900),
    ],
    "parameters": [
        (click, "Small"),
        (fill, "n_layers", "13"),
        (click, "biases"),
        (click, "layer norms"),
        (click, "table of positions"),
        (click, "unembedding tied to the embedding"),
        (fill, "d_k", "2.5"),
        (click, "13B"),
    ],
    "cost": [
        (key, "tokens", "End"),
        (key, "key heads", "Home"),
        (click, "Small"),
        (key, "key heads", "ArrowLeft"),
        (key, "tokens", "Home"),
    ],
    "training": [(key, "step", "ArrowRight"), (click, "queries"), (key, "step", "Home")],
    "gauge": [
        (key, "stretch", "End"),
        (click, "cosines of queries"),
        (key, "stretch", "ArrowLeft"),
        (click, "scores"),
    ],
    "rotary": [
        (key, "query stands at", "ArrowRight"),
        (key, "both, together", "End"),
        (key, "key stands at", "Home"),
        (key, "angle a position", "ArrowLeft"),
        (key, "query stands at", "Home"),
    ],
    "stepper": [
        *((touch, STEP, step) for step in (1, 2, 3, 5, 7)),
        (point, CELL, 3),
        (press, "Next step →"),
        (click, "2"),
        (click, "gold"),
        (words, "she lost gold and"),
        (touch, STEP, 13),
        (click, "backward: the error"),
        (choose, "gold"),
        (press, "← Next step"),
        (touch, STEP, 34),
        (point, CELL, 40),
        *((touch, STEP, step) for step in range(33, 16, -1)),
        (press, "Previous step →"),
        (click, "forward: the prediction"),
        (click, "<b>Anna lost"),
        (touch, STEP, 0),
    ],
    "head_guess": [
        (press, "Head 3.9"),
        (press, "same word"),
        (choose, "9"),
        (touch, ".attn-ask", 9),
        (touch, ".attn-large .attn-cell", 5 * 14 + 8),
        (touch, ".attn-answer", 3),  # what is written down stays
        (press, "Next case →"),
        (press, "nothing I can name"),
        (press, "Head 4.1"),
        (press, "rests on the first"),
        (press, "Head 3.1"),
        (press, "the noun that fits"),
        (press, "They looked at the miniature Eiffel tower."),
        (point, ".attn-large .attn-cell", 8),
        (press, "Head 3.9, your guess: same word"),
    ],
    "self_check": [(press, "2"), (press, "22"), (press, "11")],
    "novel_reader": [
        (touch, TOKEN, 3),
        (press, "Head 2.1: show where it looks"),
        (press, "Head 1.2 writes"),
        (press, "Head 4.2 writes"),
        (press, "Head 2.0: show where it looks"),
        (touch, TOKEN, 8),
        (press, "Take the likeliest"),
        (touch, ".attn-next", 0),
        (press, "Head 1.2 writes"),
        (press, "All heads on"),
        (key, "temperature", "Home"),
        (choose, "1"),
    ],
}
