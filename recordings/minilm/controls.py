"""What the numbers of measure.py are to be compared with: other sentences, single nouns, later layers held.

    .venv/bin/python -m recordings.minilm.controls

writes minilm_controls.json in attn_course/data/measured. A list of three called "t interval", or under "self-repair",
is a mean of the means of first nouns, and its bounds by Student's t; other lists of three have bounds as in measure.py.
Either way nouns are drawn, and frames and adjectives are fixed.
"""

from attn_course.measured import read_measured
from recordings._arithmetic import mean_interval, means_of_groups, plain, t_interval

from .agents import agents
from .anisotropy import anisotropy
from .apples import keys_and_queries
from .cause import looks_at_the_adjective, looks_exchanged
from .coverage import coverage
from .measure import record
from .model import HEADS, SENTENCES, evened
from .pairs import crossed_pairs, difference_of_differences, leaning, pairs_from, pairs_of, read_pairs, weights_from
from .self_repair import self_repair
from .senses import right_by_model
from .similarity import similarity


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
    """Return what a head does in some pairs, and how that differs between first nouns."""
    groups = [pair.nouns[0] for pair in pairs]
    values = difference_of_differences(weights_from("it", pairs, read_pairs(model, pairs)))[:, HEADS.index(best)]
    return {
        "pairs": len(pairs),
        "difference of differences": {
            "interval": mean_interval(values, groups),
            "t interval": t_interval(values, groups),
            "by first noun": plain(means_of_groups(values, groups)),
        },
    }


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


if __name__ == "__main__":
    record(__file__, minilm_controls=(findings, {}))
