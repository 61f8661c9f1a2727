"""The notebooks for a class: complete, and without an answer in sight."""

import nbformat
import pytest

from book import chapters
from book.execute import exercises, read
from book.hand_out import main, without_answers


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_a_copy_has_no_solution_and_no_check_that_can_be_read(path):
    notebook, copy = read(path), without_answers(read(path))
    found = exercises(notebook)
    assert len(copy.cells) == len(notebook.cells) - len(found)
    text = nbformat.writes(copy)
    assert "<summary>Solution</summary>" not in text and "data-exercise" not in text
    assert [check.source for _, check, _ in found if check.source in text] == []
    assert not [code for _, _, code in found if len(code) > 30 and code in "\n".join(c.source for c in copy.cells)]


def test_a_packed_check_judges_as_before():
    cells = [
        nbformat.v4.new_code_cell("answer = ..."),
        nbformat.v4.new_code_cell("said = 'Right.' if answer == 4 else 'Not yet. What is twice two?'"),
        nbformat.v4.new_markdown_cell("<details>\n<summary>Solution</summary>\n\nSo:\n\n```python\nanswer = 4\n```\n"),
    ]
    _, check = without_answers(nbformat.v4.new_notebook(cells=cells)).cells
    for answer, said in [(4, "Right."), (5, "Not yet. What is twice two?")]:
        names = {"answer": answer}
        exec(check.source, names)
        assert names["said"] == said


def test_copies_are_written_into_a_new_folder_only(tmp_path, capsys):
    main(tmp_path / "class")
    names = {path.name for path in (tmp_path / "class").iterdir()}
    assert names >= {path.name for path in chapters()} | {"glossary.md", "references.md"}
    assert "ledger.yml" not in names and f"{len(chapters())} chapters without" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="is there already"):
        main(tmp_path / "class")
