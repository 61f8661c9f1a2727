"""Make pages light: one style sheet and two scripts a page, the styles and icons in use, every picture in its page.

The theme brings 2,000 icons three times over, as fonts and as a program, styles for whatever Bootstrap can show, and
loads the search on every page.
"""

import hashlib
import re
from pathlib import Path

from .fonts import cut_font
from .inline import place_pictures

# The theme writes these tags in its templates: no setting reaches them.
UNUSED = re.compile(r'\s*<link rel="preload" as="script"[^>]*>|\s*<script[^>]*fontawesome\.js[^>]*></script>')
SEARCH = re.compile(r'\s*<script src="[^"]*\b(?:searchtools|language_data|searchindex)\.js[^"]*"></script>')
TAGS = {  # of all styles and scripts, Sphinx's and the theme's, by the file that replaces what they load
    "page.css": re.compile(r'\s*<link [^>]*href="[./]*_static/([^"?]+\.css)[^"]*"[^>]*>'),
    "page.js": re.compile(r'\s*<script src="[./]*_static/(?!searchtools|language_data)([^"?]+)[^"]*"></script>'),
    "page-later.js": re.compile(r'\s*<script defer(?:="defer")? src="[./]*_static/([^"?]+)[^"]*"></script>'),
}
COMMENT = re.compile(r"/\*(?!!).*?\*/", re.DOTALL)  # a licence begins with an exclamation mark
# Three quarters of the theme's styles are rules for classes of no page: packed, 46 kB of the 300 a page may have.
RULE = re.compile(r"(?:\A|(?<=[{};/]))\s*([^{}@;/]+)(\{[^{}]*\})")
COMMA = re.compile(r",(?![^()]*\))")
ASIDE = re.compile(r"\([^()]*\)|\[[^\]]*\]")  # of a selector: what may be there, or must not
COMPOSED = {"bs-tooltip-auto"}  # classes that a script puts together
# The fonts of the theme hold 2,000 icons.
FACE = re.compile(r"(@font-face\{[^{}]*src:url\()([^()]+\.woff2)[^{}]*\}")


def names_in(texts):
    """Return all that may be the name of a class in pages and scripts."""
    return COMPOSED.union(*(re.findall(r"[\w-]+", text) for text in texts))


def cut_styles(css, names):
    """Return the styles without the rules for classes of other names; the book's own, which scripts put together, stay.

    >>> cut_styles(".a,.b:not(.c){top:0}@media print{.b .a{top:1px}/* old */i{top:2px}}.attn-a{top:3px}", {"b"})
    '.b:not(.c){top:0}@media print{i{top:2px}}.attn-a{top:3px}'
    """

    def cut(rule):
        kept = [
            selector
            for selector in COMMA.split(rule[1])
            if names.issuperset(re.findall(r"\.(?!attn-)([\w-]+)", ASIDE.sub("", selector)))
        ]
        return ",".join(kept) + rule[2] if kept else ""

    return RULE.sub(cut, COMMENT.sub("", css))


def cut_icons(css, folder):
    """Return the styles with, in place of the fonts below `folder`, the glyphs of the icons that they write out."""
    icons = {int(code, 16) for code in re.findall(r'"\\(f[0-9a-f]{3})"', css)}

    def with_glyphs(face):
        font = cut_font(folder / face[2], icons)
        return f"{face[1]}{font})}}" if font else ""

    return FACE.sub(with_glyphs, css)


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
    """Let every page load one file of each kind in place of many. Scripts keep their order, after inline ones."""
    pages = {
        path: UNUSED.sub("", html if path.name == "search.html" else SEARCH.sub("", html))
        for path, html in pages.items()
    }
    for path in static.glob("scripts/fontawesome.js*"):
        path.unlink()
    names = names_in([*pages.values(), *(path.read_text(encoding="utf-8") for path in static.rglob("*.js"))])
    for target, tag in TAGS.items():
        files = [static / name for name in dict.fromkeys(name for html in pages.values() for name in tag.findall(html))]
        if not files:
            raise ValueError(f"No page loads what {target} is to replace: the theme writes its tags in another way.")
        if target.endswith(".css"):
            content = "\n".join(map(read_styles, files))
            content = cut_icons(cut_styles(content, names), static / "styles")
        else:
            content = "\n".join(map(read_script, files))
        static.joinpath(target).write_text(content, encoding="utf-8")
        address = f"_static/{target}?v={hashlib.sha256(content.encode()).hexdigest()[:8]}"
        pages = {path: load_one(html, tag, address) for path, html in pages.items()}
        for path in files:
            path.unlink()
    for path in [*static.rglob("*.map"), *static.glob("vendor/fontawesome/webfonts/*")]:
        path.unlink()
    return pages


def slim(app, exception):
    if exception or app.builder.format != "html":
        return
    out, static = Path(app.outdir), Path(app.outdir, "_static")
    pictures = {path.name: path.read_text(encoding="utf-8") for path in out.glob("_images/*.svg")}
    paths = [path for path in out.rglob("*.html") if static not in path.parents]
    pages = {path: place_pictures(path.read_text(encoding="utf-8"), pictures) for path in paths}
    for path, html in bundle(pages, static).items():
        path.write_text(html, encoding="utf-8")
    for name in pictures:
        out.joinpath("_images", name).unlink()


def setup(app):
    app.connect("build-finished", slim, priority=900)  # when all others have written what they write
    return {"parallel_read_safe": True, "parallel_write_safe": True}
