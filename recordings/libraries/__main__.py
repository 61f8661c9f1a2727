"""Ask attention functions of many libraries, each in an environment of its own, which is made and removed again.

    .venv/bin/python -m recordings.libraries [ADAPTER ...]

asks those that are named, or all, and writes attn_course/data/measured/libraries.json: half an hour, and up to 3 GB at
a time. An adapter is a file of the folder `adapters`. PINS are the packages of its environment; FUNCTIONS are
functions as `attn_course.conventions.ask` takes them, by a name that begins with the package. Where releases or back
ends are compared, ENVIRONMENTS has for each name other pins, or variables. In the same way recordings.libraries.places
asks where a word stands, and recordings.libraries.next_token which token comes next.
"""

import ast
import datetime
import json
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from tqdm.auto import tqdm

from attn_course import conventions
from attn_course.measured import REPOSITORY, read_measured, write_measured

HERE = Path(__file__).parent


def adapters_in(folder):
    """Return the adapters of a folder beside this file, by their names."""
    return {path.stem: path for path in sorted((HERE / folder).glob("*.py"))}


ADAPTERS = adapters_in("adapters")


def constant(path, name, default=None):
    """Return a constant at the top of an adapter, without importing what that imports."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    named = {node.targets[0].id: node.value for node in body if isinstance(node, ast.Assign)}
    return ast.literal_eval(named[name]) if name in named else default


def ask_adapter(path, questions):
    """Yield what each function of an adapter answers to a module of questions, in each of its environments."""
    for environment, other in constant(path, "ENVIRONMENTS", {"": {}}).items():
        pins = other.get("pins", constant(path, "PINS"))
        wanted = [pin.format(repository=REPOSITORY) for pin in pins]
        with tempfile.TemporaryDirectory() as folder:
            venv.create(folder, with_pip=True)
            python = Path(folder, "bin", "python")
            subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "install", "-q", *wanted], check=True)
            for function, version in run(python, folder, other, questions, path).items():
                yield {
                    "name": f"{function} ({environment})" if environment else function,
                    "adapter": path.stem,
                    "version": version,
                    "pins": pins,
                    "asked": datetime.date.today().isoformat(),
                    "answers": run(python, folder, other, questions, path, function),
                }


def run(python, folder, other, *arguments):
    """Return what `asked.py` says in an environment, in a process of its own."""
    variables = {"PATH": "/usr/bin:/bin", "HOME": folder, "OMP_NUM_THREADS": "1", **other.get("variables", {})}
    done = subprocess.run(
        [python, "-P", HERE / "asked.py", conventions.__file__, *arguments],
        env=variables, cwd=folder, capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{arguments} ended with {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def record(recording, script, asked, adapters):
    """Ask the adapters that the command names, or all, a module's questions, and write what they answer."""
    start, names = time.time(), sys.argv[1:] or list(adapters)
    if unknown := [name for name in names if name not in adapters]:
        sys.exit(f"there is no adapter {unknown[0]!r}, but there are: {', '.join(adapters)}")
    kept = {name: [] for name in adapters}
    if sys.argv[1:]:
        recorded = read_measured(recording)
        start -= 60 * recorded["minutes"]
        for one in recorded["runs"]:
            kept[one["adapter"]].append(one)
    questions = {name: told for name, (_, *told) in asked.QUESTIONS.items()}
    about = {"source": "functions of other libraries, by their pins", "licence": "CC BY 4.0", "start": start}
    for name in tqdm(names):
        kept[name] = list(ask_adapter(adapters[name], asked.__file__))
        runs = [one for some in kept.values() for one in some]
        runs.sort(key=lambda one: ("→" in one["name"], one["name"]))
        write_measured(recording, script, runs, **about, questions=questions)


if __name__ == "__main__":
    record("libraries", __file__, conventions, ADAPTERS)
