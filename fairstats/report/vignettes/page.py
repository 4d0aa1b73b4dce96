"""Show how good the variants of each benchmark are: one section per question of the audit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from fairstats._lib.formatting import (
    counted,
    decimal,
    escape_html,
    escape_markdown,
    p_figure,
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
from fairstats.report.tables import files_of, written_table
from fairstats.report.vignettes.items import show_items
from fairstats.vignettes.leakage import DISTINCT, OVERLAP
from fairstats.vignettes.selection import DIFFERENCE, ONE_SIDED

#: The release's table of findings.
FINDINGS = "vignette_findings"
#: The table of texts that a person should check; a release does not contain it.
FLAGS = "vignette_flags"

Row = Mapping[str, Any]
Cells = list[dict[str, str]]

_ANSWERS_ONLY = (
    "The text of the vignettes was not audited for this release. The results below are based on "
    "models' answers alone."
)
_NO_VERDICT = (
    "**No verdict.** How many changed answers two models share depends on how the variants "
    "were written. A verdict needs an odds ratio above which two answer sets count as answers "
    "to the same variants. The benchmark does not declare one (`same_variants_odds_ratio`)."
)
_OF_DUPLICATES = {
    "nearest_item": "Items with a near-duplicate",
    "like_neutral": "Variants that hardly differ from the neutralized vignette",
    "like_other_group": "Variants that hardly differ from another group's",
    "key": "Items on which most answers are one wrong option",
}
#: The number of flags shown per kind; the table has all of them.
_FLAGS_SHOWN = 12
_LONGEST = 300


@dataclass(frozen=True)
class _Section:
    """A question of the audit: its aspects in the findings, how to read it, its table.

    `make` returns the finding in a sentence, and the cells by column; those of ``of`` name a row.
    """

    title: str
    aspects: tuple[str, ...]
    explained: str
    caption: str
    labels: Mapping[str, str]
    make: Callable[[pd.DataFrame, Benchmark], tuple[str, Cells]]
    heading: str = "Group"
    group: str | None = None


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
        for section in _SECTIONS:
            rows = own[own["aspect"].isin(section.aspects)]
            if rows.empty:
                continue
            sentence, cells = section.make(rows, benchmark)
            parts = (f"### {section.title}", sentence, section.explained)
            show_markdown("\n\n".join(part for part in parts if part))
            _show_cells(release, cells, section, name=f"{section.aspects[0]}-{name}")
        show_items(release, benchmark)
    _show_flags(release)


def _show_cells(release: Release, cells: Cells, section: _Section, *, name: str) -> None:
    """Show finished cells as a table, with links to the files of all findings."""
    if not cells:
        return
    labels = {key: label for key, label in section.labels.items() if any(key in c for c in cells)}
    table = written_table(
        cells,
        labels,
        name=slug(name),
        stub="of",
        heading=section.heading,
        group=section.group,
        html=["of", *labels, *([section.group] if section.group else [])],
    )
    show_table(table, caption=section.caption, download=files_of(release, FINDINGS))


def _leakage(rows: pd.DataFrame, benchmark: Benchmark) -> tuple[str, Cells]:
    rows = rows.assign(column=rows["quantity"].str.removesuffix(" difference"))
    cells = [
        cell | {"measure": title}
        for measure, title in (
            (OVERLAP, "Shared words"),
            (DISTINCT, "Words of no other option"),
        )
        for cell in _cells(rows[rows["measure"] == measure], benchmark, _share)
    ]
    own = rows[rows["measure"] == OVERLAP]
    pairs = own[(own["quantity"] == "advantage difference") & own["estimate"].notna()]
    if pairs.empty:
        return "The added text has no words to compare with the options.", cells
    most = _largest(pairs)
    parts = []
    for group in (most["group_a"], most["group_b"]):
        of = own[(own["attribute"] == most["attribute"]) & (own["group_a"] == group)]
        found = of[of["group_b"] == ""].set_index("quantity")["estimate"]
        key, distractors = (
            f"{percent(found[which])} (by chance {percent(found[f'{which} by chance'])})"
            for which in ("key", "distractors")
        )
        label = escape_markdown(_label(benchmark, most | {"group_a": group, "group_b": ""}))
        parts.append(f"for *{label}* {key} of the key's words and {distractors} of a distractor's")
    return (
        f"::: lede\nThe added text has words of the answer options: {parts[0]}; {parts[1]}. The "
        f"key's advantage differs by {points(most['estimate'])} points between the two groups "
        f"({point_range(most['ci_low'], most['ci_high'])})"
        + (", the largest difference of all pairs" if len(pairs) > 1 else "")
        + ".\n:::",
        cells,
    )


def _added_text(rows: pd.DataFrame, benchmark: Benchmark) -> tuple[str, Cells]:
    cells = _cells(rows.assign(column=rows["measure"]), benchmark, _number)
    words = rows[(rows["measure"] == "words") & rows["estimate"].notna()]
    groups, pairs = words[words["group_b"] == ""], words[words["group_b"] != ""]
    if pairs.empty:
        return "", cells
    least, most, row = groups["estimate"].min(), groups["estimate"].max(), _largest(pairs)
    return (
        f"On average, a variant has {_signed(least)} to {_signed(most)} words compared with the "
        "neutralized vignette, depending on the group. The largest difference between two groups "
        f"is {_signed(row['estimate'])} words ({escape_markdown(_label(benchmark, row))}; "
        f"{_signed(row['ci_low'])} to {_signed(row['ci_high'])}).",
        cells,
    )


def _content(rows: pd.DataFrame, benchmark: Benchmark) -> tuple[str, Cells]:
    cells = _cells(rows.assign(column=rows["measure"]), benchmark, _share)
    asks = rows[rows["measure"] == "question_asked"]
    pairs = asks[(asks["group_b"] != "") & asks["estimate"].notna()]
    shares = asks[asks["group_b"] == ""].set_index(["attribute", "group_a"])["estimate"]
    if pairs.empty or shares.ge(1).all():
        return "", cells
    most = _largest(pairs)
    groups = [
        f"{percent(shares[most['attribute'], group])} of the variants for "
        f"*{escape_markdown(_label(benchmark, most | {'group_a': group, 'group_b': ''}))}*"
        for group in (most["group_a"], most["group_b"])
    ]
    return (
        f"**Not every variant asks a question.** If the neutralized vignette asks one, "
        f"{groups[0]} and {groups[1]} do, a difference of {points(most['estimate'])} points "
        f"({point_range(most['ci_low'], most['ci_high'])}). A model that gets such a variant with "
        "only its options is not given the question.",
        cells,
    )


def _duplicates(rows: pd.DataFrame, benchmark: Benchmark) -> tuple[str, Cells]:
    said = {
        "nearest_item": "{} have a near-duplicate.",
        "key": "On {}, most answers are one wrong option.",
    }
    # The first row of keys is that of all versions.
    lead = rows[rows["measure"].isin([*said]) & (rows["n"] > 0)].drop_duplicates("measure")
    sentences = [
        said[row["measure"]].format(
            f"{round(row['estimate'] * row['n']):,} of {counted(row['n'], 'item')} "
            f"({percent(row['estimate'])})"
        )
        for row in lead.to_dict("records")
    ]
    alike = rows["measure"].isin(["like_neutral", "like_other_group"])
    if alike.any() and not rows.loc[alike, "estimate"].any():
        sentences.append("Every variant differs from the neutralized vignette and from the others.")
        rows = rows[~alike]
    cells = [
        {
            "what": _OF_DUPLICATES[row["measure"]],
            "of": escape_html(_label(benchmark, row) or _version(benchmark, row)),
            "share": _share(row),
            "n": f"{row['n']:,}",
        }
        for row in rows.to_dict("records")
    ]
    return " ".join(sentences), cells


def _selection(rows: pd.DataFrame, benchmark: Benchmark) -> tuple[str, Cells]:
    own = rows[rows["quantity"] == DIFFERENCE]
    others = rows[rows["quantity"] == ONE_SIDED]
    sentences = []
    if own["estimate"].notna().any():
        most = _largest(own)
        sentences.append(
            f"{escape_markdown(most['model'])} was used to select the items. Its accuracy "
            f"difference minus that of the others is {points(most['estimate'])} points "
            f"({point_range(most['ci_low'], most['ci_high'])}; "
            f"{escape_markdown(_label(benchmark, most))})."
        )
    sets = len(others[["benchmark_version", "model", "strategy"]].drop_duplicates())
    if sets:
        sentences.append(
            f"Among {counted(sets, 'other answer set')}, the smallest adjusted p-value for an "
            f"undeclared selection is {p_figure(others['p_value'].min())}."
        )
    cells = [
        {
            "set": escape_html(
                f"{row['model']}, {prompt_label(row['strategy'])} ({_version(benchmark, row)})"
            ),
            "of": escape_html(_label(benchmark, row)),
            "note": escape_html(row["note"].partition(";")[0]),
            **(
                {"difference": _share(row)}
                if row["quantity"] == DIFFERENCE
                else {"p": p_value(row["p_value"])}
            ),
        }
        # Of the others, those that are less one-sided than another model show no sign.
        for row in pd.concat([own, others[others["p_value"] < 1]]).to_dict("records")
    ]
    return " ".join(sentences), cells


def _variant_sets(rows: pd.DataFrame, benchmark: Benchmark) -> tuple[str, Cells]:
    ratios = rows[rows["quantity"] == "odds ratio"].groupby("group_a")["estimate"]
    sentences = [_NO_VERDICT] if benchmark.same_variants_odds_ratio is None else []
    cells = []
    for declared, of in rows[rows["measure"] == "pairs"].groupby("group_a", sort=False):
        found, n = of.set_index("quantity")["estimate"], int(of["n"].iloc[0])
        cell = {"of": escape_html(str(declared)), "pairs": f"{n:,}"}
        known = ratios.get_group(declared).dropna()
        if len(known):
            cell["ratio"] = f"{decimal(known.min(), 2)} to {decimal(known.max(), 2)}"
        if SAME in found:
            cell |= {name: percent(found[name]) for name in (SAME, DIFFERENT, CANNOT_TELL)}
            sentences.append(
                f"Of {counted(n, 'pair')} of answer sets declared as answers to {declared}, "
                f"{percent(found[SAME])} are judged to be to the same variants, and "
                f"{percent(found[DIFFERENT])} to different ones."
            )
        cells.append(cell)
    return " ".join(sentences), cells


_SECTIONS = (
    _Section(
        "Does the added text give the answer away?",
        ("leakage",),
        "An option's *shared words* are the share of its content words that the variant has and "
        "the neutralized vignette has not. *Words of no other option* leaves out words that "
        "several options of the item have. *A distractor* is the mean of the distractors, and the "
        "*advantage* is the key's value minus that mean. *Chance* is the same figure for the words "
        "added to all other items for that group. Shared words do not prove that a reader follows "
        "the hint: a negated word counts, and a paraphrase without a shared word does not.",
        "Words of the options in the added text, % with 95% intervals. Differences from chance, "
        "and those of pairs, first group minus second, in points",
        {
            "key": "Of the key",
            "key beyond chance": "Above chance",
            "distractors": "Of a distractor",
            "distractors beyond chance": "Above chance",
            "advantage": "Advantage",
        },
        _leakage,
        group="measure",
    ),
    _Section(
        "How much text is added?",
        ("added text",),
        "A longer text repeats more words of any option. *New content words* are the distinct "
        "words, without inflections and stop words, that the neutralized vignette does not have.",
        "Mean number of words per variant with 95% intervals; for a pair, the first group minus "
        "the second",
        {"words": "Words more than the neutral text", "new_words": "New content words"},
        _added_text,
    ),
    _Section(
        "Is the clinical content unchanged?",
        ("content",),
        "Rules compare each variant with the neutralized vignette: numbers with their units, "
        "drugs, findings, and whether a question is asked. Rules miss paraphrases and raise false "
        "alarms, so a person should check the flags.",
        "Variants that keep the content, % with 95% intervals; for a pair, the first group minus "
        "the second in points",
        {
            "numbers_kept": "All numbers kept",
            "no_new_quantity": "No new quantity",
            "drugs_kept": "All drugs kept",
            "findings_kept": "Findings kept (mean)",
            "question_asked": "A question asked",
        },
        _content,
    ),
    _Section(
        "Are items duplicated, or keys wrong?",
        ("duplicates", "keys"),
        "Two texts are compared by the runs of five words that they share. If most answers to an "
        "item's original and neutralized text are one wrong option, its key may be wrong, or the "
        "item is hard.",
        "Near-duplicates and shared wrong options, % with 95% intervals",
        {"share": "Share, %", "n": "Items or variants"},
        _duplicates,
        group="what",
    ),
    _Section(
        "Were items selected by a model?",
        ("selection",),
        "If variants are kept because they mislead a model, it changes its answers almost only in "
        "one direction, and its accuracy difference does not show its bias. An undeclared "
        "selection shows in the same way: an answer set has fewer changes in one direction than "
        "the most one-sided other model explains (Fisher's exact test, adjusted by Holm).",
        "Accuracy difference minus that of the other models in points, with 95% intervals, and the "
        "test for an undeclared selection",
        {"difference": "Difference", "p": "Undeclared selection", "note": "Changed answers"},
        _selection,
        heading="Pair",
        group="set",
    ),
    _Section(
        "Are the answers to the same variants?",
        ("variant sets",),
        "Two models that read the same text tend to change their answers on the same variants. "
        "Changes on one pair of groups are compared with changes on other pairs of the same items. "
        "Those have the same difficulty, but not the same text. For unrelated variants the *odds "
        "ratio* is 1.",
        "Changed answers that two answer sets share, by what is declared",
        {
            "pairs": "Pairs of answer sets",
            "ratio": "Odds ratio, lowest to highest",
            SAME: "Judged same",
            DIFFERENT: "Judged different",
            CANNOT_TELL: "Undecided",
        },
        _variant_sets,
        heading="Declared",
    ),
)


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
        shown = own.head(_FLAGS_SHOWN).rename(columns={"item_id": "of"})
        shown["detail"] = [
            text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …" for text in shown["detail"]
        ]
        cells = shown[["of", "group", "detail"]].map(escape_html).to_dict("records")
        labels = {"group": "Group", "detail": "Detail"}
        name = f"{aspect}: {flag}"
        table = _Section(name, (), "", name, labels, _duplicates, heading="Item")
        with closed(f"{flag} ({len(own):,})"):
            _show_cells(release, cells, table, name=f"flags-{aspect}-{flag}")


def _cells(rows: pd.DataFrame, benchmark: Benchmark, form: Callable[[Row], str]) -> Cells:
    """Return a row of cells for each group and then each pair; ``column`` names the cells."""
    cells = []
    keys = [rows["group_b"] != "", "attribute", "group_a", "group_b"]
    for _, of in sorted(rows.groupby(keys, sort=False), key=lambda part: bool(part[0][0])):
        records = of.to_dict("records")
        cell = {"of": escape_html(_label(benchmark, records[0]))}
        cells.append(cell | {row["column"]: form(row) for row in records})
    return cells


def _largest(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the row with the largest absolute estimate."""
    return rows.loc[rows["estimate"].abs().idxmax()].to_dict()


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
    """Format a mean number with its limits below, and the p-value of a pair."""
    if math.isnan(row["estimate"]):
        return "not known"
    mean = row["quantity"] == "mean"
    form = partial(decimal, places=1) if mean else _signed
    limits = f"{form(row['ci_low'])} to {form(row['ci_high'])}"
    known = not math.isnan(row["ci_low"])
    p = p_value(row["p_value"]) if row["group_b"] else ""
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
