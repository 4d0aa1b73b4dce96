"""An attempt at a variant, and its outcome."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from fairstats.vignettes.building.messages import Wanted

#: ``not asked`` if no model answers the variants.
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

    @property
    def is_sound(self) -> bool:
        """Return whether there is a text without an error."""
        return self.stage == "validate" and bool(self.text) and self.outcome != "faulty"

    def is_kept(self, keep: str) -> bool:
        """Return whether this rule keeps it."""
        return self.is_sound and (keep == "sound" or self.outcome == "as intended")

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
    """Return every attempt, in the order of the rounds."""
    text = ["item_id", "attribute", "group", "direction", "stage", "outcome", "problems"]
    frame = pd.DataFrame([a.row() for a in attempts], columns=list(ROUND_COLUMNS))
    types = dict.fromkeys([*text, "neutral_answer", "variant_answer"], "str")
    return frame.astype(types | {"round": "int64", "tokens": "int64"})
