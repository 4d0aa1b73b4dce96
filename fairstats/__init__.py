"""Statistics and reports for bias benchmarks of language models in medical question answering.

The names below are imported when they are first used: ``import fairstats`` loads none of the
libraries behind them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairstats.analysis import analyze as analyze
    from fairstats.answers import read_answers as read_answers
    from fairstats.answers import write_answers as write_answers
    from fairstats.benchmarks import Benchmark as Benchmark
    from fairstats.benchmarks import load_benchmark as load_benchmark
    from fairstats.counts import count_outcomes as count_outcomes
    from fairstats.inference.intervals import tango as tango
    from fairstats.inference.intervals import wilson as wilson
    from fairstats.inference.mcnemar import mcnemar as mcnemar
    from fairstats.inference.multiplicity import adjust_pvalues as adjust_pvalues
    from fairstats.problems import InputError as InputError
    from fairstats.problems import Problem as Problem
    from fairstats.release import publish as publish
    from fairstats.schema import answers_schema as answers_schema
    from fairstats.validation import validate_answers as validate_answers

__version__ = "0.1.0"

_HOMES = {
    "Benchmark": "fairstats.benchmarks",
    "InputError": "fairstats.problems",
    "Problem": "fairstats.problems",
    "adjust_pvalues": "fairstats.inference.multiplicity",
    "analyze": "fairstats.analysis",
    "answers_schema": "fairstats.schema",
    "count_outcomes": "fairstats.counts",
    "load_benchmark": "fairstats.benchmarks",
    "mcnemar": "fairstats.inference.mcnemar",
    "publish": "fairstats.release",
    "read_answers": "fairstats.answers",
    "tango": "fairstats.inference.intervals",
    "validate_answers": "fairstats.validation",
    "wilson": "fairstats.inference.intervals",
    "write_answers": "fairstats.answers",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fairstats' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
