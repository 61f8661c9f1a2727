"""SmolLM2 as it is measured: what it computes for texts of one length, as it is or with interventions."""

import copy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from attn import Forbid, ReplaceMixtures, Trace, decoder
from attn.generation import Cache
from attn.interventions import head_names

SENTENCES = yaml.safe_load((Path(__file__).parent / "sentences.yml").read_text(encoding="utf-8"))
N_LAYERS, N_HEADS = 30, 9
HEADS = head_names(N_LAYERS, N_HEADS)


@dataclass(frozen=True)
class Model:
    """SmolLM2: `params`, `config` and `tokenizer` are what `read_smollm2` returns."""

    params: dict
    config: object
    tokenizer: object

    def encode(self, texts):
        """Return the tokens of texts that all have as many: shape (n_texts, n)."""
        rows = [self.tokenizer.encode(text) for text in texts]
        if len({len(row) for row in rows}) != 1:
            raise ValueError(f"these texts do not have as many tokens: {list(zip(texts, map(len, rows)))}")
        return np.array(rows)

    def word(self, word):
        """Return the first token of a word that stands behind a blank."""
        return int(self.tokenizer.encode(f" {word}")[0])

    def logits(self, rows, interventions=(), last=True):
        """Return the logits of the next token, behind the last one alone or behind each."""
        logits = decoder(self.params, self.config, rows, last=last, interventions=interventions)
        return logits[..., -1, :] if last else logits

    def behind(self, rows):
        """Return what gives the logits behind the last tokens, with interventions on these alone: the tokens before
        them are read once."""
        before = Cache()
        decoder(self.params, self.config, rows[:, :-1], last=True, cache=before)

        def logits(interventions=()):
            cache = copy.deepcopy(before)
            return decoder(self.params, self.config, rows[:, -1:], cache=cache, interventions=interventions)[:, -1]

        return logits

    def trace(self, rows, interventions=()):
        """Return what all layers have seen."""
        with Trace() as trace:
            decoder(self.params, self.config, rows, last=True, interventions=interventions)
        return trace


def lead(logits, ones, others):
    """Return by how much the logit of one token leads that of another, row by row."""
    rows = np.arange(len(logits))
    return (logits[rows, ones] - logits[rows, others]).astype(float)


def mixtures(trace, layer):
    """Return what the heads of a layer have mixed: shape (..., n_heads, n, d_v)."""
    seen = trace.layers[layer - 1].attention
    return seen.weights @ seen.V


def handed_over(mixed, layer, head, place=slice(None)):
    """Return the intervention by which one head hands over these mixtures of its layer, at some places."""
    return ReplaceMixtures(place, mixed[..., head - 1, :, :], layer, head)


def differ(rows, others):
    """Return at which places two texts hold different tokens in any of their rows."""
    return np.flatnonzero((rows != others).any(axis=0))


def not_from_the_last(keys, n, layers):
    """Return the interventions that keep the last token from some keys in some layers."""
    return [Forbid([(n - 1, key) for key in keys], layer) for layer in layers]


def losses(logits, rows):
    """Return the surprise at each next token, in nats: shape (n_texts, n - 1)."""
    logits = logits[:, :-1] - logits[:, :-1].max(axis=-1, keepdims=True)
    chosen = np.take_along_axis(logits, rows[:, 1:, None], axis=-1)[..., 0]
    return (np.log(np.exp(logits).sum(axis=-1)) - chosen).astype(float)
