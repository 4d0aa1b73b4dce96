"""Show how often a win-win verdict is false, on the methods page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import level, number_word, percent, percent_range
from fairstats._lib.installation import resource
from fairstats.report.tables import written_table

if TYPE_CHECKING:
    from great_tables import GT

#: The level of the verdicts in the file; its intervals have a confidence level of 1 − this.
ALPHA = 0.05
#: The improvement in the power scenario, as the file names it.
ALL_THREE = "accuracy, cfr, ad"
_RULES = {"unadjusted": "unadjusted", "holm": "Holm"}


def read_win_win_error() -> pd.DataFrame:
    """Read the error rates of the win-win verdict, as benchmarks/win_win_error.py wrote them."""
    return pd.read_csv(resource("data", "win_win_error.csv"))


def win_win_text(rates: pd.DataFrame) -> str:
    """State how often a win-win is false, and how it was simulated, in Markdown."""
    false, power = rates[rates["changed"] != ALL_THREE], rates[rates["changed"] == ALL_THREE]
    worst = {
        (rule, pairs): percent(own[f"family_{rule}"].max())
        for rule in _RULES
        for pairs, own in false.groupby("pairs")
    }
    sizes = sorted(false["pairs"].unique())
    few, many = sizes[0], sizes[-1]
    trials = " or ".join(f"{n:,}" for n in sorted(false["trials"].unique(), reverse=True))
    trials_of_power = " or ".join(f"{n:,}" for n in sorted(power["trials"].unique(), reverse=True))
    return (
        f"In simulations at most {percent(false['family_holm'].max())} of the families contain a "
        f"false win-win, at a level of {level(1 - ALPHA)}. Without Holm's procedure it is up to "
        f"{worst['unadjusted', few]} with {number_word(few)} pairs and "
        f"{worst['unadjusted', many]} with {number_word(many)}.\n\n"
        "A win-win is false if one of the three figures did not improve. The models' answers are "
        "drawn from shared item difficulties. The older models are near the released FairMedQA "
        "figures (accuracy 0.75, CFR 0.85, AD 0.08). In the newer models some figures improve and "
        "the others stay the same (`benchmarks/win_win_error.py`). Each row is based on "
        f"{trials} simulated families, and power on {trials_of_power}."
    )


def win_win_table(rates: pd.DataFrame) -> GT:
    """Show the share of win-wins by both rules, one row per design and set of improved figures."""
    rows = [
        {
            "design": f"{row['items']:,} items, a family of {row['pairs']} pairs",
            "changed": _improved(row["changed"]),
            **{
                f"{unit}_{rule}": _share(row, f"{unit}_{rule}")
                for unit in ("family", "pair")
                for rule in _RULES
            },
        }
        for _, row in rates.iterrows()
    ]
    labels = {
        f"{unit}_{rule}": f"{label}, {text}"
        for unit, label in (("family", "Any pair"), ("pair", "One pair"))
        for rule, text in _RULES.items()
    }
    return written_table(
        rows,
        labels,
        name="win-win-error",
        stub="changed",
        heading="What improves",
        group="design",
        right=["changed", *labels],
    )


def win_win_caption() -> str:
    """Caption the table, in plain text."""
    return (
        "Share of families with any win-win, and of single pairs with a win-win, with "
        f"{level(ALPHA)} intervals. The last row of each group is power."
    )


def _improved(changed: str) -> str:
    """Name the improved figures, e.g. ``Accuracy and CFR``."""
    if changed == ALL_THREE:
        return "All three (power)"
    names = {"accuracy": "accuracy", "cfr": "CFR", "ad": "AD"}
    text = " and ".join(names.get(name, name) for name in changed.split(", "))
    return text[0].upper() + text[1:]


def _share(row: pd.Series, name: str) -> str:
    limits = percent_range(row[f"{name}_low"], row[f"{name}_high"])
    return f"{percent(row[name])} ({limits})"
