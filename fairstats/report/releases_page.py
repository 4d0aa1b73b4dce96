"""What the page of releases says: every release, and what moved since the one before."""

from __future__ import annotations

import os
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstats._lib.formatting import decimal, escape_markdown, number_word
from fairstats.metrics.registry import METRICS
from fairstats.release.contents import DOWNLOADS, PUBLISHED_VARIABLE, RELEASES, Release
from fairstats.report.page_output import page_root, show_markdown, show_table
from fairstats.report.tables import written_table

if TYPE_CHECKING:
    from great_tables import GT

#: The figures whose moves the page shows; the rest are in the download.
_SHOWN = ("accuracy_difference", "cfr")
_MOST_ROWS = 60
_ARGUMENTS = ("missing", "alpha")
_REASONS = {
    "answers": "by other answers",
    "benchmark": "by another benchmark file",
    "method": "by another method",
}
_WHAT = {
    "estimate": "estimate",
    "ci_low": "lower limit",
    "ci_high": "upper limit",
    "p_value": "p",
}
_CHANGES = {
    "new": "New",
    "gone": "Gone",
    "answers changed": "With other answers",
}


def show_releases(release: Release) -> None:
    """This release beside the one before it, then every earlier one in a line."""
    show_markdown(
        "::: lede\nA release never changes: its address stays, and its manifest holds the hash of "
        "every file and of the manifest before it.\n:::"
    )
    show_markdown(f"## {escape_markdown(release.name)}, this release\n\n{_what_is_new(release)}")
    if release.earlier:
        _show_moved(release)
        lines = [_line(earlier) for earlier in reversed(release.earlier)]
        show_markdown("## Earlier releases\n\n" + "\n".join(lines))


def _line(release: Release) -> str:
    name = escape_markdown(release.name)
    if os.environ.get(PUBLISHED_VARIABLE):
        # Out of this release and into the other one, which lies beside it.
        name = f"[{name}]({page_root()}../../{RELEASES}/{release.name}/index.html)"
    return f"- {name}, {_what_is_new(release)}"


def _what_is_new(release: Release) -> str:
    """A release's date, size, and what it added, in a sentence or two."""
    answers = sum(entry["answers"] for entry in release.manifest["answers"])
    models = len(release.models)
    text = (
        f"{release.created_at.date()}: {number_word(models)} model{'s' * (models != 1)}, "
        f"{answers:,} answers, made with fairstats {release.manifest['fairstats']}."
    )
    if not release.earlier:
        return escape_markdown(f"{text} The first release.")
    sets = release.table("answer_set_changes")
    for change, word in _CHANGES.items():
        own = sets[sets["change"] == change]
        if len(own):
            text += f" {word}: {'; '.join(_names(own))}."
    text += f" {_changed_arguments(release)}"
    moved = release.table("figure_changes")
    why = moved["why"].value_counts()
    reasons = ", ".join(f"{count:,} {_REASONS[name]}" for name, count in why.items())
    text += f" Figures that moved: {reasons or 'none'}."
    verdicts = len(release.table("verdict_changes"))
    text += f" Verdicts that are other ones: {number_word(verdicts)}."
    return escape_markdown(" ".join(text.split()))


def _changed_arguments(release: Release) -> str:
    """The arguments that are not those of the release before, in words."""
    old = release.earlier[-1].manifest
    new = release.manifest
    pairs = {"fairstats": (old["fairstats"], new["fairstats"])} | {
        name: (old["arguments"].get(name), new["arguments"].get(name)) for name in _ARGUMENTS
    }
    changed = [f"{name} {_word(a)} → {_word(b)}" for name, (a, b) in pairs.items() if a != b]
    return f"Changed: {', '.join(changed)}." if changed else ""


def _word(argument: object) -> str:
    return "as the benchmark declares" if argument is None else str(argument)


def _names(sets: pd.DataFrame) -> list[str]:
    """The answer sets of a change, by model: its versions and strategies in brackets."""
    names = []
    for model, own in sets.groupby("model", sort=True):
        asked = own["benchmark_version"] + " " + own["strategy"]
        names.append(f"{model} ({', '.join(asked)})")
    return names


def _show_moved(release: Release) -> None:
    before = release.earlier[-1].name
    verdicts = release.table("verdict_changes")
    if len(verdicts):
        show_table(
            verdicts_table(verdicts.head(_MOST_ROWS), release),
            caption=f"Verdicts that are other ones than in {before}",
            download="verdict_changes",
        )
    moved = release.table("figure_changes")
    if moved.empty:
        show_markdown(
            "Every figure that is in both releases is the same in both. (Ranks and adjusted "
            "p-values depend on the other models, and may differ.)"
        )
        return
    shown = moved[moved["metric"].isin(_SHOWN)]
    # A figure that became a range, or was one, has no size of its change: it stands first.
    size = shown["change"].abs().fillna(float("inf"))
    largest = shown.loc[size.sort_values(ascending=False, kind="stable").index].head(_MOST_ROWS)
    if largest.empty:
        show_markdown(
            f"{len(moved):,} figures moved, none of them an accuracy difference or CFR; they are "
            f"in [figure_changes.csv]({page_root()}{DOWNLOADS}/figure_changes.csv)."
        )
        return
    show_table(
        moved_table(largest, release),
        caption=f"What moved since {before}: {len(moved):,} figures, here the {len(largest)} "
        "largest moves of accuracy differences and CFR",
        download="figure_changes",
    )


def verdicts_table(verdicts: pd.DataFrame, release: Release) -> GT:
    """Verdicts that are other ones, with the old, the new, and the reason of the new."""
    rows = [
        {
            "set": f"{row['model']}, {row['benchmark_version']}, {row['strategy']}",
            "pair": _pair(row, release),
            "old": row["old"],
            "new": _with_reason(row),
        }
        for row in verdicts.to_dict("records")
    ]
    labels = {"pair": "Pair", "old": "Was", "new": "Is"}
    return written_table(
        rows, labels, name="verdicts", stub="set", heading="Model, version, strategy"
    )


def _with_reason(row: dict[Hashable, Any]) -> str:
    """The new verdict, and its reason if there is one."""
    reason = row["verdict_reason"]
    return f"{row['new']} ({reason})" if isinstance(reason, str) and reason else str(row["new"])


def _pair(row: dict[Hashable, Any], release: Release) -> str:
    attribute = release.benchmarks[row["benchmark"]].attribute(row["attribute"])
    return attribute.pair_label((row["group_a"], row["group_b"]))


def moved_table(moved: pd.DataFrame, release: Release) -> GT:
    """Figures that moved, with the old and the new value, and why."""
    rows = []
    for row in moved.to_dict("records"):
        rows.append(
            {
                "set": f"{row['model']}, {row['benchmark_version']}, {row['strategy']}",
                "pair": _pair(row, release),
                "metric": f"{METRICS[row['metric']].label_of()}, {_WHAT[row['what']]}",
                "old": decimal(row["old"]) or "range",
                "new": decimal(row["new"]) or "range",
                "change": decimal(row["change"]),
                "why": row["why"],
            }
        )
    labels = {
        "pair": "Pair",
        "metric": "Figure",
        "old": "Old",
        "new": "New",
        "change": "Change",
        "why": "Why",
    }
    return written_table(
        rows,
        labels,
        name="moved",
        stub="set",
        heading="Model, version, strategy",
        right=["old", "new", "change"],
    )
