"""The figures of the built book in Firefox: alive, moved by the keyboard, and saying what they say in Chromium.

Playwright drives only a Firefox of its own making. Marionette is what any Firefox understands: each message is JSON,
with its length in front.
"""

import contextlib
import functools
import itertools
import json
import re
import shutil
import socket
import subprocess
import time

import pytest
from examples import EACH
from looks import LOOK
from test_book import CHAPTERS
from test_figures import ALIVE

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
LOOKS = f"[...document.querySelectorAll('[data-explorable] .attn-explorable')].map({LOOK})"
SLIDERS = "[data-explorable] .attn-explorable input[type=range]:enabled"
END = "\ue010"  # the key, as WebDriver writes it


@contextlib.contextmanager
def marionette(process):
    """Yield a function that has Firefox do something and returns its answer."""
    lines = (re.search(r"Listening on port (\d+)", line) for line in process.stdout)
    port = next((int(found[1]) for found in lines if found), None)
    assert port, "Firefox does not start"
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection, connection.makefile("rb") as incoming:

        def receive():
            length = itertools.takewhile(bytes.isdigit, iter(functools.partial(incoming.read, 1), None))
            return json.loads(incoming.read(int(b"".join(length))))

        numbers = itertools.count()

        def do(command, **parameters):
            message = json.dumps([0, next(numbers), command, parameters]).encode()
            connection.sendall(b"%d:%b" % (len(message), message))
            _, _, error, answer = receive()
            assert error is None, error
            return answer

        assert receive()["marionetteProtocol"] == 3
        do("WebDriver:NewSession")
        yield do


@pytest.fixture
def firefox(tmp_path):
    if not FIREFOX:
        pytest.skip("no Firefox on this machine (on Debian: apt install firefox-esr)")
    settings = {"marionette.port": 0, "ui.prefersReducedMotion": 1}  # a port that is free; nothing glides
    lines = [f'user_pref("{name}", {value});' for name, value in settings.items()]
    (tmp_path / "user.js").write_text("\n".join(lines), encoding="utf-8")
    command = [FIREFOX, "--headless", "--marionette", "--no-remote", "--profile", tmp_path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8") as process:
        try:
            with marionette(process) as do:
                yield do
        finally:
            process.kill()  # asked to quit, it may end before it answers


def run(firefox, script):
    return firefox("WebDriver:ExecuteScript", script=script, args=[])["value"]


def until(firefox, found):
    """Wait until an expression of JavaScript is true in Firefox."""
    for _ in range(600):
        if run(firefox, f"return {found}"):
            return
        time.sleep(0.2)
    raise AssertionError(f"in two minutes there was no {found}")


PASS = "document.querySelectorAll('.attn-guess .attn-link').forEach((pass) => pass.click())"  # and see the results
LOAD = "document.querySelectorAll('.attn-load').forEach((button) => button.click())"  # a model, and hover over nothing
UNFOLD = "document.querySelectorAll('.attn-side, .attn-explorable details').forEach((fold) => (fold.open = true))"


@pytest.fixture
def same_look(firefox):
    """Open the page of Chromium in Firefox as well, and say whether the figures look alike."""

    def compare(page):
        firefox("WebDriver:Navigate", url=page.url)
        for script in (PASS, LOAD):
            run(firefox, script)
            page.evaluate(script)
        page.wait_for_function("!document.querySelector('.attn-load')")
        until(firefox, "!document.querySelector('.attn-load')")
        run(firefox, UNFOLD)
        page.evaluate(UNFOLD)
        shown = run(firefox, f"return {LOOKS}")
        assert shown == page.evaluate(LOOKS) and len(shown) == page.locator("[data-explorable]").count() > 0
        for slider in page.locator(SLIDERS).all():
            slider.press("End")
        for slider in firefox("WebDriver:FindElements", using="css selector", value=SLIDERS):
            firefox("WebDriver:ElementSendKeys", id=next(iter(slider.values())), text=END)
        assert run(firefox, f"return {LOOKS}") == page.evaluate(LOOKS)

    return compare


def test_each_figure_is_alive_and_moved_by_the_keyboard_in_firefox_as_in_chromium(same_look, unloaded):
    same_look(unloaded(*EACH.values()))


def test_each_thing_that_can_be_held_is_dragged_by_the_mouse_in_firefox(firefox, unloaded):
    page = unloaded(*(EACH[name] for name in ALIVE))
    firefox("WebDriver:Navigate", url=page.url)
    ask = functools.partial(run, firefox)
    count = ask("return document.querySelectorAll('.attn-handle').length")
    assert count == page.locator(".attn-handle").count() > 15
    for number in range(count):
        target = f"document.querySelectorAll('.attn-handle')[{number}].querySelector('.attn-target')"
        ask(f"{target}.scrollIntoView({{ block: 'center' }})")
        said = f"return {target}.parentNode.getAttribute('aria-valuetext')"
        seen = [ask(said)]
        for way in (70, -140):  # it may be at an end
            x, y = ask(f"const b = {target}.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]")
            moves = [
                {"type": "pointerMove", "x": max(1, round(x) + by), "y": max(1, round(y) + by), "duration": 0}
                for by in (0, way)
            ]
            presses = [{"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp")]
            actions = [moves[0], presses[0], moves[1], presses[1]]
            mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}
            firefox("WebDriver:PerformActions", actions=[mouse])
            seen.append(ask(said))
        assert len(set(seen)) > 1, ask(f"return {target}.parentNode.ariaLabel")


def test_a_released_model_runs_in_firefox_from_a_file(firefox, with_model, unloaded):
    page = unloaded(EACH["smollm2_reader"])
    firefox("WebDriver:Navigate", url=page.url)
    button = "[...document.querySelectorAll('button')].find((one) => one.textContent.startsWith('Load SmolLM2'))"
    run(firefox, f"{button}.click()")
    until(firefox, "document.querySelectorAll('.attn-token').length")
    read = """[...document.querySelectorAll('textarea')].forEach((field) => {
        field.value = 'The capital of France is';
        field.closest('form').requestSubmit();
    })"""
    run(firefox, read)
    until(firefox, "document.querySelector('.attn-nexts')?.textContent.startsWith('·Paris0.77')")


def test_a_chapter_of_the_book_opened_from_a_file_is_alive_in_firefox_as_in_chromium(same_look, visit, book):
    [chapter] = [name for name in CHAPTERS if "/15_" in f"/{name}"]
    same_look(visit((book / chapter).as_uri(), until="load", reduced_motion="reduce"))
