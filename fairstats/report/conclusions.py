"""State which published conclusions the release's figures confirm."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pandas as pd

from fairstats._lib.formatting import MINUS, decimal, escape_markdown
from fairstats.comparisons.change_verdicts import WIN_WIN
from fairstats.replication.printed_tables import BENCHMARK
from fairstats.replication.replicate import DIFFERS, NO_ANSWERS, SAME

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
