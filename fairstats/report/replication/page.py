"""Compare published figures with recomputed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import pandas as pd
from great_tables import GT
from great_tables._text import BaseText
from markupsafe import Markup

from fairstats._lib.formatting import MINUS, capital, counted, decimal, escape_markdown, scientific
from fairstats.comparisons.change_verdicts import WIN_WIN
from fairstats.release.contents import Release
from fairstats.replication.printed_tables import BENCHMARK, PUBLISHED
from fairstats.replication.replicate import DIFFERS, NO_ANSWERS, SAME
from fairstats.report.page_output import closed, filled, prose, show_markdown, show_table
from fairstats.report.tables import in_cell, labels_of, sentence, two_lines, written_table

Labels = Mapping[str, str]

_sentence = partial(sentence, "replication")
CONFIRMED, NOT_CONFIRMED, UNKNOWN = "Confirmed", "Not confirmed", "Unknown"


def show_replication(release: Release) -> None:
    """Show which published figures and conclusions the release's answers confirm."""
    table = _with_labels(release)
    if table.empty:
        return
    found = conclusions(table, attribute_labels(release))
    show_markdown(_sentence("page", summary=replication_summary(table), conclusions=found))
    with closed("How the figures were recomputed and compared"):
        show_markdown(prose("replication"))
    for published in PUBLISHED:
        rows = table[table["published"] == published.name]
        counts = f"{counted_cells(rows)}{_variant_sets(rows)}"
        show_markdown(f"## {escape_markdown(published.title)}\n\n{counts}")
        if published.pairs is not None:
            show_markdown(possible_text(rows, published.pairs))
        with closed(f"All {counted(len(rows), 'figure')}"):
            show_table(
                replication_table(rows, release, name=published.name),
                caption=f"{published.title}, with the recomputed figures",
                css_class="estimates changes",
                download="replication",
            )


def _with_labels(release: Release) -> pd.DataFrame:
    """Return the release's table with labels instead of the codes of sets of vignettes."""
    table, benchmark = release.replication, release.benchmarks.get(BENCHMARK)
    labels = dict(benchmark.versions) if benchmark else {}
    reasons = table["explained_by"]
    named = {f"variant set {code}": label for code, label in labels.items()}
    for reason, label in (named | labels_of("replication")["reasons"]).items():
        reasons = reasons.str.replace(reason, label, regex=False)
    sets = table["benchmark_version"].replace(labels)
    return table.assign(explained_by=reasons.astype("object"), benchmark_version=sets)


def replication_summary(table: pd.DataFrame) -> str:
    """Count the published figures that match, differ or have no answers, and why they differ."""
    same, differ, *absent = _counts(table)
    known = f": {same:,} the same, {differ:,} different" if same + differ else ""
    figures, number = counted(len(table), "published figure"), same + differ or "none"
    text = _sentence("summary", figures=figures, number=number, known=known)
    if differ:
        explained = table.loc[table["status"] == DIFFERS, "explained_by"].value_counts()
        whole = int(explained.sum())
        which = "All" if whole == differ else f"{whole or 'None'} of the"
        how = "; ".join(f"{why}: {counted(n, 'figure')}" for why, n in explained.items())
        how = str(explained.index[0]) if len(explained) == 1 else how
        text += f" {which} differences can be explained{f' ({how})' if how else ''}."
    for n, why in zip(absent, ("unreleased", "elsewhere"), strict=True):
        text += f" {_sentence(why, figures=counted(n, 'figure'))}" if n else ""
    return escape_markdown(text)


def counted_cells(rows: pd.DataFrame) -> str:
    """Count the cells of one table by status."""
    same, differ, *absent = _counts(rows)
    text = f"{counted(len(rows), 'published figure')}: {same} the same, {differ} different"
    for n, why in zip(absent, ("released", "in this release"), strict=True):
        text += f", {n} without answers {why}" if n else ""
    return f"{text}."


def _counts(rows: pd.DataFrame) -> list[int]:
    """Count figures that match, differ, had answers never released, and not in this release."""
    same, differ, none = (rows["status"] == status for status in (SAME, DIFFERS, NO_ANSWERS))
    kinds = (same, differ, none & ~rows["released"], none & rows["released"])
    return [int(kind.sum()) for kind in kinds]


def _variant_sets(rows: pd.DataFrame) -> str:
    """Name the rows of each set of vignettes, if a table has several sets."""
    there = rows[rows["status"] != NO_ANSWERS]
    sets = there.groupby("benchmark_version", sort=False)["row"]
    if sets.ngroups < 2:
        return ""
    parts = "; ".join(f"{version} for {', '.join(own.unique())}" for version, own in sets)
    return " " + escape_markdown(_sentence("sets", parts=parts))


def possible_text(rows: pd.DataFrame, pairs: int) -> str:
    """Count the rows of a table with figures that can all be true of this number of pairs."""
    first = rows.drop_duplicates(["row", "attribute", "group_a"])
    possible = int(first["possible"].isin(["possible", "unique"]).sum())
    words = {"rows": counted(len(first), "row"), "pairs": counted(pairs, "pair")}
    parts = [_sentence("possible", possible=possible, **words)]
    for name, text in labels_of("replication")["possible_rows"].items():
        names = first.loc[first["possible"] == name, "row"]
        if len(names):
            number = counted(len(names), "row")
            parts.append(f"Those of {number} {text} ({', '.join(names.unique())}).")
    return escape_markdown(" ".join(parts))


def attribute_labels(release: Release) -> dict[str, str]:
    """Return attribute labels; published tables name attributes as FairMedQA's file does."""
    benchmark = release.benchmarks.get(BENCHMARK)
    return {} if benchmark is None else {a.name: a.label for a in benchmark.attributes.values()}


def replication_table(rows: pd.DataFrame, release: Release, *, name: str) -> GT:
    """Show one published table, with the recomputed figure in each cell."""
    known = labels_of("replication")
    columns = {column: f"cell-{n}" for n, column in enumerate(rows["column"].unique())}
    table = []
    for _, own in rows.groupby(["row", "attribute", "group_a"], sort=False, dropna=False):
        first = own.iloc[0]
        reasons = own.loc[own["status"] == DIFFERS, "explained_by"].fillna("not explained")
        possible = known["possible"].get(first["possible"], "")
        changed = pd.notna(first["model_old"])
        table.append(
            {
                "row": f"{first['model_old']} → {first['model']}" if changed else first["row"],
                "pair": _pair_label(first, release),
                **{columns[cell["column"]]: _cell(cell) for _, cell in own.iterrows()},
                "verdict": _of_row("verdict", first["verdict"]),
                "explained": _of_row("explained", "; ".join(reasons.unique())),
                "possible": _of_row("possible", possible, first["possible_note"]),
            }
        )
    labels: dict[str, str | BaseText] = {
        column: two_lines(known["columns"].get(text, text), "published, recomputed")
        for text, column in columns.items()
    }
    labels |= {c: label for c, label in known["rows"].items() if any(row[c] for row in table)}
    return written_table(table, labels, name=name, stub="pair", heading="Pair", group="row")


def _pair_label(cell: pd.Series, release: Release) -> str:
    """Name the attribute, with its groups if the benchmark is in the release."""
    benchmark = release.benchmarks.get(cell["benchmark"])
    if benchmark is not None and cell["attribute"] in benchmark.attributes:
        attribute = benchmark.attributes[cell["attribute"]]
        return f"{attribute.label}: {attribute.pair_label((cell['group_a'], cell['group_b']))}"
    return attribute_labels(release).get(cell["attribute"], str(cell["attribute"]))


def _cell(cell: pd.Series) -> Markup:
    """Show the published figure, the recomputed one, and how they compare in words."""
    printed, absent = str(cell["printed"]), ""
    if cell["status"] == NO_ANSWERS:
        absent = "not in this release" if cell["released"] else "answers not released"
    places = len(printed.partition(".")[2]) + 2
    differs = "differs" if cell["status"] == DIFFERS else ""
    if differs and pd.notna(cell["difference"]) and cell["metric"] != "win_win":
        differs += f" by {decimal(cell['difference'], places)}"

    def written(value: float) -> str:
        """Return a recomputed figure with two digits more than published, or as a word."""
        if pd.isna(value):
            return ""
        if cell["metric"] == "win_win":
            return WIN_WIN if value else f"not {WIN_WIN}"
        return scientific(value) if cell["metric"] == "mcnemar" else decimal(value, places)

    return filled(
        "replication_cell",
        label=_in_cell("columns", cell["column"]),
        published=MINUS + printed[1:] if printed.startswith("-") else printed,
        absent=absent,
        recomputed=written(cell["recomputed"]),
        differs=differs,
        explained=written(cell["explained_value"]),
    )


def _of_row(column: str, text: object, note: object = "") -> Markup | str:
    """Return a cell on a whole row; empty without text."""
    if not isinstance(text, str) or not text:
        return ""
    return filled("labelled_cell", label=_in_cell("rows", column), text=text, note=note)


def _in_cell(part: str, column: str) -> str:
    return in_cell(labels_of("replication")[part].get(column, column))


def conclusions(table: pd.DataFrame, labels: Labels) -> str:
    """List each published table's conclusion and whether it is confirmed, in Markdown."""
    lines = []
    for name, conclusion in labels_of("replication")["conclusions"].items():
        rows = table[table["published"] == name]
        column, value = conclusion["figures"]
        asked = rows[rows[column] == value]
        there = asked[asked["status"] != NO_ANSWERS]
        word, text = UNKNOWN, _sentence("no answers")
        details: list[str] = []
        if not there.empty:
            word, words, details = _CONCLUDE[name](rows, there, labels)
            text = conclusion["found"].format(part=_part(len(there), len(asked)), **words)
            if len(there) < len(asked):
                word = f"{word}, as far as recomputed"
        stated = f"{conclusion['text']} {capital(text)}"
        lines.append(f"- **{word}**: {escape_markdown(stated)}")
        lines += [f"    - {escape_markdown(detail)}" for detail in details]
    return "\n".join(lines)


def _part(n: int, of: int) -> str:
    return f"all {of:,}" if n == of else f"{n:,} of the {of:,}"


Conclusion = tuple[str, dict[str, str], list[str]]


def above_others(rows: pd.DataFrame, figure: str) -> float:
    """Return how far the figures on FairMedQA are above those published for other benchmarks."""
    keys, ours = ["model", "attribute"], rows["benchmark"] == BENCHMARK
    highest = rows[~ours].groupby(keys)["printed_value"].max()
    return float((rows[ours].set_index(keys)[figure] - highest).min())


def _larger_than_others(rows: pd.DataFrame, _: pd.DataFrame, __: Labels) -> Conclusion:
    least = above_others(rows, "recomputed")
    return CONFIRMED if least > 0 else NOT_CONFIRMED, {"least": decimal(least, 3)}, []


def _win_wins(rows: pd.DataFrame, there: pd.DataFrame, labels: Labels) -> Conclusion:
    same, other = (there[there["status"] == status] for status in (SAME, DIFFERS))
    word = CONFIRMED if other.empty else NOT_CONFIRMED if same.empty else "Partly confirmed"
    why = ", ".join(other["explained_by"].dropna().unique())
    words = {"same": f"{len(same)}", "other": f"{len(other)}"}
    words["why"] = f" {_sentence('published judgements', why=why)}" if why else ""
    return word, words, [*_judged(there, rows, labels)]


def _judged(there: pd.DataFrame, rows: pd.DataFrame, labels: Labels) -> Iterator[str]:
    """State the judgements on each newer version, and how they differ from the published ones."""
    changes = rows[rows["metric"] == "delta_ad"].set_index(["row", "attribute"])
    for (old, new), own in there.groupby(["model_old", "model"], sort=False):
        parts = []
        for judged in own.itertuples(index=False):
            text = WIN_WIN if judged.recomputed else f"not {WIN_WIN}"
            if judged.recomputed and judged.verdict != WIN_WIN:
                text += f" ({_sentence('tests', verdict=judged.verdict)})"
            if judged.status == DIFFERS:
                ad = changes.loc[(judged.row, judged.attribute)]
                now, then = decimal(ad["recomputed"], 3), ad["printed"].replace("-", MINUS)
                text += f", {_sentence('differs', printed=judged.printed, now=now, then=then)}"
            parts.append(f"{labels.get(judged.attribute, judged.attribute)} {text}")
        yield f"{old} → {new}: {'; '.join(parts)}"


def _tested(_: pd.DataFrame, there: pd.DataFrame, __: Labels) -> Conclusion:
    same = int((there["status"] == SAME).sum())
    word = CONFIRMED if same == len(there) else NOT_CONFIRMED
    return word, {"same": _part(same, len(there))}, []


#: How the conclusion of each published table is checked.
_CONCLUDE: dict[str, Callable[[pd.DataFrame, pd.DataFrame, Labels], Conclusion]] = {
    "fairmedqa-1": _larger_than_others,
    "fairmedqa-2": _win_wins,
    "fairmedqa-3": _tested,
    "amqa-2": _tested,
}
