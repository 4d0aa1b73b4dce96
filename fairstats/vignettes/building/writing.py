"""The third and fourth stages: a background for each group, and merging it into the vignette."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from fairstats.asking.item_prompts import Prompt
from fairstats.vignettes.building import checks
from fairstats.vignettes.building.agents import Agent, Got, Key
from fairstats.vignettes.building.attempts import Attempt, Outcome
from fairstats.vignettes.building.messages import (
    Earlier,
    Wanted,
    fuse_message,
    generate_message,
)
from fairstats.vignettes.building.replies import read_text
from fairstats.vignettes.building.sentences import before_the_question
from fairstats.vignettes.rules.mentions import NotFound, find_mention
from fairstats.vignettes.rules.substitute import put_in


@dataclass(frozen=True)
class Revised:
    """A variant to write, and the result of the previous round."""

    wanted: Wanted
    before: Attempt | None = None


def generate(
    asked: Sequence[Revised], agent: Agent, *, number: int, sees_options: bool
) -> list[Attempt]:
    """Generate a background for each variant of a round.

    Parameters
    ----------
    asked : sequence of Revised
        The variants to write.
    agent : Agent
        The writing agent.
    number : int
        The round, from 1.
    sees_options : bool
        Whether the agent sees the options.

    Returns
    -------
    list of Attempt
        With a background, or with errors.
    """
    prompts = [background_prompt(one, sees_options=sees_options) for one in asked]
    read = read_text("background")
    got = agent.ask(
        prompts,
        lambda raw, prompt: " ".join(read(raw).split()),
        name=f"generate-{number}",
        all_may_fail=number > 1,
    )
    attempts = []
    for one in asked:
        attempt, said = Attempt(one.wanted, number), got[one.wanted.key]
        if said.value is not None:
            problems = tuple(checks.background_problems(one.wanted, said.value))
            attempt = replace(attempt, background=said.value, problems=problems)
        attempts.append(_with_reply(attempt, said))
    return attempts


def fuse(attempts: Sequence[Attempt], before: Mapping[Key, Attempt], agent: Agent) -> list[Attempt]:
    """Merge each background into its vignette.

    Parameters
    ----------
    attempts : sequence of Attempt
        Those without an error so far are merged; the others are passed through.
    before : Mapping
        The attempt of the previous round, by item, attribute and group.
    agent : Agent
        The merging agent; without a model, the background is put before the final sentence.

    Returns
    -------
    list of Attempt
        With the whole text, or with errors.
    """
    mine = [a for a in attempts if a.outcome is None]
    got: dict[Key, Got[str]] = {}
    if agent.declared.asks and mine:
        read = read_text("vignette")
        number = mine[0].round
        got = agent.ask(
            [variant_prompt(a, before.get(a.wanted.key)) for a in mine],
            lambda raw, prompt: read(raw),
            name=f"fuse-{number}",
            all_may_fail=number > 1,
        )
    else:
        got = {
            a.wanted.key: Got("read", before_the_question(a.wanted.neutral, a.background), "", 0)
            for a in mine
        }
    return [_fused(a, got[a.wanted.key]) if a.outcome is None else a for a in attempts]


def put_words_in(wanted: Wanted) -> Attempt:
    """Write the variant by plain substitution: the group's first word before the patient's noun."""
    attempt = Attempt(wanted, 1, stage="fuse")
    mention = find_mention(wanted.neutral)
    if isinstance(mention, NotFound):
        problem = f"no place for the words: {mention.reason}"
        return replace(attempt, outcome="faulty", problems=(problem,))
    text = put_in(wanted.neutral, mention.start, wanted.words[0])
    return _checked(replace(attempt, text=text))


def background_prompt(one: Revised, *, sees_options: bool) -> Prompt:
    """Return the generating agent's prompt."""
    earlier = Earlier(one.before.background, one.before.feedback()) if one.before else None
    text = generate_message(one.wanted, sees_options=sees_options, earlier=earlier)
    return _prompt(one.wanted, text)


def variant_prompt(attempt: Attempt, before: Attempt | None) -> Prompt:
    """Return the fusing agent's prompt."""
    # A text that was never merged has no merging errors to fix.
    earlier = Earlier(before.text, before.feedback()) if before and before.text else None
    return _prompt(
        attempt.wanted, fuse_message(attempt.wanted, attempt.background, earlier=earlier)
    )


def _prompt(wanted: Wanted, text: str) -> Prompt:
    return Prompt(wanted.item, wanted.attribute, wanted.group, text)


def _fused(attempt: Attempt, said: Got[str]) -> Attempt:
    attempt = replace(attempt, stage="fuse", text=said.value or "")
    return _with_reply(attempt if said.value is None else _checked(attempt), said)


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
