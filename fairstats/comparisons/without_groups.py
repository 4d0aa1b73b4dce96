"""Changes of correctness, decisions, levels or scores on questions without groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from fairstats._lib.formatting import over_tests
from fairstats._lib.problems import input_error
from fairstats.benchmarks.declaration import Attribute, Benchmark, ComparisonPolicy
from fairstats.comparisons.change_verdicts import AnswerSet, answer_set
from fairstats.comparisons.equal_conditions import unlike_settings
from fairstats.counts.grid import MISSING, NOT_ASKED, Grid
from fairstats.counts.outcomes import count_grid
from fairstats.counts.patterns import CountingPolicy
from fairstats.estimates.tested_pairs import pair_bounds, tested_pairs
from fairstats.inference._checks import check_alpha
from fairstats.inference.multiplicity import AdjustMethod, adjust_pvalues
from fairstats.metrics.accuracy import proportion
from fairstats.metrics.mcnemar import mcnemar_of
from fairstats.metrics.metric import Numbers
from fairstats.metrics.sign_flip import flip_tests_of

#: Columns of the table from `compare_without_groups`, in order.
CORRECTNESS_COLUMNS = (
    "benchmark",
    "benchmark_version",
    "model_old",
    "model_new",
    "strategy",
    "metric",
    "old",
    "new",
    "estimate",
    "ci_low",
    "ci_high",
    "ci_level",
    "ci_method",
    "gains",
    "losses",
    "lowest",
    "highest",
    "p_value",
    "p_adjusted",
    "adjust_method",
    "test",
    "n",
    "n_missing_old",
    "n_missing_new",
    "missing",
    "method_note",
)


# The new side is the first of the pair, so that the difference is new minus old.
_MODELS = Attribute("models", "Models", {"new": "new", "old": "old"}, (("new", "old"),))


def without_groups(benchmarks: Iterable[Benchmark]) -> bool:
    """Return whether these benchmarks are without groups; refuse a mix."""
    having = {benchmark.name: benchmark.has_pairs for benchmark in benchmarks}
    if len(set(having.values())) > 1:
        without = ", ".join(name for name, has in having.items() if not has)
        message = "some benchmarks have groups and others have none"
        remedy = "compare their answers separately"
        raise input_error("<answers>", message, remedy, column="benchmark", value=without)
    return not any(having.values())


def compare_without_groups(
    old: Mapping[str, Grid],
    new: Mapping[str, Grid],
    *,
    missing: ComparisonPolicy | None = None,
    alpha: float = 0.05,
    adjust: AdjustMethod = "holm",
) -> pd.DataFrame:
    """Compare two models or strategies on questions without groups, question by question.

    Parameters
    ----------
    old, new : mapping of str to Grid
        Two answer sets, each from one model with one strategy, by benchmark.
    missing : {"common", "available", "complete", "incorrect", "bounds"}, optional
        ``common``, the default, and ``complete`` use the questions that both answered.
        ``available`` gives each side its own answers, ``incorrect`` counts a missing answer as
        wrong. ``bounds`` gives only the lowest and highest change.
    alpha : float
        1 − confidence level.
    adjust : {"holm", "hommel", "bh", "by"}
        How the p-values are adjusted over the benchmarks of the table.

    Returns
    -------
    pandas.DataFrame
        `CORRECTNESS_COLUMNS`, one row per benchmark. ``estimate`` is the new accuracy, selection
        rate, mean level or mean score minus the old one, with the interval and test of the
        difference between two groups (`fairstats.analyze`). ``gains`` are questions of which only
        the new side's answer is right or favourable, or of which its level or score is higher;
        ``losses`` are the reverse, among the ``n`` questions that count. ``lowest`` and ``highest``
        are the change over all completions of missing answers of either side, including questions
        of the benchmark that were not asked.

    Raises
    ------
    InputError
        If a side has several models, strategies or versions of a benchmark, several samples of a
        question, or other questions than the other side.

    Examples
    --------
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> from fairstats.counts.grid import grid
    >>> keys = list(load_benchmark("mirage-bioasq").answer_keys.items())[:4]
    >>> row = dict(benchmark="mirage-bioasq", benchmark_version="1", model="m", sample=0,
    ...            attribute="question", group="asked")
    >>> def answers(strategy, right):
    ...     return grid(pd.DataFrame([row | dict(strategy=strategy, item_id=item, answer_key=key,
    ...                                          answer=key if sign == "1" else "AB"[key == "A"])
    ...                               for (item, key), sign in zip(keys, right)]))
    >>> table = compare_without_groups(answers("cot", "1001"), answers("cot+bm25@32", "1110"))
    >>> table[["estimate", "gains", "losses", "p_value"]].values.tolist()
    [[0.25, 2.0, 1.0, 0.625]]
    """
    alpha = check_alpha(alpha)
    rows = []
    for name in dict.fromkeys([*old, *new]):
        if name not in old or name not in new:
            message, remedy = "only one side has answers to it", "give both sides' answers"
            raise input_error("<new>", message, remedy, column="benchmark", value=name)
        sides = [answer_set({name: own[name]}, side) for own, side in ((old, "old"), (new, "new"))]
        rows.append(_compared(sides[0], sides[1], missing or "common", alpha))
    table = pd.DataFrame(rows)
    table["p_adjusted"] = adjust_pvalues(table["p_value"], method=adjust)
    table["adjust_method"] = f"{over_tests(adjust, len(table))}: this comparison"
    return table[list(CORRECTNESS_COLUMNS)]


def _compared(
    old: AnswerSet, new: AnswerSet, policy: ComparisonPolicy, alpha: float
) -> dict[str, Any]:
    """Return the row of one benchmark: the two sides are tested as two groups are."""
    counting: CountingPolicy = "complete" if policy == "common" or policy == "bounds" else policy
    outcomes = count_grid(_paired(old, new))
    tested = tested_pairs(outcomes, counting, alpha, 1, False)
    pairs, found = tested.pairs, tested.difference(alpha)
    if isinstance(pairs, Numbers):
        done, tests = tested.completions(alpha), pairs.once(flip_tests_of)
        lowest, highest = done.lowest[0], done.highest[0]
        (sums,), moves = pairs.sums, pairs.moves
        before, after = (
            float(total @ sums.many) / max(float(size @ sums.many), 1.0) if size.any() else np.nan
            for total, size in ((sums.sum_b, sums.n_b), (sums.sum_a, sums.n_a))
        )
        gains, losses, n = moves["n10"][0], moves["n01"][0], sums.n
    else:
        ranges, tests = pair_bounds(outcomes.with_unasked.patterns), pairs.once(mcnemar_of)
        (lowest,), (highest,) = ranges["accuracy_difference"]
        paired = pairs.paired
        before = proportion(paired.correct_b, paired.n_b)[0]
        after = proportion(paired.correct_a, paired.n_a)[0]
        gains, losses, n = paired.n10[0], paired.n01[0], paired.n[0]
    benchmark, units = old.benchmark, [side.unit for side in (old, new)]
    row = {
        "benchmark": benchmark.name,
        "benchmark_version": units[0]["benchmark_version"],
        "model_old": units[0]["model"],
        "model_new": units[1]["model"],
        "strategy": " → ".join(dict.fromkeys(unit["strategy"] for unit in units)),
        "metric": f"delta_{benchmark.kind.rate}",
        "old": before,
        "new": after,
        "estimate": found.estimate[0],
        "ci_low": found.ci_low[0],
        "ci_high": found.ci_high[0],
        "ci_level": 1 - alpha,
        "ci_method": str(np.broadcast_to(found.method, 1)[0]),
        "lowest": lowest,
        "highest": highest,
        "gains": gains,
        "losses": losses,
        "p_value": tests["midp"]["p_value"][0],
        "test": tests["midp"]["test"][0],
        "n": n,
        "n_missing_old": (old.grid.answers == MISSING).sum(),
        "n_missing_new": (new.grid.answers == MISSING).sum(),
        "missing": policy,
        "method_note": unlike_settings(old, new),
    }
    if policy == "bounds":
        row |= dict.fromkeys(("old", "new", "estimate", "ci_level", "p_value"), np.nan)
        row |= {"ci_low": lowest, "ci_high": highest, "ci_method": "bounds"}
        row |= {"test": None, "n": len(old.grid.items)}
    return row


def _paired(old: AnswerSet, new: AnswerSet) -> Grid:
    """Return the answers of both sides as those to two variants of each question."""
    for side, name in ((old, "old"), (new, "new")):
        if side.grid.answers.shape[2] > 1:
            asked = (side.grid.answers[:, 0] != NOT_ASKED).sum(axis=1)
            raise input_error(
                f"<{name}>",
                "a question has several answers",
                "keep one sample of each question",
                column="item_id",
                value=str(side.grid.items[asked.argmax()]),
            )
    alone = np.setxor1d(old.grid.items.astype(str), new.grid.items.astype(str))
    versions = [side.unit["benchmark_version"] for side in (old, new)]
    if len(alone) or versions[0] != versions[1]:
        message = f"{len(alone):,} questions have answers of one side only"
        remedy = "compare answers to the same questions of one version"
        examples = ", ".join(map(str, alone[:3])) or " and ".join(versions)
        raise input_error("<new>", message, remedy, column="item_id", value=examples)
    # Scores that only one side gave are no options of the other.
    options = list(dict.fromkeys([*old.grid.options, *new.grid.options]))
    place = pd.Index(options).get_indexer(pd.Index(new.grid.options))
    codes = np.append(place, [NOT_ASKED, MISSING])
    # Items are in order on both sides.
    answers = np.concatenate([codes[new.grid.answers], old.grid.answers], axis=1)
    benchmark = replace(old.benchmark, attributes={_MODELS.name: _MODELS})
    return replace(
        old.grid,
        benchmark=benchmark,
        options=tuple(options),
        answers=answers,
        numbers=np.broadcast_to(0, answers.shape),
    )
