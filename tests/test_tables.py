"""Tables: the same texts in a page and in a terminal."""

import pytest
from bs4 import BeautifulSoup

from attn_course.tables import Table

TABLE = Table(["", "all on", "L4H3 < off"], [["model 0", "6.64", "4.71 [4.24, 5.20]"], ["model 10", "7.01", "3.46"]])


def test_columns_stand_below_their_names():
    assert repr(TABLE).splitlines() == [
        "          all on         L4H3 < off",
        "model 0     6.64  4.71 [4.24, 5.20]",
        "model 10    7.01               3.46",
    ]


def test_a_page_gets_the_same_texts_each_named_by_its_row_and_column():
    soup = BeautifulSoup(TABLE._repr_html_(), "html.parser")
    assert [cell.text for cell in soup.select("thead tr > *")] == TABLE.columns
    assert [cell.text for cell in soup.select("thead th[scope=col]")] == TABLE.columns[1:], "a heading says something"
    rows = [[cell.text for cell in row.find_all(["th", "td"])] for row in soup.select("tbody tr")]
    assert [[text.replace("\N{NO-BREAK SPACE}", " ") for text in row] for row in rows] == TABLE.rows
    assert len(soup.select("tbody th[scope=row]")) == 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [("-0.04", "−0.04"), ("-0.00 [-0.50, 0.10]", "0.00 [−0.50, 0.10]"), ("L1-2", "L1-2"), ("-1 to -0", "−1 to 0")],
)
def test_a_page_shows_the_sign_for_minus_and_none_on_zero(text, shown):
    assert f"<td>{shown}</td>" in Table(["", "x"], [["a", text]])._repr_html_().replace("\N{NO-BREAK SPACE}", " ")


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="a row has 1 entries, but there are 2 columns: \\['a'\\]"):
        Table(["", "x"], [["a"]])
