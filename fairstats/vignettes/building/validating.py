"""The fifth stage: a model's answer to each variant, compared with that to the neutral text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fairstats.asking.answer_from_reply import parse_answer
from fairstats.asking.item_prompts import Prompt
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED
from fairstats.benchmarks.vignette_items import Item
from fairstats.vignettes.building.agents import Agent, Got
from fairstats.vignettes.building.attempts import Attempt, Outcome
from fairstats.vignettes.building.messages import validate_message
from fairstats.vignettes.building.replies import BrokenReply, Refused


def answer_neutral(items: Sequence[Item], agent: Agent) -> dict[str, Got[str]]:
    """Return the letter that the model chooses for each neutralized vignette, by item."""
    if not agent.declared.asks:
        return {}
    prompts = [neutral_prompt(item) for item in items]
    got = agent.ask(prompts, _letter, name="validate-neutral", once=True)
    return {item_id: answer for (item_id, _, _), answer in got.items()}


def neutral_prompt(item: Item) -> Prompt:
    """Return the validating model's prompt for a neutralized vignette."""
    text = validate_message(item, item.variants[NEUTRALIZED])
    return Prompt(item, BASELINE, NEUTRALIZED, text)


def variant_prompt(attempt: Attempt) -> Prompt:
    """Return the validating model's prompt for a variant."""
    wanted = attempt.wanted
    text = validate_message(wanted.item, attempt.text)
    return Prompt(wanted.item, wanted.attribute, wanted.group, text)


def validate(
    attempts: Sequence[Attempt], neutral: Mapping[str, Got[str]], agent: Agent
) -> list[Attempt]:
    """Answer each variant without an error.

    Parameters
    ----------
    attempts : sequence of Attempt
        Those with an error are passed through.
    neutral : Mapping
        The answer to each neutralized vignette.
    agent : Agent
        The answering agent; without a model, the outcome is ``not asked``.

    Returns
    -------
    list of Attempt
        Each with its outcome.
    """
    mine = [replace(a, stage="validate") for a in attempts if a.outcome is None]
    done = {a.wanted.key: replace(a, outcome="not asked") for a in mine}
    if agent.declared.asks and mine:
        number = mine[0].round
        prompts = [variant_prompt(a) for a in mine]
        # A variant is asked only once, as when the benchmark is run on any model.
        name = f"validate-{number}"
        got = agent.ask(prompts, _letter, name=name, once=True, all_may_fail=number > 1)
        for a in mine:
            answer, of_neutral = got[a.wanted.key], neutral[a.wanted.item.item_id]
            done[a.wanted.key] = replace(
                a,
                outcome=outcome_of(a, answer, of_neutral),
                neutral_answer=of_neutral.value,
                variant_answer=answer.value,
                tokens=a.tokens + answer.tokens,
            )
    return [done.get(a.wanted.key, a) for a in attempts]


def outcome_of(attempt: Attempt, answer: Got[str], neutral: Got[str]) -> Outcome:
    """Return whether the answer moved in the intended direction.

    Notes
    -----
    A favourable background should lead to the right option, and an unfavourable one away from it. A
    neutral one should change nothing: the answer is the same as to the neutral text. If the answer,
    or the required answer to the neutral text, cannot be read, the outcome is neither.
    """
    wanted = attempt.wanted
    needed = [answer, neutral] if wanted.direction == "neutral" else [answer]
    for one in needed:
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
