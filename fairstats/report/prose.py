"""Sentences whose figures come from the estimates."""

from __future__ import annotations

import pandas as pd

from fairstats._lib.formatting import (
    escape_markdown,
    level,
    number_word,
    percent,
    point_range,
    points,
)
from fairstats.benchmarks.declaration import Benchmark
from fairstats.release.contents import Board, Release
from fairstats.report.board_terms import TESTED_TOGETHER, required_accuracy


def model_summary(release: Release, model: str) -> str:
    """What is said of one model: its first answer set in two sentences, then the others."""
    first, *others = [
        _set_summary(release, board, model) for board in release.boards if model in board.models
    ]
    text = f"::: lede\n{escape_markdown(first)}\n:::"
    if others:
        text += "\n\nAlso asked:\n\n" + "\n".join(f"- {escape_markdown(o)}" for o in others)
    return text


def _set_summary(release: Release, board: Board, model: str) -> str:
    """One answer set in two sentences: what differs, and what is said of it."""
    rows = board.estimates[
        (board.estimates["model"] == model)
        & board.estimates["attribute"].isin([a.name for a in board.benchmark.varied])
    ]
    differences = rows[rows["metric"] == "accuracy_difference"]
    same = rows[rows["metric"] == "cfr"]["estimate"]
    where = f"{board.benchmark.title}, {board.version}, {board.strategy}"
    # Of what is known in part only, neither the largest nor the least can be named.
    if differences.empty or differences["estimate"].isna().any() or same.isna().any():
        return f"{where}: not every figure is known as one number; see the table."
    largest = differences.loc[differences["estimate"].abs().idxmax()]
    attribute = board.benchmark.attributes[largest["attribute"]]
    limits = f"{level(release.alpha)} interval " + point_range(
        largest["ci_low"], largest["ci_high"]
    )
    if largest["ci_method"] == "bounds":
        limits = "whatever the missing answers were"
    text = (
        f"{where}: {_span(percent(same.min()), percent(same.max()))} of the pairs get the same "
        f"answer, and the largest accuracy difference is {points(largest['estimate'])} points "
        f"({attribute.pair_label((largest['group_a'], largest['group_b']))}, {limits})."
    )
    if model in board.benchmark.selected_on:
        return (
            f"{text} {model} took part in selecting the items "
            f"({board.benchmark.selected_on[model]}): these figures say nothing of its bias."
        )
    if model in board.why_unranked:
        text += f" It is not ranked: {board.why_unranked[model]}."
    margin = points(board.benchmark.equivalence_margin, signed=False)
    verdicts = differences["verdict"].value_counts()
    counted = [f"{name} in {number_word(int(count))}" for name, count in verdicts.items()] or [
        "no verdict is given"
    ]
    return (
        f"{text} Of {number_word(len(differences))} comparison{'s' * (len(differences) > 1)} at a "
        f"margin of {margin} points: {', '.join(counted)}."
    )


def ranges(release: Release) -> str:
    """What the limits beside the release's figures are."""
    if release.policies == ["bounds"]:
        return "its lowest and highest value over all fill-ins of the missing answers"
    return f"its {level(release.alpha)} interval"


def benchmark_card(benchmark: Benchmark) -> str:
    """Describe a benchmark: items, groups, limits, source and licence, in Markdown."""
    versions = "\n".join(
        f"    - {escape_markdown(f'{name}: {text}')}" for name, text in benchmark.versions.items()
    )
    selected = "; ".join(f"{model} ({how})" for model, how in benchmark.selected_on.items())
    selected = escape_markdown(selected or "none")
    margin = points(benchmark.equivalence_margin, signed=False)
    lines = [
        f"- **Items**: {len(benchmark.answer_keys):,}, options {', '.join(benchmark.options)}",
        f"- **Versions of each vignette**: {len(benchmark.variants)}",
        f"- **Groups compared**: {escape_markdown(_attributes(benchmark))}",
        f"- **Sets of vignettes**:\n{versions}",
        f"- **Missing answers**: policy `{benchmark.missing}`",
        f"- **Equivalence margin**: ±{margin} percentage points",
        f"- **Tests adjusted together**: {TESTED_TOGETHER[benchmark.family]}",
        f"- **Required for a rank**: at most {percent(benchmark.largest_missing)} of the answers "
        "to a pair's groups missing; lower limit of accuracy above "
        f"{escape_markdown(required_accuracy(benchmark))}",
        f"- **Items that all ranked models must share**: {percent(benchmark.common_items)}",
        f"- **Models used to select the items**: {selected}",
        f"- **Source**: {escape_markdown(', '.join(benchmark.sources))}",
        f"- **Licence**: {escape_markdown(benchmark.licence)}",
        f"- **Cite**: {escape_markdown(benchmark.citation)}",
    ]
    return f"{escape_markdown(benchmark.description)}\n\n" + "\n".join(lines)


def _attributes(benchmark: Benchmark) -> str:
    """List each attribute with its pairs of groups, in the benchmark's order."""
    return "; ".join(
        f"{attribute.label} ({', '.join(attribute.pair_label(pair) for pair in attribute.pairs)})"
        for attribute in benchmark.attributes.values()
    )


def citation(release: Release) -> str:
    """State how to cite a release and its benchmarks, in Markdown."""
    year = release.created_at.year
    own = (
        f"fairstats, release {release.name} ({year}). Computed with fairstats "
        f"{release.manifest['fairstats']}. SHA-256 of the answers: "
        f"{release.manifest['content']['answers']}."
    )
    cited = [own, *(benchmark.citation for benchmark in release.benchmarks.values())]
    return "\n".join(f"- {escape_markdown(text)}" for text in cited)


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def kicker(release: Release) -> str:
    """Name the benchmarks, the release and its date: the line below a page's title."""
    titles = sorted({benchmark.title for benchmark in release.benchmarks.values()})
    day = pd.Timestamp(release.manifest["created_at"]).date()
    return escape_markdown(f"{', '.join(titles)} · release {release.name} · {day}")
