"""Every head: what it attends to in natural sentences, what changes without it, and the patterns that are kept."""

import numpy as np

from recordings._arithmetic import plain

from .model import HEADS, SENTENCES, read, without_heads

LEVELS = "".join(chr(code) for code in [*range(35, 127), *range(161, 171)] if chr(code) != "\\")  # one a hundredth


def mean_weights(one):
    """Return what the words of a text give, by head: to the word before, the word after, themselves, the same word
    elsewhere, [CLS] and [SEP]; NaN where there is nothing of the kind."""
    n, W = len(one.text.ids), one.weights
    i = np.arange(1, n - 1)
    same = (one.text.ids[:, None] == one.text.ids) & ~np.eye(n, dtype=bool)
    again = [W[:, q, same[q]].sum(axis=1) for q in i if same[q].any()]
    return {
        "previous": W[:, i[1:], i[1:] - 1].mean(axis=1),
        "next": W[:, i[:-1], i[:-1] + 1].mean(axis=1),
        "self": W[:, i, i].mean(axis=1),
        "same word": np.mean(again, axis=0) if again else np.full(len(W), np.nan),
        "[CLS]": W[:, i, 0].mean(axis=1),
        "[SEP]": W[:, i, -1].mean(axis=1),
    }


def change(before, after):
    """Return the relative change of token vectors in the last layer, on average."""
    old, new = before.streams[-1], after.streams[-1]
    return (np.linalg.norm(new - old, axis=-1) / np.linalg.norm(old, axis=-1)).mean()


def changes_without(model, sentences):
    """Return how much each sentence changes with each head off: shape (sentences, 72)."""
    seen, others = read(model, sentences), [read(without_heads(model, [head]), sentences) for head in HEADS]
    return np.array([[change(one, other[place]) for other in others] for place, one in enumerate(seen)])


def every_head(model):
    """Measure what each head attends to in natural sentences, and what changes without it."""
    sentences = SENTENCES["natural"]
    found = [mean_weights(one) for one in read(model, sentences)]
    by_head = {name: plain(np.nanmean([one[name] for one in found], axis=0), 3) for name in found[0]}
    by_head["off: change of tokens"] = plain(changes_without(model, sentences).mean(axis=0))
    return {"sentences": len(sentences), "by head": by_head}


def patterns(model):
    """Return ten sentences with the weights of all heads, and how much each loses with each head off."""
    sentences = SENTENCES["shown"]
    return [
        {
            "text": sentence,
            "tokens": list(one.text.tokens),
            "weights": pattern_letters(one.weights),
            "off: change of tokens": plain(changes, 3),
        }
        for sentence, one, changes in zip(sentences, read(model, sentences), changes_without(model, sentences))
    ]


def pattern_letters(weights):
    """Return weights as one letter each, to the nearest hundredth."""
    return "".join(LEVELS[level] for level in np.round(100 * weights).astype(int).ravel())
