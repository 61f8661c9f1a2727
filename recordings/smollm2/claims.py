"""What SmolLM2 says on further claims of the sources, for the ledger and chapter 20.

    make models
    .venv/bin/python -m recordings.smollm2.claims

writes smollm2_claims.json in attn_course/data/measured. Texts are those of sinks.py, capitals and senses those of
sentences.yml. A list of three is a value and its bounds, as measure.py says.
"""

import copy
from itertools import permutations

import numpy as np

from attn import Forbid, ReplaceMixtures, decoder, softmax
from attn.generation import Cache
from attn_course.measured import write_measured
from attn_course.smollm2 import read_smollm2
from recordings._arithmetic import cosine, interval, mean_interval, plain

from .measure import about
from .model import N_LAYERS, SENTENCES, Model, lead
from .sinks import LATER, later_loss, prose

FACTORS = (0, 0.25, 0.5, 0.75, 0.9, 1, 1.25, 1.5, 2, 4, 8)  # 8 is the root of 64, the length of a key
LAYER = 7  # that is, after layer 8
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
    """Return the loss with all scores multiplied; and by layer, what is added to it by equal weights in that layer
    alone, and by no attention in it at all."""
    rows, layers = prose(model), range(1, N_LAYERS + 1)

    def loss(factor, changed, done=()):
        other = with_scores_times(model, factor, changed)
        return later_loss(other.logits(rows, done, last=False), rows)

    base, texts = loss(1, []), range(len(rows))
    return {
        "times": {str(factor): mean_interval(loss(factor, layers), texts) for factor in FACTORS},
        "equal weights in one layer": [mean_interval(loss(0, [layer]) - base, texts) for layer in layers],
        "no attention in one layer": [
            mean_interval(loss(1, [], [Forbid(True, layer)]) - base, texts) for layer in layers
        ],
    }


def beginnings(model, n_texts=3):
    """Return how far the logits of one pass are from those of each beginning read alone."""
    rows = prose(model)[:n_texts]
    at_once = model.logits(rows, last=False)
    alone = [model.logits(rows[:, : n + 1]) for n in range(rows.shape[1])]
    return {"texts": len(rows), "largest difference": float(f"{np.abs(at_once - np.stack(alone, 1)).max():.1g}")}


class Rounded(Cache):
    """Keeps keys, values or both as whole numbers of so many bits, with a scale for each token of each head."""

    def __init__(self, bits, keys=True, values=True):
        super().__init__()
        self.most, self.rounds = 2 ** (bits - 1) - 1, (keys, values)

    def extend(self, layer, K, V):
        kept = (self.rounded(X) if rounds else X for X, rounds in zip((K, V), self.rounds))
        return super().extend(layer, *kept)

    def rounded(self, X):
        scale = np.abs(X).max(axis=-1, keepdims=True) / self.most
        return (np.round(X / scale) * scale).astype(X.dtype)


def cache_in_bits(model):
    """Return what keys and values of so many bits each add to the loss."""
    rows = prose(model)

    def loss(cache):
        return later_loss(decoder(model.params, model.config, rows, cache=cache), rows)

    base = loss(Cache())
    caches = {f"{bits} bits": Rounded(bits) for bits in (8, 6, 5, 4, 3)}
    caches |= {"4 bits, keys": Rounded(4, values=False), "4 bits, values": Rounded(4, keys=False)}
    return {name: mean_interval(loss(cache) - base, range(len(rows))) for name, cache in caches.items()}


def angles(model):
    """Return in what share of rows the key with the largest dot product also has the largest cosine, in all of them and
    where it is not the first token's; and how many heads look at the first token, and at the one before."""
    rows = prose(model)
    same, elsewhere, first, before = [], [], [], []
    for layer in model.trace(rows).layers:
        seen, n = layer.attention, rows.shape[1]
        visible = np.tri(n, dtype=bool)
        turned = np.where(visible, seen.scores / np.linalg.norm(seen.K, axis=-1)[:, :, None], -np.inf)
        largest = np.where(visible, seen.scores, -np.inf).argmax(-1)[..., LATER:]
        agrees = largest == turned.argmax(-1)[..., LATER:]
        same.append(agrees.ravel())
        elsewhere.append(agrees[largest > 0])
        first.append(seen.weights[:, :, LATER:, 0].mean((0, 2)))
        before.append(np.diagonal(seen.weights, -1, axis1=-2, axis2=-1)[..., LATER - 1 :].mean((0, 2)))
    return {
        "largest product has the largest cosine": plain(np.concatenate(same).mean(), 3),
        "where it is not the first token's": plain(np.concatenate(elsewhere).mean(), 3),
        "heads on the first": int((np.concatenate(first) > 0.5).sum()),
        "heads on the one before": int((np.concatenate(before) > 0.5).sum()),
        "texts": len(rows),
    }


def parts(model):
    """Return how much of the way to the other answer it takes to give the carrier, at the last word, the query, the
    keys, or the values of another text: of one about another country, and of one that asks for another person."""
    capitals, people = SENTENCES["capitals"]["found on"], SENTENCES["people"]
    wording, known = capitals["wording"], capitals["countries"]
    other_country = [
        (wording.format(one), wording.format(other), known[one], known[other]) for one, other in permutations(known, 2)
    ]
    other_question = []
    for one, other in permutations(people["cities"], 2):
        first, second = (people["text"].format(one, other, who) for who in people["who"])
        other_question += [(first, second, one, other), (second, first, other, one)]
    return {
        "another country": given_parts(model, other_country),
        "another question": given_parts(model, other_question),
    }


def given_parts(model, asked):
    """Return it for pairs of texts: (text, other text, its answer, the other's)."""
    texts, others, answers, other_answers = zip(*asked)
    rows, other_rows = model.encode(texts), model.encode(others)
    words, other_words = (np.array([model.word(word) for word in known]) for known in (answers, other_answers))
    (layer, head), behind = CARRIER, model.behind(rows)
    here, there = (model.trace(part).layers[layer - 1].attention for part in (rows, other_rows))
    base, goal = (lead(model.logits(part), other_words, words) for part in (rows, other_rows))
    groups, found = [answers.index(one) for one in answers], {}
    for name, (q, k, v) in {
        "nothing": (here, here, here), "the query": (there, here, here), "the keys": (here, there, here),
        "the values": (here, here, there), "all three": (there, there, there),
    }.items():  # fmt: skip
        Q, K, V = q.Q[:, head - 1, -1:], k.K[:, head - 1], v.V[:, head - 1]
        weights = softmax(Q @ K.swapaxes(-1, -2) / Q.shape[-1] ** 0.5)
        moved = lead(behind([ReplaceMixtures(slice(None), weights @ V, layer, head)]), other_words, words) - base
        found[name] = interval(lambda rows, moved=moved: moved[rows].mean() / (goal - base)[rows].mean(), groups)
    return {"pairs": len(asked), **found}


def senses(model):
    """Return in what share of the sentences the sense of "mole" is read from its vector after each layer, and without
    any layer from the embeddings of all words before it, or of the one that tells: by the nearest mean of the other
    templates, one template left out at a time."""
    texts, kinds, templates, clues, bare = [], [], [], [], []
    for kind, lines in SENTENCES["senses"].items():
        for line in lines:
            template, fills = line.split(" | ")
            for fill in fills.split(", "):
                texts.append(template.format(fill))
                kinds.append(kind)
                templates.append(template)
                bare.append(template.format("thing"))
                clues.append(model.params["embedding"][model.tokenizer.encode(f" {fill}")].mean(axis=0))
    kinds, templates = np.array(kinds), np.array(templates)

    def at_the_last(text):
        trace = model.trace(np.array([model.tokenizer.encode(text)]))
        return trace, np.array([layer.after_mlp[0, -1] for layer in trace.layers], float)

    seen = [at_the_last(text) for text in texts]
    by_layer = np.stack([streams for _, streams in seen], axis=1)
    averages = np.array([trace.embedded[0][0, :-1].mean(axis=0) for trace, _ in seen], float)
    without = {text: at_the_last(text)[1][LAYER] for text in dict.fromkeys(bare)}
    without = np.array([without[text] for text in bare])

    def right(X, judged=None):
        """By sentence, whether it is told right by the means of X; `judged` are vectors of the same sentences."""
        hits = np.zeros(len(X))
        for template in dict.fromkeys(templates):
            out = templates == template
            known = X[~out] - X[~out].mean(axis=0)
            means = {kind: known[kinds[~out] == kind].mean(axis=0) for kind in dict.fromkeys(kinds)}
            new = (X if judged is None else judged)[out] - X[~out].mean(axis=0)
            near = np.stack([cosine(new, mean) for mean in means.values()])
            hits[out] = np.array(list(means))[near.argmax(axis=0)] == kinds[out]
        return hits

    behind = [model.trace(np.array([model.tokenizer.encode(text)])) for text in SENTENCES["clue behind"]]
    at_mole = np.array([[layer.after_mlp[0, 1] for layer in trace.layers] for trace in behind])
    return {
        "sentences": len(texts),
        "templates": len(set(templates)),
        "by layer": [mean_interval(right(X), templates) for X in by_layer],
        "average of the words before": mean_interval(right(averages), templates),
        "the word that tells": mean_interval(right(np.array(clues, float)), templates),
        "after layer 8, with another word for the one that tells": mean_interval(
            right(by_layer[LAYER], without), templates
        ),
        "clue behind, largest difference over the length": float(
            f"{(np.abs(at_mole - at_mole[0]).max() / np.linalg.norm(at_mole[0], axis=-1).max()):.1g}"
        ),
    }


if __name__ == "__main__":
    said = about()
    model = Model(*read_smollm2())
    runs = {measure.__name__: measure(model) for measure in (scores, beginnings, cache_in_bits, angles, parts, senses)}
    write_measured("smollm2_claims", __file__, runs, **said)
