"""The smallest margin at which each pair of groups counts as equivalent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pandas as pd

from fairstats.benchmarks.declaration import BASELINE, Benchmark
from fairstats.counts.missing_policies import CountingPolicy
from fairstats.counts.outcomes import PAIR_COLUMNS
from fairstats.estimates.analyze import estimates_of, rows_with
from fairstats.estimates.counts_for_estimates import fold_for_estimates
from fairstats.estimates.sensitivity import figures_of, judged_pairs, smallest_margin
from fairstats.inference._checks import check_choice

#: The columns of `smallest_margins`, in order.
MARGIN_COLUMNS = (
    *PAIR_COLUMNS,
    "difference",
    "ci_low",
    "ci_high",
    "smallest_margin",
    "declared_margin",
    "verdict",
)


def smallest_margins(
    answers: Any,
    missing: CountingPolicy | None = None,
    alpha: float = 0.05,
    *,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
    attributes: Collection[str] | None = None,
) -> pd.DataFrame:
    """Compute the margin above which each pair of groups counts as equivalent.

    The smallest margin is the largest distance from 0 of the limits of the 1 − 2 alpha interval of
    the accuracy difference, over all completions of the missing answers. At any larger margin, two
    one-sided tests at level alpha show that the difference is within it.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table.
    missing : {"available", "complete", "incorrect"}, optional
        The policy for missing answers; by default the one declared by each benchmark.
    alpha : float
        The level of each one-sided test, below 0.5. It holds for each pair separately.
    benchmarks : iterable of Benchmark
        Additional benchmarks, or replacements for built-in ones.
    attributes : collection of str, optional
        The attributes whose rows are returned.

    Returns
    -------
    pandas.DataFrame
        One row per demographic pair, with columns `MARGIN_COLUMNS`, in the order of the estimates:
        `difference` with the limits of its 1 − 2 alpha interval, `smallest_margin`, the margin that
        the benchmark declares, and the verdict at that margin. The smallest margin is NaN if no
        margin will do: for a model that answers no better than a guess, one that selected the
        items, groups without answers, and groups that were not asked the same questions.

    Raises
    ------
    InputError
        As `analyze`.
    ValueError
        For an unknown policy or attribute, or alpha outside (0, 0.5).

    References
    ----------
    Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15:657-680, for the two
    one-sided tests.

    Examples
    --------
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> demo = load_benchmark("demo")
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain", sample=0,
    ...            status="ok")
    >>> answers = pd.DataFrame([row | dict(item_id=item, attribute=attribute, group=group,
    ...                                    answer=key, answer_key=key)
    ...                         for item, key in demo.answer_keys.items()
    ...                         for attribute, group in demo.variants])
    >>> found = smallest_margins(answers)
    >>> found.loc[found["attribute"] == "sex", ["smallest_margin", "verdict"]].round(3)
       smallest_margin       verdict
    1            0.101  inconclusive
    """
    if missing is not None:
        check_choice("missing", missing, ("available", "complete", "incorrect"))
    folded = fold_for_estimates(answers, benchmarks)
    estimates = estimates_of(folded, missing, alpha, whole=False)
    published = figures_of(estimates)
    published = published[published.index.get_level_values("attribute") != BASELINE]
    tables = [
        pairs.published.assign(
            difference=pairs.published["estimate"],
            ci_low=pairs.inner[0],
            ci_high=pairs.inner[1],
            smallest_margin=smallest_margin(pairs),
            declared_margin=pairs.margin,
        )
        for pairs in judged_pairs(folded, published, estimates, alpha)
    ]
    if not tables:
        return pd.DataFrame(columns=list(MARGIN_COLUMNS))
    found = pd.concat(tables).reindex(published.index).reset_index()
    return rows_with(found[list(MARGIN_COLUMNS)], "attribute", attributes)
