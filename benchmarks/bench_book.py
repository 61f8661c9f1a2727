"""How long a reader waits for a page of the book."""

import pytest

from book import chapters

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


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
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
