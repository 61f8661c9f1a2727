"""Whether later layers heal what a changed head does: its total effect beside its direct effect."""

from dataclasses import dataclass, replace

import numpy as np

from attn import Trace, encoder
from attn.attention import scaled_dot_product_attention
from attn.heads import project_into_heads, project_out_of_heads
from attn.interventions import named_head
from attn.layers import feed_forward, layer_norm
from attn_course.minilm import encode
from recordings._arithmetic import t_interval

from .model import HEADS, N_LAYERS, Seen
from .pairs import leaning

PARTS = [(layer, part) for layer in range(1, N_LAYERS + 1) for part in ("attention", "mlp")]


@dataclass(frozen=True)
class WholeRun:
    """What was seen of a text, what each head mixes, shape (72, n, d_k), and what each part adds to the residual stream
    before its norm: by (layer, part), shape (n, 384)."""

    seen: Seen
    mixtures: np.ndarray
    updates: dict


def whole_run(model, sentence):
    text = encode(model.tokenizer, sentence)
    with Trace() as trace:
        encoder(model.params, model.config, text.ids)
    streams = [trace.embedded[0], *(layer.after_mlp for layer in trace.layers)]
    before = {(i, "attention"): X for i, X in enumerate(streams[:-1], start=1)}
    before |= {(i, "mlp"): layer.after_attention for i, layer in enumerate(trace.layers, start=1)}
    attention = [layer.attention for layer in trace.layers]
    return WholeRun(
        Seen(text, np.stack(streams), np.concatenate([one.weights for one in attention])),
        np.concatenate([one.weights @ one.V for one in attention]),
        {where: added(model, before[where], *where) for where in PARTS},
    )


def added(model, X, layer, part):
    """Return what a part of a layer adds to a residual stream, before the norm: shape (n, 384)."""
    p = {name: array for name, array in model.params[f"layer {layer}"][part].items() if name != "norm"}
    if part == "mlp":
        return feed_forward(X, **p, activation=model.config.activation)
    Q, K, V = (project_into_heads(X, p[f"W_{name}"], p[f"b_{name}"]) for name in "QKV")
    return project_out_of_heads(scaled_dot_product_attention(Q, K, V)[0], p["W_O"], p["b_O"])


def with_head(model, run, name, mixture, held):
    """Return what is seen if a head writes another mixture, shape (d_k,) or (n, d_k), and the parts that are held add
    what they added in the whole run."""
    own, number = named_head(name)
    first, W_O = (own, "attention"), model.params[f"layer {own}"]["attention"]["W_O"][number - 1]
    changed = run.updates[first] + (mixture - run.mixtures[HEADS.index(name)]) @ W_O
    known = {**{where: run.updates[where] for where in held}, first: changed}
    streams = list(run.seen.streams[:own])
    X = streams[-1]
    for where in PARTS[PARTS.index(first) :]:
        layer, part = where
        update = known[where] if where in known else added(model, X, *where)
        X = layer_norm(X + update, **model.params[f"layer {layer}"][part]["norm"], epsilon=model.config.epsilon)
        if part == "mlp":
            streams.append(X)
    return replace(run.seen, streams=np.stack(streams))


def parts_held(layer):
    """Return sets of parts after a head of a layer, by name."""
    return {"nothing": [], "later layers": [where for where in PARTS if where[0] > layer]}


def self_repair(model, pairs, head):
    """Measure how much less "it" leans with a head changed in three ways, after its own layer and later ones, if
    nothing is held, and if later parts are."""
    runs = [tuple(whole_run(model, sentence) for sentence in pair.sentences) for pair in pairs]
    base = leaning(pairs, [[run.seen for run in two] for two in runs])
    layer, groups = named_head(head)[0], [pair.nouns[0] for pair in pairs]
    means, place = np.concatenate([run.mixtures for two in runs for run in two], axis=1).mean(axis=1), HEADS.index(head)

    def drops(way, held):
        """Return how much less "it" leans: shape (pairs, 7)."""
        written = {
            "off": lambda run, other: np.zeros_like(run.mixtures[place]),
            "mean": lambda run, other: means[place],
            "swapped": lambda run, other: other.mixtures[place],
        }[way]
        seen = [
            [with_head(model, run, head, written(run, other), held) for run, other in (two, two[::-1])] for two in runs
        ]
        return base - leaning(pairs, seen)

    found = {}
    for way in ("off", "mean", "swapped"):
        by_held = {name: drops(way, held) for name, held in parts_held(layer).items()}
        found[way] = report_drops(by_held, layer, groups)
    return {"drop by head": {head: found}}


def report_drops(drops, layer, groups):
    """Return drops after a layer and all that follow, by what is held, and what is healed in the last: by how much the
    direct effect is larger than the total one. Below zero, later layers add to it."""
    healed = drops["later layers"][:, -1] - drops["nothing"][:, -1]
    return {
        "held, drop from its own layer on": {
            name: t_interval(found[:, layer:], groups) for name, found in drops.items()
        },
        "healed in the last layer": t_interval(healed, groups),
    }
