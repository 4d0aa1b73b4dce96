"""The engines that answers can be counted in."""

from __future__ import annotations

from typing import Literal, get_args

Engine = Literal["pandas", "duckdb", "spark"]
ENGINES: tuple[Engine, ...] = get_args(Engine)

#: DuckDB spills what is more. Python and its libraries need another 0.3 GB beside it.
MEMORY_LIMIT = "2GB"
