"""Which printed conclusions stand, in sentences whose figures come from the release."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pandas as pd

from fairstats._lib.formatting import MINUS, decimal, escape_markdown
from fairstats.comparisons.change_verdicts import WIN_WIN
from fairstats.replication.printed_tables import BENCHMARK
from fairstats.replication.recomputed import DIFFERS, NO_ANSWERS, SAME

STANDS, FALLS, UNKNOWN = "Stands", "Does not stand", "Not known"
Labels = Mapping[str, str]


def conclusions(table: pd.DataFrame, labels: Labels) -> str:
    """Each printed table's conclusion and whether it stands, as a list in Markdown.

    Parameters
    ----------
    table : pandas.DataFrame
        From `fairstats.replication.recomputed.replicate`.
    labels : mapping of str to str
        The attributes' labels.
    """
    lines = []
    for name, (said, conclude) in _CONCLUSIONS.items():
        rows = table[table["published"] == name]
        for word, text, *details in conclude(rows, labels):
            lines.append(f"- **{word}**: {escape_markdown(f'{said}. {text}')}")
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
        STANDS if least > 0 else FALLS,
        f"{len(there)} of the {int(ours.sum())} figures on FairMedQA can be recomputed; the least "
        f"is {decimal(least, 3)} above what is printed for the other benchmarks. What that says, "
        "and what not, is on the page Benchmarks.",
    ]


def _win_wins(rows: pd.DataFrame, labels: Labels) -> Iterator[list[str]]:
    asked = rows[rows["metric"] == "win_win"]
    judged = asked[asked["status"] != NO_ANSWERS]
    if judged.empty:
        yield [UNKNOWN, _NO_ANSWERS]
        return
    same, other = (judged[judged["status"] == status] for status in (SAME, DIFFERS))
    word = STANDS if other.empty else FALLS if same.empty else f"{STANDS} in part"
    text = (
        f"Of {len(asked)} judgements {len(judged)} can be recomputed, both versions asked the same "
        f"questions: {len(same)} come out as printed, {len(other)} do not."
    )
    why = other["explained_by"].dropna().unique()
    if len(why):
        text += f" What is printed of those is explained by: {', '.join(why)}."
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
    """One judgement that comes out otherwise, with the change of AD."""
    keys = ["row", "attribute"]
    own = rows[(rows[keys] == judged[keys]).all(axis=1)].set_index("metric")
    ad = own.loc["delta_ad"]
    now = WIN_WIN if judged["recomputed"] else f"not {WIN_WIN}"
    return (
        f"{judged['model_old']} → {judged['model']}: "
        f"{labels.get(judged['attribute'], judged['attribute'])} is printed as "
        f"{judged['printed']}, and like for like is {now}{_by_tests(now, judged)}; Δ AD is "
        f"{decimal(ad['recomputed'], 3)}, printed {ad['printed'].replace('-', MINUS)}"
    )


def _by_tests(judgement: str, row: pd.Series) -> str:
    """What intervals and tests add to a win-win that is read off the figures."""
    if judgement != WIN_WIN:
        return ""
    return (
        " (intervals and tests carry it)"
        if row.verdict == WIN_WIN
        else (f" (by intervals and tests: {row.verdict})")
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
        f"Of {len(tests)} printed p-values {len(there)} can be recomputed from this release; of "
        f"those {same} agree, so that they say what was printed."
    )
    word = STANDS if same == len(there) else FALLS
    return [word if len(there) == len(tests) else f"{word}, as far as it can be recomputed", text]


_NO_ANSWERS = "This release holds no answers to recompute it from."
#: What each printed table is there to say, and what becomes of it.
_CONCLUSIONS: dict[str, tuple[str, Callable[[pd.DataFrame, Labels], Iterator[list[str]]]]] = {
    "fairmedqa-1": (
        "FairMedQA, table 1: one model shows a larger AD on FairMedQA than on CPV and CPV-USMLE",
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
        "AMQA, table 2: accuracy differs between the groups of each pair, and is not shown to "
        "differ between original and neutralized vignettes",
        _significances,
    ),
}
