"""How much each gap varies between items and between models, with limits for a new model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

import pandas as pd

from fairstats.benchmarks.declaration import Benchmark
from fairstats.counts.missing_policies import CountingPolicy
from fairstats.estimates.item_functioning import paired_differences
from fairstats.inference._checks import check_alpha
from fairstats.inference.variance_components import GapComponents, gap_components

_PAIR = ["benchmark", "benchmark_version", "attribute", "group_a", "group_b"]
#: Columns of the table from `gap_heterogeneity`, in order.
HETEROGENEITY_COLUMNS = (*_PAIR, *(field.name for field in fields(GapComponents)), "missing")


def gap_heterogeneity(
    answers: Any,
    *,
    missing: CountingPolicy | None = None,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Split the variation of each gap into items, models and the rest, and predict a new model's.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table of several models. To use one strategy, select its answers first.
    missing : {"available", "complete", "incorrect"}, optional
        By default the benchmark's. ``available`` uses the pairs with both answers, like
        ``complete``.
    alpha : float
        1 − level of the limits.
    benchmarks : iterable of Benchmark
        Additional benchmarks, or replacements for built-in ones.

    Returns
    -------
    pandas.DataFrame
        `HETEROGENEITY_COLUMNS`, one row per declared pair, with the results of
        `gap_components`. A model's difference on an item is the mean over its strategies
        and samples. Models that took part in selecting the items are left out.

    Raises
    ------
    InputError
        As `fairstats.analyze`, and if the benchmark's policy is ``bounds``.
    ValueError
        For an unknown policy, or alpha outside (0, 1).

    References
    ----------
    As in `gap_components`.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", strategy="plain", sample=0,
    ...            attribute="race", answer_key="C")
    >>> letters = {"i1": "CB", "i2": "CC", "i3": "BC"}
    >>> answers = pd.DataFrame([row | dict(model=f"m-{m}", item_id=item, group=group, answer=letter)
    ...                         for m in range(4) for item, pair in letters.items()
    ...                         for group, letter in zip(("white", "black"), pair)])
    >>> table = gap_heterogeneity(answers)
    >>> table[["estimate", "item_variance", "n_models"]].round(4).values.tolist()
    [[0.0, 1.0, 4.0]]
    """
    alpha = check_alpha(alpha)
    differences = paired_differences(answers, missing, benchmarks)
    rows = []
    for pair, own in differences.groupby(_PAIR, sort=True):
        matrix = own.pivot_table("difference", "item_id", "model", aggfunc="mean")
        found = gap_components(matrix, alpha=alpha).to_frame().iloc[0].to_dict()
        rows.append(
            dict(zip(_PAIR, pair, strict=True)) | found | {"missing": own["missing"].iloc[0]}
        )
    return pd.DataFrame(rows, columns=list(HETEROGENEITY_COLUMNS))
