"""The sections on answer leakage: what the added text points to, who follows, what remains."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstats.benchmarks import Benchmark
from fairstats.names import slug
from fairstats.report.context import Release
from fairstats.report.display import closed, show_markdown, show_plot, show_table
from fairstats.report.plots import PLOT_WIDTH
from fairstats.report.ratings_parts import files_of
from fairstats.report.vignettes_plots import findings_plot
from fairstats.report.vignettes_prose import (
    followed_sentence,
    leakage_sentence,
    remaining_sentence,
)
from fairstats.report.vignettes_tables import (
    LEAKAGE_LABELS,
    as_number,
    as_percent,
    as_points,
    escaped,
    findings_table,
    group_label,
    pair_label,
    pick,
)
from fairstats.vignettes.asked_questions import BOTH_ASK, NOT_BOTH

if TYPE_CHECKING:
    from great_tables import GT

_OVERLAP = "leakage_overlap"
_SHARES_OF_WORDS = ("leakage_overlap", "leakage_distinct")
_DIFFERENCES = {
    "difference": "As it is",
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
    NOT_BOTH: "One or none asks, points",
}
_PAIR_AND_UNIT = ["attribute", "group_a", "group_b", "benchmark_version", "model", "strategy"]
_HOW_TO_READ = (
    "**What is measured.** For each variant, the words that it adds to the neutralized vignette. "
    "An option's *shared words* are the "
    "share of its content words (stemmed, stop words left out) that stand in the added text and "
    "nowhere in the neutral "
    "one; *words of no other option* is the same of words that stand in one option alone. The "
    "other two measures are the similarity of the added passages with the option, less "
    "that of the neutral vignette. "
    "The *advantage* is the key's value minus the mean over the distractors.\n\n"
    "**Chance** is the same figure for the texts that were added to all other items of the "
    "group: what any such text would share "
    "with these options. **What it cannot say.** Shared words do not prove that a reader takes "
    "the hint; a negated word "
    "counts; a paraphrase without a shared word does not. Three distractors together have three "
    "chances of "
    "being named where the key has one; *a distractor* is their mean."
)
_REMAINS = (
    "The added text is the treatment and the leak in one. What remains is not “the effect of the "
    "group”, it is what these "
    "measures do not account for; what goes is not “no bias”. Leakage is measured with error, "
    "and adjusting for such a "
    "measure takes away too little. Where one group's text was written to help and the other's to "
    "mislead, few variants of the two leak alike (the overlap below): the adjusted figures then "
    "rest on their "
    "model more than on data. "
    "The most balanced items need no model, but are other items. p-values are not adjusted for "
    "how many there are."
)


def show_leakage(release: Release, benchmark: Benchmark, findings: pd.DataFrame) -> None:
    """What the added text points to, by group and pair."""
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
            alt="Words of the key and of a distractor that the added text brings in, by group",
            width=PLOT_WIDTH,
            height=0.9 + 0.34 * shown["group_a"].nunique(),
        )
    show_table(
        _groups_table(of_text, benchmark, name=f"leakage-groups-{place}"),
        caption=f"{benchmark.title}: what the added text brings in, by group, % of the option's "
        "words or of items; below, 95 % intervals and what chance gives",
        css_class="estimates",
        download=files_of(release, "vignette_findings"),
    )
    show_table(
        _pairs_table(of_text, benchmark, name=f"leakage-pairs-{place}"),
        caption=f"{benchmark.title}: advantage of the key, group a minus b of the same items",
        css_class="estimates",
        download=files_of(release, "vignette_findings"),
    )


_ROLES = {"key": "Key", "distractors": "A distractor (mean)"}


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
        axis="words of the option that the added text brings in, %",
        **scaled,
    )


def _groups_table(rows: pd.DataFrame, benchmark: Benchmark, *, name: str) -> GT:
    labels = {
        "key": "Words of the key",
        "distractors": "Words of a distractor",
        "names the key": "Names the key",
        "names a distractor": "Names a distractor",
        "points to the key": "Points to the key most",
    }
    cells = []
    own = rows[(rows["measure"] == _OVERLAP) & (rows["group_b"] == "")]
    for (attribute, group), of_group in own.groupby(["attribute", "group_a"], sort=False):
        if attribute not in {a.name for a in benchmark.varied}:
            continue
        found = {str(row["quantity"]): row for row in of_group.to_dict("records")}
        cell = {"group": escaped(group_label(benchmark, str(attribute), str(group)))}
        for quantity in labels:
            if quantity not in found:
                continue
            cell[quantity] = as_percent(found[quantity])
            chance = found.get(f"{quantity} by chance")
            if quantity == "points to the key":
                cell[quantity] += f"<br><small>of {found[quantity]['n']:,} that point</small>"
            if chance is not None and not math.isnan(chance["estimate"]):
                cell[quantity] += f"<br><small>chance {100 * chance['estimate']:.1f}</small>"
        cells.append(cell)
    return findings_table(cells, name=name, labels=labels, stub="group", heading="Group")


def _pairs_table(rows: pd.DataFrame, benchmark: Benchmark, *, name: str) -> GT:
    labels = {
        "key difference": "Key",
        "distractors difference": "A distractor",
        "advantage difference": "Advantage",
        "advantage difference beyond chance": "Advantage beyond chance",
        "n": "Items",
    }
    cells = []
    for measure, title in LEAKAGE_LABELS.items():
        own = rows[(rows["measure"] == measure) & (rows["group_b"] != "")]
        figure = as_points if measure in _SHARES_OF_WORDS else as_number(3)
        for _, of_pair in own.groupby(["attribute", "group_a", "group_b"], sort=False):
            found = {str(row["quantity"]): row for row in of_pair.to_dict("records")}
            first = found["advantage difference"]
            cell = {"measure": title, "pair": escaped(pair_label(benchmark, first))}
            cell |= {q: figure(found[q]) for q in labels if q in found}
            cells.append(cell | {"n": f"{int(first['n']):,}"})
    return findings_table(
        cells, name=name, labels=labels, stub="pair", heading="Pair", group="measure"
    )


def show_followed(release: Release, benchmark: Benchmark, findings: pd.DataFrame) -> None:
    """Whether models' wrong answers go where the text points."""
    own = pick(findings, aspect="leakage")
    rows = pick(own, quantity="wrong answers that follow the text")
    rows = rows[(rows["measure"] == _OVERLAP) & rows["estimate"].notna()]
    if rows.empty:
        return
    place = slug(benchmark.name)
    show_markdown(f"### Do wrong answers follow the text?\n\n{followed_sentence(own)}")
    with closed("Wrong answers by model and pair"):
        show_markdown(_FOLLOWED)
        cells = [
            {
                "set": escaped(f"{row['benchmark_version']}, {row['strategy']}"),
                "model": escaped(row["model"]),
                "pair": escaped(_groups(benchmark, row)),
                "followed": f"{as_percent(row)}<br><small>{escaped(row['note'])}</small>",
                **_beside(own, row),
            }
            for row in rows.to_dict("records")
        ]
        show_table(
            findings_table(
                cells,
                name=f"followed-{place}",
                labels={
                    "model": "Model",
                    "pair": "Group",
                    "followed": "Follow the text, %",
                    "others": "Same choice on other texts, %",
                    "above": "Difference, points",
                },
                stub="set",
                heading="Variants, strategy",
            ),
            caption=f"{benchmark.title}: wrong answers that go where the text points",
            css_class="estimates",
            download=files_of(release, "vignette_findings"),
        )


_FOLLOWED = (
    "Of the wrong answers to a variant whose added text points to one distractor more than to the "
    "others: how many go there, how many wrong answers to the same items' other texts do, and the "
    "difference over the items that have both."
)
_OTHERS = {
    "others": "the same choice of wrong answers to other texts",
    "above": "wrong answers that follow the text, above other texts",
}


def _beside(own: pd.DataFrame, row: Mapping[str, Any]) -> dict[str, str]:
    """The figures that the share of a unit and group is to be held against."""
    keys = ["measure", *_PAIR_AND_UNIT]
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


def show_remaining(release: Release, benchmark: Benchmark, findings: pd.DataFrame) -> None:
    """How much of each model's accuracy disparity remains."""
    own = pick(findings, aspect="remaining disparity")
    rows = own[(own["model"] != "")]
    adjusted = rows[rows["quantity"].isin([*_DIFFERENCES][1:]) & rows["estimate"].notna()]
    if adjusted.empty:
        return
    place = slug(benchmark.name)
    show_markdown(
        "### How much of the accuracy disparity remains?\n\n"
        f"{remaining_sentence(rows)}\n\n{_REMAINS}"
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
                first=measure == _OVERLAP,
            )
    _show_questions(release, benchmark, rows, place=place)
    alike = own[(own["quantity"] == "overlap of leakage") & own["estimate"].notna()]
    if len(alike):
        with closed("How far the two groups' texts leak alike"):
            cells = [
                {
                    "pair": escaped(pair_label(benchmark, row)),
                    "measure": LEAKAGE_LABELS.get(row["measure"], escaped(row["measure"])),
                    "overlap": f"{row['estimate']:.2f}",
                    "note": escaped(row["note"]),
                }
                for row in alike.to_dict("records")
            ]
            labels = {"overlap": "Overlap, 0 to 1", "note": "Range"}
            show_table(
                findings_table(
                    cells,
                    name=f"alike-{place}",
                    labels=labels,
                    stub="pair",
                    heading="Pair",
                    group="measure",
                ),
                caption=f"{benchmark.title}: overlap of two groups' leakage; 1 where alike",
                css_class="estimates",
                download=files_of(release, "vignette_findings"),
            )


def _show_questions(
    release: Release, benchmark: Benchmark, rows: pd.DataFrame, *, place: str
) -> None:
    """The differences among items whose variants both ask the question, and the others."""
    wanted = rows[rows["quantity"].isin(_QUESTIONS)]
    if wanted.empty:
        return
    cells = []
    for _, of_unit in wanted.groupby(_PAIR_AND_UNIT, sort=False):
        found = {str(row["quantity"]): row for row in of_unit.to_dict("records")}
        one = next(iter(found.values()))
        model = one["model"] if one["strategy"] == "plain" else f"{one['model']}, {one['strategy']}"
        cell = {"pair": escaped(pair_label(benchmark, one)), "model": escaped(model)}
        for quantity, row in found.items():
            cell[quantity] = f"{as_points(row)}<br><small>{escaped(row['note'])}</small>"
        cells.append(cell)
    with closed("Where both variants ask the question, and where not"):
        show_table(
            findings_table(
                cells,
                name=f"questions-{place}",
                labels=_QUESTIONS,
                stub="model",
                heading="Model",
                group="pair",
            ),
            caption=f"{benchmark.title}: accuracy difference by whether the question is asked",
            css_class="estimates",
            download=files_of(release, "vignette_findings"),
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
            & (wanted["strategy"] == "plain")
            & wanted["estimate"].notna()
        ]
        if len(drawn):
            show_plot(
                findings_plot,
                _plotted_differences(drawn, benchmark),
                release,
                name=f"remaining-{place}",
                alt="Accuracy difference as it is and at equal leakage, by model and pair",
                width=PLOT_WIDTH,
                height=1.0 + 0.42 * drawn["model"].nunique(),
            )
    labels = {q: f"{label}, points" for q, label in _DIFFERENCES.items()}
    labels |= {q: f"{label}, %" for q, label in _SHARES.items()}
    cells = []
    for _, of_unit in wanted.groupby(
        ["attribute", "group_a", "group_b", "model", "strategy"], sort=False
    ):
        found = {str(row["quantity"]): row for row in of_unit.to_dict("records")}
        one = next(iter(found.values()))
        model = one["model"] if one["strategy"] == "plain" else f"{one['model']}, {one['strategy']}"
        cell = {"pair": escaped(pair_label(benchmark, one)), "model": escaped(model)}
        cell |= {q: as_points(found[q]) for q in _DIFFERENCES if q in found}
        cell |= {
            q: as_percent(found[q]) if not math.isnan(found[q]["estimate"]) else "not given"
            for q in _SHARES
            if q in found
        }
        cells.append(cell)
    with closed(f"Adjusted for: {title}"):
        show_table(
            findings_table(
                cells,
                name=f"remaining-{place}",
                labels=labels,
                stub="model",
                heading="Model",
                group="pair",
            ),
            caption=f"{benchmark.title}: accuracy difference, adjusted for {title.lower()}",
            css_class="estimates",
            download=files_of(release, "vignette_findings"),
        )


def _plotted_differences(rows: pd.DataFrame, benchmark: Benchmark) -> pd.DataFrame:
    scaled = {c: 100 * rows[c] for c in ("estimate", "ci_low", "ci_high")}
    return rows.assign(
        label=rows["model"],
        series=rows["quantity"].map(_DIFFERENCES),
        panel=[benchmark.attribute(name).label for name in rows["attribute"]],
        place=[list(benchmark.attributes).index(name) for name in rows["attribute"]],
        axis="accuracy difference, points",
        **scaled,
    ).sort_values(["place", "quantity", "model"], kind="stable")
