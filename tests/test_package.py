"""The page on the package: it names every module, and its example runs and prints what it says."""

import ast
import re
import subprocess
import sys

import numpy as np

from attn.tape import leaves
from book import build

PAGE = (build.ROOT / "chapters" / "package.md").read_text(encoding="utf-8")


def test_every_module_is_on_the_page():
    told = PAGE.partition("## Modules")[2]
    for room, more in {"attn": set(), "attn_course": {"figures"}}.items():
        modules = {path.stem for path in (build.ROOT / room).glob("[!_]*.py")}
        assert set(re.findall(rf"`{room}\.(\w+)`", told)) == modules | more


# Each module of attn may import from those before it.
ORDER = [
    *["checks", "threads", "memory", "tape", "rows", "attention", "blockwise", "layers", "heads", "positions"],
    *["parameters", "interventions", "transformer", "generation", "bytepairs", "training"],
]
NEVER = {  # what no module of a room imports
    "attn": {"attn_course", "book", "recordings"},
    "attn_course": {"book", "recordings"},
    "attn_course/figures": {"book", "recordings"},
    "book": {"recordings"},
}


def imported(path):
    """Return the modules that a file imports, by their whole names."""
    nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    plain = {one.name for node in nodes if isinstance(node, ast.Import) for one in node.names}
    return plain | {node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}


def test_the_package_and_its_modules_need_numpy_and_threadpoolctl_alone():
    imports = "".join(f"import attn.{name}\n" for name in ORDER)
    code = f"import sys\nbefore = set(sys.modules)\n{imports}print(*sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True).stdout
    rooms = {name.partition(".")[0] for name in loaded.split()} - sys.stdlib_module_names
    assert rooms == {"attn", "numpy", "threadpoolctl"}


def test_rooms_and_modules_import_only_from_those_below_them():
    assert {path.name for path in (build.ROOT / "attn").glob("[!_]*")} == {f"{name}.py" for name in ORDER}
    for name in ORDER:
        used = {
            module.split(".")[1] for module in imported(build.ROOT / f"attn/{name}.py") if module.startswith("attn.")
        }
        assert used <= set(ORDER[: ORDER.index(name)]), (name, used)
    for room, never in NEVER.items():
        for path in (build.ROOT / room).glob("*.py"):
            assert not {module.partition(".")[0] for module in imported(path)} & never, path
    for path in (build.ROOT / "attn_course").glob("*.py"):
        assert not [module for module in imported(path) if module.startswith("attn_course.figures")], path


def test_the_example_trains_writes_and_saves_as_the_page_says(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.partition("## Run a released model")[0], re.DOTALL):
        exec(code, names)
    first, written = capsys.readouterr().out.split("\n", 1)
    assert first == re.search(r"```text\n(.*?)\n```", PAGE)[1]
    assert written.startswith("The family of Dashwood") and len(written) > 60
    assert (tmp_path / "my_model.npz").exists()
    np.testing.assert_array_equal(list(leaves(names["params"]))[-1], list(leaves(names["trained"].params))[-1])


def test_the_released_model_says_what_the_page_and_the_readme_say(smollm2, capsys):
    code, printed = re.findall(r"```(?:python|text)\n(.*?)```", PAGE.partition("## Run a released model")[2], re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out == printed
    readme = (build.ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(from attn_course.released_tokens.*?)```", readme, re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out == f"{re.search('#  (.*)', code)[1]}\n".rjust(12)
