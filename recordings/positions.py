"""How a model may know where words stand: five ways, a task that needs the order and one that does not: chapter 8.

    .venv/bin/python -m recordings.positions

trains five models of each kind on texts of 16 letters, tests them on texts of 16 and of 32, and writes
attn/data/recordings/positions.json.
"""

from functools import partial

import numpy as np

from attn import Forbid, Tape, TransformerConfig, decoder, encoder, init_transformer
from attn.course.recordings import mean_losses, record
from attn.training import cross_entropy, train

SOURCE = "random letters"
EVERY, SEEDS, STEPS = 100, range(5), 1500
LETTERS, LENGTH = 10, 16
APART = np.abs(np.subtract.outer(np.arange(2 * LENGTH), np.arange(2 * LENGTH)))
FAR, MIDDLE = APART >= LENGTH, (APART > 2) & (APART < LENGTH)
WAYS = {
    "none": {"positions": "none"},
    "learned": {"positions": "learned", "n_positions": 2 * LENGTH},
    "sinusoid": {"positions": "sinusoid"},
    "relative": {"positions": "relative", "max_distance": 8},
    "relative, far": {"positions": "relative", "max_distance": 2 * LENGTH - 1},
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


TASKS, MODELS = {"two back": two_back, "again": again}, {"encoder": encoder, "decoder": decoder}
KINDS = {f"{task}, {way}": (task, way, "encoder", 1) for task in TASKS for way in WAYS}
KINDS |= {f"two back, none, causal, {n} layers": ("two back", "none", "decoder", n) for n in (1, 2, 4)}


def sizes(way, n_layers):
    return TransformerConfig(
        vocab_size=LETTERS, d_model=32, n_heads=2, n_layers=n_layers, d_ff=64, **WAYS[way],
        activation="relu", biases="mlp", unembedding="separate",
    )  # fmt: skip


def gradients(model, config, params, text, answers, asked):
    with Tape() as tape:
        logits = model(params, config, text)
    loss, grad = cross_entropy(logits, answers, asked)
    return loss, tape.gradients(params, (logits, grad))


def hits(model, config, task, length, params, *, wrongly=False, interventions=()):
    """Return which answers are right on texts not seen, and where something is asked: arrays of bool, shape (200, n).

    `wrongly`: the model reads the letters of each text in another order than the one that is asked about.
    """
    rng = np.random.default_rng(10**6)
    text, answers, asked = task(rng, 200, length)
    if wrongly:
        order = np.argsort(rng.random(text.shape), axis=1)
        text, answers, asked = (np.take_along_axis(part, order, axis=1) for part in (text, answers, asked))
    return model(params, config, text, interventions=interventions).argmax(axis=-1) == answers, asked


def share_right(model, config, task, length, params, **options):
    right, asked = hits(model, config, task, length, params, **options)
    return round(float(right[asked].mean()), 4)


def learn(seed, task, way, model, n_layers, n_taken=None):
    """Return the losses and the shares right at both lengths. At the end, the share by place in long texts; the share
    if the letters are read in a wrong order; and the shares in long texts if no token may look further than in
    training, or at a middle distance."""
    rng, config, task, model = np.random.default_rng(seed), sizes(way, n_layers), TASKS[task], MODELS[model]
    params = init_transformer(rng, config, dtype=np.float64)
    data = (task(rng, 32, LENGTH) for _ in range(STEPS))
    right = partial(share_right, model, config, task)
    run = train(
        params, partial(gradients, model, config), data, STEPS,
        learning_rate=5e-3, warm_up=50,
        probe=lambda params: [right(length, params) for length in (LENGTH, 2 * LENGTH)],
        probe_every=EVERY, n_taken=n_taken,
    )  # fmt: skip
    short, long = np.transpose(run.probes).tolist()
    by_place, _ = hits(model, config, task, 2 * LENGTH, run.params)
    return {
        "seed": seed,
        "loss": mean_losses(run.losses, EVERY),
        "short": short,
        "long": long,
        "by place": by_place.mean(axis=0).round(2).tolist(),
        "wrongly": right(LENGTH, run.params, wrongly=True),
        "long, none far": right(2 * LENGTH, run.params, interventions=[Forbid(FAR)]),
        "long, none middling": right(2 * LENGTH, run.params, interventions=[Forbid(MIDDLE)]),
    }


if __name__ == "__main__":
    record(__file__, SOURCE, learn, KINDS, seeds=SEEDS, every=EVERY)
