"""Copying by two layers, while one head or two are held to a rule and all else learns: for chapter 15.

    .venv/bin/python -m recordings held_heads

trains five models of each kind, and writes attn/data/recordings/held_heads.json.
"""

from functools import partial

import numpy as np

from attn import Trace, decoder, hold, init_transformer
from attn.course.corpora import repeated
from attn.course.recordings import mean_losses
from attn.training import train
from recordings import gradients, share_right
from recordings.copying import TEST, sizes

SOURCE = "the toy rows attn.course.corpora.repeated"
EVERY, SEEDS, STEPS = 10, range(5), 300
KINDS = {  # the rule to which the first head of layer 1 is held, and that of layer 2
    "nothing": (None, None),
    "layer 1: one back": ("one back", None),
    "layer 2: what to copy": (None, "what to copy"),
    "both": ("one back", "what to copy"),
    "layer 1: what to copy": ("what to copy", None),  # then one layer would do
    "layer 2: one back": (None, "one back"),  # the right rule in the wrong layer
    "layer 1: itself": ("itself", None),
    "layer 1: the first": ("the first", None),
}


def looks(rule, tokens):
    """Return where each place looks by a rule: array of int, as the tokens; -1 where the rule names no place."""
    n = tokens.shape[-1]
    places, later = np.broadcast_to(np.arange(n), tokens.shape), np.tri(n, k=-1, dtype=bool)
    same = (tokens[..., :, None] == tokens[..., None, :]) & later
    last = np.where(same.any(axis=-1), n - 1 - same[..., ::-1].argmax(axis=-1), -1)
    return {
        "one back": places - 1,
        "itself": places,
        "the first": np.zeros_like(places),
        "what to copy": np.where(last < 0, -1, last + 1),
    }[rule]


def held(rules, tokens):
    """Return the interventions that hold the first head of each layer to its rule, if it has one."""
    return [hold(looks(rule, tokens), layer, 1) for layer, rule in enumerate(rules, start=1) if rule]


def model(config, rules, params, tokens):
    """Return the logits, with heads held to their rules."""
    return decoder(params, config, tokens, interventions=held(rules, tokens))


def weights_on(config, rules, params):
    """Return the mean weight of each head of layer 1 one back, and of each head of layer 2 on what to copy."""
    rows, known = TEST
    tokens = rows[:, :-1]
    with Trace() as trace:
        decoder(params, config, tokens, interventions=held(rules, tokens))
    first, second = (layer.attention.weights for layer in trace.layers)
    row, asks = np.nonzero(known)
    copied = second[row, :, asks, looks("what to copy", tokens)[row, asks]]
    means = np.diagonal(first, offset=-1, axis1=2, axis2=3).mean(axis=(0, 2)), copied.mean(axis=0)
    return np.round(means, 3).tolist()


def learn(seed, *rules, n_taken=None):
    """Return the losses and the shares right while heads are held; at the end, that with all let go, and what the heads
    attend to."""
    rng, config = np.random.default_rng(seed), sizes({"n_layers": 2})
    params = init_transformer(rng, config, dtype=np.float64)
    data = (repeated(rng, 32) for _ in range(STEPS))
    copier = partial(model, config, rules)
    run = train(
        params, partial(gradients, copier), data, STEPS,
        learning_rate=3e-3, warm_up=20,
        probe=lambda params: share_right(copier, params, *TEST), probe_every=EVERY, n_taken=n_taken,
    )  # fmt: skip
    return {
        "loss": mean_losses(run.losses, EVERY),
        "right": np.round(run.probes, 4).tolist(),
        "let go": round(share_right(partial(model, config, ()), run.params, *TEST), 4),
        "weights": weights_on(config, rules, run.params),
    }
