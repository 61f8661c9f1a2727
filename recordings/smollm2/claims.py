"""What SmolLM2 says on further claims of the sources, for the ledger and chapter 20.

    make models
    .venv/bin/python -m recordings.smollm2.claims

writes smollm2_claims.json in attn/data/recordings. Texts are those of sinks.py, capitals and senses those of
sentences.yml. A list of three is a value and its bounds, as measure.py says.
"""

import copy
from itertools import permutations

import numpy as np

from attn import ReplaceMixtures, softmax
from attn.course.recordings import write_recording
from attn.course.smollm2 import read_smollm2
from recordings._arithmetic import cosine, mean_interval, plain

from .measure import about
from .model import N_HEADS, N_LAYERS, SENTENCES, Model, lead, losses
from .sinks import LATER, prose

FACTORS = (0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 4, 8)  # 8 is the root of 64, the length of a key
CARRIER = 24, 5  # the layer and the head that measure.py finds


def with_scores_times(model, factor, layers):
    """Return the model with all scores of some layers multiplied."""
    params = copy.copy(model.params)
    for layer in layers:
        parts = params[f"layer {layer}"]
        attention = {**parts["attention"], "W_Q": np.asarray(parts["attention"]["W_Q"]) * np.float32(factor)}
        params[f"layer {layer}"] = {**parts, "attention": attention}
    return Model(params, model.config, model.tokenizer)


def scores(model):
    """Return the loss with all scores multiplied; and by layer, what equal weights in that layer alone add to it."""
    rows, layers = prose(model), range(1, N_LAYERS + 1)

    def loss(factor, changed):
        other = with_scores_times(model, factor, changed)
        return losses(other.logits(rows, last=False), rows)[:, LATER:].mean(axis=1)

    base, texts = loss(1, []), range(len(rows))
    return {
        "times": {str(factor): mean_interval(loss(factor, layers), texts) for factor in FACTORS},
        "equal weights in one layer": [mean_interval(loss(0, [layer]) - base, texts) for layer in layers],
    }


def beginnings(model):
    """Return how far the logits of one pass are from those of each beginning read alone."""
    rows = prose(model)[:3]
    at_once = model.logits(rows, last=False)
    alone = [model.logits(rows[:, : n + 1]) for n in range(rows.shape[1])]
    return {"texts": len(rows), "largest difference": float(f"{np.abs(at_once - np.stack(alone, 1)).max():.1g}")}


def angles(model):
    """Return in what share of rows the key with the largest dot product also has the largest cosine; and in what share
    a head of each kind looks where its kind does."""
    rows = prose(model)
    same, first, before = [], [], []
    for layer in model.trace(rows).layers:
        seen, n = layer.attention, rows.shape[1]
        keys = np.repeat(seen.K, N_HEADS // seen.K.shape[1], axis=1)
        products = seen.Q @ keys.swapaxes(-1, -2)
        visible = np.tri(n, dtype=bool)
        turned = np.where(visible, products / np.linalg.norm(keys, axis=-1)[:, :, None], -np.inf)
        same.append((np.where(visible, products, -np.inf).argmax(-1) == turned.argmax(-1))[..., LATER:].mean((0, 2)))
        first.append(seen.weights[:, :, LATER:, 0].mean((0, 2)))
        before.append(np.diagonal(seen.weights, -1, axis1=-2, axis2=-1)[..., LATER - 1 :].mean((0, 2)))
    texts = range(rows.shape[0])
    return {
        "largest product has the largest cosine": plain(np.mean(same), 3),
        "heads on the first": int((np.concatenate(first) > 0.5).sum()),
        "heads on the one before": int((np.concatenate(before) > 0.5).sum()),
        "texts": len(texts),
    }


def parts(model):
    """Return how much of the way from one capital to the other it takes to give the carrier, at the last word, the
    query, the keys, or the values that it has for the other country."""
    found_on = SENTENCES["capitals"]["found on"]
    countries = found_on["countries"]
    pairs = np.array(list(permutations(range(len(countries)), 2)))
    rows = model.encode([found_on["wording"].format(country) for country in countries])
    words = np.array([model.word(capital) for capital in countries.values()])
    one, other = pairs.T
    (layer, head), logits, behind = CARRIER, model.logits(rows), model.behind(rows[one])
    seen = model.trace(rows).layers[layer - 1].attention
    group = (head - 1) * seen.K.shape[1] // N_HEADS
    Q, K, V = seen.Q[:, head - 1, -1:], seen.K[:, group], seen.V[:, group]
    base, goal = lead(logits[one], words[other], words[one]), lead(logits[other], words[other], words[one])
    found = {}
    for name, (q, k, v) in {
        "nothing": (one, one, one), "the query": (other, one, one), "the keys": (one, other, one),
        "the values": (one, one, other), "all three": (other, other, other),
    }.items():  # fmt: skip
        weights = softmax(Q[q] @ K[k].swapaxes(-1, -2) / Q.shape[-1] ** 0.5)
        given = ReplaceMixtures(slice(None), weights @ V[v], layer, head)
        leads = lead(behind([given]), words[other], words[one])
        found[name] = mean_interval((leads - base) / (goal - base), one)
    return found


def senses(model):
    """Return in what share of the sentences the sense of "mole" is read from its vector after each layer, and without
    any layer from the embeddings of all words before it, or of the one that tells: by the nearest mean of the other
    templates, one template left out at a time."""
    texts, kinds, templates, clues = [], [], [], []
    for kind, lines in SENTENCES["senses"].items():
        for line in lines:
            template, fills = line.split(" | ")
            for fill in fills.split(", "):
                texts.append(template.format(fill))
                kinds.append(kind)
                templates.append(template)
                clues.append(model.params["embedding"][model.tokenizer.encode(f" {fill}")].mean(axis=0))
    kinds, templates = np.array(kinds), np.array(templates)
    streams, averages = [], []
    for text in texts:
        trace = model.trace(np.array([model.tokenizer.encode(text)]))
        streams.append([layer.after_mlp[0, -1] for layer in trace.layers])
        averages.append(trace.embedded[0][0, :-1].mean(axis=0))
    by_layer = np.array(streams, float).swapaxes(0, 1)

    def right(X):
        hits = np.zeros(len(X))
        for template in dict.fromkeys(templates):
            out = templates == template
            known = X[~out] - X[~out].mean(axis=0)
            means = {kind: known[kinds[~out] == kind].mean(axis=0) for kind in dict.fromkeys(kinds)}
            near = np.stack([cosine(X[out] - X[~out].mean(axis=0), mean) for mean in means.values()])
            hits[out] = np.array(list(means))[near.argmax(axis=0)] == kinds[out]
        return hits

    behind = ["The mole dug a tunnel", "The mole weighs many grams", "The mole on her skin grew"]
    at_mole = [model.trace(np.array([model.tokenizer.encode(text)[:2]])).layers[-1].after_mlp for text in behind]
    return {
        "sentences": len(texts),
        "templates": len(set(templates)),
        "by layer": [mean_interval(right(X), templates) for X in by_layer],
        "average of the words before": mean_interval(right(np.array(averages, float)), templates),
        "the word that tells": mean_interval(right(np.array(clues, float)), templates),
        "equal to the last bit with the clue behind": bool(all((one == at_mole[0]).all() for one in at_mole)),
    }


if __name__ == "__main__":
    said = about()
    model = Model(*read_smollm2())
    runs = {measure.__name__: measure(model) for measure in (scores, beginnings, angles, parts, senses)}
    write_recording("smollm2_claims", __file__, runs, **said)
