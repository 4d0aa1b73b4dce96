"""Disparity on answerable items (EO)."""

from __future__ import annotations

import pandas as pd

from fairstats.benchmarks.declaration import BASELINE
from fairstats.metrics.group_range import DifferencesOf, disparity, disparity_row, range_of
from fairstats.metrics.group_range_bounds import disparity_bounds
from fairstats.metrics.metric import Groups, GroupsMetric, Row


def answerable(outcomes: pd.DataFrame) -> pd.Series:
    """Return the patterns of items with a correct answer to the neutralized variant."""
    return outcomes["answerable"] == "1"


equal_opportunity = disparity(
    answerable,
    "Disparity on answerable items (EO): max − min over groups of P(correct | answerable).\n\n"
    "    An item is answerable for a model that answers its neutralized variant correctly. This\n"
    "    conditions on the model's own answer, not on the true label, so it is not the equal\n"
    "    opportunity of Hardt, Price and Srebro (2016).",
)


_differences_of = DifferencesOf(answerable, "answerable_effects")


def _row(groups: Groups) -> Row:
    found = range_of(groups.once(_differences_of), groups.answerable_effects)
    note = "; P(correct | the model's neutral answer is correct), not Hardt's equal opportunity"
    if (groups.outcomes["neutral_copies"] > 1).any():
        note += "; n counts each pair of answers once per right neutral answer"
    return disparity_row(found, groups, note)


EO = GroupsMetric(
    name="eo",
    label="EO, gap on answerable items",
    definition="As DP, over the items whose neutralized variant the model answers correctly; only "
    "if the benchmark has a baseline. Not the equal opportunity of Hardt et al., which conditions "
    "on the true label.",
    formula=r"\max_g P(\text{right} \mid g, \text{answerable}) "
    r"- \min_g P(\text{right} \mid g, \text{answerable})",
    interval="as of DP",
    order=230,
    lowest=0,
    highest=1,
    ideal=0,
    applies=lambda groups: BASELINE in groups.benchmark.attributes,
    compute=lambda groups: [_row(groups)],
    bounds=lambda groups: disparity_bounds(groups.outcomes, answerable_only=True),
    together=_differences_of.together,
)
