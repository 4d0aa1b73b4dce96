"""The plot of a specification curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairstats.answers.strategies import strategy_label
from fairstats.estimates.specifications import CHOICES, SPECIFICATION_COLUMNS
from fairstats.report.page_output import DIM, INK
from fairstats.report.plot_parts import (
    VERDICT_COLOURS,
    Benchmarks,
    declared,
    pair_labels,
    plain,
    public_theme,
    require_columns,
    require_rows,
    signed,
)

if TYPE_CHECKING:
    from plotnine import ggplot

_PAIR = ["benchmark", "benchmark_version", "model", "attribute", "group_a", "group_b"]
_TITLES = {
    "missing": "Missing answers",
    "interval": "Interval",
    "test": "Test",
    "adjust": "Adjustment",
    "margin": "Margin",
    "strategy": "Prompt",
}
_NAMES = {
    "bonett_price": "Bonett–Price",
    "newcombe": "Newcombe",
    "tango": "Tango",
    "wald": "Wald",
    "midp": "mid-p",
    "asymptotic": "χ²",
    "asymptotic_cc": "χ², corrected",
    "holm": "Holm",
    "hommel": "Hommel",
    "bh": "Benjamini–Hochberg",
    "by": "Benjamini–Yekutieli",
}
# Panels have separate scales; the choices of panel k are at 1000 k, 1000 k + 1, …, so that a
# function of a scale's limits knows their names.
_STEP = 1000


def plot_specification(specifications: pd.DataFrame, *, benchmarks: Benchmarks = ()) -> ggplot:
    """Draw the specification curve of one pair of groups of one model.

    Parameters
    ----------
    specifications : pandas.DataFrame
        The rows of one pair and model in the table of `specification_curve`, with all prompts.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in, for the labels.

    Returns
    -------
    plotnine.ggplot
        Upper panel: the differences with their intervals, sorted, in the colour of the verdict.
        Lower panels: a mark for the choice of each specification. Choices that do not vary are
        left out.

    Raises
    ------
    ValueError
        If the rows are of several pairs or models, no difference is known, or a column is missing.

    References
    ----------
    Simonsohn, Simmons & Nelson (2020), Nature Human Behaviour 4:1208-1214.

    Examples
    --------
    >>> row = dict.fromkeys(SPECIFICATION_COLUMNS, "x") | dict(
    ...     strategy="plain", margin=0.02, estimate=0.1, ci_low=0.05, ci_high=0.15,
    ...     verdict="disparity")
    >>> table = pd.DataFrame([row | dict(missing=name) for name in ("available", "complete")])
    >>> plot_specification(table).data["panel"].unique().tolist()
    ['Difference,\\npoints', 'Missing answers']
    """
    from plotnine import (
        aes,
        element_blank,
        element_text,
        facet_grid,
        geom_hline,
        geom_linerange,
        geom_point,
        ggplot,
        guide_legend,
        guides,
        labs,
        scale_color_manual,
        scale_y_continuous,
        theme,
    )

    require_columns(
        specifications, SPECIFICATION_COLUMNS, name="specifications", source="specification_curve"
    )
    rows = specifications.dropna(subset=["estimate"])
    require_rows(rows, name="specifications", what="known difference")
    pairs = rows[_PAIR].drop_duplicates()
    if len(pairs) > 1:
        raise ValueError(
            f"specifications has {len(pairs)} pairs of groups or models; select the rows of one, "
            "e.g. table[(table['model'] == 'm') & (table['attribute'] == 'race')]"
        )
    verdict = rows["verdict"].fillna("no verdict")
    used = [name for name in VERDICT_COLOURS if (verdict == name).any()]
    rows = rows.assign(verdict=pd.Categorical(verdict, used))
    rows = rows.sort_values(["estimate", "ci_low", "verdict", *CHOICES], kind="stable")
    rows = rows.assign(place=np.arange(1, len(rows) + 1))
    difference = "Difference,\npoints"
    curve = rows[["place", "verdict"]].assign(
        panel=difference, **{n: 100 * rows[n] for n in ("estimate", "ci_low", "ci_high")}
    )
    names: dict[int, str] = {}
    parts, heights = [curve], [5.0]
    for number, (column, title) in enumerate(_TITLES.items(), 1):
        values = list(
            dict.fromkeys(
                rows[column].sort_values() if column == "margin" else specifications[column]
            )
        )
        if len(values) < 2:
            continue
        at = {value: _STEP * number - place for place, value in enumerate(values)}
        names |= {at[value]: plain(_name(column, value)) for value in values}
        parts.append(rows[["place", "verdict"]].assign(panel=title, choice=rows[column].map(at)))
        heights.append(0.35 + 0.55 * len(values))
    drawn = pd.concat(parts, ignore_index=True)
    drawn["panel"] = pd.Categorical(drawn["panel"], list(drawn["panel"].unique()))

    def breaks(limits: tuple[float, float]) -> list[float]:
        low, high = limits
        found = [value for value in names if low <= value <= high]
        if high > _STEP / 2 and found:
            return sorted(found)
        step = next(s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if (high - low) / s <= 6)
        return [step * n for n in range(int(np.ceil(low / step)), int(high / step) + 1)]

    def labels(values: Sequence[float] | Sequence[str]) -> list[str]:
        numbers = [float(value) for value in values]
        return [names.get(int(v), "") if v > _STEP / 2 else signed(v) for v in numbers]

    (pair,) = pair_labels(pairs, declared(pairs["benchmark"], benchmarks))
    model = plain(str(pairs["model"].iloc[0]))
    zero = pd.DataFrame({"panel": pd.Categorical([difference], drawn["panel"].cat.categories)})
    curve_size = max(0.15, min(1.2, 160 / len(rows)))
    plot = (
        ggplot(drawn, aes("place", color="verdict"))
        + geom_hline(aes(yintercept=0), data=zero.assign(at=0), color=DIM, size=0.4)
        + geom_linerange(
            aes(ymin="ci_low", ymax="ci_high"), size=curve_size, alpha=0.45, na_rm=True
        )
        + geom_point(aes(y="estimate"), size=min(1.6, max(0.5, 2.4 - len(rows) / 300)), na_rm=True)
        + geom_point(aes(y="choice"), shape="|", size=2.0, stroke=curve_size * 0.5, na_rm=True)
        + facet_grid("panel ~ .", scales="free_y", space={"x": [1], "y": heights})
        + scale_y_continuous(breaks=breaks, labels=labels, expand=(0, 0.6))
        + scale_color_manual({name: VERDICT_COLOURS[name] for name in used})
        + guides(color=guide_legend(override_aes={"size": 3, "alpha": 1, "shape": "o"}))
        + labs(
            title=f"{model}: {pair}",
            x=f"{len(rows):,} specifications, sorted by the difference",
            y="",
            color="",
        )
    )
    look = theme(
        plot_title=element_text(size=10, ha="left", color=INK),
        panel_grid_major_x=element_blank(),
        axis_text_x=element_blank(),
        strip_text_y=element_text(angle=0, color=DIM, size=8.5, ha="left"),
        panel_spacing=0.015,
    )
    return plot + public_theme(8, 1.3 + 0.32 * sum(heights)) + look


def _name(column: str, value: object) -> str:
    if column == "margin":
        return f"±{100 * float(str(value)):g} points"
    if column == "strategy":
        return strategy_label(str(value))
    return _NAMES.get(str(value), str(value))
