"""Keys that may be wrong: items on which most models agree on one wrong option."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.answers.engine_frames import OpenAnswers
from fairstats.benchmarks.declaration import BASELINE
from fairstats.counts.grid import NOT_ASKED, Grid, IntArray, item_grid
from fairstats.vignettes.tables import Row, findings_frame, flags_frame, share_row

#: Version name for all versions combined.
ALL_VERSIONS = ""
#: With fewer models, a finding's note says that they are few.
FEW_MODELS = 10
SHARED_WRONG = "most models give the same wrong option"
_ASPECT = "keys"


def key_findings(opened: OpenAnswers, *, alpha: float = 0.05) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the share of items on which most models agree on one wrong option, and these items.

    A missing answer counts neither as right nor as wrong.

    Returns
    -------
    findings : pandas.DataFrame
        `fairstats.vignettes.tables.FINDING_COLUMNS`, aspect ``keys``, quantity ``share sharing a
        wrong option`` with Wilson's interval, for each version and, with an empty version, over all
        versions if there are several.
    flags : pandas.DataFrame
        `fairstats.vignettes.tables.FLAG_COLUMNS`: these items, over all versions of a benchmark.

    Notes
    -----
    An item counts if more than half of the answers, by at least two models, are the same wrong
    option. Each answer set counts once: of several samples, each counts as its share. Only the
    original and the neutralized text are used, or all variants if neither was asked: adversarial
    variants are meant to mislead.
    """
    rows: list[Row] = []
    flags: list[dict[str, str]] = []
    for name, benchmark in sorted(opened.benchmarks.items()):
        grid = item_grid(opened, benchmark)
        versions = grid.units["benchmark_version"].to_numpy(dtype=object)
        scopes = {str(one): grid.of_units(versions == one) for one in np.unique(versions)}
        if len(scopes) > 1:
            scopes[ALL_VERSIONS] = grid
        for version, part in sorted(scopes.items()):
            answered = np.unique(part.items[(part.answers >= 0).any(axis=(1, 2))])
            shared = _shared_wrong(part)
            unit = {"aspect": _ASPECT, "benchmark": name, "benchmark_version": version}
            row = share_row(pd.Series(answered).isin(shared["item_id"]), alpha)
            note = f"{len(shared)} items; {_asked(part)}"
            quantity = {"measure": "key", "quantity": "share sharing a wrong option", "note": note}
            rows.append(unit | quantity | row)
            if version == ALL_VERSIONS or len(scopes) == 1:
                flags += [_flag(item) for item in shared.to_dict("records")]
    return findings_frame(rows), flags_frame(flags)


def _baseline(grid: Grid) -> list[int]:
    """Return the columns of the original and neutralized text that were asked."""
    columns = [place for (attribute, _), place in grid.columns.items() if attribute == BASELINE]
    asked = (grid.answers[:, columns] != NOT_ASKED).any(axis=(0, 2))
    return [place for place, there in zip(columns, asked, strict=True) if there]


def _shared_wrong(grid: Grid) -> pd.DataFrame:
    """Return the items with one wrong option in more than half of the answers, by name."""
    baseline = _baseline(grid)
    # The original and the neutralized text, or all variants as one text.
    texts = [[place] for place in baseline] or [list(range(grid.answers.shape[1]))]
    place, items = pd.factorize(grid.items, sort=True)
    # Of equally frequent options, the first by name counts.
    by_name = np.argsort(np.array(grid.options, dtype=object), kind="stable")
    shape = (len(items), len(texts), len(by_name))
    times, models_of = np.zeros(shape), np.zeros(shape, dtype=np.int32)
    asked = np.zeros(shape[:2], dtype=bool)
    right, answers = np.zeros((2, len(items)))
    models = np.zeros(len(items), dtype=np.int64)
    first = np.full(len(items), len(place))
    model = pd.factorize(grid.units["model"])[0][grid.unit]
    for own in (np.flatnonzero(model == one) for one in np.unique(model)):
        item, key = place[own], grid.key[own][:, None, None]
        was_asked = np.zeros(len(items), dtype=bool)
        for number, columns in enumerate(texts):
            given = grid.answers[own][:, columns]
            there = (given != NOT_ASKED).any(axis=(1, 2))
            asked[item[there], number] = was_asked[item[there]] = True
            answered, hit = (given >= 0), (given >= 0) & (given == key)
            # Of several samples, each counts as its share.
            share = answered / np.maximum(answered.sum(axis=2, keepdims=True), 1)
            for counts, what in ((answers, answered), (right, hit)):
                counts += _of_items(what * share, item, len(items))
            some = answered.any(axis=(1, 2))
            np.minimum.at(first, item[some], own[some])
            for rank, option in enumerate(by_name):
                found = _of_items(((given == option) & ~hit) * share, item, len(items))
                times[:, number, rank] += found
                models_of[:, number, rank] += found > 0
        models += was_asked
    # Shares such as thirds need not add up to exactly 1.
    times, right, answers = (counts.round(9) for counts in (times, right, answers))
    # The most frequent wrong option of each text.
    option, most = times.argmax(axis=2), times.max(axis=2)
    by = np.take_along_axis(models_of, option[:, :, None], axis=2)[:, :, 0]
    # All texts have to agree on the option.
    alike = ((most > 0) == asked).all(axis=1) & asked.any(axis=1)
    of_first = option[np.arange(len(items)), asked.argmax(axis=1)]
    alike &= ((option == of_first[:, None]) | ~asked).all(axis=1)
    number = most.sum(axis=1)
    least = np.where(asked, by, np.iinfo(np.int32).max).min(axis=1)
    kept = np.flatnonzero(alike & (least > 1) & (number > answers / 2))
    options = np.array(grid.options, dtype=object)
    return pd.DataFrame(
        {
            "item_id": items[kept],
            "attribute": BASELINE if baseline else "",
            "option": options[by_name[of_first[kept]]],
            "key": options[grid.key[first[kept]]],
            "times": number[kept],
            "right": right[kept],
            "answers": answers[kept],
            "models": models[kept],
        }
    )


def _of_items(
    shares: npt.NDArray[np.float64], item: IntArray, items: int
) -> npt.NDArray[np.float64]:
    """Add up the shares of each item's answers."""
    found = np.bincount(item, weights=shares.sum(axis=(1, 2)), minlength=items)
    return np.asarray(found, dtype=np.float64)


def _flag(item: dict[str, Any]) -> dict[str, str]:
    right, answers, times = (f"{round(item[n], 1):g}" for n in ("right", "answers", "times"))
    return {
        "aspect": _ASPECT,
        "item_id": item["item_id"],
        "attribute": item["attribute"],
        "flag": SHARED_WRONG,
        "detail": f"key {item['key']}: {right} of {answers} answers by "
        f"{item['models']} models are right, {item['option']} is given {times} times",
    }


def _asked(grid: Grid) -> str:
    """Return which texts were asked, and how many answer sets and models there are."""
    texts = "original and neutralized text" if _baseline(grid) else "all variants"
    asked = np.unique(grid.unit)
    sets, models = len(asked), grid.units["model"].take(asked).nunique()
    more = ", which are few" if models < FEW_MODELS else ""
    if (grid.answers[..., 1:] >= 0).any():
        more += "; several samples count as one answer"
    return (
        f"one wrong option is more than half of the answers, on {texts}; {sets} answer "
        f"set{'s' * (sets != 1)} of {models} model{'s' * (models != 1)}{more}"
    )
