"""The built book in a browser: silent, still, light, and usable by everyone."""

import itertools
import re

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from pages import AXE, CHAPTERS, FRAMES, PAGES, TITLE, page_of, read_before_the_programs_come, shifts

from book.formulas import colour_symbols, typeset
from book.slim import bundle


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


def test_a_theme_that_writes_its_tags_in_another_way_is_noticed(tmp_path):
    with pytest.raises(ValueError, match=r"^No page loads what page\.css is to replace"):
        bundle({tmp_path / "page.html": "<link href='theme.css'>"}, tmp_path)


@pytest.mark.parametrize("name", [name for name in PAGES if name not in CHAPTERS])  # those: test_keyboard.py
def test_over_http_a_page_asks_nobody_else_says_nothing_and_does_not_move(visit, address, name):
    page = read_before_the_programs_come(visit, f"{address}/{name}", 1280)
    assert not shifts(page)
    assert not [url for url in page.requested if not url.startswith((address, "data:"))]
    assert page.said == []


PLACES = """() => [...document.querySelectorAll("article :is(.cell, .cell details, [data-explorable], p, p > *)")]
  .map((part) => [part.tagName, part.getBoundingClientRect().y])"""


@pytest.mark.parametrize(
    ("name", "come"),
    [
        (TITLE, r"</script><p>"),
        (page_of("a_model_of_today"), r"(Show the code.*?){2}<pre>"),
        (page_of("scaling"), r"Before you read on:.*?</p>"),
    ],
    ids=["a figure", "a cell whose code is folded", "the question of a guess"],
)
def test_what_has_come_of_a_page_stands_where_it_will_stand(visit, book, name, come):
    html, page = (book / name).read_text(encoding="utf-8"), visit("about:blank", width=360, offline=True)
    parts = [html[: re.search(come, html, re.DOTALL).end()], html]
    page.route("**/*.js*", lambda route: route.continue_() if "/page.js" in route.request.url else route.abort())
    page.route("**/*.html", lambda route: route.fulfill(body=parts.pop(0), content_type="text/html"))
    page.goto((book / name).as_uri())
    first = page.evaluate(PLACES)
    page.reload()
    assert len(first) > 1
    assert [part for part, whole in zip(first, page.evaluate(PLACES), strict=False) if part != whole] == []


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
    heights = figure.evaluate(
        """async (figure) => {
          const time = figure.querySelector(".attn-time input"), heights = [];
          for (time.value = 0; heights.length < 20; time.value++) {
            time.dispatchEvent(new Event("input", { bubbles: true }));
            await new Promise(requestAnimationFrame);
            heights.push([figure.querySelector(".attn-step-title").textContent, figure.getBoundingClientRect().height]);
          }
          return heights;
        }"""
    )
    assert all(title.startswith(f"Step {number} of 20") for number, (title, _) in enumerate(heights, start=1))
    assert max(height for _, height in heights) <= highest
    assert figure.locator(".attn-loom, .attn-time, .attn-step").and_(page.locator(":visible")).count() == 3


def test_a_word_that_is_pressed_is_followed_in_the_numbers(visit, book):
    page = visit((book / page_of("one_layer")).as_uri())
    page.locator(".attn-time input").fill("3")
    page.get_by_role("button", name="gold", exact=True).click()
    page.locator(".attn-folded summary", has_text="numbers").click()
    rows = page.locator(".attn-arrays tbody tr")
    told = page.locator(".attn-explorable:has(.attn-arrays) .attn-detail").last.inner_text()
    assert rows.count() == 5 and told.startswith("4 numbers for “gold”")


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
    """Return for each cell that has drawn what the texts of the drawings look like that it shows."""
    return page.evaluate(f"() => ({SHOWN})().map((shown) => shown.map({LETTERS}))")


SEEN = ["color-contrast", "link-in-text-block", "scrollable-region-focusable"]  # what width and theme decide
WHOLLY = [TITLE, CHAPTERS[0], CHAPTERS[8], "search.html"]  # pages that are judged twice by all rules
IN_REACH = """() => [...document.querySelectorAll(".highlight pre")].every(
  ({ scrollWidth, clientWidth, tabIndex }) => scrollWidth <= clientWidth || tabIndex === 0)"""
# What no rule judges is taken away: the words of code, which have a test of their own, and what a picture holds.
PLAIN = """() => {
  document.querySelectorAll(".highlight pre").forEach((code) => { code.textContent = code.textContent; });
  document.querySelectorAll(".attn-figure").forEach((picture) => picture.replaceChildren());
}"""


def judged(axe, page, rules=None):
    """Return what axe finds, by these rules or by all; code apart, whose thousands of words have their own test."""
    only = {"runOnly": {"type": "rule", "values": rules}, "rules": {}} if rules else {}
    return axe.run(page, context={"exclude": [[".highlight"]]}, options=AXE | only)


@pytest.mark.parametrize("name", PAGES)
def test_opened_as_a_file_without_a_network_a_page_works_for_everyone(visit, book, name):
    page = read_before_the_programs_come(visit, (book / name).as_uri(), 360, offline=True)
    assert not shifts(page)
    for switch in page.get_by_label("Show all results without asking me first").all():
        switch.check()
    assert not [url for url in page.requested if not url.startswith(("file:", "data:"))]
    assert page.said == []
    assert page.locator("mjx-container").count() >= page.locator(".math").count()
    assert page.locator("mjx-merror").count() == 0
    assert page.locator(".math:not(:has(math))").count() == 0  # what a screen reader reads
    assert page.locator("[data-explorable]").count() == page.locator("[data-explorable] .attn-explorable").count()
    if name in CHAPTERS:
        assert page.locator("mjx-container").count() > 0
        assert page.locator(".attn-explorable").count() > 0
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        figures = [figure for (figure,) in letters(page)]  # each cell shows one of its drawings
        assert not [figure["alt"] for figure in figures if figure["cut"] or figure["count"] == 0]
        assert width > 390 or not [figure for figure in figures if figure["small"] or figure["over"]]
    page.evaluate(PLAIN)
    sliders = page.locator(".attn-explorable input[type=range]")
    page.add_style_tag(content="* { transition: none !important }")  # else axe may meet a colour on its way to dark
    brought, there = Axe(), Axe("null")  # its script stays in the page
    for width, theme, least, axe in [(360, "light", 70, brought), (1280, "dark", 120, there)]:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        page.wait_for_function("(theme) => document.documentElement.dataset.theme === theme", arg=theme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        lengths = sliders.evaluate_all("sliders => sliders.map((slider) => slider.clientWidth)")
        assert min(lengths, default=width) >= least
        page.wait_for_function(IN_REACH)  # the theme looks again when the window has rested for 0.3 seconds
        results = judged(axe, page, SEEN if theme == "light" and name not in WHOLLY else None)
        assert results.violations_count == 0, f"{theme}: {results.generate_report()}"


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


@pytest.mark.parametrize("dark", [False, True])
def test_what_comes_up_on_the_way_can_be_read(visit, book, dark):
    page = visit((book / CHAPTERS[0]).as_uri(), width=1100, dark=dark)
    page.add_style_tag(content="* { transition: none !important }")
    for y in (3000, 2000):
        page.evaluate("top => scrollTo({ top, behavior: 'instant' })", y)
        page.evaluate(FRAMES)
    page.get_by_role("button", name="Back to top").wait_for()
    for held in ("nav.bd-links a.reference", "#pst-back-to-top"):
        page.locator(held).first.hover()
        only = {"runOnly": ["color-contrast"], "rules": {}}
        context = {"include": [["#pst-back-to-top"], ["nav.bd-links"]]}
        results = Axe().run(page, context=context, options=AXE | only)
        assert results.violations_count == 0, f"{held}: {results.generate_report()}"


@pytest.mark.parametrize("dark", [False, True])
def test_a_page_is_light_or_dark_before_its_programs_have_come(visit, book, dark):
    page = visit("about:blank", dark=dark)
    page.route("**/page-later.js*", lambda route: route.abort())
    page.goto((book / CHAPTERS[0]).as_uri())
    ground, ink = page.evaluate(
        "() => ['backgroundColor', 'color'].map((of) => getComputedStyle(document.body)[of].match(/\\d+/g).map(Number))"
    )
    assert (sum(ground) < sum(ink)) == dark and abs(sum(ground) - sum(ink)) > 400


@pytest.mark.parametrize("opened", [1280, 360])
def test_what_comes_to_be_wider_than_its_page_is_reached_by_the_keyboard(visit, book, opened):
    page = visit((book / page_of("what_a_head_is_for")).as_uri(), width=opened, folded=True)
    page.set_viewport_size({"width": 360, "height": 900})
    page.locator("details.attn-side").evaluate_all("sides => sides.forEach((side) => (side.open = true))")
    page.evaluate(FRAMES)
    wide = page.locator("mjx-container[display], div:has(> .attn-numbers)").evaluate_all(
        "all => all.filter((one) => one.scrollWidth > one.clientWidth).map(({ tabIndex }) => tabIndex)"
    )
    assert len(wide) > 3 and set(wide) == {0}


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
