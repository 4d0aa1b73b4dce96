"""Changes of a model's metrics to its next version or with another strategy, on the same items."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, cast, get_args

import narwhals as nw
import numpy as np
import pandas as pd

from fairstats._lib.problems import input_error, parameter
from fairstats.answers.engine_frames import UNIT_COLUMNS, Unit, distinct
from fairstats.answers.strategies import VOTED, votes_among
from fairstats.benchmarks.declaration import (
    COMMON,
    COMPARISON_POLICIES,
    PLAIN,
    Benchmark,
    ComparisonPolicy,
    MissingPolicy,
)
from fairstats.comparisons.change_verdicts import (
    COMPARED_PAIR,
    PAIR,
    AnswerSet,
    Compared,
    Row,
    answer_set,
    bounds_rows,
    change_ranges,
    judge_changes,
    pair_values,
    worst_p_values,
)
from fairstats.comparisons.equal_conditions import (
    different_items,
    different_questions,
    same_snapshot,
    shown_by_flips,
    unlike_settings,
    why_no_verdict,
)
from fairstats.comparisons.item_tallies import by_unit, steps_of, sums_of
from fairstats.comparisons.model_differences import model_difference
from fairstats.comparisons.without_groups import compare_without_groups, without_groups
from fairstats.counts.grid import grid
from fairstats.counts.outcomes import count_grid
from fairstats.counts.patterns import CountingPolicy
from fairstats.estimates.cautions import cautions
from fairstats.estimates.eligibility import why_never_equivalent, why_pairs_uninformative
from fairstats.estimates.judgements import FEWER_SAMPLES, UNEQUAL_SAMPLES, unequal_samples
from fairstats.inference._checks import check_alpha, check_choice, check_resampling
from fairstats.inference.multiplicity import AdjustMethod
from fairstats.inference.unit_means import effective_number

#: Columns of the table from `compare`, in order.
COMPARISON_COLUMNS = (
    *COMPARED_PAIR,
    "metric",
    "old",
    "new",
    "estimate",
    "ci_low",
    "ci_high",
    "ci_level",
    "ci_method",
    "lowest",
    "highest",
    "p_value",
    "p_adjusted",
    "p_pair",
    "p_pair_adjusted",
    "p_worst",
    "p_worst_adjusted",
    "adjust_method",
    "test",
    "n",
    "missing",
    "verdict",
    "verdict_reason",
    "method_note",
)
#: Kinds of comparisons that a release publishes.
VERSION, STRATEGY = "version", "strategy"
RELEASE_COMPARISON_COLUMNS = ("kind", *COMPARISON_COLUMNS)
_UNIT = list(UNIT_COLUMNS)
# What a row has before its verdict.
_FIGURES = ("old", "new", "estimate", "ci_low", "ci_high", "ci_method", "p_value", "test", "n")


def compare(
    old: Any,
    new: Any,
    *,
    missing: ComparisonPolicy | None = None,
    alpha: float = 0.05,
    adjust: AdjustMethod = "holm",
    allow_different_items: bool = False,
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 1,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Compare the answers of two versions of a model, item by item.

    Parameters
    ----------
    old, new : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        Two answer sets, each from one model with one strategy, to the same version of a benchmark.
        They can be from two models, or from one model with two strategies.
    missing : {"common", "available", "complete", "incorrect", "bounds"}, optional
        ``common``, the default, uses the items that both models answered: an item counts for a pair
        of groups if each model answered both variants, of several samples in at least one, and of
        crossed groups all variants. Its other missing answers are left out, as under ``available``.
        The other policies are those of `analyze`, with all answers of each model. ``bounds`` is the
        default if the benchmark declares it.
    alpha : float
        1 − confidence level, and the level of the verdicts.
    adjust : {"holm", "hommel", "bh", "by"}
        How p-values are adjusted. p-values of single metrics are adjusted over all rows of the
        table. Those of pairs, which decide the verdicts, are adjusted over all pairs.
    allow_different_items : bool
        Allow different versions of a benchmark, or different items. The estimates then use the
        items that both models were asked, and every row is marked. Between versions of a benchmark
        there is no verdict, since the questions differ too.
    n_resamples, rng
        The number of random swaps and their generator, if not all can be used (see Notes).
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in.

    Returns
    -------
    pandas.DataFrame
        For each declared pair of each demographic attribute, new − old of ``delta_accuracy`` (the
        mean of the two groups' accuracies), ``delta_cfr`` and ``delta_ad``; columns
        `COMPARISON_COLUMNS`, with n the number of items. Decisions have ``delta_selection_rate``,
        ``delta_selection_difference`` (signed), ``delta_cfr`` and ``delta_selection_disparity``
        (absolute); levels and scores the same with ``delta_level`` or ``delta_score``.

        ``lowest`` and ``highest`` bound the change over all completions of missing answers of
        either model, including items of the benchmark that were not asked. ``p_pair`` is the
        largest p-value of a pair's accuracy, CFR and AD. ``p_worst`` is the same if the missing
        answers are completed against the change. ``verdict`` is "win-win" if ``p_pair_adjusted``
        and ``p_worst_adjusted`` are at most alpha, and accuracy and CFR are higher and AD is lower,
        whatever the missing answers were. It is "lose-lose" if they show the reverse, and "unclear"
        in all other cases. ``verdict_reason`` states why it was withheld. For other kinds of
        answers, the verdict is on CFR and the absolute difference: more favourable decisions, or
        higher levels, are neither better nor worse. A model that is better in any of them must
        answer better than a guess, and all items of a side must have the same number of samples.
        Under ``bounds``, the limits are those over all completions of the answers to the items that
        were asked, without a test or verdict.

        Questions without groups have one row per benchmark and other columns, see
        `fairstats.comparisons.without_groups.compare_without_groups`.

    Raises
    ------
    InputError
        If a table holds several models or strategies, or the benchmarks differ. Also, without
        `allow_different_items`, if versions or items differ; it is refused for questions without
        groups.

    Notes
    -----
    Intervals are Student's t over items, or clusters, with a cluster-robust variance. They are at
    least as wide as a score interval, and so hold if few items change. The tests swap the two
    models' answers item by item, or cluster by cluster, see
    `fairstats.comparisons.model_differences`. An item has the same weight for both models, however
    many samples each has. Under ``common``, tests with one sample per item are exact, because no
    answer is missing. If one is, all swaps are used if there are at most `n_resamples`: 2ⁿ for n
    items or clusters that differ. Only if there are more, random ones are drawn with `rng`.

    "Win-win" asserts several changes at once. It is tested by an intersection-union test. The
    hypothesis that at least one change is absent is rejected if all tests reject. So the largest of
    the p-values is its p-value and needs no correction for their number.

    References
    ----------
    Berger (1982), Technometrics 24:295-300, for intersection-union tests. The estimands are those
    of FairMedQA, table 2.

    Examples
    --------
    >>> from fairstats import example_answers
    >>> answers = example_answers().query("attribute == 'race'").groupby("model")
    >>> table = compare(answers.get_group("DeepSeek-V3"), answers.get_group("DeepSeek-V3.1"))
    >>> table[["metric", "old", "new", "estimate", "ci_low", "ci_high"]].round(3)
               metric    old    new  estimate  ci_low  ci_high
    0  delta_accuracy  0.639  0.763     0.124   0.098    0.150
    1       delta_cfr  0.631  0.748     0.117   0.078    0.156
    2        delta_ad  0.221  0.194    -0.027  -0.069    0.015
    """
    check_choice("adjust", adjust, get_args(AdjustMethod))
    alpha = check_alpha(alpha)
    check_resampling(n_resamples, rng)
    if missing is not None:
        check_choice("missing", missing, COMPARISON_POLICIES)
    grids = [grid(answers, benchmarks=benchmarks) for answers in (old, new)]
    if without_groups(one.benchmark for own in grids for one in own.values()):
        if allow_different_items:
            message = "is not available for questions without groups"
            remedy = "remove it; both sides need answers to the same questions"
            raise input_error(parameter("allow_different_items"), message, remedy)
        return compare_without_groups(*grids, missing=missing, alpha=alpha, adjust=adjust)
    table = changes_of(
        answer_set(grids[0], "old"),
        answer_set(grids[1], "new"),
        missing=missing,
        alpha=alpha,
        allow_different_items=allow_different_items,
        n_resamples=n_resamples,
        rng=rng,
    )
    judged = judge_changes(table.assign(family="this comparison"), alpha=alpha, adjust=adjust)
    return judged[list(COMPARISON_COLUMNS)]


def changes_of(
    old: AnswerSet,
    new: AnswerSet,
    *,
    missing: ComparisonPolicy | None,
    alpha: float,
    allow_different_items: bool,
    n_resamples: int = 9999,
    rng: np.random.Generator | int = 1,
) -> pd.DataFrame:
    """Run `compare` without the parts that depend on the family: adjusted p-values and verdicts.

    Its column ``no_verdict`` gives the reason why a comparison gets no verdict; empty if it can.
    """
    sides, benchmark = (old, new), old.grid.benchmark
    questions = different_questions(old, new, allow_different_items)
    policy: ComparisonPolicy = missing or ("bounds" if benchmark.missing == "bounds" else "common")
    items = different_items(old, new, allow_different_items)
    paired = cast(MissingPolicy, "complete" if policy == COMMON else policy)
    flips = shown_by_flips(old, new, paired, alpha)
    settings = unlike_settings(old, new)
    compared = Compared(old, new, steps_of([side.grid for side in sides]))
    if policy == "bounds":
        rows = bounds_rows(compared)
    else:
        rows = _rows(compared, policy, alpha, n_resamples, rng)
    units = ""
    if benchmark.cluster is not None:
        units = f"the independent units are {benchmark.words.clusters} ({benchmark.cluster})"
    no_verdict = why_no_verdict(old, new, questions, flips)
    notes: list[str] = []
    guessing: dict[str, dict[tuple[str, ...], str]] = {}
    for name, side in zip(("old", "new"), sides, strict=True):
        counted = count_grid(side.grid)
        voted = VOTED if votes_among([side.unit["strategy"]]) else ""
        for note in filter(None, (voted, counted.once(cautions)[side.place])):
            notes.append(f"{name} answers: {note}")
        own = (counted.unit == side.place) & ~counted.pooled & ~counted.untested
        for text, found in (
            (UNEQUAL_SAMPLES, unequal_samples(counted)),
            (FEWER_SAMPLES, counted.fewer_samples),
        ):
            if found[own].any():
                no_verdict = no_verdict or f"{name} answers: {text}"
        why = zip(*(getattr(counted, of)[own] for of in PAIR), strict=True)
        # Of different items, those left out can be chosen ones.
        rule = why_never_equivalent if items else why_pairs_uninformative
        guessing[name] = dict(zip(why, rule(counted)[own], strict=True))
    columns = None if rows else [*PAIR, "metric", *_FIGURES]
    table = pd.DataFrame(rows, columns=columns).assign(
        benchmark=benchmark.name,
        benchmark_version=_joined(old, new, "benchmark_version"),
        model_old=old.unit["model"],
        model_new=new.unit["model"],
        strategy=_joined(old, new, "strategy"),
        ci_level=np.nan if policy == "bounds" else 1 - alpha,
        missing=policy,
        method_note="; ".join(filter(None, [questions, items, flips, units, settings, *notes])),
        no_verdict=no_verdict,
        judged=policy != "bounds",
    )
    table = table.merge(change_ranges(compared), on=[*PAIR, "metric"], how="left")
    table["p_worst"] = worst_p_values(table, compared, n_resamples, rng)
    for name, of_pairs in guessing.items():
        pairs = zip(*(table[column] for column in PAIR), strict=True)
        texts = [of_pairs.get(pair, "") for pair in pairs]
        table[f"guessing_{name}"] = pd.Series(texts, dtype="str")
    return table


def _rows(
    compared: Compared,
    policy: ComparisonPolicy,
    alpha: float,
    n_resamples: int,
    rng: np.random.Generator | int,
) -> list[Row]:
    """Compare each metric of each pair, on the items that both models were asked.

    Under ``common``, each model must have answered every variant of an item in at least one sample.
    """
    rows, benchmark = [], compared.benchmark
    counting = "available" if policy == COMMON else cast(CountingPolicy, policy)
    for pair, tables in compared.sides.items():
        sides = []
        for side, own in zip((compared.old, compared.new), tables, strict=True):
            if policy == COMMON:
                own = own.loc[side.answered(pair)]
            sums = sums_of(own.to_numpy(dtype=np.int64), counting, benchmark)
            sides.append((own.index, sums))
        items = sides[0][0].intersection(sides[1][0])
        units = compared.units_of(items)
        one, other = (
            by_unit(sums[index.get_indexer(items)], units)[:, None] for index, sums in sides
        )
        answers = (one + other)[:, 0, 1]
        without = benchmark.kind.numeric or benchmark.cluster is not None
        number = np.inf if without or answers.max(initial=0) <= 2 else effective_number(answers)
        for name, figure in compared.figures.items():
            found = model_difference(
                one,
                other,
                figure,
                alpha=alpha,
                n_resamples=n_resamples,
                rng=rng,
                few_units=benchmark.few_units,
                units=number,
            )
            own_row: Row = found.to_estimates().iloc[0].to_dict()
            for value in ("old", "new"):
                own_row[value] = compared.shown(figure, own_row[value])
            for value in ("estimate", "ci_low", "ci_high"):
                own_row[value] *= compared.span_of(figure)
            rows.append(pair_values(pair) | {"metric": name, "n": len(items)} | own_row)
    return rows


def comparisons_of(
    answers: Any,
    missing: MissingPolicy | None,
    alpha: float,
    benchmarks: Mapping[str, Benchmark],
    successors: Mapping[str, str],
) -> pd.DataFrame:
    """Compute every comparison that the answers of a release allow.

    `successors` has the older model of each newer one.

    Returns
    -------
    pandas.DataFrame
        `RELEASE_COMPARISON_COLUMNS`, on the items that both answered unless `missing` names another
        policy. p-values are adjusted over the family that the benchmark declares, and
        ``adjust_method`` names it. ``kind`` is "version" for a model and its successor, on one
        version of a benchmark with one strategy. It is "strategy" for one model with the plain
        strategy and another. A model without the plain one is compared with its strategy that most
        models have. If a model's successor was only asked other questions, the comparison is made
        and every row is marked.
    """
    sets = answer_sets(answers, benchmarks)
    pairs = (
        *((VERSION, *pair) for pair in versions(sets, successors)),
        *((STRATEGY, *pair) for pair in _strategies(sets)),
    )
    compared = [(kind, sets[old], sets[new]) for kind, old, new in pairs]
    return judged_comparisons(compared, missing, alpha)


def answer_sets(answers: Any, benchmarks: Mapping[str, Benchmark]) -> dict[Unit, AnswerSet]:
    """Return the answer sets of a table of answers, sorted by `UNIT_COLUMNS`."""
    found = {
        tuple(map(str, own.units.iloc[unit])): AnswerSet(own.of_unit(unit), unit)
        for own in grid(answers, benchmarks=benchmarks).values()
        for unit in range(len(own.units))
    }
    return {unit: found[unit] for unit in sorted(found)}


def judged_comparisons(
    pairs: Iterable[tuple[str, AnswerSet, AnswerSet]],
    missing: MissingPolicy | None,
    alpha: float,
) -> pd.DataFrame:
    """Compare pairs of answer sets, and adjust their p-values over the declared families.

    Each pair is (kind, old, new).
    """
    tables = [compared(kind, old, new, missing, alpha) for kind, old, new in pairs]
    if not tables:
        return pd.DataFrame(columns=list(RELEASE_COMPARISON_COLUMNS))
    judged = judge_changes(pd.concat(tables, ignore_index=True), alpha=alpha)
    return judged[list(RELEASE_COMPARISON_COLUMNS)]


def compared(
    kind: str, old: AnswerSet, new: AnswerSet, missing: MissingPolicy | None, alpha: float
) -> pd.DataFrame:
    """Compare two answer sets of releases, as `changes_of`, and name the family of the tests."""
    table = changes_of(old, new, missing=missing, alpha=alpha, allow_different_items=True)
    again = same_snapshot(old, new) if kind == VERSION else ""
    no_verdict = table["no_verdict"].replace("", again)
    return table.assign(kind=kind, family=family_of(kind, old, new), no_verdict=no_verdict)


def family_of(kind: str, old: AnswerSet, new: AnswerSet) -> str:
    """Name the comparisons that are adjusted together.

    On a board, these are all versions compared with one strategy, or all strategies compared with
    their reference.
    """
    version, strategy = _joined(old, new, "benchmark_version"), new.unit["strategy"]
    own, name = _joined(old, new, "model"), new.benchmark.name
    if kind == STRATEGY:
        strategy = "strategies"
    return {
        "model": f"{own} on {name}, {version}, {strategy}",
        "board": f"the board {name}, {version}, {strategy}",
        "release": "all comparisons of the release",
    }[new.benchmark.family]


def versions(units: Collection[Unit], successors: Mapping[str, str]) -> Iterator[tuple[Unit, Unit]]:
    """Pair the answer sets of models and their successors with the same strategy.

    The versions of the benchmark differ only if a model and its successor have none in common.
    """
    table = pd.DataFrame(sorted(units), columns=_UNIT)
    for newer, older in successors.items():
        old, new = table[table["model"] == older], table[table["model"] == newer]
        both = old.merge(new, on=["benchmark", "strategy"], suffixes=("", "_new"))
        alike = both[both["benchmark_version"] == both["benchmark_version_new"]]
        for _, row in (both if alike.empty else alike).iterrows():
            renamed = {"benchmark_version": row["benchmark_version_new"], "model": newer}
            yield _unit(row), _unit(row.to_dict() | renamed)


def _strategies(units: Collection[Unit]) -> Iterator[tuple[Unit, Unit]]:
    """Pair the strategies of a model with the plain one; without it, with its most common one."""
    table = pd.DataFrame(sorted(units), columns=_UNIT)
    board = ["benchmark", "benchmark_version", "strategy"]
    order = table.assign(used=table.groupby(board)["model"].transform("size"))
    order = order.assign(plain=order["strategy"] == PLAIN)
    order = order.sort_values(["plain", "used"], ascending=False, kind="stable")
    for _, own in order.groupby(["benchmark", "benchmark_version", "model"]):
        for _, other in own.iloc[1:].sort_index().iterrows():
            yield _unit(own.iloc[0]), _unit(other)


def _unit(row: Mapping[str, Any] | pd.Series) -> Unit:
    return tuple(str(row[name]) for name in _UNIT)


def answers_of_one(
    answers: Any,
    side: str,
    model: str,
    strategy: str,
    benchmark_version: str | None = None,
) -> Any:
    """Select the answers of one model with one strategy, and of one benchmark version if named.

    The answers can be in any engine. `side` is their name in a problem: ``"old"`` or ``"new"``.

    Raises
    ------
    InputError
        If there are none; the message lists the available models, strategies or versions.
    """
    wanted = {"model": model, "strategy": strategy, "benchmark_version": benchmark_version}
    own = nw.from_native(answers).lazy()
    for column, value in wanted.items():
        if value is None:
            continue
        there = sorted(distinct(own, [column])[column])
        if value not in there:
            remedy = f"use one of {', '.join(there[:20])}"
            message = "there are no such answers"
            raise input_error(f"<{side}>", message, remedy, column=column, value=value)
        own = own.filter(nw.col(column) == value)
    return own.to_native()


def renamed(answers: Any, model: str) -> Any:
    """Return answers under another name of their model, in the engine that holds them."""
    return nw.from_native(answers).lazy().with_columns(model=nw.lit(model)).to_native()


def _joined(old: AnswerSet, new: AnswerSet, column: str) -> str:
    """Return a value of both sides, once if it is the same."""
    return " → ".join(dict.fromkeys([old.unit[column], new.unit[column]]))
