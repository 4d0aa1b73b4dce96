"""Show how much of each model's accuracy disparity remains at equal leakage."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pandas as pd

from fairstats._lib.safe_names import slug
from fairstats.benchmarks.declaration import PLAIN, Benchmark
from fairstats.release.contents import Release
from fairstats.report.findings import prompt_label
from fairstats.report.page_output import closed, show_markdown, show_plot
from fairstats.report.plot_style import PLOT_WIDTH
from fairstats.report.vignettes_plots import findings_plot
from fairstats.report.vignettes_prose import remaining_sentence
from fairstats.report.vignettes_tables import (
    LEAKAGE_LABELS,
    PAIR_AND_UNIT,
    as_percent,
    as_points,
    escaped,
    pair_label,
    pick,
    show_findings,
)
from fairstats.vignettes.items.differences_by_question import BOTH_ASK, NOT_BOTH

_PAIR = ["attribute", "group_a", "group_b"]
# More panels than this do not fit next to each other; they show the largest differences.
_MOST_PANELS = 4
_DIFFERENCES = {
    "difference": "Unadjusted",
    "difference at equal leakage (within items)": "At equal leakage, within items",
    "adjusted difference (GEE)": "Adjusted, GEE",
    "difference where leakage is balanced": "Most balanced third of items",
}
_SHARES = {
    "share remaining (within items)": "Remains, within items",
    "share remaining (GEE)": "Remains, GEE",
}
_QUESTIONS = {
    BOTH_ASK: "Both variants ask, points",
    NOT_BOTH: "At most one asks, points",
}
_REMAINS = (
    "The added text names the group and leaks the answer at the same time. So what remains is not "
    "“the effect of the group”, only what these measures do not explain. What disappears is not "
    "“no bias”. Leakage is measured with error, and adjusting for such a measure removes too "
    "little. If one group's text was written to help and the other's to mislead, few variants leak "
    "equally (see the overlap below). The adjusted figures then depend more on the statistical "
    "model than on data. The most balanced items need no such model, but are different items. "
    "p-values are not adjusted for several tests."
)


def show_remaining(release: Release, benchmark: Benchmark, findings: pd.DataFrame) -> None:
    """Show how much of each model's accuracy disparity remains."""
    own = pick(findings, aspect="remaining disparity")
    rows = own[(own["model"] != "")]
    adjusted = rows[rows["quantity"].isin([*_DIFFERENCES][1:]) & rows["estimate"].notna()]
    if adjusted.empty:
        return
    place = slug(benchmark.name)
    show_markdown(
        "### How much of the accuracy disparity remains?\n\n"
        f"{remaining_sentence(rows, benchmark)}\n\n{_REMAINS}"
    )
    for version in adjusted["benchmark_version"].unique():
        of_version = rows[rows["benchmark_version"] == version]
        for measure, title in LEAKAGE_LABELS.items():
            _show_measure(
                release,
                benchmark,
                of_version[of_version["measure"] == measure],
                title=title,
                place=slug(f"{place}-{version}-{measure}"),
                first=measure == "leakage_overlap",
            )
    _show_questions(release, benchmark, rows, place=place)
    alike = own[(own["quantity"] == "overlap of leakage") & own["estimate"].notna()]
    if len(alike):
        with closed("How similarly the two groups' texts leak"):
            cells = [
                {
                    "pair": escaped(pair_label(benchmark, row)),
                    "measure": LEAKAGE_LABELS.get(row["measure"], escaped(row["measure"])),
                    "overlap": f"{row['estimate']:.2f}",
                    "note": escaped(row["note"]),
                }
                for row in alike.to_dict("records")
            ]
            show_findings(
                release,
                cells,
                name=f"alike-{place}",
                caption=f"{benchmark.title}: overlap of the two groups' leakage (1: the same)",
                labels={"overlap": "Overlap, 0 to 1", "note": "Range"},
                stub="pair",
                heading="Pair",
                group="measure",
            )


def _show_questions(
    release: Release, benchmark: Benchmark, rows: pd.DataFrame, *, place: str
) -> None:
    """Show differences for items with the question in both variants, and for other items."""
    wanted = rows[rows["quantity"].isin(_QUESTIONS)]
    if wanted.empty:
        return
    cells = []
    for cell, found in _units(wanted, benchmark):
        for quantity, row in found.items():
            cell[quantity] = f"{as_points(row)}<br><small>{escaped(row['note'])}</small>"
        cells.append(cell)
    with closed("Items with the question in both variants, and other items"):
        show_findings(
            release,
            cells,
            name=f"questions-{place}",
            caption=f"{benchmark.title}: accuracy difference by whether variants ask the question",
            labels=_QUESTIONS,
            stub="model",
            heading="Model",
            group="pair",
        )


def _show_measure(
    release: Release,
    benchmark: Benchmark,
    rows: pd.DataFrame,
    *,
    title: str,
    place: str,
    first: bool,
) -> None:
    wanted = rows[rows["quantity"].isin([*_DIFFERENCES, *_SHARES])]
    if wanted.empty:
        return
    if first:
        drawn = wanted[
            wanted["quantity"].isin(["difference", "difference at equal leakage (within items)"])
            & (wanted["strategy"] == PLAIN)
            & wanted["estimate"].notna()
        ]
        if len(drawn):
            show_plot(
                findings_plot,
                _plotted_differences(drawn, benchmark),
                release,
                name=f"remaining-{place}",
                alt="Accuracy difference, unadjusted and at equal leakage, by model and pair; of "
                "many pairs, those with the largest differences",
                width=PLOT_WIDTH,
                height=1.0 + 0.42 * drawn["model"].nunique(),
            )
    labels = {q: f"{label}, points" for q, label in _DIFFERENCES.items()}
    labels |= {q: f"{label}, %" for q, label in _SHARES.items()}
    cells = []
    for cell, found in _units(wanted, benchmark):
        cell |= {q: as_points(found[q]) for q in _DIFFERENCES if q in found}
        cell |= {
            q: as_percent(found[q]) if not math.isnan(found[q]["estimate"]) else "not given"
            for q in _SHARES
            if q in found
        }
        cells.append(cell)
    with closed(f"Adjusted for: {title}"):
        show_findings(
            release,
            cells,
            name=f"remaining-{place}",
            caption=f"{benchmark.title}: accuracy difference, adjusted for {title.lower()}",
            labels=labels,
            stub="model",
            heading="Model",
            group="pair",
        )


def _units(
    rows: pd.DataFrame, benchmark: Benchmark
) -> Iterator[tuple[dict[str, str], dict[str, dict[str, Any]]]]:
    """Yield each pair of an answer set: the cells that name it, and its rows by quantity."""
    for _, of_unit in rows.groupby(PAIR_AND_UNIT, sort=False):
        found = {str(row["quantity"]): row for row in of_unit.to_dict("records")}
        one = next(iter(found.values()))
        model = one["model"]
        if one["strategy"] != PLAIN:
            model = f"{model}, {prompt_label(one['strategy'])}"
        yield {"pair": escaped(pair_label(benchmark, one)), "model": escaped(model)}, found


def _plotted_differences(rows: pd.DataFrame, benchmark: Benchmark) -> pd.DataFrame:
    pairs = rows[rows["quantity"] == "difference"].groupby(_PAIR, sort=False)["estimate"]
    sizes = pairs.agg(lambda own: own.abs().max())
    if len(sizes) > _MOST_PANELS:
        sizes = sizes[sizes.rank(method="first", ascending=False) <= _MOST_PANELS]
        rows = rows[pd.MultiIndex.from_frame(rows[_PAIR]).isin(sizes.index)]
    counts = Counter(name for name, _, _ in sizes.index)
    scaled = {c: 100 * rows[c] for c in ("estimate", "ci_low", "ci_high")}
    return rows.assign(
        label=rows["model"],
        series=rows["quantity"].map(_DIFFERENCES),
        panel=[
            benchmark.attribute(row["attribute"]).label
            if counts[row["attribute"]] == 1
            else pair_label(benchmark, row)
            for row in rows.to_dict("records")
        ],
        place=[list(benchmark.attributes).index(name) for name in rows["attribute"]],
        axis="accuracy difference, points",
        **scaled,
    ).sort_values(["place", "quantity", "model"], kind="stable")
