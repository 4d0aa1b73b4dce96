"""Show the true coverage of the intervals; its figures come from data/coverage.csv."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import level, percent
from fairstats._lib.installation import resource
from fairstats.report.sensitivity import CHOICE_LABELS
from fairstats.report.templates import prose

if TYPE_CHECKING:
    from great_tables import GT

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
    **CHOICE_LABELS,
    "arcsine": "arcsine, paired",
}
#: The interval that a release uses for each estimand.
DEFAULTS = {"proportion": "wilson", "difference": "tango", "cohens_h": "arcsine"}


def read_coverage() -> pd.DataFrame:
    """Read the coverage of each interval at each point, as benchmarks/coverage.py wrote it."""
    return pd.read_csv(resource("data", "coverage.csv"))


def coverage_text(coverage: pd.DataFrame) -> str:
    """State at which points the default intervals miss their level, and the computation."""
    defaults = {
        f"{_ESTIMANDS[estimand]}, {_METHODS[method]}": _rows(coverage, estimand, method)
        for estimand, method in DEFAULTS.items()
    }
    sizes, accuracies = coverage["n"], coverage.loc[coverage["method"] == "newcombe", "p"]
    enough = pd.concat(defaults)["coverage"] >= LEAST
    return prose(
        "coverage",
        level=level(ALPHA),
        least=_share(LEAST),
        most=_share(MOST),
        enough=str(enough.sum()),
        points=str(len(enough)),
        misses="\n".join(f"- {name}: {_misses(rows)}" for name, rows in defaults.items()),
        fewest=str(sizes.min()),
        largest=str(sizes.max()),
        accuracies=f"{_share(accuracies.min())} to {_share(accuracies.max())}",
        rejected=", and ".join(_rejected(coverage, method) for method in ("wald", "bootstrap")),
    )


def _misses(rows: pd.DataFrame) -> str:
    """Name the points with too low coverage of an interval, and count those with too high."""
    below = rows[rows["coverage"] < LEAST].sort_values("coverage")
    above = rows[rows["coverage"] > MOST]
    points = [f"{percent(row['coverage'])} at {_point(row)}" for _, row in below.iterrows()]
    named = f" ({'; '.join(points)})" if points else ""
    text = f"below {_share(LEAST)} at {len(below)} of {len(rows)} points{named}"
    text += f", above {_share(MOST)} at {len(above)}"
    if len(above):
        single = rows["p10"].isna().all()
        # Expected discordant pairs, or expected failures for a single share.
        events = above["n"] * (1 - above["p"] if single else above["p10"] + above["p01"])
        kind = "failures" if single else "discordant pairs"
        text += f" (all with at most {events.max():.3g} expected {kind})"
    return f"{text}."


def _rejected(coverage: pd.DataFrame, method: str) -> str:
    """State why a common interval of the difference is not the default."""
    rows = _rows(coverage, "difference", method)
    worst = rows.loc[rows["coverage"].idxmin()]
    return (
        f"{_METHODS[method]} down to {percent(worst['coverage'])} ({_point(worst)}; below "
        f"{_share(LEAST)} at {(rows['coverage'] < LEAST).sum()} of {len(rows)} points)"
    )


def range_table(coverage: pd.DataFrame) -> GT:
    """Show each method's lowest and highest coverage, and the points where they occur."""
    from great_tables import GT

    own = _in_order(coverage)
    own = own.assign(below=own["coverage"] < LEAST, above=own["coverage"] > MOST)
    rows = own.groupby(["estimand", "method"], sort=False).agg(
        low=("coverage", "min"),
        low_at=("coverage", "idxmin"),
        high=("coverage", "max"),
        high_at=("coverage", "idxmax"),
        below=("below", "sum"),
        above=("above", "sum"),
        points=("below", "size"),
    )
    for column in ("low_at", "high_at"):
        rows[column] = [_point(own.loc[place]) for place in rows[column]]
    defaults = set(DEFAULTS.items())
    rows.insert(
        0, "label", [_METHODS[m] + " (default)" * ((e, m) in defaults) for e, m in rows.index]
    )
    rows.insert(0, "of", [_ESTIMANDS[estimand] for estimand, _ in rows.index])
    return (
        GT(rows, rowname_col="label", groupname_col="of", id="coverage-range")
        .tab_stubhead("Method")
        .cols_label(
            low="Lowest",
            low_at="At point",
            high="Highest",
            high_at="At point",
            below=f"Below {_share(LEAST)}",
            above=f"Above {_share(MOST)}",
            points="Points",
        )
        .fmt_percent(columns=["low", "high"], decimals=1)
        .cols_align("left", columns=["low_at", "high_at"])
    )


def point_table(coverage: pd.DataFrame) -> GT:
    """Show the coverage of all methods for pairs at the largest n, one row per p10 and p01."""
    from great_tables import GT

    rows = at_largest_n(coverage)
    shown = rows.set_axis([f"{estimand}-{method}" for estimand, method in rows.columns], axis=1)
    labels = [
        _METHODS[method] if estimand == "difference" else _ESTIMANDS[estimand]
        for estimand, method in rows.columns
    ]
    return (
        GT(shown.reset_index(), id="coverage-points")
        .cols_label(cases=dict(zip(shown.columns, labels, strict=True)))
        .fmt_percent(columns=list(shown.columns), decimals=1)
        .cols_align("right")
    )


def at_largest_n(coverage: pd.DataFrame) -> pd.DataFrame:
    """Return coverage at the largest n: rows (p10, p01), columns (estimand, method)."""
    paired = coverage[
        (coverage["n"] == coverage["n"].max())
        & coverage["p10"].notna()
        & (coverage["p"].isna() | (coverage["p"] == ACCURACY))
    ]
    columns = _in_order(paired)[["estimand", "method"]].drop_duplicates()
    wide = paired.pivot(index=["p10", "p01"], columns=["estimand", "method"], values="coverage")
    return wide[[tuple(column) for column in columns.to_numpy()]]


def points_caption(coverage: pd.DataFrame) -> str:
    """Caption the table of points."""
    return (
        f"Coverage with {coverage['n'].max()} pairs. Mean accuracy for Newcombe and Cohen's h: "
        f"{_share(ACCURACY)}. All points are in data/coverage.csv."
    )


def _in_order(coverage: pd.DataFrame) -> pd.DataFrame:
    """Order rows as the declarations here do."""
    places = [*_ESTIMANDS, *_METHODS].index
    by = ["estimand", "method"]
    return coverage.sort_values(by, key=lambda names: names.map(places), kind="stable")


def _rows(coverage: pd.DataFrame, estimand: str, method: str) -> pd.DataFrame:
    return coverage[(coverage["estimand"] == estimand) & (coverage["method"] == method)]


def _point(row: pd.Series) -> str:
    named = {name: row[name] for name in ("n", "p", "p10", "p01") if pd.notna(row[name])}
    return ", ".join(f"{name}\u00a0=\u00a0{value:g}" for name, value in named.items())


def _share(p: float) -> str:
    """Format a declared share in percent, without rounding."""
    return level(1 - p)
