"""The scripts of docs/ import each other by name, as `python docs/build_site.py` runs them."""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
if str(DOCS) not in sys.path:
    sys.path.append(str(DOCS))
