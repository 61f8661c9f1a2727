"""Copying from what was just read, by one layer, by two, and by two that may not look one back: for chapter 15.

    .venv/bin/python -m recordings copying

trains five models of each kind, and writes attn/data/recordings/copying.json.
"""

from functools import partial

import numpy as np

from attn import Forbid, decoder, init_transformer
from attn.course.corpora import repeated
from attn.course.recordings import mean_losses
from attn.training import train
from recordings import gradients, share_right, toy

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
    return toy(vocab_size=20, d_ff=0, positions="relative", **usual | options)


def no_look(back):
    """Return an intervention: layer 1 may not look exactly so many places back."""
    return Forbid(np.eye(19, k=-back, dtype=bool), layer=1)


def model(config, forbidden, params, tokens):
    """Return the logits, if layer 1 may not look so many places back."""
    return decoder(params, config, tokens, interventions=[no_look(back) for back in forbidden])


def learn(seed, options, steps, rate, forbidden, n_taken=None):
    """Return the losses, the shares right, and the shares right at the end if layer 1 may not look 1, 2, ... 9 back."""
    rng, config = np.random.default_rng(seed), sizes(options)
    params = init_transformer(rng, config, dtype=np.float64)
    data = (repeated(rng, 32) for _ in range(steps))
    copier = partial(model, config, forbidden)
    run = train(
        params, partial(gradients, copier), data, steps,
        learning_rate=rate, warm_up=20,
        probe=lambda params: share_right(copier, params, *TEST), probe_every=EVERY, n_taken=n_taken,
    )  # fmt: skip
    without = [share_right(partial(model, config, [*forbidden, back]), run.params, *TEST) for back in range(1, 10)]
    return {
        "loss": mean_losses(run.losses, EVERY),
        "right": np.round(run.probes, 4).tolist(),
        "without": np.round(without, 4).tolist(),
    }
