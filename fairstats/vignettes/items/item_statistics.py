"""Item statistics from answers: difficulty, discrimination, keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy

from fairstats._lib.problems import InputError, Problem
from fairstats.answers.engine_frames import UNIT_COLUMNS, open_answers
from fairstats.benchmarks.declaration import BASELINE, Benchmark, MissingPolicy
from fairstats.inference._checks import check_alpha
from fairstats.vignettes.findings import flags_frame

#: Columns of the table from `item_statistics`, in order.
ITEM_COLUMNS = (
    "benchmark",
    "benchmark_version",
    "item_id",
    "attribute",
    "group",
    "answer_key",
    "answer_sets",
    "models",
    "answers",
    "missing_answers",
    "right",
    "difficulty",
    "difficulty_low",
    "difficulty_high",
    "discrimination",
    "discrimination_low",
    "discrimination_high",
    "modal_wrong",
    "modal_wrong_answers",
    "modal_wrong_share",
    "modal_wrong_models",
)
#: Version name for all versions combined.
ALL_VERSIONS = ""
#: Attribute and group name for all variants of an item combined.
ALL_VARIANTS = ""
#: Minimum number of answer sets for discrimination: with two sets, every correlation is 1 or −1.
FEWEST_SETS = 3
NEVER_RIGHT = "no model right in any variant"
SHARED_WRONG = "most models give the same wrong option"
NEGATIVE = "negative discrimination"

_FLAG_ORDER = (NEVER_RIGHT, SHARED_WRONG, NEGATIVE)
_VARIANT = ["attribute", "group"]
_SET = ["benchmark_version", "model", "strategy"]


def item_statistics(
    answers: Any,
    *,
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    r"""Compute difficulty, discrimination and the most frequent wrong option, per item and variant.

    Difficulty is the share of right answers, so an easy item has a high value. Discrimination is
    the corrected item-rest correlation: over answer sets, between the share right on this item and
    the share right on all others.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table. An answer set is one model with one strategy.
    missing : {"available", "complete", "incorrect", "bounds"}, optional
        By default the benchmark's. Under ``incorrect``, a missing answer is wrong. Under
        ``bounds``, an item with a missing answer has a range instead of a difficulty. Under the
        other policies, missing answers are left out.
    alpha : float
        1 − confidence level of the discrimination's limits.
    benchmarks : iterable of Benchmark
        Additional benchmarks, or replacements for built-in ones.

    Returns
    -------
    pandas.DataFrame
        `ITEM_COLUMNS`, sorted. One row per item and variant, and one with an empty attribute and
        group for all variants of the item; for each version of the benchmark, and with an empty
        version over all versions if there are several. ``difficulty_low`` and ``difficulty_high``
        are the range over all fill-ins of missing answers. ``modal_wrong`` is the most frequent
        wrong option (the first in case of ties), ``modal_wrong_share`` its share of all available
        answers, and ``modal_wrong_models`` the number of models that gave it at least once.

    Raises
    ------
    InputError
        As `fairstats.analyze`, and for a duplicate answer.

    Notes
    -----
    Discrimination is NaN for fewer than `FEWEST_SETS` answer sets, or if all of them did equally
    well on the item or on the rest. Its limits are Fisher's, which need four sets; with three, they
    are −1 and 1. Sets of one model with several strategies are more similar than different models,
    so the limits are then too narrow. Over all versions, a set is a model, strategy and version.
    For a variant, the rest is the same variant of the other items.

    References
    ----------
    Crocker & Algina (1986), Introduction to Classical and Modern Test Theory, chapter 14; Fisher
    (1921), Metron 1:3-32.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", strategy="plain", sample=0,
    ...            attribute="race", group="white", answer_key="C", item_id="demo-01")
    >>> answers = pd.DataFrame([row | dict(model=f"m-{n}", answer=a) for n, a in enumerate("CCBB")])
    >>> table = item_statistics(answers)
    >>> table[["group", "difficulty", "modal_wrong", "modal_wrong_share"]].values.tolist()
    [['', 0.5, 'B', 0.5], ['white', 0.5, 'B', 0.5]]
    """
    alpha = check_alpha(alpha)
    rows, known = marked_answers(answers, missing, benchmarks)
    # Counting by categories is several times as fast as by texts.
    rows = rows.astype(dict.fromkeys([*_SET, "item_id", *_VARIANT, "answer_key"], "category"))
    tables = []
    for _, own in rows.groupby("benchmark", sort=True):
        several = own["benchmark_version"].nunique() > 1
        scopes = [
            (str(version), part)
            for version, part in own.groupby("benchmark_version", sort=True, observed=True)
        ]
        for version, part in scopes + ([(ALL_VERSIONS, own)] if several else []):
            whole = part.assign(attribute=ALL_VARIANTS, group=ALL_VARIANTS)
            for scope in (whole, part):
                counted, found = _counted(scope), _discrimination(scope, alpha)
                joined = _as_text(counted).merge(_as_text(found), on=["item_id", *_VARIANT])
                tables.append(joined.assign(benchmark_version=version))
    table = pd.concat(tables, ignore_index=True)
    bounded = table["benchmark"].map(
        {name: (missing or benchmark.missing) == "bounds" for name, benchmark in known.items()}
    )
    open_range = table["difficulty_low"] < table["difficulty_high"]
    table["difficulty"] = table["difficulty"].mask(bounded & open_range)
    keys = ["benchmark", "benchmark_version", "item_id", *_VARIANT]
    return table.sort_values(keys, ignore_index=True)[list(ITEM_COLUMNS)]


def marked_answers(
    answers: Any,
    missing: MissingPolicy | None,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark],
) -> tuple[pd.DataFrame, dict[str, Benchmark]]:
    """Return the checked answers with ``right``: 1.0, 0.0, or NaN if the answer does not count."""
    opened = open_answers(answers, benchmarks)
    frame, known = opened.frame, opened.benchmarks
    names = [*UNIT_COLUMNS, "item_id", "attribute", "group", "sample"]
    rows = frame.select(*names, "answer", "answer_key").collect().to_pandas()
    texts = [name for name in names if name != "sample"]
    there = rows["answer"].notna().to_numpy()
    rows = rows.astype(dict.fromkeys([*texts, "answer_key"], "str"))
    if rows.duplicated(names).any():
        message, remedy = "an answer appears twice", "read_answers names the rows"
        raise InputError([Problem("<answers>", message, remedy)])
    wrong_if_missing = rows["benchmark"].map(
        {name: (missing or benchmark.missing) == "incorrect" for name, benchmark in known.items()}
    )
    right = (rows["answer"] == rows["answer_key"]).fillna(False).to_numpy(dtype=np.float64)
    counts = there | wrong_if_missing.to_numpy(dtype=bool)
    return rows.assign(there=there, right=np.where(counts, right, np.nan)), known


def _counted(rows: pd.DataFrame) -> pd.DataFrame:
    """Return everything except discrimination, one row per item and variant."""
    keys = ["benchmark", "item_id", *_VARIANT, "answer_key"]
    rows = rows.assign(
        answer_set=rows.groupby(_SET, observed=True).ngroup(),
        model=rows["model"].cat.codes,
        gone=~rows["there"],
        hit=rows["there"] & (rows["right"] == 1),
    )
    table = rows.groupby(keys, sort=False, as_index=False, observed=True).agg(
        answer_sets=("answer_set", "nunique"),
        models=("model", "nunique"),
        answers=("there", "sum"),
        missing_answers=("gone", "sum"),
        right=("hit", "sum"),
        difficulty=("right", "mean"),
    )
    asked = table["answers"] + table["missing_answers"]
    table["difficulty_low"] = table["right"] / asked
    table["difficulty_high"] = (table["right"] + table["missing_answers"]) / asked
    wrong = (
        rows[rows["there"] & ~rows["hit"]]
        .groupby([*keys, "answer"], as_index=False, observed=True)
        .agg(modal_wrong_answers=("hit", "size"), modal_wrong_models=("model", "nunique"))
        .sort_values(["modal_wrong_answers", "answer"], ascending=[False, True])
        .drop_duplicates(keys)
        .rename(columns={"answer": "modal_wrong"})
    )
    table = table.merge(wrong, on=keys, how="left")
    numbers = ["modal_wrong_answers", "modal_wrong_models"]
    table[numbers] = table[numbers].fillna(0).astype("int64")
    table["modal_wrong"] = table["modal_wrong"].astype(object).fillna("").astype("str")
    share = table["modal_wrong_answers"] / table["answers"].clip(lower=1)
    return table.assign(modal_wrong_share=share)


def _as_text(table: pd.DataFrame) -> pd.DataFrame:
    names = ["item_id", *_VARIANT]
    return table.astype(dict.fromkeys(names, "str"))


def _discrimination(rows: pd.DataFrame, alpha: float) -> pd.DataFrame:
    """Return the item-rest correlation of each item and variant over answer sets, with limits."""
    tables = []
    for (attribute, group), own in rows.groupby(_VARIANT, sort=False, observed=True):
        shares = own.groupby([*_SET, "item_id"], observed=True)["right"].mean()
        scores = shares.unstack("item_id")
        found = item_rest_correlations(scores.to_numpy(dtype=np.float64), alpha)
        names = list(scores.columns)
        tables.append(pd.DataFrame(found).assign(item_id=names, attribute=attribute, group=group))
    return pd.concat(tables, ignore_index=True)


def item_rest_correlations(scores: np.ndarray, alpha: float) -> dict[str, np.ndarray]:
    """Return each column's correlation, over rows, with the mean of the row's other columns.

    `scores` may contain NaN; a row counts for a column if both values are known. Limits are
    Fisher's.
    """
    known = ~np.isnan(scores)
    filled = np.where(known, scores, 0.0)
    others = known.sum(axis=1, keepdims=True) - known
    rest = (filled.sum(axis=1, keepdims=True) - filled) / np.maximum(others, 1)
    valid = known & (others > 0)
    n = valid.sum(axis=0)
    x, y = (
        np.where(valid, part - np.where(valid, part, 0).sum(axis=0) / np.maximum(n, 1), 0.0)
        for part in (filled, rest)
    )
    squares = (x**2).sum(axis=0), (y**2).sum(axis=0)
    # Differences from rounding alone do not count.
    varies = (squares[0] > 1e-20) & (squares[1] > 1e-20) & (n >= FEWEST_SETS)
    size = np.sqrt(np.where(varies, squares[0] * squares[1], 1.0))
    r = np.where(varies, np.clip((x * y).sum(axis=0) / size, -1, 1), np.nan)
    z = scipy.stats.norm.isf(alpha / 2) / np.sqrt(np.maximum(n - 3, 1))
    limited = varies & (n > 3)
    inner = np.arctanh(np.clip(np.where(varies, r, 0.0), -1 + 1e-12, 1 - 1e-12))
    return {
        "discrimination": r,
        "discrimination_low": np.where(limited, np.tanh(inner - z), -1.0),
        "discrimination_high": np.where(limited, np.tanh(inner + z), 1.0),
    }


def widest(statistics: pd.DataFrame) -> pd.DataFrame:
    """Return each benchmark's rows for all versions combined, or for its only version."""
    several = statistics.groupby("benchmark")["benchmark_version"].transform("nunique") > 1
    return statistics[~several | (statistics["benchmark_version"] == ALL_VERSIONS)]


def item_flags(statistics: pd.DataFrame) -> pd.DataFrame:
    """Return the items that a person should check.

    Parameters
    ----------
    statistics : pandas.DataFrame
        From `item_statistics`.

    Returns
    -------
    pandas.DataFrame
        `FLAG_COLUMNS`, over all versions of a benchmark. `NEVER_RIGHT`: all answers to all variants
        of a version, including the original, are wrong; the key may be wrong. `SHARED_WRONG`: for
        the original and the neutralized text (or all variants if neither was asked), more than half
        of the answers, by at least two models, are the same wrong option. `NEGATIVE`: better answer
        sets do worse on the item, i.e. the upper limit of its discrimination is below 0. At a level
        of 5%, one item in 40 is expected by chance.
    """
    rows = []
    table = widest(statistics)
    items = statistics["attribute"] == ALL_VARIANTS
    never = statistics[items & (statistics["answers"] > 0) & (statistics["right"] == 0)]
    # The rows for all versions combined come first and apply to each version.
    for item in never.drop_duplicates(["benchmark", "item_id"]).to_dict("records"):
        where = f" (version {item['benchmark_version']})" if item["benchmark_version"] else ""
        rows.append(_flag(item, NEVER_RIGHT, f"key {item['answer_key']}{where}: {_said(item)}"))
    whole = table[(table["attribute"] == ALL_VARIANTS) & (table["answers"] > 0)]
    shared = shared_wrong(table)
    for item in shared.to_dict("records"):
        detail = f"key {item['answer_key']}: {_said(item)}"
        rows.append(_flag(item, SHARED_WRONG, detail))
    for item in whole[whole["discrimination_high"] < 0].to_dict("records"):
        detail = (
            f"item-rest correlation {item['discrimination']:.2f} "
            f"({item['discrimination_low']:.2f} to {item['discrimination_high']:.2f}) over "
            f"{item['answer_sets']} answer sets; {item['difficulty']:.0%} right"
        )
        rows.append(_flag(item, NEGATIVE, detail))
    flags = flags_frame(rows)
    place = flags["flag"].map({flag: place for place, flag in enumerate(_FLAG_ORDER)})
    order = flags.assign(place=place).sort_values(["place", "item_id"], kind="stable").index
    return flags.loc[order].reset_index(drop=True)


def shared_wrong(table: pd.DataFrame) -> pd.DataFrame:
    """Return items with one wrong option in more than half of the answers, from several models.

    This uses the original and neutralized variants combined; adversarial ones are meant to mislead.
    """
    baseline = table[table["attribute"] == BASELINE]
    if baseline.empty:
        baseline = table[table["attribute"] == ALL_VARIANTS]
    keys = ["benchmark", "benchmark_version", "item_id", "answer_key", "attribute"]
    # Add the answers of several variants if these agree on the option.
    both = baseline.groupby(keys, as_index=False).agg(
        answer_sets=("answer_sets", "max"),
        models=("models", "max"),
        answers=("answers", "sum"),
        right=("right", "sum"),
        modal_wrong=("modal_wrong", "first"),
        options=("modal_wrong", "nunique"),
        modal_wrong_answers=("modal_wrong_answers", "sum"),
        modal_wrong_models=("modal_wrong_models", "min"),
    )
    share = both["modal_wrong_answers"] / both["answers"].clip(lower=1)
    most = (share > 0.5) & (both["options"] == 1) & (both["modal_wrong_models"] > 1)
    return both.assign(modal_wrong_share=share)[most]


def _said(item: Mapping[str, Any]) -> str:
    answers = f"{item['right']} of {item['answers']} answers by {item['models']} models are right"
    if not item["modal_wrong"]:
        return answers
    return f"{answers}, {item['modal_wrong']} is given {item['modal_wrong_answers']} times"


def _flag(item: Mapping[str, Any], flag: str, detail: str) -> dict[str, Any]:
    own = {"item_id": item["item_id"], "attribute": item["attribute"]}
    return own | {"aspect": "items", "flag": flag, "detail": detail}
