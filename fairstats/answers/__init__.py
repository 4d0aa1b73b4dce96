"""The answers table: its schema, files, checks and engines.

This module has only what the command line needs to show its options.
"""

from __future__ import annotations

from typing import Literal, get_args

Engine = Literal["pandas", "duckdb", "spark"]
ENGINES: tuple[Engine, ...] = get_args(Engine)

#: DuckDB spills any excess to disk. 100 million answers take it 10% longer than with 2 GB.
MEMORY_LIMIT = "300MB"
#: Engines from which a release can be published.
PublishingEngine = Literal["pandas", "duckdb"]
