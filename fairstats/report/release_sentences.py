"""Write sentences with figures from a release: benchmark cards and citations."""

from __future__ import annotations

import pandas as pd

from fairstats._lib.formatting import MINUS, escape_markdown, level, percent
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import CHOICE
from fairstats.release.contents import Release
from fairstats.report.board_terms import TESTED_TOGETHER, required_accuracy
from fairstats.report.kind_words import (
    counted_items,
    long_unit,
    meaning,
    option_label,
    unsigned,
    words_of,
)


def ranges(release: Release) -> str:
    """Name the limits given with the release's figures."""
    if release.policies == ["bounds"]:
        return "its lowest and highest value over all completions of the missing answers"
    return f"its {level(release.alpha)} interval"


def benchmark_card(benchmark: Benchmark) -> str:
    """Describe a benchmark: items, groups, limits, source and licence, in Markdown."""
    versions = "\n".join(
        f"    - {escape_markdown(f'{name}: {text}')}" for name, text in benchmark.versions.items()
    )
    selected = "; ".join(f"{model} ({how})" for model, how in benchmark.selected_on.items())
    selected = escape_markdown(selected or "none")
    kind, words = benchmark.kind, words_of(benchmark)
    margin = unsigned(kind, benchmark.equivalence_margin)
    if kind == CHOICE:
        required = f"lower limit of accuracy above {escape_markdown(required_accuracy(benchmark))}"
        items = f"{len(benchmark.answer_keys):,}, options {', '.join(benchmark.options)}"
    else:
        required = f"answers that depend on the {words.item}"
        items = escape_markdown(_items(benchmark))
    lines = [
        f"- **Items**: {items}",
        f"- **Versions of each {words.item}**: {len(benchmark.variants)}",
        f"- **Groups compared**: {escape_markdown(_attributes(benchmark))}",
        f"- **Sets of {words.items}**:\n{versions}",
        f"- **Missing answers**: policy `{benchmark.missing}`",
        f"- **Equivalence margin**: ±{margin} {long_unit(kind)}",
        f"- **Tests adjusted together**: {TESTED_TOGETHER[benchmark.family]}",
        f"- **Required for a rank**: at most {percent(benchmark.largest_missing)} of the answers "
        f"to a pair's groups missing; {required}",
        f"- **Items that all ranked models must share**: {percent(benchmark.common_items)}",
        f"- **Models used to select the items**: {selected}",
        f"- **Source**: {escape_markdown(', '.join(benchmark.sources))}",
        f"- **Licence**: {escape_markdown(benchmark.licence)}",
        f"- **Cite**: {escape_markdown(benchmark.citation)}",
    ]
    return f"{escape_markdown(benchmark.description)}\n\n" + "\n".join(lines)


def _items(benchmark: Benchmark) -> str:
    """Describe the items, the possible answers and the independent units, as plain text."""
    parts = [benchmark.words.items]
    if benchmark.items:
        parts = [counted_items(benchmark, len(benchmark.items))]
    if benchmark.words.source:
        parts[0] += f" ({benchmark.words.source})"
    if benchmark.kind.name == "score":
        low, high = (f"{end:g}".replace("-", MINUS) for end in benchmark.limits)
        parts.append(f"scores from {low} to {high}")
    else:
        parts.append(f"options {', '.join(option_label(benchmark, o) for o in benchmark.options)}")
    if benchmark.cluster is not None:
        parts.append(f"independent units: {benchmark.words.clusters}")
    if not benchmark.has_key:
        parts.append("without a key")
    means = meaning(benchmark)
    return ", ".join(parts) + (f". {means}" if means else "")


def _attributes(benchmark: Benchmark) -> str:
    """List each attribute with its pairs of groups, in the benchmark's order."""
    return "; ".join(
        f"{attribute.label} ({', '.join(attribute.pair_label(pair) for pair in attribute.pairs)})"
        for attribute in benchmark.attributes.values()
        # A crossing may only give the gaps of the two attributes that it crosses.
        if attribute.pairs or not attribute.crosses
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


def kicker(release: Release) -> str:
    """Name the benchmarks, the release and its date: the line below a page's title."""
    titles = sorted({benchmark.title for benchmark in release.benchmarks.values()})
    day = pd.Timestamp(release.manifest["created_at"]).date()
    return escape_markdown(f"{', '.join(titles)} · release {release.name} · {day}")
