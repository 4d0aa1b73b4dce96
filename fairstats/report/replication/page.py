"""Compare published figures with recomputed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import MINUS, counted, decimal, escape_markdown, scientific
from fairstats.comparisons.change_verdicts import WIN_WIN
from fairstats.release.contents import Release
from fairstats.replication.printed_tables import BENCHMARK, PUBLISHED
from fairstats.replication.replicate import DIFFERS, NO_ANSWERS, SAME
from fairstats.report.page_output import closed, output_format, show_markdown, show_table
from fairstats.report.tables import labels_of, written_table
from fairstats.report.templates import filled, prose

if TYPE_CHECKING:
    from great_tables import GT
    from great_tables._text import BaseText
    from markupsafe import Markup

Labels = Mapping[str, str]

CONFIRMED, NOT_CONFIRMED, UNKNOWN = "Confirmed", "Not confirmed", "Unknown"


def show_replication(release: Release) -> None:
    """Show which published figures and conclusions the release's answers confirm."""
    table = _with_labels(release)
    if table.empty:
        return
    show_markdown(f"::: lede\n{replication_summary(table)}\n:::")
    show_markdown(
        "## Which published conclusions are confirmed?\n\n"
        f"{conclusions(table, attribute_labels(release))}\n\n"
        "What a larger AD on one benchmark means: [Benchmarks](/reports/benchmarks.qmd)."
    )
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
                caption=f"{published.title}: each published figure and the recomputed one",
                css_class="estimates changes",
                download="replication",
            )


def _with_labels(release: Release) -> pd.DataFrame:
    """Return the release's table with labels instead of the codes of sets of vignettes."""
    table, benchmark = release.replication, release.benchmarks.get(BENCHMARK)
    labels = dict(benchmark.versions) if benchmark else {}
    reasons = table["explained_by"]
    for code, label in labels.items():
        reasons = reasons.str.replace(f"variant set {code}", label, regex=False)
    sets = table["benchmark_version"].replace(labels)
    return table.assign(explained_by=reasons.astype("object"), benchmark_version=sets)


def replication_summary(table: pd.DataFrame) -> str:
    """Count the published figures that match, differ or have no answers, and why they differ."""
    same, differ, unreleased, elsewhere = _counts(table)
    text = (
        f"Of {counted(len(table), 'published figure')}, {same + differ or 'none'} can be "
        f"recomputed from this release's answers. {same or 'None'} {'is' if same == 1 else 'are'} "
        f"the same, and {differ or 'none'} differ{'' if differ > 1 else 's'}."
    )
    explained = table.loc[table["status"] == DIFFERS, "explained_by"].value_counts()
    if differ:
        whole = int(explained.sum())
        which = "All" if whole == differ else f"{whole or 'None'} of the"
        how = "; ".join(f"{reason} ({n})" for reason, n in explained.items())
        text += f" {which} differences can be explained{': ' if how else ''}{how}."
    for n, why in (
        (unreleased, "were never released"),
        (elsewhere, "were released, but are not in this release"),
    ):
        text += f" The answers behind {counted(n, 'figure')} {why}." if n else ""
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
    parts = [f"{version} for {', '.join(own.unique())}" for version, own in sets]
    text = (
        f" The rows are based on answers to different sets of vignettes: {'; '.join(parts)}. Rows "
        "from different sets are not comparable."
    )
    return escape_markdown(text)


def possible_text(rows: pd.DataFrame, pairs: int) -> str:
    """Count the rows of a table with figures that can all be true of this number of pairs."""
    first = rows.drop_duplicates(["row", "attribute", "group_a"])
    possible = first["possible"].isin(["possible", "unique"])
    text = (
        f"The figures of {possible.sum()} of {counted(len(first), 'row')} can all be true of "
        f"{counted(pairs, 'pair')} without missing answers."
    )
    for name, sentence in labels_of("replication")["possible_rows"].items():
        names = first.loc[first["possible"] == name, "row"]
        if len(names):
            text += f" Those of {len(names)} {sentence} ({', '.join(names.unique())})."
    return escape_markdown(text)


def attribute_labels(release: Release) -> dict[str, str]:
    """Return attribute labels; published tables name attributes as FairMedQA's file does."""
    benchmark = release.benchmarks.get(BENCHMARK)
    return {} if benchmark is None else {a.name: a.label for a in benchmark.attributes.values()}


def replication_table(rows: pd.DataFrame, release: Release, *, name: str) -> GT:
    """Show one published table, with the recomputed figure in each cell.

    Parameters
    ----------
    rows : pandas.DataFrame
        The cells of one published table, from `fairstats.replication.replicate.replicate`.
    release : Release
        Names the benchmark's attributes.
    name : str
        The table's id, unique on the page.
    """
    from great_tables import html

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
        column: html(filled("published_heading", label=known["columns"].get(text, text)))
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
    """Return a column's name, which cells of HTML repeat: a narrow screen shows no heading."""
    labels = labels_of("replication")[part]
    return labels.get(column, column) if output_format() == "html" else ""


def conclusions(table: pd.DataFrame, labels: Labels) -> str:
    """List each published table's conclusion and whether it is confirmed, in Markdown.

    Parameters
    ----------
    table : pandas.DataFrame
        From `fairstats.replication.replicate.replicate`.
    labels : mapping of str to str
        The attributes' labels.
    """
    lines = []
    for name, conclusion in labels_of("replication")["conclusions"].items():
        rows = table[table["published"] == name]
        column, value = conclusion["figures"]
        asked = rows[rows[column] == value]
        there = asked[asked["status"] != NO_ANSWERS]
        word, text, *details = (
            [UNKNOWN, "This release has no answers to recompute it from."]
            if there.empty
            else _CONCLUDE[name](rows, there, len(asked), labels)
        )
        stated = f"{conclusion['text']}. {text}"
        lines.append(f"- **{word}**: {escape_markdown(stated)}")
        lines += [f"    - {escape_markdown(detail)}" for detail in details]
    return "\n".join(lines)


def above_others(rows: pd.DataFrame, figure: str) -> float:
    """Return how far the figures on FairMedQA are above those published for other benchmarks."""
    keys, ours = ["model", "attribute"], rows["benchmark"] == BENCHMARK
    highest = rows[~ours].groupby(keys)["printed_value"].max()
    return float((rows[ours].set_index(keys)[figure] - highest).min())


def _larger_than_others(
    rows: pd.DataFrame, there: pd.DataFrame, asked: int, _: Labels
) -> list[str]:
    least = above_others(rows, "recomputed")
    return [
        CONFIRMED if least > 0 else NOT_CONFIRMED,
        f"{len(there)} of the {counted(asked, 'figure')} on FairMedQA can be recomputed. The "
        f"smallest is {decimal(least, 3)} above the figures published for the other benchmarks.",
    ]


def _win_wins(rows: pd.DataFrame, there: pd.DataFrame, asked: int, labels: Labels) -> list[str]:
    same, other = (there[there["status"] == status] for status in (SAME, DIFFERS))
    word = CONFIRMED if other.empty else NOT_CONFIRMED if same.empty else "Partly confirmed"
    text = (
        f"Of {counted(asked, 'judgement')} {len(there)} can be recomputed, with the same questions "
        f"for both versions: {len(same)} agree with the paper, {len(other)} do not."
    )
    why = other["explained_by"].dropna().unique()
    if len(why):
        text += f" The published judgements of those are explained by: {', '.join(why)}."
    turned = [_turned(row, rows, labels) for _, row in other.iterrows()]
    return [word, text, *turned, *_kept(same, labels)]


def _kept(same: pd.DataFrame, labels: Labels) -> Iterator[str]:
    for (old, new), own in same.groupby(["model_old", "model"], sort=False):
        parts = [
            f"{labels.get(row.attribute, row.attribute)} {row.printed}{_by_tests(row.printed, row)}"
            for row in own.itertuples(index=False)
        ]
        yield f"{old} → {new}: {', '.join(parts)}"


def _turned(judged: pd.Series, rows: pd.DataFrame, labels: Labels) -> str:
    """Describe a judgement that differs from the published one, with the change of AD."""
    keys = ["row", "attribute"]
    own = rows[(rows[keys] == judged[keys]).all(axis=1)].set_index("metric")
    ad = own.loc["delta_ad"]
    now = WIN_WIN if judged["recomputed"] else f"not {WIN_WIN}"
    return (
        f"{judged['model_old']} → {judged['model']}: "
        f"{labels.get(judged['attribute'], judged['attribute'])} is {judged['printed']} in the "
        f"paper, but {now} on the same questions{_by_tests(now, judged)}. Δ AD is "
        f"{decimal(ad['recomputed'], 3)}, published {ad['printed'].replace('-', MINUS)}"
    )


def _by_tests(judgement: str, row: pd.Series) -> str:
    """State whether intervals and tests confirm a win-win based on the figures alone."""
    if judgement != WIN_WIN:
        return ""
    if row.verdict == WIN_WIN:
        return " (significant by intervals and tests)"
    return f" (by intervals and tests: {row.verdict})"


def _tested(_: pd.DataFrame, there: pd.DataFrame, asked: int, __: Labels) -> list[str]:
    same = int((there["status"] == SAME).sum())
    word = CONFIRMED if same == len(there) else NOT_CONFIRMED
    return [
        word if len(there) == asked else f"{word}, as far as recomputed",
        f"Of {counted(asked, 'published p-value')} {len(there)} can be recomputed from this "
        f"release, and {same} of those agree.",
    ]


#: How the conclusion of each published table is checked.
_CONCLUDE: dict[str, Callable[[pd.DataFrame, pd.DataFrame, int, Labels], list[str]]] = {
    "fairmedqa-1": _larger_than_others,
    "fairmedqa-2": _win_wins,
    "fairmedqa-3": _tested,
    "amqa-2": _tested,
}
