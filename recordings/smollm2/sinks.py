"""The first token: who rests there, who takes its part if it is hidden, and what makes it."""

import numpy as np

from attn import Forbid, Replace, Trace
from attn.layers import gated, rms_norm
from attn_course import novels
from recordings._arithmetic import mean_interval, plain

from .model import losses

N_TEXTS, LENGTH, LATER, ALONE = 12, 64, 8, 20  # losses and weights count from place LATER on
LAYER, UNITS, OTHER_UNITS = 12, (1229, 1487), (100, 700)


def prose(model):
    """Return pieces of the novels' held-out text that begin with a sentence: shape (N_TEXTS, LENGTH)."""
    text, rng, rows = novels.read_text("held out").replace("\n", " "), np.random.default_rng(3), []
    while len(rows) < N_TEXTS:
        start = text.index(". ", int(rng.integers(len(text) - 2000))) + 2
        tokens = model.tokenizer.encode(text[start : start + 600])
        if text[start].isupper() and len(tokens) >= LENGTH:
            rows.append(tokens[:LENGTH])
    return np.array(rows)


def later_loss(logits, rows):
    """Return the mean surprise of each text from place LATER on: shape (n_texts,)."""
    return losses(logits, rows)[:, LATER:].mean(axis=1)


def hidden(*keys):
    """Return the intervention that hides keys from all later tokens."""
    return Forbid([(query, key) for key in keys for query in range(key + 1, LENGTH)])


def alone(place, but=()):
    """Return the intervention by which a token sees itself alone, or all others but some."""
    unseen = but or range(place)
    return Forbid([(place, key) for key in unseen])


def sinks(model):
    rows = prose(model)
    with Trace() as trace:
        base = later_loss(model.logits(rows, last=False), rows)
    lonely = alone(ALONE)
    ways = {
        "as it is": (),
        "first hidden": [hidden(0)],
        "first two hidden": [hidden(0, 1)],
        "token 21 sees only itself": [lonely],
        "token 21 sees all but the first": [alone(ALONE, but=(0,))],
        "two units off at the first": [without_units(model, trace, UNITS, 0)],
        "two other units off at the first": [without_units(model, trace, OTHER_UNITS, 0)],
        "the two units off at token 21": [without_units(model, trace, UNITS, ALONE)],
        "token 21 sees only itself, the two units off there": [
            lonely,
            without_units(model, model.trace(rows, [lonely]), UNITS, ALONE),
        ],
    }
    stream = np.stack([trace.embedded[0], *(layer.after_mlp for layer in trace.layers)])
    lengths = np.linalg.norm(stream, axis=-1)  # (layers, texts, places)
    share = weights_by_place(trace)[..., 0].mean(axis=0)  # (layers, heads): over the texts
    return {
        "texts": N_TEXTS,
        "tokens": LENGTH,
        "first token by head": plain(share.ravel(), 3),
        "heads that give it more than half": int((share > 0.5).sum()),
        "weight if all were equal": plain(np.mean(1 / np.arange(LATER + 1, LENGTH + 1)), 3),
        "length of the stream": {
            "first": plain(lengths[..., 0].mean(axis=1), 0),
            "others": plain(np.median(lengths[..., LATER:], axis=(1, 2)), 0),
        },
        "ways": {name: measured(model, rows, base, done) for name, done in ways.items()},
    }


def weights_by_place(trace):
    """Return the mean weight that places from LATER on give to each: shape (texts, layers, heads, places)."""
    return np.stack([layer.attention.weights[:, :, LATER:].mean(axis=2) for layer in trace.layers], axis=1)


def measured(model, rows, base, done):
    """Return the loss that is added, and the weight that places 1, 2, 3 and 21 get from those behind place 21."""
    with Trace() as trace:
        loss = later_loss(model.logits(rows, done, last=False), rows)
    weights = np.mean(
        [layer.attention.weights[:, :, ALONE + 1 :].mean(axis=(0, 1, 2)) for layer in trace.layers], axis=0
    )
    return {
        "loss added": mean_interval(loss - base, range(N_TEXTS)),
        "weight": {str(place + 1): plain(weights[place], 3) for place in (0, 1, 2, ALONE)},
    }


def without_units(model, trace, units, place):
    """Return the intervention that takes from the stream what some units of one MLP add to it at a place."""
    mlp, layer = model.params[f"layer {LAYER}"]["mlp"], trace.layers[LAYER - 1]
    X = rms_norm(layer.after_attention[:, place], **mlp["norm"], epsilon=model.config.epsilon)
    active = gated(X @ mlp["W_3"], X @ mlp["W_1"])[:, units]
    stream = layer.after_mlp[:, place] - active @ mlp["W_2"][list(units)]
    return Replace(place, stream, LAYER)
