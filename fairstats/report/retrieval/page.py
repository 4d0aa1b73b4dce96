"""Show retrieval-augmented answers, in the order of the study's tables 2 to 5."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import escape_markdown, number_word, percent
from fairstats._lib.safe_names import slug
from fairstats.answers.strategies import read_strategy
from fairstats.benchmarks.declaration import POOLED, Benchmark
from fairstats.release.contents import Release
from fairstats.report.page_output import (
    ACCENT_A,
    ACCENT_B,
    DIM,
    INK,
    NEUTRAL_DARK,
    RULE,
    closed,
    show_markdown,
    show_plot,
    show_table,
)
from fairstats.report.plot_style import plot_theme
from fairstats.report.retrieval.tables import (
    answer_sets,
    effects_table,
    overlap_table,
    printed_scores,
    printed_strategies,
    scores_table,
    votes_table,
)

if TYPE_CHECKING:
    from plotnine import ggplot


_WITHOUT = (
    "Some answers in this release were given with retrieved snippets ({sets}). The release has no "
    "record of the snippets, so their overlap is unknown. The figures are on the leaderboard."
)
_HOW_TO_READ = (
    "- **Overlap** is how similar the snippets for an item's variants are: snippets retrieved for "
    "all variants, divided by those retrieved for any (intersection over union). Two lists of ten "
    "that share five have 33%. Overlap depends on the vignettes, the corpus and the retriever, not "
    "on the model, because the query is the vignette alone.\n"
    "- **Score** is the share of right answers to an item's demographic variants, averaged over "
    "items. Missing answers are left out, whatever the policy.\n"
    "- **A majority vote** gives all variants of an item the letter that most of them got. Its "
    "groups cannot differ, so it is not an answer set and has no DP or EO. A tie leaves an item "
    "open.\n"
    "- **DP** and **EO** are ranges over the groups of one attribute, in points, never negative. "
    "EO uses only items answered correctly without a group, which may be few."
)
_EFFECTS = (
    "The table has the pairs with a wrong answer for the second group. Did the other variant get "
    "the same snippets, in the same order? Did it get the same answer? The last column uses all "
    "pairs. It compares how often answers change with different snippets and with the same ones. "
    "If all pairs are of one kind, there is no comparison. It shows an association: items with "
    "different snippets may differ in other ways too."
)
_PUBLISHED = (
    "As published in the study of retrieval-augmented answers (arXiv:2503.15454), except its table "
    "6. Its answers were never released, so none of these figures can be recomputed. Three points "
    "limit comparisons:\n\n"
    "- On MMLU, MedQA and MedMCQA, 42 of the 60 scores are below 25%, the accuracy of guessing "
    "among four options.\n"
    "- The published overlap differs by model and strategy. It could not, if the query were the "
    "vignette alone for the same items.\n"
    "- Majority vote has DP and EO above 0. A vote over all variants of an item could not have "
    "that, counted over the items that it decides."
)


def show_retrieval(release: Release) -> None:
    """Show what was retrieved, how answers compare, and the study's published tables."""
    overlap = release.table("overlap")
    retrieved = _asked_with_snippets(release)
    if overlap.empty and retrieved:
        show_markdown(_WITHOUT.format(sets=escape_markdown(", ".join(retrieved))))
    if not overlap.empty:
        with closed("How to read overlap, score, DP and EO"):
            show_markdown(_HOW_TO_READ)
    for (name, version), own in overlap.groupby(["benchmark", "benchmark_version"], sort=True):
        _show_benchmark(release, str(name), str(version), own)
    show_markdown(f"## Published tables\n\n{_PUBLISHED}")
    with closed("Table 2: score and overlap by model, data set and strategy"):
        show_table(
            printed_scores(),
            caption="Table 2 as published: score, % (overlap, %)",
        )
    with closed("Tables 3 to 5: DP and EO by strategy, and by retriever and k"):
        show_table(
            printed_strategies(),
            caption="Tables 3, 4 and 5 as published, for DeepSeek-R1-8B; DP and EO times 100",
        )


def _asked_with_snippets(release: Release) -> list[str]:
    names = sorted({str(entry["strategy"]) for entry in release.manifest["answers"]})
    return [name for name in names if read_strategy(name).retriever is not None]


def _show_benchmark(release: Release, name: str, version: str, overlap: pd.DataFrame) -> None:
    benchmark = release.benchmarks[name]
    sets = answer_sets(release, name, version)
    title = escape_markdown(benchmark.title)
    place = slug(f"{name}-{version}")
    described = benchmark.versions.get(version, version)
    named = f"{benchmark.title}, {described}"
    show_markdown(
        f"## {title}: {escape_markdown(described)}\n\n::: lede\n{_summary(overlap, sets)}\n:::"
    )
    if not sets.empty:
        show_table(
            scores_table(sets, release, name=f"scores-{place}"),
            caption=f"{named}: answers with and without snippets",
            download="votes",
        )
    show_plot(
        overlap_plot(overlap, benchmark),
        name=f"overlap-{place}",
        alt="Overlap of the retrieved snippets across the variants of an item, by k and retriever",
        width=7,
        height=2.6,
    )
    show_table(
        overlap_table(overlap, benchmark, name=f"overlap-{place}"),
        caption=f"{named}: overlap by retriever and k, %",
        download="overlap",
    )
    effects = _own(release.table("retrieval_effects"), name, version)
    effects = effects[effects["attribute"].isin([a.name for a in benchmark.varied])]
    if not effects.empty:
        show_markdown("### Wrong answers and retrieved snippets")
        with closed("Wrong answers by pair of groups"):
            show_markdown(_EFFECTS)
            show_table(
                effects_table(effects, release, name=f"effects-{place}"),
                caption=f"{named}: wrong answers by snippets and answer of the other variant",
                download="retrieval_effects",
            )
    votes = _own(release.table("votes"), name, version)
    show_markdown("### Results of a majority vote")
    show_table(
        votes_table(votes, name=f"votes-{place}"),
        caption=f"{named}: votes over the demographic variants",
        download="votes",
    )


def _own(table: pd.DataFrame, name: str, version: str) -> pd.DataFrame:
    return table[(table["benchmark"] == name) & (table["benchmark_version"] == version)]


def _summary(overlap: pd.DataFrame, sets: pd.DataFrame) -> str:
    """State what was searched, and how many snippets all variants have in common."""
    corpora = escape_markdown(", ".join(sorted(overlap["corpus"].unique())))
    retrievers = overlap["retriever"].unique()
    asked = int(sets["retriever"].notna().sum()) if len(sets) else 0
    text = (
        f"{number_word(len(retrievers)).capitalize()} retriever"
        f"{'s' if len(retrievers) > 1 else ''} searched the corpus *{corpora}*; "
        f"{number_word(asked)} answer set{'' if asked == 1 else 's'} "
        f"{'used' if asked == 1 else 'use'} the snippets."
    )
    pooled = overlap[(overlap["attribute"] == POOLED) & (overlap["measure"] == "iou")]
    pooled = pooled[pooled["estimate"].notna()]
    if asked:
        # Only the lists that models were given.
        used = sets[["retriever", "top_k"]].drop_duplicates()
        pooled = pooled.merge(used, on=["retriever", "top_k"])
    if pooled.empty:
        return text
    least = pooled.loc[pooled["estimate"].idxmin()]
    most = pooled.loc[pooled["estimate"].idxmax()]
    text += (
        f" Of the snippets retrieved for any demographic variant of an item, on average "
        f"{percent(least['estimate'])} were retrieved for all of them with "
        f"{escape_markdown(least['retriever'])} at k = {least['top_k']}"
    )
    if len(pooled) > 1:
        text += (
            f", and {percent(most['estimate'])} with {escape_markdown(most['retriever'])} "
            f"at k = {most['top_k']}"
        )
    return f"{text}."


_COLOURS = (ACCENT_B, ACCENT_A, INK, NEUTRAL_DARK, RULE, DIM)


def overlap_plot(overlap: pd.DataFrame, benchmark: Benchmark) -> ggplot:
    """Draw intersection over union against k: panels by attribute, colours by retriever.

    Parameters
    ----------
    overlap : pandas.DataFrame
        `fairstats.retrieval.overlap.retrieval_overlap` of one benchmark version.
    benchmark : Benchmark
        Gives the attributes' labels and order.
    """
    from plotnine import (
        aes,
        element_line,
        facet_wrap,
        geom_line,
        geom_linerange,
        geom_point,
        ggplot,
        labs,
        position_dodge,
        scale_color_manual,
        scale_x_continuous,
        scale_y_continuous,
        theme,
    )

    labels = {**{a.name: a.label for a in benchmark.varied}, POOLED: "All variants"}
    rows = overlap[
        (overlap["measure"] == "iou")
        & overlap["attribute"].isin(list(labels))
        & overlap["estimate"].notna()
    ]
    scaled = {c: 100 * rows[c] for c in ("estimate", "ci_low", "ci_high")}
    panel = pd.Categorical(rows["attribute"].map(labels), list(labels.values()))
    rows = rows.assign(panel=panel, **scaled)
    retrievers = sorted(rows["retriever"].unique())
    colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(retrievers)}
    apart = position_dodge(width=1.2)
    plot = (
        ggplot(rows, aes("top_k", "estimate", color="retriever"))
        + geom_linerange(aes(ymin="ci_low", ymax="ci_high"), size=0.7, position=apart)
        + geom_point(size=1.6, position=apart)
        + facet_wrap("panel", nrow=1)
        + scale_color_manual(colours)
        + scale_x_continuous(breaks=sorted(rows["top_k"].unique()))
        + scale_y_continuous(limits=(0, 100))
        + labs(x="k, snippets per vignette", y="in common, %", color="")
        + plot_theme()
        + theme(panel_grid_major_y=element_line(color=RULE, size=0.4))
    )
    # A line needs two values of k.
    return plot + geom_line(size=0.5, position=apart) if rows["top_k"].nunique() > 1 else plot
