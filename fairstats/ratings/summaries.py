"""The tables computed from ratings for a release or a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd

from fairstats.inference._checks import check_alpha
from fairstats.ratings.agreement import (
    AGREEMENT_COLUMNS,
    DISAGREEMENT_COLUMNS,
    VOTE_COLUMNS,
    agreement_of,
    disagreement,
    rating_votes,
)
from fairstats.ratings.counterfactual_rates import (
    CONTEXTS,
    COUNTERFACTUAL_COLUMNS,
    PAIRED_BIAS_COLUMNS,
    counterfactual_rates,
    paired_bias_rates,
)
from fairstats.ratings.pooling import UNIT_COLUMNS
from fairstats.ratings.preferences import (
    COMPARISON_COLUMNS,
    PREFERENCE_COLUMNS,
    preference_rates,
)
from fairstats.ratings.rates import RATE_COLUMNS, VALUE_COLUMNS, rates_of, value_counts
from fairstats.ratings.rubrics import Rubric, Rubrics, load_rubrics


@dataclass(frozen=True)
class RatingTable:
    """A table computed from ratings.

    Attributes
    ----------
    columns, keys : tuple of str
        Its columns, in order, and those that identify a row for readers.
    of : callable
        Returns the table, given checked ratings, their rubrics by name and an error rate.
    """

    columns: tuple[str, ...]
    keys: tuple[str, ...]
    of: Callable[[pd.DataFrame, Mapping[str, Rubric], float], pd.DataFrame]

    def make(self, ratings: pd.DataFrame, *, alpha: float, rubrics: Rubrics) -> pd.DataFrame:
        """Return the table of checked ratings; empty if there are none."""
        if ratings.empty:
            return pd.DataFrame(columns=list(self.columns))
        known = load_rubrics(ratings["rubric"].unique(), rubrics)
        return self.of(ratings, known, check_alpha(alpha))


#: Every table computed from ratings, by name.
RATING_TABLES: Mapping[str, RatingTable] = {
    "bias_rates": RatingTable(RATE_COLUMNS, (*UNIT_COLUMNS, "aggregation"), rates_of),
    "rating_values": RatingTable(
        VALUE_COLUMNS,
        (*UNIT_COLUMNS, "value"),
        lambda ratings, rubrics, _: value_counts(ratings, rubrics),
    ),
    "rating_votes": RatingTable(
        VOTE_COLUMNS,
        (*UNIT_COLUMNS, "n_ratings", "n_reported"),
        lambda ratings, rubrics, _: rating_votes(ratings, rubrics),
    ),
    "rater_agreement": RatingTable(
        AGREEMENT_COLUMNS, (*COMPARISON_COLUMNS, "coefficient", "level"), agreement_of
    ),
    "disagreement": RatingTable(
        DISAGREEMENT_COLUMNS,
        ("benchmark", "dataset", "rubric", "task_id", "rater_group", "dimension"),
        lambda ratings, rubrics, _: disagreement(ratings, rubrics),
    ),
    "preferences": RatingTable(
        PREFERENCE_COLUMNS,
        (*COMPARISON_COLUMNS, "metric"),
        lambda ratings, rubrics, alpha: preference_rates(ratings, alpha=alpha, rubrics=rubrics),
    ),
    "counterfactual_rates": RatingTable(
        COUNTERFACTUAL_COLUMNS,
        (*UNIT_COLUMNS, *CONTEXTS),
        lambda ratings, rubrics, alpha: counterfactual_rates(ratings, alpha=alpha, rubrics=rubrics),
    ),
    "paired_bias": RatingTable(
        PAIRED_BIAS_COLUMNS,
        (*UNIT_COLUMNS, "aggregation", "metric"),
        lambda ratings, rubrics, alpha: paired_bias_rates(ratings, alpha=alpha, rubrics=rubrics),
    ),
}
