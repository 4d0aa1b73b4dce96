"""Show the parts of pages that have no separate module: changes, sources, methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import (
    MINUS,
    capital,
    escape_markdown,
    level,
    listed,
    number_word,
    percent,
    percent_range,
)
from fairstats._lib.installation import resource
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import CHOICE, KINDS
from fairstats.metrics.registry import metrics_table
from fairstats.release.contents import Release
from fairstats.report.about.benchmarks import has_benchmarks
from fairstats.report.about.coverage import (
    coverage_text,
    point_table,
    points_caption,
    range_table,
    read_coverage,
)
from fairstats.report.board.terms import TESTED_TOGETHER, required_accuracy
from fairstats.report.page_output import output_format, show_markdown, show_table
from fairstats.report.site_settings import settings_of
from fairstats.report.tables import sources_caption, sources_table, written_table
from fairstats.report.templates import prose
from fairstats.report.words import (
    counted_items,
    long_unit,
    meaning,
    option_label,
    unsigned,
    words_of,
)

if TYPE_CHECKING:
    from great_tables import GT


def show_kicker(release: Release) -> None:
    """Show the line that names the benchmarks and the release."""
    show_markdown(f"::: kicker\n{kicker(release)}\n:::")


def show_sources(release: Release) -> None:
    """Show the release's benchmarks, and the number of answers from each model."""
    for benchmark in release.benchmarks.values():
        show_markdown(f"## {escape_markdown(benchmark.title)}\n\n{benchmark_card(benchmark)}")
    if has_benchmarks(release) and output_format() == "html":
        show_markdown(
            "What selection does to a benchmark, and how strongly different benchmarks show bias: "
            "[Benchmarks](/reports/benchmarks.qmd)."
        )
    show_markdown("## Answers in this release")
    show_table(
        sources_table(release),
        caption=sources_caption(release),
        css_class="sources",
    )


def show_contents(release: Release) -> None:
    """State the release's number of answers and models."""
    titles = escape_markdown(listed(benchmark.title for benchmark in release.benchmarks.values()))
    answers = sum(entry["answers"] for entry in release.manifest["answers"])
    models = len(release.models)
    show_markdown(
        f"::: lede\nThis release has {answers:,} answers from {number_word(models)} "
        f"model{'s' * (models != 1)} to {titles}. "
        "Every figure can be downloaded and recomputed.\n:::"
    )


def show_citation(release: Release) -> None:
    """Show how to cite the release and its benchmarks."""
    show_markdown(citation(release))


def show_coverage() -> None:
    """Show the true coverage of the intervals, the same in every release."""
    coverage = read_coverage()
    show_markdown(coverage_text(coverage))
    show_table(range_table(coverage), caption="Lowest and highest true coverage of each interval")
    show_table(point_table(coverage), caption=points_caption(coverage))


def show_metrics(release: Release) -> None:
    """Show the definition of each figure in the release's table of estimates."""
    used = {benchmark.kind.name for benchmark in release.benchmarks.values()}
    kinds = [kind for kind in KINDS if kind in used] or ["choice"]
    region = '{.table-wrap role="region" tabindex="0" aria-label="Figures"}'
    there = set(release.estimates["metric"])
    show_markdown(f"::: {region}\n{metrics_table(kinds, there)}:::")


def show_win_win_error() -> None:
    """Show how often a win-win is false; the figure is the same in every release."""
    rates = read_win_win_error()
    show_markdown(win_win_text(rates))
    show_table(win_win_table(rates), caption=win_win_caption())


def ranges(release: Release) -> str:
    """Name the limits given with the release's figures."""
    if release.policies == ["bounds"]:
        return "its lowest and highest value over all completions of the missing answers"
    return f"its {level(release.alpha)} interval"


def benchmark_card(benchmark: Benchmark) -> str:
    """Describe a benchmark: items, groups, limits, source and licence, in Markdown."""
    kind, words = benchmark.kind, words_of(benchmark)
    versions = (f"    - {escape_markdown(': '.join(one))}" for one in benchmark.versions.items())
    selected = "; ".join(f"{model} ({how})" for model, how in benchmark.selected_on.items())
    required = f"answers that depend on the {words.item}"
    if kind == CHOICE:
        required = f"lower limit of accuracy above {required_accuracy(benchmark)}"
    escaped = {
        "description": benchmark.description,
        "items": _items(benchmark),
        "groups": _attributes(benchmark),
        "required": required,
        "selected": selected or "none",
        "source": ", ".join(benchmark.sources),
        "licence": benchmark.licence,
        "cite": benchmark.citation,
    }
    return prose(
        "benchmark",
        **{name: escape_markdown(text) for name, text in escaped.items()},
        item=words.item,
        sets=words.items,
        variants=str(len(benchmark.variants)),
        versions="\n".join(versions),
        missing=benchmark.missing,
        margin=f"{unsigned(kind, benchmark.equivalence_margin)} {long_unit(kind)}",
        family=TESTED_TOGETHER[benchmark.family],
        largest_missing=percent(benchmark.largest_missing),
        common_items=percent(benchmark.common_items),
    )


def _items(benchmark: Benchmark) -> str:
    """Describe the items, the possible answers and the independent units, as plain text."""
    if benchmark.kind == CHOICE:
        return f"{len(benchmark.answer_keys):,}, options {', '.join(benchmark.options)}"
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
        f"{settings_of(release).title}, release {release.name} ({year}). Computed with fairstats "
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


#: The level of the verdicts in the file; its intervals have a confidence level of 1 − this.
ALPHA = 0.05
#: The improvement in the power scenario, as the file names it.
ALL_THREE = "accuracy, cfr, ad"
_RULES = {"unadjusted": "unadjusted", "holm": "Holm"}


def read_win_win_error() -> pd.DataFrame:
    """Read the error rates of the win-win verdict, as benchmarks/win_win_error.py wrote them."""
    return pd.read_csv(resource("data", "win_win_error.csv"))


def win_win_text(rates: pd.DataFrame) -> str:
    """State how often a win-win is false, and how it was simulated, in Markdown."""
    false, power = rates[rates["changed"] != ALL_THREE], rates[rates["changed"] == ALL_THREE]
    worst = false.groupby("pairs")["family_unadjusted"].max()
    few, many = min(worst.index), max(worst.index)
    return prose(
        "win-win",
        holm=percent(false["family_holm"].max()),
        level=level(1 - ALPHA),
        few=number_word(few),
        worst_few=percent(worst[few]),
        many=number_word(many),
        worst_many=percent(worst[many]),
        trials=_trials(false),
        power_trials=_trials(power),
    )


def _trials(rates: pd.DataFrame) -> str:
    return " or ".join(f"{n:,}" for n in sorted(rates["trials"].unique(), reverse=True))


def win_win_table(rates: pd.DataFrame) -> GT:
    """Show the share of win-wins by both rules, one row per design and set of improved figures."""
    rows = [
        {
            "design": f"{row['items']:,} items, a family of {row['pairs']} pairs",
            "changed": _improved(row["changed"]),
            **{
                f"{unit}_{rule}": _share(row, f"{unit}_{rule}")
                for unit in ("family", "pair")
                for rule in _RULES
            },
        }
        for _, row in rates.iterrows()
    ]
    labels = {
        f"{unit}_{rule}": f"{label}, {text}"
        for unit, label in (("family", "Any pair"), ("pair", "One pair"))
        for rule, text in _RULES.items()
    }
    return written_table(
        rows,
        labels,
        name="win-win-error",
        stub="changed",
        heading="What improves",
        group="design",
        right=["changed", *labels],
    )


def win_win_caption() -> str:
    """Caption the table, in plain text."""
    return (
        "Share of families with any win-win, and of single pairs with a win-win, with "
        f"{level(ALPHA)} intervals. The last row of each group is power."
    )


def _improved(changed: str) -> str:
    """Name the improved figures, e.g. ``Accuracy and CFR``."""
    if changed == ALL_THREE:
        return "All three (power)"
    names = {"accuracy": "accuracy", "cfr": "CFR", "ad": "AD"}
    text = " and ".join(names.get(name, name) for name in changed.split(", "))
    return capital(text)


def _share(row: pd.Series, name: str) -> str:
    limits = percent_range(row[f"{name}_low"], row[f"{name}_high"])
    return f"{percent(row[name])} ({limits})"
