"""Run in the environment of an adapter: asked.py CONVENTIONS QUESTIONS ADAPTER [FUNCTION]."""

import importlib.metadata
import importlib.util
import json
import re
import sys
import warnings
from pathlib import Path


def load(path):
    """Return a module from its file."""
    spec = importlib.util.spec_from_file_location("loaded_" + re.sub(r"\W", "_", path), path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain(answer):
    """Return an answer without what changes from run to run or from machine to machine."""
    return re.sub(r"\x1b\[[\d;]*m|0x[0-9a-f]+|/\S*/|:\d+(?=:| )", "", answer)


def version_of(function, pins):
    """Return the version of the package that a function's name begins with, such as flax, or of the first."""
    packages = [re.match(r"[\w.-]+", pin)[0] for pin in pins]
    package = next((name for name in packages if function.split()[0] in name), packages[0])
    return f"{package}=={importlib.metadata.version(package)}"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(Path(__file__).parent))  # what adapters share
    sys.modules["attn_course.conventions"] = load(sys.argv[1])  # which needs NumPy alone, and not its package
    questions, adapter = load(sys.argv[2]), load(sys.argv[3])
    if len(sys.argv) == 4:
        said = {name: version_of(name, adapter.PINS) for name in adapter.FUNCTIONS}
    else:
        answers = questions.ask(adapter.FUNCTIONS[sys.argv[4]])
        said = {name: plain(answer) for name, answer in answers.items()}
    print(json.dumps(said, ensure_ascii=False))
