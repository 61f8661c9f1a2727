"""What happens in a kernel that a reader starts: one thread, one bar, and models that are kept and found again."""

import importlib
import os
import sys

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from attn.course import keeping

TRAINING = """
import numpy as np
import types
from functools import partial
from threadpoolctl import threadpool_info
from attn.course.progress import each
from attn.training import train

def threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

seen = types.ModuleType("seen")     # no part of what makes a model
seen.taken, seen.threads = [], set()
target = {TARGET}

def pull(params, row):
    return row * (params["W"] - target)

def gradients(strength, params, row):
    seen.taken.append(row)
    seen.threads.update(threads())
    return 1.0, {"W": strength * pull(params, row)}

def learn(seed):
    data = ((row,) for row in np.random.default_rng(seed).random(10))
    return train({"W": np.zeros(3)}, partial(gradients, {STRENGTH}), data, 10, learning_rate=0.1)

models = [learn(seed) for seed in each(range(3))]
"""


@pytest.fixture
def kernel(tmp_path):
    """Run cells in a fresh kernel that no variable of a test run reaches; return what each printed."""

    def run(*cells, target="3.0", strength="1.0"):
        sources = [TRAINING.replace("{TARGET}", target).replace("{STRENGTH}", strength), *cells]
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
        quiet = {"TQDM_DISABLE", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"}
        environment = {name: value for name, value in os.environ.items() if name not in quiet}
        NotebookClient(notebook, timeout=120).execute(env={**environment, "XDG_CACHE_HOME": str(tmp_path)})
        return ["".join(o.text for o in cell.outputs if o.get("name") == "stdout") for cell in notebook.cells]

    return run


def test_training_runs_on_one_thread_where_no_variable_says_so(kernel):
    _, counts = kernel("print(max(threads()), seen.threads)")
    assert counts == f"{os.cpu_count()} {{1}}\n"


def test_a_model_is_found_again_in_another_kernel_and_trained_anew_if_anything_changed(kernel):
    show = "print(len(seen.taken) > 0, models[2].params['W'], models[2].losses[-1])"
    told, first = kernel(show)
    assert told == "" and first.startswith("True")
    told, again = kernel(show)
    assert told.startswith("3 of 3 models had been trained before") and "attn.course.keeping.forget()" in told
    assert again == first.replace("True", "False")
    for change in ({"target": "4.0"}, {"strength": "0.5"}):  # one is a global behind a function that a function calls
        told, anew = kernel(show, **change)
        assert told == "" and anew.startswith("True") and anew != first
    told, after = kernel("from attn.course import keeping; keeping.forget(); learn(0); print(len(seen.taken))")
    assert after == "10\n"


def test_a_cell_that_is_stopped_stops_the_run_and_leaves_what_it_had(kernel):
    stop = "def gradients(strength, params, row):\n    raise KeyboardInterrupt\nlearn(7)"
    with pytest.raises(CellExecutionError, match=r"Stopped after 0 of 10 steps") as stopped:
        kernel(stop, "print('the next cell')")
    assert "training.py" not in str(stopped.value)


def key_of(*inputs):
    return keeping._Hasher().hash(inputs)


def test_what_a_function_is_made_of_decides_and_not_where_it_was_written():
    def made(source):
        names = {"__name__": "__main__"}
        exec(source, names)
        return key_of(names["f"])

    loop = "def f(x):\n    return [x + i for i in range({n})]"
    assert made(loop.format(n=3)) == made("\n\n# lower down\n" + loop.format(n=3)) != made(loop.format(n=4))
    assert made("def g(): return 1\ndef f(): return g()") != made("def g(): return 2\ndef f(): return g()")
    assert made("def f(n): return f(n - 1)") == made("def f(n): return f(n - 1)")
    assert made("a = 1\nf = lambda: [a for _ in range(2)]") != made("a = 2\nf = lambda: [a for _ in range(2)]")
    assert made("def f(x, k=1): return x") != made("def f(x, k=2): return x")
    assert made("def f(x, y): return x - y") != made("def f(y, x): return y - x")
    assert made("def f(x): return x") != made("def f(*x): return x")
    held = "from types import SimpleNamespace\ndef g(): return {n}\nheld = SimpleNamespace(g=[g])\ndef f(): return held"
    assert made(held.format(n=1)) == made(held.format(n=1)) != made(held.format(n=2))
    layer = "from attn.tape import differentiable\n@differentiable\ndef f(X): return X, lambda grad: ({n} * grad,)"
    assert made(layer.format(n=1)) == made(layer.format(n=1)) != made(layer.format(n=2))


MODULE = "import helper\ndef loss(x):\n    return helper.scale(x) + {n}\n"
HELPER = "import numpy as np\nfactors = {{'a': {n}}}\ndef scale(x):\n    return np.sum(x) * factors['a']\n"


@pytest.mark.parametrize("ask", ["from mine import loss", "import mine\ndef loss(x): return mine.loss(x)"])
def test_a_module_of_the_reader_counts_as_its_code_that_was_loaded(ask, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # two versions of a file may be written in one second

    def write(mine, helper):
        (tmp_path / "mine.py").write_text(MODULE.format(n=mine), encoding="utf-8")
        (tmp_path / "helper.py").write_text(HELPER.format(n=helper), encoding="utf-8")

    def key():
        names = {"__name__": "__main__"}
        exec(ask, names)
        return key_of(names["loss"])

    def started_anew():
        for name in ("mine", "helper"):
            sys.modules.pop(name, None)
        return key()

    write(1, 1)
    first = started_anew()
    assert started_anew() == first
    write(2, 1)
    assert key() == first  # what is written, but not loaded, is not what runs
    changed = importlib.reload(sys.modules["mine"]) and key()
    assert changed != first and started_anew() == changed
    write(1, 2)
    assert len({started_anew(), first, changed}) == 3
    write(1, 1)
    assert started_anew() == first
    started_anew()
    for name in ("mine", "helper"):
        sys.modules.pop(name)


def test_a_class_or_a_cached_function_of_the_reader_cannot_be_compared(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    source = "import functools\nclass Model:\n    def loss(self): return 1\n@functools.cache\ndef cached(): return 1\n"
    (tmp_path / "models_of_mine.py").write_text(source, encoding="utf-8")
    mine = importlib.import_module("models_of_mine")
    for thing in (mine.Model, mine.Model(), mine.Model().loss, {"a": [mine.Model()]}, mine.cached, mine):
        with pytest.raises(ValueError, match="cannot be compared"):
            key_of(thing)


def test_what_cannot_be_compared_or_kept_is_done_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(keeping, "FOLDER", tmp_path / "models")
    numbers = iter(range(10))
    assert keeping.remember(lambda: next(numbers), "a") == (0, False)
    assert keeping.remember(lambda: next(numbers), "a") == (0, True)
    assert keeping.remember(lambda: next(numbers), (n for n in "ab")) == (1, False)
    assert keeping.remember(lambda: next(numbers), {"in": [(n for n in "ab")]}) == (2, False)
    assert keeping.remember(lambda: next(numbers), {"in": [(n for n in "ab")]}) == (3, False)
    (tmp_path / "file").touch()
    monkeypatch.setattr(keeping, "FOLDER", tmp_path / "file" / "models")
    assert keeping.remember(lambda: next(numbers), "a") == (4, False)
