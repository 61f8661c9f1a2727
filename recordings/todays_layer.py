"""From the layer of GPT-2 to that of Llama 3, one change at a time, in a small model that reads novels: for chapter 19.

    .venv/bin/python -m recordings.todays_layer

trains five models of each kind, and writes attn/data/recordings/todays_layer.json.
"""

import itertools
from dataclasses import replace
from functools import partial

import numpy as np

from attn import TransformerConfig, decoder, init_transformer
from attn.course import novels
from attn.course.recordings import mean_losses, record
from attn.training import cross_entropy, train
from recordings import gradients

SOURCE = "Jane Austen's six novels, in the public domain: attn/data/novels/README.md"
EVERY, SEEDS, STEPS = 50, range(5), 600
LENGTH, ROWS, TESTED = 64, 8, 100
GPT_2 = TransformerConfig(vocab_size=2048, d_model=96, n_heads=6, n_layers=3, n_positions=LENGTH)
CHANGES = {  # each is made on top of those before it
    "RMSNorm": {"norm_type": "rms"},
    "no biases": {"biases": "none"},
    "rotary positions": {"positions": "rotary", "n_positions": None},
    "gated MLP": {"activation": "swiglu", "d_ff": 256},  # three matrices with as many numbers as two had
    "fewer key heads": {"n_key_heads": 2},
    "separate unembedding": {"unembedding": "separate"},
}
ONE_BY_ONE = itertools.accumulate(CHANGES.values(), lambda config, change: replace(config, **change), initial=GPT_2)
CONFIGS = dict(zip(["GPT-2", *CHANGES], ONE_BY_ONE))
CONFIGS["no positions"] = replace(CONFIGS["no biases"], positions="none", n_positions=None)
RATES = {"a third of the rate": 1e-3, "": 3e-3, "three times the rate": 9e-3}
ENDS = ["GPT-2", list(CHANGES)[-1]]
KINDS = {name: (name, RATES[""]) for name in CONFIGS}
KINDS |= {f"{name}, {rate}": (name, RATES[rate]) for name in ENDS for rate in RATES if rate}
LARGE, SMALL = GPT_2.d_model**0.5, GPT_2.d_model**-0.5
# Tied embeddings begin with a variance of 1 / d_model, others with 1: with this factor these begin like tied ones.
KINDS |= {f"{ENDS[1]}, embeddings small at the start": (ENDS[1], RATES[""], SMALL)}
# One table as large as that: divided by the same factor at the start, the last gain keeps the logits as they were.
KINDS |= {"fewer key heads, embeddings large at the start": ("fewer key heads", RATES[""], LARGE, 1, SMALL)}
# A learned table of positions begins as large as the tied embeddings; here a tenth as large.
KINDS |= {"no biases, positions small at the start": ("no biases", RATES[""], 1, 0.1)}
TOKENIZER = novels.read_tokenizer()


def batch(tokens, rng):
    """Return rows from anywhere in the text, each with the token that comes after it: shape (ROWS, LENGTH + 1)."""
    return (tokens[rng.integers(len(tokens) - LENGTH, size=(ROWS, 1)) + np.arange(LENGTH + 1)],)


def loss_on(rows, config, params):
    """Return the mean loss on rows, of which two dozen are read at a time."""
    parts = np.array_split(rows, -(-len(rows) // 24))
    losses = [cross_entropy(decoder(params, config, part[:, :-1]), part[:, 1:])[0] for part in parts]
    return round(float(np.average(losses, weights=[len(part) for part in parts])), 4)


def learn(seed, name, learning_rate, embeddings=1, positions=1, last_gain=1, n_taken=None):
    """Return the losses in training and on some of the held-out text; at the end, on all of it: in nats per token.

    `embeddings`, `positions`, `last_gain`: what they are multiplied by at the start.
    """
    config, tokens = CONFIGS[name], TOKENIZER.encode(novels.read_text())
    held = novels.rows_of(TOKENIZER.encode(novels.read_text("held out")), LENGTH + 1)
    params = init_transformer(np.random.default_rng(seed), config)
    params["embedding"] *= np.float32(embeddings)
    params["norm"]["gain"] *= np.float32(last_gain)
    if positions != 1:
        params["positions"] *= np.float32(positions)
    run = train(
        params, partial(gradients, lambda params, tokens: decoder(params, config, tokens)),
        (batch(tokens, np.random.default_rng([seed, step])) for step in range(STEPS)), STEPS,
        learning_rate=learning_rate, warm_up=60,
        probe=partial(loss_on, held[:TESTED], config), probe_every=EVERY, n_taken=n_taken,
    )  # fmt: skip
    return {
        "seed": seed,
        "loss": mean_losses(run.losses, EVERY),
        "held out": run.probes,
        "all held out": loss_on(held, config, run.params),
    }


if __name__ == "__main__":
    record(__file__, SOURCE, learn, KINDS, seeds=SEEDS, every=EVERY)
