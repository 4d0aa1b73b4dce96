"""Show all releases, and the changes since the previous one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

import pandas as pd
from great_tables import GT

from fairstats._lib.formatting import decimal, escape_markdown, listed, number_word, quoted
from fairstats.benchmarks.kinds import DIFFERENCES
from fairstats.metrics.registry import METRICS
from fairstats.release.contents import DOWNLOADS, RELEASES, Release, changed_inputs
from fairstats.report.changes.rows import (
    GONE,
    NEW,
    REASONS,
    figures_by_reason,
    set_changes,
    set_name,
)
from fairstats.report.page_output import closed, is_in_site, page_root, show_markdown, show_table
from fairstats.report.tables import labels_of, prose_cell, written_table

#: The figures shown on the page if they changed; the others are in the download.
_SHOWN = (*DIFFERENCES, "cfr")
_MOST_ROWS = 60
_ARGUMENTS = ("missing", "alpha")
_CHANGES = {"new": "Added", "gone": "Removed", "answers changed": "Changed answers"}
_SET = "Model, items, prompt"


def show_releases(release: Release) -> None:
    """Show the changes in this release, then one line per earlier release."""
    show_markdown(f"::: lede\n{_news(release)}\n:::")
    if release.earlier:
        show_markdown("## What changed")
        _show_changed_sets(release)
        _show_changed_figures(release)
        lines = [_line(earlier) for earlier in reversed(release.earlier)]
        show_markdown("## Earlier releases\n\n" + "\n".join(lines))


def _line(release: Release) -> str:
    name = escape_markdown(release.name)
    if is_in_site():
        # From this release into the other one, in the neighbouring folder.
        name = f"[{name}]({page_root()}../../{RELEASES}/{release.name}/index.html)"
    return f"- {name}, {_news(release)}"


def _news(release: Release) -> str:
    """State a release's date and size, and the changes since the previous one."""
    answers = sum(entry["answers"] for entry in release.manifest["answers"])
    models = len(release.models)
    text = (
        f"{release.created_at.date()}: {number_word(models)} model{'s' * (models != 1)}, "
        f"{answers:,} answers, computed with fairstats {release.manifest['fairstats']}."
    )
    if not release.earlier:
        return escape_markdown(f"{text} The first release.")
    sets = release.table("answer_set_changes")
    for change, word in _CHANGES.items():
        own = sets[sets["change"] == change]
        if len(own):
            text += f" {word}: {'; '.join(_names(own, release))}."
    text += f" {_changed_arguments(release)}"
    moved = release.table("figure_changes")
    text += f" Changed figures: {figures_by_reason(Counter(moved['why'])) or 'none'}."
    if inputs := changed_inputs(release.earlier[-1], release):
        text += f" Other {listed(inputs)}, whose figures are not compared."
    verdicts = len(release.table("verdict_changes"))
    text += f" Changed verdicts: {verdicts or 'none'}."
    return escape_markdown(" ".join(text.split()))


def _changed_arguments(release: Release) -> str:
    """Name the arguments that differ from those of the previous release."""
    old, new = _settings(release.earlier[-1]), _settings(release)
    changed = [f"{name} {old[name]} → {new[name]}" for name in new if old[name] != new[name]]
    return f"Changed settings: {', '.join(changed)}." if changed else ""


def _settings(release: Release) -> dict[str, Any]:
    given = {name: release.manifest["arguments"].get(name) for name in _ARGUMENTS}
    declared = {name: "as the benchmark declares" for name in _ARGUMENTS if given[name] is None}
    return {"fairstats": release.manifest["fairstats"], **given, **declared}


def _names(sets: pd.DataFrame, release: Release) -> list[str]:
    """Name the answer sets of a change by model, with vignettes and prompts in brackets."""
    names = []
    for model, own in sets.groupby("model", sort=True):
        labels = [set_name(row, *_declaring(release)) for row in own.to_dict("records")]
        names.append(f"{quoted(str(model))} ({'; '.join(labels)})")
    return names


def _declaring(release: Release) -> tuple[Release, ...]:
    """Return the two releases that declare the benchmarks of their changes."""
    return release, *release.earlier[-1:]


def _show_changed_sets(release: Release) -> None:
    """Show what changed for each answer set, changed verdicts first."""
    names = ("answer_set_changes", "verdict_changes", "figure_changes")
    found = set_changes(*map(release.table, names), *_declaring(release))
    changed = [one for one in found if one.matters and one.change not in (NEW, GONE)]
    rows = [
        {"set": f"{quoted(one.model)}, {one.name}", "changed": prose_cell(one.text)}
        for one in sorted(changed, key=lambda one: not one.verdicts)
    ]
    if rows:
        columns = {"changed": "Change"}
        show_table(
            written_table(rows[:_MOST_ROWS], columns, name="sets", stub="set", heading=_SET),
            caption=f"Answers, ranks, verdicts and figures since {release.earlier[-1].name}",
            download="answer_set_changes",
        )


def _show_changed_figures(release: Release) -> None:
    """Show the largest changes of the figures that are in both releases."""
    moved = release.table("figure_changes")
    if moved.empty:
        show_markdown(
            "The figures of pairs that are in both releases are the same. Ranks may differ, "
            "because they depend on the other models."
        )
        return
    shown = moved[moved["metric"].isin(_SHOWN)]
    # A figure that became a range, or was one, has no size of change: show it first.
    size = shown["change"].abs().fillna(float("inf"))
    largest = shown.loc[size.sort_values(ascending=False, kind="stable").index].head(_MOST_ROWS)
    if largest.empty:
        show_markdown(
            f"{len(moved):,} figures changed, but no difference of groups or CFR. All are in "
            f"[figure_changes.csv]({page_root()}{DOWNLOADS}/figure_changes.csv)."
        )
        return
    with closed(f"{len(moved):,} changed figures"):
        show_table(
            moved_table(largest, release),
            caption=f"{len(moved):,} figures changed since {release.earlier[-1].name}. Shown: the "
            f"{len(largest)} largest changes of differences of groups and of CFR.",
            download="figure_changes",
        )


def moved_table(moved: pd.DataFrame, release: Release) -> GT:
    """Show changed figures: the old and the new value, and the reason."""
    labels = labels_of("about")["moved"]
    rows = [
        {
            "set": f"{quoted(row['model'])}, {set_name(row, *_declaring(release))}",
            "pair": _pair(row, release),
            "metric": f"{METRICS[row['metric']].label_of()}, {labels['parts'][row['what']]}",
            "old": decimal(row["old"]) or "range",
            "new": decimal(row["new"]) or "range",
            "change": decimal(row["change"]),
            "why": REASONS.get(row["why"], row["why"]),
        }
        for row in moved.to_dict("records")
    ]
    return written_table(
        rows,
        labels["columns"],
        name="moved",
        stub="set",
        heading=_SET,
        right=["old", "new", "change"],
    )


def _pair(row: dict[Hashable, Any], release: Release) -> str:
    benchmark = release.benchmarks[row["benchmark"]]
    return benchmark.pair_label(row["attribute"], (row["group_a"], row["group_b"]))
