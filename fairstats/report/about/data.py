"""Show the Data page: a release's files for download, benchmarks, sources, and how to cite it."""

from __future__ import annotations

import pandas as pd
from great_tables import GT

from fairstats._lib.formatting import (
    MINUS,
    capital,
    counted,
    escape_markdown,
    listed,
    number_word,
    percent,
    quoted,
)
from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.authoring_summary import open_decisions
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import CHOICE, Words
from fairstats.exports.catalogues import CROISSANT, dataset_markup
from fairstats.release import tables
from fairstats.release.contents import DOWNLOADS, MANIFEST, Release, formats_of
from fairstats.report.about.methods import has_benchmarks
from fairstats.report.board.figures import MOST_SHOWN
from fairstats.report.board.terms import TESTED_TOGETHER, required_accuracy
from fairstats.report.page_output import (
    output_format,
    page_root,
    prose,
    show_html,
    show_markdown,
    show_table,
)
from fairstats.report.site_settings import settings_of
from fairstats.report.tables import as_label, labels_of
from fairstats.report.words import (
    counted_clusters,
    counted_items,
    long_unit,
    meaning,
    option_label,
    unsigned,
    versions_of_an_item,
    words_of,
)

_NOT_STATED = "Not stated"


def show_contents(release: Release) -> None:
    """State the release's number of answers and models."""
    titles = escape_markdown(listed(benchmark.title for benchmark in release.benchmarks.values()))
    answers = sum(entry["answers"] for entry in release.manifest["answers"])
    missing = sum(entry["missing"] for entry in release.manifest["answers"])
    absent = f" ({missing:,} of them missing)" if missing else ""
    models = len(release.models)
    show_markdown(
        f"::: lede\nThis release has {answers:,} answers{absent} from {number_word(models)} "
        f"model{'s' * (models != 1)} to {titles}. "
        "Every figure can be downloaded and recomputed.\n:::"
    )


def show_files(release: Release) -> None:
    """List every table of the release that has a row, and the data it was made from."""
    labels, root = labels_of("about"), f"{page_root()}{DOWNLOADS}"
    contents = labels["files"]
    if CHOICE not in {benchmark.kind for benchmark in release.benchmarks.values()}:
        contents = contents | labels["without_choices"]
    described = {name: contents[name] for name in tables.TABLES}
    if release.earlier:
        described |= labels["changes"]
    files = {
        name: (text, formats_of(name))
        for name, text in described.items()
        if not release.table(name).empty
    }
    files |= {
        name: (text, ("parquet",))
        for name, text in labels["inputs"].items()
        if name == "answers" or not getattr(release, name).empty
    }
    lines = [
        f"- {name}: {text} ({', '.join(f'[{kind}]({root}/{name}.{kind})' for kind in kinds)})"
        for name, (text, kinds) in files.items()
    ]
    if release.answers_folder.is_dir():
        # Their names are numbers.
        parts = len(list(release.answers_folder.iterdir()))
        old = f"[parquet]({root}/answers.parquet)"
        links = f"[parquet]({root}/answers/00000.parquet)"
        links += f" to {parts - 1:05}.parquet" if parts > 1 else ""
        lines = [line.replace(old, links) for line in lines]
    if sum(entry["answers"] for entry in release.manifest["answers"]) > tables.MOST_LISTED:
        lines.append(
            f"- tables with a row per item, such as flips, are left out of a release with more "
            f"than {tables.MOST_LISTED:,} answers"
        )
    lines += [
        f"- [manifest]({page_root()}{MANIFEST}): hashes, versions, arguments",
        f"- [citation]({page_root()}CITATION.cff) for reference managers",
        f"- [croissant]({root}/{CROISSANT}): description of the data in the format Croissant 1.1",
    ]
    show_markdown("\n".join(lines))
    if output_format() == "html":
        show_html(dataset_markup(release, page_root()))


def show_sources(release: Release) -> None:
    """Show the release's benchmarks, and the number of answers from each model."""
    asked = release.table("letters")[["benchmark", "attribute", "group"]].drop_duplicates()
    for name, benchmark in release.benchmarks.items():
        versions = len(versions_of_an_item(benchmark, asked[asked["benchmark"] == name]))
        show_markdown(
            f"## {escape_markdown(benchmark.title)}\n\n{benchmark_card(benchmark, versions)}"
        )
        if proposed := open_decisions(benchmark):
            show_markdown(prose("data-undecided", lines=counted(proposed, "line")))
    if has_benchmarks(release) and output_format() == "html":
        show_markdown(
            "How models were used to select items, and one measure of bias on several benchmarks: "
            "[Benchmarks](/reports/benchmarks.qmd)."
        )
    show_markdown("## Answers in this release")
    sets = len(release.manifest["answers"])
    if output_format() != "html" and sets > MOST_SHOWN:
        show_markdown(f"The Data page of the site lists all {sets} answer sets.")
        return
    nouns = _items_of(release)
    caption = f"Answers by model, set of {nouns} and prompt"
    show_table(_sources_table(release, nouns), caption=caption, css_class="sources")


def _sources_table(release: Release, nouns: str) -> GT:
    """Count answers by model, snapshot, set of vignettes and prompt."""
    rows = pd.DataFrame(
        {
            **{name: value for name, value in entry.items() if name != "set_items"},
            "benchmark": (benchmark := release.benchmarks[entry["benchmark"]]).title,
            "benchmark_version": benchmark.versions.get(
                entry["benchmark_version"], entry["benchmark_version"]
            ),
            "strategy": strategy_label(entry["strategy"]),
        }
        for entry in release.manifest["answers"]
    )
    return (
        GT(rows, id="sources")
        .cols_label(
            benchmark="Benchmark",
            benchmark_version=as_label(capital(nouns)),
            model="Model",
            snapshot="Snapshot",
            strategy="Prompt",
            collector="Collector",
            items="Items",
            answers="Answers",
            missing="Missing",
            refused="Refused",
            failed="Failed",
        )
        .sub_missing(missing_text="not known")
        .fmt_integer(columns=["items", "answers", "missing", "refused", "failed"])
    )


def _items_of(release: Release) -> str:
    """Return the noun of the release's items; the general one if benchmarks differ."""
    nouns = {words_of(benchmark).items for benchmark in release.benchmarks.values()}
    return nouns.pop() if len(nouns) == 1 else "vignettes" if "vignettes" in nouns else "items"


def benchmark_card(benchmark: Benchmark, versions: int) -> str:
    """Describe a benchmark: items, groups, limits, source and licence, in Markdown.

    `versions` is the number of versions of each item.
    """
    kind, words = benchmark.kind, words_of(benchmark)
    sets = (f"    - {escape_markdown(': '.join(one))}" for one in benchmark.versions.items())
    selected = "; ".join(f"{quoted(model)} ({how})" for model, how in benchmark.selected_on.items())
    required = f"answers that depend on the {words.item}"
    if kind == CHOICE:
        required = f"lower limit of accuracy above {required_accuracy(benchmark)}"
    escaped = {
        "description": benchmark.description,
        "item": words.item,
        "sets": words.items,
        "items": _items(benchmark),
        "groups": _attributes(benchmark),
        "required": required,
        "selected": selected or "none declared",
        "source": ", ".join(benchmark.sources) or _NOT_STATED,
        "licence": benchmark.licence,
        "cite": benchmark.citation,
    }
    return prose(
        "benchmark",
        **{name: escape_markdown(text) for name, text in escaped.items()},
        variants=str(versions),
        versions="\n".join(sets),
        missing=benchmark.missing,
        declaration=benchmark.hash,
        margin=f"{unsigned(kind, benchmark.equivalence_margin)} {long_unit(kind)}",
        family=TESTED_TOGETHER[benchmark.family],
        largest_missing=percent(benchmark.largest_missing),
        common_items=percent(benchmark.common_items),
    )


def _items(benchmark: Benchmark) -> str:
    """Describe the items, the possible answers and the independent units, as plain text."""
    words = benchmark.words
    parts = [counted_items(benchmark, len(benchmark.items)) if benchmark.items else words.items]
    if benchmark.kind == CHOICE:
        parts = [f"{len(benchmark.answer_keys):,}"]
    if words.source:
        parts[0] += f" ({words.source})"
    if benchmark.kind.name == "score":
        low, high = (f"{end:g}".replace("-", MINUS) for end in benchmark.limits)
        parts.append(f"scores from {low} to {high}")
    else:
        parts.append(f"options {', '.join(option_label(benchmark, o) for o in benchmark.options)}")
    if benchmark.cluster is not None:
        unnamed = words.clusters == Words().clusters
        of = f"items with the same {benchmark.cluster}" if unnamed else words.clusters
        if benchmark.clusters:
            of = counted_clusters(benchmark, len(set(benchmark.clusters.values())))
        parts.append(f"independent units: {of}")
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


def show_citation(release: Release) -> None:
    """Show how to cite the release and its benchmarks."""
    own = (
        f"{settings_of(release).title}, release {release.name} ({release.created_at.year}). "
        f"Computed with fairstats {release.manifest['fairstats']}. SHA-256 of the answers: "
        f"{release.manifest['content']['answers']}."
    )
    cited = dict.fromkeys([own, *(one.citation for one in release.benchmarks.values())])
    cited.pop(_NOT_STATED, None)
    show_markdown("\n".join(f"- {escape_markdown(text)}" for text in cited))
