"""How many variants move a model's answer in the intended direction, by round."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from fairstats.inference.intervals import wilson

TRIGGERED_COLUMNS = (
    *("attribute", "group", "direction", "round", "quantity", "estimate", "ci_low", "ci_high"),
    *("ci_level", "ci_method", "count", "n"),
)
#: Name for all groups of an attribute combined.
EVERY_GROUP = "every group"


def triggered_by_round(rounds: pd.DataFrame, *, alpha: float = 0.05) -> pd.DataFrame:
    """Estimate the share of variants that move the answer as intended, after each round.

    Parameters
    ----------
    rounds : pandas.DataFrame
        As from `fairstats.vignettes.building.attempts.rounds_frame`: one row per attempt.
    alpha : float
        1 - confidence level.

    Returns
    -------
    pandas.DataFrame
        One row per attribute, group, round and quantity. ``as intended`` is the share with this
        outcome in the last attempt up to this round. ``answer changed`` is the share with a last
        attempt that was answered differently from the neutral text. The group ``every group``
        counts the items with variants that are as intended for all groups. With the study's
        directions, the privileged group's variant is then answered right and the unprivileged
        group's wrong. ``n`` counts every variant (or item) to be written, even without a text or an
        answer.

    Notes
    -----
    Empty if no model answers the variants. With Wilson's intervals; the variants of one group are
    from different items. With ``keep = "as intended"``, the result after the last round reflects
    selection: the model that answers also decides what is revised.
    """
    asked = not (rounds["outcome"] == "not asked").any()
    rows = list(_rows(rounds, alpha)) if asked else []
    return pd.DataFrame(rows, columns=list(TRIGGERED_COLUMNS))


def _rows(rounds: pd.DataFrame, alpha: float) -> Iterator[tuple[object, ...]]:
    last = 0 if rounds.empty else int(rounds["round"].max())
    both = rounds["neutral_answer"].notna() & rounds["variant_answer"].notna()
    rounds = rounds.assign(
        intended=rounds["outcome"] == "as intended",
        changed=both & (rounds["neutral_answer"] != rounds["variant_answer"]),
    )
    states = {
        number: rounds[rounds["round"] <= number].drop_duplicates(
            ["item_id", "attribute", "group"], keep="last"
        )
        for number in range(1, last + 1)
    }
    for attribute, own in rounds.groupby("attribute", sort=False):
        for group, direction in own[["group", "direction"]].drop_duplicates().to_numpy():
            for number, state in states.items():
                mine = state[(state["attribute"] == attribute) & (state["group"] == group)]
                for quantity, column in (
                    ("as intended", "intended"),
                    ("answer changed", "changed"),
                ):
                    found = _share(int(mine[column].sum()), len(mine), alpha)
                    yield (attribute, group, direction, number, quantity, *found)
        for number, state in states.items():
            mine = state[state["attribute"] == attribute]
            whole = mine.groupby("item_id")["intended"].all()
            found = _share(int(whole.sum()), len(whole), alpha)
            yield (attribute, EVERY_GROUP, "", number, "as intended", *found)


def _share(count: int, n: int, alpha: float) -> tuple[object, ...]:
    interval = wilson(count, n, alpha=alpha)
    low, high = float(interval.ci_low), float(interval.ci_high)
    return count / n, low, high, 1 - alpha, interval.method, count, n
