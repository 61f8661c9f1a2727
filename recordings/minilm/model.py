"""MiniLM as it is measured: what it computes for sentences, as it is or with an intervention."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import yaml

from attn import Forbid, ReplaceMixtures, Trace, encoder, switch_off
from attn.interventions import head_names, named_head
from attn_course.minilm import encode

SENTENCES = yaml.safe_load((Path(__file__).parent / "sentences.yml").read_text(encoding="utf-8"))
N_LAYERS, N_HEADS = 6, 12
HEADS = head_names(N_LAYERS, N_HEADS)


@dataclass(frozen=True)
class Model:
    """MiniLM or a changed copy of it; `interventions` takes texts of one length and returns those for them."""

    params: dict
    config: object
    tokenizer: object
    interventions: Callable = lambda texts: ()


@dataclass(frozen=True)
class Seen:
    """A text, its residual stream by layer, shape (7, n, 384), and the weights of all heads, shape (72, n, n)."""

    text: object
    streams: np.ndarray
    weights: np.ndarray

    def vector(self, word, nth=0):
        """Return the mean vector of a word's tokens by layer: shape (7, 384)."""
        return self.streams[:, self.text.place(word, nth)].mean(axis=1)

    def weight(self, query, key):
        """Return what a word gives to another, for each head: from the mean of its tokens to all of the other's."""
        return self.weights[:, self.text.place(query), self.text.place(key)].mean(axis=1).sum(axis=1)


def read(model, sentences):
    """Return what a model has seen, sentence by sentence; those of one length are read at once."""
    texts = [encode(model.tokenizer, sentence) for sentence in sentences]
    seen = [None] * len(texts)
    lengths = np.array([len(text.ids) for text in texts])
    for length in np.unique(lengths):
        places = np.flatnonzero(lengths == length)
        for some in np.split(places, range(100, len(places), 100)):
            for place, one in zip(some, _read_at_once(model, [texts[place] for place in some])):
                seen[place] = one
    return seen


def _read_at_once(model, texts):
    ids = np.stack([text.ids for text in texts])
    with Trace() as trace:
        encoder(model.params, model.config, ids, interventions=model.interventions(texts))
    streams = np.stack([trace.embedded[0], *(layer.after_mlp for layer in trace.layers)], axis=1)
    weights = np.concatenate([layer.attention.weights for layer in trace.layers], axis=1)
    return [Seen(*one) for one in zip(texts, streams, weights)]


def anchor(model, words):
    """Return the mean of some words in sentences that say nothing about them, by layer: shape (7, 384)."""
    pairs = [(frame.format(word), word) for word in words for frame in SENTENCES["frames"]]
    seen = read(model, [sentence for sentence, _ in pairs])
    return np.mean([one.vector(word) for one, (_, word) in zip(seen, pairs)], axis=0)


# --- interventions ---------------------------------------------------------------------------------------------------


def without_heads(model, heads):
    """Return the model with some heads switched off."""
    off = [switch_off(*named_head(head)) for head in heads]
    return replace(model, interventions=lambda texts: off)


def without_edges(model, edges, layer=None, head=None):
    """Return the model with some edges forbidden; `edges` lists those of a text."""

    def interventions(texts):
        tables = np.zeros((len(texts), *2 * [len(texts[0].ids)]), bool)
        for table, text in zip(tables, texts):
            for query, key in edges(text):
                table[query, key] = True
        return [Forbid(tables, layer, head)]

    return replace(model, interventions=interventions)


def together(model, changed):
    """Return the model with the interventions of several changed copies of it at once."""
    return replace(model, interventions=lambda texts: [one for copy in changed for one in copy.interventions(texts)])


def with_mixture(model, name, mixture):
    """Return the model with a head whose mixture of values is given: the same for all tokens, shape (d_k,), or for each
    token of one text, shape (n, d_k)."""
    handed_over = [ReplaceMixtures(slice(None), mixture, *named_head(name))]
    return replace(model, interventions=lambda texts: handed_over)


def weights_and_values(model, sentence):
    """Return the weights and the values of each head: shapes (72, n, n) and (72, n, d_k)."""
    with Trace() as trace:
        encoder(model.params, model.config, encode(model.tokenizer, sentence).ids)
    heads = [layer.attention for layer in trace.layers]
    return np.concatenate([head.weights for head in heads]), np.concatenate([head.V for head in heads])


def mixtures(model, sentence):
    """Return what each head mixes for each token, shape (72, n, d_k)."""
    weights, values = weights_and_values(model, sentence)
    return weights @ values


def mean_mixtures(model, sentences):
    """Return what each head mixes in the mean of all tokens, by name: arrays of shape (d_k,)."""
    return dict(zip(HEADS, np.concatenate([mixtures(model, one) for one in sentences], axis=1).mean(axis=1)))


def evened(model):
    """Return the model with queries of zero, so that every token gives all others the same weight."""
    params = dict(model.params)
    for number in range(1, N_LAYERS + 1):
        attention = dict(params[f"layer {number}"]["attention"])
        attention |= {name: np.zeros_like(attention[name]) for name in ("W_Q", "b_Q")}
        params[f"layer {number}"] = {**params[f"layer {number}"], "attention": attention}
    return replace(model, params=params)


def shuffled(model, seed):
    """Return the model with the numbers of each W_Q and each W_K in another order."""
    rng, params = np.random.default_rng(seed), dict(model.params)
    for number in range(1, N_LAYERS + 1):
        layer = params[f"layer {number}"]
        attention = dict(layer["attention"])
        for name in ("W_Q", "W_K"):
            attention[name] = rng.permutation(attention[name].ravel()).reshape(attention[name].shape)
        params[f"layer {number}"] = {**layer, "attention": attention}
    return replace(model, params=params)
