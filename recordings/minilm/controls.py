"""What the numbers of measure.py are to be compared with: other sentences, single nouns, later layers held.

    .venv/bin/python -m recordings.minilm.controls

writes minilm_controls.json in attn_course/data/measured. A list of three called "t interval", or under "self-repair",
is a mean of the means of first nouns, and its bounds by Student's t; other lists of three have bounds as in measure.py.
Either way nouns are drawn, and frames and adjectives are fixed.
"""

from itertools import product

import numpy as np

from attn_course.measured import read_measured
from recordings._arithmetic import cosine, draws_of, plain, t_interval

from .apples import keys_and_queries
from .cause import looks_at_the_adjective, looks_exchanged
from .measure import record
from .model import HEADS, SENTENCES, evened, read
from .pairs import crossed_pairs, difference_of_differences, leaning, pairs_from, pairs_of, read_pairs, weights_from
from .self_repair import self_repair
from .senses import right_by_model

RIDGE = 0.1  # of 0.001 to 10, all find as much in the active sentences, and from 0.1 on in the others
N_TRIALS, N_TEMPLATES = 2000, (4, 9, 18)
MEANS = {"Beta(1, 1)": (1, 1), "Beta(.4, .4)": (0.4, 0.4), "Beta(8, .5)": (8, 0.5)}  # of templates


def findings(model):
    """Measure what belongs to the recorded heads, those chosen on the first half of the animals."""
    recorded = read_measured("minilm")["runs"]
    best, three = recorded["it"]["head"], recorded["it"]["before it"]["three heads"]
    held, kinds = held_pairs(), SENTENCES["it"]["other kinds"]
    nouns = {which: " ".join(dict.fromkeys(pair.nouns[i] for pair in held)) for i, which in enumerate("ao")}
    frames = list(dict.fromkeys(pair.frame for pair in held))
    return {
        "other adjectives": by_adjectives(model, best, frames, **nouns, x=SENTENCES["it"]["other adjectives"]),
        "other kinds": {
            name: by_adjectives(model, best, kinds["frames"], **words) for name, words in kinds["fillings"].items()
        },
        "agents": agents(model),
        "all weights equal": {
            word: plain(right_by_model(evened(model), word)["word"].mean(axis=0)) for word in SENTENCES["senses"]
        },
        "crossed": {name: report_set(model, pairs, best) for name, pairs in crossed_pairs().items()},
        "self-repair": self_repair(model, held, best),
        "looks at the adjective": looks_at_the_adjective(model, held, best, three),
        "looks at the nouns exchanged": looks_exchanged(model, held, best),
        "anisotropy": anisotropy(model),
        "keys and queries of the two apples, mean taken off": keys_and_queries(
            model, SENTENCES["two apples"]["source"], mean_off=True
        ),
        "similarity": similarity(model),
        "coverage": coverage(),
    }


def held_pairs():
    """Return the pairs of the ten animals on which no head was chosen."""
    animals = SENTENCES["it"]["sets"]["animal first"]["a"].split()[1::2]
    return [pair for pair in pairs_of("animal first") if pair.nouns[0] in animals]


def report_set(model, pairs, best):
    """Return what a head does in some pairs, with bounds by how that differs between first nouns."""
    values = difference_of_differences(weights_from("it", pairs, read_pairs(model, pairs)))[:, HEADS.index(best)]
    return {"difference of differences": {"t interval": t_interval(values, [pair.nouns[0] for pair in pairs])}}


def by_adjectives(model, best, frames, a, o, x):
    """Return by pair of adjectives what a head does, and the lean of "it" in the last layer: means of all nouns."""
    found = {}
    for adjectives in x:
        pairs = pairs_from(frames, a, o, [adjectives])
        seen = read_pairs(model, pairs)
        effect = difference_of_differences(weights_from("it", pairs, seen))[:, HEADS.index(best)]
        found[" or ".join(adjectives)] = {
            "difference of differences": plain(effect.mean()),
            "lean": plain(leaning(pairs, seen)[:, -1].mean()),
        }
    return found


# --- who does it to whom ---------------------------------------------------------------------------------------------


def agents(model):
    """Return the mean cosine of two sentences that differ in the order of their nouns, and in what share of new ones a
    linear probe finds who does it to whom.

    The nouns and verbs of the first half are learned from; those of the other half are new.
    """
    seen, new = (differences(model, half) for half in (0, 1))
    learned_from = {"active": [seen["active"]], "both": list(seen.values())}
    found = {
        f"learned from {name}": {frame: plain(share_right(probe(parts), vectors)) for frame, vectors in new.items()}
        for name, parts in learned_from.items()
    }
    return {"cosine": plain(cosine(*np.moveaxis(new["active"], 1, 0)).mean()), **found}


def differences(model, half):
    """Return by frame the vectors of sentences, the animal as agent first: shape (pairs, 2, 384)."""
    about = SENTENCES["agents"]
    lists = (about[name].split() for name in ("people", "animals", "verbs", "participles"))
    people, animals, verbs, participles = (words[half * len(words) // 2 :][: len(words) // 2] for words in lists)
    sentences = {
        frame: [
            text.format(a=a, b=b, v=v, p=p)
            for one, animal, (v, p) in product(people, animals, zip(verbs, participles))
            for a, b in [(animal, one), (one, animal)]
        ]
        for frame, text in about["frames"].items()
    }
    return {
        frame: np.reshape([one.streams[-1].mean(axis=0) for one in read(model, texts)], (len(texts) // 2, 2, -1))
        for frame, texts in sentences.items()
    }


def probe(parts):
    """Return the direction that separates the first of two sentences from the second, by ridge regression."""
    X = np.concatenate([vectors[:, 0] - vectors[:, 1] for vectors in parts])
    return np.linalg.solve(X.T @ X + RIDGE * np.eye(X.shape[1]), X.sum(axis=0))


def share_right(direction, vectors):
    return np.mean((vectors[:, 0] - vectors[:, 1]) @ direction > 0)


# --- vectors of words, and of sentences ------------------------------------------------------------------------------


def anisotropy(model):
    """Measure the mean cosine of pairs of words of natural sentences."""
    return {"cosine of two words, by layer": {"as they are": pairs_of_words(read(model, SENTENCES["natural"]))}}


def pairs_of_words(seen):
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


def similarity(model):
    """Return the cosine of the two sentences of each pair, by kind: MiniLM's, the mean of its tokens in the last layer,
    and that of the mean of the embeddings of the words."""
    return {
        kind: [
            {
                "sentences": two,
                "MiniLM": plain(cosine(*(one.streams[-1].mean(axis=0) for one in read(model, two)))),
                "average of embeddings": plain(cosine(*(average(model, one) for one in read(model, two)))),
            }
            for two in pairs
        ]
        for kind, pairs in SENTENCES["similarity"].items()
    }


def average(model, seen):
    return model.params["embedding"][seen.text.ids[1:-1]].mean(axis=0)


# --- bounds ----------------------------------------------------------------------------------------------------------


def coverage():
    """Simulate how often bounds hold what they are taken to hold, by the number of templates and their means."""
    return {
        f"{n} templates": {name: covered(np.random.default_rng(0), n, *beta) for name, beta in MEANS.items()}
        for n in N_TEMPLATES
    }


def covered(rng, n, a, b):
    """Return how often bounds hold the mean of the distribution."""
    draws, mean = draws_of(n), a / (a + b)
    means = rng.beta(a, b, size=(N_TRIALS, n))
    low, high = np.transpose([np.quantile(one[draws].mean(axis=1), [0.025, 0.975]) for one in means])
    return {"drawn anew, hold the mean": plain(((low <= mean) & (mean <= high)).mean())}


if __name__ == "__main__":
    record(__file__, minilm_controls=(findings, {}))
