"""The groups of an attribute for tests of its metrics, from how many items have which answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from fairstats.benchmarks.declaration import Benchmark
from fairstats.counts.grid import grid
from fairstats.counts.patterns import GroupAnswers
from fairstats.metrics.metric import Groups, GroupsMetric
from tests.make_answers import make_answers


def make_groups(benchmark: Benchmark, *tables: Mapping[str, int], **options: Any) -> Groups:
    """Return the groups of race.

    Parameters
    ----------
    benchmark : Benchmark
        Declares the groups.
    *tables : mapping of str to int
        For each answer set, the number of items by their text in `make_answers`.
    **options : object
        Of `Groups`.
    """
    race = benchmark.attributes["race"]
    of = {"groups": list(race.groups), "benchmark": benchmark.name}
    answers = [make_answers(own, model=f"{i:03}", **of) for i, own in enumerate(tables)]
    found = grid(pd.concat(answers, ignore_index=True), benchmarks=[benchmark])[benchmark.name]
    numbers = [list(own.values()) for own in tables]
    places = [int(item.removeprefix("item-")) for item in found.items]
    many = [numbers[unit][place] for unit, place in zip(found.unit, places, strict=True)]
    joined = replace(found, many=np.array(many), item=np.zeros(0, dtype=np.int64))
    own = GroupAnswers.of(joined, race)
    return Groups(own, **options)


def rows_of(metric: GroupsMetric, groups: Groups) -> list[dict[str, Any]]:
    """Return the rows of a metric, one per answer set."""
    columns = metric.compute(groups).items()
    return [
        {name: value[unit] if np.ndim(value) else value for name, value in columns}
        for unit in range(len(groups.units))
    ]


def row_of(metric: GroupsMetric, groups: Groups) -> dict[str, Any]:
    """Return the row of a metric for one answer set."""
    (row,) = rows_of(metric, groups)
    return row
