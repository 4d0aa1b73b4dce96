"""All metrics, in the order of the estimates table."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import fairstats.metrics
from fairstats.metrics.metric import GroupsMetric, Metric, PairMetric, SampleMetric


def _found() -> dict[str, Metric]:
    """Every `Metric` at the top level of a file of this folder, by its name."""
    found: dict[str, Metric] = {}
    for file in pkgutil.iter_modules(fairstats.metrics.__path__, "fairstats.metrics."):
        if file.name == __name__:
            continue
        for value in vars(import_module(file.name)).values():
            if isinstance(value, Metric) and found.setdefault(value.name, value) is not value:
                raise ValueError(
                    f"two metrics are named {value.name!r}; rename that in {file.name}"
                )
    return dict(sorted(found.items(), key=lambda named: (named[1].order, named[0])))


METRICS = _found()
#: By what they are computed from.
PAIR_METRICS = [metric for metric in METRICS.values() if isinstance(metric, PairMetric)]
SAMPLE_METRICS = [metric for metric in METRICS.values() if isinstance(metric, SampleMetric)]
GROUPS_METRICS = [metric for metric in METRICS.values() if isinstance(metric, GroupsMetric)]
