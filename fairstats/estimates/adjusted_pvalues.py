"""Adjust the p-values of McNemar's test over their families, by Holm's or another procedure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.row_groups import row_keys, text_array
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import BASELINE, POOLED, Benchmark
from fairstats.counts.outcomes import PAIR_COLUMNS
from fairstats.estimates.table import PRIMARY_TEST, Rows, is_mcnemar
from fairstats.inference.multiplicity import AdjustMethod, adjust_pvalues


def add_adjusted(
    columns: Rows,
    known: Mapping[str, Benchmark],
    adjust: AdjustMethod | Literal["max_t"],
    joint: pd.Series | None,
) -> None:
    """Add adjusted p-values to the estimates.

    If `adjust` is "max_t", `joint` holds the adjusted p-values by `PAIR_COLUMNS`.
    """
    by_pair = {} if joint is None else dict(zip(joint.index, joint, strict=True))
    keys, family = row_keys(columns, PAIR_COLUMNS), families(columns, known)
    for test in (PRIMARY_TEST, "mcnemar exact"):
        tests = np.flatnonzero(is_mcnemar(columns, test))
        for name in dict.fromkeys(family[tests]):
            if name is None:
                continue
            rows = tests[family[tests] == name]
            p_values = columns["p_value"][rows]
            if adjust != "max_t":
                columns["p_adjusted"][rows] = adjust_pvalues(p_values, method=adjust)
            elif joint is not None:
                # Random flips can give slightly less than the exact test's p-value.
                adjusted = [by_pair.get(keys[row], np.nan) for row in rows]
                columns["p_adjusted"][rows] = np.maximum(adjusted, p_values)
            columns["adjust_method"][rows] = f"{adjust} over {len(rows)} tests of {name}"


def families(pairs: pd.DataFrame | Rows, known: Mapping[str, Benchmark]) -> npt.NDArray[np.object_]:
    """Name the family of tests over which each pair's p-value is adjusted.

    Parameters
    ----------
    pairs : pandas.DataFrame or dict of str to ndarray
        With the columns of `UNIT_COLUMNS` and ``attribute``.
    known : mapping of str to Benchmark
        The benchmarks by name; `Benchmark.family` defines the extent of a family.

    Returns
    -------
    ndarray of object
        E.g. ``"the board fairmedqa, gpt-agent, plain"``. Pooled pairs repeat the evidence of the
        demographic ones, so they form a separate family. None for the baseline pair, which is not
        tested for a disparity.
    """
    names = []
    extents = {name: known[name].family for name in set(text_array(pairs["benchmark"]))}
    for name, version, model, strategy, attribute in row_keys(pairs, (*UNIT_COLUMNS, "attribute")):
        board = f"{name}, {version}, {strategy}"
        family = {
            "model": f"the answer set {board}, {model}",
            "board": f"the board {board}",
            "release": "all analysed answers",
        }[extents[name]]
        pooled = ", pooled" if attribute == POOLED else ""
        names.append(None if attribute == BASELINE else family + pooled)
    return np.array(names, dtype=object)
