"""The page of vignettes: how good the variants of a benchmark are."""

from __future__ import annotations

import pandas as pd

from fairstats._lib.formatting import escape_markdown, number_word
from fairstats._lib.safe_names import slug
from fairstats.benchmarks.declaration import Benchmark
from fairstats.release.contents import Release
from fairstats.report.page_output import closed, show_markdown
from fairstats.report.vignettes_document import flags_of
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

_NOTHING = (
    "The variants' text was not judged for this release. How to: `fairstats vignettes audit "
    "ITEMS --out DIR`, "
    "then `fairstats publish --measures DIR`."
)
#: What the other sections are called, and what to know of them.
_SECTIONS = {
    "wording": (
        "How the variants are worded",
        "Length, reading ease (Flesch; higher is easier), sentiment of what was added (VADER, −1 "
        "to 1) and hedging. Of a group: "
        "the mean difference from the neutralized vignette; of a pair: privileged minus "
        "unprivileged.",
    ),
    "content": (
        "Is the clinical content kept?",
        "By rules, against the neutralized vignette: numbers with their units, drugs, findings "
        "and negations, the final question to "
        "the letter, and whether the group is named. Rules miss paraphrases and raise false "
        "alarms: the flags are to be read.",
    ),
    "duplicates": ("Near-duplicates", ""),
    "items": (
        "Items, keys and selection",
        "Difficulty and discrimination are those of the answers at hand. An item that no model "
        "gets right in any variant may "
        "have a doubtful key, or be hard.",
    ),
    "variant sets": (
        "Are the answers to the same variants?",
        "Two models that read the same text tend to flip on the same variants. The flips of one "
        "pair of groups are held against those "
        "of other pairs of the same items, which share how hard the item is, but not the text.",
    ),
    "benchmarking capacity": (
        "What other kinds of variants would show",
        "Accuracy disparity of the same models under different kinds of variants.",
    ),
}
#: What a section opens with, where there is something to say first.
_FIRST = {
    "content": content_sentence,
    "items": items_sentence,
    "variant sets": variant_sets_sentence,
}
_SHARES = ("share", "kept", "named", "%")
#: So many flags of a kind are shown; the table has all.
_FLAGS_SHOWN = 12
_LONGEST = 300


def show_vignettes(release: Release) -> None:
    """Every benchmark whose variants were judged, and what answers alone say of items."""
    findings = release.table("vignette_findings")
    measured = list(dict.fromkeys(release.measures["benchmark"]))
    if not measured:
        show_markdown(_NOTHING)
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
    _show_flags(release)


def _show_section(release: Release, benchmark: Benchmark, aspect: str, rows: pd.DataFrame) -> None:
    if rows.empty:
        return
    title, told = _SECTIONS[aspect]
    say = _FIRST.get(aspect)
    first = say(rows, benchmark) if say else ""
    show_markdown("\n\n".join(part for part in (f"### {title}", first, told) if part))
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
            heading="Of",
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
    parts = [str(row[c]) for c in ("benchmark_version", "model", "strategy") if row[c]]
    if row["group_b"]:
        parts.append(pair_label(benchmark, row))
    elif row["group_a"]:
        parts.append(group_label(benchmark, str(row["attribute"]), str(row["group_a"])))
    elif row["attribute"]:
        parts.append(benchmark.attribute(str(row["attribute"])).label)
    return ", ".join(parts) or "All"


def _show_flags(release: Release) -> None:
    """What a person should look at; only in a report of its own, since it quotes the text."""
    flags = flags_of(release)
    if flags.empty:
        return
    show_markdown(
        f"## What to look at\n\n{len(flags):,} flags, by rules; the table of flags has them all. "
        f"Of each kind up to {_FLAGS_SHOWN} are shown."
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
                labels={"group": "Group", "detail": "What"},
                stub="item",
                heading="Item",
            )


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
