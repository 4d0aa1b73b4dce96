"""Strengths of several models from raters' pairwise comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import check_alpha, check_number
from fairstats.inference.crossed_means import CrossedVariance, Crossing, crossed_variance
from fairstats.inference.logistic import (
    diverging_direction,
    fit_choices,
    influence_on_params,
    rank_of_choices,
)
from fairstats.ratings.pooling import with_pooled
from fairstats.ratings.preferences import COMPARISON_COLUMNS, preferences
from fairstats.ratings.rubrics import Rubrics

_UNIT = [name for name in COMPARISON_COLUMNS if name not in ("model", "model_2")]
#: Columns of `BradleyTerry.strengths`, in order.
STRENGTH_COLUMNS = (
    *_UNIT,
    "model",
    "strength",
    "std_error",
    "df",
    "ci_low",
    "ci_high",
    "ci_level",
    "ci_method",
    "tie_parameter",
    "n_ratings",
    "n_preferred",
    "n_not_preferred",
    "n_indifferent",
    "n_tasks",
    "n_items",
    "n_raters",
    "method_note",
)
#: Columns of `BradleyTerry.win_probabilities`, in order.
WIN_COLUMNS = (
    *_UNIT,
    "model",
    "model_2",
    "win_probability",
    "df",
    "ci_low",
    "ci_high",
    "ci_level",
    "ci_method",
    "preferred",
    "preferred_2",
    "indifferent",
    "n_ratings",
    "method_note",
)


@dataclass(frozen=True)
class BradleyTerry:
    """Result of `bradley_terry`.

    Attributes
    ----------
    strengths : pandas.DataFrame
        One row per model of each unit, columns `STRENGTH_COLUMNS`.
    win_probabilities : pandas.DataFrame
        One row per pair of models of each unit, columns `WIN_COLUMNS`.
    """

    strengths: pd.DataFrame
    win_probabilities: pd.DataFrame


def bradley_terry(
    ratings: pd.DataFrame,
    *,
    dimension: str = "bias",
    pseudo_wins: float = 0.0,
    alpha: float = 0.05,
    rubrics: Rubrics = (),
) -> BradleyTerry:
    """Estimate models' strengths from paired comparisons (Bradley, Terry and Davidson).

    P(i preferred) : P(j preferred) : P(neither) = πᵢ : πⱼ : ν √(πᵢ πⱼ). A strength is log π minus
    the mean over models; ν is the tie parameter. Without ties, this is Bradley and Terry's model.

    Parameters
    ----------
    ratings : pandas.DataFrame
        Ratings in normal form; only those by rubrics that compare models are used.
    dimension : str
        The dimension of the preferences.
    pseudo_wins : float
        Preferences added to both sides of every compared pair of models. This is a penalty towards
        equal strengths that keeps estimates finite; 0.5 is usual.
    alpha : float
        1 − confidence level.
    rubrics : iterable or mapping of Rubric
        Additional rubrics.

    Returns
    -------
    BradleyTerry
        Its ``strengths`` sum to 0 in each unit: benchmark, dataset, rubric, kind and group of
        raters, with ``pooled`` as in `preference_rates`. Its ``win_probabilities`` are per pair of
        models, given that a rater prefers one of them: πᵢ / (πᵢ + πⱼ). The model's three
        probabilities are ``preferred``, ``preferred_2`` and ``indifferent``. Pairs that were never
        compared have them too, through other models.

    Raises
    ------
    InputError
        If a rubric is unknown, or a dataset or group of raters is called ``pooled``.
    ValueError
        For a dimension that is not in these rubrics, or negative `pseudo_wins`.

    Notes
    -----
    An answer can be in several tasks, and a rater judges many. So standard errors and the degrees
    of freedom of Student's t (``df``) are computed as in `fairstats.crossed_interval`. The
    influence of each rating on a strength, or on the difference of two, replaces its deviation from
    the mean. The variance is never below that of items alone or raters alone. With a single rater,
    standard errors are clustered by item, and ``ci_method`` states that differences between raters
    are unknown. If there are no more items than parameters, there are no standard errors.

    There is no finite estimate if models fall into two sets, and no model of one set was ever
    preferred to one of the other. (With ties it can still be finite, since all pairs share ν; a
    linear programme decides.) There is no estimate at all if models fall into sets that were not
    compared with each other. All values of the unit are then NaN, and ``method_note`` gives the
    reason. With two models the strengths are ± ½ log(n₁ / n₂), and ties have no effect.

    References
    ----------
    Bradley & Terry (1952), Biometrika 39:324-345; Davidson (1970), JASA 65:317-328; Ford (1957),
    American Mathematical Monthly 64:28-33, on when estimates are finite. Checked against R: ``glm``
    with ``sandwich`` without ties, a loglinear ``glm`` with them, and ``BradleyTerry2``
    (tests/r/bradley_terry.R). Standard errors: Cameron, Gelbach & Miller (2011), Journal of
    Business & Economic Statistics 29:238-249.

    Examples
    --------
    >>> from fairstats.ratings.rubrics import load_rubric
    >>> from fairstats.ratings.table import check_ratings
    >>> row = dict(benchmark="demo", rubric="pairwise", rater_id="r1", rater_group="physician")
    >>> won = [("a", "b", 12, 4), ("b", "c", 9, 3), ("a", "c", 10, 2)]  # times that each won
    >>> rows = [row | dict(task_id=f"{i} {j} {k}", item_id=f"i{k}", model=i, model_2=j, value=v,
    ...                    dimension=d)
    ...         for i, j, up, down in won for k in range(up + down)
    ...         for v in ["answer_2" if k < up else "answer_1"]  # which has more bias
    ...         for d in load_rubric("pairwise").dimensions]
    >>> found = bradley_terry(check_ratings(pd.DataFrame(rows)))
    >>> [round(float(x), 3) for x in found.strengths["strength"]]
    [0.949, -0.014, -0.935]
    """
    alpha = check_alpha(alpha)
    pseudo_wins = check_number("pseudo_wins", pseudo_wins, low=0)
    frame = preferences(ratings, rubrics)
    if len(frame) and dimension not in set(frame["dimension"]):
        known = ", ".join(frame["dimension"].unique())
        raise ValueError(f"dimension={dimension!r} contains no preferences; use one of {known}")
    frame = frame[(frame["dimension"] == dimension) & frame["prefers"].notna()]
    strengths: list[dict[str, Any]] = []
    wins: list[dict[str, Any]] = []
    for key, rows in with_pooled(frame).groupby(_UNIT):
        unit = dict(zip(_UNIT, key, strict=True)) | {"ci_level": 1 - alpha}
        of_models, of_pairs = _of_unit(rows, pseudo_wins, alpha)
        strengths += [unit | row for row in of_models]
        wins += [unit | row for row in of_pairs]
    return BradleyTerry(
        pd.DataFrame(strengths, columns=list(STRENGTH_COLUMNS)),
        pd.DataFrame(wins, columns=list(WIN_COLUMNS)),
    )


def _of_unit(
    rows: pd.DataFrame, pseudo_wins: float, alpha: float
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    models = sorted({*rows["model"], *rows["model_2"]})
    first = np.searchsorted(models, rows["model"].to_numpy(dtype=object).astype(str))
    second = np.searchsorted(models, rows["model_2"].to_numpy(dtype=object).astype(str))
    sign = rows["prefers"].to_numpy(dtype=np.int64)
    tasks = rows["task_id"].to_numpy()
    crossing = Crossing.of(rows["item_id"], rows["rater_id"], len(rows))
    fit = _Fit(models, first, second, sign, crossing, pseudo_wins)
    nothing = np.full(len(models), np.nan)
    strength = nothing if fit.params is None else fit.params[: len(models)]
    shared = {"method_note": fit.note}
    tie = float(np.exp(fit.params[-1])) if fit.params is not None and fit.has_ties else 0.0
    of_models = []
    for place, name in enumerate(models):
        mine = np.where(first == place, sign, np.where(second == place, -sign, 2))
        found, half = fit.spread(place, alpha=alpha)
        of_models.append(
            shared
            | {
                "model": name,
                "strength": strength[place],
                "std_error": np.sqrt(found.variance),
                "df": found.df,
                "ci_low": strength[place] - half,
                "ci_high": strength[place] + half,
                "ci_method": found.clusters,
                "tie_parameter": np.nan if fit.params is None else tie,
                "n_ratings": int((mine < 2).sum()),
                "n_preferred": int((mine == 1).sum()),
                "n_not_preferred": int((mine == -1).sum()),
                "n_indifferent": int((mine == 0).sum()),
                "n_tasks": len(np.unique(tasks[mine < 2])),
                "n_items": len(np.unique(crossing.items[mine < 2])),
                "n_raters": len(np.unique(crossing.raters[mine < 2])),
            }
        )
    of_pairs = []
    for i, j in combinations(range(len(models)), 2):
        log_odds = strength[i] - strength[j]
        found, half = fit.spread(i, j, alpha=alpha)
        odds = np.exp([strength[i], strength[j], np.log(tie) if tie else -np.inf])
        odds[2] = tie * np.sqrt(odds[0] * odds[1])
        up, down, neither = odds / odds.sum()
        of_pairs.append(
            shared
            | {
                "model": models[i],
                "model_2": models[j],
                "win_probability": scipy.special.expit(log_odds),
                "df": found.df,
                "ci_low": scipy.special.expit(log_odds - half),
                "ci_high": scipy.special.expit(log_odds + half),
                "ci_method": found.clusters,
                "preferred": up,
                "preferred_2": down,
                "indifferent": neither,
                "n_ratings": int(((first == i) & (second == j)).sum()),
            }
        )
    return of_models, of_pairs


class _Fit:
    """Estimates, the influence of each rating on them, and the reason if there are none."""

    def __init__(
        self,
        models: list[str],
        first: npt.NDArray[np.int64],
        second: npt.NDArray[np.int64],
        sign: npt.NDArray[np.int64],
        crossing: Crossing,
        pseudo_wins: float,
    ) -> None:
        self.params: FloatArray | None = None
        self.influence: FloatArray | None = None
        self.crossing = crossing
        self.has_ties = bool((sign == 0).any())
        n = len(sign)
        weights = np.ones(n)
        if pseudo_wins > 0:
            pairs = np.unique(np.stack([first, second]), axis=1)
            first, second = (
                np.concatenate(x) for x in ((first, *pairs[[0, 0]]), (second, *pairs[[1, 1]]))
            )
            sign = np.concatenate([sign, *(np.full(pairs.shape[1], s) for s in (1, -1))])
            weights = np.concatenate([weights, np.full(2 * pairs.shape[1], pseudo_wins)])
        features = _features(len(models), first, second, ties=self.has_ties)
        # The alternatives are first, second, neither.
        chosen = np.where(sign == 1, 0, np.where(sign == -1, 1, 2))
        self.note = _without_fit(models, features, chosen, self.has_ties)
        if self.note:
            return
        fit = fit_choices(features, chosen, weights)
        self.params = fit.params
        n_params = len(models) - 1 + self.has_ties
        if crossing.n_items <= n_params:
            self.note = f"no standard error: {crossing.n_items} items for {n_params} parameters"
            return
        self.influence = influence_on_params(fit, fit.scores[:n])
        if pseudo_wins > 0:
            self.note = f"{pseudo_wins:g} preferences added to both sides of each pair"

    def spread(
        self, place: int, other: int | None = None, *, alpha: float
    ) -> tuple[CrossedVariance, float]:
        """Return the variance of a strength or of a difference, and half the interval's width."""
        if self.influence is None:
            return CrossedVariance(np.nan, np.nan, "none"), np.nan
        each = self.influence[:, place]
        if other is not None:
            each = each - self.influence[:, other]
        found = crossed_variance(each, self.crossing)
        half = float(scipy.stats.t.isf(alpha / 2, found.df) * np.sqrt(found.variance))
        return CrossedVariance(found.variance, found.df, f"wald t, {found.clusters}"), half


def _features(
    n_models: int, first: npt.NDArray[np.int64], second: npt.NDArray[np.int64], *, ties: bool
) -> FloatArray:
    """Return the alternatives of each comparison: log outcome weights are linear in them."""
    features = np.zeros((len(first), 2 + ties, n_models + ties))
    every = np.arange(len(first))
    features[every, 0, first] = 1
    features[every, 1, second] = 1
    if ties:
        features[:, 2] = (features[:, 0] + features[:, 1]) / 2
        features[:, 2, -1] = 1
    return features


def _without_fit(
    models: list[str], features: FloatArray, chosen: npt.NDArray[np.int64], ties: bool
) -> str:
    """Return why there is no finite estimate; empty if there is one."""
    if (chosen == 2).all():
        return "no estimate: no preferences were stated"
    if rank_of_choices(features[:, :2], np.zeros(len(chosen), dtype=np.int64)) < len(models) - 1:
        return "no estimate: some models were not compared, directly or through other models"
    direction = diverging_direction(features, chosen)
    if direction is None:
        return ""
    ahead = direction[: len(models)] > direction[: len(models)].max() - 1e-6
    top, rest = (
        ", ".join(name for name, there in zip(models, ahead, strict=True) if there == which)
        for which in (True, False)
    )
    return f"no finite estimate: never preferred to {top}: {rest}"
