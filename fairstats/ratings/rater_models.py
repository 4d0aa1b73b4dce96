"""Logistic regression of reported bias on characteristics of raters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy

from fairstats._lib.problems import InputError, input_error, parameter, wrong
from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import LEAST_P, check_alpha
from fairstats.inference.logistic import clustered_fit, separating_direction, standardised
from fairstats.ratings.rubrics import Rubrics, load_rubrics
from fairstats.ratings.table import in_normal_form

#: Columns of the table from `rater_regression`, in order.
RATER_REGRESSION_COLUMNS = (
    *("benchmark", "rubric", "rater_kind", "dimension", "covariate", "level", "reference"),
    *("estimate", "std_error", "df", "odds_ratio", "ci_low", "ci_high", "ci_level", "ci_method"),
    *("statistic", "p_value", "test", "n_ratings", "n_reported", "n_raters", "n_missing"),
    "method_note",
)
#: Columns of the ratings that may be covariates, in addition to those of raters.
RATING_COVARIATES = ("rater_group", "dataset", "model")
#: The level for raters with an unknown covariate.
NOT_STATED = "not stated"

_INTERCEPT = "intercept"
_ALIKE = "all judgements report bias, or none does"


def rater_regression(
    ratings: pd.DataFrame,
    raters: pd.DataFrame,
    *,
    covariates: Iterable[str],
    reference: Mapping[str, str] | None = None,
    dimension: str = "bias",
    rubric: str = "independent",
    rater_kind: str = "person",
    alpha: float = 0.05,
    rubrics: Rubrics = (),
) -> pd.DataFrame:
    """Fit a logistic regression of reported bias on characteristics of raters.

    The model is logit P(reported) = β₀ + Σ β [level of a covariate], over the judgements of one
    dimension, with all covariates in one model. exp β is the odds ratio of a level against the
    covariate's reference.

    Parameters
    ----------
    ratings : pandas.DataFrame
        Ratings in normal form.
    raters : pandas.DataFrame
        Characteristics of raters, one row each: ``rater_id`` as a column or as the index, and the
        covariates. Numbers are used as numbers, per unit. All other values are levels, and empty
        values the level ``not stated``.
    covariates : iterable of str
        Columns of `raters`, or ``rater_group``, ``dataset`` and ``model`` of the ratings, to adjust
        for them.
    reference : Mapping[str, str], optional
        The reference level of each covariate; by default the level with most raters.
    dimension, rubric : str
        The dimension of the judgements.
    rater_kind : {"person", "model"}
        The kind of raters; the two are never pooled.
    alpha : float
        1 − confidence level.
    rubrics : iterable or mapping of Rubric
        Additional rubrics.

    Returns
    -------
    pandas.DataFrame
        For each benchmark, one row for the intercept (the odds with all covariates at their
        reference and numbers at 0), and one per covariate level, the reference first; columns
        `RATER_REGRESSION_COLUMNS`. Log odds ratio ``estimate`` with its clustered standard error,
        ``odds_ratio`` with its limits, and the test of 1. The counts are those of the level.

    Raises
    ------
    InputError
        If `raters` has no rater_id or has one twice, lacks a rater or a covariate, or a number is
        empty; if a reference level does not occur, the rubric has no such dimension, or no
        covariate is named. Also as `fairstats.ratings.table.check_ratings`.

    Notes
    -----
    Ratings of a rater form a cluster. Standard errors are from bias-reduced linearisation (CR2),
    and limits and tests use Student's t with Satterthwaite's degrees of freedom, ``df``. These
    depend mostly on the number of raters at the smaller level. A level with two raters has little
    more than one degree of freedom, whatever the number of others, and a wide interval. For
    covariates of raters, a test at 5% was wrong in 0 to 6% of simulations, and in 7% for two of
    them together. It was wrong in 9 to 12% if one rater of each level made 20 times as many ratings
    as each of the others, and in 5 to 7% if 3 to 5 times as many. The plain sandwich, with as many
    degrees of freedom as raters, was wrong in 28% (two raters against 25).

    If several raters judge the same items, but those of two levels separate ones, tests and limits
    are for these items only, and `method_note` says so. For other items they were wrong in 8 to
    26%: the more raters judge the same items, the more often (20 raters per level, 20 items each).

    Tests and limits of ``model`` and ``dataset``, which vary within raters, are for these tasks
    only: tasks judged by several raters are treated as independent, and adjusting for ``dataset``
    accounts for part of the dependence. As tests of whether two models are equal on other tasks,
    they were wrong in 6 to 16% of simulations of equal models. With effects of items, and of the
    answers to an item, with a standard deviation of 1 on the logit scale, it was 16% if 8 raters
    judge both models' answers to 30 items, and 11% if 6 raters judge 20 separate items of each.

    A level with raters who never report, or always do, has no finite odds ratio. Its row states
    this, and the others are estimated without its ratings, which is the limit of maximum
    likelihood. A level with one rater has an odds ratio but no standard error, since the rater's
    tendency and the level's effect cannot be separated. The same holds if all raters behind a term
    report equally often. If the terms together separate reports from the rest, or one follows from
    others, all rows are NaN with the reason.

    References
    ----------
    Bell & McCaffrey (2002), Survey Methodology 28:169-181; Pustejovsky & Tipton (2018), Journal of
    Business & Economic Statistics 36:672-683; Albert & Anderson (1984), Biometrika 71:1-10.
    Checked against R's ``glm`` and ``clubSandwich`` (tests/r/rater_models.R).

    Examples
    --------
    >>> from fairstats.ratings.rubrics import load_rubric
    >>> from fairstats.ratings.table import check_ratings
    >>> row = dict(benchmark="demo", rubric="independent", rater_group="consumer")
    >>> share = {"r1": 2, "r2": 4, "r3": 6, "r4": 4}  # reports of 8 ratings
    >>> rows = [row | dict(task_id=f"t{i}", item_id=f"i{i}", rater_id=rater, dimension=d,
    ...                    value="minor" if d == "bias" and i < n else
    ...                          "none" if d == "bias" else "absent")
    ...         for rater, n in share.items() for i in range(8)
    ...         for d in load_rubric("independent").dimensions]
    >>> raters = pd.DataFrame({"rater_id": list(share), "age": ["old", "old", "young", "young"]})
    >>> table = rater_regression(check_ratings(pd.DataFrame(rows)), raters, covariates=["age"])
    >>> young = table.set_index("level").loc["young"]
    >>> round(float(young["odds_ratio"]), 4)  # (10 / 6) / (6 / 10)
    2.7778
    """
    alpha = check_alpha(alpha)
    names = list(dict.fromkeys(covariates))
    if not names:
        raise wrong("covariates", "is empty", "give at least one covariate")
    known = load_rubrics([rubric], rubrics)[rubric]
    if dimension not in known.dimensions:
        remedy = f"use one of {', '.join(known.dimensions)}"
        raise wrong("dimension", f"is not asked by {rubric}", remedy, value=dimension)
    frame, _ = in_normal_form(ratings, rubrics)
    frame = frame[
        (frame["rubric"] == rubric)
        & (frame["dimension"] == dimension)
        & (frame["rater_kind"] == rater_kind)
    ]
    frame = _with_covariates(frame, raters, names)
    reported = frame["value"].isin(known.question(dimension).reported).astype("float64")
    frame = frame.assign(reported=reported.where(frame["value"].notna()))
    references = _references(frame, names, reference or {})
    rows: list[dict[str, Any]] = []
    for benchmark, own in frame.groupby("benchmark"):
        unit = {
            "benchmark": benchmark,
            "rubric": rubric,
            "rater_kind": rater_kind,
            "dimension": dimension,
            "ci_level": 1 - alpha,
        }
        rows += [unit | row for row in _of_unit(own, names, references, alpha)]
    return pd.DataFrame(rows, columns=list(RATER_REGRESSION_COLUMNS))


def _with_covariates(frame: pd.DataFrame, raters: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Return the ratings with one column ``covariate <name>`` per covariate."""

    def refused(message: str, remedy: str, column: str, value: str | None = None) -> InputError:
        return input_error(parameter("raters"), message, remedy, column=column, value=value)

    if "rater_id" in raters:
        raters = raters.set_index("rater_id")
    elif raters.index.name != "rater_id":
        raise refused("is missing", "add the column, or use this name for the index", "rater_id")
    raters = raters.set_axis(raters.index.astype(str))
    if raters.index.has_duplicates:
        twice = str(raters.index[raters.index.duplicated()][0])
        raise refused("appears twice", "delete one", "rater_id", twice)
    lacking = sorted(set(frame["rater_id"]) - set(raters.index))
    if lacking and any(name in raters for name in names):
        raise refused("the rater is missing", "add a row for each rater", "rater_id", lacking[0])
    for name in names:
        if name in raters:
            values = frame["rater_id"].map(raters[name])
            number = pd.api.types.is_numeric_dtype(raters[name])
            number = number and not pd.api.types.is_bool_dtype(raters[name])
            if number and not np.isfinite(values.astype("float64")).all():
                raise refused(
                    "a number is missing or infinite", "fill it in, or use text levels", name
                )
        elif name in RATING_COVARIATES:
            values, number = frame[name], False
        else:
            remedy = f"add it, or use one of {', '.join(RATING_COVARIATES)}"
            raise refused("is not a column of the raters", remedy, name)
        if number:
            values = values.astype("float64")
        else:
            stated = values.notna() & (values != "")
            values = values.astype(object).where(stated, NOT_STATED).map(str)
        frame = frame.assign(**{f"covariate {name}": values})
    return frame


def _references(frame: pd.DataFrame, names: list[str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the reference level of each covariate with levels."""
    found = {}
    for name in names:
        values = frame[f"covariate {name}"]
        if pd.api.types.is_numeric_dtype(values):
            continue
        raters = frame["rater_id"].groupby(values).nunique()
        if name in given and str(given[name]) not in raters.index:
            remedy = f"use one of {', '.join(map(str, raters.index))}"
            message = "no rating has this reference level"
            where, level = parameter("reference"), str(given[name])
            raise input_error(where, message, remedy, column=name, value=level)
        if len(raters):
            found[name] = str(given.get(name, raters.idxmax()))
    return found


def _of_unit(
    own: pd.DataFrame, names: list[str], references: Mapping[str, str], alpha: float
) -> Iterator[dict[str, Any]]:
    judged = own[own["reported"].notna()]
    kept, notes = _without_constant_levels(judged, names, references)
    terms = _terms(kept, names, references)
    reason = _constant_reference(kept, references)
    if not reason:
        reason, params, errors, df = _fit(kept, terms)
    n_raters = kept["rater_id"].nunique()
    alone = _levels_of_one_rater(kept, names)
    for covariate, level in _rows(judged, names, references):
        mine = judged if level == "" else judged[judged[f"covariate {covariate}"] == level]
        every = own if level == "" else own[own[f"covariate {covariate}"] == level]
        row: dict[str, Any] = {
            "covariate": covariate,
            "level": level,
            "reference": references.get(covariate, ""),
            "ci_method": "none",
            "test": "none",
            "n_ratings": len(mine),
            "n_reported": int(mine["reported"].sum()),
            "n_raters": mine["rater_id"].nunique(),
            "n_missing": int(every["reported"].isna().sum()),
        }
        if level and level == references[covariate]:
            yield row | {"estimate": 0.0, "odds_ratio": 1.0, "method_note": "the reference"}
        elif (covariate, level) in notes or reason:
            yield row | {"method_note": notes.get((covariate, level), reason)}
        elif (covariate, level) not in terms:
            yield row | {"method_note": "no estimate: all of its ratings are at an excluded level"}
        else:
            place = terms.index((covariate, level))
            # A level is compared with the reference; the intercept is all references at once.
            against = [(covariate, level), *references.items()]
            if covariate != _INTERCEPT:
                against = [term for term in against if term[0] == covariate]
            single = [term[1] for term in against if term in alone]
            why = f"no standard error: only one rater is {single[0]}" if single else ""
            if not why and np.isnan(errors[place]):
                why = f"no standard error: {n_raters} raters for {len(terms)} terms"
            if not why and errors[place] == 0:
                why = "no standard error: all raters behind it report the same"
            error = np.nan if why else errors[place]
            if level and not why:
                both = judged[f"covariate {covariate}"].isin([level, references[covariate]])
                of_items = judged[both].groupby("item_id")
                levels = of_items[f"covariate {covariate}"].nunique().max()
                # Items of a single rater vary as raters do.
                if levels == 1 and of_items["rater_id"].nunique().max() > 1:
                    why = "for these items only: none has ratings at both levels"
            yield row | _figures(params[place], error, df[place], alpha) | {"method_note": why}


def _figures(estimate: float, error: float, df: float, alpha: float) -> dict[str, Any]:
    half = scipy.stats.t.isf(alpha / 2, df) * error
    with np.errstate(over="ignore"):
        ratio, low, high = np.exp([estimate, estimate - half, estimate + half]).tolist()
    found: dict[str, Any] = {"estimate": estimate, "odds_ratio": ratio}
    if np.isnan(error):
        return found
    return found | {
        "std_error": error,
        "df": df,
        "ci_low": low,
        "ci_high": high,
        "ci_method": "wald t, clustered by rater, CR2",
        "statistic": estimate / error,
        "p_value": max(2 * scipy.stats.t.sf(abs(estimate / error), df), LEAST_P),
        "test": "wald t, clustered by rater, CR2",
    }


def _rows(
    judged: pd.DataFrame, names: list[str], references: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Return covariates and levels in table order; a number has the level ''."""
    yield _INTERCEPT, ""
    for name in names:
        if name not in references:
            yield name, ""
            continue
        levels = sorted(judged[f"covariate {name}"].unique())
        yield from ((name, level) for level in sorted(levels, key=lambda v: v != references[name]))


def _terms(
    kept: pd.DataFrame, names: list[str], references: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return the columns of the design."""
    return [term for term in _rows(kept, names, references) if references.get(term[0]) != term[1]]


def _without_constant_levels(
    judged: pd.DataFrame, names: list[str], references: Mapping[str, str]
) -> tuple[pd.DataFrame, dict[tuple[str, str], str]]:
    """Return the ratings without levels that have a single outcome, and notes on these levels.

    Removing one level can leave another with a single outcome, so the search is repeated.
    """
    notes: dict[tuple[str, str], str] = {}
    while True:
        found = None
        for name in references:
            rates = judged.groupby(f"covariate {name}")["reported"].mean()
            constant = rates[rates.isin([0.0, 1.0]) & (rates.index != references[name])]
            if len(constant):
                found = (name, str(constant.index[0]), constant.iloc[0])
                break
        # If nobody or everybody reports, this is the note to give.
        if found is None or judged["reported"].nunique() < 2:
            return judged, notes
        name, level, rate = found
        word = "never report" if rate == 0 else "always report"
        notes[(name, level)] = f"no finite odds ratio: raters with this level {word}"
        judged = judged[judged[f"covariate {name}"] != level]


def _constant_reference(kept: pd.DataFrame, references: Mapping[str, str]) -> str:
    """Return why a reference level allows no comparison; empty if it does."""
    if kept["reported"].nunique() < 2:
        return f"no estimate: {_ALIKE if len(kept) else 'there are no judgements'}"
    for name, level in references.items():
        outcomes = kept.loc[kept[f"covariate {name}"] == level, "reported"]
        if outcomes.nunique() == 1:
            word = "always" if outcomes.iloc[0] else "never"
            return f"no finite estimate: the reference {level} {word} reports; choose another"
    return ""


def _levels_of_one_rater(kept: pd.DataFrame, names: list[str]) -> set[tuple[str, str]]:
    alone = set()
    for name in names:
        values = kept[f"covariate {name}"]
        if not pd.api.types.is_numeric_dtype(values):
            raters = kept["rater_id"].groupby(values).nunique()
            alone |= {(name, str(level)) for level in raters.index[raters == 1]}
    return alone


def _fit(
    kept: pd.DataFrame, terms: list[tuple[str, str]]
) -> tuple[str, FloatArray, FloatArray, FloatArray]:
    """Return why there is no finite estimate, the estimates, and their standard errors and df."""
    nothing = np.full(len(terms), np.nan)
    given = np.ones((len(kept), len(terms)))
    for place, (name, level) in enumerate(terms):
        if name != _INTERCEPT:
            values = kept[f"covariate {name}"]
            given[:, place] = values if level == "" else values == level
    design, back = standardised(given)
    if np.linalg.matrix_rank(design) < len(terms):
        reason = "no estimate: a covariate is constant, or follows from others"
        return reason, nothing, nothing, nothing
    reported = (kept["reported"] == 1).to_numpy()
    direction = separating_direction(design, reported)
    if direction is not None:
        parts = [" ".join(terms[i]).strip() for i in np.flatnonzero(np.abs(direction) > 1e-6)]
        reason = f"no finite estimate: reports are separated by {', '.join(parts)}"
        return reason, nothing, nothing, nothing
    params, errors, df = clustered_fit(design, reported, kept["rater_id"], back)
    if np.isnan(params).any():
        return "no estimate: the fit did not converge", nothing, nothing, nothing
    # With no more clusters than terms, some combination of terms would seem to be known exactly.
    if kept["rater_id"].nunique() <= len(terms):
        return "", params, nothing, nothing
    return "", params, errors, df
