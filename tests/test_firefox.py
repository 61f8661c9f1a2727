"""The figures of the built book in Firefox: alive, moved by the keyboard, and saying what they say in Chromium.

Playwright drives only a Firefox of its own making. Marionette is what any Firefox understands: each message is JSON,
with its length in front.
"""

import contextlib
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
            return json.loads(incoming.read(int(b"".join(iter(lambda: incoming.read(1), b":")))))

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
        do("Marionette:Quit", flags=["eForceQuit"])


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
        except BaseException:
            process.kill()
            raise


PASS = """document.querySelectorAll(".attn-guess .attn-link").forEach((pass) => pass.click())"""  # and see the results


@pytest.fixture
def same_look(firefox):
    """Open the page of Chromium in Firefox as well, and say whether the figures look alike."""

    def looks():
        return firefox("WebDriver:ExecuteScript", script=f"return {LOOKS}", args=[])["value"]

    def found(selector):
        nodes = firefox("WebDriver:FindElements", using="css selector", value=selector)
        return [next(iter(node.values())) for node in nodes]

    def compare(page):
        firefox("WebDriver:Navigate", url=page.url)
        unfold = "document.querySelectorAll('details.attn-side').forEach((side) => (side.open = true))"
        firefox("WebDriver:ExecuteScript", script=unfold, args=[])
        firefox("WebDriver:ExecuteScript", script=PASS, args=[])
        page.evaluate(PASS)
        for button in page.locator(".attn-load").element_handles():  # of a figure whose model comes on request
            button.click()
            button.wait_for_element_state("hidden")
        load = "document.querySelectorAll('.attn-load').forEach((button) => button.click())"  # the pointer stays away
        firefox("WebDriver:ExecuteScript", script=load, args=[])
        for _ in range(200):
            if not found(".attn-load"):
                break
            time.sleep(0.1)
        unfold = "document.querySelectorAll('.attn-explorable details').forEach((fold) => (fold.open = true))"
        firefox("WebDriver:ExecuteScript", script=unfold, args=[])
        page.evaluate(unfold)
        assert looks() == page.evaluate(LOOKS)
        assert len(looks()) == page.locator("[data-explorable]").count() > 0
        for slider in page.locator(SLIDERS).all():
            slider.press("End")
        for slider in found(SLIDERS):
            firefox("WebDriver:ElementSendKeys", id=slider, text=END)
        assert looks() == page.evaluate(LOOKS)

    return compare


def test_each_figure_is_alive_and_moved_by_the_keyboard_in_firefox_as_in_chromium(same_look, unloaded):
    same_look(unloaded(*EACH.values()))


def test_each_thing_that_can_be_held_is_dragged_by_the_mouse_in_firefox(firefox, unloaded):
    page = unloaded(*(EACH[name] for name in ALIVE))
    firefox("WebDriver:Navigate", url=page.url)

    def ask(script):
        return firefox("WebDriver:ExecuteScript", script=script, args=[])["value"]

    count = ask("return document.querySelectorAll('.attn-handle').length")
    assert count == page.locator(".attn-handle").count() > 25
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

    def until(found):
        for _ in range(600):
            said = firefox("WebDriver:ExecuteScript", script=f"return {found}", args=[])["value"]
            if said:
                return said
            time.sleep(0.2)
        raise AssertionError(f"in two minutes there was no {found}")

    button = "[...document.querySelectorAll('button')].find((one) => one.textContent.startsWith('Load SmolLM2'))"
    firefox("WebDriver:ExecuteScript", script=f"{button}.click()", args=[])
    until("document.querySelectorAll('.attn-token').length")
    read = """[...document.querySelectorAll('textarea')].forEach((field) => {
        field.value = 'The capital of France is';
        field.closest('form').requestSubmit();
    })"""
    firefox("WebDriver:ExecuteScript", script=read, args=[])
    shares = "[...document.querySelectorAll('.attn-nexts')].map((row) => row.textContent)"
    until(f"{shares}[0]?.startsWith('·Paris0.77')")
    label = "[...document.querySelectorAll('label')].find((one) => one.textContent.startsWith('hands over'))"
    firefox("WebDriver:ExecuteScript", script=f"{label}.click()", args=[])
    second = """const field = document.querySelector('.attn-second input');
        field.value = 'The capital of Japan is';
        field.dispatchEvent(new Event('change'));"""
    firefox("WebDriver:ExecuteScript", script=second, args=[])
    until(f"{shares}[0]?.startsWith('·Tokyo0.76')")


def test_a_chapter_of_the_book_opened_from_a_file_is_alive_in_firefox_as_in_chromium(same_look, visit, book):
    [chapter] = [name for name in CHAPTERS if "/15_" in f"/{name}"]
    same_look(visit((book / chapter).as_uri(), until="load", reduced_motion="reduce"))
