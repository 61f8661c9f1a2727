"""The page on the package: it names every module, and its example runs and prints what it says."""

import re

from book import build

PAGE = (build.ROOT / "chapters" / "package.md").read_text(encoding="utf-8")


def test_every_module_is_on_the_page():
    modules = {path.stem for path in (build.ROOT / "attn").glob("[!_]*.py")} | {"course", "figures"}
    assert set(re.findall(r"`attn\.(\w+)[.`]", PAGE.partition("## Modules")[2])) == modules


def test_the_example_trains_and_writes_as_the_page_says(capsys):
    names = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(code, names)
    first, written = capsys.readouterr().out.split("\n", 1)
    assert first == re.search(r"```text\n(.*?)\n```", PAGE)[1]
    assert written.startswith("The family of Dashwood") and len(written) > 60
