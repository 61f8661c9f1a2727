"""MiniLM as it is measured: what it computes for sentences, as it is or with an intervention."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import yaml

from attn import Trace, encoder
from attn.interventions import head_names
from attn_course.minilm import encode

SENTENCES = yaml.safe_load((Path(__file__).parent / "sentences.yml").read_text(encoding="utf-8"))
N_LAYERS = 6
HEADS = head_names(N_LAYERS, 12)
SEEDS = range(5)  # of shuffled models


@dataclass(frozen=True)
class Model:
    """MiniLM or a changed copy of it."""

    params: dict
    config: object
    tokenizer: object


@dataclass(frozen=True)
class Seen:
    """A text, its residual stream by layer, shape (7, n, 384), and of all heads weights, queries, keys and values."""

    text: object
    streams: np.ndarray
    weights: np.ndarray  # shape (72, n, n); what follows has shape (72, n, d_k)
    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray

    def vector(self, word, nth=0):
        """Return the mean vector of a word's tokens by layer: shape (7, 384)."""
        return self.streams[:, self.text.place(word, nth)].mean(axis=1)

    def weight(self, query, key):
        """Return what a word gives to another, for each head: from the mean of its tokens to all of the other's."""
        return self.weights[:, self.text.place(query), self.text.place(key)].mean(axis=1).sum(axis=1)

    def mixture(self, head):
        """Return what a head mixes for each token: shape (n, d_k)."""
        return self.weights[HEADS.index(head)] @ self.V[HEADS.index(head)]


def read(model, sentences, *interventions):
    """Return what a model has seen, sentence by sentence; those of one length are read at once."""
    texts = [encode(model.tokenizer, sentence) for sentence in sentences]
    seen = {}
    for length in {len(text.ids) for text in texts}:
        places = [i for i, text in enumerate(texts) if len(text.ids) == length]
        with Trace() as trace:
            ids = np.stack([texts[i].ids for i in places])
            encoder(model.params, model.config, ids, interventions=interventions)
        streams = np.stack([trace.embedded[0], *(layer.after_mlp for layer in trace.layers)], axis=1)
        heads = [
            np.concatenate([getattr(layer.attention, name) for layer in trace.layers], axis=1)
            for name in ("weights", "Q", "K", "V")
        ]
        seen |= {i: Seen(texts[i], *one) for i, *one in zip(places, streams, *heads)}
    return [seen[i] for i in range(len(texts))]


def anchor(model, words):
    """Return the mean of some words in sentences that say nothing about them, by layer: shape (7, 384)."""
    pairs = [(frame.format(word), word) for word in words for frame in SENTENCES["frames"]]
    seen = read(model, [sentence for sentence, _ in pairs])
    return np.mean([one.vector(word) for one, (_, word) in zip(seen, pairs)], axis=0)


def evened(model):
    """Return the model with queries of zero, so that every token gives all others the same weight."""
    return with_attention(model, lambda own: {name: np.zeros_like(own[name]) for name in ("W_Q", "b_Q")})


def shuffled(model, seed):
    """Return the model with the numbers of each W_Q and each W_K in another order."""
    rng = np.random.default_rng(seed)

    def changed(own):
        return {name: rng.permutation(own[name].ravel()).reshape(own[name].shape) for name in ("W_Q", "W_K")}

    return with_attention(model, changed)


def with_attention(model, changed):
    """Return the model with other parameters in the attention of each layer: those that `changed` makes of its own."""
    params = dict(model.params)
    for layer in (f"layer {number}" for number in range(1, N_LAYERS + 1)):
        own = params[layer]["attention"]
        params[layer] = {**params[layer], "attention": {**own, **changed(own)}}
    return replace(model, params=params)
