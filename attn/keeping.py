"""Models that were trained before: kept in the user's folder, and found again as long as nothing changed."""

import functools
import hashlib
import types
from pathlib import Path

import joblib
import numpy as np
from platformdirs import user_cache_path

FOLDER = user_cache_path("attention-worked-out")
ROOM = "500M"  # the models that were asked for longest ago make way


def remember(work, *inputs):
    """Do some work, unless it was done before from the same inputs.

    Parameters
    ----------
    work : callable
        Takes nothing; what it returns can be pickled.
    *inputs : object
        All that the result depends on. A function of a notebook counts as its code and all that its code names.

    Returns
    -------
    result : object
    known : bool
        Whether it was kept from before.
    """
    try:
        key = joblib.hash([_package(), np.__version__, [_told(value) for value in inputs]])
        memory = joblib.Memory(FOLDER, verbose=0)
        done = memory.cache(_do, ignore=["work"])
        known = done.check_call_in_cache(key, work)
    except (OSError, TypeError):  # a folder that cannot be written; an input that cannot be compared
        return work(), False
    result = done(key, work)
    if not known:
        memory.reduce_size(bytes_limit=ROOM)
    return result, known


def forget():
    """Erase all models that were kept."""
    joblib.Memory(FOLDER, verbose=0).clear(warn=False)


def _do(key, work):
    return work()


@functools.cache
def _package():
    """Return the fingerprint of the package's own code."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _told(value, on_the_way=()):
    """Return what a value is made of, so that it is equal in another kernel: a function as its code and what it names.

    Functions of the package and of libraries are told by their names.
    """
    if id(value) in on_the_way:  # a function that calls itself
        return "itself"
    tell = functools.partial(_told, on_the_way=(*on_the_way, id(value)))
    if isinstance(value, dict):
        return [[name, tell(part)] for name, part in value.items()]
    if isinstance(value, (list, tuple)):
        return [tell(part) for part in value]
    if isinstance(value, functools.partial):
        return tell([value.func, value.args, value.keywords])
    if isinstance(value, types.FunctionType) and value.__module__ == "__main__":
        named = {name: value.__globals__[name] for name in _names(value.__code__) if name in value.__globals__}
        held = [cell.cell_contents for cell in value.__closure__ or ()]
        return [_code(value.__code__), tell([named, held, value.__defaults__, value.__kwdefaults__])]
    if isinstance(value, types.ModuleType):
        return value.__name__
    if isinstance(value, type) and value.__module__ == "__main__":
        raise TypeError(f"what the class {value.__name__} does cannot be compared")
    return joblib.hash(value)


def _names(code):
    inner = [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return sorted({*code.co_names, *(name for part in inner for name in _names(part))})


def _code(code):
    return [code.co_code, code.co_names, [_code(c) if isinstance(c, types.CodeType) else c for c in code.co_consts]]
