"""Draw the picture of the README anew: the figure of the title page, with its arrow turned to "cat"."""

import io

from PIL import Image

from . import build
from .pdf import find_chromium

PICTURE = build.ROOT / "picture.png"
PAGE = build.PAGES / "index.html"
WIDTH, COLOURS = 780, 64


def photograph(chromium):
    """Return the figure, after the arrow was moved: PNG, as bytes."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": WIDTH, "height": 1000}, color_scheme="light", reduced_motion="reduce")
        tab.goto(PAGE.as_uri())
        figure = tab.locator(".attn-explorable").first
        figure.get_by_role("button", name="Point at cat").press("Enter")
        tab.add_style_tag(content=":focus { outline: none !important }")
        picture = figure.screenshot()
        browser.close()
    return picture


def main():
    image = Image.open(io.BytesIO(photograph(find_chromium()))).convert("RGB")
    image.quantize(COLOURS, Image.Quantize.FASTOCTREE).save(PICTURE, optimize=True)
    print(f"{PICTURE.name}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
