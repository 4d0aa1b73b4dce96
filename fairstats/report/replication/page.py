"""Compare published figures with recomputed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import MINUS, decimal, escape_html, escape_markdown, scientific
from fairstats.comparisons.change_verdicts import WIN_WIN
from fairstats.release.contents import Release
from fairstats.replication.printed_tables import BENCHMARK, PUBLISHED
from fairstats.replication.replicate import DIFFERS, NO_ANSWERS, SAME
from fairstats.report.page_output import closed, show_markdown, show_table
from fairstats.report.tables import cell_label, written_table

if TYPE_CHECKING:
    from great_tables import GT
    from great_tables._text import BaseText


# The published columns; the other columns are models.
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
_BY_TESTS, _EXPLAINED, _POSSIBLE = "By tests", "Explained by", "Possible at all"
_POSSIBLE_WORDS = {
    "possible": "possible",
    "unique": "possible",
    "possible_with_missing": "only with missing answers",
    "impossible": "not possible",
}


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
        show_markdown(_HOW_TO_READ)
    for published in PUBLISHED:
        rows = table[table["published"] == published.name]
        title = escape_markdown(published.title)
        show_markdown(f"## {title}\n\n{counted(rows)}{_variant_sets(rows)}")
        if published.pairs is not None:
            show_markdown(possible_text(rows, published.pairs))
        with closed(f"All {len(rows)} figures"):
            show_table(
                replication_table(rows, release, name=published.name),
                caption=f"{published.title}: each published figure and the recomputed one",
                css_class="estimates changes",
                download="replication",
            )


def _with_labels(release: Release) -> pd.DataFrame:
    """Return the release's table with labels instead of the codes of sets of vignettes."""
    table = release.replication
    benchmark = release.benchmarks.get(BENCHMARK)
    labels = {} if benchmark is None else benchmark.versions
    reasons = table["explained_by"].astype("object")
    for code, label in labels.items():
        reasons = reasons.map(
            lambda text, code=code, label=label: text.replace(f"variant set {code}", label),
            na_action="ignore",
        )
    sets = table["benchmark_version"].replace(dict(labels))
    return table.assign(explained_by=reasons.astype("object"), benchmark_version=sets)


def replication_summary(table: pd.DataFrame) -> str:
    """Count the published figures that match, differ or have no answers, and why they differ."""
    counts = table["status"].value_counts()
    same, differ = (int(counts.get(status, 0)) for status in (SAME, DIFFERS))
    text = (
        f"Of {len(table)} published figures, {same + differ or 'none'} can be recomputed from this "
        f"release's answers. {same or 'None'} {'is' if same == 1 else 'are'} the same, and "
        f"{differ or 'none'} differ{'' if differ > 1 else 's'}."
    )
    explained = table.loc[table["status"] == DIFFERS, "explained_by"].value_counts()
    if differ:
        whole = int(explained.sum())
        text += f" {'All' if whole == differ else f'{whole} of the' if whole else 'None of the'} "
        text += "differences can be explained"
        how = "; ".join(f"{reason} ({n})" for reason, n in explained.items())
        text += f": {how}." if how else "."
    unreleased, elsewhere = _without_answers(table)
    if unreleased:
        text += f" The answers behind {unreleased} figures were never released."
    if elsewhere:
        text += f" The answers behind {elsewhere} were released, but are not in this release."
    return escape_markdown(text)


def counted(rows: pd.DataFrame) -> str:
    """Count the cells of one table by status."""
    counts = rows["status"].value_counts()
    text = f"{len(rows)} published figures: {int(counts.get(SAME, 0))} the same, "
    text += f"{int(counts.get(DIFFERS, 0))} different"
    for n, why in zip(_without_answers(rows), ("released", "in this release"), strict=True):
        text += f", {n} without answers {why}" if n else ""
    return f"{text}."


def _without_answers(rows: pd.DataFrame) -> tuple[int, int]:
    """Count figures without answers: never released, and released but not in this release."""
    released = rows.loc[rows["status"] == NO_ANSWERS, "released"]
    return int((~released).sum()), int(released.sum())


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
    words = first["possible"].map(_POSSIBLE_WORDS)
    text = (
        f"The figures of {(words == 'possible').sum()} of {len(first)} rows can all be true of "
        f"{pairs} pairs without missing answers."
    )
    for word, sentence in (
        ("only with missing answers", "can be true only if answers are missing"),
        ("not possible", "cannot all be true, even if some answers are missing"),
    ):
        names = first.loc[words == word, "row"]
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
                "possible": _possible_cell(first),
            }
        )
    frame = pd.DataFrame(table)
    # Leave out columns that would be empty.
    further = [
        column for column in ("verdict", "explained", "possible") if (frame[column] != "").any()
    ]
    labels: dict[str, str | BaseText] = {
        "verdict": _BY_TESTS,
        "explained": _EXPLAINED,
        "possible": _POSSIBLE,
    }
    for text, column in columns.items():
        below = "<small>published, recomputed</small>"
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
    """Name the attribute, with its groups if the benchmark is in the release."""
    benchmark = release.benchmarks.get(cell["benchmark"])
    if benchmark is not None and cell["attribute"] in benchmark.attributes:
        attribute = benchmark.attributes[cell["attribute"]]
        return f"{attribute.label}: {attribute.pair_label((cell['group_a'], cell['group_b']))}"
    return attribute_labels(release).get(cell["attribute"], str(cell["attribute"]))


def _cell(cell: pd.Series) -> str:
    """Show the published figure, the recomputed one, and how they compare in words."""
    printed = str(cell["printed"])
    number = printed.replace("-", MINUS) if printed.startswith("-") else printed
    shown = f"{cell_label(_label(cell['column']))}<strong>{escape_html(number)}</strong><br>"
    if cell["status"] == NO_ANSWERS:
        why = "not in this release" if cell["released"] else "answers not released"
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
    """Format a recomputed figure with two digits more than published, or as a word."""
    if cell["metric"] == "win_win":
        return WIN_WIN if value else f"not {WIN_WIN}"
    return scientific(value) if cell["metric"] == "mcnemar" else decimal(value, _places(cell))


def _places(cell: pd.Series) -> int:
    return len(str(cell["printed"]).partition(".")[2]) + 2


def _explanation(own: pd.DataFrame) -> str | None:
    """Name the rules that give the published figures of a row, if the usual rule does not."""
    reasons = own.loc[own["status"] == DIFFERS, "explained_by"].fillna("not explained")
    return "; ".join(reasons.unique()) or None


def _possible_cell(cell: pd.Series) -> str:
    """Show whether the figures of a row can all be true, with the counts behind them."""
    if pd.isna(cell["possible"]):
        return ""
    shown = _text_cell(_POSSIBLE, _POSSIBLE_WORDS[cell["possible"]])
    note = cell["possible_note"]
    return f"{shown}<br><small>{escape_html(note)}</small>" if note else shown


def _text_cell(label: str, text: object) -> str:
    if not isinstance(text, str):
        return ""
    # Only long text may wrap.
    css = ' class="said"' if len(text) > 20 else ""
    return f"{cell_label(label)}<span{css}>{escape_html(text)}</span>"


_HOW_TO_READ = """\
Each cell has the published figure, the recomputed one below it, and whether they agree to the
published decimals. One rule is used for all cells:

- Accuracy, AD and Cohen's h use all answers of each group. CFR and McNemar's exact test use the
  pairs with both answers (policy `available`).
- A model's figures use the set of vignettes that its row is based on. The papers do not name it.
- A change from a model to its next version uses the same set for both.

If this rule does not give the published figure, other rules are tried. Each differs in one
respect: the other set of vignettes (for the older model), another policy for missing answers,
another version of McNemar's test, or digits cut off. *Explained by* names the first rule that
gives the published figure, and the cell has the figure by that rule.

A *win-win* is defined as in the paper: higher accuracy, higher CFR and lower AD, to two decimals.
*By tests* is the verdict if all three changes must also be significant.

*Possible at all* does not use any answers. It checks whether whole numbers of correct and equal
answers exist that give all figures of the row. *749 and 676 correct* are the groups' correct
answers that follow from the figures. AD, CFR, p and h do not show which group is more accurate, or
whether more or fewer than half of the answers are correct: the more accurate reading is given, with
the larger number first. *Only with missing answers* gives the fewest missing answers that fit. A
row that is possible can still be wrong.

*Not in this release* means that the answers were released, but are not part of this release."""


CONFIRMED, NOT_CONFIRMED, UNKNOWN = "Confirmed", "Not confirmed", "Unknown"
Labels = Mapping[str, str]


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
    for name, (conclusion, conclude) in _CONCLUSIONS.items():
        rows = table[table["published"] == name]
        for word, text, *details in conclude(rows, labels):
            lines.append(f"- **{word}**: {escape_markdown(f'{conclusion}. {text}')}")
            lines += [f"    - {escape_markdown(detail)}" for detail in details]
    return "\n".join(lines)


def _larger_than_others(rows: pd.DataFrame, _: Labels) -> Iterator[list[str]]:
    ours = rows["benchmark"] == BENCHMARK
    there = rows[ours & (rows["status"] != NO_ANSWERS)]
    if there.empty:
        yield [UNKNOWN, _NO_ANSWERS]
        return
    keys = ["model", "attribute"]
    highest = rows[~ours].groupby(keys)["printed_value"].max()
    least = (there.set_index(keys)["recomputed"] - highest).min()
    yield [
        CONFIRMED if least > 0 else NOT_CONFIRMED,
        f"{len(there)} of the {int(ours.sum())} figures on FairMedQA can be recomputed. The "
        f"smallest is {decimal(least, 3)} above the figures published for the other benchmarks.",
    ]


def _win_wins(rows: pd.DataFrame, labels: Labels) -> Iterator[list[str]]:
    asked = rows[rows["metric"] == "win_win"]
    judged = asked[asked["status"] != NO_ANSWERS]
    if judged.empty:
        yield [UNKNOWN, _NO_ANSWERS]
        return
    same, other = (judged[judged["status"] == status] for status in (SAME, DIFFERS))
    word = CONFIRMED if other.empty else NOT_CONFIRMED if same.empty else "Partly confirmed"
    text = (
        f"Of {len(asked)} judgements {len(judged)} can be recomputed, with the same questions for "
        f"both versions: {len(same)} agree with the paper, {len(other)} do not."
    )
    why = other["explained_by"].dropna().unique()
    if len(why):
        text += f" The published judgements of those are explained by: {', '.join(why)}."
    turned = (_turned(row, rows, labels) for _, row in other.iterrows())
    yield [word, text, *turned, *_kept(same, labels)]


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
    return (
        " (significant by intervals and tests)"
        if row.verdict == WIN_WIN
        else f" (by intervals and tests: {row.verdict})"
    )


def _disparities(rows: pd.DataFrame, _: Labels) -> Iterator[list[str]]:
    yield _tested(rows[rows["metric"] == "mcnemar"])


def _significances(rows: pd.DataFrame, _: Labels) -> Iterator[list[str]]:
    yield _tested(rows[rows["column"] == "significance"])


def _tested(tests: pd.DataFrame) -> list[str]:
    there = tests[tests["status"] != NO_ANSWERS]
    if there.empty:
        return [UNKNOWN, _NO_ANSWERS]
    same = int((there["status"] == SAME).sum())
    text = (
        f"Of {len(tests)} published p-values {len(there)} can be recomputed from this release, and "
        f"{same} of those agree."
    )
    word = CONFIRMED if same == len(there) else NOT_CONFIRMED
    return [word if len(there) == len(tests) else f"{word}, as far as recomputed", text]


_NO_ANSWERS = "This release has no answers to recompute it from."
#: The conclusion of each published table, and the function that checks it.
_CONCLUSIONS: dict[str, tuple[str, Callable[[pd.DataFrame, Labels], Iterator[list[str]]]]] = {
    "fairmedqa-1": (
        "FairMedQA, table 1: the same model shows a larger AD on FairMedQA than on CPV and "
        "CPV-USMLE",
        _larger_than_others,
    ),
    "fairmedqa-2": (
        "FairMedQA, table 2: which newer versions are more accurate and fairer at once",
        _win_wins,
    ),
    "fairmedqa-3": (
        "FairMedQA, table 3: every model's accuracy differs between the groups of each pair",
        _disparities,
    ),
    "amqa-2": (
        "AMQA, table 2: accuracy differs between the groups of each pair, but not significantly "
        "between original and neutralized vignettes",
        _significances,
    ),
}
