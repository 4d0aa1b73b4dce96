"""All metrics, in the order of the estimates table."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import fairstats.metrics
from fairstats.metrics.metric import (
    GroupsMetric,
    KeyMetric,
    Metric,
    NumberMetric,
    PairMetric,
    SampleMetric,
)


def _declared() -> list[Metric]:
    """Return every `Metric` at the top level of a file in this folder, in the tables' order."""
    found: dict[int, Metric] = {}
    for file in pkgutil.iter_modules(fairstats.metrics.__path__, "fairstats.metrics."):
        if file.name != __name__:
            values = vars(import_module(file.name)).values()
            found |= {id(value): value for value in values if isinstance(value, Metric)}
    return sorted(found.values(), key=lambda metric: (metric.order, metric.name))


def _by_name() -> dict[str, Metric]:
    """Return all metrics by name; one of the key can have the name of its base."""
    found: dict[str, Metric] = {}
    for metric in _DECLARED:
        if isinstance(metric, KeyMetric) and metric.name == metric.base.name:
            continue
        if metric.name in found:
            raise ValueError(f"two metrics are named {metric.name!r}; rename one")
        found[metric.name] = metric
    return found


_DECLARED = _declared()
METRICS = _by_name()
#: Grouped by the data they are computed from.
PAIR_METRICS = [metric for metric in _DECLARED if isinstance(metric, PairMetric)]
NUMBER_METRICS = [metric for metric in _DECLARED if isinstance(metric, NumberMetric)]
KEY_METRICS = [metric for metric in _DECLARED if isinstance(metric, KeyMetric)]
SAMPLE_METRICS = [metric for metric in _DECLARED if isinstance(metric, SampleMetric)]
GROUPS_METRICS = [metric for metric in _DECLARED if isinstance(metric, GroupsMetric)]


def metrics_table() -> str:
    """Return all metrics as a Markdown table, for the methods page and docs/estimates.md."""
    # Pandoc sets the column widths from the dashes.
    rows = [
        "| Figure | Definition | Range | Interval |",
        f"|:{'-' * 30}|:{'-' * 45}|:{'-' * 10}|:{'-' * 25}|",
    ]
    for metric in METRICS.values():
        formula = metric.formula and f" ${metric.formula}$"
        figure = f"{metric.label_of()} (`{metric.name}`)"
        cells = (figure, metric.definition + formula, metric.range, metric.interval or "none")
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"
