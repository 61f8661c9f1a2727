"""The pages of the book as they are written: complete, and at one with themselves and with each other.

One process reads them all, once: conftest.py.
"""

import base64
import functools
import gc
import io
import json
import re
from collections import Counter
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup
from fontTools.ttLib import TTFont
from pages import AXE, CHAPTERS, PAGES, TITLE, page_of

from attn_course.figures import read_source
from book import build, ledger, number_of
from book.slim import names_in


@pytest.fixture(scope="session")
def soups(book):
    texts = {name: (book / name).read_text(encoding="utf-8") for name in ["index.html", *PAGES]}
    found = {name: BeautifulSoup(text, "html.parser") for name, text in texts.items()}
    gc.freeze()  # these million objects stay, and need not be looked through each time that Python tidies up
    return found


@pytest.fixture(scope="session")
def ids(soups):
    return {name: {tag["id"] for tag in soup.find_all(id=True)} for name, soup in soups.items()}


def test_every_page_is_in_the_table_of_contents(book, soups):
    found = {path.relative_to(book).as_posix() for path in book.glob("**/*.html") if "_static" not in path.parts}
    assert found == set(soups)


@pytest.mark.parametrize("name", ["index.html", *PAGES])
def test_every_link_inside_the_book_leads_somewhere(book, soups, ids, name):
    @functools.cache
    def page_at(where):
        path = (book / name).parent / unquote(where) if where else book / name
        return path.resolve().relative_to(book.resolve()).as_posix() if path.exists() else None

    tags = soups[name].find_all(["a", "img", "script", "link"])
    broken = []
    for target in {tag.get("href") or tag.get("src") or "" for tag in tags} - {""}:
        parts = urlsplit(target)
        if parts.scheme or (name == "search.html" and not parts.path):
            continue
        page = page_at(parts.path)
        if page is None or (parts.fragment and page in ids and unquote(parts.fragment) not in ids[page]):
            broken.append(target)
    assert not broken


def test_no_page_names_a_script_style_or_picture_of_a_third_party(soups):
    foreign = []
    for name, soup in soups.items():
        for tag in soup.find_all(["script", "link", "img", "iframe"]):
            target = tag.get("src") or (tag.get("href") if "canonical" not in tag.get("rel", []) else "") or ""
            foreign += [(name, target)] if urlsplit(target).netloc else []
    assert not foreign


def fonts_of(css):
    """Return the fonts that a style sheet carries, by the name of their family."""
    faces = re.findall(
        r"@font-face[^{]*\{[^}]*?font-family:\s*([^;]+);[^}]*?url\([\"']?data:font/woff2;base64,([^\"')]+)", css
    )
    return [(name, TTFont(io.BytesIO(base64.b64decode(data)))) for name, data in faces]


@pytest.fixture(scope="session")
def css(book):
    return (book / "_static/page.css").read_text(encoding="utf-8")


def test_no_page_needs_a_program_or_a_file_for_its_formulas(book, css):
    assert not [
        path
        for path in book.rglob("*")
        if re.search("mathjax|katex", path.name, re.I) or path.suffix in {".woff", ".woff2", ".ttf"}
    ]
    faces = re.findall(r"@font-face[^}]*\}", css)
    assert len(faces) == len(fonts_of(css)) > 5
    for name, font in fonts_of(css):
        assert name == "MJXZERO" or 1 <= len(font.getBestCmap()) < 150, name


def test_the_fonts_on_board_draw_every_glyph_of_every_formula(visit, book, css, soups):
    drawn = {family: font.getBestCmap().keys() for family, font in fonts_of(css)}
    formulas = {str(formula) for soup in soups.values() for formula in soup.select(".math")}
    page = visit((book / CHAPTERS[0]).as_uri())
    glyphs = page.evaluate(
        """(formulas) => {
          document.querySelector("article").innerHTML = formulas.join("");
          return [...document.querySelectorAll("mjx-c")].map((glyph) => {
            const style = getComputedStyle(glyph, "::before");
            return [style.content.slice(1, -1), style.fontFamily.split(", ")];
          });
        }""",
        sorted(formulas),
    )
    assert len(formulas) > 100 and glyphs
    for text, families in glyphs:
        assert {ord(letter) for letter in text} <= set().union(*(drawn.get(family, ()) for family in families)), (
            text,
            families,
        )


ICONS = """(icons) => {
  document.querySelector("article").insertAdjacentHTML("beforeend", icons.join(""));
  const named = [...document.querySelectorAll("article > [class*='fa-']")].slice(-icons.length);
  const content = (element, part) => getComputedStyle(element, part);
  const shown = [...document.querySelectorAll("*")]
    .flatMap((element) => ["::before", "::after"].map((part) => content(element, part)))
    .filter((style) => style.fontFamily.includes("Awesome") && style.content.length === 3);
  return [named.map((icon) => content(icon, "::before").content), shown.map((style) => style.content[1])];
}"""


def test_the_icons_that_pages_show_are_there_and_few_others(visit, book, soups, css):
    drawn = set().union(*(font.getBestCmap() for name, font in fonts_of(css) if "Awesome" in name))
    tags = [tag for soup in soups.values() for tag in soup.select("i[class*='fa-'], span[class*='fa-']")]
    icons = {f'<i class="{" ".join(tag["class"])}"></i>' for tag in tags}
    named, shown = visit((book / CHAPTERS[0]).as_uri()).evaluate(ICONS, sorted(icons))
    assert len(named) == len(icons) > 5 and {len(content) for content in named} == {3}, (
        "an icon that is named is not drawn"
    )
    assert {content[1] for content in named} <= set(shown)
    assert {ord(letter) for letter in shown} <= drawn and len(drawn) < 60
    assert not list(book.rglob("fontawesome.js*"))


def test_a_page_comes_to_have_no_class_whose_styles_were_cut_away(visit, book, soups):
    page = visit((book / CHAPTERS[1]).as_uri())
    page.locator(".theme-switch-button:visible").hover()
    page.locator(".tooltip").wait_for()
    classes = page.evaluate("[...document.querySelectorAll('[class]')].flatMap((node) => [...node.classList])")
    scripts = [path.read_text(encoding="utf-8") for path in book.glob("_static/*.js")]
    foreign = {name for name in classes if not name.startswith("attn-")}  # the book's own are never cut
    assert foreign <= names_in([*map(str, soups.values()), *scripts])
    ours = re.findall(r"\.(attn-[\w-]+)", re.sub(r"/\*.*?\*/", "", read_source("figures.css")))
    assert set(ours) <= set(re.findall(r"\.(attn-[\w-]+)", (book / "_static/page.css").read_text(encoding="utf-8")))
    arrow = page.locator(".tooltip-arrow").evaluate("arrow => getComputedStyle(arrow, '::before').borderBottomColor")
    assert arrow != "rgba(0, 0, 0, 0)"


def test_each_picture_that_a_cell_has_drawn_stands_in_its_page_as_text_and_is_described(soups):
    assert not [name for name, soup in soups.items() if soup.select(".cell_output img")]
    for name in CHAPTERS:
        pictures = soups[name].select(".cell_output svg.attn-figure")
        assert len(pictures) > 1, name
        for picture in pictures:
            alt, html = picture["aria-label"], str(picture)
            assert picture["role"] == "img" and len(alt) > 40 and "build/" not in alt, (name, alt)
            assert picture.find("text") and not re.search("DejaVu|STIX|<metadata|<style", html), (name, alt)
            width, height, *view = map(float, [picture["width"], picture["height"], *picture["viewbox"].split()[2:]])
            assert abs(height - width * view[1] / view[0]) <= 0.5 + 0.5 * height / width  # each is a whole pixel


def test_no_two_places_of_a_page_have_one_name(soups):
    for name, soup in soups.items():
        names = [tag["id"] for tag in soup.find_all(id=True)]
        assert len(names) == len(set(names)), name


def test_every_chapter_has_a_description_in_plain_words(soups):
    for name in [*CHAPTERS, TITLE]:
        description = soups[name].find("meta", property="og:description")["content"]
        assert 60 < len(description) <= 200
        assert not re.search(r"[\\${}]|[A-Za-z]_[A-Za-z]", description), description


ROWS = yaml.safe_load((build.ROOT / "chapters/ledger.yml").read_text(encoding="utf-8"))


SIGNS = {verdict: sign for verdict, (sign, _) in ledger.VERDICTS.items()}


def test_every_claim_leads_to_the_sections_that_show_it_and_back(soups):
    entries = [heading.find_parent("section") for heading in soups["chapters/ledger.html"].select("article h3")]
    assert [entry["id"] for entry in entries] == [row["id"].lower() for row in ROWS]
    for row, entry in zip(ROWS, entries):
        links = [link["href"].split("#") for link in entry.select("a.reference[href*='.html#']")]
        assert [number_of(page) for page, _ in links] == row["shown"]
        seal = f"{row['id']} {SIGNS[row['verdict']]} {row['verdict']}"
        for page, target in links:
            section = soups[f"chapters/{page}"].find(id=target)
            back = [link["href"] for link in section.select(".attn-claims a") if link.get_text() == seal]
            assert back and set(back) == {f"ledger.html#{row['id'].lower()}"}


def test_each_claim_has_one_mark_at_the_top_of_the_ledger_and_its_verdict_everywhere(soups):
    soup = soups["chapters/ledger.html"]
    assert len(set(SIGNS.values())) == len(SIGNS), "a sign tells verdicts apart, not colour alone"
    counts = Counter(row["verdict"] for row in ROWS)
    legend = [word.get_text() for word in soup.select(".attn-glance .attn-verdict")]
    assert legend == [f"{sign} {verdict} ({counts[verdict]})" for verdict, sign in SIGNS.items()]
    marks = soup.select(".attn-glance a.attn-claim-mark")
    assert [mark.get_text() for mark in marks] == [f"{row['id']} {SIGNS[row['verdict']]}" for row in ROWS]
    for row, mark in zip(ROWS, marks):
        assert mark["href"] == f"#{row['id'].lower()}" and mark["title"].startswith(row["verdict"])
        entry = soup.select_one(mark["href"])
        [verdict] = entry.select(".attn-verdict")
        assert verdict.get_text() == f"{SIGNS[row['verdict']]} {row['verdict'].capitalize()}."
        kind = f"attn-{row['verdict'].replace(' ', '-')}"
        assert kind in mark["class"] and kind in entry["class"] and kind in verdict["class"]


def test_a_chapter_links_a_term_and_a_symbol_to_the_glossary_once_where_they_come_first(soups):
    for name in CHAPTERS:
        links = soups[name].select("a.attn-term")
        assert len(links) >= 8 and all(link["title"] for link in links)
        targets = [link["href"] for link in links]
        assert len(targets) == len(set(targets))
    assert soups[page_of("queries_keys_values")].select_one("a.attn-term .math")


def is_prose(text):
    """Whether a piece of text stands in a paragraph, and neither in code, a formula, a link nor an output."""
    parents = {parent.name for parent in text.parents}
    return (
        "p" in parents
        and not {"a", "code", "pre", "summary", "h1", "h2", "h3"} & parents
        and not text.find_parent(class_=["math", "cell_output", "admonition-title"])
    )


@pytest.mark.parametrize("name", CHAPTERS)
def test_no_prose_uses_a_term_before_the_one_that_leads_to_the_glossary(soups, name):
    terms = [term.get_text().removesuffix("#") for term in soups["chapters/glossary.html"].select("article h3")]
    links = soups[name].select("article a.attn-term:not(:has(.math, code))")
    places = {id(node): place for place, node in enumerate(soups[name].descendants)}
    prose = [(places[id(text)], text) for text in soups[name].article.find_all(string=True) if is_prose(text)]
    for link in links:
        word = link.get_text()
        longer = "|".join(re.escape(term) for term in terms if word in term and word != term) or "(?!)"
        earlier = [text for place, text in prose if place < places[id(link)] and word in text]
        assert not [text for text in earlier if re.search(rf"\b{re.escape(word)}\b", re.sub(longer, "", text))], word


@pytest.mark.parametrize("name", PAGES)
def test_a_chapter_and_no_other_page_begins_with_where_the_reader_is(soups, name):
    if name not in CHAPTERS:
        assert not soups[name].select(".attn-where")
        return
    first = soups[name].article.find(True)
    assert first["class"] == ["attn-where"] and first.get_text() == f"Chapter {number_of(name)} of {len(CHAPTERS)}"
    assert first.find_next("h1").get_text().startswith(f"{number_of(name)}. ")


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_paragraph_that_begins_and_ends_in_italics_below_a_cell_is_a_caption(soups, name):
    below = [cell.find_next_sibling() for cell in soups[name].select("div.cell")]
    texts = [[*one.children] for one in below if one is not None and one.name == "p"]
    italics = [one for one in texts if {getattr(end, "name", None) for end in (one[0], one[-1])} == {"em"}]
    assert italics and all("attn-figure-caption" in one[0].parent.get("class", []) for one in italics)


def test_the_title_page_leads_to_chapter_1_and_carries_a_figure_to_move(soups):
    page = soups[TITLE]
    assert page.select_one("[data-explorable]")
    assert page.find("article").find("a", href=page_of("why_words_need_context").removeprefix("chapters/"))


@pytest.mark.parametrize(("width", "dark"), [(360, False), (1280, True)], ids=["small and light", "wide and dark"])
def test_code_can_be_read_by_everyone_whatever_stands_in_it(visit, book, soups, width, dark):
    """Each kind of word that any page has in its code is added to the code of one page: there are thousands of them."""
    words = {
        tuple(word["class"]): str(word) for soup in soups.values() for word in soup.select(".highlight span[class]")
    }
    page = visit((book / CHAPTERS[1]).as_uri(), width=width, dark=dark)
    page.locator(".highlight pre:visible").first.evaluate(
        "(code, words) => { code.id = 'all-kinds'; code.tabIndex = 0; code.innerHTML += words.join('<br>') }",
        sorted(words.values()),
    )
    assert len(words) > 15
    results = Axe().run(page, context={"include": [["#all-kinds"]]}, options=AXE)
    assert results.violations_count == 0, results.generate_report()


def test_what_colours_formulas_is_not_in_the_search_index(book, soups):
    page = page_of("queries_keys_values")
    chapter = page.removesuffix(".html")
    assert soups[page].select_one(".math .attn-query")
    index = json.loads(
        (book / "searchindex.js").read_text(encoding="utf-8").removeprefix("Search.setIndex(").removesuffix(")")
    )
    assert index["docnames"].index(chapter) in np.ravel(index["terms"]["sqrt"])
    assert index["docnames"].index(chapter) not in np.ravel(index["terms"].get("class", []))
