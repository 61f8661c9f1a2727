"""Train the model that has read six novels, once for each seed, and measure it: `make novels`.

A seed takes about ten minutes, and measuring it half as many. Whoever stops it goes on later where it was.

    .venv/bin/python -m recordings.novels.train 0 1 2 3 4

measures these models of the package again, without training.
"""

import hashlib
import json
import sys
import time

import numpy as np

from attn.bytepairs import learn as learn_tokens
from attn_course import novels
from attn_course.measured import mean_losses, read_measured, write_measured
from attn_course.novels import CONFIG, FOLDER, SHIPPED, model_file

from . import counting
from .learn import EVERY, MARKS, REACHED, STEPS, learn_to_read, params_at
from .measure import measure, measure_rounded

SOURCE = "Jane Austen's six novels, in the public domain: attn_course/data/novels/README.md"
SEEDS = range(5)
FILES = ("training.txt.xz", "held_out.txt.xz", "tokenizer.json", *map(model_file, SEEDS))


def write_tokenizer():
    tokenizer = learn_tokens(novels.read_text(), CONFIG.vocab_size)
    what = {"characters": tokenizer.characters, "joins": tokenizer.joins}
    (FOLDER / "tokenizer.json").write_text(json.dumps(what, ensure_ascii=False) + "\n", encoding="utf-8")


def pack(seed):
    """Write the parameters that a model has at its end, a byte a number."""
    np.savez_compressed(FOLDER / model_file(seed), **novels.quantize(params_at(seed, STEPS)))


def write(runs, start):
    """Write what was measured of all models, with the fingerprints of what it was measured on."""
    digests = {name: hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() for name in FILES}
    about = {"source": SOURCE, "licence": "CC BY 4.0", "start": start, "marks": MARKS, "shipped": SHIPPED}
    write_measured("novels", __file__, {"novels": runs}, **about, sha256=digests, every=EVERY)


def main():
    REACHED.mkdir(parents=True, exist_ok=True)
    write_tokenizer()
    tokenizer = novels.read_tokenizer()
    tokens, held = tokenizer.encode(novels.read_text()), novels.held_out(tokenizer)
    losses = [mean_losses(learn_to_read(seed, tokens)[: STEPS // EVERY * EVERY], EVERY) for seed in SEEDS]
    start, counted, runs = time.time(), counting.all_losses(tokens, held.rows), []
    for seed in SEEDS:
        pack(seed)
        found = {"seed": seed, "loss": losses[seed], **measure(seed, tokenizer, held)}
        runs.append(found | measure_rounded(seed, found["quoting"], tokenizer, held, counted))
    write(runs, start)


def again(numbers):
    """Measure models of the package again, and keep what their training alone can tell."""
    start, recording, tokenizer = time.time(), read_measured("novels"), novels.read_tokenizer()
    runs, held = recording["runs"]["novels"], novels.held_out(tokenizer)
    counted = counting.all_losses(tokenizer.encode(novels.read_text()), held.rows)
    for number in numbers:
        runs[number].update(measure_rounded(number, runs[number]["quoting"], tokenizer, held, counted))
    write(runs, start - 60 * recording["minutes"])


if __name__ == "__main__":
    again(map(int, sys.argv[1:])) if sys.argv[1:] else main()
