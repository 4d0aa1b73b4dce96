"""How verdicts depend on the analyst's choices: policy, interval, test, adjustment and margin."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import naming_effect
from fairstats.answers.engine_frames import UNIT_COLUMNS, OpenAnswers, open_answers
from fairstats.benchmarks.declaration import (
    BASELINE,
    MISSING_POLICIES,
    POOLED,
    Benchmark,
    MissingPolicy,
)
from fairstats.counts.outcomes import Outcomes, outcomes_of, texts_asked
from fairstats.counts.patterns import PAIR_COLUMNS, CountingPolicy
from fairstats.estimates.analyze import estimates_of, rows_with
from fairstats.estimates.judgements import Judgements, judge
from fairstats.inference._checks import check_alpha, check_choice, check_margin
from fairstats.inference.differences import DifferenceMethod, difference_interval
from fairstats.inference.mcnemar import McNemarMethod
from fairstats.inference.multiplicity import AdjustMethod
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.metrics.accuracy import proportion
from fairstats.metrics.mcnemar import FLIPPING

INTERVALS: tuple[DifferenceMethod, ...] = get_args(DifferenceMethod)
TESTS: tuple[McNemarMethod, ...] = get_args(McNemarMethod)
#: The interval of the estimates table: Tango's, or the one that its answers need.
DEFAULT: Literal["default"] = "default"
IntervalChoice = DifferenceMethod | Literal["default"]
#: The choices that make up a specification; the prompt is the column ``strategy``.
CHOICES = ("missing", "interval", "test", "adjust", "margin")
#: The margins that are always among the choices of a specification, with the benchmark's margin.
MARGINS = (0.01, 0.02, 0.03, 0.05)
#: The choices that are varied one at a time, in row order within a pair.
MISSING, INTERVAL, TEST, MARGIN = ASPECTS = ("missing", "interval", "test", "margin")
#: For this choice of a margin, the estimate is the smallest one at which a pair is equivalent.
SMALLEST = "smallest"
#: The margins for which verdicts are given one at a time, with the benchmark's margin.
SENSITIVITY_MARGINS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1)

_FIGURES = ("estimate", "ci_low", "ci_high", "p_value", "p_adjusted")
#: Columns of the table from `specification_curve`, in order.
SPECIFICATION_COLUMNS = (*PAIR_COLUMNS, *CHOICES, *_FIGURES, "verdict", "caution", "published")
#: Columns of the table from `sensitivity_of`, in order.
SENSITIVITY_COLUMNS = (*PAIR_COLUMNS, "aspect", "choice", *_FIGURES, "verdict", "published")
#: Columns of the table from `specification_shares` by pair, in order.
SHARE_COLUMNS = (
    *(name for name in PAIR_COLUMNS if name != "strategy"),
    "specifications",
    DISPARITY,
    EQUIVALENT,
    INCONCLUSIVE,
    "no_verdict",
    "lowest",
    "highest",
    "caution",
)
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
Columns = dict[str, Any]


def specification_curve(
    answers: Any,
    *,
    missing: Sequence[CountingPolicy] = get_args(CountingPolicy),
    interval: Sequence[IntervalChoice] = ("default", "bonett_price", "newcombe"),
    test: Sequence[McNemarMethod] = TESTS,
    adjust: Sequence[AdjustMethod] = get_args(AdjustMethod),
    margin: Sequence[float] = MARGINS,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
    attributes: Collection[str] | None = None,
) -> pd.DataFrame:
    """Compute each pair's difference and verdict under all combinations of choices.

    A specification is one policy for missing answers, interval, test, adjustment and margin. The
    prompt is one more choice: answer sets of the same model with different prompts are rows with a
    different ``strategy``. `specification_shares` counts the verdicts.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table.
    missing : sequence of {"available", "complete", "incorrect"}
        The policies for missing answers. The policy ``bounds`` has no verdict; but no verdict of
        this table depends on missing answers.
    interval : sequence of {"default", "tango", "bonett_price", "newcombe", "wald", "bootstrap"}
        The intervals. ``default`` is the one of `analyze`. The others apply to the pairs that the
        policy's test uses, see `difference_interval`.
    test : sequence of {"midp", "exact", "asymptotic", "asymptotic_cc"}
        The tests, see `mcnemar`.
    adjust : sequence of {"holm", "hommel", "bh", "by"}
        The adjustments of the p-values over their families, see `adjust_pvalues`.
    margin : sequence of float
        The equivalence margins, shares in (0, 1); of levels and scores, shares of the scale. The
        margin that the benchmark declares is always added.
    alpha : float
        1 − confidence level, and the level of the verdicts; below 0.5.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in.
    attributes : collection of str, optional
        The attributes whose rows are returned.

    Returns
    -------
    pandas.DataFrame
        `SPECIFICATION_COLUMNS`, one row per pair and specification, with pairs in the order of the
        estimates. ``published`` marks the specification with the benchmark's policy and margin,
        the default interval, mid-p and Holm: it has the values of `analyze`. ``caution`` is what
        to know about "equivalent", see `fairstats.estimates.cautions`.

    Raises
    ------
    InputError
        As `analyze`.
    ValueError
        For a choice that is unknown or has no value, an unknown attribute, a margin outside
        (0, 1), or alpha outside (0, 0.5).

    Notes
    -----
    A choice applies to all answers at once: p-values are adjusted together with those of the other
    pairs under the same policy and test. "Equivalent" uses the 1 − 2 alpha interval of the same
    method. "Disparity" and "equivalent" hold for every completion of the missing answers, with the
    same test and adjustment. Tango's interval is used for the completions.

    A pair without a verdict in `analyze` (the baseline, a model that selected the items, groups
    that were not asked the same) has none under any specification. A group without answers has a
    NaN estimate. For clustered answers (several samples of an item, pooled attributes), only the
    specifications that exist for clusters are given: the default interval, with mid-p or exact.

    Wald's interval and the bootstrap are not among the default choices. Without discordant pairs
    they are a single point, and would call two items equivalent.

    References
    ----------
    Simonsohn, Simmons & Nelson (2020), Nature Human Behaviour 4:1208-1214.

    Examples
    --------
    >>> from fairstats import example_answers
    >>> answers = example_answers().query("attribute == 'race' and model == 'DeepSeek-V3'")
    >>> table = specification_curve(answers, test="midp", adjust="holm", margin=[])
    >>> table.loc[table["interval"] == "default", ["missing", "estimate", "verdict"]].round(3)
         missing  estimate    verdict
    0  available     0.223  disparity
    3   complete     0.221  disparity
    6  incorrect     0.208  disparity
    """
    alpha = check_alpha(alpha, below=0.5)
    policies = _checked("missing", missing, get_args(CountingPolicy))
    intervals = _checked("interval", interval, (DEFAULT, *INTERVALS))
    tests = _checked("test", test, TESTS)
    adjustments = _checked("adjust", adjust, get_args(AdjustMethod))
    margins = sorted({*np.atleast_1d(check_margin(margin)).tolist()})
    if isinstance(answers, pd.DataFrame) and answers.empty:
        return _joined([], SPECIFICATION_COLUMNS)
    counted = outcomes_of(open_answers(answers, benchmarks)).values()
    blocks: list[Columns] = []
    for policy in policies:
        judged = judge(counted, policy, alpha)
        p_values = {name: judged.p_values(name) for name in tests}
        adjusted = {
            (name, method): (
                judged.adjusted(p_values[name], method),
                judged.p_range_adjusted(method, name)[1],
            )
            for name, method in product(tests, adjustments)
        }
        for choice in intervals:
            estimate, low, high, inner = _limits(judged, choice)
            for (name, method), (p_adjusted, p_highest) in adjusted.items():
                exists = ~judged.clustered | (choice == DEFAULT and name in FLIPPING)
                usual = (choice, name, method) == (DEFAULT, "midp", "holm")
                block = {
                    "missing": policy,
                    "interval": choice,
                    "test": name,
                    "adjust": method,
                    "estimate": estimate,
                    "ci_low": low,
                    "ci_high": high,
                    "p_value": p_values[name],
                    "p_adjusted": p_adjusted,
                    "order": len(blocks),
                }
                for delta in (*margins, None):
                    # The declared margin may be among the given ones.
                    own = judged.margin if delta is None else delta * judged.span
                    new = delta is None or own != judged.margin
                    verdicts = judged.verdicts(
                        p_adjusted=p_adjusted, p_highest=p_highest, inner=inner, margin=own
                    )
                    verdict, careful = _known(judged, verdicts), judged.cautions.copy()
                    careful[(verdict != EQUIVALENT) | (careful == "")] = None
                    published = usual and delta is None
                    block |= {"margin": own, "verdict": verdict, "caution": careful}
                    block["published"] = published & (judged.declared == policy)
                    blocks.append(_rows(judged, block, exists & new))
    found = _joined(blocks, SPECIFICATION_COLUMNS, by=("margin", "order", "place"))
    return rows_with(found, "attribute", attributes)


def _checked(name: str, given: Any, allowed: Sequence[str]) -> Any:
    one = isinstance(given, str) or not isinstance(given, Iterable)
    values = [check_choice(name, value, allowed) for value in ([given] if one else given)]
    if not values:
        raise ValueError(f"{name} is empty; give at least one of {', '.join(allowed)}")
    return tuple(dict.fromkeys(values))


def _limits(judged: Judgements, method: IntervalChoice) -> tuple[Any, Any, Any, Any]:
    """Return the estimates, the limits at 1 − alpha, and those at 1 − 2 alpha."""
    if method == DEFAULT:
        own = judged.outer
        return own.estimate, own.ci_low, own.ci_high, judged.inner
    paired, alpha = judged.paired, judged.alpha
    outer, inner = (
        difference_interval(*paired.cells, method=method, alpha=level)
        for level in (alpha, 2 * alpha)
    )
    right_a, right_b = paired.n11 + paired.n10, paired.n11 + paired.n01
    estimate = proportion(right_a, paired.n) - proportion(right_b, paired.n)
    return estimate, outer.ci_low, outer.ci_high, (inner.ci_low, inner.ci_high)


def _known(judged: Judgements, verdicts: npt.NDArray[np.str_]) -> npt.NDArray[np.object_]:
    """Return the verdicts of the pairs that are judged."""
    found = verdicts.astype(object)
    found[~judged.judged] = None
    return found


def _rows(judged: Judgements, block: Columns, where: npt.NDArray[np.bool_]) -> Columns:
    """Return these pairs' rows of a table, with their keys and places."""
    every = block | judged.keys | {"place": judged.places}
    return {name: np.broadcast_to(column, len(where))[where] for name, column in every.items()}


def _joined(
    blocks: Sequence[Columns], names: Sequence[str], by: Sequence[str] = ()
) -> pd.DataFrame:
    """Join blocks of rows, sorted by these columns, the last one first; stable."""
    numbers = {*_FIGURES, "margin"}
    types = {name: "float64" if name in numbers else "str" for name in names} | {
        "published": "bool"
    }
    columns = {name: [block[name] for block in blocks] for name in (*names, *by)}
    found: Columns = {
        name: np.concatenate(parts) if parts else [] for name, parts in columns.items()
    }
    order = np.lexsort([found[name] for name in by]) if blocks else np.zeros(0, dtype=np.int64)
    return pd.DataFrame({name: np.asarray(found[name])[order] for name in names}).astype(types)


def sensitivity_of(
    answers: pd.DataFrame | OpenAnswers,
    missing: MissingPolicy | None,
    alpha: float,
    benchmarks: Mapping[str, Benchmark],
) -> pd.DataFrame:
    """Compute each pair's accuracy difference and verdict under each choice, varied one at a time.

    `missing` is the published policy of a release; None for the one declared by each benchmark.

    Returns
    -------
    pandas.DataFrame
        `SENSITIVITY_COLUMNS`, one row per pair and choice, with pairs in the order of the
        estimates. ``published`` marks the published choice, with the same values as in the
        estimates table. ``aspect`` names the choice:

        ``missing``
            The policy for missing answers. Under ``bounds``, the limits are the range over all
            fill-ins, p is the highest, and there is no verdict.
        ``interval``
            The interval's method, `INTERVALS`, applied to the pairs used by the policy's paired
            estimates: those with both answers, or all under ``incorrect``. p is that of the
            published test. The verdict takes equivalence from that method's 1 − 2 alpha interval.
            If the published estimate uses all answers of each group, its method is listed as a
            separate choice, named as in the estimates.
        ``test``
            McNemar's test, `TESTS`, adjusted by Holm's procedure over the published family. The
            estimate and its limits are the published ones.
        ``margin``
            The equivalence margin, as a proportion: `SENSITIVITY_MARGINS` and the benchmark's. The
            values are the published ones. The choice ``smallest`` has another meaning. Its estimate
            is the margin above which the pair counts as equivalent. Its limits are those of the 1 −
            2 alpha interval, and its verdict is the one below that margin.

    Notes
    -----
    A changed policy applies to the whole release: the p-values of all pairs are computed under it
    and adjusted together.

    Some pairs have no published verdict (the baseline, a model that selected the items, groups that
    were not asked the same). These have no verdict under other intervals, tests or margins either,
    and no smallest margin. A verdict under another choice is "inconclusive" if missing answers
    could change *it*. The intervals of all completions of the missing answers must also be inside
    the smallest margin. A pair that is never called equivalent, such as one of a
    guessing model, is not at any margin.

    For clustered answers (several samples of an item, pooled attributes), only choices that exist
    for clusters are given. These are the published interval, widened by its design effect, and the
    tests that flip items, mid-p and exact. In the families of the other tests they keep their
    mid-p. If the release publishes ``bounds``, there is no interval, test or margin to choose, and
    only the policies are given.

    Examples
    --------
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> demo = load_benchmark("demo")
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain", sample=0,
    ...            attribute="race")
    >>> answers = pd.DataFrame(
    ...     [row | dict(item_id=item, group=group, answer_key=key, answer=key if right else None)
    ...      for place, (item, key) in enumerate(demo.answer_keys.items())
    ...      for group, right in (("white", True), ("black", place > 7))])
    >>> table = sensitivity_of(answers, None, 0.05, {"demo": demo})
    >>> table.loc[table["aspect"] == "missing", ["choice", "estimate"]].round(3).values.tolist()
    [['available', 0.0], ['complete', 0.0], ['incorrect', 0.333], ['bounds', nan]]
    """
    if isinstance(answers, pd.DataFrame) and answers.empty:
        return _joined([], SENSITIVITY_COLUMNS)
    counted = outcomes_of(open_answers(answers, benchmarks)).values()
    judged = judge(counted, missing, alpha)
    blocks = [*_policies(judged, counted, missing), *_intervals(judged), *_tests(judged)]
    # The blocks are in the order of aspects and choices; a stable sort keeps it within a pair.
    table = _joined([*blocks, *_margins(judged)], SENSITIVITY_COLUMNS, by=("place",))
    asked = texts_asked(table, counted)
    return table[asked["a"] & asked["b"]].reset_index(drop=True)


def _figures(judged: Judgements) -> Columns:
    """Return the published figures of each pair; under ``bounds``, the range over all fill-ins."""
    outer = judged.outer
    estimate, low, high = outer.estimate, outer.ci_low, outer.ci_high
    if judged.bounds.any():
        least, most = judged.fill_ins
        value = np.where(least == most, least, np.nan)
        estimate = np.where(judged.bounds, value, estimate)
        low, high = np.where(judged.bounds, least, low), np.where(judged.bounds, most, high)
    return {
        "estimate": estimate,
        "ci_low": low,
        "ci_high": high,
        "p_value": judged.p_values(),
        "p_adjusted": judged.p_adjusted(),
        "verdict": judged.published[0],
    }


def _policies(
    judged: Judgements, counted: Iterable[Outcomes], missing: MissingPolicy | None
) -> Iterator[Columns]:
    every, own = np.ones(len(judged.bounds), dtype=bool), _figures(judged)
    for policy in MISSING_POLICIES:
        used, figures = (judged.declared if missing is None else missing) == policy, own
        if not np.all(used):
            other = _figures(judge(counted, policy, judged.alpha))
            # If other benchmarks have another policy, the published p-values have another family.
            figures = {name: np.where(used, own[name], other[name]) for name in own}
        choice = {"aspect": MISSING, "choice": policy, "published": used}
        yield _rows(judged, figures | choice, every)


def _intervals(judged: Judgements) -> Iterator[Columns]:
    own, single = _figures(judged), ~judged.clustered & ~judged.bounds
    methods = np.broadcast_to(judged.outer.method, len(single))
    used = np.array(
        [naming_effect(*both) for both in zip(methods, judged.effect, strict=True)], dtype=object
    )
    # Cases that none of the methods below covers: unpaired answers, and clusters.
    other = ~judged.bounds & (~np.isin(used.astype(str), INTERVALS) | judged.clustered)
    choice = {"aspect": INTERVAL, "choice": used, "published": True}
    yield _rows(judged, own | choice, other)
    for method in INTERVALS:
        estimate, low, high, inner = _limits(judged, method)
        found = {"estimate": estimate, "ci_low": low, "ci_high": high}
        found["verdict"] = _known(judged, judged.verdicts(inner=inner))
        choice = {"aspect": INTERVAL, "choice": method, "published": used == method}
        yield _rows(judged, own | found | choice, single)


def _tests(judged: Judgements) -> Iterator[Columns]:
    for test in TESTS:
        p_values = judged.p_values(test)
        p_adjusted = judged.adjusted(p_values, "holm")
        highest = judged.p_range_adjusted("holm", test)[1]
        verdicts = judged.verdicts(p_adjusted=p_adjusted, p_highest=highest)
        found: Columns = {"p_value": p_values, "p_adjusted": p_adjusted}
        found["verdict"] = _known(judged, verdicts)
        choice = {"aspect": TEST, "choice": test, "published": test == "midp"}
        where = ~judged.bounds & (~judged.clustered | (test in FLIPPING))
        yield _rows(judged, _figures(judged) | found | choice, where)


def _margins(judged: Judgements) -> Iterator[Columns]:
    own, counts = _figures(judged), ~judged.bounds
    # Of levels and scores, the usual margins are shares of the scale.
    for share in sorted({*SENSITIVITY_MARGINS, *(judged.margin / judged.span).tolist()}):
        usual = share in SENSITIVITY_MARGINS
        # The declared margin has no rounding error.
        declared = share == judged.margin / judged.span
        margin = np.where(declared, judged.margin, share * judged.span)
        verdicts = _known(judged, judged.verdicts(margin=margin))
        texts = np.array([f"{one:g}" for one in margin], dtype=object)
        choice = {"aspect": MARGIN, "choice": texts, "published": declared}
        where = counts if usual else counts & declared
        yield _rows(judged, own | choice | {"verdict": verdicts}, where)
    found = {
        "estimate": judged.smallest_margin,
        "ci_low": judged.inner[0],
        "ci_high": judged.inner[1],
        "verdict": _known(judged, judged.verdicts_below_smallest()),
    }
    choice = {"aspect": MARGIN, "choice": SMALLEST, "published": False}
    yield _rows(judged, own | found | choice, counts)


def specification_shares(
    specifications: pd.DataFrame, *, by: Literal["pair", "model"] = "pair"
) -> pd.DataFrame:
    """Compute the share of specifications in which each verdict holds.

    Parameters
    ----------
    specifications : pandas.DataFrame
        From `specification_curve`; select rows to leave out a prompt or another choice.
    by : {"pair", "model"}
        Per pair of groups, over all prompts of the model; or per model. A model's verdict in a
        specification is a disparity if any of its pairs has one, and equivalent if all pairs are
        equivalent. Baseline and pooled pairs do not count, as their answers are counted already.

    Returns
    -------
    pandas.DataFrame
        `SHARE_COLUMNS` by pair; by model, the columns of the pair and of the estimates are left
        out. The shares ``disparity``, ``equivalent``, ``inconclusive`` and ``no_verdict`` add up to
        1; ``lowest`` and ``highest`` are those of the estimates, ``caution`` those about
        "equivalent".

    Raises
    ------
    ValueError
        For an unknown `by`, or a table without a column of `specification_curve`.

    Notes
    -----
    The shares describe how far the verdict depends on the choices. They are not probabilities:
    specifications share their answers, and are not equally good.

    References
    ----------
    Simonsohn, Simmons & Nelson (2020), Nature Human Behaviour 4:1208-1214.

    Examples
    --------
    >>> table = pd.DataFrame([dict.fromkeys(SPECIFICATION_COLUMNS, "x")] * 4)
    >>> table = table.assign(estimate=0.1, verdict=["disparity"] * 3 + ["inconclusive"])
    >>> specification_shares(table)[["specifications", "disparity"]].values.tolist()
    [[4.0, 0.75]]
    """
    check_choice("by", by, ("pair", "model"))
    absent = [name for name in SPECIFICATION_COLUMNS if name not in specifications.columns]
    if absent:
        raise ValueError(
            f"specifications has no column {absent[0]!r}; give the table of specification_curve"
        )
    rows, keys = specifications, [name for name in SHARE_COLUMNS if name in PAIR_COLUMNS]
    columns = list(SHARE_COLUMNS)
    if by == "model":
        own = ~specifications["attribute"].isin([BASELINE, POOLED])
        rows, keys = _of_models(specifications[own]), list(UNIT_COLUMNS[:3])
        dropped = {"attribute", "group_a", "group_b", "lowest", "highest"}
        columns = [name for name in columns if name not in dropped]
    named = rows["verdict"].fillna("no_verdict")
    flags = {name: named.eq(name) for name in (DISPARITY, EQUIVALENT, INCONCLUSIVE, "no_verdict")}
    grouped = rows[[*keys, "estimate"]].assign(**flags).groupby(keys, sort=False)
    shares = grouped[list(flags)].mean()
    shares["specifications"] = grouped.size()
    shares["lowest"], shares["highest"] = grouped["estimate"].min(), grouped["estimate"].max()
    told = rows.drop_duplicates([*keys, "caution"]).dropna(subset="caution")
    shares["caution"] = told.groupby(keys)["caution"].agg("; ".join)
    return shares.reset_index()[columns]


def _of_models(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each model's verdict in each specification."""
    keys = [*UNIT_COLUMNS, *CHOICES]
    flags = {name: rows["verdict"].eq(name).fillna(False) for name in (DISPARITY, EQUIVALENT)}
    known = rows["verdict"].notna()
    grouped = rows[[*keys, "caution"]].assign(**flags, known=known).groupby(keys, sort=False)
    found = grouped.agg(
        any=(DISPARITY, "any"),
        all=(EQUIVALENT, "all"),
        known=("known", "all"),
        caution=("caution", "first"),
    )
    verdicts = np.where(found["all"], EQUIVALENT, INCONCLUSIVE)
    named = pd.Series(np.where(found["any"], DISPARITY, verdicts), index=found.index, dtype="str")
    # A pair without a verdict leaves the model without one, except next to a disparity.
    named = named.where(found["known"] | found["any"])
    found = found.assign(verdict=named, caution=found["caution"].where(named.eq(EQUIVALENT)))
    return found[["verdict", "caution"]].reset_index().assign(estimate=np.nan)


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
    the difference, over all completions of the missing answers. At any larger margin, two
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
        Benchmarks that are not built in.
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
        check_choice("missing", missing, get_args(CountingPolicy))
    alpha = check_alpha(alpha, below=0.5)
    judged = judge(outcomes_of(open_answers(answers, benchmarks)).values(), missing, alpha)
    counts = ~judged.bounds
    if not counts.any():
        return pd.DataFrame(columns=list(MARGIN_COLUMNS))
    columns: Columns = judged.keys | {
        "difference": np.where(counts, judged.outer.estimate, np.nan),
        "ci_low": np.where(counts, judged.inner[0], np.nan),
        "ci_high": np.where(counts, judged.inner[1], np.nan),
        "smallest_margin": judged.smallest_margin,
        "declared_margin": np.where(counts, judged.margin, np.nan),
        "verdict": judged.published[0],
    }
    order = np.argsort(judged.places, kind="stable")
    order = order[judged.keys["attribute"][order] != BASELINE]
    found = pd.DataFrame({name: column[order] for name, column in columns.items()})
    found = found.astype(dict.fromkeys((*PAIR_COLUMNS, "verdict"), "str"))
    return rows_with(found, "attribute", attributes)


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
        Benchmarks that are not built in.

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
    alpha = check_alpha(alpha, below=0.5)
    opened = open_answers(answers, benchmarks)
    counted = outcomes_of(opened).values()
    keys, counts = [*PAIR_COLUMNS, "metric"], ["n_missing_a", "n_missing_b"]
    shown = ("estimate", "ci_low", "ci_high", "n")
    tables = {}
    for policy in MISSING_POLICIES:
        estimates = estimates_of(opened, judge(counted, policy, alpha))
        without = ("odds_ratio", "accuracy_difference_simultaneous")
        there = estimates["test"].isna() & ~estimates["metric"].isin(without)
        tables[policy] = estimates[there]
    bounds = tables.pop("bounds")
    found = bounds[[*keys, *counts, "ci_low", "ci_high"]].rename(
        columns={"ci_low": "lowest", "ci_high": "highest"}
    )
    for policy, table in tables.items():
        names = {column: f"{column}_{policy}" for column in shown}
        found = found.merge(table[[*keys, *shown]].rename(columns=names), on=keys, how="left")
    ordered = [f"{column}_{policy}" for policy in tables for column in shown]
    return found[[*keys, *counts, *ordered, "lowest", "highest"]]
