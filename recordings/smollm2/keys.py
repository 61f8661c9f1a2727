"""The cosine of two keys, beside that of any two words and that of a random matrix; and a decoder without its mask."""

import numpy as np

from attn import encoder
from attn.layers import rms_norm
from recordings._arithmetic import cosine, mean_interval, plain

from .copying import is_word
from .model import losses
from .sinks import prose

N_WORDS = 1500


def keys(model):
    """Return cosines in layer 1, where a key and a query depend on the token alone but for their turn."""
    params, rng = model.params["layer 1"]["attention"], np.random.default_rng(0)
    known = [token for token in range(model.config.vocab_size) if is_word(model.tokenizer.decode([token]))]
    tokens = rng.choice(known, N_WORDS, replace=False)
    two = [int(model.tokenizer.encode(word)[0]) for word in ("Apple", " apple", " than", " iPhone")]
    found = {}
    for name in "QK":
        W = np.concatenate(list(params[f"W_{name}"]), axis=1)
        ways = {"trained": W, "random": rng.normal(size=W.shape)}
        for way, matrix in ways.items():
            X = normal(model, np.concatenate([two, tokens])) @ matrix
            chosen, any_two = X[: len(two)], X[len(two) :]
            common = any_two.mean(axis=0)
            found[f"{name}, {way}"] = {
                part: {
                    "Apple, apple": plain(cosine(*(chosen - off)[:2]), 3),
                    "Apple, than": plain(cosine(*(chosen - off)[[0, 2]]), 3),
                    "Apple, iPhone": plain(cosine(*(chosen - off)[[0, 3]]), 3),
                    "any two": plain(mean_cosine(any_two - off), 3),
                }
                for part, off in {"as they are": 0, "without what all share": common}.items()
            }
    return {"words": N_WORDS, **found}


def normal(model, tokens):
    gain = model.params["layer 1"]["attention"]["norm"]["gain"]
    return rms_norm(model.params["embedding"][tokens], gain, epsilon=model.config.epsilon).astype(float)


def mean_cosine(X):
    """Return the mean cosine of two different rows."""
    X = X / np.linalg.norm(X, axis=-1, keepdims=True)
    return (np.sum(X.sum(axis=0) ** 2) - len(X)) / (len(X) * (len(X) - 1))


def without_mask(model):
    """Return the loss with the causal mask and without it: the model was never trained without."""
    rows = prose(model)
    with_mask, without = model.logits(rows, last=False), encoder(model.params, model.config, rows)
    found = {"with the mask": with_mask, "without it": without}
    right = {name: logits[:, :-1].argmax(axis=-1) == rows[:, 1:] for name, logits in found.items()}
    texts = range(len(rows))
    return {
        "texts": len(rows),
        "loss": {name: mean_interval(losses(logits, rows).mean(axis=1), texts) for name, logits in found.items()},
        "right": {name: mean_interval(hits.mean(axis=1), texts) for name, hits in right.items()},
    }
