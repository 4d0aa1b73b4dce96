"""The answers table: its schema, files, checks and engines.

This module has only what the command line needs to show its options.
"""

from __future__ import annotations

from typing import Literal, get_args

Engine = Literal["pandas", "duckdb", "spark"]
ENGINES: tuple[Engine, ...] = get_args(Engine)

#: DuckDB spills any excess to disk. Python and its libraries need another 0.3 GB.
MEMORY_LIMIT = "2GB"
#: Engines from which a release can be published.
PublishingEngine = Literal["pandas", "duckdb"]
