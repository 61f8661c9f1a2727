"""Draw the picture of the README anew: the beginning of a chapter in the built book, with a guess that was made."""

import io

from PIL import Image

from . import build
from .pdf import find_chromium

PICTURE = build.ROOT / "picture.png"
PAGE = build.PAGES / "chapters" / "04_scaling.html"
WIDTH, HEIGHT, COLOURS = 780, 712, 32


def photograph(chromium):
    """Return the page, below its first heading, after the first guess was made: PNG, as bytes."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        tab.goto(PAGE.as_uri())
        tab.locator(".attn-guess .attn-answer").nth(2).click()
        tab.add_style_tag(content=".bd-header-article, .headerlink, #pst-back-to-top { display: none !important }")
        top = tab.locator("article h2").first.bounding_box()["y"] + tab.evaluate("scrollY") - 16
        picture = tab.screenshot(full_page=True, clip={"x": 0, "y": top, "width": WIDTH, "height": HEIGHT})
        browser.close()
    return picture


def main():
    image = Image.open(io.BytesIO(photograph(find_chromium()))).convert("RGB")
    image.quantize(COLOURS, Image.Quantize.FASTOCTREE).save(PICTURE, optimize=True)
    print(f"{PICTURE.name}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
