"""The methods page's part on coverage; its figures come from data/coverage.csv."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import level, percent
from fairstats._lib.resources import resource
from fairstats.report.tables import written_table

if TYPE_CHECKING:
    from great_tables import GT
    from great_tables._text import BaseText

#: 1 − the level of all intervals in the file.
ALPHA = 0.05
#: The coverage that an interval of that level should have everywhere.
LEAST, MOST = 0.94, 0.975
#: The mean accuracy at which the table of points shows what depends on the accuracies.
ACCURACY = 0.75

_ESTIMANDS = {
    "proportion": "Accuracy, CFR",
    "difference": "Accuracy difference",
    "cohens_h": "Cohen's h",
}
_METHODS = {
    "wilson": "Wilson",
    "clopper_pearson": "Clopper–Pearson",
    "jeffreys": "Jeffreys",
    "tango": "Tango",
    "bonett_price": "Bonett–Price",
    "newcombe": "Newcombe",
    "wald": "Wald",
    "bootstrap": "BCa bootstrap",
    "arcsine": "arcsine, paired",
}
#: The method of each estimand in a release.
DEFAULTS = {"proportion": "wilson", "difference": "tango", "cohens_h": "arcsine"}


def read_coverage() -> pd.DataFrame:
    """The coverage of each interval at each point, as benchmarks/coverage.py wrote it."""
    return pd.read_csv(resource("data", "coverage.csv"))


def coverage_text(coverage: pd.DataFrame) -> str:
    """How coverage was computed, and where the defaults miss their level, in Markdown."""
    sizes, accuracies = coverage["n"], coverage.loc[coverage["method"] == "newcombe", "p"]
    lines = []
    for estimand, method in DEFAULTS.items():
        misses = _misses(_rows(coverage, estimand, method))
        lines.append(f"- {_ESTIMANDS[estimand]}, {_METHODS[method]}: {misses}")
    return (
        "An interval's coverage is the probability that it holds the truth. For these "
        f"{level(ALPHA)} intervals it is not simulated: the probabilities of all tables of counts "
        "whose interval holds the truth are summed (`benchmarks/coverage.py`; the tables left out "
        f"have a total probability below 10^−12^). The points have {sizes.min()} to {sizes.max()} "
        "pairs, and p10 and p01, the probabilities that only *a* and only *b* is right, from "
        "near-fair to strongly biased. Newcombe's interval and that of Cohen's h depend on the "
        f"accuracies too; there p is the mean of the two, {_share(accuracies.min())} to "
        f"{_share(accuracies.max())}.\n\n"
        f"A default should cover {_share(LEAST)} to {_share(MOST)} everywhere. Those of the "
        "releases are\n\n" + "\n".join(lines) + f"\n\n{_why_not(coverage)}"
    )


def _misses(rows: pd.DataFrame) -> str:
    """Where an interval covers too rarely, point by point, and where too often."""
    below = rows[rows["coverage"] < LEAST].sort_values("coverage")
    above = rows[rows["coverage"] > MOST]
    points = [f"{percent(row['coverage'])} at {_point(row)}" for _, row in below.iterrows()]
    text = f"below {_share(LEAST)} at {len(below)} of {len(rows)} points"
    if points:
        text += f" ({'; '.join(points)})"
    text += f"; above {_share(MOST)} at {len(above)}"
    if len(above):
        kind = "failures" if rows["p10"].isna().all() else "discordant pairs"
        text += f", all with at most {_events(above).max():.3g} expected {kind}"
    return text + "."


def _events(rows: pd.DataFrame) -> pd.Series:
    """Expected discordant pairs, or failures where there are no pairs."""
    return rows["n"] * (rows["p10"] + rows["p01"]).fillna(1 - rows["p"])


def _why_not(coverage: pd.DataFrame) -> str:
    """Why two usual intervals of the difference are not the default."""
    found = []
    for method in ("wald", "bootstrap"):
        rows = _rows(coverage, "difference", method)
        worst = rows.loc[rows["coverage"].idxmin()]
        below = (rows["coverage"] < LEAST).sum()
        found.append(
            f"{_METHODS[method]} down to {percent(worst['coverage'])} ({_point(worst)}), below "
            f"{_share(LEAST)} at {below} of {len(rows)} points"
        )
    return (
        f"Two usual intervals of the difference cover too rarely to be the default: {found[0]}; "
        f"{found[1]}. Wald's is a point, 0, where no pair is discordant, and Tango's stands in for "
        "the bootstrap there."
    )


def range_table(coverage: pd.DataFrame) -> GT:
    """Each method's lowest and highest coverage, and where."""
    rows = []
    for estimand, methods in _methods(coverage).items():
        for method in methods:
            own = _rows(coverage, estimand, method)
            low, high = (own.loc[own["coverage"].agg(which)] for which in ("idxmin", "idxmax"))
            default = " (default)" if method == DEFAULTS[estimand] else ""
            rows.append(
                {
                    "estimand": _ESTIMANDS[estimand],
                    "method": f"{_METHODS[method]}{default}",
                    "low": percent(low["coverage"]),
                    "low_at": _point(low),
                    "high": percent(high["coverage"]),
                    "high_at": _point(high),
                    "below": str((own["coverage"] < LEAST).sum()),
                    "above": str((own["coverage"] > MOST).sum()),
                    "points": str(len(own)),
                }
            )
    labels = {
        "low": "Lowest",
        "low_at": "at",
        "high": "Highest",
        "high_at": "at",
        "below": f"Below {_share(LEAST)}",
        "above": f"Above {_share(MOST)}",
        "points": "Points",
    }
    return written_table(
        rows,
        labels,
        name="coverage-range",
        stub="method",
        heading="Method",
        group="estimand",
        right=["low", "high", "below", "above", "points"],
    )


def point_table(coverage: pd.DataFrame) -> GT:
    """What every method for paired answers covers at the largest n, a row for each p10 and p01."""
    from great_tables import GT

    rows = at_largest_n(coverage)
    names = {f"{estimand}-{method}": (estimand, method) for estimand, method in rows.columns}
    shown = pd.DataFrame(
        {name: [percent(x) for x in rows[column]] for name, column in names.items()}
    )
    shown.insert(0, "p01", [f"{p01:g}" for _, p01 in rows.index])
    shown.insert(0, "p10", [f"{p10:g}" for p10, _ in rows.index])
    labels: dict[str, str | BaseText] = {
        name: _METHODS[method] if estimand == "difference" else _ESTIMANDS[estimand]
        for name, (estimand, method) in names.items()
    }
    return GT(shown, id="coverage-points").cols_label(cases=labels).cols_align("right")


def at_largest_n(coverage: pd.DataFrame) -> pd.DataFrame:
    """Coverage at the largest n: rows (p10, p01), columns (estimand, method)."""
    paired = coverage[
        (coverage["n"] == coverage["n"].max())
        & coverage["p10"].notna()
        & (coverage["p"].isna() | (coverage["p"] == ACCURACY))
    ]
    wide = paired.pivot(index=["p10", "p01"], columns=["estimand", "method"], values="coverage")
    order = [
        (estimand, method)
        for estimand, methods in _methods(coverage).items()
        for method in methods
        if (estimand, method) in wide
    ]
    return wide[order]


def points_caption(coverage: pd.DataFrame) -> str:
    """What the table of points shows."""
    return (
        f"Coverage with {coverage['n'].max()} pairs; Newcombe's and Cohen's h at a mean accuracy "
        f"of {_share(ACCURACY)}. Every point is in data/coverage.csv."
    )


def _methods(coverage: pd.DataFrame) -> dict[str, list[str]]:
    """Each estimand's methods in the order of their labels here, the default first."""
    return {
        estimand: [m for m in _METHODS if not _rows(coverage, estimand, m).empty]
        for estimand in _ESTIMANDS
    }


def _rows(coverage: pd.DataFrame, estimand: str, method: str) -> pd.DataFrame:
    return coverage[(coverage["estimand"] == estimand) & (coverage["method"] == method)]


def _point(row: pd.Series) -> str:
    named = {name: row[name] for name in ("n", "p", "p10", "p01") if pd.notna(row[name])}
    return ", ".join(f"{name}\u00a0=\u00a0{value:g}" for name, value in named.items())


def _share(p: float) -> str:
    """A given share in percent, with the decimals that it has."""
    return level(1 - p)
