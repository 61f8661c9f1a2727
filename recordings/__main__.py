"""Measure all models of a script, such as `copying`, and write what comes out under its name."""

import sys
import time
from importlib import import_module
from pathlib import Path

from attn.course.recordings import write_recording

start, script = time.time(), import_module(f"recordings.{sys.argv[1]}")
runs = {
    kind: [{"seed": seed, **script.learn(seed, *how)} for seed in script.SEEDS] for kind, how in script.KINDS.items()
}
about = {"source": script.SOURCE, "licence": "CC BY 4.0", "start": start, "every": script.EVERY}
write_recording(Path(script.__file__).stem, script.__file__, runs, **about)
