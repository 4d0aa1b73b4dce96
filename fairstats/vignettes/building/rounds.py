"""Write and check every variant, and revise failures, for at most three rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairstats.benchmarks.vignette_items import Item
from fairstats.vignettes.building.agents import Agent, Got, Key
from fairstats.vignettes.building.attempts import Attempt
from fairstats.vignettes.building.declaration import Build
from fairstats.vignettes.building.messages import Wanted
from fairstats.vignettes.building.validating import answer_neutral, validate
from fairstats.vignettes.building.writing import Revised, fuse, generate, put_words_in


@dataclass(frozen=True)
class Written:
    """Every attempt at every variant.

    Parameters
    ----------
    attempts : tuple of Attempt
        In the order of the rounds and, within a round, of the items and groups.
    """

    attempts: tuple[Attempt, ...]

    @property
    def last(self) -> tuple[Attempt, ...]:
        """Return the last attempt at each variant, in the order of the first round."""
        found: dict[Key, Attempt] = {}
        for attempt in self.attempts:
            found[attempt.wanted.key] = attempt
        return tuple(found.values())


def wanted_variants(items: Sequence[Item], build: Build) -> list[Wanted]:
    """Return every variant of every item, in the order of the items and of the declared groups."""
    return [
        Wanted(
            item=item,
            attribute=attribute.name,
            group=group,
            direction=build.varied.directions[group],
            attribute_label=attribute.label,
            group_label=label,
            words=build.varied.words[group],
        )
        for item in items
        for attribute in build.attributes
        for group, label in attribute.groups.items()
    ]


def write_variants(
    items: Sequence[Item], build: Build, agents: Mapping[str, Agent], *, stage: str
) -> Written:
    """Write the variants of these items.

    Parameters
    ----------
    items : sequence of Item
        With the neutralized vignettes.
    build : Build
        The declaration.
    agents : Mapping
        The agent of each stage.
    stage : str
        The stage of the first round after which to stop; ``validate`` runs all rounds.

    Returns
    -------
    Written
    """
    open_ = [Revised(wanted) for wanted in wanted_variants(items, build)]
    history: list[Attempt] = []
    neutral: dict[str, Got[str]] = {}
    number = 0
    while open_ and number < (build.rounds if stage == "validate" else 1):
        number += 1
        attempts = _one_round(open_, build, agents, number=number, stage=stage)
        if stage == "validate":
            neutral = neutral or answer_neutral(items, agents["validate"])
            attempts = validate(attempts, neutral, agents["validate"])
        history += attempts
        # A retry would insert the same words at the same place.
        if build.generator == "substitute":
            break
        open_ = [Revised(a.wanted, a) for a in attempts if a.is_open(build.keep)]
    return Written(tuple(history))


def _one_round(
    asked: Sequence[Revised],
    build: Build,
    agents: Mapping[str, Agent],
    *,
    number: int,
    stage: str,
) -> list[Attempt]:
    if build.generator == "substitute":
        return [put_words_in(one.wanted) for one in asked]
    attempts = generate(asked, agents["generate"], number=number, sees_options=build.sees_options)
    if stage == "generate":
        return attempts
    before = {one.wanted.key: one.before for one in asked if one.before}
    return fuse(attempts, before, agents["fuse"])
