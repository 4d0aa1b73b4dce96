"""pandera, imported without PySpark, which nobody asked for where it is merely installed."""

from __future__ import annotations

import sys

# pandera imports pyspark.pandas if it can: that takes seconds, and PySpark warns of pandas 3.
_HIDDEN = "pyspark.pandas"
_hide = _HIDDEN not in sys.modules
if _hide:
    sys.modules[_HIDDEN] = None  # type: ignore[assignment]
try:
    import pandera.pandas as pa
finally:
    if _hide:
        del sys.modules[_HIDDEN]

__all__ = ["pa"]
