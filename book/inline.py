"""Put figures by Matplotlib into their page: letters of its face, colours of its theme, a drawing for each width."""

import re
from itertools import count
from xml.etree import ElementTree

from attn_course.figures import read_source

SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
PICTURE = re.compile(r'<img [^>]*src="[^"]*_images/([0-9a-f]{64}\.svg)"[^>]*>')  # drawn by a cell
ALT = re.compile(r'\balt="([^"]*)"')
# Matplotlib writes six places after the point.
NUMBER = re.compile(r"scale\([^)]*\)|-?\d+\.\d{3,}")
STILL = re.compile(r"rotate\(-0 [\d. -]*\)$")
EMPTY = ("metadata", "style")  # for a page, which has styles of its own
LONG = 1000  # letters
NARROW = 410  # pixels: a diagram that is wider scrolls on a telephone
COLOUR = re.compile(r"#[0-9a-f]{6}\b")
FAMILY = re.compile(r"font-family: ([^;]*);? ?")
PLACE = re.compile(r"#([\w-]+)")


def inks():
    """Return by each colour that figures.css has for a light page, and so Matplotlib, what a page paints with."""
    light = dict(re.findall(r"--attn-([\w-]+): ([^;]+);", read_source("figures.css").partition("}")[0]))
    known = {light.pop("text"): "currentColor"}
    for name in light.keys() - {"quiet", "line", "panel"}:
        if light[name].startswith("#"):
            known[light[name]] = f"var(--attn-{name})"
        else:
            known["#" + bytes(map(int, light[name].split())).hex()] = f"rgb(var(--attn-{name}))"
    return known


INKS = inks()


def lighten(text):
    """Return numbers of an SVG by Matplotlib with their places to a hundredth of a point, in long curves to a tenth.

    >>> lighten("translate(12.345678 -7.5) scale(0.015625)")
    'translate(12.35 -7.5) scale(0.015625)'
    """
    places = 1 if len(text) > LONG else 2
    return NUMBER.sub(lambda it: it[0] if it[0].startswith("scale") else f"{round(float(it[0]), places):.6g}", text)


def ink(colour):
    """Return what a colour is in the page: a grey is the share of the text's colour that it has on white.

    >>> ink("#0057b8"), ink("#999999"), ink("#ffffff"), ink("#123456")
    ('var(--attn-query)', 'var(--ink-40)', 'var(--pst-color-background)', '#123456')
    """
    if colour in INKS:
        return INKS[colour]
    levels = {colour[i : i + 2] for i in (1, 3, 5)}
    if len(levels) > 1:
        return colour
    share = round(100 - int(levels.pop(), 16) / 2.55)
    return {0: "var(--pst-color-background)", 100: "currentColor"}.get(share, f"var(--ink-{share})")


def drawings(svg):
    """Return the drawings of a figure: the wide one and, if it has one, the narrow one."""
    root = ElementTree.fromstring(svg)
    return list(root) if root.get("viewBox") is None else [root]


def written(name, value, names):
    """Return what an attribute says in the page; `names` are those of its places."""
    if name == "style":
        value = COLOUR.sub(lambda found: ink(found[0]), FAMILY.sub("", value))
    if value.startswith("data:"):
        return value.replace("\n", "")
    value = PLACE.sub(lambda place: f"#{names.get(place[1], place[1])}", lighten(value))
    return re.sub(r"\s*([MLQCz:;])\s*", r"\1", value) if name in ("d", "style") else value


def face(style):
    """Return the class of a text whose face is not that of all others: a formula's or a program's."""
    family = FAMILY.search(style)
    kinds = {"Mono": "attn-code", "STIX": "attn-formula"} if family else {}
    return next((kind for name, kind in kinds.items() if name in family[1]), None)


def join_letters(text):
    """Write the words beside a formula, which Matplotlib places letter by letter, as words."""
    letters = sorted(text, key=lambda letter: float(letter.get("x")))
    text[:] = []
    for letter in letters:
        last = text[-1] if len(text) else None
        alike = last is not None and all(last.get(name) == letter.get(name) for name in ("style", "y"))
        if alike and "class" not in last.attrib and "class" not in letter.attrib:
            last.text += letter.text
        else:
            text.append(letter)


def children(element):
    """Yield what stands in an element, out of groups that say nothing."""
    for child in element:
        if child.tag == "g" and not child.attrib:
            yield from child
        elif child.tag not in EMPTY and (len(child) or child.tag not in ("g", "defs")):
            yield child


def tidy(element, names):
    """Make an element, and all in it, what a page needs; `names` are those of its places."""
    for child in element:
        tidy(child, names)
    element.tag = element.tag.removeprefix(SVG)
    kind, place = face(element.get("style", "")), names.get(element.get("id"))
    given = ((name, value) for name, value in element.attrib.items() if name != "id" and not STILL.match(value))
    said = {name.replace(LINK, "href"): value for name, value in given}
    element.attrib = {name: written(name, value, names) for name, value in said.items()}
    element.attrib |= {name: value for name, value in {"class": kind, "id": place}.items() if value}
    element.tail = None
    if len(element) or element.tag not in ("text", "tspan"):
        element.text = None
    if element.tag == "text" and len(element):
        join_letters(element)
    element[:] = list(children(element))


def size(root):
    """Return the width and height of a drawing in pixels."""
    return [round(float(root.get(side).removesuffix("pt")) * 96 / 72) for side in ("width", "height")]


def drawing(root, kind, alt, number):
    """Return a drawing as it stands in a page; `number` gives its places names that no other has."""
    width, height = size(root)
    values = [value for element in root.iter() for value in element.attrib.values() if not value.startswith("data:")]
    used = {place for value in values for place in PLACE.findall(value)}
    named = [element.get("id") for element in root.iter() if element.get("id") in used]
    view = root.get("viewBox")
    tidy(root, {name: f"f{next(number)}" for name in dict.fromkeys(named)})
    root.attrib.clear()
    inner = "".join(ElementTree.tostring(child, encoding="unicode") for child in root)
    shares = sorted({int(share) for share in re.findall(r"--ink-(\d+)", inner)})
    mixed = [f"--ink-{share}:color-mix(in srgb,currentColor {share}%,var(--pst-color-background))" for share in shares]
    return (
        f'<svg class="attn-figure attn-{kind}" role="img" aria-label="{alt}" width="{width}" height="{height}"'
        f' viewBox="{lighten(view)}" style="{";".join(mixed)}">{inner}</svg>'
    )


def place_pictures(html, pictures):
    """Return the page with each picture in it, in place of its address."""
    number = count()

    def place(image):
        alt = ALT.search(image[0])[1]
        drawn = drawings(pictures[image[1]])
        only = "diagram" if size(drawn[0])[0] > NARROW else "only"
        kinds = ["wide", "narrow"] if len(drawn) == 2 else [only]
        return "".join(drawing(root, kind, alt, number) for root, kind in zip(drawn, kinds))

    return PICTURE.sub(place, html)
