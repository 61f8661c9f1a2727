"""What the numbers of measure.py are to be compared with: other sentences, equal weights, weights exchanged.

    .venv/bin/python -m recordings.minilm.controls

writes minilm_controls.json in attn_course/data/measured. A list of three called "t interval" is a mean of the means of
first nouns, and its bounds by Student's t; other lists of three have bounds as in measure.py. Either way nouns are
drawn, and frames and adjectives are fixed.
"""

import numpy as np

from attn_course.measured import read_measured
from recordings._arithmetic import plain, t_interval

from .measure import record
from .model import HEADS, SENTENCES, evened, read
from .pairs import SETS, crossed_pairs, first_nouns, halves, pairs_from, shifts
from .pronoun import looks_exchanged
from .senses import right_by_model


def findings(model):
    """Measure what belongs to the recorded head, the one chosen on the first half of the animals."""
    best, held = read_measured("minilm")["runs"]["it"]["head"], halves()[1]
    return {
        "other adjectives": {
            " or ".join(two): other_adjectives(model, best, two) for two in SENTENCES["it"]["other adjectives"]
        },
        "all weights equal": {"mole": plain(right_by_model(evened(model), "mole")["word"].mean(axis=0))},
        "crossed": {name: report_set(model, pairs, best) for name, pairs in crossed_pairs().items()},
        "looks at the nouns exchanged": looks_exchanged(model, held, best),
        "anisotropy": {
            "cosine of two words, by layer": {"as they are": cosines_of_words(read(model, SENTENCES["natural"]))}
        },
    }


def other_adjectives(model, head, adjectives):
    """Return what a head does with two adjectives, on average, for the animals on which no head was chosen."""
    about = SETS["animal first"]
    pairs = pairs_from(about["frames"], " ".join(about["a"].split()[1::2]), about["o"], [adjectives])
    return {"difference of differences": plain(shifts(model, pairs)[:, HEADS.index(head)].mean())}


def report_set(model, pairs, head):
    """Return what a head does in some pairs, with bounds by how that differs between first nouns."""
    values = shifts(model, pairs)[:, HEADS.index(head)]
    return {"difference of differences": {"t interval": t_interval(values, first_nouns(pairs))}}


def cosines_of_words(seen):
    """Return the mean cosine of two words of one sentence, and of two sentences, by layer."""
    X = np.concatenate([one.streams[:, 1:-1] for one in seen], axis=1).astype(float)
    X /= np.linalg.norm(X, axis=-1, keepdims=True)
    cosines = X @ X.swapaxes(1, 2)
    sentence = np.repeat(np.arange(len(seen)), [len(one.text.ids) - 2 for one in seen])
    same, itself = sentence[:, None] == sentence, np.eye(len(sentence), dtype=bool)
    return {
        "of one sentence": plain(cosines[:, same & ~itself].mean(axis=1)),
        "of two sentences": plain(cosines[:, ~same].mean(axis=1)),
    }


if __name__ == "__main__":
    record(__file__, minilm_controls=(findings, {}))
