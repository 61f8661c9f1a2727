"""Print the whole book into one file, and let the title page offer it: `make pdf`."""

import os
import shutil
import sys

from . import build

PAGE = {"format": "A4", "margin": dict.fromkeys(["top", "bottom", "left", "right"], "18mm")}
FOOTER = '<p style="width: 100%; text-align: center; font-size: 8px"><span class="pageNumber"></span></p>'
CHROMIUM = [
    "chromium-headless-shell",  # Debian's Chromium without windows: a page opens in two thirds of the time
    "chromium",
    "chromium-browser",
    "google-chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    *(  # Windows
        os.path.join(os.environ.get(folder, ""), r"Google\Chrome\Application\chrome.exe")
        for folder in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")
    ),
]


def find_chromium():
    """Return the path of a Chromium or Chrome, or None."""
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


def one_page():
    """Build all chapters as one page and return its path."""
    folder = build.BUILD / "pdf"
    shutil.rmtree(folder, ignore_errors=True)
    if not build.run_jupyter_book(folder, "singlehtml"):
        sys.exit("The PDF was not made: see the warnings above.")
    page = folder / "_build" / "singlehtml" / "index.html"
    shutil.move(page.parent / "chapters" / "index.html", page)  # its links are relative to here
    return page


def print_page(page, browser):
    tab = browser.new_page(color_scheme="light")
    tab.set_default_timeout(0)  # a book takes as long as it takes
    tab.goto(page.as_uri())
    if missing := tab.locator("[data-explorable]:not(:has(.attn-explorable))").count():
        sys.exit(f"The PDF was not made: {missing} of its figures did not come.")
    tab.evaluate("document.querySelectorAll('a[href*=\"index.html#\"]').forEach((link) => (link.href = link.hash))")
    tab.evaluate("document.querySelectorAll('details:not(.hide)').forEach((solution) => (solution.open = true))")
    tab.pdf(
        path=build.PDF,
        outline=True,
        tagged=True,
        display_header_footer=True,
        header_template="<p></p>",
        footer_template=FOOTER,
        **PAGE,
    )


def main():
    from playwright.sync_api import sync_playwright

    chromium = find_chromium()
    if not chromium:
        sys.exit("A PDF is printed by Chromium, and there is none on this machine (on Debian: apt install chromium).")
    build.main()
    with build.one_sentence():
        source = build.sources()
        if not build.is_current(build.PDF, source):
            with build.ALONE, sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                print_page(one_page(), browser)
                browser.close()
                build.stamp(build.PDF, source)
                build.build_pages(source)
    print(f"The whole book in one file: {build.PDF}")


if __name__ == "__main__":
    main()
