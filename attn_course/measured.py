"""Measurements that take too long for a page: small files, made by the scripts of the folder `recordings`."""

import hashlib
import json
import platform
import time
from importlib.resources import files
from pathlib import Path

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[1]
FOLDER = files("attn_course") / "data" / "measured"


def read_measured(name):
    """Return what a script of the folder `recordings` has measured.

    Parameters
    ----------
    name : str

    Returns
    -------
    dict
        With what made it, from what, under which versions and in how many minutes.
    """
    known = sorted(path.stem for path in FOLDER.iterdir() if path.name.endswith(".json"))
    if name not in known:
        raise ValueError(f"nothing is measured as {name!r}, but there are: {', '.join(known) or 'none'}")
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def mean_losses(losses, every):
    """Return the means of `every` losses each, rounded, as a list."""
    return np.reshape(losses, (-1, every)).mean(axis=1).round(5).tolist()


def write_measured(name, script, runs, *, source, licence, start, versions=(), **more):
    """Write what was measured, with all that has to be known of it.

    Parameters
    ----------
    name : str
        Of the recording.
    script : str
        The path of what made it, in a folder of the repository.
    runs : list or dict
        What was measured.
    source, licence : str
    start : float
        When measuring began, as of `time.time`.
    versions : dict of str, optional
        Those of packages other than NumPy.
    **more : object
        What else the recording says, by name.
    """
    about = {
        "made by": Path(script).resolve().relative_to(REPOSITORY).as_posix(),
        "source": source,
        "licence": licence,
        "versions": {"python": platform.python_version(), "numpy": np.__version__, **dict(versions)},
        "minutes": round((time.time() - start) / 60, 1),
        "sha256 of runs": hashlib.sha256(json.dumps(runs).encode()).hexdigest(),
    }
    text = json.dumps({**about, **more, "runs": runs}, ensure_ascii=False)
    (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
