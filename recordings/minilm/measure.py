"""What MiniLM, a model that many use, does with the sentences of this course: recordings for the chapters.

    make models
    .venv/bin/python -m recordings.minilm.measure

has the model read what sentences.yml lists, and writes minilm.json and minilm_patterns.json in
attn_course/data/measured. What these numbers are to be compared with is measured by controls.py.

A number with an interval is a list of three: the value, and the bounds between which 95 % of the values lie if whole
groups are drawn anew from these, with replacement. Groups are
- templates for the senses, the tower and the adjectives;
- first nouns for "it": the one or two frames and the pairs of adjectives are fixed.
For few groups such bounds are too close to each other.

"By layer" begins with what enters layer 1. Heads are named L4H3. "Off" is zero ablation, "mean" is mean ablation
and "swapped" is resample ablation with the other sentence of the pair.
"""

import time
from importlib.metadata import version

from attn_course.measured import write_measured
from attn_course.minilm import SHA256, SOURCE, read_minilm

from .heads import LEVELS, adjectives, every_head, patterns
from .model import HEADS, SENTENCES, Model
from .pronoun import it
from .senses import word_senses
from .words import tower, two_apples

LICENCE = (
    "Measurements of the model all-MiniLM-L6-v2 of the project sentence-transformers, which its card puts under the "
    "Apache License 2.0 (https://www.apache.org/licenses/LICENSE-2.0) without a notice or a line of copyright. "
    "The sentences and what was measured: CC BY 4.0"
)


def findings(model):
    return {
        "heads": HEADS,
        "senses": {word: word_senses(model, word) for word in SENTENCES["senses"]},
        "two apples": two_apples(model),
        "tower": tower(model),
        "adjectives": adjectives(model),
        "it": it(model),
        "every head": every_head(model),
    }


def record(script, **measures):
    """Measure MiniLM and write the recordings: by name what measures one, and what else it says."""
    model = Model(*read_minilm())
    versions = {package: version(package) for package in ("safetensors", "tokenizers")}
    for name, (measure, more) in measures.items():
        about = {"source": SOURCE, "licence": LICENCE, "start": time.time(), "versions": versions}
        weights = {"sha256 of weights": SHA256["model.safetensors"]}
        write_measured(name, script, measure(model), **about, **weights, **more)


if __name__ == "__main__":
    record(__file__, minilm=(findings, {}), minilm_patterns=(patterns, {"levels": LEVELS}))
