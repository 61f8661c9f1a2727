"""SmolLM2 in a page: the same result as the package's, on the reader's own text, and with what is done to its heads."""

import functools
import gzip
import http.server
import json
import struct
import threading

import numpy as np
import pytest
from hands import choose, key, press
from numpy.testing import assert_allclose
from playwright.sync_api import Error
from test_bytepairs import BYTES, JOINS, MARKS, SAID

from attn import generate
from attn_course.figures import FOLDER, SmolLM2Reader, joined, without_comments
from attn_course.figures.smollm2_reader import answer, smollm2_scripts
from attn_course.released_tokens import ByteTokenizer
from attn_course.smollm2 import END, QUESTION, model_file
from book.kernel import make_kernel
from tests.chromium import find_chromium

PAIR = ["The capital of France is", "The capital of Japan is"]
LONG = "One morning the old man went down to the harbour, as he had done for forty years. " * 9
TEXTS = [  # one of each kind that is cut into tokens in another way
    "The cat sat on the mat because it was tired.",
    "Привет! Как дела, друг?\n\n  ΑΒΓ ﬁ ½ Ⅷ ٣٤ 12,345.67",
    "def add(a, b):\n\treturn a + b  # it's John's, isn't it? they'LL",
    "😀👩‍👩‍👧 한국어 今日は天気がいい\u3000ですね\xa0\x85 end \r\n \u200b",
    "<|im_start|>user\nHi<|im_end|>\n<|endoftext|> _x_ __y__ a_b",
    LONG,
]
NOTHING = {"off": [], "itself": [], "exchanged": [], "forbidden": []}


def asked(text, other="", **given):
    done = {**NOTHING, **{name: given.pop(name) for name in NOTHING if name in given}}
    plain = {"question": False, "written": [], "token": -1, "each": False, "light": False}
    return {"text": text, "other": other, "done": done, **plain, **given}


def reader(**changes):
    return SmolLM2Reader([PAIR, ["one two three one two", "one four three one four"]], **changes)


@pytest.fixture
def alive(with_model, unloaded):
    """Open a page from a folder, without a network, and load the model there."""

    def open_page(figure, **options):
        page = unloaded(figure, **options)
        press(page, "Load SmolLM2 (98 MB)")
        page.locator(".attn-token").first.wait_for(timeout=120_000)
        return page

    return open_page


@pytest.fixture
def ask(alive):
    page = alive(reader())

    def ask_worker(given):
        call = """async (given) => {
            const said = await attnExplorables.smollm2_reader.ask("ask", given);
            return { ...said, patterns: [...said.patterns], weights: [...said.weights] };
        }"""
        return page.evaluate(call, given)

    return ask_worker


def test_what_runs_in_pages_is_what_its_source_makes(tmp_path):
    pytest.importorskip("ziglang", reason="make compiler")
    make_kernel(tmp_path / "again.wasm")
    assert (tmp_path / "again.wasm").read_bytes() == (FOLDER / "engines" / "smollm2.wasm").read_bytes()


def test_the_page_finds_what_the_package_finds(ask, smollm2):
    heads = {"off": ["L24H5", "L1H2"], "itself": ["L12H1", "L3H9"], "forbidden": [["L24H5", 4, 3], ["L2H1", 4, 0]]}
    questions = [
        *(asked(text) for text in TEXTS),
        asked("Why is the sky blue?", question=True),
        asked(PAIR[0], written=[7_042, 30], token=2),
        *(asked(PAIR[0], **{name: done}) for name, done in heads.items()),
        asked(PAIR[0], PAIR[1], exchanged=["L24H5"], off=["L30H1"]),
        asked(PAIR[0], PAIR[1], each=True),
    ]
    for given in questions:
        found, (about, arrays) = ask(given), answer(*smollm2, **given)
        for name in ("tokens", "words", "gone", "shown", "isPlain"):
            assert found[name] == about[name]
        near = 1e-3 if len(about["tokens"]) <= 32 else 0.02  # long texts are multiplied in 16 bits
        assert_allclose(found["lost"][:-1], about["lost"][:-1], atol=near, rtol=near)
        assert found["best"][0][:2] == about["best"][0][:2]
        assert_allclose([share for *_, share, _ in found["best"]], [one[2] for one in about["best"]], atol=near)
        assert_allclose([was for *_, was in found["best"]], [one[3] for one in about["best"]], atol=near, rtol=near)
        assert_allclose(found["patterns"], arrays[0].ravel(), atol=near)
        n_seen = len(about["tokens"]) if given["token"] < 0 else given["token"] + 1
        assert_allclose(np.reshape(found["weights"], (270, n_seen)), arrays[1][:, :n_seen], atol=near)
        if given["each"]:
            assert found["each"]["answers"] == about["each"]["answers"] == [" Paris", " Tokyo"]
            for name in ("here", "there", "found"):
                assert_allclose(found["each"][name], about["each"][name], atol=5e-3)


def test_a_text_is_gone_on_with_as_if_it_had_been_read_at_once(ask, smollm2):
    tokens = [int(token) for token in smollm2[2].encode(LONG)[:140]]
    text, written = smollm2[2].decode(tokens[:100]), tokens[100:]
    assert ask(asked(text, light=True))["patterns"] == []
    step_by_step = [ask(asked(text, written=written[:n], light=True)) for n in (1, 2, 5, 26, 29, 35, 40)][-1]
    about, _ = answer(*smollm2, **asked(text, written=written))
    assert step_by_step["tokens"] == about["tokens"] and about["gone"] == 32
    assert_allclose(step_by_step["lost"][:-1], about["lost"][:-1], atol=0.03)


def test_a_stranger_makes_the_capital_of_france_tokyo(alive):
    page = alive(reader(), width=390, has_touch=True)
    first = page.locator(".attn-nexts").first
    first.get_by_text("0.773").wait_for()
    assert first.inner_text().split() == ["·Paris", "0.773"]
    page.get_by_role("button", name="Head L24H5").tap()
    page.get_by_text("hands over what it mixes in the second text", exact=True).tap()
    page.locator(".attn-nexts").first.get_by_text("·Tokyo").wait_for()
    assert page.locator(".attn-nexts").first.inner_text().split() == ["·Tokyo", "0.760,", "was", "0.000"]
    press(page, "All heads as they were")
    first.get_by_text("·Paris").wait_for()
    key(page, "Exchange each", "Space")
    page.get_by_text("Furthest: L24H5, 82 per cent.").wait_for(timeout=120_000)
    choose(page, "one two three one two")
    page.locator(".attn-token").nth(4).get_by_text("·two").wait_for()
    page.locator("textarea").fill("")
    press(page, "Read it")
    page.get_by_text("There is no token to read.").wait_for()
    page.locator("textarea").fill("Once upon a")
    press(page, "Read it")
    page.locator(".attn-nexts").first.get_by_text("·time").wait_for()
    press(page, "▶ Write on")
    page.get_by_role("button", name="▶ Write on").wait_for(timeout=120_000)
    words = page.locator(".attn-token").all_inner_texts()
    assert words[:4] == ["Once", "·upon", "·a", "·time"] and len(words) > 20
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth") and page.said == []


HEADER = {  # what is put before all that the file says, and what a page then tells of it
    ("llama.rope.scaling.factor", 6, struct.pack("<f", 2)): "is 2, and not as in SmolLM2-135M.",
    ("llama.rope.scale_linear", 6, struct.pack("<f", 2)): "is 2, and not as in SmolLM2-135M.",
    ("llama.rope.scaling.attn_factor", 6, struct.pack("<f", 2)): "is 2, and not as in SmolLM2-135M.",
    ("llama.attention.causal", 7, b"\0"): "is 0, and not as in SmolLM2-135M.",
    ("llama.rope.scale_linear", 12, struct.pack("<d", 32)): "is 32, and not as in SmolLM2-135M.",
}


def open_file(page, path):
    page.locator("input[type=file]").set_input_files(path)


def with_more(head, name, kind, value):
    """Return the beginning of a GGUF file that says one thing more, first of all."""
    version, n_arrays, n_said = struct.unpack_from("<IQQ", head, 4)
    said = struct.pack("<Q", len(name)) + name.encode() + struct.pack("<I", kind) + value
    return head[:4] + struct.pack("<IQQ", version, n_arrays, n_said + 1) + said + head[24:]


def test_what_a_wrong_a_cut_and_a_rewritten_file_says_is_told_and_the_page_lives(with_model, unloaded, tmp_path):
    page, path, file = unloaded(reader()), tmp_path / "model.gguf", model_file()
    page.locator("summary").click()
    head = file.read_bytes()[:3_000_000]
    layers, groups, of = b"llama.block_count", b"llama.attention.head_count_kv", b"blk.0.attn_q.weight"
    sizes = struct.pack("<IQQ", 2, 576, 576)
    changed = [
        ("This file holds ", layers + struct.pack("<II", 4, 30), layers + struct.pack("<II", 4, 31)),
        ("This file holds ", groups + struct.pack("<II", 4, 3), groups + struct.pack("<IIQ30I", 9, 4, 30, *[3] * 30)),
        ("blk.0.attn_q.weight is missing, and", of, of.replace(b"g", b"_")),
        ("blk.0.attn_q.weight is 576,576 of type 2, and", of + sizes + b"\3\0\0\0", of + sizes + b"\2\0\0\0"),
    ]
    assert all(old in head for _, old, _ in changed)
    files = [(told, head.replace(old, new, 1)) for told, old, new in changed]
    files += [("The file is not whole.", head), ("The file is not whole.", head[:20_000])]
    files += [(f"{name} {told}", with_more(head, name, *rest)) for (name, *rest), told in HEADER.items()]
    for told, content in files:
        path.write_bytes(content)
        open_file(page, path)
        page.get_by_text(told).wait_for()
        open_file(page, FOLDER / "common.js")
        page.get_by_text("This file is not of the kind GGUF.").wait_for()
    open_file(page, file)
    page.locator(".attn-nexts").first.get_by_text("0.773").wait_for(timeout=120_000)


def test_a_file_with_another_alignment_and_longer_numbers_is_the_same_model(with_model, unloaded, tmp_path):
    gguf, page, content = pytest.importorskip("gguf"), unloaded(reader()), model_file().read_bytes()
    file = gguf.GGUFReader(model_file())
    last = file.tensors[-1].field
    head = content[: last.offset + sum(part.nbytes for part in last.parts)]
    head = with_more(head, "general.alignment", 4, b"\x80\0\0\0")
    layers = b"llama.block_count"
    head = head.replace(layers + struct.pack("<II", 4, 30), layers + struct.pack("<IQ", 10, 30))
    (tmp_path / "model.gguf").write_bytes(head + b"\0" * (-len(head) % 128) + content[file.data_offset :])
    page.locator("summary").click()
    open_file(page, tmp_path / "model.gguf")
    page.locator(".attn-nexts").first.get_by_text("0.773").wait_for(timeout=120_000)


@pytest.mark.parametrize("joins", [JOINS, [("h", "e"), *JOINS]])  # in the second, "t" and "he" stay two tokens
@pytest.mark.parametrize("marks", [[], MARKS])
def test_a_page_cuts_a_text_into_bytes_where_python_does(marks, joins, unloaded):
    words = [*BYTES, *map("".join, joins), *marks]
    ours = ByteTokenizer(words, joins, marks)
    kinds = [4 if word == "<é>" else 3 if word in marks else 1 for word in words]
    source = joined(FOLDER / "engines/smollm2.js")
    call = f"""([said, texts]) => {{
        const self = {{}};
        const byteTokenizer = (() => {{ {source}; return byteTokenizer; }})();
        const {{ encode, decode }} = byteTokenizer(said);
        return texts.map((text) => [encode(text), decode(encode(text))]);
    }}"""
    page = unloaded()

    def cut(texts, *more):
        said = {"tokens": words, "token_type": kinds, "merges": [" ".join(pair) for pair in [*joins, *more]]}
        return page.evaluate(call, [{f"tokenizer.ggml.{name}": it for name, it in said.items()}, texts])

    texts = [*SAID, "the\x04 ½🙂"]
    assert cut(texts) == [[ours.encode(text).tolist(), ours.decode(ours.encode(text))] for text in texts]
    for pair in [("x", "y"), ("t", "h")]:
        with pytest.raises(Error, match=f"“{' '.join(pair)}” makes no later token"):
            cut([], pair)


# --- while it works -----------------------------------------------------------------------------------

ASK = """([text, then]) => {
  const field = document.querySelector("textarea"), form = field.form;
  field.value = text;
  form.requestSubmit();
  if (then) [...document.querySelectorAll("button")].find((one) => one.textContent.startsWith(then)).click();
}"""


def test_what_is_written_goes_on_with_what_was_asked_last(alive, smollm2):
    page, (params, config, tokenizer) = alive(reader()), smollm2
    page.locator(".attn-nexts").first.get_by_text("0.773").wait_for()
    page.get_by_text("a question to the assistant").click()
    page.evaluate(ASK, ["What is the capital of Japan?", "▶ Write on"])
    page.get_by_role("button", name="▶ Write on").wait_for(timeout=120_000)
    tokens = tokenizer.encode(QUESTION.format("What is the capital of Japan?"))
    rest = generate(params, config, tokens, 20, stop=END)
    written = "".join(page.locator(".attn-token").all_inner_texts()).replace("·", " ").replace("¶", "\n")
    assert written.endswith(tokenizer.decode(rest[: rest.tolist().index(END, len(tokens))])[-30:])


def test_a_bar_that_is_pressed_while_the_model_reads_writes_nothing_and_another_text_ends_the_writing(alive):
    page = alive(reader())
    page.locator(".attn-nexts").first.get_by_text("0.773").wait_for()
    page.evaluate(ASK, ["Once upon a", "·Paris"])
    page.locator(".attn-nexts").first.get_by_text("·time").wait_for()
    assert page.locator(".attn-token").all_inner_texts() == ["Once", "·upon", "·a"]
    press(page, "▶ Write on")
    page.locator(".attn-token").nth(6).wait_for()
    page.evaluate(ASK, ["The capital of Japan is", ""])
    page.get_by_role("button", name="▶ Write on").wait_for()
    page.locator(".attn-nexts").first.get_by_text("·Tokyo").wait_for()
    assert page.locator(".attn-token").all_inner_texts() == ["The", "·capital", "·of", "·Japan", "·is"]
    assert page.said == []


def test_over_http_the_model_comes_once_and_what_was_kept_of_another_file_is_forgotten(
    browser, with_model, tmp_path, monkeypatch
):
    monkeypatch.setattr(http.server.SimpleHTTPRequestHandler, "log_message", lambda *_: None)
    figure = reader()._repr_mimebundle_()[0]["text/html"]
    html = f"<!doctype html><meta charset=utf-8><main>{figure}</main><script defer src=explorables.js></script>"
    (with_model / "kept.html").write_text(html, encoding="utf-8")
    files = functools.partial(http.server.SimpleHTTPRequestHandler, directory=with_model)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # A profile on the disk, as a reader has one: in memory a browser that is short of it may drop what it keeps.
    start = functools.partial(browser.browser_type.launch_persistent_context, tmp_path, executable_path=find_chromium())
    context, kept = start(args=["--no-sandbox"]), "caches.open('attention-worked-out')"

    def parts_that_come():
        asked, page = [], context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"http://127.0.0.1:{server.server_port}/kept.html")
        press(page, "Load SmolLM2 (98 MB)")
        page.locator(".attn-token").first.wait_for(timeout=120_000)
        size = f"{kept}.then((store) => store.match('smollm2')).then((one) => one?.blob()).then((blob) => blob?.size)"
        page.wait_for_function(f"{size}.then((size) => size === window.attnSmollm2.size)", timeout=60_000)
        return page, sum("/smollm2/" in url for url in asked)

    try:
        page, came = parts_that_come()
        assert came == page.evaluate("window.attnSmollm2.parts") > 30
        page, came = parts_that_come()
        assert came == 0
        page.evaluate(f"{kept}.then((store) => store.put('smollm2', new Response('another')))")
        page, came = parts_that_come()
        assert came > 30
    finally:
        context.close()
        server.shutdown()
        server.server_close()


def test_a_book_without_the_model_says_so(unloaded, beside, tmp_path):
    page = unloaded(reader())
    if (beside / "smollm2.js").exists():
        pytest.skip("the model is there")
    press(page, "Load SmolLM2 (98 MB)")
    page.get_by_text("Beside the pages of the book, the folder _static should hold smollm2.js.").wait_for()
    nothing = "window.attnSmollm2 = { source: '', wasm: '', size: 0, parts: 0 };"
    (beside / "smollm2.js").write_text(nothing, encoding="utf-8")
    press(page, "Load SmolLM2 (98 MB)")
    page.get_by_text("This copy of the book does not hold the model. Choose its file.").wait_for()
    (beside / "smollm2.js").unlink()


# --- the Python side -------------------------------------------------------------------------------------------------


def test_in_jupyterlab_the_kernel_answers(smollm2, monkeypatch):
    sent = []
    figure = reader()
    monkeypatch.setattr(figure, "send", lambda said, buffers: sent.append((said, buffers)))
    figure._hear(figure, {"ask": asked(PAIR[0], PAIR[1], exchanged=["L24H5"]), "number": 7}, [])
    figure._hear(figure, {"ask": asked("", PAIR[1]), "number": 8}, [])
    (said, (patterns, _)), (refused, nothing) = sent
    assert said["number"] == 7 and said["best"][0][1] == " Tokyo" and len(patterns) == 4 * 270 * 15
    assert refused == {"number": 8, "problem": "There is no token to read."} and nothing == []
    assert json.dumps(said)


def test_all_code_that_runs_the_model_is_small():
    name, text = next(iter(smollm2_scripts(without_comments)))
    assert name == "smollm2.js" and len(gzip.compress(text.encode())) < 10_000
