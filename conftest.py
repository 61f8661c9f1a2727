"""What the tests of the book share: the built book, a browser, and a page of it to visit."""

import functools
import gzip
import http.server
import importlib
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import unquote, urlsplit

import hypothesis
import matplotlib
import pytest
from xdist.scheduler import LoadScopeScheduling

from attn.threads import ONE_THREAD
from attn_course.minilm import read_minilm
from attn_course.smollm2 import read_smollm2
from book import build
from book import execute as notebooks
from book.prose import CLOCK
from tests.chromium import find_chromium

hypothesis.settings.register_profile("steady", deadline=None)  # no test may fail by the clock
hypothesis.settings.load_profile("steady")
# As where chapters are executed: no progress bar in an output, and one core for each kernel.
os.environ.update(TQDM_DISABLE="1", **ONE_THREAD)
matplotlib.use("Agg")  # here alone: in the environment, it would reach the kernels, whose figures stand in the page

CHROMIUM = find_chromium()
TOGETHER = (".ipynb", "test_lab.py", "test_pages.py")  # a kernel, a JupyterLab, or all pages are shared there
MEGABYTES = 700  # that the kernel of a chapter may take
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


def of_notebook(node):
    return node.path.suffix == ".ipynb"


def pytest_configure(config):
    for mark, meaning in {**NEEDS, "core": "does none of this"}.items():
        config.addinivalue_line("markers", f"{mark}: {meaning}")


def pytest_collectstart(collector):
    """Compare no drawing, as nbval compares no picture: somebody's IPython may be set to show the one for the other."""
    if of_notebook(collector):
        collector.skip_compare += ("image/svg+xml",)
        collector.setup = functools.partial(notebooks.twice, collector.setup)


def pytest_itemcollected(item):
    """Mark a test by what it asks for, so that no mark can be forgotten: `-m core`, `-m "not browser"`."""
    asked = ["kernel"] if of_notebook(item) else getattr(item, "fixturenames", ())  # a doctest asks for nothing
    for mark in [name for name in NEEDS if name in asked] or ["core"]:
        item.add_marker(mark)
    if of_notebook(item) and CLOCK in item.cell.metadata.get("tags", []):
        item.options["check"] = False  # nbval's, as its tag nbval-ignore-output sets it


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Let the first cell fail after which a kernel has taken too much memory; Linux tells."""
    yield
    if of_notebook(item) and sys.platform == "linux":
        status = Path(f"/proc/{item.parent.kernel.km.provisioner.pid}/status").read_text(encoding="utf-8")
        taken = int(re.search(r"VmHWM:\s*(\d+)", status)[1]) // 1000
        if taken > MEGABYTES:
            pytest.fail(f"The kernel has taken {taken} MB, and a chapter may take {MEGABYTES}.")


def pytest_collection_modifyitems(items):
    """Begin with what takes longest: the tests that stay together, then the last chapters, which train models."""
    items.sort(key=lambda item: item.path.name if item.path.name.endswith(TOGETHER) else "", reverse=True)


class Together(LoadScopeScheduling):
    """One core runs all that is in such a file, and any other test the core that is free."""

    def _split_scope(self, nodeid):
        path = nodeid.partition("::")[0]
        return path if path.endswith(TOGETHER) else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return Together(config, log)


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
