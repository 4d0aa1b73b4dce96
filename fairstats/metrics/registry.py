"""All metrics, in the order of the estimates table."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import fairstats.metrics
from fairstats.metrics.metric import GroupsMetric, Metric, PairMetric, SampleMetric


def _found() -> dict[str, Metric]:
    """Return every `Metric` at the top level of a file in this folder, by name."""
    found: dict[str, Metric] = {}
    for file in pkgutil.iter_modules(fairstats.metrics.__path__, "fairstats.metrics."):
        if file.name == __name__:
            continue
        for value in vars(import_module(file.name)).values():
            if isinstance(value, Metric) and found.setdefault(value.name, value) is not value:
                raise ValueError(
                    f"two metrics are named {value.name!r}; rename the one in {file.name}"
                )
    return dict(sorted(found.items(), key=lambda named: (named[1].order, named[0])))


METRICS = _found()
#: Grouped by the data they are computed from.
PAIR_METRICS = [metric for metric in METRICS.values() if isinstance(metric, PairMetric)]
SAMPLE_METRICS = [metric for metric in METRICS.values() if isinstance(metric, SampleMetric)]
GROUPS_METRICS = [metric for metric in METRICS.values() if isinstance(metric, GroupsMetric)]


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
