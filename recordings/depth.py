"""Two, eight and twenty-four layers, whose outputs are added or not, normalised before or after: for chapter 9.

    .venv/bin/python recordings/depth.py

trains five models of each kind, and writes depth.json beside this file.
"""

from functools import partial

import numpy as np

from attn import Tape, TransformerConfig, causal_mask, init_transformer, multi_head_attention
from attn.course.corpora import fortunes
from attn.course.recordings import mean_losses, record
from attn.layers import add, embedding, feed_forward, layer_norm, linear
from attn.training import batches, cross_entropy, train

STEPS, EVERY, SEEDS, WARM_UP = 1000, 50, range(5), 100
RATE, SMALL_RATE = 3e-3, 3e-4
WAYS = ["not added", "added, then normalised", "normalised, then added"]
KINDS = {
    f"{n_layers} layers, {way}{', warm-up' * (warm_up > 0)}{', small steps' * (rate < RATE)}": (
        n_layers,
        way,
        warm_up,
        rate,
    )
    for n_layers in (2, 8, 24)
    for way in WAYS
    for warm_up in (0, WARM_UP)
    for rate in (RATE, SMALL_RATE)
}
CORPUS = fortunes(np.random.default_rng(0))
KNOWABLE = slice(3, 5)  # where in what is to be guessed "she" or "he", and "smiled" or "wept", stand


def sizes(n_layers):
    return TransformerConfig(
        vocab_size=len(CORPUS.words), d_model=32, n_heads=4, n_layers=n_layers, d_ff=64, n_positions=8,
        activation="relu", biases="mlp", unembedding="separate",
    )  # fmt: skip


def attend(a, X):
    matrices = [a[name] for name in ("W_Q", "W_K", "W_V", "W_O")]
    return multi_head_attention(X, *matrices, mask=causal_mask(X.shape[-2]))[0]


def think(m, X):
    return feed_forward(X, m["W_1"], m["b_1"], m["W_2"], m["b_2"])


def join(X, part, norm, way):
    """Let what attention or the MLP writes take the place of the stream, or add it in one of two orders."""
    if way == "added, then normalised":
        return layer_norm(add(X, part(X)), **norm)
    written = part(layer_norm(X, **norm))
    return add(X, written) if way == "normalised, then added" else written


def model(params, n_layers, way, tokens):
    """Return the logits."""
    n = tokens.shape[-1]
    X = add(embedding(tokens, params["embedding"]), embedding(np.arange(n), params["positions"]))
    for number in range(1, n_layers + 1):
        a, m = params[f"layer {number}"]["attention"], params[f"layer {number}"]["mlp"]
        X = join(X, partial(attend, a), a["norm"], way)
        X = join(X, partial(think, m), m["norm"], way)
    return linear(layer_norm(X, **params["norm"]), **params["unembedding"])


def gradients(n_layers, way, params, rows):
    with Tape() as tape:
        logits = model(params, n_layers, way, rows[:, :-1])
    loss, grad = cross_entropy(logits, rows[:, 1:])
    return loss, tape.gradients(params, (logits, grad))


def share_right(n_layers, way, params):
    """Return how often the two words that can be known are right in sentences not seen."""
    rows = CORPUS.test["sentences"]
    hits = model(params, n_layers, way, rows[:, :-1]).argmax(axis=-1) == rows[:, 1:]
    return float(hits[:, KNOWABLE].mean())


def learn(seed, n_layers, way, warm_up, rate, n_taken=None):
    """Return the mean losses of `EVERY` steps each, and the share right before the first and after each of these. If
    it is given, only `n_taken` of the steps are taken."""
    rng = np.random.default_rng(seed)
    params = init_transformer(rng, sizes(n_layers), dtype=np.float64)
    data = batches(rng, STEPS, 16, CORPUS.train["sentences"])
    run = train(
        *(params, partial(gradients, n_layers, way), data, STEPS),
        **{"learning_rate": rate, "warm_up": warm_up, "probe_every": EVERY, "n_taken": n_taken},
        probe=partial(share_right, n_layers, way),
    )
    return {"seed": seed, "loss": mean_losses(run.losses, EVERY), "right": np.round(run.probes, 4).tolist()}


if __name__ == "__main__":
    record(__file__, "the toy sentences attn.course.corpora.fortunes, seed 0", learn, KINDS, seeds=SEEDS, every=EVERY)
