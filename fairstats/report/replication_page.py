"""The page that sets printed figures beside recomputed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import MINUS, decimal, escape_html, escape_markdown, scientific
from fairstats.comparisons.change_verdicts import WIN_WIN
from fairstats.release.contents import Release
from fairstats.replication.printed_tables import BENCHMARK, PUBLISHED
from fairstats.replication.recomputed import DIFFERS, NO_ANSWERS, SAME
from fairstats.report.conclusions import conclusions
from fairstats.report.page_output import show_markdown, show_table
from fairstats.report.tables import cell_label, written_table

if TYPE_CHECKING:
    from great_tables import GT
    from great_tables._text import BaseText

# The printed columns; those that are not here are models.
_COLUMNS = {
    "cfr": "CFR",
    "ad": "AD",
    "mcnemar_p": "McNemar p",
    "cohens_h": "Cohen's h",
    "delta_accuracy": "Δ accuracy",
    "delta_cfr": "Δ CFR",
    "delta_ad": "Δ AD",
    "win_win": "Win-win",
    "p_bound": "McNemar p",
    "significance": "Significance",
}
_BY_TESTS, _EXPLAINED = "By tests", "Explained by"


def show_replication(release: Release) -> None:
    """What became of each printed figure, and which printed conclusions stand."""
    table = release.replication
    if table.empty:
        return
    show_markdown(f"::: lede\n{replication_summary(table)}\n:::")
    show_markdown(
        f"## Which printed conclusions stand\n\n{conclusions(table, attribute_labels(release))}"
    )
    for published in PUBLISHED:
        rows = table[table["published"] == published.name]
        title = escape_markdown(published.title)
        show_markdown(f"## {title}\n\n{counted(rows)}{_variant_sets(rows)}")
        show_table(
            replication_table(rows, release, name=published.name),
            caption=f"{published.title}: each printed figure beside the recomputed one",
            css_class="estimates changes",
            download="replication",
        )
    show_markdown(f"::: foot\n{_HOW_TO_READ}\n:::")


def replication_summary(table: pd.DataFrame) -> str:
    """How many printed figures are the same, differ or have no answers, and why they differ."""
    counts = table["status"].value_counts()
    same, differ = (int(counts.get(status, 0)) for status in (SAME, DIFFERS))
    text = (
        f"Of {len(table)} printed figures {same + differ or 'none'} can be recomputed from this "
        f"release's answers: {same or 'none'} {'is' if same == 1 else 'are'} the same, "
        f"{differ or 'none'} differ{'' if differ > 1 else 's'}."
    )
    explained = table.loc[table["status"] == DIFFERS, "explained_by"].value_counts()
    if differ:
        whole = int(explained.sum())
        text += f" {'All' if whole == differ else whole or 'None'} of these"
        text += " are explained" if whole != 1 else " is explained"
        how = "; ".join(f"“{said}” {n}" for said, n in explained.items())
        text += f" ({how})." if how else "."
    unreleased, elsewhere = _without_answers(table)
    if unreleased:
        text += f" The answers behind {unreleased} figures were never released."
    if elsewhere:
        text += f" Those behind {elsewhere} were, but are not in this release."
    return escape_markdown(text)


def counted(rows: pd.DataFrame) -> str:
    """How many cells of one table have which status."""
    counts = rows["status"].value_counts()
    text = f"{len(rows)} printed figures: {int(counts.get(SAME, 0))} the same, "
    text += f"{int(counts.get(DIFFERS, 0))} different"
    for n, why in zip(_without_answers(rows), ("released", "in this release"), strict=True):
        text += f", {n} without answers {why}" if n else ""
    return f"{text}."


def _without_answers(rows: pd.DataFrame) -> tuple[int, int]:
    """Figures without answers: those that nobody released, and those that were released."""
    released = rows.loc[rows["status"] == NO_ANSWERS, "released"]
    return int((~released).sum()), int(released.sum())


def _variant_sets(rows: pd.DataFrame) -> str:
    """Which rows are of which questions, where a table has several sets."""
    there = rows[rows["status"] != NO_ANSWERS]
    sets = there.groupby("benchmark_version", sort=False)["row"]
    if sets.ngroups < 2:
        return ""
    parts = [f"{version} for {', '.join(own.unique())}" for version, own in sets]
    text = (
        f" The rows follow from answers to different variant sets: {'; '.join(parts)}. Rows of "
        "two sets are not like for like."
    )
    return escape_markdown(text)


def attribute_labels(release: Release) -> dict[str, str]:
    """Each attribute's label; printed tables name attributes as FairMedQA's file does."""
    benchmark = release.benchmarks.get(BENCHMARK)
    return {} if benchmark is None else {a.name: a.label for a in benchmark.attributes.values()}


def replication_table(rows: pd.DataFrame, release: Release, *, name: str) -> GT:
    """One printed table, each of its cells with what was recomputed.

    Parameters
    ----------
    rows : pandas.DataFrame
        The cells of one published table, from `fairstats.replication.recomputed.replicate`.
    release : Release
        Names the benchmark's attributes.
    name : str
        The table's id, its own on the page.
    """
    from great_tables import html

    columns = {column: f"cell-{n}" for n, column in enumerate(rows["column"].unique())}
    table = []
    for _, own in rows.groupby(["row", "attribute", "group_a"], sort=False, dropna=False):
        first = own.iloc[0]
        cells = {columns[cell["column"]]: _cell(cell) for _, cell in own.iterrows()}
        table.append(
            {
                "row": _row_label(first),
                "pair": escape_html(_pair_label(first, release)),
                **cells,
                "verdict": _text_cell(_BY_TESTS, first["verdict"]),
                "explained": _text_cell(_EXPLAINED, _explanation(own)),
            }
        )
    frame = pd.DataFrame(table)
    # A column for what no row has would be empty.
    further = [column for column in ("verdict", "explained") if (frame[column] != "").any()]
    labels: dict[str, str | BaseText] = {"verdict": _BY_TESTS, "explained": _EXPLAINED}
    for text, column in columns.items():
        below = "<small>printed, recomputed</small>"
        labels[column] = html(f"{escape_html(_label(text))}<br>{below}")
    shown = [*columns.values(), *further]
    return written_table(
        frame,
        {column: labels[column] for column in shown},
        name=name,
        stub="pair",
        heading="Pair",
        group="row",
        html=["pair", *shown],
    )


def _label(column: str) -> str:
    return _COLUMNS.get(column, column)


def _row_label(cell: pd.Series) -> str:
    if pd.isna(cell["model_old"]):
        return str(cell["row"])
    return f"{cell['model_old']} → {cell['model']}"


def _pair_label(cell: pd.Series, release: Release) -> str:
    """The attribute with its groups; without them where the benchmark is not of the release."""
    benchmark = release.benchmarks.get(cell["benchmark"])
    if benchmark is not None and cell["attribute"] in benchmark.attributes:
        attribute = benchmark.attributes[cell["attribute"]]
        return f"{attribute.label}: {attribute.pair_label((cell['group_a'], cell['group_b']))}"
    return attribute_labels(release).get(cell["attribute"], str(cell["attribute"]))


def _cell(cell: pd.Series) -> str:
    """The printed figure, the recomputed one, and how they compare in words."""
    printed = str(cell["printed"])
    number = printed.replace("-", MINUS) if printed.startswith("-") else printed
    shown = f"{cell_label(_label(cell['column']))}<strong>{escape_html(number)}</strong><br>"
    if cell["status"] == NO_ANSWERS:
        why = "no answers here" if cell["released"] else "none released"
        return f'{shown}<small><span aria-hidden="true">–</span> {why}</small>'
    shown += f"{escape_html(_figure(cell, cell['recomputed']))}<br>"
    if cell["status"] == SAME:
        return f"{shown}{_marked('=', 'same', css='equivalent')}"
    words = "differs"
    if pd.notna(cell["difference"]) and cell["metric"] != "win_win":
        words += f" by {decimal(cell['difference'], _places(cell))}"
    shown += _marked("≠", words, css="shown")
    if pd.notna(cell["explained_value"]):
        figure = escape_html(_figure(cell, cell["explained_value"]))
        shown += f"<br><small>explained: {figure}</small>"
    return shown


def _marked(mark: str, words: str, *, css: str) -> str:
    return f'<span class="verdict {css}"><span aria-hidden="true">{mark}</span> {words}</span>'


def _figure(cell: pd.Series, value: float) -> str:
    """A recomputed figure with two digits more than were printed, or the word for it."""
    if cell["metric"] == "win_win":
        return WIN_WIN if value else f"not {WIN_WIN}"
    return scientific(value) if cell["metric"] == "mcnemar" else decimal(value, _places(cell))


def _places(cell: pd.Series) -> int:
    return len(str(cell["printed"]).partition(".")[2]) + 2


def _explanation(own: pd.DataFrame) -> str | None:
    """What gives the printed figures of a row that the rule does not give."""
    said = own.loc[own["status"] == DIFFERS, "explained_by"].fillna("nothing that was tried")
    return "; ".join(said.unique()) or None


def _text_cell(label: str, text: object) -> str:
    if not isinstance(text, str):
        return ""
    # A sentence may wrap, a word or two need not.
    css = ' class="said"' if len(text) > 20 else ""
    return f"{cell_label(label)}<span{css}>{escape_html(text)}</span>"


_HOW_TO_READ = (
    "**How to read it.** A cell has the printed figure, below it the recomputed one, and whether "
    "the two agree in the printed decimals. All cells are recomputed by one rule: accuracy, AD and "
    "Cohen's h from each group's own answers, CFR and McNemar's exact test from the pairs with "
    "both (policy `available`); a model's figures on the variant set that its row follows from, "
    "which the papers do not name; a change from a model to its next version on one set for both. "
    "Where that does not give what is printed, other rules are tried, each different in one thing: "
    "the other variant set (of the older model), another policy for missing answers, another "
    "version of McNemar's test, digits cut off. *Explained by* names the first that gives it, and "
    "the cell has its figure. A win-win is what the paper calls one: accuracy and CFR up and AD "
    "down, in two decimals; *by tests* it takes that intervals and tests carry all three. Where a "
    "cell says *no answers here* they were released, but are not in this release."
)
