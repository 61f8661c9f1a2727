"""Put figures by Matplotlib into their page: letters of its face, colours of its theme, a drawing for each width."""

import re
from itertools import count
from xml.etree import ElementTree

SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
PICTURE = re.compile(r'<img [^>]*src="[^"]*_images/([0-9a-f]{64}\.svg)"[^>]*>')  # drawn by a cell
ALT = re.compile(r'\balt="([^"]*)"')
# Matplotlib writes six places after the point.
NUMBER = re.compile(r"scale\([^)]*\)|-?\d+\.\d{3,}")
COLOUR = re.compile(r"#[0-9a-f]{6}\b")
FAMILY = re.compile(r"font-family: ([^;]*);? ?")
PLACE = re.compile(r"#([\w-]+)")
INKS = {  # by the colours of attn/course/plots.py, the variables of attn/figures/figures.css
    "#0057b8": "var(--attn-query)",
    "#b0005e": "var(--attn-key)",
    "#806000": "var(--attn-value)",
    "#00796b": "rgb(var(--attn-weight))",
    "#44546a": "var(--attn-plus)",
    "#b35806": "var(--attn-minus)",
    "#b3261e": "var(--attn-problem)",
    "#1b1f24": "currentColor",
}


def lighten(text):
    """Return numbers of an SVG by Matplotlib with their places to a hundredth of a point.

    >>> lighten("translate(12.345678 -7.5) scale(0.015625)")
    'translate(12.35 -7.5) scale(0.015625)'
    """
    return NUMBER.sub(lambda part: part[0] if part[0].startswith("scale") else f"{round(float(part[0]), 2):g}", text)


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


def face(element, style):
    """Return a style without the face that Matplotlib has measured with; formulas and code keep one of their kind."""
    family = FAMILY.search(style)
    if family and "Mono" in family[1]:
        element.set("class", "attn-code")
    elif family and "STIX" in family[1]:
        element.set("class", "attn-formula")
    return FAMILY.sub("", style)


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


def tidy(element, names):
    """Take out of an element, and of all in it, what a page does not need; `names` are those that it needs."""
    for child in list(element):
        tidy(child, names)
    if element.get("id") in names:
        element.set("id", names[element.get("id")])
    else:
        element.attrib.pop("id", None)
    if LINK in element.attrib:
        element.set("href", element.attrib.pop(LINK))
    for name, value in list(element.attrib.items()):
        if name == "href" and not value.startswith("#"):
            element.set(name, value.replace("\n", ""))
        elif name not in ("id", "class"):
            value = face(element, value) if name == "style" else value
            value = COLOUR.sub(lambda found: ink(found[0]), value) if name == "style" else value
            value = PLACE.sub(lambda place: f"#{names.get(place[1], place[1])}", value)
            value = re.sub(r"\s*([MLQCz:;]) ?", r"\1", lighten(value)) if name in ("d", "style") else lighten(value)
            element.set(name, re.sub(r"\s+", " ", value).strip())
    element.tag = element.tag.removeprefix(SVG)
    if element.tag != "text" and element.tag != "tspan":
        element.text = None
    element.tail = None
    if element.tag == "text" and len(element):
        element.text = None
        join_letters(element)
    children = []
    for child in element:
        if child.tag in ("metadata", "style") or (child.tag in ("g", "defs") and not len(child)):
            continue
        children += list(child) if child.tag == "g" and not child.attrib else [child]
    element[:] = children


def drawing(root, kind, alt, number):
    """Return a drawing as it stands in a page; `number` gives its places names that no other has."""
    width, height = (round(float(root.get(side).removesuffix("pt")) * 96 / 72) for side in ("width", "height"))
    values = [value for element in root.iter() for value in element.attrib.values() if not value.startswith("data:")]
    used = {place for value in values for place in PLACE.findall(value)}
    named = [element.get("id") for element in root.iter() if element.get("id") in used]
    view = root.get("viewBox")
    tidy(root, {name: f"f{next(number)}" for name in dict.fromkeys(named)})
    shares = sorted({int(share) for value in styles(root) for share in re.findall(r"--ink-(\d+)", value)})
    mixed = ";".join(
        f"--ink-{share}:color-mix(in srgb,currentColor {share}%,var(--pst-color-background))" for share in shares
    )
    root.attrib.clear()
    inner = "".join(ElementTree.tostring(child, encoding="unicode") for child in root)
    style = f' style="{mixed}"' if mixed else ""
    return (
        f'<svg class="attn-figure attn-{kind}" role="img" aria-label="{alt}" width="{width}" height="{height}"'
        f' viewBox="{lighten(view)}"{style}>{inner}</svg>'
    )


def styles(root):
    return [element.get("style", "") for element in root.iter()]


def place_pictures(html, pictures):
    """Return the page with each picture in it, in place of its address."""
    number = count()

    def place(image):
        alt = ALT.search(image[0])[1]
        drawn = drawings(pictures[image[1]])
        kinds = ["wide", "narrow"] if len(drawn) == 2 else ["only"]
        return "".join(drawing(root, kind, alt, number) for root, kind in zip(drawn, kinds))

    return PICTURE.sub(place, html)
