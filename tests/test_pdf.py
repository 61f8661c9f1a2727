"""The book in one file: its figures come with it, wherever its scripts stand. tests/test_build.py prints one."""

from types import SimpleNamespace

import pytest

from book import page, pdf

FIGURE = '<div data-explorable="softmax"></div>'


@pytest.mark.parametrize("folder", ["_static/", "../_static/"], ids=["one page", "a page of many"])
def test_a_figure_is_sought_where_the_other_scripts_of_its_page_are(tmp_path, folder):
    html = tmp_path / "chapters/index.html"
    html.parent.mkdir()
    html.write_text(f'{FIGURE}<script defer src="{folder}page-later.js?v=1"></script>', encoding="utf-8")
    page.bring_figures(SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(format="html")), None)
    assert f'<script defer src="{folder}figures/softmax.js?v=' in html.read_text(encoding="utf-8")


def test_a_book_whose_figures_do_not_come_is_not_printed(browser, tmp_path):
    html = tmp_path / "index.html"
    html.write_text(FIGURE, encoding="utf-8")
    with pytest.raises(SystemExit, match=r"^The PDF was not made: 1 of its figures did not come\.$"):
        pdf.print_page(html, browser)
