"""Where Chromium is, which opens the pages that are tested."""

import shutil

NAMES = [
    "chromium-headless-shell",  # Debian's Chromium without windows: a page opens in two thirds of the time
    "chromium",
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
]


def find_chromium():
    """Return the path of a Chromium or Chrome, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)
