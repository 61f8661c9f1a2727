"""Formulas, set by MathJax while the book is built: a page brings shapes and MathML, and no program."""

import json
import re
from functools import cache
from importlib.metadata import files
from pathlib import Path

import quickjs
from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

from attn_course.figures import joined

from .fonts import cut_font, licence_of

PARTS = [
    "loader",
    "core",
    "adaptors/liteDOM",
    "input/tex",
    "input/tex/extensions/html",
    "output/chtml",
    "output/chtml/fonts/tex",
    "a11y/assistive-mml",
]
SYMBOL = re.compile(
    r"(?<![\\A-Za-z_^])"  # not inside a command or a word, and not an index
    r"(?P<symbol>(?:W_\{?(?P<weight>[QKV])\}?)|(?P<letter>[QKVqkv]))"
    r"(?![A-Za-z])"
)
ROLES = {"q": "query", "k": "key", "v": "value"}
BRACED_TEXT = re.compile(r"(\\(?:text|operatorname|mathrm|begin|end)\s*\{[^{}]*\})")
FACE = re.compile(
    r'@font-face[^{]*\{\s*font-family: MJX(?:TEX)?-?(?P<name>\w*);\s*src: url\("\./(?P<file>[\w-]+\.woff)"\)[^}]*\}\s*'
)
NOTICE = (
    "/* MathJax's: Copyright (c) 2017-2022 The MathJax Consortium, Apache License 2.0, https://www.mathjax.org */\n"
)
PARTS_OF_A_LINE = re.compile(r"\\qquad|(?=\{\}=)")  # where a narrow page may break it
STRETCHED = ["", "S1", "S4", "A"]  # where MathJax finds the pieces of braces and brackets of any size


def colour_symbols(latex):
    """Mark queries, keys and values and their matrices in a formula, so that the style sheet can colour them.

    >>> colour_symbols(r"Q = X W_Q, d_k")
    '\\\\class{attn-query}{Q} = X \\\\class{attn-query}{W_Q}, d_k'
    """

    def mark(match):
        role = ROLES[(match["weight"] or match["letter"]).lower()]
        return rf"\class{{attn-{role}}}{{{match['symbol']}}}"

    parts = BRACED_TEXT.split(latex)
    parts[::2] = [SYMBOL.sub(mark, part) for part in parts[::2]]
    return "".join(parts)


@cache
def find_mathjax():
    """Return the paths of MathJax's files by their names."""
    return {file.as_posix().partition("/mathjax/")[2]: Path(file.locate()) for file in files("sphinx-mathjax-offline")}


@cache
def engine():
    """Return a JavaScript engine with MathJax in it."""
    context, parts = quickjs.Context(), find_mathjax()
    context.eval("MathJax = {}")
    for name in PARTS:
        context.eval(parts[f"{name}.js"].read_text(encoding="utf-8"))
    context.eval(joined(Path(__file__).with_suffix(".js")))
    return context


def call(function, *arguments):
    """Call a function of the engine, which hands out texts of many pieces only as JSON."""
    return json.loads(engine().eval(f"JSON.stringify({function}({', '.join(map(json.dumps, arguments))}))"))


@cache
def typeset(latex, display):
    """Return the HTML of a formula; one that MathJax does not understand is a `ValueError`."""
    html = call("typeset", colour_symbols(latex), display)
    if error := re.search('data-mjx-error="([^"]*)"', html):
        raise ValueError(f"{error[1]} in the formula {latex}")
    return html


def visit_formula(translator, node):
    latex, display = node.get("latex", node.astext().strip()), node.tagname == "math_block"
    number = rf"\tag{{{get_node_equation_number(translator, node)}}}" if node.get("number") else ""
    parts = [latex + number] if number or r"\begin" in latex else PARTS_OF_A_LINE.split(latex)
    try:
        html = "".join(typeset(part, display) for part in parts)
    except ValueError as error:
        logging.getLogger(__name__).warning(str(error), location=node)
        html = ""
    tag = "div" if display else "span"
    named = {"role": "img", "aria-label": node.astext()} if "latex" in node else {}  # called as it is typed
    start = translator.starttag(node, tag, "", CLASS="math", **{"data-latex": latex}, **named)
    translator.body.append(f"{start}{html}</{tag}>")
    raise nodes.SkipNode


class Marks(SphinxPostTransform):
    """Put a formula in a line and the marks right after it into one box, so that no line begins with them."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs):
        for formula in list(self.document.findall(nodes.math)):
            follows = formula.next_node(descend=False, siblings=True)
            if isinstance(follows, nodes.Text) and (marks := re.match(r"[.,;:?!)]+", follows)):
                follows.parent.replace(follows, nodes.Text(follows[marks.end() :]))
                marked = nodes.inline(classes=["attn-marked"])
                formula.replace_self(marked)
                marked += [formula, nodes.Text(marks[0])]


def formula_styles():
    """Return the styles of all formulas that were set, and in them the glyphs that these show, each font's licence."""
    css, fonts, glyphs = call("styles"), find_mathjax(), {"ZERO": {0xEFFC}}  # a font of one glyph, there for its height
    for rule, content in re.findall(r'([^{}]*)::before \{[^}]*content: "([^"]*)"', css):
        drawn = {int(code, 16) for code in re.findall(r"\\([0-9A-F]+)", content)} or set(map(ord, content))
        font = re.search(r"\.TEX-(\w+)", rule)
        for name in STRETCHED if "stretch" in rule else [font[1] if font else ""]:
            glyphs.setdefault(name, set()).update(drawn)

    def with_glyphs(face):
        path = fonts[f"output/chtml/fonts/woff-v2/{face['file']}"]
        font = cut_font(path, glyphs.get(face["name"], set()))
        rule = face[0].replace(f"./{face['file']}", font).replace('"woff"', '"woff2"') if font else ""
        return rule and f"/* {licence_of(path)} */\n{rule}"

    return NOTICE + FACE.sub(with_glyphs, css)


def write_styles(app, exception):
    if not exception and app.builder.format == "html":
        Path(app.outdir, "_static", "formulas.css").write_text(formula_styles(), encoding="utf-8")


def setup(app):
    app.add_html_math_renderer("typeset", (visit_formula, None), (visit_formula, None))
    app.add_css_file("formulas.css")
    app.add_post_transform(Marks)
    app.connect("build-finished", write_styles)
    return {"parallel_read_safe": True, "parallel_write_safe": False}  # one engine knows what all pages show
