"""A small transformer that is trained in the page, before the reader's eyes and under the reader's hands."""

import numpy as np
import traitlets

from attn.interventions import head_names
from attn.parameters import TransformerConfig, flat, nested, shapes
from attn_course.figures.base import Explorable, Number, check_heads, check_range
from attn_course.figures.joined import as_function

RULES = ["one back", "itself", "the first"]
TRAINER = as_function("attnTrainer", "engines/trainer.js")
TASKS = {  # names of rules and edges are those of trainer.js
    "fortunes": {
        "label": "tell a fortune to its end",
        "sizes": {"d": 8, "ff": 16, "positions": "learned", "n_positions": 8},
        "usual": {"layers": 1, "heads": 2, "rate": 1e-2, "steps": 300},
        "warmUp": 20,
        "outputs": 18,
        "scores": ["from “and” to the name", "from “she” or “he” to the verb"],
        "rules": [*RULES, "from “and” to the name", "from “she” or “he” to the verb"],
        "edges": ["the name from “and”", "the verb from “she” or “he”"],
    },
    "copying": {
        "label": "copy what came before",
        "sizes": {"d": 64, "ff": 0, "positions": "relative"},
        "usual": {"layers": 2, "heads": 4, "rate": 3e-3, "steps": 300},
        "warmUp": 20,
        "outputs": 20,
        "scores": ["one back", "what to copy"],
        "aim": [0.9, 100],
        "rules": [*RULES, "the same letter", "what to copy"],
        "edges": ["one back in layer 1", "two back in layer 1", "itself in layer 1", "one back in all layers"],
    },
}
BOUNDS = {"layers": (1, 3), "heads": (1, 8), "steps": (10, 5000), "seed": (0, 2**32 - 1)}


class PressTrain(Explorable):
    """The models of chapters 12 and 15, which learn in the page: the seed of the notebook gives the notebook's run.

    Parameters
    ----------
    task : {"copying", "fortunes"}
        To copy what came before, as in chapter 15, or to end the sentences of chapter 12.
    layers, heads : int
        Default, as of all that follows: as in the chapter.
    rate : float
        The highest learning rate.
    seed : int
    steps : int
        The learning rate falls to zero by then.
    forbidden : str
        What no head may look at, one of the task's edges; "" for nothing.
    held : dict of str
        By head, as "L1H1" for the first head of layer 1, the rule to which it is held, or "off".
    """

    _brings = (TRAINER,)
    _on_request = ("trained",)

    task = traitlets.Unicode("copying")
    layers = traitlets.Int(2)
    heads = traitlets.Int(4)
    rate = Number(3e-3)
    seed = traitlets.Int(0)
    steps = traitlets.Int(300)
    forbidden = traitlets.Unicode("")
    held = traitlets.Dict()
    tasks = traitlets.Dict(TASKS)
    trained = traitlets.Dict()  # by the path of each parameter its float64 numbers, as bytes

    def __init__(self, task="copying", *values, **named):
        usual = TASKS[task]["usual"] if task in TASKS else {}
        given = dict(zip(self._shown[1:], values))
        super().__init__(task, **{**usual, **given, **named})

    def check(self, state):
        task = TASKS.get(state["task"])
        if task is None:
            raise traitlets.TraitError(f"task must be one of {', '.join(TASKS)}, but is {state['task']!r}")
        for name, (least, most) in BOUNDS.items():
            check_range(state, least, most, name)
        width = task["sizes"]["d"]
        if width % state["heads"]:
            raise traitlets.TraitError(f"heads must divide the width {width}, but {state['heads']} does not")
        if not 0 < state["rate"] <= 1:
            raise traitlets.TraitError(f"rate must be above 0 and at most 1, but is {state['rate']}")
        if state["forbidden"] not in ["", *task["edges"]]:
            raise traitlets.TraitError(
                f"{state['forbidden']!r} cannot be forbidden, but {', '.join(task['edges'])} can"
            )
        check_heads(state["held"], head_names(state["layers"], state["heads"]))
        for rule in state["held"].values():
            if rule not in [*task["rules"], "off"]:
                raise traitlets.TraitError(f"a head is off or held to {', '.join(task['rules'])}, but not {rule!r}")

    @property
    def config(self):
        """The `TransformerConfig` of the model."""
        sizes = TASKS[self.task]["sizes"]
        return TransformerConfig(
            vocab_size=TASKS[self.task]["outputs"], d_model=sizes["d"], n_heads=self.heads, n_layers=self.layers,
            d_ff=sizes["ff"], positions=sizes["positions"], n_positions=sizes.get("n_positions"), activation="relu",
            biases="mlp", unembedding="separate",
        )  # fmt: skip

    @property
    def params(self):
        """What was trained when it stopped last, as `decoder` takes it: nested dict of arrays."""
        if not self.trained:
            raise ValueError("nothing has been trained yet: press Train in the figure first")
        return nested(
            (path, np.frombuffer(self.trained["/".join(path)]).reshape(shape).copy())
            for path, shape in flat(shapes(self.config))
        )

    def describe(self):
        held = "".join(
            f"; head {head} {'is off' if rule == 'off' else f'is held to “{rule}”'}" for head, rule in self.held.items()
        )
        forbidden = f"; nobody may look at {self.forbidden}" if self.forbidden else ""
        return (
            f"Press Train: {TASKS[self.task]['label']}, layers {self.layers}, heads {self.heads}, "
            f"learning rate {self.rate:g}, seed {self.seed}, {self.steps} steps{held}{forbidden}"
        )
