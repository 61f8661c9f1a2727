"""Measure all models of a script, or of a study of toys.py such as `copying`, and write what comes out by its name."""

import sys
import time
from importlib import import_module

from attn_course.measured import write_measured
from recordings import toys


def script_of(name):
    return toys.STUDIES[name] if name in toys.STUDIES else import_module(f"recordings.{name}")


if __name__ == "__main__":
    start, name = time.time(), sys.argv[1]
    script = script_of(name)
    runs = {
        kind: [{"seed": seed, **script.learn(seed, *how)} for seed in script.SEEDS]
        for kind, how in script.KINDS.items()
    }
    about = {"source": script.SOURCE, "licence": "CC BY 4.0", "start": start, "every": script.EVERY}
    write_measured(name.split(".")[-1], script.__file__, runs, **about)
