"""What makes the pages: chapters are executed, read by Sphinx with the extensions here, and checked."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
