"""The page of retrieval-augmented answers, in the order of the study's tables 2 to 5."""

from __future__ import annotations

import pandas as pd

from fairstats._lib.formatting import escape_markdown, number_word, percent
from fairstats._lib.safe_names import slug
from fairstats.answers.strategies import read_strategy
from fairstats.benchmarks.terms import POOLED
from fairstats.release.contents import Release
from fairstats.report.page_output import closed, show_markdown, show_plot, show_table
from fairstats.report.retrieval_plots import overlap_plot
from fairstats.report.retrieval_tables import (
    answer_sets,
    effects_table,
    overlap_table,
    printed_scores,
    printed_strategies,
    scores_table,
    votes_table,
)

_WITHOUT = (
    "Answers of this release were asked with retrieved snippets ({sets}), but it holds no record "
    "of what was retrieved: overlap cannot be told. Their figures stand on the boards."
)
_HOW_TO_READ = (
    "**Overlap** is how alike the contexts of an item's variants are: the snippets that were found "
    "for all variants, over those found for any (intersection over union; two lists of ten that "
    "share five have 33%). It belongs to the vignettes, the corpus and the retriever, not to the "
    "model: the query is the vignette alone. **Score** is the share of right answers among those "
    "to an item's demographic variants, the mean over items; missing answers are left out, "
    "whatever the policy. **A majority vote** gives all variants of an item the letter that most "
    "of them got. Its groups cannot differ, so it is no answer set and has no DP or EO; a tie "
    "leaves an item open. **DP** and **EO** are ranges over the groups of one attribute, in points "
    "and never negative; EO rests on the items that were answered right without any group, which "
    "may be few."
)
_EFFECTS = (
    "Of the pairs in which the answer for the unprivileged group is wrong: had the other variant "
    "got the same snippets, in the same order, and did it get the same answer? The last column "
    "compares, over all pairs, how often answers change where the snippets are other ones with how "
    "often they change where they are the same; where all pairs are of one kind, there is nothing "
    "to compare. It is an association: items for which other snippets were found may differ "
    "otherwise too."
)
_PRINTED = (
    "As printed in the study of retrieval-augmented answers (arXiv:2503.15454). "
    "Its answers were never released, so that none of these "
    "figures can be recomputed; its table 6 is not among them. Before comparing: of the 60 "
    "scores on MMLU, MedQA and MedMCQA 42 lie below the 25% that guessing among four options "
    "gives. The printed overlap differs by model and strategy, which it could not if the query "
    "were the vignette alone over the same items. And majority vote has DP and EO above 0, which a "
    "vote over all variants of an item could not have, counted over the items that it decides."
)


def show_retrieval(release: Release) -> None:
    """What was retrieved, how answers with it compare, and the study's printed tables."""
    overlap = release.table("overlap")
    retrieved = _asked_with_snippets(release)
    if overlap.empty and retrieved:
        show_markdown(_WITHOUT.format(sets=escape_markdown(", ".join(retrieved))))
    if not overlap.empty:
        with closed("How to read overlap, score, DP and EO"):
            show_markdown(_HOW_TO_READ)
    for (name, version), own in overlap.groupby(["benchmark", "benchmark_version"], sort=True):
        _show_benchmark(release, str(name), str(version), own)
    show_markdown(f"## The printed tables\n\n{_PRINTED}")
    with closed("Table 2: score and overlap by model, data set and strategy"):
        show_table(
            printed_scores(),
            caption="Table 2 as printed: score, % (overlap, %)",
        )
    with closed("Tables 3 to 5: DP and EO by strategy, and by retriever and k"):
        show_table(
            printed_strategies(),
            caption="Tables 3, 4 and 5 as printed, for DeepSeek-R1-8B; DP and EO times 100",
        )


def _asked_with_snippets(release: Release) -> list[str]:
    names = sorted({str(entry["strategy"]) for entry in release.manifest["answers"]})
    return [name for name in names if read_strategy(name).retriever is not None]


def _show_benchmark(release: Release, name: str, version: str, overlap: pd.DataFrame) -> None:
    benchmark = release.benchmarks[name]
    sets = answer_sets(release, name, version)
    title = escape_markdown(benchmark.title)
    place = slug(f"{name}-{version}")
    described = escape_markdown(benchmark.versions.get(version, version))
    show_markdown(f"## {title}: {described}\n\n::: lede\n{_summary(overlap, sets)}\n:::")
    if not sets.empty:
        show_table(
            scores_table(sets, release, name=f"scores-{place}"),
            caption=f"{benchmark.title}, version {version}: answers with and without snippets",
            download="votes",
        )
    show_plot(
        overlap_plot,
        overlap,
        benchmark,
        name=f"overlap-{place}",
        alt="Overlap of the retrieved snippets across the variants of an item, by k and retriever",
        width=7,
        height=2.6,
    )
    show_table(
        overlap_table(overlap, benchmark, name=f"overlap-{place}"),
        caption=f"{benchmark.title}, version {version}: overlap by retriever and k, %",
        download="overlap",
    )
    effects = _own(release.table("retrieval_effects"), name, version)
    effects = effects[effects["attribute"].isin([a.name for a in benchmark.varied])]
    if not effects.empty:
        show_markdown("### Wrong answers, and what had been retrieved")
        with closed("Wrong answers by pair of groups"):
            show_markdown(_EFFECTS)
            show_table(
                effects_table(effects, release, name=f"effects-{place}"),
                caption=f"{benchmark.title}, version {version}: wrong answers, and snippets",
                download="retrieval_effects",
            )
    votes = _own(release.table("votes"), name, version)
    show_markdown("### What a majority vote would give")
    show_table(
        votes_table(votes, name=f"votes-{place}"),
        caption=f"{benchmark.title}, version {version}: votes over the demographic variants",
        download="votes",
    )


def _own(table: pd.DataFrame, name: str, version: str) -> pd.DataFrame:
    return table[(table["benchmark"] == name) & (table["benchmark_version"] == version)]


def _summary(overlap: pd.DataFrame, sets: pd.DataFrame) -> str:
    """What was searched, and how much of what was found is common to all variants."""
    corpora = escape_markdown(", ".join(sorted(overlap["corpus"].unique())))
    retrievers = overlap["retriever"].unique()
    asked = int(sets["retriever"].notna().sum()) if len(sets) else 0
    text = (
        f"{number_word(len(retrievers)).capitalize()} retriever"
        f"{'s' if len(retrievers) > 1 else ''} searched the corpus *{corpora}*; "
        f"{number_word(asked)} answer set{'' if asked == 1 else 's'} "
        f"{'was' if asked == 1 else 'were'} asked with what was found."
    )
    pooled = overlap[(overlap["attribute"] == POOLED) & (overlap["measure"] == "iou")]
    pooled = pooled[pooled["estimate"].notna()]
    if asked:
        # What was asked with, where something was.
        used = sets[["retriever", "top_k"]].drop_duplicates()
        pooled = pooled.merge(used, on=["retriever", "top_k"])
    if pooled.empty:
        return text
    least = pooled.loc[pooled["estimate"].idxmin()]
    most = pooled.loc[pooled["estimate"].idxmax()]
    text += (
        f" Of the snippets found for any demographic variant of an item, on average "
        f"{percent(least['estimate'])} were found for all of them with "
        f"{escape_markdown(least['retriever'])} at k = {least['top_k']}"
    )
    if len(pooled) > 1:
        text += (
            f", and {percent(most['estimate'])} with {escape_markdown(most['retriever'])} "
            f"at k = {most['top_k']}"
        )
    return f"{text}."
