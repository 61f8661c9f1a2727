"""Measurements that take too long for a page: small files, each beside the script that made it."""

import hashlib
import json
import platform
import time
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent.parent / "recordings"


def read_recording(name):
    """Return what a script of the folder `recordings` has measured.

    Parameters
    ----------
    name : str

    Returns
    -------
    dict
        With what made it, from what, under which versions and in how many minutes.

    Raises
    ------
    ValueError
        If there is no such recording; the sentence names those that exist.
    """
    known = sorted(path.stem for path in FOLDER.glob("*.json"))
    if name not in known:
        raise ValueError(f"there is no recording {name!r}, but there are: {', '.join(known) or 'none'}")
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def mean_losses(losses, every):
    """Return the means of `every` losses each, rounded, as a list."""
    return np.reshape(losses, (-1, every)).mean(axis=1).round(5).tolist()


def record(script, source, learn, kinds, *, seeds, every):
    """Measure all models of a script, and write what comes out beside it.

    Parameters
    ----------
    script : str
        The script's own path, `__file__`.
    source : str
        What the models were trained on.
    learn : callable
        Called with a seed and what makes the kind; returns a dict with the seed and what was measured.
    kinds : dict of tuple
        By name of the kind, what `learn` takes behind the seed.
    seeds : iterable of int
    every : int
        Steps between two measurements.
    """
    path, start = Path(script), time.time()
    runs = {kind: [learn(seed, *how) for seed in seeds] for kind, how in kinds.items()}
    about = {
        "made by": f"recordings/{path.name}",
        "source": source,
        "licence": "CC BY 4.0",
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
        "minutes": round((time.time() - start) / 60, 1),
        "sha256 of runs": hashlib.sha256(json.dumps(runs).encode()).hexdigest(),
    }
    path.with_suffix(".json").write_text(json.dumps({**about, "every": every, "runs": runs}) + "\n")
