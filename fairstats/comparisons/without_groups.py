"""Changes of correctness between two answer sets to questions without groups."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats.benchmarks.declaration import Benchmark, ComparisonPolicy
from fairstats.benchmarks.loading import load_benchmarks
from fairstats.comparisons.compare import answer_set
from fairstats.counts.grid import NOT_ASKED, Grid
from fairstats.counts.patterns import PATTERNS, CountingPolicy, apply_policy
from fairstats.estimates.tested_pairs import pair_bounds
from fairstats.inference._checks import check_alpha
from fairstats.inference.mcnemar import mcnemar
from fairstats.inference.multiplicity import AdjustMethod, adjust_pvalues
from fairstats.metrics.accuracy import accuracy_difference, proportion

#: Columns of the table from `compare_correctness`, in order.
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
)
_SIDES = ("old", "new")


def without_groups(
    names: Collection[str], benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> bool:
    """Return whether these benchmarks are without groups.

    Raises
    ------
    InputError
        If only some of the benchmarks have groups.
    """
    known = load_benchmarks(names, benchmarks)
    having = {name: benchmark.has_pairs for name, benchmark in known.items()}
    if len(set(having.values())) > 1:
        without = ", ".join(name for name, has in having.items() if not has)
        message = "some benchmarks have groups and others have none"
        remedy = "compare their answers separately"
        raise InputError([Problem("<answers>", message, remedy, column="benchmark", value=without)])
    return not any(having.values())


def compare_correctness(
    old: pd.DataFrame,
    new: pd.DataFrame,
    *,
    missing: ComparisonPolicy | None = None,
    alpha: float = 0.05,
    adjust: AdjustMethod = "holm",
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Compare two models or strategies on questions without groups, question by question.

    Parameters
    ----------
    old, new : pandas.DataFrame
        Two answer sets, each from one model with one strategy, to one or more benchmarks.
    missing : {"common", "available", "complete", "incorrect", "bounds"}, optional
        ``common``, the default, and ``complete`` use the questions that both answered.
        ``available`` gives each side its own answers, ``incorrect`` counts a missing answer as
        wrong. ``bounds`` gives only the lowest and highest change.
    alpha : float
        1 − confidence level.
    adjust : {"holm", "hommel", "bh", "by"}
        How the p-values are adjusted over the benchmarks of the table.
    benchmarks : iterable of Benchmark
        Additional benchmarks, or replacements for built-in ones.

    Returns
    -------
    pandas.DataFrame
        `CORRECTNESS_COLUMNS`, one row per benchmark. ``estimate`` is the new accuracy minus the
        old one, with the interval of `fairstats.metrics.accuracy.accuracy_difference`. ``gains``
        are questions that only the new side answered correctly, ``losses`` those that only the old
        one did, among the ``n`` questions that count. The test is McNemar's mid-p test. ``lowest``
        and ``highest`` are the change over all completions of missing answers of either side,
        including questions of the benchmark that were not asked.

    Raises
    ------
    InputError
        If a side has several models, strategies or versions of a benchmark, several samples of a
        question, or other questions than the other side.

    Examples
    --------
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> keys = list(load_benchmark("mirage-bioasq").answer_keys.items())[:4]
    >>> row = dict(benchmark="mirage-bioasq", benchmark_version="1", model="m", sample=0,
    ...            attribute="question", group="asked")
    >>> def answers(strategy, right):
    ...     return pd.DataFrame([row | dict(strategy=strategy, item_id=item, answer_key=key,
    ...                                     answer=key if sign == "1" else "AB"[key == "A"])
    ...                          for (item, key), sign in zip(keys, right)])
    >>> table = compare_correctness(answers("cot", "1001"), answers("cot+bm25@32", "1110"))
    >>> table[["estimate", "gains", "losses", "p_value"]].values.tolist()
    [[0.25, 2.0, 1.0, 0.625]]
    """
    alpha = check_alpha(alpha)
    known = load_benchmarks({*old["benchmark"], *new["benchmark"]}, benchmarks)
    rows = []
    for name in known:
        sides = [side[side["benchmark"] == name] for side in (old, new)]
        if any(side.empty for side in sides):
            message, remedy = "only one side has answers to it", "give both sides' answers"
            raise InputError([Problem("<new>", message, remedy, column="benchmark", value=name)])
        rows.append(_compared(sides, known[name], missing or "common", alpha))
    table = pd.DataFrame(rows)
    table["p_adjusted"] = adjust_pvalues(table["p_value"], method=adjust)
    table["adjust_method"] = f"{adjust} over {len(table)} tests: this comparison"
    return table[list(CORRECTNESS_COLUMNS)]


def _compared(
    sides: list[pd.DataFrame], benchmark: Benchmark, policy: ComparisonPolicy, alpha: float
) -> dict[str, Any]:
    sets = [answer_set(side, name, [benchmark]) for side, name in zip(sides, _SIDES, strict=True)]
    units = [own.unit for own in sets]
    patterns = _patterns([own.grid for own in sets], units)
    whole = patterns.copy()
    whole[PATTERNS.index("nxx")] += max(len(benchmark.items) - len(sides[0]), 0)
    limits = pair_bounds(whole)["accuracy_difference"]
    own: dict[str, Any] = {
        "benchmark": benchmark.name,
        "benchmark_version": units[0]["benchmark_version"],
        "model_old": units[0]["model"],
        "model_new": units[1]["model"],
        "strategy": " → ".join(dict.fromkeys(unit["strategy"] for unit in units)),
        "metric": "delta_accuracy",
        "lowest": float(limits[0]),
        "highest": float(limits[1]),
        "n_missing_old": int(sides[0]["answer"].isna().sum()),
        "n_missing_new": int(sides[1]["answer"].isna().sum()),
        "missing": policy,
    }
    if policy == "bounds":
        empty = ("old", "new", "estimate", "ci_level", "p_value")
        return (
            own
            | dict.fromkeys(empty, np.nan)
            | {
                "ci_low": own["lowest"],
                "ci_high": own["highest"],
                "ci_method": "bounds",
                "gains": int(patterns[PATTERNS.index("n10")]),
                "losses": int(patterns[PATTERNS.index("n01")]),
                "test": None,
                "n": len(sides[0]),
            }
        )
    # The new side is the first of the pair, so that the difference is new minus old.
    counting: CountingPolicy = "complete" if policy == "common" else policy
    paired = apply_policy(patterns, counting)
    found = accuracy_difference(paired, alpha=alpha)
    return own | {
        "old": float(proportion(paired.correct_b, paired.n_b)),
        "new": float(proportion(paired.correct_a, paired.n_a)),
        "estimate": float(found.estimate),
        "ci_low": float(found.ci_low),
        "ci_high": float(found.ci_high),
        "ci_level": 1 - alpha,
        "ci_method": str(found.method),
        "gains": int(paired.n10),
        "losses": int(paired.n01),
        "p_value": float(mcnemar(n10=paired.n10, n01=paired.n01).p_value),
        "test": "mcnemar midp",
        "n": int(paired.n),
    }


def _patterns(grids: list[Grid], units: list[dict[str, str]]) -> npt.NDArray[np.int64]:
    """Count the outcome patterns: the sign of the new side, then that of the old one."""
    sides = []
    for own, name in zip(grids, _SIDES, strict=True):
        answers = own.answers.reshape(len(own.items), -1)
        repeated = own.items[(answers != NOT_ASKED).sum(axis=1) > 1]
        if len(repeated):
            message = "a question has several answers"
            remedy = "keep one sample of each question"
            value = str(repeated[0])
            problem = Problem(f"<{name}>", message, remedy, column="item_id", value=value)
            raise InputError([problem])
        chosen = pd.Series(answers.max(axis=1), index=own.items)
        sides.append(pd.DataFrame({"chosen": chosen, "key": own.key}))
    old, new = sides
    alone = old.index.symmetric_difference(new.index)
    versions = [unit["benchmark_version"] for unit in units]
    if len(alone) or versions[0] != versions[1]:
        message = f"{len(alone):,} questions have answers of one side only"
        remedy = "compare answers to the same questions of one version"
        examples = ", ".join(map(str, alone[:3])) or " and ".join(versions)
        raise InputError([Problem("<new>", message, remedy, column="item_id", value=examples)])
    new = new.reindex(old.index)
    # 0 for a wrong answer, 1 for a right one, 2 for a missing one.
    signs = [np.where(s["chosen"] < 0, 2, s["chosen"] == s["key"]) for s in (new, old)]
    table = np.zeros((3, 3), dtype=np.int64)
    np.add.at(table, tuple(signs), 1)
    same = int(((new["chosen"] == old["chosen"]) & (signs[0] == 0) & (signs[1] == 0)).sum())
    (n00, n01, n0x), (n10, n11, n1x), (nx0, nx1, nxx) = table.tolist()
    return np.array([n11, n10, n01, same, n00 - same, n1x, n0x, nx1, nx0, nxx, 0])
