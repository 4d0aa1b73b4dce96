"""Logistic regression of correctness on the group, with items or declared units as clusters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, get_args

import numpy as np
import pandas as pd
import scipy

from fairstats._lib.problems import Problem, refuse
from fairstats._lib.result_objects import FloatArray
from fairstats.answers.engine_frames import open_answers
from fairstats.benchmarks.declaration import Attribute, Benchmark, MissingPolicy
from fairstats.counts.grid import Grid
from fairstats.counts.patterns import PAIR_COLUMNS, CountingPolicy, Layer, layers_asked
from fairstats.inference._checks import LEAST_P, check_alpha, check_choice
from fairstats.inference.logistic import clustered_fit, separating_direction, standardised

#: Columns that identify a variant: covariates with these columns describe variants, not items.
VARIANT_COLUMNS = ("item_id", "attribute", "group")
#: Prefix of covariate names among a model's terms.
COVARIATE = "covariate "
#: Columns of the table from `gee_logistic`, in order.
REGRESSION_COLUMNS = (
    *PAIR_COLUMNS,
    "term",
    "estimate",
    "std_error",
    "ci_low",
    "ci_high",
    "odds_ratio",
    "odds_ratio_low",
    "odds_ratio_high",
    "ci_level",
    "ci_method",
    "statistic",
    "p_value",
    "test",
    "n",
    "n_items",
    "missing",
    "method_note",
)
_Asked = tuple[Grid, Attribute, Layer]
# Smaller estimates are rounding error, also that of the iteration.
_ROUNDING = 1e-6


def gee_logistic(
    answers: Any,
    *,
    covariates: pd.DataFrame | None = None,
    missing: CountingPolicy | None = None,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Fit a logistic regression of correctness on the group, by generalised estimating equations.

    The model is logit P(correct) = β₀ + β₁ [group a] + β' covariates, over the answers of each
    declared pair of each unit. The answers to an item form a cluster, or those to all items of a
    declared cluster, such as a patient. The working correlation is independence. The standard
    errors are robust, and corrected for few clusters.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table.
    covariates : pandas.DataFrame, optional
        Numbers that describe the items, such as length or difficulty: a column ``item_id``, or an
        index of that name, and one column per covariate. With the additional columns ``attribute``
        and ``group`` they describe variants, e.g. properties of the added text. Each answer then
        has its variant's covariates, which may differ between groups.
    missing : {"available", "complete", "incorrect"}, optional
        The policy for missing answers; by default the benchmark's.
    alpha : float
        1 − confidence level.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in.

    Returns
    -------
    pandas.DataFrame
        One row per term of each pair's model, with columns `REGRESSION_COLUMNS`: the log odds
        ratio (``estimate``) with its robust standard error, its limits (``ci_low``, ``ci_high``)
        and the test of 0. ``odds_ratio``, ``odds_ratio_low`` and ``odds_ratio_high``
        are the same as odds ratios. The term ``group`` is the marginal odds ratio of a correct
        answer for group a against b, over all items. This differs from the paired (conditional)
        odds ratio of `odds_ratio`.

    Raises
    ------
    InputError
        If no column or index is called ``item_id``, or only one of ``attribute`` and ``group`` is
        present. Also if an item (or variant) that was asked has no covariate or appears twice, or a
        covariate is not a number.
    ValueError
        For the policy ``bounds`` or an unknown policy, or alpha outside (0, 1).

    Notes
    -----
    There is no estimate if the terms separate right from wrong answers. Examples: all answers are
    right, all of one group's are, or all with a large covariate are. The same holds if one term
    follows from the others (a constant or duplicated covariate). The rows are then NaN, and the
    note gives the reason. With working independence, the estimates solve the same equations as an
    ordinary logistic regression. So Albert and Anderson's condition decides whether they are
    finite, by linear programming (`fairstats.inference.logistic.separating_direction`).

    Limits and tests use Kauermann and Carroll's errors and Student's t, with Satterthwaite's
    degrees of freedom under the working model: few if few clusters decide a term. In simulations of
    6 to 20 clusters of 1 to 10 items, tests at 5% reject in at most 7% for the group, and 3% for a
    covariate that is constant within a cluster and skewed (benchmarks/small_samples.py). A term
    that the answers of one cluster alone decide, such as a covariate that only one has, has no
    error.

    If every item is as often right in both groups, the robust standard error of the group is 0. The
    log odds ratio is then 0 with p = 1, and has no interval.

    A variant's covariate may be a mediator between the group and the answer, e.g. a property of its
    added text. The term ``group`` is then the remaining difference among variants with equal
    covariates. If the groups' variants differ in the covariate, the term depends on the model.

    References
    ----------
    Liang & Zeger (1986), Biometrika 73:13-22; Kauermann & Carroll (2001), JASA 96:1387-1396;
    Pustejovsky & Tipton (2018), Journal of Business & Economic Statistics 36:672-683, for the
    degrees of freedom; Albert & Anderson (1984), Biometrika 71:1-10, for separation. Estimates are
    those of an ordinary logistic regression. They are checked against R's geepack, errors against
    their formula (tests/r/gee.R).

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain", sample=0,
    ...            attribute="race", answer_key="C")
    >>> letters = ["CC"] * 6 + ["CB"] * 4 + ["BC"] * 2 + ["BB"] * 3
    >>> answers = pd.DataFrame([row | dict(item_id=f"i{i}", group=g, answer=a)
    ...                         for i, pair in enumerate(letters)
    ...                         for g, a in zip(("white", "black"), pair)])
    >>> table = gee_logistic(answers).set_index("term")
    >>> round(float(table.loc["group", "odds_ratio"]), 4)  # (10 / 5) / (8 / 7)
    1.75
    """
    alpha = check_alpha(alpha)
    if missing is not None:
        check_choice("missing", missing, get_args(MissingPolicy))
    opened = open_answers(answers, benchmarks)
    known = opened.benchmarks
    policies = {name: str(missing or benchmark.missing) for name, benchmark in known.items()}
    if "bounds" in policies.values():
        raise ValueError("missing='bounds' gives no answers to fit; choose another policy")
    asked = list(layers_asked(opened))
    if covariates is not None:
        covariates = _checked(covariates, asked)
    rows = []
    for keys, scores in _pairs(asked):
        policy = policies[keys["benchmark"]]
        data = _answer_rows(scores, policy, covariates)
        shared = {
            "ci_level": 1 - alpha,
            "n": len(data),
            "n_items": data["item_id"].nunique(),
            "missing": policy,
        }
        rows += [keys | row | shared for row in fit_rows(data, alpha)]
    return pd.DataFrame(rows).reindex(columns=list(REGRESSION_COLUMNS))


def _pairs(asked: Iterable[_Asked]) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Yield each pair of each answer set, with its items and the scores of both answers.

    The first answers of both groups to an item are in one row, the second ones in the next.
    """
    for _, own in groupby(asked, key=lambda one: (one[0].benchmark.name, one[1].name)):
        layers = list(own)
        grid, attribute, _ = layers[0]
        for pair in attribute.pairs:
            tables = [_scores(grid, layer, pair) for _, _, layer in layers]
            for unit, scores in pd.concat(tables, ignore_index=True).groupby("set"):
                names = (*grid.units.iloc[unit], attribute.name, *pair)
                yield dict(zip(PAIR_COLUMNS, names, strict=True)), scores


def _scores(grid: Grid, layer: Layer, pair: tuple[str, str]) -> pd.DataFrame:
    """Return the answer set, item and unit of each pair of answers, its variants and scores."""
    row = layer.row
    table: dict[str, Any] = {
        "set": grid.unit[row],
        "item_id": grid.items[row],
        "unit": grid.unit_names[row],
    }
    for side, group in zip("ab", pair, strict=True):
        table["attribute"], table[f"group_{side}"] = layer.variants[group]
        table[side] = grid.hits[row, layer.columns[group], layer.turn]
    return pd.DataFrame(table)


def _checked(covariates: pd.DataFrame, asked: Iterable[_Asked]) -> pd.DataFrame:
    """Return the covariates indexed by item, or by item, attribute and group (for variants).

    The original row numbers could match other rows in a join.
    """
    in_index = [n for n in covariates.index.names if n in VARIANT_COLUMNS and n not in covariates]
    covariates = covariates.reset_index(in_index)
    of_variants = {"attribute", "group"} & set(covariates)
    keys = list(VARIANT_COLUMNS) if of_variants else ["item_id"]
    remedy = (
        "add the column, or use this name for the index"
        if keys == ["item_id"]
        else "give all of them for each variant"
    )
    problems = [
        Problem("<covariates>", "is missing", remedy, column=name)
        for name in keys
        if name not in covariates
    ]
    refuse(problems)
    covariates = covariates.astype(dict.fromkeys(keys, "str")).set_index(keys)
    problems = [
        Problem("<covariates>", "is not a number", "code it as numbers", column=str(name))
        for name in covariates
        if not pd.api.types.is_numeric_dtype(covariates[name])
    ]
    thing = "variant" if of_variants else "item"
    known = set(covariates.dropna().index)
    needed = {
        (item, *layer.variants[group]) if of_variants else item
        for grid, attribute, layer in asked
        for group in {group for pair in attribute.pairs for group in pair}
        for item in np.unique(grid.items[layer.row])
    }
    for name in sorted(needed - known)[:10]:
        value = name if isinstance(name, str) else ", ".join(name)
        message, remedy = (
            f"the covariates of the {thing} are missing",
            f"give every covariate of every {thing}",
        )
        if of_variants:
            remedy += ", or remove its answers"
        problems.append(
            Problem("<covariates>", message, remedy, column=" / ".join(keys), value=value)
        )
    if covariates.index.duplicated().any():
        article = "a variant" if of_variants else "an item"
        problems.append(Problem("<covariates>", f"{article} appears twice", "delete one"))
    refuse(problems)
    return covariates


def _answer_rows(
    scores: pd.DataFrame, policy: str, covariates: pd.DataFrame | None
) -> pd.DataFrame:
    """Return one row per answer of a pair: item_id, unit, correct, group (1 for a), covariates.

    The columns of the covariates get the prefix `COVARIATE`.
    """
    sides = []
    for number, side, other in ((1.0, "a", "b"), (0.0, "b", "a")):
        there = scores[side] >= 0
        if policy == "complete":
            there &= scores[other] >= 0
        own = scores[there | (policy == "incorrect")]
        rows = own[["item_id", "unit"]].assign(correct=(own[side] == 1).astype(float), group=number)
        if covariates is not None:
            values = covariates.add_prefix(COVARIATE)
            variant = ["item_id", "attribute", f"group_{side}"][: values.index.nlevels]
            rows = rows.join(own.join(values, on=variant)[list(values)])
        sides.append(rows)
    return pd.concat(sides).sort_values(["item_id", "group"], ignore_index=True, kind="stable")


def fit_rows(data: pd.DataFrame, alpha: float) -> list[dict[str, Any]]:
    """Fit ``correct`` on the columns other than item_id, with ``unit`` as clusters, by terms."""
    terms = ["intercept", *(name for name in data if name not in ("item_id", "unit", "correct"))]
    given = np.column_stack([np.ones(len(data)), data[terms[1:]].to_numpy(dtype=float)])
    design, back = standardised(given)
    reason = _without_fit(data, design)
    if not reason:
        right = (data["correct"] == 1).to_numpy()
        params, errors, freedom = clustered_fit(design, right, data["unit"], back)
        reason = "no estimate: the fit did not converge" * bool(np.isnan(params).any())
    if reason:
        return [
            {"term": term, "method_note": reason, "ci_method": "none", "test": "none"}
            for term in terms
        ]
    # If each item is as often right in both groups, the error and the estimate are 0.
    same = (errors == 0) & (np.abs(params) < _ROUNDING)
    params, errors = np.where(same, 0.0, params), np.where((errors == 0) & ~same, np.nan, errors)
    unit = "item" if data["unit"].equals(data["item_id"]) else "cluster"
    who = "items are clusters" if unit == "item" else "by declared cluster"
    known = errors > 0
    half = scipy.stats.t.isf(alpha / 2, freedom) * np.where(known, errors, np.nan)
    t = np.where(np.isnan(errors), np.nan, params / np.where(known, errors, 1.0))
    p = np.where(same, 1.0, 2 * scipy.stats.t.sf(np.abs(t), freedom))
    limits = np.array([params - half, params, params + half])
    with np.errstate(over="ignore"):
        ratios = np.exp(limits)
    rows = []
    for i, term in enumerate(terms):
        note = f"{who}; working independence"
        if np.isnan(freedom[i]):
            note += f"; no interval: the answers of one {unit} alone decide the estimate"
        elif np.isnan(errors[i]):
            note += f"; no interval: every {unit} has the same answers"
        elif not known[i]:
            note += "; no interval: each item is as often right in both groups"
        rows.append(
            {
                "term": term,
                "estimate": params[i],
                "std_error": errors[i],
                "ci_low": limits[0][i],
                "ci_high": limits[2][i],
                "odds_ratio": ratios[1][i],
                "odds_ratio_low": ratios[0][i],
                "odds_ratio_high": ratios[2][i],
                "ci_method": "t, robust" if known[i] else "none",
                "statistic": t[i],
                "p_value": np.maximum(p[i], LEAST_P),
                "test": "none" if np.isnan(errors[i]) else "t, robust",
                "method_note": note,
            }
        )
    return rows


def _without_fit(data: pd.DataFrame, design: FloatArray) -> str:
    """Return why there is no finite estimate; empty if there may be one."""
    rates = data.groupby("group")["correct"].agg(["mean", "size"])
    if len(rates) < 2:
        return "a group has no answers"
    if separating_direction(design, (data["correct"] == 1).to_numpy()) is not None:
        if rates["mean"].isin([0, 1]).any():
            return "no finite estimate: a group's answers are all right or all wrong"
        return "no finite estimate: right and wrong are separated by the terms"
    if data["unit"].nunique() < 2:
        one = "item" if data["item_id"].nunique() < 2 else "cluster"
        return f"no standard error: there is only one {one}"
    if np.linalg.matrix_rank(design) < design.shape[1]:
        return "no estimate: a covariate is constant, or follows from the others"
    return ""
