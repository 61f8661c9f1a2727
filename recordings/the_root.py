"""Copying with the root in the scores and without, from small and large starts, by small and large steps: chapter 15.

    .venv/bin/python -m recordings the_root

trains five models of each kind, and writes attn_course/data/measured/the_root.json.
"""

from functools import partial
from itertools import product

import numpy as np

from attn import TransformerConfig, decoder, init_transformer
from attn.training import train
from attn_course.corpora import repeated
from attn_course.measured import mean_losses
from recordings import gradients

SOURCE = "the toy rows attn_course.corpora.repeated"
EVERY, SEEDS = 50, range(5)
KINDS = {  # what scores are divided by, what W_Q and W_K are first multiplied by, learning rate, warm-up, steps
    "with the root": (16, 1, 5e-3, 20, 4000),
    "without": (1, 1, 5e-3, 20, 4000),
    "without, quiet start": (1, 1 / 4, 5e-3, 20, 4000),
    "root, loud start, slow": (16, 4, 5e-3 / 4, 20, 12000),
    "without, quiet start, slow": (1, 1 / 4, 5e-3 / 4, 20, 4000),
    "without, quiet start, warm-up": (1, 1 / 4, 5e-3, 500, 4000),
}


def learn(seed, divisor, start, learning_rate, warm_up, steps, n_taken=None):
    """Return the losses alone."""
    config = TransformerConfig(
        vocab_size=20, d_model=32, n_heads=1, d_k=256, n_layers=2, d_ff=0, scale=1 / divisor,
        positions="relative", activation="relu", biases="mlp", unembedding="separate",
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    params = init_transformer(rng, config, dtype=np.float64)
    for layer, name in product(("layer 1", "layer 2"), ("W_Q", "W_K")):
        params[layer]["attention"][name] *= start

    def model(params, tokens):
        return decoder(params, config, tokens)

    data = (repeated(rng, 16, length=16) for _ in range(steps))
    run = train(
        params, partial(gradients, model), data, steps,
        learning_rate=learning_rate, warm_up=warm_up, n_taken=n_taken,
    )  # fmt: skip
    return {"loss": mean_losses(run.losses, EVERY)}
