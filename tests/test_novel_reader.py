"""The novel reader: the model in the page computes what the package computes, and the reader's hands move it."""

import re

import numpy as np
import pytest
import traitlets
from hands import press
from looks import shown
from numpy.testing import assert_allclose

from attn import Trace, decoder, softmax, switch_off
from attn.course import novels
from attn.figures import NovelReader, book_script, read_source
from attn.figures.novel_reader import PARTS, model_scripts
from attn.layers import layer_norm, unembedding

TEXTS = ['"My dear Mr. Bennet," said', "It is a <b>truth</b> universally acknowledged,"]
PARAMS, TOKENIZER, CONFIG = novels.read_model(), novels.read_tokenizer(), novels.CONFIG
HEADS = [f"{layer}.{head}" for layer in range(1, 5) for head in range(4)]


@pytest.fixture
def beside(tmp_path):
    """A folder with the scripts of the book."""
    for name, text in [("explorables.js", book_script()), *model_scripts()]:
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def unloaded(visit, beside):
    """Open a page of nothing but the figure, as a page of the book would hold it."""

    def open_page(figure, **options):
        body = figure._repr_mimebundle_()[0]["text/html"]
        style = f"<meta charset=utf-8><style>{read_source('figures.css')}</style>"
        (beside / "page.html").write_text(
            f"<!doctype html>{style}{body}<script defer src=explorables.js></script>", encoding="utf-8"
        )
        return visit((beside / "page.html").as_uri(), offline=True, until="load", **options)

    return open_page


@pytest.fixture
def alive(unloaded):
    """Open such a page, and bring the model."""

    def open_page(figure, **options):
        page = unloaded(figure, **options)
        page.locator(".attn-load").click()
        page.locator(".attn-token").first.wait_for()
        return page

    return open_page


def visible(token):
    return TOKENIZER.words[token].replace(" ", "·").replace("\n", "¶")


LOOK = """(root) => {
  const list = (selector, one) => [...root.querySelectorAll(selector)].map(one);
  const text = (node) => node.textContent, pressed = (node) => node.getAttribute("aria-pressed") === "true";
  const shade = (node) => Number(Number(node.style.getPropertyValue("--attn-w")).toFixed(3));
  const heights = (path) =>
    [...path.getAttribute("d").matchAll(/M[\\d.]+,20h[\\d.]+v(-?[\\d.]+)h/g)].map((at) => -at[1] / 20);
  return {
    tokens: list(".attn-token", (node) =>
      [text(node), shade(node), pressed(node), node.classList.contains("attn-later")]),
    next: list(".attn-nexts", (row) => [text(row.querySelector("button")), text(row.querySelector("output")),
      shade(row.querySelector(".attn-bar")), row.classList.contains("attn-chosen")]),
    title: list("p.attn-head", text),
    heads: list(".attn-looks", (node) =>
      [text(node.querySelector("span")), pressed(node), heights(node.querySelector("path"))]),
    on: list(".attn-power", (node) => [text(node), pressed(node)]),
    early: list(".attn-early tr", (row) => [...row.cells].map(text)),
    told: list(".attn-outcome", text), says: list(".attn-detail", text), refused: list(".attn-problem", text),
    temperature: list("input[type=range]", (node) => Number(node.value).toFixed(2)),
    disabled: list("button:disabled", text),
  };
}"""


def run(figure, off):
    with Trace() as trace:
        logits = decoder(
            PARAMS, CONFIG, figure.tokens, interventions=[switch_off(*map(int, h.split("."))) for h in off]
        )
    lost = -np.log(softmax(logits[:-1].astype(float))[np.arange(len(logits) - 1), figure.tokens[1:]])
    return logits.astype(float), trace, lost


def look_of(figure):
    """Return what `LOOK` must find in the page."""
    (logits, trace, lost), (with_all, _, lost_with_all) = run(figure, figure.off), run(figure, [])
    tokens, at, off = figure.tokens, figure.token, figure.off
    weights = {h: trace.layers[int(h[0]) - 1].attention.weights[int(h[2]), at] for h in HEADS}
    weights |= {h: np.zeros(len(tokens)) for h in off}
    now, before = (softmax(one[at] / figure.temperature) for one in (logits, with_all))
    best = np.argsort(-now, kind="stable")[:8]
    last = at == len(tokens) - 1
    told = f"{len(tokens)} tokens. Their loss is {shown(lost.mean())} nats a token"
    told += f", with all heads on {shown(lost_with_all.mean())}." if off else "."
    if 0 in tokens:
        told += f" {tokens.count(0)} of them, shown as \ufffd, stand for characters that the novels do not have."
    chosen = weights[figure.head]
    three = ", ".join(f"“{visible(tokens[j])}” {shown(chosen[j])}" for j in np.argsort(-chosen, kind="stable")[:3])
    says = f"Head {figure.head}, asked by “{visible(tokens[at])}”, looks at {three}."
    if figure.head in off:
        says = f"Head {figure.head} is off: it writes nothing."
    streams = [trace.embedded[0], *(layer.after_mlp for layer in trace.layers)]
    names = ["after embedding", *(f"after layer {i}" for i in range(1, 5))]
    early = []
    for name, stream in zip(names, streams):
        shares = softmax(unembedding(layer_norm(stream[at], **PARAMS["norm"]), PARAMS["embedding"]).astype(float))
        top = np.argsort(-shares, kind="stable")[:3]
        early.append([name, "   ".join(f"{visible(t)} {shown(shares[t])}" for t in top)])
    was = "" if last else f", which was “{visible(tokens[at + 1])}”"
    full = len(tokens) == 128
    disabled = [] if last and not full else [visible(t) for t in best] + ["Take the likeliest", "Draw the next token"]
    return {
        "tokens": [[visible(t), round(float(w), 3), i == at, i > at] for i, (t, w) in enumerate(zip(tokens, chosen))],
        "next": [
            [
                visible(t),
                f"{shown(now[t], 3)}, was {shown(before[t], 3)}" if off else shown(now[t], 3),
                round(float(now[t]), 3),
                not last and t == tokens[at + 1],
            ]
            for t in best
        ],
        "title": [f"The next token after “{visible(tokens[at])}”{was}"],
        "heads": [[h, h == figure.head, weights[h].round(3).tolist()] for h in HEADS],
        "on": [["off" if h in off else "on", h not in off] for h in HEADS],
        "early": early,
        "told": [told],
        "says": [says],
        "refused": [""],
        "temperature": [f"{figure.temperature:.2f}"],
        "disabled": disabled + ([] if off else ["All heads on"]),
    }


def assert_looks_like(page, figure):
    found, expected = page.locator(".attn-explorable").evaluate(LOOK), look_of(figure)
    for part in ("tokens", "next", "heads"):  # numbers beside text
        for one, other in zip(found[part], expected[part], strict=True):
            for a, b in zip(one, other, strict=True):
                if isinstance(b, float | list):
                    assert_allclose(a, b, atol=0.0011, err_msg=part)
                else:
                    assert same_but_for_rounding(a, b), (part, a, b)
    for part in expected.keys() - {"tokens", "next", "heads"}:
        for a, b in zip(np.ravel(found[part]), np.ravel(expected[part]), strict=True):
            assert same_but_for_rounding(str(a), str(b)), (part, a, b)


def same_but_for_rounding(a, b):
    """Say whether texts are equal, but for numbers that differ by no more than 0.01."""
    if a == b:
        return True
    numbers = [re.findall(r"\d+\.\d+", str(text)) for text in (a, b)]
    words = [re.sub(r"\d+\.\d+", "", str(text)) for text in (a, b)]
    return words[0] == words[1] and np.allclose(*(np.array(part, float) for part in numbers), atol=0.0101)


def token(place):
    return lambda page: page.locator(".attn-token").nth(place).click()


def write(text):
    def give(page):
        page.locator("textarea").fill(text)
        press("Read it")(page)

    return give


def encoded(text):
    tokens = TOKENIZER.encode(text).tolist()
    return {"tokens": tokens, "token": len(tokens) - 1}


def test_the_figure_shows_what_the_package_computes_after_each_move(alive):
    figure = NovelReader(TEXTS)
    page = alive(figure)
    assert_looks_like(page, figure)

    def first_of(figure):
        logits, *_ = run(figure, figure.off)
        return {"tokens": [*figure.tokens, int(logits[-1].argmax())], "token": len(figure.tokens)}

    moves = [
        (token(3), lambda _: {"token": 3}),
        (press("Head 2.1: show where it looks"), lambda _: {"head": "2.1"}),
        (press("Head 1.2 writes"), lambda _: {"off": ["1.2"], "head": "1.2"}),
        (press("Head 4.2 writes"), lambda _: {"off": ["1.2", "4.2"], "head": "4.2"}),
        (press("Head 2.0: show where it looks"), lambda _: {"head": "2.0"}),
        (token(len(figure.tokens) - 1), lambda now: {"token": len(now.tokens) - 1}),
        (press("Take the likeliest"), first_of),
        (press("Take the likeliest"), first_of),
        (lambda page: page.locator(".attn-next").first.click(), first_of),
        (press("Head 1.2 writes"), lambda _: {"off": ["4.2"], "head": "1.2"}),
        (press("All heads on"), lambda _: {"off": []}),
        (lambda page: page.locator("input[type=range]").press("Home"), lambda _: {"temperature": 0.1}),
        (lambda page: page.locator("select").select_option("1"), lambda _: encoded(TEXTS[1])),
        (write('Café “Sun”\n"Yes'), lambda _: encoded('Café "Sun"\n"Yes')),
    ]
    for number, (move, change) in enumerate(moves):
        move(page)
        with figure.hold_trait_notifications():
            for name, value in change(figure).items():
                setattr(figure, name, value)
        try:
            assert_looks_like(page, figure)
        except AssertionError as error:
            raise AssertionError(f"after move {number}: {error}") from error
    press("Start again")(page)
    assert_looks_like(page, NovelReader(TEXTS))
    assert page.said == []


MODEL = """() => {
  const { modelOf, bytesOf } = attnExplorables.novel_reader;
  const bytes = attnNovels.parts.map(bytesOf), all = new Uint8Array(bytes.reduce((n, part) => n + part.length, 0));
  bytes.reduce((place, part) => (all.set(part, place), place + part.length), 0);
  window.model = modelOf(attnNovels.about, all);
}"""


def test_the_page_reads_held_out_text_as_the_package_does(alive):
    page, rows = alive(NovelReader(TEXTS)), novels.held_out(TOKENIZER).rows[::43, :20]
    page.evaluate(MODEL)
    agreed = []
    for row in rows:
        found = page.evaluate("(row) => attnExplorables.novel_reader.readTokens(model, row, '', null)", row.tolist())
        with Trace() as trace:
            logits = decoder(PARAMS, CONFIG, row)
        for head in HEADS:
            weights = trace.layers[int(head[0]) - 1].attention.weights[int(head[2])]
            assert_allclose(found["weights"][head], weights, atol=1e-4)
        agreed += (np.argmax(found["logits"], axis=-1) == logits.argmax(axis=-1)).tolist()
    assert len(agreed) >= 200 and np.mean(agreed) > 0.99


@pytest.mark.parametrize("off", ["", "1.1 4.2"])
def test_what_is_read_token_by_token_is_what_is_read_at_once(alive, off):
    page, row = alive(NovelReader(TEXTS)), novels.held_out(TOKENIZER).rows[3, :40].tolist()
    page.evaluate(MODEL)
    found = page.evaluate(
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


def test_the_page_cuts_text_as_the_package_does(alive):
    page = alive(NovelReader(TEXTS))
    page.evaluate(MODEL)
    for text in [*HOSTILE, novels.read_text("held out")[:20_000]]:
        assert page.evaluate("(text) => model.encode(text)", text) == TOKENIZER.encode(text).tolist(), repr(text)


def test_what_cannot_be_read_gets_a_sentence_and_nothing_is_lost(alive):
    page = alive(NovelReader(TEXTS))
    before = page.locator(".attn-tokens").inner_text()
    for text, sentence in [
        ("", "There is no token to read."),
        ("very " * 500, "These are 501 tokens; the model was trained on 128 at a time, and the figure takes no more."),
    ]:
        write(text)(page)
        assert page.locator(".attn-problem").inner_text() == sentence
        assert page.locator("textarea").input_value() == text
        assert page.locator(".attn-tokens").inner_text() == before
    write("<b>Emma</b> 日本")(page)
    assert page.locator(".attn-problem").inner_text() == ""
    assert (
        page.locator(".attn-tokens").inner_text().replace("\n", "")
        == "\ufffdb\ufffdEmma\ufffd\ufffdb\ufffd·\ufffd\ufffd"
    )
    assert "7 of them, shown as \ufffd, stand for characters" in page.locator(".attn-outcome").inner_text()
    write("Emma")(page)
    assert page.locator(".attn-outcome").inner_text() == "One token: nothing to be judged by yet."


def test_a_full_text_goes_no_further(alive):
    figure = NovelReader(TEXTS, tokens=TOKENIZER.encode(novels.read_text("held out")[:2000])[:127].tolist())
    page = alive(figure)
    press("Take the likeliest")(page)
    assert page.locator(".attn-token").count() == 128
    assert page.get_by_role("button", name="Take the likeliest").is_disabled()
    assert page.get_by_role("button", name="Draw the next token").is_disabled()


def test_a_token_is_drawn_by_its_share(alive):
    page = alive(NovelReader(TEXTS))
    for chance in (0, 0.5, 0.9999999):
        figure = NovelReader(TEXTS)
        page.evaluate("chance => (Math.random = () => chance)", chance)
        heights = np.cumsum(softmax(run(figure, [])[0][-1]))
        press("Draw the next token")(page)
        assert page.locator(".attn-token").last.inner_text() == visible(int(np.sum(heights <= chance)))
        press("Start again")(page)


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
          const bytes = Uint8Array.from([7, ...numbers]); // a view that does not begin where its buffer does
          listening["msg:custom"].forEach((listener) => listener(about, [new DataView(bytes.buffer, 1)]));
          await new Promise((resolve) => setTimeout(resolve));
          el.querySelector(".attn-token").click();
          return [did, [...el.querySelectorAll(".attn-token")].map((node) => node.textContent)];
        }""",
        [about, list(numbers), figure.state()],
    )
    assert found[0] == ['{"wanted":"model"}', "token", "save"]
    assert found[1] == [visible(token) for token in figure.tokens]


def test_the_keyboard_walks_tokens_heads_and_choices(alive):
    page = alive(NovelReader(TEXTS))
    page.locator(".attn-token").first.focus()
    page.keyboard.press("Enter")
    assert page.locator(".attn-token").first.get_attribute("aria-pressed") == "true"
    assert page.locator(".attn-token").first.evaluate("node => node === document.activeElement")
    page.locator(".attn-looks").first.focus()
    for pressed in ("ArrowDown", "ArrowRight", "Space"):
        page.keyboard.press(pressed)
    assert page.locator(".attn-power").nth(4).get_attribute("aria-pressed") == "false"


def test_what_changes_by_itself_is_spoken_and_what_scrolls_is_reached(unloaded, alive):
    assert unloaded(NovelReader(TEXTS)).locator("[role=status]").count() == 1
    page = alive(NovelReader(TEXTS))
    assert page.locator(".attn-detail[aria-live=polite], .attn-problem[role=status]").count() == 2
    for scrolls in page.locator(".attn-scroll").all():
        assert scrolls.evaluate("box => box.tabIndex === 0 && box.role === 'group' && !!box.ariaLabel")


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
    shares = softmax(run(figure, ["4.2"])[0][-1])
    best = int(shares.argmax())
    told = f'Novel reader, heads 4.2 off: {TEXTS[0]!r}, and next: "{TOKENIZER.words[best]}" {shares[best]:.2f}, '
    assert figure.describe().startswith(told)
