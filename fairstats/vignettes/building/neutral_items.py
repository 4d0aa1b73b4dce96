"""The first two stages: suitable questions, and vignettes that name no group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import pandas as pd

from fairstats.asking.item_prompts import Prompt
from fairstats.benchmarks.declaration import NEUTRALIZED, ORIGINAL
from fairstats.benchmarks.vignette_items import Item
from fairstats.vignettes.building import checks
from fairstats.vignettes.building.agents import (
    Agent,
    Got,
    filter_prompt,
    neutralize_prompt,
    read_text,
    read_verdict,
)
from fairstats.vignettes.building.declaration import Build
from fairstats.vignettes.rules.filtering import Decision, filter_by_rules

COLUMNS = ("item_id", "kept", "decided_by", "reason")
RULES = "rules"


def filter_items(items: Sequence[Item], build: Build, agent: Agent) -> pd.DataFrame:
    """Decide which items to keep, first by rules and then by a model.

    `build.filter.ask` sets for which items the model is queried: those that the rules leave open
    (``doubtful``), all that they do not exclude (``all``), or none.

    Returns
    -------
    pandas.DataFrame
        ``item_id``, ``kept``, ``decided_by`` (``rules`` or the model) and ``reason``; one row per
        item, in their order.

    Notes
    -----
    If no model is queried, an open item is kept, and the reason states the doubt. If one is queried
    and its reply cannot be used, nobody has approved the item, and it is excluded.
    """
    decisions, prompts = filter_prompts(items, build)
    got = agent.ask(prompts, lambda raw, prompt: read_verdict(raw), name="filter")
    rows = []
    for item, decision in zip(items, decisions, strict=True):
        said = got.get((item.item_id, "filter", ""))
        kept, by, reason = decision.action != "exclude", RULES, decision.reason
        if said is not None and said.value is not None:
            by, (kept, reason) = agent.declared.model, said.value
        elif said is not None:
            # Definite decisions of the rules remain, even if the model gives none.
            kept = decision.action == "keep"
            by = RULES if kept else agent.declared.model
            missing = f"no verdict from the model ({said.status}: {said.detail})"
            reason = "; ".join(filter(None, [reason, missing]))
        rows.append((item.item_id, kept, by, reason))
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"kept": bool})


def filter_prompts(items: Sequence[Item], build: Build) -> tuple[list[Decision], list[Prompt]]:
    """Return the rules' decision on each item, and the prompts on those left to the model."""
    names = [attribute.name for attribute in build.attributes]
    labels = [attribute.label.lower() for attribute in build.attributes]
    decisions = [filter_by_rules(item, attributes=names) for item in items]
    asked = {"none": (), "doubtful": ("ask",), "all": ("ask", "keep")}[build.filter_ask]
    prompts = [
        filter_prompt(item, labels)
        for item, decision in zip(items, decisions, strict=True)
        if decision.action in asked
    ]
    return decisions, prompts


@dataclass(frozen=True)
class NeutralText:
    """Result of neutralizing a vignette.

    Parameters
    ----------
    item : Item
        With ``original`` and, if reached, ``neutralized``.
    changes : tuple of Mapping
        Each with ``start`` and ``end`` in the original, ``old``, ``new`` and ``why``.
    decided_by : str
        ``rules``, or the model that wrote the text.
    reason : str
        Why the item is left out; empty if it is kept.
    note : str
        A note for a person, e.g. on a model's text that was not used.
    """

    item: Item
    changes: tuple[dict[str, Any], ...]
    decided_by: str
    reason: str = ""
    note: str = ""

    def row(self) -> dict[str, Any]:
        """Return the result as a line of ``neutralized.jsonl``."""
        return {
            "item_id": self.item.item_id,
            "kept": not self.reason,
            "decided_by": self.decided_by,
            "reason": self.reason,
            "note": self.note,
            "text": self.item.variants[NEUTRALIZED],
            "changes": list(self.changes),
        }


def neutralize_items(items: Sequence[Item], agent: Agent) -> list[NeutralText]:
    """Remove words that reveal a group from each vignette, first by rules and then by a model.

    A model's text is used only if it keeps the clinical content and no group words remain. If a
    text still reveals a group, the item is left out, with the words concerned.
    """
    ruled, prompts = neutralize_prompts(items)
    got = agent.ask(
        prompts if agent.declared.asks else [],
        lambda raw, prompt: read_text(raw, "vignette"),
        name="neutralize",
    )
    return [
        _settled(item, ruled[item.item_id], got.get((item.item_id, "neutralize", "")), agent)
        for item in items
    ]


def neutralize_prompts(items: Sequence[Item]) -> tuple[Mapping[str, checks.Ruled], list[Prompt]]:
    """Return each item's text by the rules, and the prompts on those left to the model."""
    ruled = {item.item_id: checks.neutralize(item.variants[ORIGINAL]) for item in items}
    prompts = [
        neutralize_prompt(item, ruled[item.item_id].text)
        for item in items
        if ruled[item.item_id].is_open
    ]
    return ruled, prompts


def _settled(item: Item, ruled: checks.Ruled, said: Got[str] | None, agent: Agent) -> NeutralText:
    """Return the rules' text, or the model's if it is needed and sound."""
    left = ruled.left_over
    reason = f"still reveals a group: {', '.join(left)}" if left else ""
    note = f"undecided: {', '.join(ruled.undecided)}" if ruled.undecided else ""
    by_rules = NeutralText(with_neutral(item, ruled.text), ruled.changes, RULES, reason, note)
    if said is None:
        return by_rules
    if said.value is None:
        why = f"no text of the model ({said.status}: {said.detail})"
    else:
        faults = checks.neutral_problems(ruled.text, said.value)
        faults += [f"still reveals a group: {word}" for word in checks.left_over(said.value)]
        if not faults:
            changes = checks.changes_between(item.variants[ORIGINAL], said.value)
            return NeutralText(with_neutral(item, said.value), changes, agent.declared.model)
        why = f"the model's text was not taken: {'; '.join(faults)}"
    return replace(
        by_rules,
        reason=f"{reason}; {why}" if reason else "",
        note="; ".join(filter(None, [note, why])),
    )


def with_neutral(item: Item, text: str) -> Item:
    """Return an item with its original and this neutral text."""
    variants = {ORIGINAL: item.variants[ORIGINAL], NEUTRALIZED: text}
    return replace(item, variants=MappingProxyType(variants))
