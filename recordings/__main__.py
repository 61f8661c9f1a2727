"""Measure all models of a script such as `the_root`, and write what comes out by its name."""

import sys
import time
from importlib import import_module

from attn_course.measured import write_measured

if __name__ == "__main__":
    start, name = time.time(), sys.argv[1]
    script = import_module(f"recordings.{name}")
    runs = {
        kind: [{"seed": seed, **script.learn(seed, *how)} for seed in script.SEEDS]
        for kind, how in script.KINDS.items()
    }
    about = {"source": script.SOURCE, "licence": "CC BY 4.0", "start": start, "every": script.EVERY}
    write_measured(name.split(".")[-1], script.__file__, runs, **about)
