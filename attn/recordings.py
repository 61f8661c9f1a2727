"""Measurements that take too long for a page: small files, each beside the script that made it."""

import json
from pathlib import Path

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
