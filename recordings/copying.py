"""Copying from what was just read, by one layer, by two, and by two that may not look one back: for chapter 15.

    .venv/bin/python -m recordings.copying

trains five models of each kind, and writes attn/data/recordings/copying.json.
"""

from functools import partial

import numpy as np

from attn import Forbid, Tape, TransformerConfig, decoder, init_transformer
from attn.course.corpora import repeated
from attn.course.recordings import mean_losses, record
from attn.training import cross_entropy, train

SOURCE = "the toy rows attn.course.corpora.repeated"
EVERY, SEEDS = 50, range(5)
WIDE = {"n_layers": 1, "n_heads": 16, "d_k": 20, "max_distance": 19}  # an embedding for each distance
KINDS = {  # sizes, steps, learning rate, distances at which layer 1 may not look back
    "one layer": ({"n_layers": 1}, 3000, 3e-3, []),
    "one layer, 16 wide heads": (WIDE, 8000, 6e-3, []),
    "two layers": ({"n_layers": 2}, 1000, 3e-3, []),
    "two layers, no look one back": ({"n_layers": 2}, 1000, 3e-3, [1]),
}
TEST = repeated(np.random.default_rng(99), 200)


def sizes(options):
    usual = {"d_model": 64, "n_heads": 4, "max_distance": 8}
    return TransformerConfig(
        vocab_size=20, d_ff=0, positions="relative", activation="relu", biases="mlp", unembedding="separate",
        **(usual | options),
    )  # fmt: skip


def no_look(back):
    """Return an intervention: layer 1 may not look exactly so many places back."""
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
    """Return the losses, the shares right, and the shares right at the end if layer 1 may not look 1, 2, ... 9 back."""
    rng, config = np.random.default_rng(seed), sizes(options)
    params = init_transformer(rng, config, dtype=np.float64)
    data = (repeated(rng, 32) for _ in range(steps))
    run = train(
        params, partial(gradients, config, forbidden), data, steps,
        learning_rate=rate, warm_up=20,
        probe=partial(share_right, config, forbidden), probe_every=EVERY, n_taken=n_taken,
    )  # fmt: skip
    without = [share_right(config, [*forbidden, back], run.params) for back in range(1, 10)]
    return {
        "seed": seed,
        "loss": mean_losses(run.losses, EVERY),
        "right": np.round(run.probes, 4).tolist(),
        "without": np.round(without, 4).tolist(),
    }


if __name__ == "__main__":
    record(__file__, SOURCE, learn, KINDS, seeds=SEEDS, every=EVERY)
