"""The patterns of all heads in some sentences, and what each loses with each head off."""

import numpy as np

from .model import HEADS, SENTENCES

LEVELS = "".join(chr(code) for code in range(35, 124) if chr(code) != "\\")  # 88 steps from no weight to all


def wall(model):
    """Return the weights of all heads, a letter each, row after row up to the token that asks."""
    found = []
    for sentence in SENTENCES["wall"]:
        rows = model.encode([sentence])
        n = rows.shape[1]
        weights = np.concatenate([layer.attention.weights[0] for layer in model.trace(rows).layers])
        letters = np.array(list(LEVELS))[np.round(weights * (len(LEVELS) - 1)).astype(int)]
        found.append(
            {
                "text": sentence,
                "tokens": [model.tokenizer.decode([token]) for token in rows[0].tolist()],
                "weights": "".join("".join(letters[head][np.tril_indices(n)]) for head in range(len(HEADS))),
            }
        )
    return found
