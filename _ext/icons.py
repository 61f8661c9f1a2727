"""Keep of the theme's icons those that the pages use: it brings 2,000 of them three times over, as fonts and as a program."""

import re
from pathlib import Path

from fontTools import subset

SCRIPT = re.compile(r'\s*<script[^>]*fontawesome\.js[^>]*></script>')
RULE = re.compile(r'((?:\.fa-[\w-]+:before,?)+)\{content:"\\([0-9a-f]+)"\}')


def used_icons(html, css):
    """Return the code points of the icons that a page names by a class or a style sheet writes out.

    >>> used_icons('<i class="fas fa-bars fa-lg">', r'.fa-bars:before,.fa-navicon:before{content:"\\\\f0c9"}.note:after{content:"\\\\f303"}')
    {61641, 62211}
    """
    classes = set(re.findall(r"\bfa-([\w-]+)", html))
    named = {int(code, 16) for names, code in RULE.findall(css) if classes & set(re.findall(r"\.fa-([\w-]+):", names))}
    return named | {int(code, 16) for code in re.findall(r'"\\(f[0-9a-f]{3})"', RULE.sub("", css))}


def keep_used_icons(app, exception):
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    pages = [path for path in Path(app.outdir).rglob("*.html") if static not in path.parents]
    texts = {path: path.read_text(encoding="utf-8") for path in pages}
    css = "".join(path.read_text(encoding="utf-8") for path in static.rglob("*.css"))
    icons = used_icons("".join(texts.values()), css)
    for path, text in texts.items():
        path.write_text(SCRIPT.sub("", text), encoding="utf-8")
    for path in static.glob("scripts/fontawesome.js*"):
        path.unlink()
    for path in static.glob("vendor/fontawesome/webfonts/*"):
        if path.suffix != ".woff2":  # what browsers without it would ask for
            path.unlink()
            continue
        options = subset.Options(flavor="woff2", layout_features=[])
        font = subset.load_font(path, options)
        cut = subset.Subsetter(options)
        cut.populate(unicodes=icons)
        cut.subset(font)
        subset.save_font(font, path, options)


def setup(app):
    app.connect("build-finished", keep_used_icons)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
