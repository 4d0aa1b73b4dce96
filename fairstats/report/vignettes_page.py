"""Show how good the variants of each benchmark are: leakage, wording, content, items."""

from __future__ import annotations

import pandas as pd

from fairstats._lib.formatting import escape_markdown, number_word
from fairstats._lib.safe_names import slug
from fairstats.benchmarks.declaration import Benchmark
from fairstats.release.contents import Release
from fairstats.report.findings import prompt_label
from fairstats.report.page_output import closed, show_markdown
from fairstats.report.vignettes_document import flags_of
from fairstats.report.vignettes_items import show_items
from fairstats.report.vignettes_leakage import show_followed, show_leakage
from fairstats.report.vignettes_prose import (
    content_sentence,
    items_sentence,
    variant_sets_sentence,
)
from fairstats.report.vignettes_remaining import show_remaining
from fairstats.report.vignettes_tables import (
    LEAKAGE_LABELS,
    Figure,
    as_number,
    as_percent,
    as_points,
    escaped,
    group_label,
    pair_label,
    pick,
    show_findings,
)

_ANSWERS_ONLY = (
    "The text of the vignettes was not audited for this release. The results below are based on "
    "models' answers alone."
)
#: The titles of the other sections, and how to read them.
_SECTIONS = {
    "wording": (
        "How the variants are worded",
        "Length, reading ease (Flesch; higher is easier), sentiment of the added text (VADER, −1 "
        "to 1) and hedging. For a group: the mean difference from the neutralized vignette. For a "
        "pair: the first group minus the second.",
    ),
    "content": (
        "Is the clinical content kept?",
        "Rules compare each variant with the neutralized vignette: numbers with units, drugs, "
        "findings and negations, the exact final question, and whether the group is named. Rules "
        "miss paraphrases and raise false alarms, so a person should check the flags.",
    ),
    "duplicates": ("Near-duplicates", ""),
    "items": (
        "Items, keys and selection",
        "Difficulty and discrimination are computed from the available answers. An item that no "
        "model gets right in any variant may have a wrong key, or be hard.",
    ),
    "variant sets": (
        "Are the answers to the same variants?",
        "Two models that read the same text tend to change their answers on the same variants. "
        "Changes on one pair of groups are compared with changes on other pairs of the same items. "
        "Those have the same difficulty, but not the same text.",
    ),
    "benchmarking capacity": (
        "Disparity with other kinds of variants",
        "Accuracy disparity of the same models with different kinds of variants.",
    ),
}
#: The finding that opens a section, if there is one.
_FIRST = {
    "content": content_sentence,
    "items": items_sentence,
    "variant sets": variant_sets_sentence,
}
_SHARES = ("share", "kept", "named", "%")
#: The number of flags shown per kind; the table has all of them.
_FLAGS_SHOWN = 12
_LONGEST = 300


def show_vignettes(release: Release) -> None:
    """Show every benchmark with audited vignettes, and what answers alone show about items."""
    findings = release.table("vignette_findings")
    measured = list(dict.fromkeys(release.measures["benchmark"]))
    if not measured:
        show_markdown(_ANSWERS_ONLY)
    names = [*measured, *sorted(set(findings["benchmark"]) - set(measured))]
    for name in names:
        own = findings[findings["benchmark"] == name]
        if own.empty:
            continue
        benchmark = release.benchmarks[name]
        show_markdown(f"## {escape_markdown(benchmark.title)}")
        show_leakage(release, benchmark, own)
        show_followed(release, benchmark, own)
        show_remaining(release, benchmark, own)
        for aspect in _SECTIONS:
            _show_section(release, benchmark, aspect, pick(own, aspect=aspect))
        show_items(release, benchmark)
    _show_flags(release)


def _show_section(release: Release, benchmark: Benchmark, aspect: str, rows: pd.DataFrame) -> None:
    if rows.empty:
        return
    title, explained = _SECTIONS[aspect]
    find = _FIRST.get(aspect)
    first = find(rows, benchmark) if find else ""
    show_markdown("\n\n".join(part for part in (f"### {title}", first, explained) if part))
    cells = []
    for row in rows.to_dict("records"):
        figure = _figure(row)
        cells.append(
            {
                "what": escaped(_what(row)),
                "of": escaped(_subject(benchmark, row)),
                "figure": figure(row),
                "n": f"{row['n']:,}" if row["n"] else "",
                "note": escaped(row["note"]),
            }
        )
    with closed(f"{number_word(len(cells)).capitalize()} figures"):
        show_findings(
            release,
            cells,
            name=slug(f"{aspect}-{benchmark.name}"),
            caption=f"{benchmark.title}: {title.lower().rstrip('?')}",
            labels={"figure": "Estimate", "n": "n", "note": "Note"},
            stub="of",
            heading="For",
            group="what",
        )


def _what(row: dict[str, object]) -> str:
    measure = str(row["measure"])
    named = LEAKAGE_LABELS.get(measure, measure.replace("_", " "))
    return f"{named}: {row['quantity']}" if row["quantity"] else named


def _figure(row: dict[str, object]) -> Figure:
    words = f"{row['measure']} {row['quantity']}"
    share = any(word in words for word in _SHARES)
    if not share:
        return as_number(3)
    return as_points if row["group_b"] else as_percent


def _subject(benchmark: Benchmark, row: dict[str, object]) -> str:
    version, strategy = str(row["benchmark_version"] or ""), str(row["strategy"] or "")
    named = [benchmark.versions.get(version, version), str(row["model"] or "")]
    parts = [*filter(None, named), *([prompt_label(strategy)] if strategy else [])]
    if row["group_b"]:
        parts.append(pair_label(benchmark, row))
    elif row["group_a"]:
        parts.append(group_label(benchmark, str(row["attribute"]), str(row["group_a"])))
    elif row["attribute"]:
        parts.append(benchmark.attribute(str(row["attribute"])).label)
    return ", ".join(parts) or "All"


def _show_flags(release: Release) -> None:
    """Show the flags that a person should check; only in a separate report, as they quote text."""
    flags = flags_of(release)
    if flags.empty:
        return
    show_markdown(
        f"## What a person should check\n\nRules raised {len(flags):,} flags. Up to {_FLAGS_SHOWN} "
        "of each kind are shown; the table of flags has all."
    )
    for (aspect, flag), own in flags.groupby(["aspect", "flag"], sort=False):
        cells = [
            {
                "item": escaped(row["item_id"]),
                "group": escaped(row["group"]),
                "detail": escaped(_shortened(row["detail"])),
            }
            for row in own.head(_FLAGS_SHOWN).to_dict("records")
        ]
        with closed(f"{flag} ({len(own):,})"):
            show_findings(
                release,
                cells,
                name=slug(f"flags-{aspect}-{flag}"),
                caption=f"{aspect}: {flag}",
                labels={"group": "Group", "detail": "Detail"},
                stub="item",
                heading="Item",
            )


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
