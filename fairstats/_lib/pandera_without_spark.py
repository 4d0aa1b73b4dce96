"""Import pandera without PySpark, even if PySpark is installed."""

from __future__ import annotations

import sys

# pandera imports pyspark.pandas if possible. That takes seconds, and PySpark warns about pandas 3.
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
