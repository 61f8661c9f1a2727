"""Names that no novel has: what the second mention costs."""

import numpy as np

from attn import decoder
from attn.course import novels
from attn.course.novels import CONFIG

from .copying import FRAMES
from .reading import mean

NAMES = [  # of six tokens each, so that one can take the place of another
    "Trundlewick", "Maplecroft", "Gristlewood", "Hobblestone", "Fizzlewig", "Bramblehurst",
    "Quillfeather", "Dunderdale", "Nettlefold", "Ravensbourne", "Xantippo", "Ulverdoke",
]  # fmt: skip
LONG = 6


def twice_in_frames(tokenizer, first=NAMES, second=NAMES):
    """Return texts that end with the second of two names: by frame arrays of int, shape (n_names, length)."""
    texts = [[f"{frame.format(one)} {other}" for one, other in zip(first, second)] for frame in FRAMES]
    return [np.array([tokenizer.encode(text) for text in one]) for one in texts]


def at_the_end(params, texts):
    """Return of the names at the ends of texts the mean loss of a name, the share of its tokens that are the likeliest,
    and the share of names of which all are."""
    logits = [decoder(params, CONFIG, one[:, :-1])[:, -LONG:] for one in texts]
    right = np.array([one.argmax(axis=-1) == text[:, -LONG:] for one, text in zip(logits, texts)])
    lost = np.array([novels.losses(params, text)[:, -LONG:] for text in texts])
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
