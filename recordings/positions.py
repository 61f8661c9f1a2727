"""How a model may know where words stand: six ways, a task that needs the order and one that does not: chapter 8.

    .venv/bin/python -m recordings positions

trains five models of each kind on texts of 16 letters, tests them on texts of 16 and of 32, and writes
attn_course/data/measured/positions.json.
"""

from functools import partial

import numpy as np

from attn import Forbid, Tape, encoder, init_transformer
from attn.training import cross_entropy, train
from attn_course.measured import mean_losses
from recordings import toy

SOURCE = "random letters"
EVERY, SEEDS, STEPS = 100, range(5), 1500
LETTERS, LENGTH = 10, 16
APART = np.abs(np.subtract.outer(np.arange(2 * LENGTH), np.arange(2 * LENGTH)))
FAR, MIDDLE = APART >= LENGTH, (APART > 2) & (APART < LENGTH)
REACH = 2 * LENGTH - 1  # the largest distance of a long text
DISTANCES = np.abs(np.arange(-REACH, REACH + 1))  # of the entries of a table that reaches so far
WAYS = {
    "none": {"positions": "none"},
    "learned": {"positions": "learned", "n_positions": 2 * LENGTH},
    "sinusoid": {"positions": "sinusoid"},
    "relative": {"positions": "relative", "max_distance": 8},
    "relative, far": {"positions": "relative", "max_distance": REACH},
    "rotary": {"positions": "rotary"},
}


def two_back(rng, n_rows, length):
    """Texts of random letters; at each place but the first two, which letter stood two places before?"""
    text = rng.integers(LETTERS, size=(n_rows, length))
    return text, np.roll(text, 2, axis=1), np.broadcast_to(np.arange(length) >= 2, text.shape)


def again(rng, n_rows, length):
    """Texts of random letters; at each place, does this letter stand anywhere else in the text?"""
    text = rng.integers(LETTERS, size=(n_rows, length))
    return text, ((text[:, :, None] == text[:, None, :]).sum(axis=2) > 1).astype(int), np.ones(text.shape, bool)


TASKS = {"two back": two_back, "again": again}
KINDS = {f"{task}, {way}": (task, way) for task in TASKS for way in WAYS}


def gradients(config, params, text, answers, asked):
    with Tape() as tape:
        logits = encoder(params, config, text)
    loss, grad = cross_entropy(logits, answers, asked)
    return loss, tape.gradients(params, (logits, grad))


def hits(config, task, length, params, *hidden):
    """Return which answers are right on texts not seen, and where something is asked: arrays of bool, shape (200, n).

    `hidden`: the looks that are forbidden.
    """
    text, answers, asked = task(np.random.default_rng(10**6), 200, length)
    logits = encoder(params, config, text, interventions=[Forbid(looks) for looks in hidden])
    return logits.argmax(axis=-1) == answers, asked


def share_right(config, task, length, params, *hidden):
    right, asked = hits(config, task, length, params, *hidden)
    return round(float(right[asked].mean()), 4)


def far_biases(right, params):
    """Return the mean of the biases trained for middle distances, and the shares right in long texts with several
    numbers in place of those for distances that training does not have.

    Biases begin at 0, and two stay there: those of the keys 14 and 15 places after the first two queries, which are not
    asked.
    """
    layer = params["layer 1"]
    table = layer["attention"]["relative"]

    def with_far(number):
        changed = {**layer["attention"], "relative": np.where(DISTANCES >= LENGTH, number, table)}
        return {**params, "layer 1": {**layer, "attention": changed}}

    middle = table[:, (DISTANCES > 2) & (DISTANCES < LENGTH)]
    shares = {str(number): right(2 * LENGTH, with_far(number)) for number in (-2, 0, 1, 2)}
    return {"middle biases": round(float(middle[middle != 0].mean()), 2), "long, far biases": shares}


def learn(seed, task, way, n_taken=None):
    """Return the losses and the shares right at both lengths. At the end, in long texts, the share by place, and those
    right if no token may look further than in training, or at a middle distance. For "two back" with a long table, also
    what its far biases do."""
    config = toy(vocab_size=LETTERS, n_layers=1, n_heads=2, d_ff=64, **WAYS[way])
    rng, task = np.random.default_rng(seed), TASKS[task]
    params = init_transformer(rng, config, dtype=np.float64)
    right = partial(share_right, config, task)
    run = train(
        params, partial(gradients, config), (task(rng, 32, LENGTH) for _ in range(STEPS)), STEPS,
        learning_rate=5e-3, warm_up=50,
        probe=lambda params: [right(length, params) for length in (LENGTH, 2 * LENGTH)],
        probe_every=EVERY, n_taken=n_taken,
    )  # fmt: skip
    short, long = np.transpose(run.probes).tolist()
    found = {
        "loss": mean_losses(run.losses, EVERY),
        "short": short,
        "long": long,
        "by place": hits(config, task, 2 * LENGTH, run.params)[0].mean(axis=0).round(2).tolist(),
        "long, none far": right(2 * LENGTH, run.params, FAR),
        "long, none middling": right(2 * LENGTH, run.params, MIDDLE),
    }
    if way == "relative, far" and task is two_back:
        found |= far_biases(right, run.params)
    return found
