"""What the tests of the book share: the built book, a browser, and a page of it to visit."""

import functools
import gzip
import http.server
import importlib
import os
import shutil
import subprocess
import sys
import threading
from urllib.parse import unquote, urlsplit

import hypothesis
import matplotlib
import pytest

from attn.course.minilm import read_minilm
from attn.course.smollm2 import read_smollm2
from attn.threads import ONE_THREAD
from book import build
from book import execute as notebooks
from book.pdf import find_chromium

hypothesis.settings.register_profile("steady", deadline=None)  # no test may fail by the clock
hypothesis.settings.load_profile("steady")
# As where chapters are executed: no progress bar in an output, and one core for each kernel.
os.environ.update(TQDM_DISABLE="1", **ONE_THREAD)
matplotlib.use("Agg")  # here alone: in the environment, it would reach the kernels, whose figures stand in the page

CHROMIUM = find_chromium()
NEEDS = {  # the fixtures that mark a test which asks for them, and what such a test does
    "book": "reads the book as make book leaves it",
    "browser": "opens Chromium",
    "firefox": "opens Firefox",
    "kernel": "runs notebooks in a Jupyter kernel",
    "lab": "starts JupyterLab",
    "repository": "asks git, and makes what Binder makes",
    "small_book": "builds a small book",
}
SHOW_ALL = "try { localStorage.setItem('attention-worked-out: show all', 'yes') } catch { /* refused */ }"
UNFOLD = """addEventListener("DOMContentLoaded", () =>
  document.querySelectorAll("details.attn-side").forEach((side) => (side.open = true)))"""


def pytest_addoption(parser):
    told = "as the furthest family of processors: the quick chapters, or those that train for long; or all as each"
    parser.addoption("--kernels", choices=["quick", "long", "all"], default="quick", help=told)


def pytest_configure(config):
    for mark, meaning in {**NEEDS, "core": "does none of this"}.items():
        config.addinivalue_line("markers", f"{mark}: {meaning}")
    config.addinivalue_line("markers", "xdist_group(name): runs on one core with the others of the group")


def pytest_itemcollected(item):
    """Mark a test by what it asks for, so that no mark can be forgotten: `-m core`, `-m "not browser"`."""
    asked = getattr(item, "fixturenames", ())  # a doctest asks for nothing
    for mark in [name for name in NEEDS if name in asked] or ["core"]:
        item.add_marker(mark)
    if "lab" in asked:  # JupyterLab starts once; each other test runs on the core that is free
        item.add_marker(pytest.mark.xdist_group("lab"))


def pytest_collection_modifyitems(items):
    """Begin with what takes longest: the tests of JupyterLab, which share one core, and the chapters on the other."""
    longest = {"test_lab.py": 0, "test_kernels.py": 1}
    items.sort(key=lambda item: longest.get(item.path.name, len(longest)))


@pytest.fixture(scope="session")
def book():
    """The folder of the book as `make book` leaves it, every warning an error."""
    assert build.is_ready(), "the book is not up to date: run make book first"
    return build.PAGES


@pytest.fixture
def repository(tmp_path):
    """A copy of what the repository holds, and of nothing that lies beside it."""
    if not (build.ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("git tells what the repository holds, and this copy came without it")
    target = tmp_path / "repository"
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=build.ROOT, capture_output=True, encoding="utf-8", check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(build.ROOT / name, target / name)
    return target


@pytest.fixture(scope="session")
def kernel():
    """Execute a notebook as a build does, and return it with its outputs."""
    return notebooks.execute


def installed(take, *told):
    """Return what `take` finds installed; where it is not, what needs it is skipped, but not by CI."""
    try:
        return take(*told)
    except (ImportError, FileNotFoundError) as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def torch():
    return installed(importlib.import_module, "torch")  # by make torch, as these


@pytest.fixture(scope="session")
def transformers(torch):
    return installed(importlib.import_module, "transformers")


@pytest.fixture(scope="session")
def xllamacpp():
    return installed(importlib.import_module, "xllamacpp")


@pytest.fixture(scope="session")
def minilm():
    """Parameters, config and tokenizer of MiniLM; make models installs it."""
    return installed(read_minilm)


@pytest.fixture(scope="session")
def smollm2():
    """Parameters, config and tokenizer of SmolLM2; make models installs it."""
    return installed(read_smollm2)


@pytest.fixture(scope="session")
def browser():
    if not CHROMIUM:
        reason = "no Chromium on this machine (on Debian: apt install chromium)"
        required = os.environ.get("CI") and sys.platform == "linux"
        pytest.fail(reason) if required else pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        program = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-background-networking", "--disable-component-update"],
        )
        yield program
        program.close()


@pytest.fixture(scope="session")
def address(book):
    """The book's address on a server of this machine."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=book))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def packed(book):
    """The compressed size of each file of the book that stands behind one of these addresses."""

    def sizes(addresses):
        files = [book / unquote(urlsplit(url).path).lstrip("/") for url in addresses if url.startswith("http")]
        return [len(gzip.compress(file.read_bytes())) for file in files]

    return sizes


def failures(request):
    """Return what is to be said of a request that failed; one that a reload has broken off has not."""
    return [] if request.failure == "net::ERR_ABORTED" else [f"failed: {request.url}"]


@pytest.fixture
def visit(browser):
    """Open an address, in a browser with these options; the page remembers what it asked for and what it said."""
    contexts = []

    def open_page(address, *, width=1280, dark=False, until="load", ask=False, folded=False, **options):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", **options
        )
        if not ask:  # as for a reader who has chosen to see all results at once
            context.add_init_script(SHOW_ALL)
        if not folded:  # as for one who opens all side paths
            context.add_init_script(UNFOLD)
        contexts.append(context)
        page = context.new_page()
        page.requested, page.said = [], []
        page.on("request", lambda request: page.requested.append(request.url))
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("requestfailed", lambda request: page.said.extend(failures(request)))
        page.goto(address, wait_until=until)
        return page

    yield open_page
    for context in contexts:
        context.close()
