"""Make pages light: one style sheet and two scripts a page, the icons in use, room for every picture.

The theme brings 2,000 icons three times over, as fonts and as a program, and loads the search on every page.
"""

import hashlib
import re
from pathlib import Path
from xml.etree import ElementTree

from fonts import cut_font

UNUSED = re.compile(r'\s*<link rel="preload" as="script"[^>]*>|\s*<script[^>]*fontawesome\.js[^>]*></script>')
SEARCH = re.compile(r'\s*<script src="[^"]*\b(?:searchtools|language_data|searchindex)\.js[^"]*"></script>')
TAGS = {  # by the file that replaces what they load
    "page.css": re.compile(r'\s*<link [^>]*href="[./]*_static/([^"?]+\.css)[^"]*"[^>]*>'),
    "page.js": re.compile(r'\s*<script src="[./]*_static/(?!searchtools|language_data)([^"?]+)[^"]*"></script>'),
    "page-later.js": re.compile(r'\s*<script defer(?:="defer")? src="[./]*_static/([^"?]+)[^"]*"></script>'),
}
RULE = re.compile(r'((?:\.fa-[\w-]+:before,?)+)\{content:"\\([0-9a-f]+)"\}')
FACE = re.compile(r"(@font-face\{[^{}]*src:url\()([^()]+\.woff2)[^{}]*\}")
PICTURE = re.compile(r'<img (?=[^>]*src="[^"]*_images/([0-9a-f]{64}\.svg)")')  # drawn by a cell


def used_icons(html, css):
    """Return the code points of the icons that a page names by a class or a style sheet writes out.

    >>> css = r'.fa-bars:before,.fa-navicon:before{content:"\\f0c9"}.note:after{content:"\\f303"}'
    >>> used_icons('<i class="fas fa-bars fa-lg">', css)
    {61641, 62211}
    """
    classes = set(re.findall(r"\bfa-([\w-]+)", html))
    named = {int(code, 16) for names, code in RULE.findall(css) if classes & set(re.findall(r"\.fa-([\w-]+):", names))}
    return named | {int(code, 16) for code in re.findall(r'"\\(f[0-9a-f]{3})"', RULE.sub("", css))}


def cut_icons(css, icons, folder):
    """Return the styles with the rules and, in place of the fonts below `folder`, the glyphs of these icons only."""

    def with_glyphs(face):
        font = cut_font(folder / face[2], icons)
        return f"{face[1]}{font})}}" if font else ""

    return FACE.sub(with_glyphs, RULE.sub(lambda rule: rule[0] if int(rule[2], 16) in icons else "", css))


def read_styles(path):
    """Return the styles of a file and of those that it imports."""
    css = re.sub(r'@charset "[^"]+";', "", path.read_text(encoding="utf-8"))
    return re.sub(r'@import "([^"]+)";', lambda imported: read_styles(path.parent / imported[1]), css)


def read_script(path):
    return re.sub(r"//# sourceMappingURL=.*", "", path.read_text(encoding="utf-8")) + "\n;"


def load_one(html, tag, address):
    """Return the page with one tag, in the place of the last that matches, that loads what is at `address`."""
    tags = list(tag.finditer(html))
    if not tags:
        return html
    one = re.sub(r'_static/[^"]+', address, tags[-1][0])
    return tag.sub("", html[: tags[-1].start()]) + one + html[tags[-1].end() :]


def bundle(pages, static):
    """Let every page load one file of each kind in place of many. Scripts keep their order, behind inline ones."""
    pages = {
        path: UNUSED.sub("", html if path.name == "search.html" else SEARCH.sub("", html))
        for path, html in pages.items()
    }
    for target, tag in TAGS.items():
        files = [static / name for name in dict.fromkeys(name for html in pages.values() for name in tag.findall(html))]
        if target.endswith(".css"):
            content = "\n".join(map(read_styles, files))
            content = cut_icons(content, used_icons("".join(pages.values()), content), static / "styles")
        else:
            content = "\n".join(map(read_script, files))
        static.joinpath(target).write_text(content, encoding="utf-8")
        address = f"_static/{target}?v={hashlib.sha256(content.encode()).hexdigest()[:8]}"
        pages = {path: load_one(html, tag, address) for path, html in pages.items()}
        for path in files:
            path.unlink()
    for path in {
        *static.glob("scripts/fontawesome.js*"),
        *static.rglob("*.map"),
        *static.glob("vendor/fontawesome/webfonts/*"),
    }:
        path.unlink()
    return pages


def picture_size(path):
    """Return the width and height in pixels of an SVG by Matplotlib, which gives them in points."""
    root = ElementTree.parse(path).getroot()
    return [round(float(root.get(side).removesuffix("pt")) * 96 / 72) for side in ("width", "height")]


def slim(app, exception):
    if exception or app.builder.format != "html":
        return
    out, static = Path(app.outdir), Path(app.outdir, "_static")
    pages = {path: path.read_text(encoding="utf-8") for path in out.rglob("*.html") if static not in path.parents}
    for path, html in bundle(pages, static).items():
        html = PICTURE.sub(
            lambda match: '<img width="{}" height="{}" '.format(*picture_size(out / "_images" / match[1])), html
        )
        path.write_text(html, encoding="utf-8")


def setup(app):
    app.connect("build-finished", slim, priority=900)  # when all others have written what they write
    return {"parallel_read_safe": True, "parallel_write_safe": True}
