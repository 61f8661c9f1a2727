"""What the numbers of measure.py are to be compared with: other sentences, single nouns, later layers held.

    .venv/bin/python -m recordings.minilm.controls

writes minilm_controls.json in attn/data/recordings. A first version
measured more, as that of measure.py did. A list of three called "t interval", or under "self-repair", is a mean of the
means of first nouns, and its bounds by Student's t; other lists of three have bounds as those of measure.py. Either way
nouns are drawn, and frames and adjectives are fixed.
"""

from attn.course.recordings import read_recording

from .anisotropy import anisotropy
from .apples import keys_and_queries
from .arithmetic import mean_interval, means_of_groups, plain, t_interval
from .cause import looks_at_the_adjective, looks_exchanged
from .coverage import coverage
from .measure import record
from .model import HEADS, SENTENCES
from .pairs import crossed_pairs, difference_of_differences, pairs_of, read_pairs, weights_from
from .rests import rests
from .self_repair import self_repair
from .similarity import similarity


def findings(model):
    """Measure what belongs to the recorded heads, those chosen on the first half of the animals."""
    recorded = read_recording("minilm")["runs"]
    best, three = recorded["it"]["head"], recorded["it"]["before it"]["three heads"]
    held = held_pairs()
    return {
        "crossed": {name: report_set(model, pairs, best) for name, pairs in crossed_pairs().items()},
        "self-repair": self_repair(model, held, best),
        "looks at the adjective": looks_at_the_adjective(model, held, best, three),
        "looks at the nouns exchanged": looks_exchanged(model, held, best),
        "rests": rests(model, recorded["every head"]["by head"]),
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


if __name__ == "__main__":
    record(__file__, minilm_controls=(findings, {}))
