"""The tables computed from ratings for a release or a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd

from fairstats.ratings.agreement import (
    AGREEMENT_COLUMNS,
    DISAGREEMENT_COLUMNS,
    VOTE_COLUMNS,
    disagreement,
    rating_agreement,
    rating_votes,
)
from fairstats.ratings.bradley_terry import STRENGTH_COLUMNS, bradley_terry
from fairstats.ratings.counterfactual import (
    CONTEXTS,
    COUNTERFACTUAL_COLUMNS,
    counterfactual_rates,
)
from fairstats.ratings.preferences import (
    COMPARISON_COLUMNS,
    PREFERENCE_COLUMNS,
    preference_rates,
)
from fairstats.ratings.rates import RATE_COLUMNS, VALUE_COLUMNS, bias_rates, value_counts
from fairstats.ratings.rating_units import UNIT_COLUMNS, Rubrics
from fairstats.ratings.separately_judged import PAIRED_BIAS_COLUMNS, paired_bias_rates
from fairstats.ratings.workload import WORKLOAD_COLUMNS, workload


@dataclass(frozen=True)
class RatingTable:
    """A table computed from ratings.

    Attributes
    ----------
    columns, keys : tuple of str
        Its columns, in order, and those that identify a row for readers.
    of : callable
        Returns the table, given non-empty ratings, an error rate and rubrics.
    """

    columns: tuple[str, ...]
    keys: tuple[str, ...]
    of: Callable[[pd.DataFrame, float, Rubrics], pd.DataFrame]

    def make(self, ratings: pd.DataFrame, *, alpha: float, rubrics: Rubrics) -> pd.DataFrame:
        """Return the table of these ratings; empty if there are none."""
        if ratings.empty:
            return pd.DataFrame(columns=list(self.columns))
        return self.of(ratings, alpha, rubrics)


#: Every table computed from ratings, by name.
RATING_TABLES: Mapping[str, RatingTable] = {
    "bias_rates": RatingTable(
        RATE_COLUMNS,
        (*UNIT_COLUMNS, "aggregation"),
        lambda ratings, alpha, rubrics: bias_rates(ratings, alpha=alpha, rubrics=rubrics),
    ),
    "rating_values": RatingTable(
        VALUE_COLUMNS,
        (*UNIT_COLUMNS, "value"),
        lambda ratings, _, rubrics: value_counts(ratings, rubrics=rubrics),
    ),
    "rating_votes": RatingTable(
        VOTE_COLUMNS,
        (*UNIT_COLUMNS, "n_ratings", "n_reported"),
        lambda ratings, _, rubrics: rating_votes(ratings, rubrics=rubrics),
    ),
    "rater_agreement": RatingTable(
        AGREEMENT_COLUMNS,
        (*COMPARISON_COLUMNS, "coefficient", "level"),
        lambda ratings, alpha, rubrics: rating_agreement(ratings, alpha=alpha, rubrics=rubrics),
    ),
    "disagreement": RatingTable(
        DISAGREEMENT_COLUMNS,
        ("benchmark", "dataset", "rubric", "task_id", "rater_group", "dimension"),
        lambda ratings, _, rubrics: disagreement(ratings, rubrics=rubrics),
    ),
    "raters": RatingTable(
        WORKLOAD_COLUMNS,
        ("benchmark", "rubric", "rater_id"),
        lambda ratings, _, rubrics: workload(ratings, rubrics=rubrics),
    ),
    "preferences": RatingTable(
        PREFERENCE_COLUMNS,
        (*COMPARISON_COLUMNS, "metric"),
        lambda ratings, alpha, rubrics: preference_rates(ratings, alpha=alpha, rubrics=rubrics),
    ),
    "strengths": RatingTable(
        STRENGTH_COLUMNS,
        ("benchmark", "dataset", "rubric", "rater_kind", "rater_group", "model"),
        lambda ratings, alpha, rubrics: (
            bradley_terry(ratings, alpha=alpha, rubrics=rubrics).strengths
        ),
    ),
    "counterfactual_rates": RatingTable(
        COUNTERFACTUAL_COLUMNS,
        (*UNIT_COLUMNS, *CONTEXTS),
        lambda ratings, alpha, rubrics: counterfactual_rates(ratings, alpha=alpha, rubrics=rubrics),
    ),
    "paired_bias": RatingTable(
        PAIRED_BIAS_COLUMNS,
        (*UNIT_COLUMNS, "aggregation", "metric"),
        lambda ratings, alpha, rubrics: paired_bias_rates(ratings, alpha=alpha, rubrics=rubrics),
    ),
}
