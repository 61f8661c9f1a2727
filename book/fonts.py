"""Fonts with the glyphs in use, carried in a style sheet: no page waits for them, no text moves when they come."""

import base64
import io
import logging

from fontTools import subset
from fontTools.ttLib import TTFont

logging.getLogger("fontTools").setLevel(logging.WARNING)  # no word about each table that it cuts


def cut_font(path, characters):
    """Return the address that holds the font's glyphs of these code points, or None if it has none of them."""
    options = subset.Options(flavor="woff2", layout_features=[])
    options.drop_tables += ["FFTM"]
    with subset.load_font(path, options) as font:
        if not characters & font.getBestCmap().keys():
            return None
        cut = subset.Subsetter(options)
        cut.populate(unicodes=characters)
        cut.subset(font)
        file = io.BytesIO()
        subset.save_font(font, file, options)
    return f"data:font/woff2;base64,{base64.b64encode(file.getvalue()).decode()}"


def licence_of(path):
    """Return what the font says about its licence, or about its copyright if it says no more."""
    with TTFont(path) as font:
        return font["name"].getDebugName(13) or font["name"].getDebugName(0)
