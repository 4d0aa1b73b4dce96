"""Logistic regression of right and wrong on the group, items being clusters."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from fairstats.benchmarks import Benchmark
from fairstats.counts import PAIR_COLUMNS
from fairstats.folding import open_answers
from fairstats.inference._checks import check_alpha
from fairstats.items import patterns_of
from fairstats.missing import CountingPolicy
from fairstats.problems import InputError, Problem

#: The columns of the table that `gee_logistic` gives, in order.
REGRESSION_COLUMNS = (
    *PAIR_COLUMNS,
    "term",
    "estimate",
    "std_error",
    "odds_ratio",
    "ci_low",
    "ci_high",
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


def gee_logistic(
    answers: Any,
    *,
    covariates: pd.DataFrame | None = None,
    missing: CountingPolicy | None = None,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Logistic regression of a correct answer on the group, by generalised estimating equations.

    logit P(correct) = β₀ + β₁ [group a] + β' covariates, over the answers of each declared pair
    of each unit. Answers to an item are a cluster: the working correlation is independence, the
    standard errors are the robust ones.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table.
    covariates : pandas.DataFrame, optional
        Numbers that describe the items, such as length or difficulty: a column ``item_id``, or an
        index of that name, and a column a covariate.
    missing : {"available", "complete", "incorrect"}, optional
        The policy for missing answers; by default the benchmark's.
    alpha : float
        1 − confidence level.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in, or that replace built-in ones.

    Returns
    -------
    pandas.DataFrame
        One row a term of each pair's model, columns `REGRESSION_COLUMNS`: log odds ``estimate``
        with its robust standard error, the ``odds_ratio`` and its Wald limits, and the test of 0.
        The term ``group`` is the odds ratio of a correct answer for group a against b over all
        items, which the paired (conditional) one of `odds_ratio` is not.

    Raises
    ------
    InputError
        Where no column or index is called ``item_id``, an item has no covariate or stands there
        twice, or a covariate is not a number.
    ValueError
        For the policy ``bounds``.

    Notes
    -----
    Where all answers are right, all are wrong or a group's are (separation), or where one term
    follows from the others (a constant or doubled covariate), there is no estimate: the rows are
    NaN, and the note says why.

    References
    ----------
    Liang & Zeger (1986), Biometrika 73:13-22; computed by `statsmodels.api.GEE`, checked against
    R's geepack (tests/r/gee.R).

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
    frame, known = open_answers(answers, benchmarks)
    policies = {name: str(missing or benchmark.missing) for name, benchmark in known.items()}
    if "bounds" in policies.values():
        raise ValueError("missing='bounds' gives no answers to fit; name another policy")
    patterns = patterns_of(frame, known)
    if covariates is not None:
        covariates = _checked_covariates(covariates, patterns)
    rows = []
    for key, pairs in patterns.groupby(list(PAIR_COLUMNS), sort=False):
        policy = policies[str(key[0])]
        data = _long(pairs, policy, covariates)
        unit = dict(zip(PAIR_COLUMNS, key, strict=True))
        shared = {
            "ci_level": 1 - alpha,
            "n": len(data),
            "n_items": data["item_id"].nunique(),
            "missing": policy,
        }
        rows += [unit | row | shared for row in _fit(data, alpha)]
    return pd.DataFrame(rows).reindex(columns=list(REGRESSION_COLUMNS))


def _checked_covariates(covariates: pd.DataFrame, patterns: pd.DataFrame) -> pd.DataFrame:
    """The covariates indexed by item; by their own numbering they could be joined to others."""
    if "item_id" in covariates:
        covariates = covariates.set_index("item_id")
    elif covariates.index.name != "item_id":
        remedy = "add it, or name the index so"
        raise InputError([Problem("<covariates>", "is not there", remedy, column="item_id")])
    covariates = covariates.set_axis(covariates.index.astype(str))
    problems = [
        Problem("<covariates>", "is not a number", "code it as numbers", column=str(name))
        for name in covariates
        if not pd.api.types.is_numeric_dtype(covariates[name])
    ]
    known = covariates.dropna().index
    for item in sorted(set(patterns["item_id"]) - set(known))[:10]:
        remedy = "give every covariate of every item"
        problems.append(
            Problem("<covariates>", "the item has no covariates", remedy, None, "item_id", item)
        )
    if covariates.index.duplicated().any():
        problems.append(Problem("<covariates>", "an item stands there twice", "drop one"))
    if problems:
        raise InputError(problems)
    return covariates


def _long(pairs: pd.DataFrame, policy: str, covariates: pd.DataFrame | None) -> pd.DataFrame:
    """One row an answer: item_id, correct, group (1 for group a), covariates."""
    sides = []
    for group, letter in ((1.0, "letter_a"), (0.0, "letter_b")):
        side = pairs[["item_id", letter, "answer_key"]].rename(columns={letter: "letter"})
        other = pairs["letter_b" if letter == "letter_a" else "letter_a"]
        there = side["letter"] != ""
        if policy == "complete":
            there &= other != ""
        keep = there | (policy == "incorrect")
        correct = (side["letter"] == side["answer_key"]).astype(float)
        sides.append(side.assign(correct=correct, group=group)[keep])
    data = pd.concat(sides, ignore_index=True)[["item_id", "correct", "group"]]
    if covariates is not None:
        data = data.join(covariates.add_prefix("covariate "), on="item_id")
    return data.sort_values(["item_id", "group"], ignore_index=True)


def _fit(data: pd.DataFrame, alpha: float) -> list[dict[str, Any]]:
    import statsmodels.api as sm

    terms = ["intercept", *(name for name in data if name not in ("item_id", "correct"))]
    reason = _without_fit(data, terms)
    if not reason:
        design = np.column_stack([np.ones(len(data)), data[terms[1:]].to_numpy(dtype=float)])
        # Fitted on one scale, so that the covariates' units decide nothing.
        units = np.where(design.std(axis=0) > 0, design.std(axis=0), 1.0)
        model = sm.GEE(
            data["correct"].to_numpy(),
            design / units,
            groups=data["item_id"].to_numpy(),
            family=sm.families.Binomial(),
            cov_struct=sm.cov_struct.Independence(),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of divergence, which is looked for here
            result = model.fit(cov_type="robust")
        if not (result.converged and np.isfinite(result.bse).all() and (result.bse < 100).all()):
            reason = "no finite estimate: right and wrong are separated by the terms"
    if reason:
        return [
            {"term": term, "method_note": reason, "ci_method": "none", "test": "none"}
            for term in terms
        ]
    params, errors = result.params / units, result.bse / units
    half = stats.norm.isf(alpha / 2) * errors
    z = params / errors
    with np.errstate(over="ignore"):
        limits = np.exp([params - half, params, params + half])
    return [
        {
            "term": term,
            "estimate": params[i],
            "std_error": errors[i],
            "odds_ratio": limits[1][i],
            "ci_low": limits[0][i],
            "ci_high": limits[2][i],
            "ci_method": "wald, robust",
            "statistic": z[i],
            "p_value": 2 * stats.norm.sf(abs(z[i])),
            "test": "wald, robust",
            "method_note": "items are clusters; working independence",
        }
        for i, term in enumerate(terms)
    ]


def _without_fit(data: pd.DataFrame, terms: list[str]) -> str:
    """Why there is no finite estimate; empty where there may be one."""
    rates = data.groupby("group")["correct"].agg(["mean", "size"])
    if len(rates) < 2:
        return "a group has no answer"
    if rates["mean"].isin([0, 1]).any():
        return "no finite estimate: a group's answers are all right or all wrong"
    if data["item_id"].nunique() < 2:
        return "one item alone has no standard error"
    design = data[terms[1:]].to_numpy(dtype=float)
    # Scaled, so that the rank does not depend on the covariates' units.
    spread = design.std(axis=0)
    scaled = (design - design.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    if np.linalg.matrix_rank(scaled) < design.shape[1]:
        return "no estimate: a covariate is constant, or follows from the others"
    return ""
