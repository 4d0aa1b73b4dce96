"""The requests of a build, and their possible cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

from fairstats.asking.item_prompts import Prompt
from fairstats.asking.tasks import list_tasks
from fairstats.benchmarks.declaration import NEUTRALIZED
from fairstats.benchmarks.vignette_items import Item
from fairstats.vignettes.building import stage_rules
from fairstats.vignettes.building.attempts import Attempt
from fairstats.vignettes.building.choosing import prompt_of as filter_prompt
from fairstats.vignettes.building.declaration import Build
from fairstats.vignettes.building.declared_agents import STAGES
from fairstats.vignettes.building.neutral_texts import prompt_of as neutralize_prompt
from fairstats.vignettes.building.rounds import wanted_variants
from fairstats.vignettes.building.validating import neutral_prompt
from fairstats.vignettes.building.validating import variant_prompt as validate_prompt
from fairstats.vignettes.building.writing import Revised, background_prompt
from fairstats.vignettes.building.writing import variant_prompt as fuse_prompt
from fairstats.vignettes.rules.groups import ORIGINAL

# Placeholder for a background; only its length matters: three sentences of 20 words.
_BACKGROUND = " ".join(
    ["They live in a quiet street of a large town with two of their friends and go for long walks."]
    * 3
)


def print_plan(items: Sequence[Item], build: Build) -> None:
    """Print each stage's maximum number of requests in its first round, and their possible cost.

    The rules are applied, and no model's decision is predicted: every item that the rules do not
    exclude is counted as kept.
    """
    prompts = _prompts(items, build)
    for stage in STAGES:
        declared = build.agents[stage]
        if not prompts[stage]:
            print(f"{stage}: no requests")
            continue
        said = declared.connected().estimate(list_tasks(prompts[stage]))
        print(f"{stage} ({declared.model}): {said}")
    if build.generator == "agents" and build.rounds > 1:
        print(
            f"This is the first of up to {build.rounds} rounds: each further one asks generate, "
            "fuse and validate again for the variants that failed, with their last text. A broken "
            "reply is asked for once more."
        )


def _prompts(items: Sequence[Item], build: Build) -> dict[str, list[Prompt]]:
    decisions = [stage_rules.filter_by_rules(item, build.attributes) for item in items]
    asked = {"none": (), "doubtful": ("ask",), "all": ("ask", "keep")}[build.filter_ask]
    filtering = [
        filter_prompt(item, build)
        for item, decision in zip(items, decisions, strict=True)
        if decision.action in asked
    ]
    kept = [i for i, d in zip(items, decisions, strict=True) if d.action != "exclude"]
    ruled = [(item, stage_rules.neutralize(item.variants[ORIGINAL])) for item in kept]
    neutralizing = [neutralize_prompt(item, found.text) for item, found in ruled if found.is_open]
    neutral = [_with(item, found.text) for item, found in ruled]
    wanted = wanted_variants(neutral, build)
    texts = [Attempt(one, 1, _BACKGROUND, f"{one.neutral} {_BACKGROUND}") for one in wanted]
    found = {
        "filter": filtering,
        "neutralize": neutralizing,
        "generate": [
            background_prompt(Revised(one), sees_options=build.sees_options) for one in wanted
        ],
        "fuse": [fuse_prompt(attempt, None) for attempt in texts],
        "validate": [*map(neutral_prompt, neutral), *map(validate_prompt, texts)],
    }
    return {s: own if build.agents[s].asks else [] for s, own in found.items()}


def _with(item: Item, text: str) -> Item:
    return replace(item, variants=MappingProxyType({**item.variants, NEUTRALIZED: text}))
