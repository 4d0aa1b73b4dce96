"""Build a benchmark from exam questions, stage by stage: `fairstats vignettes run`."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.problems import InputError, Problem, check_numbers, input_error, wrong
from fairstats._lib.untrusted_files import read_json_lines
from fairstats.asking.item_prompts import Prompt
from fairstats.asking.models import Connect, list_tasks
from fairstats.benchmarks.benchmark_files import item_lines
from fairstats.benchmarks.declaration import NEUTRALIZED, ORIGINAL
from fairstats.benchmarks.vignette_items import Item
from fairstats.vignettes.building.agents import Agent
from fairstats.vignettes.building.attempts import (
    OUTCOMES,
    Attempt,
    rounds_frame,
    triggered_by_round,
)
from fairstats.vignettes.building.declaration import STAGES, Build, load_build
from fairstats.vignettes.building.folder import (
    FILTERED,
    ITEMS,
    JOURNALS,
    NEUTRALIZED_ITEMS,
    ROUNDS,
    TRIGGERED,
    VARIANTS,
    BuildFolder,
)
from fairstats.vignettes.building.stages import (
    background_prompt,
    filter_items,
    filter_prompts,
    merging_prompt,
    neutral_prompt,
    neutralize_items,
    neutralize_prompts,
    variant_prompt,
    wanted_variants,
    with_neutral,
    write_variants,
)
from fairstats.vignettes.rules.substitute import unnamed_items


@dataclass(frozen=True)
class Built:
    """Result of a build; `path` is the last file written, which may be of an earlier stage."""

    path: Path
    summary: str
    triggered: pd.DataFrame | None


def run(
    build_file: Path,
    *,
    out: Path,
    connect: Connect,
    stage: str | None = None,
    limit: int | None = None,
    keep_failures: bool = False,
    dry_run: bool = False,
    progress: bool = True,
) -> Built | None:
    """Build a benchmark's variants as declared in its file.

    Every reply is committed to a journal in ``<out>/journals`` before it counts. A restart repeats
    the same stages and queries only missing and failed replies.

    Parameters
    ----------
    build_file : Path
        The declaration of the build; see docs/building.md.
    out : Path
        The output folder; one with another build's files is refused.
    connect : callable
        Returns the models, see `fairstats.asking.models.Connect`.
    stage : str, optional
        Stop after this stage (in the first round, if there are several): ``filter``,
        ``neutralize``, ``generate``, ``fuse`` or ``validate``.
    limit : int, optional
        Use only this many items, from the start. A later run without it queries the rest.
    keep_failures : bool
        Whether to keep requests that failed permanently in an earlier run, without a retry.
    dry_run : bool
        Print the planned requests and their possible cost, without querying or writing.
    progress : bool
        Whether to show a progress bar on the standard error output.

    Returns
    -------
    Built or None
        None for a dry run.

    Raises
    ------
    InputError
        If the declaration or the questions cannot be used, the folder contains another build, no
        item is left after a stage, or a service cannot be queried.
    Unfinished, KeyboardInterrupt
        As in `fairstats_collectors.collect.collect`; completed replies are kept.
    """
    check_numbers(limit=limit)
    stage = STAGES[-1] if stage is None else stage
    if stage not in STAGES:
        raise wrong("stage", "is unknown", f"use one of {', '.join(STAGES)}", value=stage)
    build = load_build(build_file, connect)
    items = read_source(build.items)
    folder = BuildFolder(out, build, tuple(items[0].options), limit)
    folder.check()
    items = items[:limit]
    if dry_run:
        print_plan(items, build)
        return None
    agents = {
        name: Agent(declared, out / JOURNALS, folder.facts, keep_failures, progress)
        for name, declared in build.agents.items()
    }
    # Before the first query, so that an interrupted run can be distinguished from another build.
    _write_build(folder, agents)
    return _run(folder, items, agents, stage)


def _run(folder: BuildFolder, items: Sequence[Item], agents: dict[str, Agent], stage: str) -> Built:
    build = folder.build
    filtered = filter_items(items, build, agents["filter"])
    path = folder.write_table(FILTERED, filtered)
    _write_build(folder, agents)
    kept = [item for item, stays in zip(items, filtered["kept"], strict=True) if stays]
    summary = f"filter: {len(kept):,} of {len(items):,} items kept"
    _say(agents, summary)
    if not kept:
        raise _nothing_left(path)
    if stage == "filter":
        return Built(path, summary, None)

    texts = neutralize_items(kept, agents["neutralize"])
    path = folder.write_lines(NEUTRALIZED_ITEMS, [text.row() for text in texts])
    neutral = [text.item for text in texts if not text.reason]
    items_path = folder.write_lines(ITEMS, [_line(item) for item in neutral])
    _write_build(folder, agents)
    said = f"neutralize: {len(neutral):,} of {len(kept):,} items kept"
    _say(agents, said)
    summary += "\n" + said
    if not neutral:
        raise _nothing_left(path)
    if stage == "neutralize":
        return Built(items_path, summary, None)

    attempts = write_variants(neutral, build, agents, stage=stage)
    _write_build(folder, agents)
    if stage != "validate":
        under_way = sum(attempt.outcome is None for attempt in attempts)
        said = f"{stage}: {under_way:,} of {len(attempts):,} variants without a problem so far"
        return Built(items_path, f"{summary}\n{said}", None)
    rounds = rounds_frame(attempts)
    triggered = triggered_by_round(rounds)
    folder.write_table(ROUNDS, rounds)
    folder.write_table(TRIGGERED, triggered)
    # The last attempt at each variant, in the order of the first round.
    last = list({attempt.wanted.key: attempt for attempt in attempts}.values())
    path = folder.write_lines(VARIANTS, [attempt.line(build.keep) for attempt in last])
    counts = Counter(attempt.outcome for attempt in last)
    said = ", ".join(f"{counts[name]:,} {name}" for name in OUTCOMES if counts[name])
    kept_variants = sum(attempt.is_kept(build.keep) for attempt in last)
    summary += f"\nvariants: {kept_variants:,} of {len(last):,} kept ({said})"
    return Built(path, summary, triggered)


def _write_build(folder: BuildFolder, agents: dict[str, Agent]) -> None:
    folder.write_build({name: agent.described() for name, agent in agents.items()})


def _line(item: Item) -> dict[str, object]:
    return {
        "item_id": item.item_id,
        "options": dict(item.options),
        "answer_key": item.answer_key,
        "original": item.variants[ORIGINAL],
        "neutralized": item.variants[NEUTRALIZED],
    }


def _say(agents: dict[str, Agent], text: str) -> None:
    if any(agent.progress for agent in agents.values()):
        print(text, file=sys.stderr)


def _nothing_left(path: Path) -> InputError:
    return input_error(path, "no items are left", "see the reason for each item in the file")


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
    decisions, filtering = filter_prompts(items, build)
    kept = [i for i, d in zip(items, decisions, strict=True) if d.action != "exclude"]
    ruled, neutralizing = neutralize_prompts(kept)
    neutral = [with_neutral(item, ruled[item.item_id].text) for item in kept]
    wanted = wanted_variants(neutral, build)
    texts = [Attempt(one, 1, _BACKGROUND, f"{one.neutral} {_BACKGROUND}") for one in wanted]
    found = {
        "filter": filtering,
        "neutralize": neutralizing,
        "generate": [background_prompt(one, None, build) for one in wanted],
        "fuse": [merging_prompt(attempt, None) for attempt in texts],
        "validate": [*map(neutral_prompt, neutral), *map(variant_prompt, texts)],
    }
    return {s: own if build.agents[s].asks else [] for s, own in found.items()}


def read_source(path: Path) -> list[Item]:
    """Read the questions, each with its text as the only variant, ``original``.

    Parameters
    ----------
    path : Path
        JSON Lines with ``item_id``, ``options``, ``answer_key``, and the text as ``question`` or as
        ``variants.original``; other fields are ignored.

    Raises
    ------
    InputError
        If there is no such file, or an item cannot be used in a prompt. Each error is named.
    """
    if not path.is_file():
        raise input_error(path, "no such file", "check `items` in the build's file")
    rows = read_json_lines(path)
    options = rows[0].get("options") if rows else None
    with tempfile.TemporaryDirectory() as folder:
        trial = Path(folder, ITEMS)
        lines = item_lines({**row, "variants": {ORIGINAL: _text(row)}} for row in rows)
        trial.write_text(lines, encoding="utf-8")
        try:
            return unnamed_items(trial, options, [ORIGINAL])
        except InputError as error:
            problems = [replace(problem, path=str(path)) for problem in error.problems]
    raise InputError([_in_words_of_the_file(problem) for problem in problems])


def _text(row: Mapping[str, Any]) -> Any:
    variants = row.get("variants")
    text = variants.get(ORIGINAL) if isinstance(variants, Mapping) else None
    return row.get("question", text)


def _in_words_of_the_file(problem: Problem) -> Problem:
    if problem.column != f"variants.{ORIGINAL}":
        return problem
    message = "no text, neither here nor in variants.original"
    return replace(problem, column="question", message=message)
