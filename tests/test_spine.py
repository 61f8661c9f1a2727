"""The spine and its side paths: how long they take, where that is said, and how the book folds them."""

import re

import nbformat
import pytest
from bs4 import BeautifulSoup
from pages import page_of

from book import build, chapters, spine
from book.execute import read

CHAPTERS = chapters()
SIDES = {
    path.stem: [head for head, cells in spine.sections(read(path)).items() if spine.is_side(cells)] for path in CHAPTERS
}
WITH_SIDES = [name for name, sides in SIDES.items() if sides]


def markdown(text, **metadata):
    return nbformat.v4.new_markdown_cell(text, metadata=metadata)


def code(text, outputs=(), **metadata):
    return nbformat.v4.new_code_cell(text, outputs=list(outputs), metadata=metadata)


def test_minutes_are_those_of_words_guesses_and_cells():
    figure, questions, table = (
        nbformat.v4.new_output("display_data", {"text/html": html})
        for html in (
            '<div data-explorable="mask"></div>',
            '<div data-explorable="self_check">{"ask": "\\"One\\"?"} {"ask": "Two? (From the side path “Two”)"}'
            "<p>One? Two? (From the side path “Two”)</p></div>",
            "<table></table>",
        )
    )
    notebook = nbformat.v4.new_notebook(
        cells=[
            markdown("# 1. One\n\n" + "word " * 147),
            markdown("left out " * 100, tags=["remove-cell"]),
            markdown(f"## Two\n\n*{spine.SIDE}*\n\n" + "word " * 290),
            code("1 + 1"),
            code("folded", tags=["hide-input"]),
            code("plt.show()", tags=["hide-input"]),
            code("figure", [figure], tags=["hide-input"]),
            code("table", [table], tags=["hide-input"]),
            code("numbers behind a picture", [table], tags=["hide-cell"]),
            markdown("## Questions"),
            code("questions", [questions], tags=["hide-input"]),
            markdown("## Exercises\n\n" + "word " * 1000),
            markdown(f"## Summary\n\n{'word ' * 71}\n\n*From the side paths:*\n\n{'word ' * 300}\n\n**Next:** two."),
        ]
    )
    assert list(spine.sections(notebook)) == ["", "Two", "Questions", "Exercises", "Summary"]
    on_the_spine, aside = spine.times(notebook)
    assert on_the_spine == pytest.approx(1 + 0.5 + 0.5, abs=0.03)
    assert aside == pytest.approx(2 + 1 + 0.5 + 2 + 1, abs=0.1)


def test_each_chapter_has_a_way_of_about_an_hour_at_most_and_how_to_read_tells_the_times():
    found = {path.stem: spine.times(read(path)) for path in CHAPTERS}
    assert max(on_the_spine for on_the_spine, _ in found.values()) < 65
    page = (build.ROOT / "chapters" / "how_to_read.md").read_text(encoding="utf-8")
    assert spine.table() in page, "write it anew: .venv/bin/python -m book.spine"
    hours = [float(told) for told in re.findall(r"\*\*([\d.]+) hours\*\*", page)]
    assert [sum(both) / 60 for both in zip(*found.values())] == pytest.approx(hours, abs=0.5)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_the_end_of_a_chapter_is_no_side_path_and_its_first_section_neither(path):
    sections = list(spine.sections(read(path)))
    assert not {sections[1], *sections[-4:]} & set(SIDES[path.stem])


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_page_folds_its_side_paths_and_nothing_else_and_says_how_long_it_takes(book, path):
    soup = BeautifulSoup((book / f"chapters/{path.stem}.html").read_text(encoding="utf-8"), "html.parser")
    folds = soup.select("details.attn-side")
    titles = [fold.find_parent("section").find("h2").get_text().removesuffix("#") for fold in folds]
    plain = [[re.sub(r"[^a-z0-9]", "", title.lower()) for title in some] for some in (titles, SIDES[path.stem])]
    assert plain[0] == plain[1]
    for fold in folds:
        section = fold.find_parent("section")
        assert fold.find("h2") is None, "a fold ends with its section"
        assert [child.name for child in section.find_all(recursive=False)][-1] == "details"
        assert re.search(r" (1 minute|(?!1 )\d+ minutes): ", fold.summary.get_text())
        assert not fold.has_attr("open") and spine.SIDE not in fold.get_text().replace(fold.summary.get_text(), "")
    (told,) = [p.get_text() for p in soup.select("article p") if p.get_text().startswith("Time:")]
    on_the_spine, aside = map(spine.rounded, spine.times(read(path)))
    assert f"about {on_the_spine} minutes" in told and (f"{aside} more for side paths" in told) == bool(aside)


def test_a_link_to_a_side_path_opens_it_and_paper_shows_all(visit, book):
    page = visit((book / page_of("queries_keys_values")).as_uri(), folded=True)
    fold = page.locator("section#the-cloth > details.attn-side")
    page.emulate_media(media="print")
    assert fold.locator(".cell").first.is_visible() and not fold.locator("summary").first.is_visible()
    page.emulate_media(media="screen")
    assert not fold.evaluate("fold => fold.open")
    page.evaluate("location.hash = '#the-cloth'")
    page.wait_for_function("document.querySelector('#the-cloth > details').open")
    assert fold.locator(".cell").first.is_visible()
