"""The page on the package: it names every module, and its example runs and prints what it says."""

import re

import numpy as np

from attn.tape import leaves
from book import build

PAGE = (build.ROOT / "chapters" / "package.md").read_text(encoding="utf-8")


def test_every_module_is_on_the_page():
    modules = {path.stem for path in (build.ROOT / "attn").glob("[!_]*.py")} | {"course", "figures"}
    assert set(re.findall(r"`attn\.(\w+)[.`]", PAGE.partition("## Modules")[2])) == modules


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


def test_the_released_model_says_what_the_page_says(smollm2, capsys):
    code, printed = re.findall(r"```(?:python|text)\n(.*?)```", PAGE.partition("## Run a released model")[2], re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out == printed


def test_the_released_model_says_what_the_readme_says(smollm2, capsys):
    readme = (build.ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(from attn.course.smollm2.*?)```", readme, re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out == f"{re.search('#  (.*)', code)[1]}\n".rjust(12)
