"""A table of every estimate under each policy for missing answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from fairstats.benchmarks.declaration import MISSING_POLICIES, Benchmark
from fairstats.counts.outcomes import PAIR_COLUMNS
from fairstats.estimates.analyze import estimates_of
from fairstats.estimates.counts_for_estimates import fold_for_estimates

_KEYS = [*PAIR_COLUMNS, "metric"]
_SHOWN = ("estimate", "ci_low", "ci_high", "n")
_MISSING = ["n_missing_a", "n_missing_b"]


def compare_policies(
    answers: Any,
    *,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Compute every estimate under all four policies for missing answers, for comparison.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table.
    alpha : float
        1 − confidence level.
    benchmarks : iterable of Benchmark
        Additional benchmarks, or replacements for built-in ones.

    Returns
    -------
    pandas.DataFrame
        `PAIR_COLUMNS`, ``metric``, ``n_missing_a``, ``n_missing_b``, and for each of available,
        complete and incorrect the estimate, its limits and n, e.g. ``estimate_available``,
        ``ci_low_available``; ``lowest`` and ``highest`` are the bounds over all fill-ins. Metrics
        without bounds (tests, odds ratios) are left out.

    Raises
    ------
    InputError
        As `analyze`.

    Notes
    -----
    If no answers are missing, the policies agree. If a conclusion changes between policies, it
    depends on unknown answers. If it holds from lowest to highest, it does not.

    References
    ----------
    Manski (2003), Partial Identification of Probability Distributions, for the bounds.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain", sample=0,
    ...            attribute="race", answer_key="C", item_id="demo-01")
    >>> answers = pd.DataFrame([row | dict(group="white", answer="C"),
    ...                         row | dict(group="black", answer=None)])
    >>> table = compare_policies(answers).set_index("metric")
    >>> shown = ["estimate_available", "estimate_incorrect", "lowest", "highest"]
    >>> table.loc["accuracy_b", shown].tolist()
    [nan, 0.0, 0.0, 1.0]
    """
    tables = {}
    folded = fold_for_estimates(answers, benchmarks)
    for policy in MISSING_POLICIES:
        estimates = estimates_of(folded, policy, alpha)
        shown = estimates[estimates["test"].isna() & (estimates["metric"] != "odds_ratio")]
        tables[policy] = shown[~shown["metric"].eq("accuracy_difference_simultaneous")]
    bounds = tables.pop("bounds")
    found = bounds[[*_KEYS, *_MISSING, "ci_low", "ci_high"]].rename(
        columns={"ci_low": "lowest", "ci_high": "highest"}
    )
    for policy, table in tables.items():
        names = {column: f"{column}_{policy}" for column in _SHOWN}
        found = found.merge(table[[*_KEYS, *_SHOWN]].rename(columns=names), on=_KEYS, how="left")
    ordered = [f"{column}_{policy}" for policy in tables for column in _SHOWN]
    return found[[*_KEYS, *_MISSING, *ordered, "lowest", "highest"]]
