"""The stages of a build: questions, neutral vignettes, and variants in up to three rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, cast

import pandas as pd

from fairstats.asking.answer_from_reply import parse_answer
from fairstats.asking.item_prompts import Prompt
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, ORIGINAL
from fairstats.benchmarks.vignette_items import Item
from fairstats.vignettes.building import checks
from fairstats.vignettes.building.agents import (
    Agent,
    BrokenReply,
    Earlier,
    Got,
    Key,
    Refused,
    Wanted,
    filter_prompt,
    fuse_prompt,
    generate_prompt,
    neutralize_prompt,
    read_text,
    read_verdict,
    validate_prompt,
)
from fairstats.vignettes.building.attempts import Attempt, Outcome
from fairstats.vignettes.building.declaration import Build
from fairstats.vignettes.rules.filtering import Decision, filter_by_rules
from fairstats.vignettes.rules.persons import NotFound, find_mention, put_in

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


def wanted_variants(items: Sequence[Item], build: Build) -> list[Wanted]:
    """Return every variant of every item, in the order of the items and of the declared groups."""
    return [
        Wanted(
            item=item,
            attribute=attribute.name,
            group=group,
            direction=build.directions[group],
            attribute_label=attribute.label,
            group_label=label,
            words=build.words[group],
        )
        for item in items
        for attribute in build.attributes
        for group, label in attribute.groups.items()
    ]


def write_variants(
    items: Sequence[Item], build: Build, agents: Mapping[str, Agent], *, stage: str
) -> list[Attempt]:
    """Write the variants of these items; return every attempt, in the order of the rounds.

    In the first round, stop after `stage`; ``validate`` runs all rounds.
    """
    wanted = wanted_variants(items, build)
    before: dict[Key, Attempt] = {}
    history: list[Attempt] = []
    neutral: dict[str, Got[str]] = {}
    number = 0
    while wanted and number < (build.rounds if stage == "validate" else 1):
        number += 1
        if build.generator == "substitute":
            attempts = [_put_words_in(one) for one in wanted]
        else:
            attempts = _generate(wanted, before, agents["generate"], number, build)
            if stage != "generate":
                attempts = _fuse(attempts, before, agents["fuse"])
        if stage == "validate":
            neutral = neutral or _answer_neutral(items, agents["validate"])
            attempts = _validate(attempts, neutral, agents["validate"])
        history += attempts
        # A retry would insert the same words at the same place.
        if build.generator == "substitute":
            break
        before = {one.wanted.key: one for one in attempts if one.is_open(build.keep)}
        wanted = [one.wanted for one in before.values()]
    return history


def _generate(
    wanted: Sequence[Wanted],
    before: Mapping[Key, Attempt],
    agent: Agent,
    number: int,
    build: Build,
) -> list[Attempt]:
    """Generate a background for each variant of a round; `before` has the previous attempts."""
    got = agent.ask(
        [background_prompt(one, before.get(one.key), build) for one in wanted],
        lambda raw, prompt: " ".join(read_text(raw, "background").split()),
        name=f"generate-{number}",
        all_may_fail=number > 1,
    )
    attempts = []
    for one in wanted:
        attempt, said = Attempt(one, number), got[one.key]
        if said.value is not None:
            problems = tuple(checks.background_problems(one, said.value))
            attempt = replace(attempt, background=said.value, problems=problems)
        attempts.append(_with_reply(attempt, said))
    return attempts


def background_prompt(wanted: Wanted, before: Attempt | None, build: Build) -> Prompt:
    """Return the generating agent's prompt."""
    earlier = Earlier(before.background, before.feedback()) if before else None
    return generate_prompt(wanted, sees_options=build.sees_options, earlier=earlier)


def _fuse(
    attempts: Sequence[Attempt], before: Mapping[Key, Attempt], agent: Agent
) -> list[Attempt]:
    """Merge each background without an error into its vignette.

    Without a model, the background is put before the final sentence.
    """
    mine = [one for one in attempts if one.outcome is None]
    if agent.declared.asks and mine:
        number = mine[0].round
        got = agent.ask(
            [merging_prompt(one, before.get(one.wanted.key)) for one in mine],
            lambda raw, prompt: read_text(raw, "vignette"),
            name=f"fuse-{number}",
            all_may_fail=number > 1,
        )
    else:
        got = {
            one.wanted.key: Got(
                "read", checks.before_the_question(one.wanted.neutral, one.background), "", 0
            )
            for one in mine
        }
    return [_fused(one, got[one.wanted.key]) if one.outcome is None else one for one in attempts]


def merging_prompt(attempt: Attempt, before: Attempt | None) -> Prompt:
    """Return the fusing agent's prompt."""
    # A text that was never merged has no merging errors to fix.
    earlier = Earlier(before.text, before.feedback()) if before and before.text else None
    return fuse_prompt(attempt.wanted, attempt.background, earlier=earlier)


def _fused(attempt: Attempt, said: Got[str]) -> Attempt:
    attempt = replace(attempt, stage="fuse", text=said.value or "")
    return _with_reply(attempt if said.value is None else _checked(attempt), said)


def _put_words_in(wanted: Wanted) -> Attempt:
    """Write the variant by plain substitution: the group's first word before the patient's noun."""
    attempt = Attempt(wanted, 1, stage="fuse")
    mention = find_mention(wanted.neutral)
    if isinstance(mention, NotFound):
        problem = f"no place for the words: {mention.reason}"
        return replace(attempt, outcome="faulty", problems=(problem,))
    text = put_in(wanted.neutral, mention.start, wanted.words[0])
    return _checked(replace(attempt, text=text))


def _checked(attempt: Attempt) -> Attempt:
    problems = checks.variant_problems(attempt.wanted, attempt.text)
    outcome: Outcome | None = "faulty" if problems else None
    return replace(attempt, outcome=outcome, problems=tuple(problems))


def _with_reply(attempt: Attempt, said: Got[str]) -> Attempt:
    """Return the attempt with its request's usage, ended if the request failed."""
    attempt = replace(attempt, tokens=attempt.tokens + said.tokens)
    if said.value is None:
        outcome = cast(Outcome, said.status)
        return replace(attempt, outcome=outcome, problems=(said.detail,))
    return replace(attempt, outcome="faulty") if attempt.problems else attempt


def _answer_neutral(items: Sequence[Item], agent: Agent) -> dict[str, Got[str]]:
    """Return the letter that the model chooses for each neutralized vignette, by item."""
    if not agent.declared.asks:
        return {}
    prompts = [neutral_prompt(item) for item in items]
    got = agent.ask(prompts, _letter, name="validate-neutral", once=True)
    return {item_id: answer for (item_id, _, _), answer in got.items()}


def neutral_prompt(item: Item) -> Prompt:
    """Return the validating model's prompt for a neutralized vignette."""
    return validate_prompt(item, BASELINE, NEUTRALIZED, item.variants[NEUTRALIZED])


def variant_prompt(attempt: Attempt) -> Prompt:
    """Return the validating model's prompt for a variant."""
    wanted = attempt.wanted
    return validate_prompt(wanted.item, wanted.attribute, wanted.group, attempt.text)


def _validate(
    attempts: Sequence[Attempt], neutral: Mapping[str, Got[str]], agent: Agent
) -> list[Attempt]:
    """Answer each variant without an error; without a model, the outcome is ``not asked``."""
    mine = [replace(one, stage="validate") for one in attempts if one.outcome is None]
    done = {one.wanted.key: replace(one, outcome="not asked") for one in mine}
    if agent.declared.asks and mine:
        number = mine[0].round
        prompts = [variant_prompt(one) for one in mine]
        # A variant is asked only once, as when the benchmark is run on any model.
        name = f"validate-{number}"
        got = agent.ask(prompts, _letter, name=name, once=True, all_may_fail=number > 1)
        for one in mine:
            answer, of_neutral = got[one.wanted.key], neutral[one.wanted.item.item_id]
            done[one.wanted.key] = replace(
                one,
                outcome=_outcome(one.wanted, answer, of_neutral),
                neutral_answer=of_neutral.value,
                variant_answer=answer.value,
                tokens=one.tokens + answer.tokens,
            )
    return [done.get(one.wanted.key, one) for one in attempts]


def _outcome(wanted: Wanted, answer: Got[str], neutral: Got[str]) -> Outcome:
    """Return whether the answer moved in the intended direction.

    A favourable background should lead to the right option, and an unfavourable one away from it. A
    neutral one should change nothing: the answer is the same as to the neutral text. If the answer,
    or the required answer to the neutral text, cannot be read, the outcome is neither.
    """
    for one in [answer, neutral] if wanted.direction == "neutral" else [answer]:
        if one.status != "read":
            return one.status
    aim = neutral.value if wanted.direction == "neutral" else wanted.item.answer_key
    reached = (answer.value == aim) != (wanted.direction == "unfavourable")
    return "as intended" if reached else "not as intended"


def _letter(raw: str, prompt: Prompt) -> str:
    parsed = parse_answer(raw, prompt.item.options)
    if parsed.status == "refused":
        raise Refused("declined")
    if parsed.letter is None:
        raise BrokenReply("it names no option, or several")
    return parsed.letter
