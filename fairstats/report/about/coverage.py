"""Show the true coverage of the intervals; its figures come from data/coverage.csv."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import level, percent
from fairstats._lib.installation import resource
from fairstats.report.tables import written_table

if TYPE_CHECKING:
    from great_tables import GT
    from great_tables._text import BaseText

#: 1 − the confidence level of all intervals in the file.
ALPHA = 0.05
#: The coverage that an interval of that level should have everywhere.
LEAST, MOST = 0.94, 0.975
#: The mean accuracy for intervals that depend on the accuracies, in the table of points.
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
#: The interval that a release uses for each estimand.
DEFAULTS = {"proportion": "wilson", "difference": "tango", "cohens_h": "arcsine"}


def read_coverage() -> pd.DataFrame:
    """Read the coverage of each interval at each point, as benchmarks/coverage.py wrote it."""
    return pd.read_csv(resource("data", "coverage.csv"))


def coverage_text(coverage: pd.DataFrame) -> str:
    """State at which points the default intervals miss their level, and the computation."""
    sizes, accuracies = coverage["n"], coverage.loc[coverage["method"] == "newcombe", "p"]
    defaults = {e: _rows(coverage, e, method) for e, method in DEFAULTS.items()}
    lines = [
        f"- {_ESTIMANDS[estimand]}, {_METHODS[DEFAULTS[estimand]]}: {_misses(rows)}"
        for estimand, rows in defaults.items()
    ]
    points = sum(map(len, defaults.values()))
    enough = sum(int((rows["coverage"] >= LEAST).sum()) for rows in defaults.values())
    return (
        f"The default {level(ALPHA)} intervals contain the true value with at least "
        f"{_share(LEAST)} probability at {enough} of {points} points. A point is a combination of "
        "a number of pairs and probabilities. The intervals should cover "
        f"{_share(LEAST)} to {_share(MOST)} everywhere:\n\n" + "\n".join(lines) + "\n\n"
        "Coverage is the probability that an interval contains the true value. It is not "
        "simulated. The probabilities of all tables of counts whose interval contains the true "
        "value are summed (`benchmarks/coverage.py`). The omitted tables have a total probability "
        f"below 10^−12^. The points have {sizes.min()} to {sizes.max()} pairs. p10 and p01 are the "
        "probabilities that only *a* is right and that only *b* is right, from nearly fair to "
        "strongly biased. The intervals of Newcombe and of Cohen's h also depend on the "
        f"accuracies. There p is the mean of the two, {_share(accuracies.min())} to "
        f"{_share(accuracies.max())}.\n\n{_why_not(coverage)}"
    )


def _misses(rows: pd.DataFrame) -> str:
    """Name the points with too low coverage of an interval, and count those with too high."""
    below = rows[rows["coverage"] < LEAST].sort_values("coverage")
    above = rows[rows["coverage"] > MOST]
    points = [f"{percent(row['coverage'])} at {_point(row)}" for _, row in below.iterrows()]
    text = f"below {_share(LEAST)} at {len(below)} of {len(rows)} points"
    if points:
        text += f" ({'; '.join(points)})"
    text += f", above {_share(MOST)} at {len(above)}"
    if len(above):
        kind = "failures" if rows["p10"].isna().all() else "discordant pairs"
        text += f" (all with at most {_events(above).max():.3g} expected {kind})"
    return text + "."


def _events(rows: pd.DataFrame) -> pd.Series:
    """Compute expected discordant pairs, or expected failures for a single share."""
    return rows["n"] * (rows["p10"] + rows["p01"]).fillna(1 - rows["p"])


def _why_not(coverage: pd.DataFrame) -> str:
    """State why two common intervals of the difference are not the default."""
    found = []
    for method in ("wald", "bootstrap"):
        rows = _rows(coverage, "difference", method)
        worst = rows.loc[rows["coverage"].idxmin()]
        below = (rows["coverage"] < LEAST).sum()
        found.append(
            f"{_METHODS[method]} down to {percent(worst['coverage'])} ({_point(worst)}; below "
            f"{_share(LEAST)} at {below} of {len(rows)} points)"
        )
    return (
        f"Two common intervals of the difference cover too rarely to be the default: {found[0]}, "
        f"and {found[1]}. If no pair is discordant, Wald's interval is the single point 0, and "
        "Tango's is used instead of the bootstrap."
    )


def range_table(coverage: pd.DataFrame) -> GT:
    """Show each method's lowest and highest coverage, and the points where they occur."""
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
        "low_at": "At point",
        "high": "Highest",
        "high_at": "At point",
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
    """Show the coverage of all methods for pairs at the largest n, one row per p10 and p01."""
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
    """Return coverage at the largest n: rows (p10, p01), columns (estimand, method)."""
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
    """Caption the table of points."""
    return (
        f"Coverage with {coverage['n'].max()} pairs. Mean accuracy for Newcombe and Cohen's h: "
        f"{_share(ACCURACY)}. All points are in data/coverage.csv."
    )


def _methods(coverage: pd.DataFrame) -> dict[str, list[str]]:
    """List each estimand's methods in the order of `_METHODS`, the default first."""
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
    """Format a declared share in percent, without rounding."""
    return level(1 - p)
