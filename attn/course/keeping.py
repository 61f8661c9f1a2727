"""Models that were trained before: kept in the user's folder, and found again as long as nothing changed."""

import functools
import hashlib
import site
import sys
import sysconfig
import types
from pathlib import Path

import joblib
import numpy as np
from joblib.hashing import NumpyHasher
from platformdirs import user_cache_path

FOLDER = user_cache_path("attention-worked-out")
ROOM = "500M"  # the models that were asked for longest ago make way
PACKAGE = Path(__file__).parent.parent
INSTALLED = [sysconfig.get_path("stdlib"), *site.getsitepackages(), site.getusersitepackages(), PACKAGE]


def remember(work, *inputs):
    """Do some work, unless it was done before from the same inputs.

    Parameters
    ----------
    work : callable
        Takes nothing; what it returns can be pickled.
    *inputs : object
        All that the result depends on. A function of a notebook, or of a module that is not installed, counts as its
        code and all that its code names.

    Returns
    -------
    result : object
    known : bool
        Whether it was kept from before.
    """
    try:
        key = _Hasher().hash([_package(), np.__version__, inputs])
        memory = joblib.Memory(FOLDER, verbose=0)
        done = memory.cache(_do, ignore=["work"])
        known = done.check_call_in_cache(key, work)
    except Exception:  # a folder that cannot be written; an input that cannot be compared, for whatever reason
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
    files = sorted(PACKAGE.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


class _Hasher(NumpyHasher):
    """Hashes what the reader wrote, in a notebook or a module, as it is in memory: its file may have changed since."""

    dispatch = NumpyHasher.dispatch.copy()

    def save(self, thing):
        try:
            super().save(thing)
        except TypeError as error:  # joblib would take it for keys of a dict that cannot be sorted, and go on
            raise ValueError(*error.args) from None

    def save_function(self, function):
        self.memoize(function)  # it may call itself
        code, known = function.__code__, function.__globals__
        if _is_installed(code.co_filename):
            told = function.__module__, function.__qualname__
        else:
            told = _code(code), {name: known[name] for name in _names(code) if name in known}
        held = [cell.cell_contents for cell in function.__closure__ or ()]
        self.save([told, held, function.__defaults__, function.__kwdefaults__])

    def save_module(self, module):
        self.memoize(module)
        parts = {name: part for name, part in vars(module).items() if not name.startswith("__")}
        self.save([module.__name__, parts if _is_own(module) else None])

    def save_global(self, thing, name=None):
        module = getattr(thing, "__module__", None)
        if module == "__main__" or _is_own(sys.modules.get(module)):
            raise ValueError(f"what {thing} does cannot be compared")
        super().save_global(thing, name)

    dispatch[types.FunctionType] = save_function
    dispatch[types.ModuleType] = save_module
    dispatch[type] = save_global


def _is_own(module):
    """Return whether a module is the reader's: it comes from a file, and is not installed."""
    places = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]
    return not all(map(_is_installed, filter(None, places)))


def _is_installed(file):
    """Return whether code is Python's, a library's or this package's, and so is told by its name and its version."""
    return file.startswith("<frozen") or any(Path(file).is_relative_to(folder) for folder in INSTALLED)


def _names(code):
    inner = [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return sorted({*code.co_names, *(name for part in inner for name in _names(part))})


def _code(code):
    """Return all that decides what code does: the same wherever it was written."""
    parts = (
        "code",
        "names",
        "varnames",
        "freevars",
        "cellvars",
        "argcount",
        "posonlyargcount",
        "kwonlyargcount",
        "flags",
    )
    consts = [_code(part) if isinstance(part, types.CodeType) else part for part in code.co_consts]
    return [*(getattr(code, f"co_{part}") for part in (*parts, "exceptiontable")), consts]
