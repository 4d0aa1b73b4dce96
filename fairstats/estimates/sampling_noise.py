"""Sampling noise: which part of a figure's variance comes from repeated samples of a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.problems import input_error
from fairstats._lib.result_objects import FloatArray
from fairstats.answers.engine_frames import open_pairs
from fairstats.benchmarks.declaration import BASELINE, Benchmark
from fairstats.counts.outcomes import outcomes_of
from fairstats.counts.patterns import PAIR_COLUMNS, CountingPolicy, GroupAnswers, IntArray
from fairstats.inference._checks import check_choice
from fairstats.inference.clustered_answers import (
    SamplingVariance,
    agreement_noise,
    proportion_noise,
    sampling_variance,
)

#: Columns of the table from `sampling_noise`, in order.
SAMPLING_NOISE_COLUMNS = (
    *PAIR_COLUMNS,
    "metric",
    "estimate",
    "std_error",
    "variance_items",
    "variance_groups",
    "variance_samples",
    "share_items",
    "share_groups",
    "share_samples",
    "std_error_unlimited",
    "interval_saved",
    "items_equivalent",
    "n",
    "samples",
    "missing",
    "method_note",
)


def sampling_noise(
    answers: Any,
    *,
    missing: CountingPolicy | None = None,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    r"""Split the variance of accuracy and CFR into items, groups and repeated samples.

    A right answer is y = item + group + item × group + sample. The variance of a figure over
    further items and samples is the sum of three parts: items (their difficulty), groups (the
    effect of the group differs between items) and samples (the same prompt gets different answers).

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table, with several samples per item and variant.
    missing : {"available", "complete", "incorrect"}, optional
        By default the benchmark's. Under ``incorrect``, a missing answer is wrong and differs from
        every other; under the others, it does not count.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in.

    Returns
    -------
    pandas.DataFrame
        `SAMPLING_NOISE_COLUMNS`, one row per unit, declared pair and metric: ``accuracy`` (mean of
        both groups), ``accuracy_difference`` and ``cfr``. The three variances add up to
        ``std_error``². They are unbiased, so they can be negative; shares count these as 0.
        ``std_error_unlimited`` is the standard error with unlimited samples of the same items, and
        ``interval_saved`` the share of the interval's width that would vanish.
        ``items_equivalent`` is the number of items that would save as much with the present number
        of samples; NaN if all variance seems to come from samples. ``n`` is the number of items,
        and ``samples`` their mean number of answers per group. ``method_note`` names negative
        variances.

    Raises
    ------
    InputError
        As `fairstats.analyze`, and if the benchmark's policy is ``bounds``.
    ValueError
        For an unknown policy.

    Notes
    -----
    Items have equal weight. Only items with at least two answers for each group count. Without such
    items, the standard error is that of all items, and its parts are NaN. More items reduce all
    parts, more samples only the samples' part. Items cancel out of the difference. CFR compares the
    groups itself, so its ``variance_groups`` is NaN. If the benchmark declares a cluster, further
    clusters are drawn, not further items: what the items of a cluster share counts in full.

    With s samples, the samples' part of accuracy and its difference is proportional to 1 / s. That
    of CFR falls a little faster. Noise also lowers CFR itself, and more samples do not change that:
    see ``excess_disagreement`` in the estimates.

    References
    ----------
    Searle, Casella & McCulloch (1992), Variance Components, chapter 4; Miller (2024),
    arXiv:2411.00640, for questions and resampled answers of language models. Checked against R's
    ``aov`` (tests/r/sampling_variance.R).

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain",
    ...            attribute="race", answer_key="C")
    >>> letters = {"white": ["CC", "CB", "CC", "BB"], "black": ["CB", "BB", "CC", "BC"]}
    >>> answers = pd.DataFrame([row | dict(item_id=f"i{i}", group=group, sample=s, answer=letter)
    ...                         for group, items in letters.items()
    ...                         for i, item in enumerate(items) for s, letter in enumerate(item)])
    >>> table = sampling_noise(answers).set_index("metric")
    >>> table[["std_error", "share_samples"]].round(3).loc["accuracy"].tolist()
    [0.188, 0.333]
    """
    if missing is not None:
        check_choice("missing", missing, get_args(CountingPolicy))
    rows: list[dict[str, Any]] = []
    for name, outcomes in outcomes_of(open_pairs(answers, benchmarks)).items():
        policy = missing or outcomes.benchmark.missing
        if policy == "bounds":
            message = f"{name} has the policy bounds, which gives no answers to count"
            raise input_error("missing", message, "choose another policy")
        for attribute, own in outcomes.groups.items():
            if attribute == BASELINE:
                continue
            units = own.grid.units.itertuples(index=False, name=None)
            for unit, names in enumerate(units):
                here = own.grid.unit == unit
                for a, b in own.attribute.pairs if here.any() else ():
                    keys = dict(zip(PAIR_COLUMNS, (*names, attribute, a, b), strict=True))
                    parts = _of_pair(own, (a, b), here, policy)
                    rows += [keys | part | {"missing": policy} for part in parts]
    return pd.DataFrame(rows, columns=list(SAMPLING_NOISE_COLUMNS))


def _of_pair(
    own: GroupAnswers, pair: tuple[str, str], here: npt.NDArray[np.bool_], policy: CountingPolicy
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one pair of groups, over these rows of items."""
    places = [list(own.attribute.groups).index(group) for group in pair]
    kind = own.grid.benchmark.kind
    n = own.right + own.wrong + (own.missing if policy == "incorrect" and not kind.numeric else 0)
    least = n[:, places].min(axis=1)
    # Noise is known from items with two answers; those with one would have other noise.
    kept = here & (least > 1)
    kept = kept if kept.any() else here & (least > 0)
    if not kept.any():
        return
    items = own.grid.many[kept]
    letters_a, letters_b = (own.letters(place)[kept] for place in places)
    n_a, n_b = (n[kept, place] for place in places)
    if kind.numeric:
        (mean_a, noise_a), (mean_b, noise_b) = (
            _mean_and_noise(letters, own.grid.values) for letters in (letters_a, letters_b)
        )
    else:
        right_a, right_b = (own.right[kept, place] for place in places)
        mean_a, mean_b = right_a / n_a, right_b / n_b
        noise_a, noise_b = proportion_noise(right_a, n_a), proportion_noise(right_b, n_b)
    units = own.grid.cluster[kept] if len(own.grid.cluster) else None
    difference = sampling_variance(mean_a - mean_b, noise_a + noise_b, items, units)
    mean = sampling_variance((mean_a + mean_b) / 2, (noise_a + noise_b) / 4, items, units)
    same = (letters_a @ own.grid.alike * letters_b).sum(axis=1) / (n_a * n_b)
    cfr = sampling_variance(same, agreement_noise(letters_a, letters_b, n_a, n_b), items, units)
    facts = {"n": mean.n, "samples": float(items @ (n_a + n_b) / (2 * items.sum()))}
    # Half of the difference varies around the mean of both groups.
    groups = difference.variance_items / 4
    rate = kind.rate_a.removesuffix("_a")
    yield _row(rate, mean, mean.variance_items - groups, groups) | facts
    yield _row(kind.difference, difference, 0.0, difference.variance_items) | facts
    # Its noise is known for answers that are the same or not.
    if not own.grid.benchmark.same_within:
        yield _row("cfr", cfr, cfr.variance_items, float("nan")) | facts


def _mean_and_noise(letters: IntArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each item's mean, and an unbiased estimate of its variance over samples."""
    n = letters.sum(axis=1)
    mean = letters @ values / n
    squares = (letters * (values - mean[:, None]) ** 2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return mean, np.where(n > 1, squares / (n - 1) / n, np.nan)


def _row(metric: str, found: SamplingVariance, items: float, groups: float) -> dict[str, Any]:
    parts = np.array([items, groups, found.variance_samples])
    # Items and groups divide what the samples leave.
    others = np.maximum(np.nan_to_num(parts[:2]), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = (1 - found.share_samples) * others / others.sum() if others.any() else 0 * others
    shares = np.where(np.isnan(parts[:2]) | np.isnan(found.share_samples), np.nan, shares)
    shares = np.append(shares, found.share_samples)
    saved = 1 - float(np.sqrt(1 - shares[2]))
    equivalent = found.n / (1 - shares[2]) if shares[2] < 1 else float("nan")
    names = ("items", "groups", "samples")
    negative = [name for name, part in zip(names, parts, strict=True) if part < 0]
    note = f"the variance of {' and '.join(negative)} is below 0; its share is 0"
    return (
        {"metric": metric, "estimate": found.estimate, "std_error": found.std_error}
        | {f"variance_{name}": float(part) for name, part in zip(names, parts, strict=True)}
        | {f"share_{name}": float(share) for name, share in zip(names, shares, strict=True)}
        | {
            "std_error_unlimited": found.std_error_unlimited,
            "interval_saved": saved,
            "items_equivalent": equivalent,
            "method_note": note if negative else "",
        }
    )
