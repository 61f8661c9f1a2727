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


def write_recording(script, source, start, *, every, runs):
    """Write what a script has measured beside it.

    Parameters
    ----------
    script : str
        The script's own path, `__file__`.
    source : str
        What the models were trained on.
    start : float
        When the script began, as `time.time()` told.
    every : int
        Steps between two measurements.
    runs : dict of list of dict
        By kind of model, one dict a seed.
    """
    path = Path(script)
    about = {
        "made by": f"recordings/{path.name}",
        "source": source,
        "licence": "CC BY 4.0",
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
        "minutes": round((time.time() - start) / 60, 1),
        "sha256 of runs": hashlib.sha256(json.dumps(runs).encode()).hexdigest(),
    }
    path.with_suffix(".json").write_text(json.dumps({**about, "every": every, "runs": runs}) + "\n")
