"""One of each figure that moves, and what a reader does to it."""

import numpy as np
from hands import choose, click, drag, fill, go, hold, key, pick, point, press, touch, train, unfold, words

from attn import TransformerConfig, causal_mask, init_transformer
from attn.parameters import GPT3
from attn_course import figures
from attn_course.measured import read_measured

SENTENCE = ["The", "black", "cat", "ate", "fish"]
CELL, TOKEN = "button.attn-cell", ".attn-token"


def self_check(**changes):
    first = ("1 + 1 <b>?", "2", {"2": "One more.", "11": "Joined."})
    return figures.SelfCheck([first, ("2 + 2?", "4", {"22": "Joined.", "4": "Two more."})], **changes)


def stirred(config, seed):
    """Parameters in which no gain is one and no bias zero."""
    rng = np.random.default_rng(seed)

    def stir(part):
        if isinstance(part, dict):
            return {name: stir(inner) for name, inner in part.items()}
        return part + rng.normal(size=part.shape) / 3

    return stir(init_transformer(rng, config, dtype=float))


def stepper(**changes):
    words, texts = ["<b>Anna", "lost", "gold", "and", "she"], ["<b>Anna lost gold and she", "<b>Anna lost"]
    config = TransformerConfig(
        vocab_size=5, d_model=4, n_heads=2, n_layers=2, d_ff=9, n_positions=6,
        activation="relu", biases="mlp", unembedding="separate",
    )  # fmt: skip
    return figures.SentenceStepper(stirred(config, 3), config, words, texts, **changes)


def ask_share_receive(K=((2, 1), (1, 1), (1, 2)), V=((2, 1), (1, 3), (1, 2)), **changes):
    told = {"learns": "cat", "puzzle": ["sat", 0.5, "Found."]}
    return figures.AskShareReceive(["cat", "sat", "<b>mat"], "it", [0, 1], K, V, **{**told, **changes})


ANSWERS = [  # of three functions: what they answer to two questions
    ("here <b>", "upper left", "zeros"),
    ("there", "lower right", "refused: TypeError: no"),
    ("elsewhere", "upper left", "not offered"),
]


def library_answers():
    runs = [
        {"name": name, "pins": ["a==1", "b==2"], "asked": "2026-11-28", "answers": {"corner": corner, "empty row": row}}
        for name, corner, row in ANSWERS
    ]
    questions = {"corner": ["Which <i>?", "np.tri(n, m)"], "empty row": ["What?", "np.where(seen, output, 0)"]}
    return figures.LibraryAnswers({"runs": runs, "questions": questions}, "here <b>", "there", "corner")


def one_of_each():
    rng = np.random.default_rng(11)
    return {
        "softmax": figures.SoftmaxExplorer(["fox", "dog", "the"], [1, 2, -1], knobs=True),
        "ask_share_receive": ask_share_receive(*rng.normal(size=(2, 3, 2)).round(3)),
        "ask_three_times": figures.AskThreeTimes(
            ["cat", "<b>sat"],
            "it",
            ["one", "<i>two", "three"],
            [1, -1],
            *np.random.default_rng(12).normal(size=(1, 3, 2)),
            *np.random.default_rng(13).normal(size=(2, 3, 2, 2)),
        ),
        "head_game": figures.HeadGame(read_measured("smollm2_wall")),
        "mask": figures.MaskExplorer(SENTENCE, rng.normal(size=(5, 5)), causal_mask(5)),
        "parameters": figures.ParameterCounter(GPT3, "175B"),
        "press_train": figures.PressTrain(steps=20),
        "cost": figures.CostExplorer(GPT3, "175B", key_heads=8),
        "gauge": figures.GaugeExplorer(["a", "b", "c"], *np.random.default_rng(32).normal(size=(2, 3, 5)), power=1.0),
        "self_check": self_check(chosen=[1, 1]),
        "rotary": figures.RotaryExplorer([2, 0.5], [1.5, -1], 0.3),
        "walks": figures.WalkExplorer(),
        "stepper": stepper(),
        "guess": figures.Guess(
            "tired", ["the *dog*", "the <b>cat"], answer={"right": "the <b>cat", "why": {"the dog": "Hungry."}}
        ),
        "smollm2_reader": figures.SmolLM2Reader([("The <b>capital", "The river")]),  # alive in test_smollm2_reader.py
        "wall": figures.HeadsWall(read_measured("smollm2_wall")),
        "library_answers": library_answers(),
        "wire": figures.Wire(),
        "novel_reader": figures.NovelReader(
            ['"My dear Mr. Bennet," said', "It is a <b>truth</b> universally acknowledged,"]
        ),
    }


EACH = one_of_each()
OTHERS = [  # states that no move below leads to
    figures.SoftmaxExplorer(["fox", "dog", "the"], [1, 2, -1], 3.0, 7.0),
    figures.SoftmaxExplorer(["fox", "dog"], [100, 0], 0.1, knobs=True),  # a weight of zero adds nothing to the entropy
    figures.MaskExplorer(["a", "b"], [[0, 5], [-5, 0]], [[False, False], [True, False]]),
    self_check(),
    self_check(chosen=[1, -1]),
    ask_share_receive(panes=1, puzzle=["cat", 1, "Highest."]),
    ask_share_receive(panes=2, puzzle=["cat", 0.5, "!"]),
    ask_share_receive(adds="temperature", temperature=3.0),
    ask_share_receive(adds="length", d_k=64, scaled=False, learns=""),
    ask_share_receive(adds="mask", hidden=[True, False, False]),
    ask_share_receive(adds="mask", hidden=[True] * 3, puzzle=[]),
    ask_share_receive(adds="learning", E=[-1, 1]),
    figures.Guess(
        "mice", scale=[0, 10], unit=" mice", said=[9], answer={"right": 3, "why": {"high": "Cats sleep a lot."}}
    ),
    figures.Guess("where", ["on the mat", "under it"], said=[None]),
    stepper(plays=True, step=34),
    figures.SoftmaxExplorer(list("abcdef"), [0] * 6, knobs=True),  # more labels than there is room for above one dot
]
MOVES = {
    "softmax": [
        (hold, "score of fox", "Shift+ArrowRight"),
        (hold, "score of the", "ArrowDown"),
        (drag, "score of dog", 60),
        (drag, "score of dog", -900),
        (key, "temperature", "ArrowRight"),
        (key, "added to every score", "End"),
        (words, "the new extraordinary-fox"),
    ],
    "head_game": [
        (press, "It looks at the token before"),
        (press, "Next head"),
        (press, "It does none of the three"),
        *[(press, name) for name in ("Next head", "It rests on the first token, whatever comes") * 8],
        (press, "See all ten"),
        (press, "Ten others"),
    ],
    "ask_share_receive": [
        (hold, "The question of it", "ArrowRight"),
        (hold, "The question of it", "Shift+ArrowDown"),
        (touch, ".attn-pressed", 1),
        (press, "Let it learn to find “cat”"),
    ],
    "ask_three_times": [(hold, "The question of it in head <i>two", "Shift+ArrowLeft"), (touch, ".attn-pressed", 1)],
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
    "parameters": [
        (hold, "n_layers", "Shift+ArrowDown"),
        (hold, "d_ff", "ArrowUp"),
        (hold, "d_model", "Shift+ArrowRight"),
        (click, "Small"),
        (touch, "summary", 0),
        (fill, "nlayers", "13"),
        (click, "biases"),
        (click, "norms"),
        (click, "table of positions"),
        (click, "unembedding tied to the embedding"),
        (fill, "dk", "2.5"),
        (click, "13B"),
    ],
    "library_answers": [
        *((touch, "summary", place) for place in range(4)),
        (pick, "You go to", "elsewhere"),
        (pick, "One question to all", "empty row"),
        (pick, "You come from", "there"),
        (pick, "You go to", "there"),
    ],
    "wire": [
        (hold, "The wire", "ArrowUp"),
        (hold, "The wire", "Shift+ArrowRight"),
        (press, "Show me"),
        (pick, "Country of the second sentence", "Italy"),
        (pick, "Country of the first sentence", "Italy"),
        (press, "Show me"),
        (press, "Take the wire off"),
        (drag, "The wire", 60, -60),
        (drag, "The wire", 0, 900),
    ],
    "press_train": [
        (unfold,),
        (pick, "Head L1H1", "one back"),
        (pick, "Head L2H4", "off"),
        (train,),
        (fill, "heads per layer", "3"),
        (fill, "layers", "1"),
        (pick, "No head may look at", "itself in layer 1"),
        (click, "tell a fortune to its end"),
        (fill, "steps", "10"),
        (train,),
    ],
    "cost": [
        (hold, "tokens", "Shift+ArrowRight"),
        (hold, "key heads", "ArrowLeft"),
        (click, "Small"),
        (hold, "tokens", "Shift+ArrowDown"),
    ],
    "gauge": [
        (hold, "query of b", "ArrowDown"),
        (hold, "key of b", "Shift+ArrowRight"),
        (drag, "query of b", 900, 0),
    ],
    "rotary": [
        (hold, "query stands at", "ArrowRight"),
        (hold, "both, together", "Shift+ArrowRight"),
        (key, "angle per position", "ArrowLeft"),
        (drag, "both, together", 900, 0),
    ],
    "walks": [
        (hold, "dₖ", "Shift+ArrowRight"),
        (press, "Draw again"),
        (press, "▶ Walk"),
        (drag, "dₖ", -100, 0),
    ],
    "stepper": [
        (unfold,),
        (press, "Next step"),
        (key, "Step", "ArrowRight"),
        (go, 2),
        (point, CELL, 3),
        (go, 3),
        (press, "gold"),
        (click, "2"),
        (words, "she lost gold and"),
        (go, 2),
        (press, "layer 1: normalised, “she”"),
        (point, CELL, 5),
        (key, "Set “lost, 2” to", "End"),
        (key, "Set “lost, 2” to", "ArrowLeft"),
        (go, 3),
        (key, "Step", "End"),
        (press, "Take it back"),
        (press, "Previous step"),
        (choose, "W"),
        (point, CELL, 7),
        (key, "Set “2, gold” to", "Home"),
        (click, "backward: the error"),
        (choose, "gold"),
        (press, "Next step"),
        (choose, "gradient of gain"),
        (point, CELL, 2),
        (go, 17),
        (press, "Previous step"),
        (choose, "<b>Anna lost"),
        (click, "forward: the prediction"),
        (key, "Step", "Home"),
    ],
    "smollm2_reader": [(touch, "summary", 0)],
    "wall": [
        (touch, ".attn-map", 4),
        (click, "sat"),
        (click, "Who rests?"),
        (click, "Whose work can you see?"),
        (choose, "one two three four one two three four"),
        (click, "what came after the same word"),
        (click, "Who matters?"),
        (choose, "The capital of France is"),
        (click, "Exchange"),
        (touch, ".attn-map", 22 + 4 * 30),  # L23H5
        (click, "Who matters?"),
        (touch, ".attn-sentence input", 0),
    ],
    "self_check": [(press, "2"), (press, "22"), (press, "11")],
    "guess": [(press, "the dog")],
    "novel_reader": [
        (unfold,),
        (touch, TOKEN, 3),
        (press, "Head L2H2: show where it looks"),
        (press, "Head L1H3 writes"),
        (press, "Head L4H3 writes"),
        (press, "Head L2H1: show where it looks"),
        (touch, TOKEN, 8),
        (touch, ".attn-next", 0),
        (press, "Head L1H3 writes"),
        (press, "All heads on"),
        (press, "Head L4H3: show where it looks"),
        (click, "opening and closing marks swapped"),
        (click, "looks only at itself"),
        (click, "how surprising each token was"),
        (key, "temperature", "Home"),
        (choose, "1"),
    ],
}
