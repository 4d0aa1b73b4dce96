"""Whether pairs of answer sets match the versions that they are declared for."""

from __future__ import annotations

import math

import pandas as pd

from fairstats._lib.formatting import quoted
from fairstats.estimates.same_variants import (
    CANNOT_TELL,
    DIFFERENT,
    NO_VERDICT,
    ONE_VERSION,
    SAME,
    TWO_VERSIONS,
    SameVariants,
)
from fairstats.vignettes.tables import findings_frame, flags_frame

ASPECT = "variant sets"
_NONE = "none (pairs share answer sets)"


def variant_set_findings(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return findings from the table of `variant_sets`.

    Returns
    -------
    pandas.DataFrame
        `fairstats.vignettes.tables.FINDING_COLUMNS`. For each pair, the ``odds ratio`` and
        ``excess correlation`` of measure ``flips``; different sides are joined by " → ". Then, for
        each benchmark and declared relation (``group_a``), the means of ``matched correlation`` and
        ``crossed correlation`` over the pairs, and the shares judged ``same variants``, ``different
        variants`` and ``cannot tell``. Pairs share answer sets, so these have no interval. For a
        benchmark that does not declare ``same_variants_odds_ratio``, the shares are left out, and
        the notes give the reason.
    """
    rows = []
    for pair in pairs.to_dict("records"):
        one, other = ([pair[f"{name}_{side}"] for name in _SIDE] for side in "ab")
        texts = [" → ".join(dict.fromkeys(both)) for both in zip(one, other, strict=True)]
        keys = dict(zip(_SIDE, texts, strict=True))
        own = {
            "aspect": ASPECT,
            "measure": "flips",
            "benchmark": pair["benchmark"],
            **keys,
            "group_a": pair["declared"],
            "ci_level": pair["ci_level"],
            "n": pair["n"],
        }
        found = SameVariants(**{name: pair[name] for name in SameVariants.__dataclass_fields__})
        limits = {
            name: pair[name] for name in ("ci_low", "ci_high", "ci_method", "p_value", "test")
        }
        rows.append(
            own
            | {"quantity": "odds ratio", "estimate": found.odds_ratio, "note": found.sentence()}
            | limits
        )
        rows.append(
            own
            | {
                "quantity": "excess correlation",
                "estimate": found.excess,
                "ci_low": found.excess_low,
                "ci_high": found.excess_high,
                "ci_method": "t over items",
                "note": f"correlation of flips of the same attribute {_known(found.matched)}, of "
                f"different attributes of an item {_known(found.crossed)}",
            }
        )
    for (benchmark, declared), own in pairs.groupby(["benchmark", "declared"], sort=True):
        several = f"{len(own)} pairs of answer sets, {declared}"
        means = {f"{name} correlation": own[name].mean() for name in ("matched", "crossed")}
        shares = {name: (own["verdict"] == name).mean() for name in (SAME, DIFFERENT, CANNOT_TELL)}
        if (own["verdict"] == NO_VERDICT).all():
            shares = {}
            several += f"; {NO_VERDICT}: the benchmark does not declare same_variants_odds_ratio"
        rows += [
            {
                "aspect": ASPECT,
                "measure": "pairs",
                "quantity": quantity,
                "benchmark": benchmark,
                "group_a": declared,
                "estimate": estimate,
                "ci_method": _NONE,
                "n": len(own),
                "note": several,
            }
            for quantity, estimate in (means | shares).items()
        ]
    return findings_frame(rows)


_SIDE = ("benchmark_version", "model", "strategy")


def _known(correlation: float) -> str:
    return "not known" if math.isnan(correlation) else f"{correlation:.3f}"


def variant_set_flags(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs of answer sets with flips that contradict the declared versions."""
    against = ((pairs["declared"] == ONE_VERSION) & (pairs["verdict"] == DIFFERENT)) | (
        (pairs["declared"] == TWO_VERSIONS) & (pairs["verdict"] == SAME)
    )
    rows = []
    for pair in pairs[against].to_dict("records"):
        sides = " and ".join(
            f"{quoted(pair[f'model_{side}'], pair[f'strategy_{side}'])} "
            f"({pair[f'benchmark_version_{side}']})"
            for side in "ab"
        )
        found = SameVariants(**{name: pair[name] for name in SameVariants.__dataclass_fields__})
        flag = f"declared {pair['declared']}, by changes of answer {pair['verdict']}"
        rows.append({"aspect": ASPECT, "flag": flag, "detail": f"{sides}: {found.sentence()}"})
    return flags_frame(rows)
