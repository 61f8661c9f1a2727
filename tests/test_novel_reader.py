"""The novel reader: the model in the page computes what the package computes, and the reader's hands move it."""

import json
import re

import numpy as np
import pytest
from hands import as_in_the_book, press, unfold
from numpy.testing import assert_allclose

from attn import Trace, decoder, softmax
from attn.interventions import named_head
from attn.layers import layer_norm, unembedding
from attn_course import novels
from attn_course.figures import NovelReader
from attn_course.figures.novel_reader import PARTS, first_read
from recordings.novels import exchange

TEXTS = ['"My dear Mr. Bennet," said', "It is a <b>truth</b> universally acknowledged,"]
PARAMS, TOKENIZER, CONFIG = novels.read_model(), novels.read_tokenizer(), novels.CONFIG
MARKS = [TOKENIZER.words.index(mark) for mark in (novels.OPENING, novels.CLOSING)]
HEADS = [f"L{layer}H{head}" for layer in range(1, 5) for head in range(1, 5)]


def visible(token):
    return TOKENIZER.words[token].replace(" ", "·").replace("\n", "¶")


def run(figure):
    return decoder(PARAMS, CONFIG, figure.tokens, interventions=figure.interventions())


def write(page, text):
    if not page.locator("textarea").is_visible():
        unfold(page)
    page.locator("textarea").fill(text)
    press(page, "Read it")


@pytest.fixture
def reading(blank):
    """Call JavaScript in a page that holds the model as `model`."""
    page = blank(NovelReader(TEXTS))
    page.evaluate(
        """() => {
          const { modelOf, bytesOf } = attnExplorables.novel_reader, { about, parts } = attnNovels.novels;
          window.model = modelOf(about, bytesOf(parts.join("")));
        }"""
    )

    def call(function, values):  # as text, since Playwright is slow with long arrays
        return json.loads(page.evaluate(f"(values) => JSON.stringify(({function})(values))", values))

    return call


DONE = [{}, {"off": ["L1H2", "L4H3"]}, {"itself": ["L2H3", "L3H1"], "off": ["L4H2"]}, {"exchanged": ["L3H3", "L4H3"]}]


def by_head(done):
    """Return what is done to heads as the page has it: by head."""
    return {head: what for what, heads in done.items() for head in heads}


def test_the_page_reads_held_out_text_as_the_package_does(reading):
    agreed, marks = [], 0
    for number, row in enumerate(novels.held_out(TOKENIZER).rows[::43, :20]):
        done = DONE[number % len(DONE)]
        found = reading(
            """([row, done, token]) => {
              const { readTokens, readEarly, addedTo } = attnExplorables.novel_reader;
              const { model: _, ...read } = readTokens(model, row, done, null);
              return { ...read, early: read.streams.map((rows) => readEarly(model, rows.at(-1))),
                added: addedTo(model, read, row.length - 1, token) };
            }""",
            [row.tolist(), by_head(done), int(row[0])],
        )
        figure = NovelReader(TEXTS, tokens=row.tolist(), **done)
        with Trace() as trace:
            logits = run(figure)
        marks += len(figure.interventions()) if "exchanged" in done and np.isin(row, MARKS).any() else 0
        for head in [one for one in HEADS if one not in done.get("off", [])]:
            layer, number = named_head(head)
            weights = trace.layers[layer - 1].attention.weights[number - 1]
            assert_allclose(found["weights"][head], weights, atol=1e-4)
        lost = -np.log(softmax(logits[:-1].astype(float))[np.arange(len(row) - 1), row[1:]])
        assert_allclose(found["lost"], lost, atol=1e-3)
        agreed += (np.argmax(found["logits"], axis=-1) == logits.argmax(axis=-1)).tolist()
        streams = [trace.embedded[0], *(layer.after_mlp for layer in trace.layers)]
        ended = [unembedding(layer_norm(stream[-1], **PARAMS["norm"]), PARAMS["embedding"]) for stream in streams]
        assert_allclose(found["early"], ended, atol=0.01)
        embedding, token = PARAMS["embedding"].astype(float), row[0]
        towards = embedding[token] - embedding.mean(axis=0)
        rest = layer_norm(streams[-1][-1].astype(float), **PARAMS["norm"])
        attention = [layer.after_attention[-1] - before[-1] for layer, before in zip(trace.layers, streams)]
        by_layer = [sum(found["added"].get(f"L{layer}H{head}", 0) for head in range(1, 5)) for layer in range(1, 5)]
        scale = PARAMS["norm"]["gain"] * towards
        expected = [(part - part.mean()) @ scale / streams[-1][-1].std() for part in attention]
        assert_allclose(by_layer, expected, atol=0.01)
        whole = sum(found["added"].values()) + (streams[0][-1] - streams[0][-1].mean()) @ scale / streams[-1][-1].std()
        assert whole + PARAMS["norm"]["bias"] @ towards == pytest.approx(rest @ towards, abs=0.02)
    assert len(agreed) >= 200 and np.mean(agreed) > 0.99 and marks


@pytest.mark.parametrize("done", DONE)
def test_what_is_read_token_by_token_is_what_is_read_at_once(reading, done):
    row = novels.held_out(TOKENIZER).rows[3, :40].tolist()
    found = reading(
        """([row, done]) => {
          const { readTokens } = attnExplorables.novel_reader;
          const read = (before, n) => readTokens(model, row.slice(0, n), done, before);
          const stepwise = [3, 4, 5, 20, 21, 40].reduce(read, null);
          const anew = readTokens(model, [...row.slice(0, 3), row[4]], done, stepwise); // another text
          const all = [stepwise, read(null, 40), anew, readTokens(model, anew.tokens, done, null)];
          return all.map(({ model: _, ...one }) => one);
        }""",
        [row, by_head(done)],
    )
    for one, other in (found[:2], found[2:]):
        for part in ("logits", "streams", "lost"):
            assert_allclose(one[part], other[part], atol=1e-9)
        assert one["weights"].keys() == other["weights"].keys() == set(HEADS) - set(done.get("off", []))
        for head, weights in other["weights"].items():
            padded = [[*row, *[0] * (len(one["tokens"]) - len(row))] for row in one["weights"][head]]
            assert_allclose(padded, weights, atol=1e-9)
        for part, rows in other["written"].items():
            assert_allclose(one["written"][part], rows, atol=1e-9)


def test_a_head_that_looks_only_at_itself_and_marks_that_are_exchanged_do_what_they_say():
    figure = NovelReader(['He said, "Yes," and went.'], itself=["L2H3"], exchanged=["L4H3"])
    with Trace() as plain:
        decoder(PARAMS, CONFIG, figure.tokens)
    with Trace() as changed:
        run(figure)
    np.testing.assert_array_equal(changed.layers[1].attention.weights[2], np.eye(len(figure.tokens)))
    values = [novels.read_mark_values("novels")[kind, 3, 2] for kind in (0, 1)]
    opens, closes = (figure.tokens.index(TOKENIZER.words.index(mark)) for mark in (novels.OPENING, novels.CLOSING))
    V = changed.layers[3].attention.V[2]
    np.testing.assert_array_equal([V[opens], V[closes]], [values[1], values[0]])
    assert np.abs(plain.layers[3].attention.V[2][opens] - values[0]).max() < np.abs(values[0] - values[1]).max()


def test_mean_values_of_marks_are_what_was_measured():
    for name, number in novels.ALIVE.items():
        assert_allclose(novels.read_mark_values(name), exchange.values_of(number), atol=1e-4)


def test_the_text_is_brought_into_the_form_of_the_novels(js):
    for typed, read in {
        "Emma was ": "Emma was",
        "  “Yes,”\u00a0he said—“no…”\t": '"Yes," he said - "no..."',
        "a –b\r\n\r\n  c": "a - b\nc",
        "it’s  «so»": 'it\'s "so"',
    }.items():
        assert js("attn.novel_reader.asInNovels", typed) == read
    dash = TOKENIZER.encode(" -").tolist()
    assert len(dash) == 1 and dash[0] in TOKENIZER.encode("voice - I")


def test_of_a_long_text_the_last_tokens_are_read_from_the_same_one_on_for_a_while(js):
    starts = [first_read(n) for n in range(1, 400)]
    assert starts == [js("attn.novel_reader.firstRead", n, 128) for n in range(1, 400)]
    read = [n - start for n, start in enumerate(starts, start=1)]
    assert max(read) == 128 and min(read[128:]) == 97 and len(set(starts[128:160])) == 1


HOSTILE = [
    "",
    "\x00\t\r\x85\u2028",
    "<script>alert(1)</script>",
    "naïve Ünïcödé 日本語 👩‍👩‍👧",
    'a  b\n\n "c"12.5',
    " \n ",
]


def test_the_page_cuts_text_as_the_package_does(reading):
    for text in [*HOSTILE, novels.read_text("held out")[:20_000]]:
        assert reading("(text) => model.encode(text)", text) == TOKENIZER.encode(text).tolist(), repr(text)


def test_what_cannot_be_read_gets_a_sentence_and_nothing_is_lost(blank):
    page = blank(NovelReader(TEXTS))
    before = page.locator(".attn-tokens").inner_text()
    for text in ("", " \n "):
        write(page, text)
        assert page.locator(".attn-problem").inner_text() == "There is no token to read."
        assert page.locator("textarea").input_value() == text
        assert page.locator(".attn-tokens").inner_text() == before
    write(page, "<b>Emma</b> 日本")
    assert page.locator(".attn-problem").inner_text() == ""
    read = page.locator(".attn-tokens").inner_text().replace("\n", "")
    assert read == "\ufffdb\ufffdEmma\ufffd\ufffdb\ufffd·\ufffd\ufffd"
    assert "7 of them, shown as \ufffd, stand for characters" in page.locator(".attn-outcome").inner_text()
    write(page, "Emma")
    assert page.locator(".attn-outcome").inner_text() == "One token: nothing to be judged by yet."


def test_a_long_text_is_kept_and_its_last_tokens_are_read(blank):
    page = blank(NovelReader(TEXTS))
    write(page, "very " * 500)
    assert page.locator(".attn-token").count() == 116
    assert page.locator(".attn-forgotten").inner_text().split() == ["very"] * 384
    assert "The first 384, in grey, are no longer read" in page.locator(".attn-outcome").inner_text()
    last = page.locator(".attn-token").last
    assert last.get_attribute("aria-pressed") == "true"
    page.locator(".attn-token").first.click()
    press(page, "Head L1H1: show where it looks")
    assert page.locator(".attn-token").first.get_attribute("aria-pressed") == "true"


def test_it_writes_on_past_what_it_can_read_until_it_is_stopped_or_the_reader_does_something_else(blank):
    tokens = TOKENIZER.encode(novels.read_text("held out")[:2000])[:120].tolist()
    page = blank(NovelReader(TEXTS, tokens=tokens))
    page.evaluate("Math.random = () => 0.5")
    press(page, "▶ Write on")
    page.wait_for_function("document.querySelector('.attn-forgotten').textContent !== ''")
    page.get_by_role("button", name="❚❚ Stop").click()
    said = page.locator(".attn-outcome").inner_text()
    page.wait_for_timeout(300)
    assert page.locator(".attn-outcome").inner_text() == said and "The first 32, in grey" in said
    figure = NovelReader(TEXTS, tokens=tokens)
    while len(figure.tokens) < 128:
        heights = np.cumsum(softmax(run(figure)[-1].astype(float)))
        with figure.hold_trait_notifications():
            figure.tokens, figure.token = [*figure.tokens, int(np.sum(heights <= 0.5))], len(figure.tokens)
    written = page.locator(".attn-token").all_inner_texts()
    assert written[88:96] == [visible(token) for token in figure.tokens[120:]]
    press(page, "▶ Write on")
    press(page, "Start again")
    page.get_by_role("button", name="▶ Write on").wait_for()
    page.wait_for_timeout(200)
    assert page.locator(".attn-token").count() == len(tokens)


def test_a_token_is_drawn_by_its_share(blank):
    page = blank(NovelReader(TEXTS))
    heights = np.cumsum(softmax(run(NovelReader(TEXTS))[-1].astype(float)))
    for chance in (0, 0.9999999):
        unfold(page)
        page.evaluate("chance => (Math.random = () => chance)", chance)
        press(page, "Draw one")
        assert page.locator(".attn-token").last.inner_text() == visible(int(np.sum(heights <= chance)))
        press(page, "Start again")


def test_the_model_comes_on_request_with_its_size_said(unloaded):
    page = unloaded(NovelReader(TEXTS))
    page.evaluate(
        """() => {
          window.seen = [];
          const bar = document.querySelector("progress");
          new MutationObserver(() => seen.push(bar.value)).observe(bar, { attributes: true });
        }"""
    )
    press(page, "Load the model (1.1 MB)")
    page.locator(".attn-token").first.wait_for()
    assert page.evaluate("seen").count(1) == 1 and len(page.evaluate("seen")) >= PARTS


def test_the_model_that_copies_can_be_chosen_and_comes_then(unloaded):
    page = unloaded(NovelReader(TEXTS))
    page.locator(".attn-load").click()
    page.locator(".attn-token").first.wait_for()
    assert not [address for address in page.requested if "copying-" in address]
    unfold(page)
    page.evaluate("let seed = 1; Math.random = () => (seed = (seed * 16807) % 2147483647) / 2147483647")
    press(page, "Random tokens, told twice")
    tokens = page.locator(".attn-token").all_inner_texts()
    assert tokens[:20] == tokens[20:]

    def loss():
        return float(re.search(r"loss is ([\d.]+) nats", page.locator(".attn-outcome").inner_text())[1])

    before, said = loss(), page.locator(".attn-outcome").inner_text()
    page.get_by_label("that also learned to copy").check()
    page.wait_for_function("said => document.querySelector('.attn-outcome').textContent !== said", arg=said)
    assert len([address for address in page.requested if "copying-" in address]) == PARTS
    assert loss() < 0.75 * before and page.locator(".attn-token").all_inner_texts() == tokens


def test_of_two_models_that_are_chosen_the_last_is_shown_though_the_first_comes_later(unloaded):
    page = unloaded(NovelReader(TEXTS))
    press(page, page.locator(".attn-load").inner_text())
    page.locator(".attn-tokens").wait_for()
    unfold(page)
    page.evaluate("""() => ["that also learned to copy", "that read six novels"].forEach((label) =>
      [...document.querySelectorAll("label")].find((one) => one.textContent.includes(label)).click())""")
    page.wait_for_function("window.attnNovels.copying?.parts.length === window.attnNovels.copying?.count")
    page.evaluate("() => new Promise((next) => setTimeout(next, 300))")
    assert page.get_by_label("that read six novels").is_checked()
    assert page.get_by_text("The model is on the way").count() == 0


def test_the_keyboard_walks_tokens_heads_and_choices(blank):
    page = blank(NovelReader(TEXTS))
    page.locator(".attn-token").first.focus()
    page.keyboard.press("Enter")
    assert page.locator(".attn-token").first.get_attribute("aria-pressed") == "true"
    assert page.locator(".attn-token").first.evaluate("node => node === document.activeElement")
    page.locator(".attn-looks").first.focus()
    for pressed in ("ArrowDown", "ArrowRight", "Space"):
        page.keyboard.press(pressed)
    assert page.locator(".attn-power").nth(4).get_attribute("aria-pressed") == "false"


LONG = (
    '"Ah! by the bye," then sinking his voice, and looking demure for the moment - "I hope Mr. Knightley is well?" '
    "He paused."
)


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800)])
def test_text_bars_and_heads_share_a_screen_and_the_rest_is_folded(blank, width, height):
    page = blank(NovelReader([LONG]), width=width)
    as_in_the_book(page)
    assert page.locator(".attn-explorable").bounding_box()["height"] <= height
    for shown in (".attn-token", ".attn-nexts", ".attn-power"):
        assert page.locator(shown).last.is_visible()
    assert page.locator("details[open], select:visible, textarea:visible, input:visible").count() == 0
    assert page.locator(".attn-one-mlp:visible, .attn-added:visible").count() == 0
    unfold(page)
    assert page.locator(".attn-one-mlp:visible").count() == 4 and page.locator(".attn-added:visible").count() == 20
    assert page.locator("select:visible").count() == 2 and page.locator("textarea").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_bars_keep_a_mark_of_what_they_were_and_stay_in_sight_on_a_narrow_page(blank):
    page = blank(NovelReader(TEXTS), width=390)
    assert page.locator(".attn-haunted").count() == 0
    power = page.locator(".attn-power").last
    power.click()
    rows = page.locator(".attn-nexts").evaluate_all(
        "rows => rows.map((row) => [row.querySelector('.attn-haunted').style.getPropertyValue('--attn-was'),"
        " row.querySelector('output').textContent.split('was ')[1]])"
    )
    assert len(rows) == 8 and all(f"{float(mark):.3f}" == said for mark, said in rows)
    page.evaluate("document.body.style.paddingBottom = '2000px'")
    power.evaluate("node => scrollTo(0, node.getBoundingClientRect().bottom + scrollY - innerHeight / 2)")
    assert page.locator(".attn-nexts").first.bounding_box()["y"] >= 0
    covered = power.evaluate(
        """node => {
          const { x, y, width, height } = node.getBoundingClientRect();
          return document.elementFromPoint(x + width / 2, y + height / 2) !== node;
        }"""
    )
    assert not covered, "the switch is beside the bars, not under them"
    press(page, "All heads on")
    assert page.locator(".attn-haunted").count() == 0


def test_python_sees_the_text_and_tells_what_comes_next():
    figure = NovelReader(TEXTS, off=["L4H3"])
    assert figure.text == TEXTS[0]
    shares = softmax(run(figure)[-1].astype(float))
    best = int(shares.argmax())
    told = f"Novel reader, heads L4H3 off: {TEXTS[0]!r}, and next: “{visible(best)}” {shares[best]:.2f}, "
    assert figure.describe().startswith(told)
