"""Names that no novel has: what the second mention costs, and which heads let a model copy it."""

import numpy as np

from attn import ReplaceValues, Trace, decoder, switch_off
from attn.course import novels
from attn.course.novels import CONFIG

from .copying import FRAMES
from .reading import mean
from .repeats import made_up
from .tellings import twice

NAMES = [  # of six tokens each, so that one can take the place of another
    "Trundlewick", "Maplecroft", "Gristlewood", "Hobblestone", "Fizzlewig", "Bramblehurst",
    "Quillfeather", "Dunderdale", "Nettlefold", "Ravensbourne", "Xantippo", "Ulverdoke",
]  # fmt: skip
LONG, N_PASSAGES = 6, 40
N_TEXTS, N_WORDS, N_TOKENS = 24, 20, 40  # texts of made-up words, as a reader may type them


def twice_in_frames(tokenizer, first=NAMES, second=NAMES):
    """Return texts that end with the second of two names: by frame arrays of int, shape (n_names, length)."""
    texts = [[f"{frame.format(one)} {other}" for one, other in zip(first, second)] for frame in FRAMES]
    return [np.array([tokenizer.encode(text) for text in one]) for one in texts]


def at_the_end(params, texts, interventions=()):
    """Return of the names at the ends of texts the mean loss of a name, the share of its tokens that are the likeliest,
    and the share of names of which all are."""
    logits = [decoder(params, CONFIG, one[:, :-1], interventions=interventions)[:, -LONG:] for one in texts]
    right = np.array([one.argmax(axis=-1) == text[:, -LONG:] for one, text in zip(logits, texts)])
    lost = np.array([novels.losses(params, text, interventions)[:, -LONG:] for text in texts])
    return [mean(lost.sum(axis=-1), 3), mean(right), mean(right.all(axis=-1))]


def mentioned(params, tokenizer, often):
    """Return what a name costs at its first mention, at its second, and where another name was read before; and what
    it would cost if each token were as likely as it is in the novels."""
    others = NAMES[1:] + NAMES[:1]
    alone = [np.array([tokenizer.encode(f"{frame.split(' {}')[0]} {name}") for name in NAMES]) for frame in FRAMES]
    pieces = np.array([tokenizer.encode(f" {name}") for name in NAMES])
    return {
        "first": at_the_end(params, alone),
        "second": at_the_end(params, twice_in_frames(tokenizer)),
        "another was read": at_the_end(params, twice_in_frames(tokenizer, others)),
        "by frequency": mean(-np.log((often[pieces] + 1) / (often + 1).sum()).sum(axis=-1), 3),
    }


def without_heads(params, tokenizer, copying, others):
    """Return what the second mention becomes without the heads that copy, and without other sets of as many."""
    texts = twice_in_frames(tokenizer)
    off = [at_the_end(params, texts, [switch_off(*head) for head in heads]) for heads in (copying, *others)]
    return {"copying": off[0], "others": off[1:]}


def given_another(params, tokenizer, heads):
    """Let heads mix the values that they have where another name was read, and return at the second mention how often
    the likeliest token is that of the name, and how often that of the other."""
    found = []
    for texts in twice_in_frames(tokenizer):
        other = np.roll(texts, 1, axis=0)
        with Trace() as trace:
            decoder(params, CONFIG, other[:, :-1])
        put = [
            ReplaceValues(slice(None), trace.layers[layer - 1].attention.V[:, head], layer, head)
            for layer, head in heads
        ]
        likeliest = decoder(params, CONFIG, texts[:, :-1], interventions=put).argmax(axis=-1)[:, -LONG:]
        found.append([likeliest == text[:, -LONG:] for text in (texts, other)])
    return [mean(each) for each in np.swapaxes(found, 0, 1)]


def in_passages(params, names):
    """Return the loss of a token of a made-up name in passages that no model has read: at the first mention of the name
    in the row, at the second, and at later ones; and of all other tokens. `names` : Names."""
    rng = np.random.default_rng(0)
    rows, mentions = (np.array(each) for each in zip(*(names.renamed(rng) for _ in range(N_PASSAGES))))
    lost, mentions = novels.losses(params, rows), mentions[:, 1:]
    kinds = {"first": mentions == 1, "second": mentions == 2, "later": mentions > 2, "no name": mentions == 0}
    return {kind: [int(here.sum()), mean(lost[here], 3)] for kind, here in kinds.items()}


def words_told_twice(params, tokenizer):
    """Return the loss of made-up words told once, again, and behind others, and the share right once and again.

    Unlike random tokens, these are small pieces of words, of which the same ones come in many words.
    """
    rng = np.random.default_rng(0)
    texts = [" ".join(made_up(rng).lower() for _ in range(N_WORDS)) for _ in range(N_TEXTS)]
    once = np.array([tokenizer.encode(f" {text}")[:N_TOKENS] for text in texts])
    told, behind_others = twice(once), np.concatenate([np.roll(once, 1, axis=0), once], axis=1)
    lost, other = (novels.losses(params, rows) for rows in (told.rows, behind_others))
    right = decoder(params, CONFIG, told.rows[:, :-1]).argmax(axis=-1) == told.rows[:, 1:]
    losses = [mean(told.first(lost), 3), mean(told.second(lost), 3), mean(told.second(other), 3)]
    return losses + [mean(told.first(right)), mean(told.second(right))]
