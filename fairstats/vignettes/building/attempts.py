"""An attempt at a variant, its outcome, and how many move a model's answer as intended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import pandas as pd

from fairstats.inference.intervals import wilson
from fairstats.vignettes.building.agents import Wanted

#: ``not asked`` if no model answers the variants.
Outcome = Literal[
    "as intended", "not as intended", "faulty", "refused", "unread", "failed", "not asked"
]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

ROUND_COLUMNS = (
    *("item_id", "attribute", "group", "direction", "round", "stage", "outcome", "problems"),
    *("neutral_answer", "variant_answer", "tokens"),
)
_LINE = (
    *("item_id", "attribute", "group", "direction", "background", "text", "round", "stage"),
    *("outcome", "neutral_answer", "variant_answer", "problems"),
)


@dataclass(frozen=True)
class Attempt:
    """One attempt at a variant.

    Parameters
    ----------
    wanted : Wanted
        The variant to write.
    round : int
        The round, from 1.
    background, text : str
        The texts so far; empty if not reached.
    stage : str
        The last stage reached: ``generate``, ``fuse`` or ``validate``.
    outcome : str or None
        One of `OUTCOMES`; None while in progress.
    problems : tuple of str
        The errors.
    neutral_answer, variant_answer : str or None
        The letters chosen by the validating model.
    tokens : int
        The usage, as far as the services count it.
    """

    wanted: Wanted
    round: int
    background: str = ""
    text: str = ""
    stage: str = "generate"
    outcome: Outcome | None = None
    problems: tuple[str, ...] = ()
    neutral_answer: str | None = None
    variant_answer: str | None = None
    tokens: int = 0

    def is_kept(self, keep: str) -> bool:
        """Return whether it has a text without an error that this rule keeps."""
        sound = self.stage == "validate" and bool(self.text) and self.outcome != "faulty"
        return sound and (keep == "sound" or self.outcome == "as intended")

    def is_open(self, keep: str) -> bool:
        """Return whether another round may fix it."""
        again = ("faulty", "not as intended") if keep == "as intended" else ("faulty",)
        return self.outcome in again

    def feedback(self) -> tuple[str, ...]:
        """Return the feedback for the agents in the next round."""
        if self.outcome != "not as intended":
            return self.problems
        said = {
            "favourable": "A reader of the merged vignette did not choose the right option.",
            "unfavourable": "A reader of the merged vignette still chose the right option.",
            "neutral": "A reader of the merged vignette chose another option than without it.",
        }
        return (said[self.wanted.direction],)

    def row(self) -> dict[str, Any]:
        """Return the attempt as a row of ``rounds.csv``."""
        values = self._values() | {"problems": "; ".join(self.problems)}
        return {name: values[name] for name in ROUND_COLUMNS}

    def line(self, keep: str) -> dict[str, Any]:
        """Return the attempt as a line of ``variants.jsonl``."""
        values = self._values()
        return {name: values[name] for name in _LINE} | {"kept": self.is_kept(keep)}

    def _values(self) -> dict[str, Any]:
        item_id, attribute, group = self.wanted.key
        return {
            **vars(self),
            "item_id": item_id,
            "attribute": attribute,
            "group": group,
            "direction": self.wanted.direction,
            "problems": list(self.problems),
        }


def rounds_frame(attempts: Iterable[Attempt]) -> pd.DataFrame:
    """Return every attempt, in the order of the rounds."""
    text = ["item_id", "attribute", "group", "direction", "stage", "outcome", "problems"]
    frame = pd.DataFrame([a.row() for a in attempts], columns=list(ROUND_COLUMNS))
    types = dict.fromkeys([*text, "neutral_answer", "variant_answer"], "str")
    return frame.astype(types | {"round": "int64", "tokens": "int64"})


TRIGGERED_COLUMNS = (
    *("attribute", "group", "direction", "round", "quantity", "estimate", "ci_low", "ci_high"),
    *("ci_level", "ci_method", "count", "n"),
)
#: Name for all groups of an attribute combined.
EVERY_GROUP = "every group"


def triggered_by_round(rounds: pd.DataFrame) -> pd.DataFrame:
    """Estimate the share of variants that move the answer as intended, after each round.

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
    Empty if no model answers the variants. With Wilson's 95% intervals; the variants of one group
    are from different items. With ``keep = "as intended"``, the result after the last round
    reflects selection: the model that answers also decides what is revised.
    """
    asked = not (rounds["outcome"] == "not asked").any()
    rows = list(_rows(rounds)) if asked else []
    return pd.DataFrame(rows, columns=list(TRIGGERED_COLUMNS))


def _rows(rounds: pd.DataFrame) -> Iterator[tuple[object, ...]]:
    both = rounds["neutral_answer"].notna() & rounds["variant_answer"].notna()
    quantities = {
        "as intended": rounds["outcome"] == "as intended",
        "answer changed": both & (rounds["neutral_answer"] != rounds["variant_answer"]),
    }
    rounds = rounds.assign(**quantities)
    key = ["item_id", "attribute", "group"]
    states = {
        number: rounds[rounds["round"] <= number].drop_duplicates(key, keep="last")
        for number in range(1, int(rounds["round"].max()) + 1 if len(rounds) else 1)
    }
    for attribute, own in rounds.groupby("attribute", sort=False):
        for group, direction in own[["group", "direction"]].drop_duplicates().to_numpy():
            for number, state in states.items():
                mine = state[(state["attribute"] == attribute) & (state["group"] == group)]
                for name in quantities:
                    yield (attribute, group, direction, number, name, *_share(mine[name]))
        for number, state in states.items():
            whole = state[state["attribute"] == attribute].groupby("item_id")["as intended"].all()
            yield (attribute, EVERY_GROUP, "", number, "as intended", *_share(whole))


def _share(holds: pd.Series) -> tuple[object, ...]:
    count, n = int(holds.sum()), len(holds)
    found = wilson(count, n, alpha=0.05)
    return count / n, float(found.ci_low), float(found.ci_high), 0.95, found.method, count, n
