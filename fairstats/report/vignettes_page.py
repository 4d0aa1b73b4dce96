"""Show how good the variants of each benchmark are: one section per question of the audit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from fairstats._lib.formatting import (
    counted,
    decimal,
    escape_html,
    escape_markdown,
    p_value,
    percent,
    percent_range,
    point_range,
    points,
)
from fairstats._lib.safe_names import slug
from fairstats.benchmarks.declaration import Benchmark
from fairstats.estimates.same_variants import CANNOT_TELL, DIFFERENT, SAME
from fairstats.release.contents import DOWNLOADS, Release
from fairstats.report.findings import prompt_label
from fairstats.report.page_output import closed, show_markdown, show_table
from fairstats.report.ratings_parts import files_of
from fairstats.report.tables import written_table
from fairstats.report.vignettes_items import show_items
from fairstats.vignettes.leakage import DISTINCT, OVERLAP
from fairstats.vignettes.selection import DIFFERENCE, ONE_SIDED

#: The release's table of findings.
FINDINGS = "vignette_findings"
#: The table of texts that a person should check; a release does not contain it.
FLAGS = "vignette_flags"

Row = Mapping[str, Any]
Cell = Callable[[Row], str]

_ANSWERS_ONLY = (
    "The text of the vignettes was not audited for this release. The results below are based on "
    "models' answers alone."
)
_LEAKAGE = (
    "An option's *shared words* are the share of its content words that the variant has and the "
    "neutralized vignette has not. *Words of no other option* leaves out words that several "
    "options of the item have. *A distractor* is the mean of the distractors, and the *advantage* "
    "is the key's value minus that mean. *Chance* is the same figure for the words added to all "
    "other items for that group. Shared words do not prove that a reader follows the hint: a "
    "negated word counts, and a paraphrase without a shared word does not."
)
_ADDED = (
    "A longer text repeats more words of any option. *New content words* are the distinct words, "
    "without inflections and stop words, that the neutralized vignette does not have."
)
_CONTENT = (
    "Rules compare each variant with the neutralized vignette: numbers with their units, drugs, "
    "findings and whether a question is asked. Rules miss paraphrases and raise false alarms, so a "
    "person should check the flags."
)
_DUPLICATES = (
    "Two texts are compared by the runs of five words that they share. An item on which most "
    "answers to the original and neutralized text are one wrong option may have a wrong key, or be "
    "hard."
)
_SELECTION = (
    "If variants are kept because they mislead a model, that model changes its answers in one "
    "direction only, and its accuracy difference does not show its bias. An undeclared selection "
    "shows in the same way: fewer changes in one direction than the most one-sided other model "
    "explains (Fisher's exact test, adjusted by Holm)."
)
_VARIANT_SETS = (
    "Two models that read the same text tend to change their answers on the same variants. "
    "Changes on one pair of groups are compared with changes on other pairs of the same items. "
    "Those have the same difficulty, but not the same text."
)
_NO_VERDICT = (
    "**No verdict.** How many changed answers two models share depends on how the variants "
    "were written. A verdict needs an odds ratio above which two answer sets count as answers "
    "to the same variants. The benchmark does not declare one (`same_variants_odds_ratio`)."
)
_MEASURES = {OVERLAP: "Shared words", DISTINCT: "Words of no other option"}
_OPTIONS = {
    "key": "Of the key",
    "key beyond chance": "Above chance",
    "distractors": "Of a distractor",
    "distractors beyond chance": "Above chance",
    "advantage": "Advantage",
}
_OF_ADDED = {"words": "Words more than the neutral text", "new_words": "New content words"}
_OF_CONTENT = {
    "numbers_kept": "All numbers kept",
    "no_new_quantity": "No new quantity",
    "drugs_kept": "All drugs kept",
    "findings_kept": "Findings kept (mean)",
    "question_asked": "A question asked",
}
_OF_DUPLICATES = {
    "nearest_item": "Items with a near-duplicate",
    "like_neutral": "Variants that hardly differ from the neutralized vignette",
    "like_other_group": "Variants that hardly differ from another group's",
    "key": "Items on which most answers are one wrong option",
}
_OF_RELATIONS = {
    "pairs": "Pairs of answer sets",
    "ratio": "Odds ratio, lowest to highest",
    SAME: "Judged same",
    DIFFERENT: "Judged different",
    CANNOT_TELL: "Undecided",
}
#: The number of flags shown per kind; the table has all of them.
_FLAGS_SHOWN = 12
_LONGEST = 300


def show_vignettes(release: Release) -> None:
    """Show every benchmark with audited vignettes, and what answers alone show about its items."""
    findings = release.table(FINDINGS)
    measured = list(dict.fromkeys(release.measures["benchmark"]))
    if not measured:
        show_markdown(_ANSWERS_ONLY)
    for name in [*measured, *sorted(set(findings["benchmark"]) - set(measured))]:
        own = findings[findings["benchmark"] == name]
        if own.empty:
            continue
        benchmark = release.benchmarks[name]
        show_markdown(f"## {escape_markdown(benchmark.title)}")
        aspects = dict(iter(own.groupby("aspect")))
        for aspects_of, show in _SECTIONS.items():
            there = [aspects[aspect] for aspect in aspects_of if aspect in aspects]
            if there:
                show(release, benchmark, pd.concat(there))
        show_items(release, benchmark)
    _show_flags(release)


def _show_leakage(release: Release, benchmark: Benchmark, rows: pd.DataFrame) -> None:
    sentence = _leakage_sentence(rows[rows["measure"] == OVERLAP], benchmark)
    show_markdown(
        f"### Does the added text give the answer away?\n\n::: lede\n{sentence}\n:::\n\n{_LEAKAGE}"
    )
    columns = rows.assign(column=rows["quantity"].str.removesuffix(" difference"))
    cells = [
        cell | {"measure": title}
        for measure, title in _MEASURES.items()
        for cell in _cells(columns[columns["measure"] == measure], benchmark, _share)
    ]
    _show(
        release,
        cells,
        name=f"leakage-{benchmark.name}",
        caption="Words of the options in the added text, % with 95% intervals. Differences from "
        "chance, and those of pairs, first group minus second, in points",
        labels=_OPTIONS,
        group="measure",
    )


def _show_added_text(release: Release, benchmark: Benchmark, rows: pd.DataFrame) -> None:
    change = rows[(rows["measure"] == "words") & rows["estimate"].notna()]
    groups, pairs = change[change["group_b"] == ""], change[change["group_b"] != ""]
    sentence = ""
    if len(groups):
        least, most = groups["estimate"].min(), groups["estimate"].max()
        sentence = (
            f"On average, a variant has {_signed(least)} to {_signed(most)} words compared with "
            "the neutralized vignette, depending on the group."
        )
    if len(pairs):
        row = pairs.loc[pairs["estimate"].abs().idxmax()].to_dict()
        sentence += (
            f" The largest difference between two groups is {_signed(row['estimate'])} words "
            f"({escape_markdown(_label(benchmark, row))}; {_signed(row['ci_low'])} to "
            f"{_signed(row['ci_high'])})."
        )
    show_markdown(f"### How much text is added?\n\n{sentence}\n\n{_ADDED}")
    _show(
        release,
        _cells(rows.assign(column=rows["measure"]), benchmark, _number),
        name=f"added-{benchmark.name}",
        caption="Mean number of words per variant with 95% intervals; for a pair, the first group "
        "minus the second",
        labels=_OF_ADDED,
    )


def _show_content(release: Release, benchmark: Benchmark, rows: pd.DataFrame) -> None:
    sentence = _content_sentence(rows[rows["measure"] == "question_asked"], benchmark)
    show_markdown(f"### Is the clinical content unchanged?\n\n{sentence}\n\n{_CONTENT}")
    _show(
        release,
        _cells(rows.assign(column=rows["measure"]), benchmark, _share),
        name=f"content-{benchmark.name}",
        caption="Variants that keep the content, % with 95% intervals; for a pair, the first group "
        "minus the second in points",
        labels={name: label for name, label in _OF_CONTENT.items() if name in set(rows["measure"])},
    )


def _show_duplicates(release: Release, benchmark: Benchmark, rows: pd.DataFrame) -> None:
    lead = rows[rows["measure"].isin(["nearest_item", "key"])].drop_duplicates("measure")
    sentences = []
    for row in lead[lead["n"] > 0].to_dict("records"):
        count, many = round(row["estimate"] * row["n"]), counted(row["n"], "item")
        said = (
            "have a near-duplicate"
            if row["measure"] == "nearest_item"
            else "are answered by most models with one wrong option"
        )
        sentences.append(f"{count:,} of {many} ({percent(row['estimate'])}) {said}.")
    show_markdown(
        f"### Are items duplicated, or keys wrong?\n\n{' '.join(sentences)}\n\n{_DUPLICATES}"
    )
    cells = [
        {
            "what": _OF_DUPLICATES[row["measure"]],
            "of": escape_html(_label(benchmark, row) or _version(benchmark, row)),
            "share": _share(row),
            "n": f"{row['n']:,}",
        }
        for row in rows.to_dict("records")
    ]
    _show(
        release,
        cells,
        name=f"duplicates-{benchmark.name}",
        caption="Near-duplicates and shared wrong options, % with 95% intervals",
        labels={"share": "Share, %", "n": "Items or variants"},
        group="what",
    )


def _show_selection(release: Release, benchmark: Benchmark, rows: pd.DataFrame) -> None:
    own = rows[(rows["quantity"] == DIFFERENCE) & rows["estimate"].notna()]
    others = rows[rows["quantity"] == ONE_SIDED]
    signs = others[others["p_value"] <= release.alpha]
    sentences = []
    if len(own):
        most = own.loc[own["estimate"].abs().idxmax()].to_dict()
        sentences.append(
            f"{escape_markdown(most['model'])} was used to select the items. Its accuracy "
            f"difference minus that of the others is {points(most['estimate'])} points "
            f"({point_range(most['ci_low'], most['ci_high'])}; "
            f"{escape_markdown(_label(benchmark, most))})."
        )
    sets = others[["benchmark_version", "model", "strategy"]].drop_duplicates()
    if len(sets):
        found = f"{counted(len(signs), 'sign')} of" if len(signs) else "no sign of"
        sentences.append(
            f"The answers of the {counted(len(sets), 'other answer set')} show {found} an "
            "undeclared selection."
        )
    show_markdown(f"### Were items selected by a model?\n\n{' '.join(sentences)}\n\n{_SELECTION}")
    shown = pd.concat([rows[rows["quantity"] == DIFFERENCE], signs])
    cells = [
        {
            "model": escape_html(_set(benchmark, row)),
            "of": escape_html(_label(benchmark, row)),
            "figure": _share(row) if row["quantity"] == DIFFERENCE else p_value(row["p_value"]),
            "note": escape_html(row["note"]),
        }
        for row in shown.to_dict("records")
    ]
    _show(
        release,
        cells,
        name=f"selection-{benchmark.name}",
        caption="Accuracy difference minus that of the other models in points, with 95% intervals",
        labels={"figure": "Difference", "note": "Changed answers"},
        group="model",
        heading="Pair",
    )


def _show_variant_sets(release: Release, benchmark: Benchmark, rows: pd.DataFrame) -> None:
    ratios = rows[rows["quantity"] == "odds ratio"].groupby("group_a")["estimate"]
    sentences = [_NO_VERDICT] if benchmark.same_variants_odds_ratio is None else []
    cells = []
    for declared, of in rows[rows["measure"] == "pairs"].groupby("group_a", sort=False):
        found, n = of.set_index("quantity")["estimate"], of["n"].iloc[0]
        cell = {"of": escape_html(str(declared)), "pairs": f"{n:,}"}
        known = ratios.get_group(declared).dropna()
        if len(known):
            cell["ratio"] = f"{decimal(known.min(), 2)} to {decimal(known.max(), 2)}"
        if SAME in found:
            cell |= {name: percent(found[name]) for name in (SAME, DIFFERENT, CANNOT_TELL)}
            sentences.append(
                f"Of {counted(n, 'pair')} of answer sets that are declared to be to {declared} of "
                f"the variants, {percent(found[SAME])} are judged to be to the same ones, and "
                f"{percent(found[DIFFERENT])} to different ones."
            )
        cells.append(cell)
    show_markdown(
        f"### Are the answers to the same variants?\n\n{' '.join(sentences)}\n\n{_VARIANT_SETS}"
    )
    there = {name for cell in cells for name in cell}
    _show(
        release,
        cells,
        name=f"sets-{benchmark.name}",
        caption="Changed answers that two answer sets share, by what is declared",
        labels={name: label for name, label in _OF_RELATIONS.items() if name in there},
        heading="Declared",
    )


#: The sections in order, by the aspects that they show.
_SECTIONS: Mapping[tuple[str, ...], Callable[[Release, Benchmark, pd.DataFrame], None]] = {
    ("leakage",): _show_leakage,
    ("added text",): _show_added_text,
    ("content",): _show_content,
    ("duplicates", "keys"): _show_duplicates,
    ("selection",): _show_selection,
    ("variant sets",): _show_variant_sets,
}


def _leakage_sentence(rows: pd.DataFrame, benchmark: Benchmark) -> str:
    """Describe the pair of groups that differ most in words shared with the options."""
    pairs = rows[(rows["quantity"] == "advantage difference") & rows["estimate"].notna()]
    if pairs.empty:
        return "The added text has no words to compare with the options."
    most = pairs.loc[pairs["estimate"].abs().idxmax()].to_dict()
    parts = []
    for group in (most["group_a"], most["group_b"]):
        own = rows[(rows["attribute"] == most["attribute"]) & (rows["group_a"] == group)]
        found = own[own["group_b"] == ""].set_index("quantity")["estimate"]
        figures = [
            f"{percent(found[which])} of {name} words"
            + f" (by chance {percent(found[f'{which} by chance'])})"
            for which, name in (("key", "the key's"), ("distractors", "a distractor's"))
        ]
        label = escape_markdown(_label(benchmark, most | {"group_a": group, "group_b": ""}))
        parts.append(f"for *{label}* {' and '.join(figures)}")
    return (
        f"The added text has words of the answer options: {parts[0]}; {parts[1]}. The key's "
        f"advantage differs by {points(most['estimate'])} points between the two groups "
        f"({point_range(most['ci_low'], most['ci_high'])})"
        + (", the largest difference of all pairs." if len(pairs) > 1 else ".")
    )


def _content_sentence(asks: pd.DataFrame, benchmark: Benchmark) -> str:
    """State how many variants ask the item's question, if some do not."""
    pairs = asks[(asks["group_b"] != "") & asks["estimate"].notna()]
    shares = asks[asks["group_b"] == ""].set_index(["attribute", "group_a"])["estimate"]
    if pairs.empty or shares.ge(1).all():
        return ""
    most = pairs.loc[pairs["estimate"].abs().idxmax()].to_dict()
    groups = [
        f"{percent(shares[most['attribute'], group])} of the variants for "
        f"*{escape_markdown(_label(benchmark, most | {'group_a': group, 'group_b': ''}))}*"
        for group in (most["group_a"], most["group_b"])
    ]
    return (
        f"**Not every variant asks a question.** If the neutralized vignette asks one, "
        f"{groups[0]} and {groups[1]} do, a difference of {points(most['estimate'])} points "
        f"({point_range(most['ci_low'], most['ci_high'])}). A model that gets such a variant with "
        "only its options is not given the question."
    )


def _cells(rows: pd.DataFrame, benchmark: Benchmark, form: Cell) -> list[dict[str, str]]:
    """Return a row of cells for each group and then each pair; ``column`` names the cells."""
    cells = []
    keys = [rows["group_b"] != "", "attribute", "group_a", "group_b"]
    for _, of in sorted(rows.groupby(keys, sort=False), key=lambda part: bool(part[0][0])):
        records = of.to_dict("records")
        cell = {"of": escape_html(_label(benchmark, records[0]))}
        cells.append(cell | {row["column"]: form(row) for row in records})
    return cells


def _show(
    release: Release,
    cells: Sequence[Mapping[str, str]],
    *,
    name: str,
    caption: str,
    labels: Mapping[str, str],
    group: str | None = None,
    heading: str = "Group",
) -> None:
    """Show finished cells as a table, with links to the files of all findings."""
    if not cells:
        return
    html = ["of", *([group] if group else []), *labels]
    table = written_table(
        cells, labels, name=slug(name), stub="of", heading=heading, group=group, html=html
    )
    show_table(table, caption=caption, download=files_of(release, FINDINGS))


def _show_flags(release: Release) -> None:
    """Show the flags that a person should check; only in a separate report, as they quote text."""
    path = release.path / DOWNLOADS / f"{FLAGS}.parquet"
    flags = pd.read_parquet(path) if path.exists() else pd.DataFrame()
    if flags.empty:
        return
    show_markdown(
        f"## What a person should check\n\nRules raised {len(flags):,} flags. Up to {_FLAGS_SHOWN} "
        "of each kind are shown; the table of flags has all."
    )
    for (aspect, flag), own in flags.groupby(["aspect", "flag"], sort=False):
        cells = [
            {
                "of": escape_html(row["item_id"]),
                "group": escape_html(row["group"]),
                "detail": escape_html(
                    row["detail"]
                    if len(row["detail"]) <= _LONGEST
                    else f"{row['detail'][:_LONGEST]} …"
                ),
            }
            for row in own.head(_FLAGS_SHOWN).to_dict("records")
        ]
        with closed(f"{flag} ({len(own):,})"):
            _show(
                release,
                cells,
                name=f"flags-{aspect}-{flag}",
                caption=f"{aspect}: {flag}",
                labels={"group": "Group", "detail": "Detail"},
                heading="Item",
            )


def _share(row: Row) -> str:
    """Format a share in percent, or a tested difference in points, with limits and p below."""
    if math.isnan(row["estimate"]):
        return "not known"
    if math.isnan(row["p_value"]):
        limits = percent_range(row["ci_low"], row["ci_high"])
        return _with_limits(f"{100 * row['estimate']:.1f}", limits)
    limits = point_range(row["ci_low"], row["ci_high"])
    return _with_limits(points(row["estimate"]), limits, p_value(row["p_value"]))


def _number(row: Row) -> str:
    """Format a mean number with its limits below, and its p-value if it is a difference."""
    if math.isnan(row["estimate"]):
        return "not known"
    mean = row["quantity"] == "mean"
    form = partial(decimal, places=1) if mean else _signed
    limits = f"{form(row['ci_low'])} to {form(row['ci_high'])}"
    known = not math.isnan(row["ci_low"])
    p = "" if mean else p_value(row["p_value"])
    return _with_limits(form(row["estimate"]), limits if known else "", p)


def _with_limits(figure: str, *below: str) -> str:
    small = ", ".join(part for part in below if part)
    return f"{figure}<br><small>{small}</small>" if small else figure


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + decimal(value, 1)


def _label(benchmark: Benchmark, row: Row) -> str:
    """Return the label of a row's group or pair of groups; empty if it has none."""
    attribute = benchmark.attributes.get(str(row["attribute"]))
    groups = [str(row[name]) for name in ("group_a", "group_b") if row[name]]
    return " − ".join(attribute.groups.get(g, g) if attribute else g for g in groups)


def _version(benchmark: Benchmark, row: Row) -> str:
    version = str(row["benchmark_version"])
    return benchmark.versions.get(version, version) or "All"


def _set(benchmark: Benchmark, row: Row) -> str:
    return f"{row['model']}, {prompt_label(row['strategy'])} ({_version(benchmark, row)})"
