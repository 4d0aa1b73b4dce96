"""The first stage: select the questions that are suitable for the study."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fairstats.asking.item_prompts import Prompt
from fairstats.benchmarks.vignette_items import Item
from fairstats.vignettes.building import stage_rules
from fairstats.vignettes.building.agents import Agent, Got
from fairstats.vignettes.building.declaration import Build
from fairstats.vignettes.building.messages import filter_message
from fairstats.vignettes.building.replies import Verdict, read_verdict

COLUMNS = ("item_id", "kept", "decided_by", "reason")
RULES = "rules"


def filter_items(items: Sequence[Item], build: Build, agent: Agent) -> pd.DataFrame:
    """Decide which items to keep, first by rules and then by a model.

    Parameters
    ----------
    items : sequence of Item
        The questions.
    build : Build
        ``filter.ask`` sets for which items the model is queried: those that the rules leave open
        (``doubtful``), all that they do not exclude (``all``), or none.
    agent : Agent
        The agent of this stage.

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
    decisions = [stage_rules.filter_by_rules(item, build.attributes) for item in items]
    asked = {"none": (), "doubtful": ("ask",), "all": ("ask", "keep")}[build.filter_ask]
    prompts = [
        prompt_of(item, build)
        for item, decision in zip(items, decisions, strict=True)
        if decision.action in asked
    ]
    got = agent.ask(prompts, lambda raw, prompt: read_verdict(raw), name="filter")
    rows = []
    for item, decision in zip(items, decisions, strict=True):
        said = got.get((item.item_id, "filter", ""))
        kept, by, reason = decision.action != "exclude", RULES, decision.reason
        if said is not None and said.value is not None:
            kept, by, reason = said.value.keep, agent.declared.model, said.value.reason
        elif said is not None:
            # Definite decisions of the rules remain, even if the model gives none.
            kept, reason = _without_a_word(decision.action, decision.reason, said)
            by = RULES if kept else agent.declared.model
        rows.append((item.item_id, kept, by, reason))
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"kept": bool})


def prompt_of(item: Item, build: Build) -> Prompt:
    """Return the prompt on an item for the model."""
    labels = [a.label.lower() for a in build.attributes]
    return Prompt(item, "filter", "", filter_message(item, labels))


def _without_a_word(action: str, reason: str, said: Got[Verdict]) -> tuple[bool, str]:
    missing = f"no verdict from the model ({said.status}: {said.detail})"
    return action == "keep", "; ".join(filter(None, [reason, missing]))
