"""From the layer of GPT-2 to that of Llama 3, one change at a time, in a small model that reads novels: for chapter 19.

    .venv/bin/python -m recordings todays_layer

trains five models of each kind at each of three learning rates, and writes attn_course/data/measured/todays_layer.json.
"""

import itertools
from dataclasses import replace
from functools import partial

import numpy as np

from attn import TransformerConfig, decoder, init_transformer
from attn.training import cross_entropy, train
from attn_course import novels
from attn_course.measured import mean_losses
from recordings import gradients

SOURCE = "Jane Austen's six novels, in the public domain: attn_course/data/novels/README.md"
EVERY, SEEDS, STEPS = 50, range(5), 600
RATES = (3e-3, 9e-3, 2.7e-2)
LENGTH, ROWS = 64, 8
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
# Tied embeddings begin with a variance of 1 / d_model, others with 1: this factor leads from the one to the other.
LARGE = GPT_2.d_model**0.5
HOW = {name: (name,) for name in CONFIGS}
# A learned table of positions begins as large as the tied embeddings; here a tenth as large.
HOW |= {"no biases, positions small at the start": ("no biases", {"positions": 0.1})}
HOW |= {"separate unembedding, embeddings small at the start": ("separate unembedding", {"embedding": 1 / LARGE})}
# Of one table that begins small, what is read is made large; of one that begins large, what it scores is made small.
# Both are the same function at the start, and begin as "separate unembedding" does but for the second table.
HOW |= {"one small table, made large when it is read": ("separate unembedding", {"embedding": 1 / LARGE}, LARGE, 1)}
HOW |= {"one large table, its scores made small": ("separate unembedding", {}, 1, 1 / LARGE)}
KINDS = {f"{kind}, {rate:g}": (rate, *how) for kind, how in HOW.items() for rate in RATES}
TOKENIZER = novels.read_tokenizer()


def batch(tokens, rng):
    """Return rows from anywhere in the text, each with the token that comes after it: shape (ROWS, LENGTH + 1)."""
    return (tokens[rng.integers(len(tokens) - LENGTH, size=(ROWS, 1)) + np.arange(LENGTH + 1)],)


def loss_on(rows, model, params):
    """Return the mean loss on rows, of which two dozen are read at a time."""
    parts = np.array_split(rows, -(-len(rows) // 24))
    losses = [cross_entropy(model(params, part[:, :-1]), part[:, 1:])[0] for part in parts]
    return round(float(np.average(losses, weights=[len(part) for part in parts])), 4)


def with_both_tables(params, read, scored):
    """Return the parameters with the one table twice: times `read` as embedding, times `scored` as unembedding."""
    table = params["embedding"]
    return {**params, "embedding": table * np.float32(read), "unembedding": {"W": table.T * np.float32(scored)}}


def gradients_of_one_table(model, read, scored, params, rows):
    """Return the loss and its gradients, those of both uses of the table added."""
    loss, grads = gradients(model, with_both_tables(params, read, scored), rows)
    grads["embedding"] = grads["embedding"] * read + grads.pop("unembedding")["W"].T * scored
    return loss, grads


def learn(seed, learning_rate, name, at_start=(), read=None, scored=None, n_taken=None):
    """Return the losses in training; at the end, that on held-out text: in nats per token.

    `at_start`: what is multiplied at the start, and by how much; `read`, `scored`: as for `with_both_tables`, if there
    is one table that is used so.
    """
    config, tokens = CONFIGS[name], TOKENIZER.encode(novels.read_text())
    held = novels.rows_of(TOKENIZER.encode(novels.read_text("held out")), LENGTH + 1)
    params = init_transformer(np.random.default_rng(seed), config)
    for part, factor in dict(at_start).items():
        params[part] *= np.float32(factor)

    def model(params, tokens):
        return decoder(params, config, tokens)

    descend, used = partial(gradients, model), dict
    if read is not None:
        del params["unembedding"]
        descend = partial(gradients_of_one_table, model, read, scored)
        used = partial(with_both_tables, read=read, scored=scored)
    data = (batch(tokens, np.random.default_rng([seed, step])) for step in range(STEPS))
    run = train(params, descend, data, STEPS, learning_rate=learning_rate, warm_up=60, n_taken=n_taken)
    return {
        "loss": mean_losses(run.losses, EVERY),
        "all held out": loss_on(held, model, used(run.params)),
    }
