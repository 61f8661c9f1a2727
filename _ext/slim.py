"""Make pages light: of the theme's icons those in use, pictures with the colours they need and their size on the page.

The theme brings 2,000 icons three times over, as fonts and as a program.
"""

import re
from pathlib import Path

from fontTools import subset
from PIL import Image

SCRIPT = re.compile(r'\s*<script[^>]*fontawesome\.js[^>]*></script>')
RULE = re.compile(r'((?:\.fa-[\w-]+:before,?)+)\{content:"\\([0-9a-f]+)"\}')
PICTURE = re.compile(r'<img (?=[^>]*src="[^"]*_images/([\w.-]+\.png)")')


def used_icons(html, css):
    """Return the code points of the icons that a page names by a class or a style sheet writes out.

    >>> used_icons('<i class="fas fa-bars fa-lg">', r'.fa-bars:before,.fa-navicon:before{content:"\\f0c9"}.note:after{content:"\\f303"}')
    {61641, 62211}
    """
    classes = set(re.findall(r"\bfa-([\w-]+)", html))
    named = {int(code, 16) for names, code in RULE.findall(css) if classes & set(re.findall(r"\.fa-([\w-]+):", names))}
    return named | {int(code, 16) for code in re.findall(r'"\\(f[0-9a-f]{3})"', RULE.sub("", css))}


def cut_font(path, icons):
    options = subset.Options(flavor="woff2", layout_features=[])
    font = subset.load_font(path, options)
    cut = subset.Subsetter(options)
    cut.populate(unicodes=icons)
    cut.subset(font)
    subset.save_font(font, path, options)


def cut_picture(path):
    """Reduce a picture to 256 colours if that makes it smaller; return its width and height."""
    picture, before = Image.open(path), path.read_bytes()
    picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    if path.stat().st_size > len(before):
        path.write_bytes(before)
    return picture.size


def slim(app, exception):
    if exception or app.builder.format != "html":
        return
    out, static = Path(app.outdir), Path(app.outdir, "_static")
    sizes = {path.name: cut_picture(path) for path in out.glob("_images/*.png")}
    pages = {path: path.read_text(encoding="utf-8") for path in out.rglob("*.html") if static not in path.parents}
    css = "".join(path.read_text(encoding="utf-8") for path in static.rglob("*.css"))
    icons = used_icons("".join(pages.values()), css)
    for path, html in pages.items():
        html = PICTURE.sub(lambda match: '<img width="{}" height="{}" '.format(*sizes[match[1]]), SCRIPT.sub("", html))
        path.write_text(html, encoding="utf-8")
    for path in static.glob("styles/*.css"):
        kept = RULE.sub(lambda rule: rule[0] if int(rule[2], 16) in icons else "", path.read_text(encoding="utf-8"))
        path.write_text(kept, encoding="utf-8")
    for path in static.glob("scripts/fontawesome.js*"):
        path.unlink()
    for path in static.glob("vendor/fontawesome/webfonts/*"):
        if path.suffix == ".woff2":
            cut_font(path, icons)
        else:
            path.unlink()  # what browsers of long ago would ask for


def setup(app):
    app.connect("build-finished", slim)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
