"""Selection rates: the share of favourable decisions, and their difference and ratio.

They are the metrics of accuracy with "favourable" in place of "right": the same counts and
intervals.
"""

from __future__ import annotations

from dataclasses import replace

from fairstats.metrics.accuracy import ACCURACY_A, ACCURACY_B, ACCURACY_DIFFERENCE
from fairstats.metrics.accuracy_ratio import ACCURACY_RATIO
from fairstats.metrics.demographic_parity import DP
from fairstats.metrics.metric import DECISIONS
from fairstats.metrics.outcome_shares import BOTH, NEITHER, ONLY_A, ONLY_B
from fairstats.metrics.overall_accuracy import OVERALL_ACCURACY
from fairstats.metrics.simultaneous import SIMULTANEOUS

SELECTION_RATE_A = replace(
    ACCURACY_A,
    name="selection_rate_a",
    label="Selection rate, {a}",
    definition="Share of group a's decisions that are favourable.",
    formula=r"S_a = \text{favourable decisions} / \text{decisions}",
    ideal=None,
    kinds=DECISIONS,
)
SELECTION_RATE_B = replace(
    ACCURACY_B,
    name="selection_rate_b",
    label="Selection rate, {b}",
    definition="Share of group b's decisions that are favourable.",
    formula="S_b",
    ideal=None,
    kinds=DECISIONS,
)
SELECTION_DIFFERENCE = replace(
    ACCURACY_DIFFERENCE,
    name="selection_difference",
    label="Selection difference",
    definition="Selection rate of group a minus that of group b, signed. It decides the verdict.",
    formula="S_a - S_b",
    kinds=DECISIONS,
)
SELECTION_RATIO = replace(
    ACCURACY_RATIO,
    name="selection_ratio",
    label="Selection ratio",
    definition="Selection rate of group a divided by that of group b; infinite if group b is never "
    "selected. The four-fifths rule of US employment law takes a ratio below .80, or above 1.25, "
    "as a sign of adverse impact.",
    formula="S_a / S_b",
    kinds=DECISIONS,
)
SELECTION_SIMULTANEOUS = replace(
    SIMULTANEOUS,
    name="selection_difference_simultaneous",
    label="Selection difference, simultaneous",
    definition="Selection difference between every two groups, for attributes with more than two. "
    "All intervals of an attribute hold simultaneously.",
    formula="S_g - S_h",
    interval="as of the selection difference, by Bonferroni",
    kinds=DECISIONS,
)
OVERALL_SELECTION_RATE = replace(
    OVERALL_ACCURACY,
    name="overall_selection_rate",
    label="Selection rate, all groups",
    definition="Share of the decisions for all of an attribute's groups that are favourable.",
    formula=r"\text{favourable decisions} / \text{decisions}",
    ideal=None,
    kinds=DECISIONS,
)
DEMOGRAPHIC_PARITY = replace(
    DP,
    name="demographic_parity",
    label="Demographic parity difference",
    definition="Highest minus lowest selection rate over an attribute's groups.",
    formula=r"\max_g S_g - \min_g S_g",
    kinds=DECISIONS,
)
BOTH_SELECTED, ONLY_A_SELECTED, ONLY_B_SELECTED, NEITHER_SELECTED = (
    replace(
        share,
        name=name,
        label=label,
        definition=f"Share of the pairs with {decisions} favourable.",
        kinds=DECISIONS,
    )
    for share, name, label, decisions in (
        (BOTH, "both_selected", "Both favourable", "both decisions"),
        (ONLY_A, "only_a_selected", "Only {a} favourable", "only the decision for group a"),
        (ONLY_B, "only_b_selected", "Only {b} favourable", "only the decision for group b"),
        (NEITHER, "neither_selected", "Neither favourable", "neither decision"),
    )
)
