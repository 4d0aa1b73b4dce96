"""List a release's files for download."""

from __future__ import annotations

from fairstats.benchmarks.kinds import CHOICE
from fairstats.exports.catalogues import dataset_markup
from fairstats.exports.site_files import SITE_FILES
from fairstats.release.contents import DOWNLOADS, MANIFEST, Release
from fairstats.release.tables import TABLES
from fairstats.report.page_output import KINDS, output_format, show_html, show_markdown
from fairstats.report.templates import page_root

_CONTENTS = {
    "estimates": "every figure of every model",
    "ranks": "ranks with their ranges, and the reason if a model has no rank",
    "rank_differences": "which models differ: one row per pair of ranked models",
    "comparisons": "changes between versions and between prompts",
    "screening": "signs of copied, shifted, forced or invented answers",
    "replication": "published figures with recomputed ones",
    "sensitivity": "figures and verdicts with other choices of method",
    "letters": "how often each answer letter was given",
    "flips": "every pair with two different answers",
    "item_gaps": "the contribution of each item to the accuracy difference, over all models",
    "overlap": "share of the retrieved snippets that all groups have in common",
    "retrieval_effects": "changed answers, with the same and with different snippets",
    "votes": "results of a majority vote over the variants of an item",
    "bias_rates": "how often raters report each dimension, with intervals",
    "rating_values": "how often raters gave each value",
    "rater_agreement": "agreement between raters",
    "rating_votes": "number of raters per item who report each dimension",
    "disagreement": "each item's ratings and their agreement",
    "preferences": "which of two models' answers raters prefer",
    "counterfactual_rates": "bias in pairs of answers, judged as pairs",
    "paired_bias": "bias in pairs of answers, judged one by one: in one, in at least one, in both",
    "vignette_findings": "quality of the variants: leakage, wording, content, items",
    "figure_changes": "figures that changed since the previous release",
    "verdict_changes": "verdicts that changed since the previous release",
    "answer_set_changes": "answers, snapshots and ranks of this and the previous release",
    "earlier_comparisons": "changes from the answers in earlier releases",
}
#: Where no answer is a letter, right or wrong.
_WITHOUT_CHOICES = {
    "letters": "how often each answer was given",
    "item_gaps": "the contribution of each item to the difference, over all models",
}
#: Files that are published as Parquet only, by the attribute of a release that reads them.
_INPUTS = {
    "retrievals": "snippets given with each variant, by rank, without their text",
    "ratings": "every judgement of every rater, without comments",
    "measures": "measurements of each variant, without its text",
    "submissions": "who sent in which answers, how they were made, and who accepted them",
}
_CHANGES = ("figure_changes", "verdict_changes", "answer_set_changes", "earlier_comparisons")


def show_files(release: Release) -> None:
    """List every table of the release that has a row, and the data it was made from."""
    root = f"{page_root()}{DOWNLOADS}"
    changes = _CHANGES if release.manifest.get("previous") else ()
    contents = dict(_CONTENTS)
    if CHOICE not in {benchmark.kind for benchmark in release.benchmarks.values()}:
        contents |= _WITHOUT_CHOICES
    lines = [
        f"- {name}: {contents[name]} ("
        + ", ".join(f"[{kind}]({root}/{name}.{kind})" for kind in KINDS)
        + ")"
        for name in (*TABLES, *changes)
        if not release.table(name).empty
    ]
    lines.append(
        f"- answers: all answers, the basis of every table ([parquet]({root}/answers.parquet))"
    )
    lines += [
        f"- {name}: {text} ([parquet]({root}/{name}.parquet))"
        for name, text in _INPUTS.items()
        if not getattr(release, name).empty
    ]
    lines += [
        f"- [manifest]({page_root()}{MANIFEST}): hashes, versions, arguments",
        f"- [citation]({page_root()}CITATION.cff) for reference managers",
    ]
    show_markdown("\n".join(lines))
    show_exports(release)


def show_exports(release: Release) -> None:
    """List the exports for other tools, and describe the data to search engines."""
    root = f"{page_root()}{DOWNLOADS}"
    lines = ["For other tools:", ""]
    lines += [f"- [{name}]({root}/{name}): {file.contents}" for name, file in SITE_FILES.items()]
    lines += [
        "",
        "Some exports are large or depend on other programs, so they are not here: every answer as "
        "a sample of Every Eval Ever, results for the Hugging Face Hub, and the tables of these "
        "pages as LaTeX, Word documents or an Excel workbook. `fairstats export` writes them, e.g. "
        f"`fairstats export latex --release {release.name} --page index.html --out paper`.",
    ]
    show_markdown("\n".join(lines))
    if output_format() == "html":
        show_html(dataset_markup(release, page_root()))
