"""The built book: complete, at one with itself, silent, and usable by everyone."""

import base64
import functools
import gc
import io
import itertools
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
from hands import page_of

from attn_course.figures import read_source
from book import build, ledger, number_of
from book.formulas import colour_symbols, typeset
from book.slim import bundle, names_in

TOC = yaml.safe_load((build.ROOT / "_toc.yml").read_text(encoding="utf-8"))
FILES = [entry["file"] for part in TOC["parts"] for entry in part["chapters"]]
CHAPTERS = [f"{name}.html" for name in FILES if number_of(name)]
PAGES = [f"{name}.html" for name in [TOC["root"], *FILES, "search"]]


AXE = {  # this rule is experimental, and off, in the axe on board
    "preload": False,
    "resultTypes": ["violations"],
    "rules": {"label-content-name-mismatch": {"enabled": True}},
}


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


@pytest.mark.parametrize("width", [1280, 390])
def test_the_parts_of_a_formula_stand_in_their_order_and_fit_a_telephone(visit, address, width):
    page = visit(f"{address}/chapters/02_queries_keys_values.html", width=width)
    lines = page.evaluate("""() => [...document.querySelectorAll("div.math")].map(({ children }) => [...children])
      .filter((parts) => parts.length > 1).map((parts) => parts.map((part) => part.getBoundingClientRect()))
      .map((boxes) => boxes.map(({ left, right, top }) => [top, left, right]))""")
    assert lines and all(max(right for *_, right in line) <= width for line in lines)
    for line in lines:
        assert all(top > above + 20 or left >= end for (above, _, end), (top, left, _) in itertools.pairwise(line))


def test_the_sides_of_one_equation_stand_together(visit, address):
    page = visit(f"{address}/{page_of('what_it_costs')}")
    sides = page.locator("div.math", has_text="bytes per token").locator("mjx-container").all()
    left, right = [side.bounding_box() for side in sides]
    assert 0 < right["x"] - left["x"] - left["width"] < 10


@pytest.mark.parametrize("width", [1280, 390, 360])
@pytest.mark.parametrize("name", [page_of("masking"), "chapters/glossary.html"])
def test_no_line_begins_with_the_mark_after_a_formula(visit, address, name, width):
    page = visit(f"{address}/{name}", width=width)
    gaps = page.locator(".attn-marked").evaluate_all("""(all) => all.flatMap(({ firstChild, lastChild }) => {
      const mark = document.createRange();
      mark.selectNode(lastChild);
      const [end, start] = [firstChild.lastElementChild, mark].map((one) => one.getClientRects()[0]);
      return start ? [start.left - end.right] : []; // what is folded has no box
    })""")
    assert gaps and all(-1 < gap < 5 for gap in gaps)


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


def test_a_theme_that_writes_its_tags_in_another_way_is_noticed(tmp_path):
    with pytest.raises(ValueError, match=r"^No page loads what page\.css is to replace"):
        bundle({tmp_path / "page.html": "<link href='theme.css'>"}, tmp_path)


SHIFTED = """
window.shifted = 0;
new PerformanceObserver((list) => list.getEntries().forEach((shift) => { window.shifted += shift.value; }))
  .observe({ type: "layout-shift", buffered: true });
"""
PAINTED = """() => document.readyState === "interactive" && [...document.images].every((image) => image.complete)
  && performance.getEntriesByName("first-contentful-paint").length"""
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def read_before_the_programs_come(visit, address, width):
    """Open a page whose figures come only after it was painted; it knows by how much its content has moved then."""
    page, held = visit("about:blank", width=width, ask=True), []
    page.requested.clear()
    page.add_init_script(SHIFTED)
    page.route("**/page-later.js*", lambda route: held.append(route))
    page.goto(address, wait_until="commit")
    page.wait_for_function(PAINTED)
    page.evaluate(FRAMES)
    held[0].continue_()
    page.wait_for_load_state("load")
    page.evaluate(FRAMES)
    return page


@pytest.mark.parametrize("name", PAGES)
def test_over_http_a_page_is_light_asks_nobody_else_says_nothing_and_does_not_move(visit, packed, address, name):
    page = read_before_the_programs_come(visit, f"{address}/{name}", 1280)
    assert page.evaluate("shifted") <= 0.02
    if name in CHAPTERS:
        page.get_by_label("Show all results without asking me first").check()
        page.evaluate(FRAMES)
        sizes = packed(page.requested)
        assert len(sizes) <= 15 and sum(sizes) <= 300_000
    assert not [url for url in page.requested if not url.startswith((address, "data:"))]
    assert page.said == []


@pytest.mark.parametrize("name", [f"{TOC['root']}.html", *CHAPTERS])
def test_nothing_moves_in_a_narrow_page_either(visit, address, name):
    page = read_before_the_programs_come(visit, f"{address}/{name}", 390)
    assert page.locator(".attn-explorable").count() > 0 and page.evaluate("shifted") <= 0.02


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
    for name in [*CHAPTERS, f"{TOC['root']}.html"]:
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


def test_a_step_of_the_whole_machine_leads_to_its_chapter(visit, book):
    page = visit((book / CHAPTERS[8]).as_uri())
    step, taught = page.locator(".attn-time input"), page.locator(".attn-step-text a")
    for number, chapter in [(0, 0), (1, 7), (3, 1), (5, 3), (11, 5)]:
        step.fill(str(number))
        assert taught.get_attribute("href") == (book / CHAPTERS[chapter]).as_uri()
        assert taught.inner_text() == f"Chapter {chapter + 1}."
    step.fill("13")
    assert page.locator(".attn-step-text").inner_text().endswith("Chapter 9.") and taught.count() == 0, "it is this one"
    assert page.said == []


@pytest.mark.parametrize(("width", "highest"), [(1280, 640), (390, 844 - 64)])  # a telephone, less the bar of the page
def test_the_whole_machine_its_time_and_what_each_step_does_share_a_screen(visit, book, width, highest):
    page = visit((book / page_of("one_layer")).as_uri(), width=width)
    figure = page.locator("[data-explorable=stepper] .attn-explorable")
    for step in range(20):
        figure.locator(".attn-time input").fill(str(step))
        assert figure.bounding_box()["height"] <= highest
    assert figure.locator(".attn-loom, .attn-time, .attn-step").and_(page.locator(":visible")).count() == 3


def test_a_word_that_is_pressed_is_followed_in_the_numbers(visit, book):
    page = visit((book / page_of("one_layer")).as_uri())
    page.locator(".attn-time input").fill("3")
    page.get_by_role("button", name="gold", exact=True).click()
    page.locator(".attn-folded summary", has_text="numbers").click()
    rows = page.locator(".attn-arrays tbody tr")
    told = page.locator(".attn-explorable:has(.attn-arrays) .attn-detail").last.inner_text()
    assert rows.count() == 5 and told.startswith("4 numbers for “gold”")


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_paragraph_that_begins_and_ends_in_italics_below_a_cell_is_a_caption(soups, name):
    below = [cell.find_next_sibling() for cell in soups[name].select("div.cell")]
    texts = [[*one.children] for one in below if one is not None and one.name == "p"]
    italics = [one for one in texts if {getattr(end, "name", None) for end in (one[0], one[-1])} == {"em"}]
    assert italics and all("attn-figure-caption" in one[0].parent.get("class", []) for one in italics)


def test_the_title_page_leads_to_chapter_1_and_carries_a_figure_to_move(soups):
    page = soups[f"{TOC['root']}.html"]
    assert page.select_one("[data-explorable]")
    assert page.find("article").find("a", href=page_of("why_words_need_context").removeprefix("chapters/"))


SEEN = ["color-contrast", "link-in-text-block", "scrollable-region-focusable"]  # what width and theme decide
WHOLLY = [f"{TOC['root']}.html", CHAPTERS[0], CHAPTERS[8], "search.html"]  # pages that are judged twice by all rules
OUT_OF_REACH = "codes => codes.filter((code) => code.scrollWidth > code.clientWidth && code.tabIndex < 0).length"


PLAIN = "codes => codes.forEach((code) => { code.textContent = code.textContent })"


def judged(page, rules=None):
    """Return what axe finds, by these rules or by all; code apart, whose thousands of words have their own test."""
    only = {"runOnly": {"type": "rule", "values": rules}, "rules": {}} if rules else {}
    return Axe().run(page, context={"exclude": [[".highlight"]]}, options=AXE | only)


@pytest.mark.parametrize("name", PAGES)
def test_opened_as_a_file_without_a_network_a_page_works_for_everyone(visit, book, name):
    page = visit((book / name).as_uri(), width=360, offline=True)
    assert not [url for url in page.requested if not url.startswith(("file:", "data:"))]
    assert page.said == []
    assert page.locator("mjx-container").count() >= page.locator(".math").count()
    assert page.locator("mjx-merror").count() == 0
    assert page.locator(".math:not(:has(math))").count() == 0  # what a screen reader reads
    assert page.locator("[data-explorable]").count() == page.locator("[data-explorable] .attn-explorable").count()
    if name in CHAPTERS:
        assert page.locator("mjx-container").count() > 0
        assert page.locator(".attn-explorable").count() > 0
    sliders, codes = page.locator(".attn-explorable input[type=range]"), page.locator(".highlight pre")
    page.add_style_tag(content="* { transition: none !important }")  # else axe may meet a colour on its way to dark
    for width, theme, least in [(360, "light", 70), (1280, "dark", 120)]:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        page.wait_for_function("(theme) => document.documentElement.dataset.theme === theme", arg=theme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        lengths = sliders.evaluate_all("sliders => sliders.map((slider) => slider.clientWidth)")
        assert min(lengths, default=width) >= least
        assert codes.evaluate_all(OUT_OF_REACH) == 0
        codes.evaluate_all(PLAIN)
        results = judged(page, SEEN if theme == "light" and name not in WHOLLY else None)
        assert results.violations_count == 0, f"{theme}: {results.generate_report()}"


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


def test_what_was_read_and_solved_is_remembered_until_the_reader_forgets_it(visit, address):
    page = visit(f"{address}/{page_of('queries_keys_values')}")
    read, marks = page.get_by_label("I have read this chapter"), page.locator(".attn-read")
    page.keyboard.press("End")
    page.wait_for_function("scrollY > 0")
    page.evaluate(FRAMES)
    assert not read.is_checked() and marks.count() == 0, "only the reader says what was read"
    read.check()
    assert marks.count() == 1
    page.get_by_label("Solved").first.check()

    page.goto(f"{address}/chapters/index.html")
    progress = page.locator(".attn-progress")
    assert f"1 of {len(CHAPTERS)} chapters, solved 1 exercise and made 0 guesses." in progress.inner_text()
    assert progress.get_by_role("link").inner_text() == "1. Why words need context"
    page.goto(f"{address}/{page_of('queries_keys_values')}")
    assert page.get_by_label("Solved").first.is_checked()
    read.uncheck()
    page.reload()
    assert not read.is_checked() and marks.count() == 0

    page.goto(f"{address}/chapters/index.html")
    page.get_by_role("button", name="Forget this").click()
    assert page.evaluate("localStorage.getItem('attention-worked-out')") is None and not progress.is_visible()
    page.go_back()
    assert page.get_by_label("Solved").count() > 2 and page.locator("#exercises :checked").count() == 0


def test_progress_that_cannot_be_read_harms_nothing(visit, address):
    page = visit(f"{address}/chapters/index.html")
    page.evaluate("localStorage.setItem('attention-worked-out', '{broken')")
    page.reload()
    assert page.said == [] and not page.locator(".attn-progress").is_visible()


def test_where_a_browser_keeps_nothing_the_buttons_work_all_the_same(visit, address):
    page = visit(f"{address}/chapters/index.html")
    chapter = f"{address}/{page_of('queries_keys_values')}"
    page.set_content(f"<iframe sandbox='allow-scripts' src='{chapter}' width=1200 height=800></iframe>")
    page.wait_for_load_state("networkidle")
    inside = page.frame(url=chapter)
    assert inside.evaluate("() => { try { return !document.cookie } catch { return 'refused' } }") == "refused"
    themes = []
    for _ in range(3):
        inside.locator(".theme-switch-button").first.click()
        themes.append(inside.evaluate("document.documentElement.dataset.mode"))
    assert set(themes) == {"light", "dark", "auto"}
    solved = inside.get_by_label("Solved").first
    solved.check()
    assert solved.is_checked() and inside.locator(".attn-explorable").count() > 2


def test_without_javascript_a_figure_says_what_it_shows_and_needs(visit, book):
    page = visit((book / page_of("queries_keys_values")).as_uri(), java_script_enabled=False)
    for fold in page.locator("details.attn-side > summary").all():
        fold.click()
    said = [text.split("\n\n") for text in page.locator("[data-explorable]").all_inner_texts()]
    said = [both for both in said if not both[0].startswith("Your guess")]
    assert [shows.split(":")[0] for shows, _ in said] == ["Ask, share, receive", "Questions"]
    for _, needs in said:
        assert re.fullmatch("To .+, run .+ cell in JupyterLab, or open the built book with JavaScript[.]", needs)


@pytest.mark.parametrize("words", ["softmax", "sqrt(d_k)", "W_Q"])
def test_search_finds_the_words_of_formulas_also_in_a_book_opened_as_a_file(visit, book, address, words):
    for place in (address, book.as_uri()):
        page = visit(f"{place}/search.html?q={words}")
        page.locator("#search-results li a", has_text="Queries, keys, values").first.wait_for()
        assert page.said == []


def test_what_colours_formulas_is_not_in_the_search_index(book, soups):
    page = page_of("queries_keys_values")
    chapter = page.removesuffix(".html")
    assert soups[page].select_one(".math .attn-query")
    index = json.loads(
        (book / "searchindex.js").read_text(encoding="utf-8").removeprefix("Search.setIndex(").removesuffix(")")
    )
    assert index["docnames"].index(chapter) in np.ravel(index["terms"]["sqrt"])
    assert index["docnames"].index(chapter) not in np.ravel(index["terms"].get("class", []))


def test_who_copies_text_gets_its_formulas_as_latex(visit, address):
    page = visit(f"{address}/{page_of('queries_keys_values')}")
    copied = page.evaluate(
        """() => {
          const formulas = [document.querySelector("p .math"), document.querySelector("div.math")];
          return formulas.map((formula) => {
            getSelection().selectAllChildren(formula.parentNode);
            const clipboardData = new DataTransfer();
            const event = new ClipboardEvent("copy", { clipboardData, bubbles: true, cancelable: true });
            document.dispatchEvent(event);
            return [formula.dataset.latex, event.clipboardData.getData("text/plain")];
          });
        }"""
    )
    (inline, line), (display, section) = copied
    assert f"${inline}$" in line and f"$${display}$$" in section and "\\class" not in section


def test_copying_from_a_field_or_without_a_selection_is_left_alone(visit, address):
    page = visit(f"{address}/{page_of('scores_softmax_pattern')}")
    left_alone = page.evaluate(
        """() => {
          const settings = { clipboardData: new DataTransfer(), bubbles: true, cancelable: true };
          const copy = (target) => target.dispatchEvent(new ClipboardEvent("copy", settings));
          getSelection().selectAllChildren(document.querySelector("p .math").parentNode);
          const results = [copy(document), copy(document.querySelector(".attn-explorable form input"))];
          getSelection().removeAllRanges();
          return [...results, copy(document)];
        }"""
    )
    assert left_alone == [False, True, True] and page.said == []


def test_a_formula_that_cannot_be_set_is_named():
    with pytest.raises(ValueError, match=r"Undefined control sequence \\foo in the formula \\foo\{x\}"):
        typeset(r"\foo{x}", False)


def test_on_paper_there_is_nothing_to_click(visit, book):
    page = visit((book / page_of("queries_keys_values")).as_uri())
    page.emulate_media(media="print")
    for selector in (
        ".bd-sidebar-primary",
        ".bd-header-article",
        ".prev-next-footer",
        ".attn-done",
        ".attn-explorable .attn-button",
    ):
        assert page.locator(selector).count() and not page.locator(selector).first.is_visible()
    assert page.locator(".attn-explorable .attn-scene").first.is_visible()


PRINTED = """() => {
  window.looks = [];
  const look = () => {
    const styles = (selector) => [...document.querySelectorAll(selector)].map((node) => getComputedStyle(node));
    window.looks.push({
      theme: document.documentElement.dataset.theme,
      ink: [...new Set(styles("article :is(p, h2, pre span, td, th, legend, output)").map(({ color }) => color))],
      figures: [...new Set(styles(".attn-wide").map(({ color, filter }) => `${color} ${filter}`))],
    });
  };
  look();
  ["beforeprint", "afterprint"].forEach((name) => addEventListener(name, look));
}"""


def test_printed_in_the_dark_a_page_is_dark_on_white_and_on_the_screen_the_readers_again(visit, book):
    page = visit((book / page_of("queries_keys_values")).as_uri(), dark=True)
    page.evaluate(PRINTED)
    page.pdf()
    before, printed, after = page.evaluate("looks")
    assert before == after and before["theme"] == "dark" and before["figures"] == ["rgb(230, 233, 236) none"]
    assert printed["theme"] == "light"
    assert printed["figures"] == ["rgb(27, 31, 36) none"]
    assert len(printed["ink"]) > 5
    for ink in printed["ink"]:
        assert np.mean([int(channel) for channel in re.findall(r"\d+", ink)]) < 128, ink
    page.emulate_media(media="print", color_scheme="light")
    page.reload()
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)", "what is cream on the screen is white on paper"


def test_queries_keys_and_values_are_coloured_in_formulas(visit, book):
    page = visit((book / page_of("queries_keys_values")).as_uri())
    colours = {
        role: page.locator(f"mjx-container .attn-{role}").first.evaluate("node => getComputedStyle(node).color")
        for role in ("query", "key", "value")
    }
    assert len(set(colours.values())) == 3
    assert "rgb(0, 0, 0)" not in colours.values()


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"W_{K}", r"\class{attn-key}{W_{K}}"),
        (r"q_{it}", r"\class{attn-query}{q}_{it}"),
        (r"d_k + d_v", r"d_k + d_v"),
        (r"\operatorname{Var}(q \cdot k)", r"\operatorname{Var}(\class{attn-query}{q} \cdot \class{attn-key}{k})"),
        (r"K^{\mathsf T} Q", r"\class{attn-key}{K}^{\mathsf T} \class{attn-query}{Q}"),
        (r"\underbrace{p_j}_{\text{key}}", r"\underbrace{p_j}_{\text{key}}"),
    ],
)
def test_only_queries_keys_and_values_are_coloured(latex, expected):
    assert colour_symbols(latex) == expected


SHOWN = """() => [...document.querySelectorAll(".cell_output")].filter((cell) => cell.querySelector(".attn-figure"))
  .map((cell) => [...cell.querySelectorAll(".attn-figure")].filter((one) => one.checkVisibility()))"""
LETTERS = """(svg) => {
  const frame = svg.getBoundingClientRect();
  const inch = frame.width / svg.viewBox.baseVal.width;
  const texts = [...svg.querySelectorAll("text")].map((node) => {
    const letters = [node, ...node.children].map((one) => parseFloat(getComputedStyle(one).fontSize) * inch);
    const { a, b } = node.getScreenCTM(), size = Math.max(...letters);
    const [level, upright] = [Math.abs(b) < 0.01, Math.abs(a) < 0.01];
    const above = 0.2 * size;  // its box is higher than a letter
    return { said: node.textContent, box: node.getBoundingClientRect(), size, slanted: !level && !upright,
      beside: level ? 1 : above, above: upright ? 1 : above };
  });
  const isCut = ({ box: { left, right, top, bottom }, beside, above }) => left < frame.left - beside
    || right > frame.right + beside || top < frame.top - above || bottom > frame.bottom + above;
  const share = (one, other) => {  // of the lower of two texts, how much is covered
    const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
    const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
    return wide > 1.5 ? high / Math.min(one.height, other.height) : 0;
  };
  const level = texts.filter(({ slanted, said }) => !slanted && said.trim());
  const over = level.flatMap((one, i) => level.slice(i + 1).filter((other) => share(one.box, other.box) > 0.25)
    .map((other) => `${one.said} / ${other.said}`));
  return { alt: svg.getAttribute("aria-label"), count: texts.length, cut: texts.filter(isCut).map(({ said }) => said),
    small: texts.filter(({ size }) => size < 10).map(({ said }) => said), over };
}"""


def letters(page):
    """Return of each figure that is shown what its texts look like; each cell shows one of its drawings."""
    return page.evaluate(f"() => ({SHOWN})().map((shown) => shown.map({LETTERS}))")


@pytest.mark.parametrize("name", CHAPTERS)
def test_no_text_of_a_figure_is_cut_and_on_a_telephone_each_can_be_read(visit, book, name):
    page = visit((book / name).as_uri())
    for (figure,) in letters(page):
        assert figure["count"] > 0 and not figure["cut"], figure
    page.set_viewport_size({"width": 390, "height": 900})
    figures = [figure for (figure,) in letters(page)]
    assert not [figure["alt"] for figure in figures if figure["cut"] or figure["small"]]
    assert not [figure["over"] for figure in figures if figure["over"]]


def test_a_text_that_is_cut_too_small_or_covered_is_found(visit):
    texts = '<text x="90" y="50">a long text</text><text x="5" y="50">one</text><text x="8" y="55">two</text>'
    page = visit("about:blank")
    page.set_content(f'<svg class="attn-figure" viewBox="0 0 100 100" width="50" font-size="16">{texts}</svg>')
    found = page.locator("svg").evaluate(LETTERS)
    assert found["cut"] == ["a long text"] and found["over"] == ["one / two"] and len(found["small"]) == 3


@pytest.mark.parametrize("name", ["how_a_model_learns", "what_a_head_is_for"])
def test_a_result_of_training_says_on_how_many_models_it_rests(visit, book, name):
    page = visit((book / page_of(name)).as_uri())
    said = page.evaluate("""() => [...document.querySelectorAll("div.cell:has(> .cell_output)")].map((cell) => [
        cell.className, getComputedStyle(cell.querySelector(".cell_output"), "::before").content])""")
    for classes, mark in said:
        models = [kind for kind in ("one-model", "trained") if f"tag_{kind}" in classes.split()]
        assert mark == {"one-model": '"● one model"', "trained": '"●●● several models"'}.get("".join(models), "none")
    assert any("several" in mark for _, mark in said)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_figure_has_the_colours_of_the_theme(visit, book, dark):
    page = visit((book / CHAPTERS[1]).as_uri(), dark=dark)
    used, named = page.evaluate("""() => {
      const strokes = [...document.querySelectorAll(".attn-figure path")].map((node) => getComputedStyle(node).stroke);
      const probe = document.body.appendChild(document.createElement("i"));
      return [strokes, ["query", "key", "value"].map((role) => {
        probe.style.color = `var(--attn-${role})`;
        return getComputedStyle(probe).color;
      })];
    }""")
    assert set(named) <= set(used) and (named[0] == "rgb(0, 87, 184)") is not dark
