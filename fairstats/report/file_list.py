"""The list of a release's files for readers who take them along."""

from __future__ import annotations

from fairstats.release.contents import DOWNLOADS, MANIFEST, Release
from fairstats.release.tables import TABLES
from fairstats.report.page_output import KINDS, page_root, show_markdown

_WHAT = {
    "estimates": "every figure of every model",
    "ranks": "ranks with their confidence sets, and why a model has no rank",
    "rank_differences": "which models differ: one row per pair of ranked models",
    "comparisons": "versions and strategies compared",
    "replication": "printed figures beside recomputed ones",
    "sensitivity": "figures and verdicts under other choices",
    "letters": "how often each letter was given",
    "flips": "every pair whose two letters differ",
    "overlap": "how much of what was retrieved is the same for every group",
    "retrieval_effects": "answers that changed, with the same snippets and with others",
    "votes": "what a majority vote over the variants of an item gives",
    "bias_rates": "how often raters report each dimension, with intervals",
    "rating_values": "how often raters gave each value",
    "rater_agreement": "how far raters agree",
    "rating_votes": "how many of an item's raters report each dimension",
    "disagreement": "each item's ratings, and how far they agree",
    "raters": "each rater's judgements and time",
    "preferences": "which of two models' answers raters prefer",
    "strengths": "Bradley-Terry strengths of models",
    "counterfactual_rates": "bias in pairs of answers that were judged as pairs",
    "paired_bias": "such pairs judged answer by answer: bias in one, in one or more, in both",
    "vignette_findings": "how good the variants are: leakage, wording, content, items",
    "figure_changes": "figures that moved since the release before",
    "verdict_changes": "verdicts that are other ones than in the release before",
    "answer_set_changes": "answers that are new, gone or changed since the release before",
}


_CHANGES = ("figure_changes", "verdict_changes", "answer_set_changes")


def show_files(release: Release) -> None:
    """Every table of the release, and what it was made from."""
    root = page_root()
    changes = _CHANGES if release.manifest.get("previous") else ()
    lines = [
        f"- {name}: {_WHAT[name]} ("
        + ", ".join(f"[{kind}]({root}{DOWNLOADS}/{name}.{kind})" for kind in KINDS)
        + ")"
        for name in (*TABLES, *changes)
    ]
    show_markdown(
        "\n".join(lines)
        + f"\n- answers: what all of it is made from ([parquet]({root}{DOWNLOADS}/answers.parquet))"
        "\n- retrievals: the snippets that variants were asked with, by rank, without their text "
        f"([parquet]({root}{DOWNLOADS}/retrievals.parquet))"
        "\n- ratings: every judgement of every rater, without their comments "
        f"([parquet]({root}{DOWNLOADS}/ratings.parquet))"
        "\n- measures: what was measured of each variant, numbers without its text "
        f"([parquet]({root}{DOWNLOADS}/measures.parquet))"
        f"\n- [manifest]({root}{MANIFEST}): hashes, versions, arguments"
        f"\n- [how to cite it]({root}CITATION.cff), for reference managers"
    )
