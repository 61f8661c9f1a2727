"""What makes the pages: chapters are executed, read by Sphinx with the extensions here, and checked."""

import sys
from pathlib import Path

# Beside JupyterLab, nbformat comes to read a grammar of addresses that nobody asks for: more than a second each time.
sys.modules["rfc3987_syntax"] = None

ROOT = Path(__file__).resolve().parent.parent
