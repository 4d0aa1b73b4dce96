"""Keys that may be wrong: items on which most models agree on one wrong option."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fairstats.answers.engine_frames import OpenAnswers
from fairstats.benchmarks.declaration import BASELINE
from fairstats.vignettes.findings import Row, findings_frame, flags_frame, share_row

#: Version name for all versions combined.
ALL_VERSIONS = ""
#: With fewer models, a finding's note says that they are few.
FEW_MODELS = 10
SHARED_WRONG = "most models give the same wrong option"
_ASPECT = "keys"
_SET = ["benchmark_version", "model", "strategy"]


def key_findings(opened: OpenAnswers, *, alpha: float = 0.05) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the share of items on which most models agree on one wrong option, and these items.

    Parameters
    ----------
    opened : OpenAnswers
        The answers; a missing answer counts neither as right nor as wrong.
    alpha : float
        1 − confidence level.

    Returns
    -------
    findings : pandas.DataFrame
        `fairstats.vignettes.findings.FINDING_COLUMNS`, aspect ``keys``, quantity ``share sharing a
        wrong option`` with Wilson's interval, for each version and, with an empty version, over all
        versions if there are several.
    flags : pandas.DataFrame
        `fairstats.vignettes.findings.FLAG_COLUMNS`: these items, over all versions of a benchmark.

    Notes
    -----
    An item counts if more than half of the answers, by at least two models, are the same wrong
    option. Only the original and the neutralized text are used, or all variants if neither was
    asked: adversarial variants are meant to mislead.
    """
    names = ["benchmark", *_SET, "item_id", "attribute", "group", "answer", "answer_key"]
    answers = opened.frame.select(*names).collect().to_pandas()
    answers = answers.astype(dict.fromkeys([n for n in names if n != "answer"], "str"))
    rows: list[Row] = []
    flags: list[dict[str, str]] = []
    for benchmark, own in answers.groupby("benchmark", sort=True):
        scopes = [(str(version), part) for version, part in own.groupby("benchmark_version")]
        if len(scopes) > 1:
            scopes.append((ALL_VERSIONS, own))
        for version, part in sorted(scopes, key=lambda scope: scope[0]):
            answered = part.loc[part["answer"].notna(), "item_id"].unique()
            shared = _shared_wrong(part)
            unit = {"aspect": _ASPECT, "benchmark": benchmark, "benchmark_version": version}
            row = share_row(pd.Series(answered).isin(shared["item_id"]), alpha)
            note = f"{len(shared)} items; {_asked(part)}"
            quantity = {"measure": "key", "quantity": "share sharing a wrong option", "note": note}
            rows.append(unit | quantity | row)
        # The last scope is that of all versions.
        flags += [_flag(item) for item in _shared_wrong(scopes[-1][1]).to_dict("records")]
    return findings_frame(rows), flags_frame(flags)


def _texts(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the answers to the original and neutralized texts, or to all variants as one text."""
    texts = answers[answers["attribute"] == BASELINE]
    return texts if len(texts) else answers.assign(attribute="", group="")


def _shared_wrong(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the items with one wrong option in more than half of the answers."""
    texts = _texts(answers)
    there = texts[texts["answer"].notna()]
    by_text = ["item_id", "group"]
    wrong = (
        there[there["answer"] != there["answer_key"]]
        .groupby([*by_text, "answer"], as_index=False)
        .agg(times=("model", "size"), by=("model", "nunique"))
        .sort_values(["times", "answer"], ascending=[False, True])
        .drop_duplicates(by_text)
    )
    table = wrong.groupby("item_id").agg(
        option=("answer", "first"),
        options=("answer", "nunique"),
        texts=("group", "size"),
        times=("times", "sum"),
        by=("by", "min"),
    )
    of_item = there.assign(right=there["answer"] == there["answer_key"]).groupby("item_id")
    table = table.join(
        of_item.agg(
            attribute=("attribute", "first"),
            key=("answer_key", "first"),
            right=("right", "sum"),
            answers=("right", "size"),
        )
    )
    asked = texts.groupby("item_id").agg(
        all_texts=("group", "nunique"), models=("model", "nunique")
    )
    table = table.join(asked)
    # Both texts have to agree on the option.
    alike = (table["options"] == 1) & (table["texts"] == table["all_texts"])
    return table[alike & (table["by"] > 1) & (table["times"] > table["answers"] / 2)].reset_index()


def _flag(item: dict[str, Any]) -> dict[str, str]:
    return {
        "aspect": _ASPECT,
        "item_id": item["item_id"],
        "attribute": item["attribute"],
        "flag": SHARED_WRONG,
        "detail": f"key {item['key']}: {item['right']} of {item['answers']} answers by "
        f"{item['models']} models are right, {item['option']} is given {item['times']} times",
    }


def _asked(answers: pd.DataFrame) -> str:
    """Return which texts were asked, and how many answer sets and models there are."""
    baseline = (answers["attribute"] == BASELINE).any()
    texts = "original and neutralized text" if baseline else "all variants"
    sets, models = len(answers.drop_duplicates(_SET)), answers["model"].nunique()
    few = ", which are few" if models < FEW_MODELS else ""
    return (
        f"one wrong option is more than half of the answers, on {texts}; {sets} answer "
        f"set{'s' * (sets != 1)} of {models} model{'s' * (models != 1)}{few}"
    )
