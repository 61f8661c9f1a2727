"""The novel reader: the model in the page computes what the package computes, and the reader's hands move it."""

import base64
import json
import re

import numpy as np
import pytest
import traitlets
from hands import press
from numpy.testing import assert_allclose

from attn import Trace, decoder, softmax, switch_off
from attn.course import novels
from attn.figures import NovelReader
from attn.figures.novel_reader import PARTS
from attn.layers import layer_norm, unembedding

TEXTS = ['"My dear Mr. Bennet," said', "It is a <b>truth</b> universally acknowledged,"]
PARAMS, TOKENIZER, CONFIG = novels.read_model(), novels.read_tokenizer(), novels.CONFIG
HEADS = [f"{layer}.{head}" for layer in range(1, 5) for head in range(4)]


def visible(token):
    return TOKENIZER.words[token].replace(" ", "·").replace("\n", "¶")


def run(figure, off):
    return decoder(PARAMS, CONFIG, figure.tokens, interventions=[switch_off(*map(int, h.split("."))) for h in off])


def write(page, text):
    page.locator("textarea").fill(text)
    press(page, "Read it")


MODEL = """() => {
  const { modelOf, bytesOf } = attnExplorables.novel_reader;
  const bytes = attnNovels.parts.map(bytesOf), all = new Uint8Array(bytes.reduce((n, part) => n + part.length, 0));
  bytes.reduce((place, part) => (all.set(part, place), place + part.length), 0);
  window.model = modelOf(attnNovels.about, all);
}"""


@pytest.fixture
def reading(blank):
    """Call JavaScript in a page that holds the model as `model`."""
    page = blank(NovelReader(TEXTS))
    page.evaluate(MODEL)

    def call(function, values):  # as text, since Playwright is slow with long arrays
        return json.loads(page.evaluate(f"(values) => JSON.stringify(({function})(values))", values))

    return call


def test_the_page_reads_held_out_text_as_the_package_does(reading):
    agreed = []
    for number, row in enumerate(novels.held_out(TOKENIZER).rows[::43, :20]):
        off = ["1.1", "4.2"] if number % 2 else []
        found = reading(
            """([row, off]) => {
              const { readTokens, readEarly } = attnExplorables.novel_reader;
              const read = readTokens(model, row, off, null);
              return { ...read, early: read.streams.map((rows) => readEarly(model, rows.at(-1))) };
            }""",
            [row.tolist(), " ".join(off)],
        )
        with Trace() as trace:
            logits = decoder(PARAMS, CONFIG, row, interventions=[switch_off(*map(int, h.split("."))) for h in off])
        for head in [one for one in HEADS if one not in off]:
            weights = trace.layers[int(head[0]) - 1].attention.weights[int(head[2])]
            assert_allclose(found["weights"][head], weights, atol=1e-4)
        lost = -np.log(softmax(logits[:-1].astype(float))[np.arange(len(row) - 1), row[1:]])
        assert_allclose(found["lost"], lost, atol=1e-3)
        agreed += (np.argmax(found["logits"], axis=-1) == logits.argmax(axis=-1)).tolist()
        streams = [trace.embedded[0], *(layer.after_mlp for layer in trace.layers)]
        ended = [unembedding(layer_norm(stream[-1], **PARAMS["norm"]), PARAMS["embedding"]) for stream in streams]
        assert_allclose(found["early"], ended, atol=0.01)
    assert len(agreed) >= 200 and np.mean(agreed) > 0.99


@pytest.mark.parametrize("off", ["", "1.1 4.2"])
def test_what_is_read_token_by_token_is_what_is_read_at_once(reading, off):
    row = novels.held_out(TOKENIZER).rows[3, :40].tolist()
    found = reading(
        """([row, off]) => {
          const { readTokens } = attnExplorables.novel_reader;
          const read = (done, n) => readTokens(model, row.slice(0, n), off, done);
          const stepwise = [3, 4, 5, 20, 21, 40].reduce(read, null);
          const anew = readTokens(model, [...row.slice(0, 3), row[4]], off, stepwise); // another text
          return [stepwise, readTokens(model, row, off, null), anew, readTokens(model, anew.tokens, off, null)];
        }""",
        [row, off],
    )
    for one, other in (found[:2], found[2:]):
        for part in ("logits", "streams", "lost"):
            assert_allclose(one[part], other[part], atol=1e-9)
        assert one["weights"].keys() == other["weights"].keys() == set(HEADS) - set(off.split())
        for head, weights in other["weights"].items():
            padded = [[*row, *[0] * (len(one["tokens"]) - len(row))] for row in one["weights"][head]]
            assert_allclose(padded, weights, atol=1e-9)


HOSTILE = [
    "",
    "\x00\t\r\x85\u2028",
    "<script>alert(1)</script>",
    "naïve Ünïcödé 日本語 👩‍👩‍👧",
    'a  b\n\n "c"12.5',
    "\U0001f600 x",
    " \n ",
]


def test_the_page_cuts_text_as_the_package_does(reading):
    for text in [*HOSTILE, novels.read_text("held out")[:20_000]]:
        assert reading("(text) => model.encode(text)", text) == TOKENIZER.encode(text).tolist(), repr(text)


def test_what_cannot_be_read_gets_a_sentence_and_nothing_is_lost(blank):
    page = blank(NovelReader(TEXTS))
    before = page.locator(".attn-tokens").inner_text()
    for text, sentence in [
        ("", "There is no token to read."),
        ("very " * 500, "These are 501 tokens; the model was trained on 128 at a time, and the figure takes no more."),
    ]:
        write(page, text)
        assert page.locator(".attn-problem").inner_text() == sentence
        assert page.locator("textarea").input_value() == text
        assert page.locator(".attn-tokens").inner_text() == before
    write(page, "<b>Emma</b> 日本")
    assert page.locator(".attn-problem").inner_text() == ""
    assert (
        page.locator(".attn-tokens").inner_text().replace("\n", "")
        == "\ufffdb\ufffdEmma\ufffd\ufffdb\ufffd·\ufffd\ufffd"
    )
    assert "7 of them, shown as \ufffd, stand for characters" in page.locator(".attn-outcome").inner_text()
    write(page, "Emma")
    assert page.locator(".attn-outcome").inner_text() == "One token: nothing to be judged by yet."


def test_a_full_text_goes_no_further(blank):
    figure = NovelReader(TEXTS, tokens=TOKENIZER.encode(novels.read_text("held out")[:2000])[:127].tolist())
    page = blank(figure)
    press(page, "Take the likeliest")
    assert page.locator(".attn-token").count() == 128
    assert page.get_by_role("button", name="Take the likeliest").is_disabled()
    assert page.get_by_role("button", name="Draw the next token").is_disabled()


def test_a_token_is_drawn_by_its_share(blank):
    page = blank(NovelReader(TEXTS))
    for chance in (0, 0.5, 0.9999999):
        figure = NovelReader(TEXTS)
        page.evaluate("chance => (Math.random = () => chance)", chance)
        heights = np.cumsum(softmax(run(figure, [])[-1].astype(float)))
        press(page, "Draw the next token")
        assert page.locator(".attn-token").last.inner_text() == visible(int(np.sum(heights <= chance)))
        press(page, "Start again")


def test_the_model_comes_on_request_with_its_size_said(unloaded):
    page = unloaded(NovelReader(TEXTS))
    assert not [address for address in page.requested if "novels" in address]
    button = page.locator(".attn-load")
    assert button.inner_text() == "Bring the model (1.1 MB)"
    page.evaluate(
        """() => {
          window.seen = [];
          const bar = document.querySelector("progress");
          new MutationObserver(() => seen.push(bar.value)).observe(bar, { attributes: true });
        }"""
    )
    button.click()
    page.locator(".attn-token").first.wait_for()
    assert page.evaluate("seen").count(1) == 1 and len(page.evaluate("seen")) >= PARTS
    assert [address.rpartition("/")[2] for address in page.requested if "novels-" in address] == [
        f"novels-{part}.js" for part in range(PARTS)
    ]


def test_a_model_that_is_not_there_is_told_and_may_be_tried_again(unloaded, beside):
    missing = beside / "novels-3.js"
    text = missing.read_bytes()
    missing.unlink()
    page = unloaded(NovelReader(TEXTS))
    page.locator(".attn-load").click()
    page.get_by_text("The model did not come.").wait_for()
    missing.write_bytes(text)
    page.locator(".attn-load").click()
    page.locator(".attn-token").first.wait_for()


def test_in_a_notebook_the_kernel_brings_the_model(unloaded):
    figure, sent = NovelReader(TEXTS), []
    figure.send = lambda about, buffers: sent.append((about, buffers))
    figure._handle_custom_msg({"wanted": "model"}, [])
    figure._handle_custom_msg({"wanted": "something else"}, [])
    ((about, (numbers,)),) = sent
    page = unloaded(NovelReader(["Emma"]))
    found = page.evaluate(
        """async ([about, numbers, state]) => {
          const did = [], listening = {};
          const model = {
            get: (name) => state[name], set: (name, value) => ((state[name] = value), did.push(name)),
            save_changes: () => did.push("save"), off: () => {},
            on: (event, listener) => ((listening[event] ??= []).push(listener)),
            send: (wanted) => did.push(JSON.stringify(wanted)),
          };
          const el = document.createElement("div");
          attnExplorables.novel_reader.render({ model, el });
          el.querySelector(".attn-load").click();
          const sent = attnExplorables.novel_reader.bytesOf(numbers), bytes = new Uint8Array(sent.length + 1);
          bytes.set(sent, 1); // a view that does not begin where its buffer does
          listening["msg:custom"].forEach((listener) => listener(about, [new DataView(bytes.buffer, 1)]));
          await new Promise((resolve) => setTimeout(resolve));
          el.querySelector(".attn-token").click();
          return [did, [...el.querySelectorAll(".attn-token")].map((node) => node.textContent)];
        }""",
        [about, base64.b64encode(numbers).decode(), figure.state()],
    )
    assert found[0] == ['{"wanted":"model"}', "token", "save"]
    assert found[1] == [visible(token) for token in figure.tokens]


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": []}, "the figure reads 1 to 128 tokens, but has 0"),
        ({"tokens": [1] * 129}, "the figure reads 1 to 128 tokens, but has 129"),
        ({"tokens": [1, 2048], "token": 0}, "tokens are from 0 to 2047, but reach from 1 to 2048"),
        ({"tokens": [1, 2], "token": 2}, "token must be from 0 to 1, but is 2"),
        ({"head": "5.0"}, "heads are 1.0 to 4.3, but there is 5.0"),
        ({"off": ["4.2", "0.1"]}, "heads are 1.0 to 4.3, but there is 0.1"),
        ({"temperature": 0.0}, "temperature must be from 0.1 to 2, but is 0.0"),
    ],
)
def test_what_does_not_fit_is_refused_in_python(change, message):
    with pytest.raises(traitlets.TraitError, match=re.escape(message)):
        NovelReader(TEXTS, **change)


def test_python_sees_the_text_and_tells_what_comes_next():
    figure = NovelReader(TEXTS, off=["4.2"])
    assert figure.text == TEXTS[0]
    shares = softmax(run(figure, ["4.2"])[-1].astype(float))
    best = int(shares.argmax())
    told = f'Novel reader, heads 4.2 off: {TEXTS[0]!r}, and next: "{TOKENIZER.words[best]}" {shares[best]:.2f}, '
    assert figure.describe().startswith(told)
