"""Two, eight and twenty-four layers, whose outputs are added or not, normalised before or after: for chapter 12.

    .venv/bin/python -m recordings depth

trains five models of each kind, and writes attn/data/recordings/depth.json.
"""

from functools import partial
from itertools import product

import numpy as np

from attn import causal_mask, init_transformer, multi_head_attention
from attn.course.corpora import fortunes
from attn.course.recordings import mean_losses
from attn.layers import embedding, feed_forward, layer_norm, linear
from attn.training import batches, train
from recordings import gradients, share_right, toy

SOURCE = "the toy sentences attn.course.corpora.fortunes, seed 0"
STEPS, EVERY, SEEDS = 1000, 50, range(5)
WAYS = ["not added", "added, then normalised", "normalised, then added"]
WARM_UPS = {"": 0, ", warm-up": 100}
RATES = {"": 3e-3, ", small steps": 3e-4}
KINDS = {
    f"{n_layers} layers, {way}{slowly}{small}": (n_layers, way, WARM_UPS[slowly], RATES[small])
    for n_layers, way, slowly, small in product((2, 8, 24), WAYS, WARM_UPS, RATES)
}
CORPUS = fortunes(np.random.default_rng(0))
KNOWABLE = slice(3, 5)  # where in what is to be guessed "she" or "he", and "smiled" or "wept", stand


def sizes(n_layers):
    return toy(vocab_size=len(CORPUS.words), n_heads=4, n_layers=n_layers, d_ff=64, n_positions=8)


def attention(a, X):
    matrices = [a[name] for name in ("W_Q", "W_K", "W_V", "W_O")]
    return multi_head_attention(X, *matrices, mask=causal_mask(X.shape[-2]))[0]


def mlp(m, X):
    return feed_forward(X, m["W_1"], m["b_1"], m["W_2"], m["b_2"])


def join(X, part, norm, way):
    """Replace the residual stream by what attention or the MLP computes, or add that to it, in one of two orders."""
    if way == "added, then normalised":
        return layer_norm(X + part(X), **norm)
    update = part(layer_norm(X, **norm))
    return X + update if way == "normalised, then added" else update


def model(n_layers, way, params, tokens):
    """Return the logits."""
    n = tokens.shape[-1]
    X = embedding(tokens, params["embedding"]) + embedding(np.arange(n), params["positions"])
    for number in range(1, n_layers + 1):
        a, m = params[f"layer {number}"]["attention"], params[f"layer {number}"]["mlp"]
        X = join(X, partial(attention, a), a["norm"], way)
        X = join(X, partial(mlp, m), m["norm"], way)
    return linear(layer_norm(X, **params["norm"]), **params["unembedding"])


def learn(seed, n_layers, way, warm_up, rate, n_taken=None):
    """Return the losses, and how often the two words that can be known are right in sentences not seen."""
    rng = np.random.default_rng(seed)
    params = init_transformer(rng, sizes(n_layers), dtype=np.float64)
    data = batches(rng, STEPS, 16, CORPUS.train["sentences"])
    deep, known = partial(model, n_layers, way), np.s_[:, KNOWABLE]
    run = train(
        params, partial(gradients, deep), data, STEPS,
        learning_rate=rate, warm_up=warm_up,
        probe=lambda params: share_right(deep, params, CORPUS.test["sentences"], known), probe_every=EVERY,
        n_taken=n_taken,
    )  # fmt: skip
    return {"loss": mean_losses(run.losses, EVERY), "right": np.round(run.probes, 4).tolist()}
