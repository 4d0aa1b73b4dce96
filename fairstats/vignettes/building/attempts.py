"""One attempt at a variant, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from fairstats.vignettes.building.messages import Wanted

#: ``not asked`` where no model answers the variants.
Outcome = Literal[
    "as intended", "not as intended", "faulty", "refused", "unread", "failed", "not asked"
]
OUTCOMES: tuple[Outcome, ...] = (
    "as intended",
    "not as intended",
    "faulty",
    "refused",
    "unread",
    "failed",
    "not asked",
)

ROUND_COLUMNS = (
    *("item_id", "attribute", "group", "direction", "round", "stage", "outcome", "problems"),
    *("neutral_answer", "variant_answer", "tokens"),
)


@dataclass(frozen=True)
class Attempt:
    """One attempt at a variant.

    Parameters
    ----------
    wanted : Wanted
        What is to be written.
    round : int
        From 1.
    background, text : str
        As far as it got; empty where it did not.
    stage : str
        The last stage that it reached: ``generate``, ``fuse`` or ``validate``.
    outcome : str or None
        One of `OUTCOMES`; None while it is under way.
    problems : tuple of str
        What is wrong with it.
    neutral_answer, variant_answer : str or None
        The letters that the validating model chose.
    tokens : int
        What it took, as far as the services count.
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

    @property
    def is_sound(self) -> bool:
        """Whether there is a text without a fault."""
        return self.stage == "validate" and bool(self.text) and self.outcome != "faulty"

    def is_kept(self, keep: str) -> bool:
        """Whether it stays by this rule."""
        return self.is_sound and (keep == "sound" or self.outcome == "as intended")

    def is_open(self, keep: str) -> bool:
        """Whether another round may mend it."""
        again = ("faulty", "not as intended") if keep == "as intended" else ("faulty",)
        return self.outcome in again

    def feedback(self) -> tuple[str, ...]:
        """What the agents are told of it in the next round."""
        if self.outcome != "not as intended":
            return self.problems
        said = {
            "favourable": "A reader of the merged vignette did not choose the right option.",
            "unfavourable": "A reader of the merged vignette still chose the right option.",
            "neutral": "A reader of the merged vignette chose another option than without it.",
        }
        return (said[self.wanted.direction],)

    def row(self) -> dict[str, Any]:
        """As a row of ``rounds.csv``."""
        values = self._values() | {"problems": "; ".join(self.problems)}
        return {name: values[name] for name in ROUND_COLUMNS}

    def line(self, keep: str) -> dict[str, Any]:
        """As a line of ``variants.jsonl``."""
        names = ("background", "text", "round", "stage", "outcome")
        answers = ("neutral_answer", "variant_answer", "problems")
        values = self._values()
        first = ("item_id", "attribute", "group", "direction")
        return {name: values[name] for name in (*first, *names, *answers)} | {
            "kept": self.is_kept(keep)
        }

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
    """Every attempt, in the order of the rounds."""
    text = ["item_id", "attribute", "group", "direction", "stage", "outcome", "problems"]
    frame = pd.DataFrame([a.row() for a in attempts], columns=list(ROUND_COLUMNS))
    types = dict.fromkeys([*text, "neutral_answer", "variant_answer"], "str")
    return frame.astype(types | {"round": "int64", "tokens": "int64"})
