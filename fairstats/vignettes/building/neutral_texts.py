"""The second stage: vignettes that name no group, with their changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from fairstats.asking.item_prompts import Prompt
from fairstats.benchmarks.declaration import NEUTRALIZED
from fairstats.benchmarks.vignette_items import Item
from fairstats.vignettes.building import checks, stage_rules
from fairstats.vignettes.building.agents import Agent, Got
from fairstats.vignettes.building.messages import neutralize_message
from fairstats.vignettes.building.replies import read_text
from fairstats.vignettes.rules.groups import ORIGINAL


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
    reason: str
    note: str

    @property
    def kept(self) -> bool:
        """Return whether the item is kept."""
        return not self.reason

    def row(self) -> dict[str, Any]:
        """Return the result as a line of ``neutralized.jsonl``."""
        return {
            "item_id": self.item.item_id,
            "kept": self.kept,
            "decided_by": self.decided_by,
            "reason": self.reason,
            "note": self.note,
            "text": self.item.variants[NEUTRALIZED],
            "changes": list(self.changes),
        }


def neutralize_items(items: Sequence[Item], agent: Agent) -> list[NeutralText]:
    """Remove words that reveal a group from each vignette, first by rules and then by a model.

    Parameters
    ----------
    items : sequence of Item
        Items that passed the filter.
    agent : Agent
        The agent for texts that the rules leave undecided. A model's text is used only if it keeps
        the clinical content and no group words remain.

    Returns
    -------
    list of NeutralText
        One per item. If a text still reveals a group, the item is left out, with the words
        concerned.
    """
    by_rules = {item.item_id: stage_rules.neutralize(item.variants[ORIGINAL]) for item in items}
    prompts = [
        prompt_of(item, by_rules[item.item_id].text)
        for item in items
        if agent.declared.asks and by_rules[item.item_id].is_open
    ]
    read = read_text("vignette")
    got = agent.ask(prompts, lambda raw, prompt: read(raw), name="neutralize")
    return [
        _settled(item, by_rules[item.item_id], got.get(_key(item)), agent.declared.model)
        for item in items
    ]


def prompt_of(item: Item, text: str) -> Prompt:
    """Return the prompt on a vignette after the rules were applied."""
    return Prompt(item, "neutralize", "", neutralize_message(text))


def _key(item: Item) -> tuple[str, str, str]:
    return item.item_id, "neutralize", ""


def _settled(
    item: Item, ruled: stage_rules.Ruled, said: Got[str] | None, model: str
) -> NeutralText:
    """Return the rules' text, or the model's if it is needed and sound."""
    left = ruled.left_over
    reason = f"still reveals a group: {', '.join(left)}" if left else ""
    note = f"undecided: {', '.join(ruled.undecided)}" if ruled.undecided else ""
    by_rules = NeutralText(_with(item, ruled.text), ruled.changes, "rules", reason, note)
    if said is None:
        return by_rules
    if said.value is None:
        why = f"no text of the model ({said.status}: {said.detail})"
    else:
        faults = checks.neutral_problems(ruled.text, said.value)
        faults += [f"still reveals a group: {word}" for word in stage_rules.left_over(said.value)]
        if not faults:
            changes = stage_rules.changes_between(item.variants[ORIGINAL], said.value)
            return NeutralText(_with(item, said.value), changes, model, "", "")
        why = f"the model's text was not taken: {'; '.join(faults)}"
    return replace(
        by_rules,
        reason=f"{reason}; {why}" if reason else "",
        note="; ".join(filter(None, [note, why])),
    )


def _with(item: Item, text: str) -> Item:
    variants = {ORIGINAL: item.variants[ORIGINAL], NEUTRALIZED: text}
    return replace(item, variants=MappingProxyType(variants))
