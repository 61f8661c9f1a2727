"""The book: how long an author waits for it, and how long a reader for a page of it. The project is left as it is."""

import json
import os
import subprocess
import sys
import time

import pytest

from book import build

IN_PARTS = """
import json, resource, sys, time
from book import build
start = time.perf_counter()
build.execute_chapters()
children = resource.getrusage(resource.RUSAGE_CHILDREN)
build.build_pages(build.sources())
print(json.dumps([time.perf_counter() - start, children.ru_utime + children.ru_stime]))
"""
SHIFTS = """
window.shifts = [];
const observer = new PerformanceObserver((list) => window.shifts.push(...list.getEntries()));
observer.observe({ type: "layout-shift", buffered: true });
"""
WAITED = """() => ({
  paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
  settled: Math.max(0, ...shifts.map((shift) => shift.startTime)),
  shift: shifts.reduce((sum, shift) => sum + shift.value, 0),
})"""


def test_make_book(repository, report):
    cold = subprocess.run(
        [sys.executable, "-c", IN_PARTS], cwd=repository, capture_output=True, encoding="utf-8", check=True
    )
    wall, processor = json.loads(cold.stdout.splitlines()[-1])
    ratio = wall / (processor / os.cpu_count())
    report(f"make book, cold: {wall:.0f} s, {ratio:.2f} of the chapters' processor time ÷ cores (to reach: 1.5)")


def test_make_book_again(book, report):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "book.build"], cwd=build.ROOT, capture_output=True, check=True)
    report(f"make book, nothing changed: {time.perf_counter() - start:.1f} s (to reach: 4)")


@pytest.mark.parametrize("path", build.chapters(), ids=lambda path: path.stem)
def test_a_page(packed, address, browser, path, report):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, requested = context.new_page(), []
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 4})
    page.on("request", lambda request: requested.append(request.url))
    page.add_init_script(SHIFTS)
    page.goto(f"{address}/chapters/{path.stem}.html", wait_until="networkidle")
    page.wait_for_timeout(1000)
    waited = page.evaluate(WAITED)
    context.close()
    sizes = packed(requested)
    report(
        f"{path.stem:<30}{len(sizes):>3} requests (15){sum(sizes) / 1000:>6.0f} kB packed (300)"
        f"{waited['paint'] / 1000:>6.1f} s to paint{waited['settled'] / 1000:>6.1f} s to the last shift,"
        f" shift{waited['shift']:>8.4f}"
    )
