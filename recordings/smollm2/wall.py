"""The wall: what all heads of SmolLM2 do in some sentences, for the figure of chapter 20.

    make models
    .venv/bin/python -m recordings.smollm2.wall

reads sentences.yml and writes smollm2_wall.json in attn_course/data/measured. Of each sentence it holds, a letter each,
the weights of every head, and by how many nats each next token costs more with the head switched off. Where another
sentence is named, it holds how likely both answers are behind the last token if one head hands over there what it mixes
in the other sentence.
"""

import numpy as np

from attn import softmax, switch_off
from attn.interventions import named_head
from attn_course.figures.wall import MIDDLE, STEEP
from attn_course.measured import write_measured
from attn_course.smollm2 import read_smollm2
from recordings._arithmetic import plain

from .fetching import exchanges, likely
from .measure import about
from .model import HEADS, SENTENCES, Model, losses

LEVELS = "".join(chr(code) for code in range(35, 124) if chr(code) != "\\")  # 88 steps from no weight to all


def lettered(shares):
    """Return shares from 0 to 1 as letters."""
    return "".join(LEVELS[step] for step in np.round(np.ravel(shares) * (len(LEVELS) - 1)).astype(int))


def changes(nats):
    """Return changes in nats, up to 12 either way, as letters: those near none are told apart best."""
    steps = np.round(MIDDLE + np.sign(nats) * STEEP * np.sqrt(np.abs(nats))).astype(int)
    if steps.min() < 0 or steps.max() >= len(LEVELS):
        raise ValueError(f"a change goes up to 18 nats, but these reach from {nats.min():.1f} to {nats.max():.1f}")
    return "".join(LEVELS[step] for step in steps.ravel())


def shown(model, text, other=None, answers=None):
    """Return what the figure shows of a sentence."""
    rows = model.encode([text])
    n = rows.shape[1]
    trace, logits = model.trace(rows), model.logits(rows, last=False)
    weights = np.concatenate([layer.attention.weights[0] for layer in trace.layers])
    loss = losses(logits, rows)[0]
    off = [losses(model.logits(rows, [switch_off(*named_head(head))], last=False), rows)[0] for head in HEADS]
    found = {
        "text": text,
        "tokens": [model.tokenizer.decode([token]) for token in rows[0].tolist()],
        "weights": "".join(lettered(one[np.tril_indices(n)]) for one in weights),
        "likely": plain(np.exp(-loss), 4),
        "off": changes(np.array(off) - loss),
        "next": following(model, logits[0, -1]),
    }
    return found if other is None else {**found, "exchange": exchange(model, [text, other], answers)}


def following(model, logits, most=5):
    """Return the likeliest next tokens and how likely they are."""
    shares = softmax(logits.astype(float))
    best = np.argsort(-shares)[:most]
    return [[model.tokenizer.decode([int(token)]), *to_three_digits(shares[[token]])] for token in best]


def to_three_digits(shares):
    return [float(f"{share:.3g}") for share in shares]


def exchange(model, texts, answers):
    """Return how likely both answers are as it is, in the other text, and by head with that text's mixtures."""
    rows, words = model.encode(texts), [model.word(answer) for answer in answers]
    here, there = (likely(logits[None], words) for logits in model.logits(rows))
    by_head = [likely(logits, words) for _, logits in exchanges(model, rows, [0], [1], HEADS)]
    found = {"here": here, "there": there, answers[0]: np.transpose(by_head)[0], answers[1]: np.transpose(by_head)[1]}
    return {"other": texts[1], "answers": answers, **{name: to_three_digits(value) for name, value in found.items()}}


if __name__ == "__main__":
    said = about()
    model = Model(*read_smollm2())
    write_measured("smollm2_wall", __file__, [shown(model, **one) for one in SENTENCES["wall"]], **said, levels=LEVELS)
