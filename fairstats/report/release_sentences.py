"""Write sentences with figures from a release: benchmark cards and citations."""

from __future__ import annotations

import pandas as pd

from fairstats._lib.formatting import (
    escape_markdown,
    level,
    percent,
    points,
)
from fairstats.benchmarks.declaration import Benchmark
from fairstats.release.contents import Release
from fairstats.report.board_terms import TESTED_TOGETHER, required_accuracy


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


def kicker(release: Release) -> str:
    """Name the benchmarks, the release and its date: the line below a page's title."""
    titles = sorted({benchmark.title for benchmark in release.benchmarks.values()})
    day = pd.Timestamp(release.manifest["created_at"]).date()
    return escape_markdown(f"{', '.join(titles)} · release {release.name} · {day}")
