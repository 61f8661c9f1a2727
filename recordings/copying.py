"""Copying from what was just read, by one layer, by two, and by two that may not look one back: for chapter 14.

    .venv/bin/python recordings/copying.py

trains five models of each kind, and writes copying.json beside this file.
"""

from functools import partial

import numpy as np

from attn import Forbid, Tape, TransformerConfig, decoder, init_transformer
from attn.course.corpora import repeated
from attn.course.recordings import mean_losses, record
from attn.training import cross_entropy, train

EVERY, SEEDS = 50, range(5)
WIDE = {"n_layers": 1, "n_heads": 16, "d_k": 20, "max_distance": 19}  # every distance of a row is told apart
KINDS = {  # sizes, steps, learning rate, looks that layer 1 may not take
    "one layer": ({"n_layers": 1}, 3000, 3e-3, []),
    "one layer, 16 wide heads": (WIDE, 8000, 6e-3, []),
    "two layers": ({"n_layers": 2}, 1000, 3e-3, []),
    "two layers, no look one back": ({"n_layers": 2}, 1000, 3e-3, [1]),
}
TEST = repeated(np.random.default_rng(99), 200)


def sizes(options):
    usual = {"d_model": 64, "n_heads": 4, "d_ff": 0, "positions": "relative", "max_distance": 8}
    rules = {"activation": "relu", "biases": "mlp", "unembedding": "separate"}
    return TransformerConfig(vocab_size=20, **{**usual, **rules, **options})


def no_look(back):
    """Return edges of layer 1 to forbid: those that look exactly so many places back."""
    return Forbid(np.eye(19, k=-back, dtype=bool), layer=1)


def gradients(config, forbidden, params, rows, known):
    with Tape() as tape:
        logits = decoder(params, config, rows[:, :-1], interventions=[no_look(back) for back in forbidden])
    loss, grad = cross_entropy(logits, rows[:, 1:], known)
    return loss, tape.gradients(params, (logits, grad))


def share_right(config, forbidden, params):
    rows, known = TEST
    logits = decoder(params, config, rows[:, :-1], interventions=[no_look(back) for back in forbidden])
    return float((logits.argmax(-1) == rows[:, 1:])[known].mean())


def learn(seed, options, steps, rate, forbidden, n_taken=None):
    """Return mean losses of `EVERY` steps each; shares of right answers before the first and after each of these; and
    such shares in the end when layer 1 may besides not look 1, 2, ... 9 back. If it is given, only `n_taken` of the
    steps are taken."""
    rng, config = np.random.default_rng(seed), sizes(options)
    params = init_transformer(rng, config, dtype=np.float64)
    data = (repeated(rng, 32) for _ in range(steps))
    right = partial(share_right, config, forbidden)
    run = train(
        *(params, partial(gradients, config, forbidden), data, steps),
        **{"learning_rate": rate, "warm_up": 20, "probe_every": EVERY, "n_taken": n_taken, "probe": right},
    )
    losses = mean_losses(run.losses, EVERY)
    without = [share_right(config, [*forbidden, back], run.params) for back in range(1, 10)]
    found = {"right": run.probes, "without": without}
    return {"seed": seed, "loss": losses} | {name: np.round(shares, 4).tolist() for name, shares in found.items()}


if __name__ == "__main__":
    record(__file__, "the toy rows attn.course.corpora.repeated", learn, KINDS, seeds=SEEDS, every=EVERY)
