"""Show answer leakage: which options the added text hints at, and whether answers follow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import pandas as pd

from fairstats._lib.safe_names import slug
from fairstats.benchmarks.declaration import Benchmark
from fairstats.release.contents import Release
from fairstats.report.findings import set_label
from fairstats.report.page_output import closed, show_markdown, show_plot
from fairstats.report.plot_style import PLOT_WIDTH
from fairstats.report.vignettes_plots import findings_plot
from fairstats.report.vignettes_prose import followed_sentence, leakage_sentence
from fairstats.report.vignettes_tables import (
    LEAKAGE_LABELS,
    PAIR_AND_UNIT,
    as_number,
    as_percent,
    as_points,
    escaped,
    group_label,
    pair_label,
    pick,
    show_findings,
)

_OVERLAP = "leakage_overlap"
_SHARES_OF_WORDS = ("leakage_overlap", "leakage_distinct")
_ROLES = {"key": "Key", "distractors": "A distractor (mean)"}
_OF_GROUPS = {
    "key": "Words of the key",
    "distractors": "Words of a distractor",
    "names the key": "Names the key",
    "names a distractor": "Names a distractor",
    "points to the key": "Points to the key most",
}
_OF_PAIRS = {
    "key difference": "Key",
    "distractors difference": "A distractor",
    "advantage difference": "Advantage",
    "advantage difference beyond chance": "Advantage beyond chance",
    "n": "Items",
}
_OF_FOLLOWED = {
    "model": "Model",
    "pair": "Group",
    "followed": "Follow the text, %",
    "others": "Same choice with other texts, %",
    "above": "Difference, points",
}
_OTHERS = {
    "others": "the same choice of wrong answers to other texts",
    "above": "wrong answers that follow the text, above other texts",
}
# A longer table is hidden behind a line that opens it.
_MOST_OPEN = 24
_HOW_TO_READ = (
    "**What is measured.** For each variant, the words added to the neutralized vignette. An "
    "option's *shared words* are the share of its content words that are in the added text but "
    "not in the neutral one. Words are stemmed, and stop words left out. *Words of no other "
    "option* counts only words that occur in a single option. The other two measures are the "
    "similarity of the added passages to the option, minus that of the neutral vignette. The "
    "*advantage* is the key's value minus the mean over the distractors.\n\n"
    "**Chance** is the same figure for the texts added to all other items for that group.\n\n"
    "**What it cannot show.** Shared words do not prove that a reader follows the hint. A negated "
    "word counts, and a paraphrase without a shared word does not. There are several distractors "
    "that can be named, and one key. *A distractor* is the mean of the distractors."
)
_FOLLOWED = (
    "The table counts wrong answers to variants with a text that points to one distractor more "
    "than to the others. It shows how many choose that distractor. For comparison, it shows how "
    "many wrong answers to the same items' other texts choose it, and the difference for items "
    "with both."
)


def show_leakage(release: Release, benchmark: Benchmark, findings: pd.DataFrame) -> None:
    """Show which options the added text points to, by group and pair."""
    own = pick(findings, aspect="leakage")
    of_text = own[(own["model"] == "") & (own["benchmark_version"] == "")]
    if of_text.empty:
        return
    place = slug(benchmark.name)
    show_markdown(
        f"### Does the added text give the answer away?\n\n::: "
        f"lede\n{leakage_sentence(of_text, benchmark)}\n:::"
    )
    with closed("How to read leakage"):
        show_markdown(_HOW_TO_READ)
    shown = of_text[(of_text["measure"] == _OVERLAP) & of_text["quantity"].isin(_ROLES)]
    if len(shown):
        show_plot(
            findings_plot,
            _plotted(shown, benchmark),
            release,
            name=f"leakage-{place}",
            alt="Words of the key and of a distractor in the added text, by group",
            width=PLOT_WIDTH,
            height=0.9 + 0.34 * shown["group_a"].nunique(),
        )
    show_findings(
        release,
        _group_cells(of_text, benchmark),
        name=f"leakage-groups-{place}",
        caption=f"{benchmark.title}: hints in the added text by group, % of the option's words or "
        "of items, with 95% intervals and the figure expected by chance",
        labels=_OF_GROUPS,
        stub="group",
        heading="Group",
    )
    cells = _pair_cells(of_text, benchmark)
    with closed(f"{len(cells)} differences") if len(cells) > _MOST_OPEN else nullcontext():
        show_findings(
            release,
            cells,
            name=f"leakage-pairs-{place}",
            caption=f"{benchmark.title}: advantage of the key, first group minus second, same "
            "items",
            labels=_OF_PAIRS,
            stub="pair",
            heading="Pair",
            group="measure",
        )


def _plotted(rows: pd.DataFrame, benchmark: Benchmark) -> pd.DataFrame:
    scaled = {c: 100 * rows[c] for c in ("estimate", "ci_low", "ci_high")}
    labels = [
        group_label(benchmark, str(a), str(g))
        for a, g in zip(rows["attribute"], rows["group_a"], strict=True)
    ]
    return rows.assign(
        label=labels,
        series=rows["quantity"].map(_ROLES),
        panel="",
        axis="words of the option in the added text, %",
        **scaled,
    )


def _group_cells(rows: pd.DataFrame, benchmark: Benchmark) -> list[dict[str, str]]:
    cells = []
    own = rows[(rows["measure"] == _OVERLAP) & (rows["group_b"] == "")]
    for (attribute, group), of_group in own.groupby(["attribute", "group_a"], sort=False):
        if attribute not in {a.name for a in benchmark.varied}:
            continue
        found = {str(row["quantity"]): row for row in of_group.to_dict("records")}
        cell = {"group": escaped(group_label(benchmark, str(attribute), str(group)))}
        for quantity in _OF_GROUPS:
            if quantity not in found:
                continue
            cell[quantity] = as_percent(found[quantity])
            chance = found.get(f"{quantity} by chance")
            if quantity == "points to the key":
                cell[quantity] += f"<br><small>of {found[quantity]['n']:,} with a hint</small>"
            if chance is not None and not math.isnan(chance["estimate"]):
                cell[quantity] += f"<br><small>chance {100 * chance['estimate']:.1f}</small>"
        cells.append(cell)
    return cells


def _pair_cells(rows: pd.DataFrame, benchmark: Benchmark) -> list[dict[str, str]]:
    cells = []
    for measure, title in LEAKAGE_LABELS.items():
        own = rows[(rows["measure"] == measure) & (rows["group_b"] != "")]
        figure = as_points if measure in _SHARES_OF_WORDS else as_number(3)
        for _, of_pair in own.groupby(["attribute", "group_a", "group_b"], sort=False):
            found = {str(row["quantity"]): row for row in of_pair.to_dict("records")}
            first = found["advantage difference"]
            cell = {"measure": title, "pair": escaped(pair_label(benchmark, first))}
            cell |= {q: figure(found[q]) for q in _OF_PAIRS if q in found}
            cells.append(cell | {"n": f"{int(first['n']):,}"})
    return cells


def show_followed(release: Release, benchmark: Benchmark, findings: pd.DataFrame) -> None:
    """Show whether wrong answers go to the option that the text points to."""
    own = pick(findings, aspect="leakage")
    rows = pick(own, quantity="wrong answers that follow the text")
    rows = rows[(rows["measure"] == _OVERLAP) & rows["estimate"].notna()]
    if rows.empty:
        return
    place = slug(benchmark.name)
    show_markdown(f"### Do wrong answers follow the text?\n\n{followed_sentence(own, benchmark)}")
    with closed("Wrong answers by model and pair"):
        show_markdown(_FOLLOWED)
        cells = [
            {
                "set": escaped(set_label(benchmark, row["benchmark_version"], row["strategy"])),
                "model": escaped(row["model"]),
                "pair": escaped(_groups(benchmark, row)),
                "followed": f"{as_percent(row)}<br><small>{escaped(row['note'])}</small>",
                **_compared(own, row),
            }
            for row in rows.to_dict("records")
        ]
        show_findings(
            release,
            cells,
            name=f"followed-{place}",
            caption=f"{benchmark.title}: wrong answers that choose the option the text points to",
            labels=_OF_FOLLOWED,
            stub="set",
            heading="Vignettes, prompt",
        )


def _compared(own: pd.DataFrame, row: Mapping[str, Any]) -> dict[str, str]:
    """Return the figures to compare with the share of an answer set and group."""
    keys = ["measure", *PAIR_AND_UNIT]
    same = own[(own[keys] == [row[key] for key in keys]).all(axis=1)]
    cells = {}
    for column, quantity in _OTHERS.items():
        found = same[same["quantity"] == quantity].to_dict("records")
        if found:
            cells[column] = (as_percent if column == "others" else as_points)(found[0])
    return cells


def _groups(benchmark: Benchmark, row: dict[str, object]) -> str:
    if not row["attribute"]:
        return "All"
    if row["group_b"]:
        return pair_label(benchmark, row)
    return group_label(benchmark, str(row["attribute"]), str(row["group_a"]))
