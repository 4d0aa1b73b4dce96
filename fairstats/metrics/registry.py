"""All metrics, in the order of the estimates table."""

from __future__ import annotations

import pkgutil
from collections.abc import Collection
from importlib import import_module

import fairstats.metrics
from fairstats.benchmarks.kinds import KINDS
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
    # One of the key can have the name of its base.
    names: dict[tuple[str, type[Metric]], Metric] = {}
    for file in pkgutil.iter_modules(fairstats.metrics.__path__, "fairstats.metrics."):
        if file.name != __name__:
            for value in vars(import_module(file.name)).values():
                if not isinstance(value, Metric):
                    continue
                key = (value.name, KeyMetric if isinstance(value, KeyMetric) else Metric)
                if names.setdefault(key, value) is not value:
                    message = f"two metrics are named {value.name!r}; rename the one in {file.name}"
                    raise ValueError(message)
                found[id(value)] = value
    return sorted(found.values(), key=lambda metric: (metric.order, metric.name))


def _by_name() -> dict[str, Metric]:
    """Return all metrics by name; of two with one name, the base of the one of the key."""
    return {
        metric.name: metric
        for metric in _DECLARED
        if not (isinstance(metric, KeyMetric) and metric.name == metric.base.name)
    }


_DECLARED = _declared()
METRICS = _by_name()
#: Grouped by the data they are computed from.
PAIR_METRICS = [metric for metric in _DECLARED if isinstance(metric, PairMetric)]
NUMBER_METRICS = [metric for metric in _DECLARED if isinstance(metric, NumberMetric)]
KEY_METRICS = [metric for metric in _DECLARED if isinstance(metric, KeyMetric)]
SAMPLE_METRICS = [metric for metric in _DECLARED if isinstance(metric, SampleMetric)]
GROUPS_METRICS = [metric for metric in _DECLARED if isinstance(metric, GroupsMetric)]


def metrics_table(
    kinds: Collection[str] = tuple(KINDS), there: Collection[str] | None = None
) -> str:
    """Return all metrics of these kinds of answers as a Markdown table.

    For the methods page of a release, with the metrics that are `there`, and for the docs' site.
    With several kinds, a column says which of them have the figure.
    """
    several = len(kinds) > 1
    # Pandoc sets the column widths from the dashes.
    widths = {"Figure": 30, "Definition": 45, "Kinds": 12, "Range": 10, "Interval": 25}
    names = [name for name in widths if several or name != "Kinds"]
    rows = [
        f"| {' | '.join(names)} |",
        f"|{'|'.join(':' + '-' * widths[name] for name in names)}|",
    ]
    for metric in METRICS.values():
        own = [kind for kind in kinds if kind in kinds_of(metric)]
        if not own or (there is not None and metric.name not in there):
            continue
        formula = metric.formula and f" ${metric.formula}$"
        cells = {
            "Figure": f"{metric.label_of()} (`{metric.name}`)",
            "Definition": metric.definition + formula,
            "Kinds": "all" if len(own) == len(kinds) else ", ".join(own),
            "Range": metric.range,
            "Interval": metric.interval or "none",
        }
        rows.append(f"| {' | '.join(cells[name] for name in names)} |")
    return "\n".join(rows) + "\n"


def kinds_of(metric: Metric) -> tuple[str, ...]:
    """Return the kinds of answers with a metric of this name, with or without a key."""
    of_key = [one.kinds for one in KEY_METRICS if one.name == metric.name]
    return tuple(dict.fromkeys([*metric.kinds, *(kind for kinds in of_key for kind in kinds)]))
