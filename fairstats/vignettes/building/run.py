"""Build a benchmark from exam questions, stage by stage: `fairstats vignettes run`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fairstats._lib.arguments import check_numbers, wrong
from fairstats._lib.problems import InputError, Problem
from fairstats.asking.models import Connect
from fairstats.benchmarks.declaration import NEUTRALIZED
from fairstats.benchmarks.vignette_items import Item
from fairstats.vignettes.building.agents import Agent
from fairstats.vignettes.building.attempts import OUTCOMES, rounds_frame
from fairstats.vignettes.building.choosing import filter_items
from fairstats.vignettes.building.declaration import Build, load_build
from fairstats.vignettes.building.declared_agents import STAGES
from fairstats.vignettes.building.folder import (
    FILTERED,
    ITEMS,
    JOURNALS,
    NEUTRALIZED_ITEMS,
    ROUNDS,
    TRIGGERED,
    VARIANTS,
    BuildFolder,
    folder_of,
)
from fairstats.vignettes.building.intended_flips import triggered_by_round
from fairstats.vignettes.building.neutral_texts import neutralize_items
from fairstats.vignettes.building.planning import print_plan
from fairstats.vignettes.building.rounds import Written, write_variants
from fairstats.vignettes.building.source import read_source
from fairstats.vignettes.rules.groups import ORIGINAL


@dataclass(frozen=True)
class Built:
    """Result of a build.

    Parameters
    ----------
    path : Path
        The last file written: ``variants.jsonl`` if all stages are complete.
    summary : str
        The outcomes of items and variants, in a few lines.
    triggered : pandas.DataFrame or None
        How many variants moved the answer in the intended direction, by round.
    """

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
        raise wrong(f"stage = {stage!r}", "is unknown", f"use one of {', '.join(STAGES)}")
    build = load_build(build_file, connect)
    items = read_source(build.items)
    folder = folder_of(build, out, options=items[0].options, limit=limit)
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
    neutral = [text.item for text in texts if text.kept]
    items_path = folder.write_lines(ITEMS, [_line(item) for item in neutral])
    _write_build(folder, agents)
    said = f"neutralize: {len(neutral):,} of {len(kept):,} items kept"
    _say(agents, said)
    summary += "\n" + said
    if not neutral:
        raise _nothing_left(path)
    if stage == "neutralize":
        return Built(items_path, summary, None)

    written = write_variants(neutral, build, agents, stage=stage)
    _write_build(folder, agents)
    if stage != "validate":
        under_way = sum(attempt.outcome is None for attempt in written.attempts)
        said = (
            f"{stage}: {under_way:,} of {len(written.attempts):,} variants without a problem so far"
        )
        return Built(items_path, f"{summary}\n{said}", None)
    rounds = rounds_frame(written.attempts)
    triggered = triggered_by_round(rounds)
    folder.write_table(ROUNDS, rounds)
    folder.write_table(TRIGGERED, triggered)
    path = folder.write_lines(VARIANTS, [attempt.line(build.keep) for attempt in written.last])
    return Built(path, f"{summary}\n{_outcomes(written, build)}", triggered)


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


def _outcomes(written: Written, build: Build) -> str:
    counts = Counter(attempt.outcome for attempt in written.last)
    kept = sum(attempt.is_kept(build.keep) for attempt in written.last)
    said = ", ".join(f"{counts[name]:,} {name}" for name in OUTCOMES if counts[name])
    return f"variants: {kept:,} of {len(written.last):,} kept ({said})"


def _say(agents: dict[str, Agent], text: str) -> None:
    if any(agent.progress for agent in agents.values()):
        print(text, file=sys.stderr)


def _nothing_left(path: Path) -> InputError:
    return InputError(
        [Problem(str(path), "no items are left", "see the reason for each item in the file")]
    )
