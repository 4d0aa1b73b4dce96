"""The command that plans how many items a test needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairstats._lib.problems import InputError, Problem
from fairstats.commands._shared import (
    Alpha,
    AsCsv,
    AsJson,
    check_alpha,
    print_table,
    says_what_is_wrong,
)

if TYPE_CHECKING:
    import pandas as pd

commands = typer.Typer()

Test = Literal["mcnemar", "equivalence", "cfr", "models"]

# The options of each test: those needed, and those that may be given.
_NEEDED = {
    "mcnemar": ("discordant", "difference"),
    "equivalence": ("discordant", "difference", "margin"),
    "cfr": ("cfr",),
    "models": (),
}
_ALLOWED = {
    "mcnemar": (),
    "equivalence": (),
    "cfr": ("threshold", "width"),
    "models": (
        *("cfr", "new_cfr", "discordant"),
        *("difference", "new_discordant", "new_difference"),
    ),
}


@commands.command()
@says_what_is_wrong
def plan(
    test: Annotated[
        Test,
        typer.Option(
            help="mcnemar: a difference between two groups. equivalence: a difference within a "
            "margin. cfr: CFR above a threshold. models: a change from one model to another."
        ),
    ],
    discordant: Annotated[
        float | None,
        typer.Option(help="Share of pairs that only one group gets right, e.g. 0.12."),
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(help="True accuracy difference between the groups, e.g. 0.04 for 4 points."),
    ] = None,
    margin: Annotated[
        float | None, typer.Option(help="Equivalence margin, e.g. 0.02 for 2 points.")
    ] = None,
    cfr: Annotated[
        float | None, typer.Option(help="True CFR, e.g. 0.93; with models, that of the old model.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Threshold that CFR is to be shown to exceed, e.g. 0.9.")
    ] = None,
    width: Annotated[
        float | None, typer.Option(help="Target width of the interval of CFR, e.g. 0.04.")
    ] = None,
    new_cfr: Annotated[float | None, typer.Option(help="True CFR of the new model.")] = None,
    new_discordant: Annotated[
        float | None, typer.Option(help="As --discordant, for the new model.")
    ] = None,
    new_difference: Annotated[
        float | None, typer.Option(help="As --difference, for the new model.")
    ] = None,
    items: Annotated[
        list[int] | None,
        typer.Option(help="Number of items (default: several around the one needed). Repeatable."),
    ] = None,
    power: Annotated[float, typer.Option(help="Power to reach.")] = 0.8,
    alpha: Alpha = 0.05,
    plot: Annotated[Path | None, typer.Option(help="SVG file to draw the power curve in.")] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Plan how many items a test needs: print its power by number of items.

    With models, give --cfr and --new-cfr, or the discordant shares and differences of both. The two
    models are assumed to be independent. They usually fail on the same items, which gives more
    power. With CFR, --discordant is the share of items on which only one of the two models keeps
    its answer.
    """
    check_alpha(alpha)
    given = {
        "discordant": discordant,
        "difference": difference,
        "margin": margin,
        "cfr": cfr,
        "threshold": threshold,
        "width": width,
        "new_cfr": new_cfr,
        "new_discordant": new_discordant,
        "new_difference": new_difference,
    }
    there = {name: value for name, value in given.items() if value is not None}
    _check_options(test, there, power, items, plot)
    try:
        design = _DESIGNS[test](there, power, alpha)
        table = _table(design, items or _around(design.needed))
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        remedy = "see `fairstats plan --help`"
        raise InputError([Problem("the plan", str(error), remedy)]) from None
    print_table(table, as_json=as_json, as_csv=as_csv)
    if design.reached:
        typer.echo(design.reached, err=True)
    if plot is not None:
        from fairstats._lib.atomic_files import whole_file
        from fairstats.report.power_plot import power_svg

        if design.power is None:
            remedy = "give --threshold, or remove --plot"
            raise InputError([Problem("--plot", "needs a test, to draw its power", remedy)])
        most = max(2 * (design.needed or 0), *table["n_items"])
        curve = _table(design, range(0, most + 1, max(most // 80, 1)))
        svg = power_svg(curve, target=power, needed=design.needed)
        with whole_file(plot) as path:
            path.write_text(svg, encoding="utf-8")


@dataclass(frozen=True)
class _Design:
    """Functions of the number of items, and the number needed, with a sentence about it."""

    power: Callable[[Any], Any] | None = None
    width: Callable[[Any], Any] | None = None
    needed: int | None = None
    reached: str = ""


def _check_options(
    test: Test, there: dict[str, float], power: float, items: list[int] | None, plot: Path | None
) -> None:
    """Refuse options that are missing, of another test, or out of range."""
    problems = [
        Problem(_option(name), f"is missing for --test {test}", "see `fairstats plan --help`")
        for name in _NEEDED[test]
        if name not in there
    ]
    problems += [
        Problem(_option(name), f"is not used by --test {test}", "remove it")
        for name in there
        if name not in (*_NEEDED[test], *_ALLOWED[test])
    ]
    if not 0 < power < 1:
        problems.append(Problem("--power", f"{power} is out of range", "give e.g. 0.8"))
    if any(n < 1 for n in items or ()):
        problems.append(Problem("--items", "must be at least 1", "give a number of items"))
    if plot is not None and plot.suffix != ".svg":
        problems.append(Problem(str(plot), "is not a .svg file", "end the name with .svg"))
    if problems:
        raise InputError(problems)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _cells(there: dict[str, float], prefix: str = "") -> tuple[float, float]:
    """Return p10 and p01."""
    psi, difference = there[f"{prefix}discordant"], there[f"{prefix}difference"]
    option = _option(f"{prefix}discordant")
    if not 0 <= psi <= 1:
        raise InputError([Problem(option, f"{psi:g} is not a share", "give e.g. 0.12")])
    if abs(difference) > psi:
        said = f"{psi:g} is below the difference of {abs(difference):g}"
        remedy = "only discordant pairs make a difference: give a larger share"
        raise InputError([Problem(option, said, remedy)])
    return (psi + difference) / 2, (psi - difference) / 2


def _mcnemar(there: dict[str, float], power: float, alpha: float) -> _Design:
    from fairstats.inference.power import power_mcnemar, samplesize_mcnemar

    p10, p01 = _cells(there)
    _refuse_zero("--difference", p10 - p01)
    needed = samplesize_mcnemar(p10, p01, power=power, alpha=alpha)
    return _Design(
        power=lambda n: power_mcnemar(n, p10, p01, alpha=alpha),
        needed=needed,
        reached=_reach(needed, power, "to detect this difference"),
    )


def _equivalence(there: dict[str, float], power: float, alpha: float) -> _Design:
    from fairstats.inference.power_equivalence import power_equivalence, samplesize_equivalence

    p10, p01 = _cells(there)
    margin = there["margin"]
    needed = samplesize_equivalence(p10, p01, margin=margin, power=power, alpha=alpha)
    return _Design(
        power=lambda n: power_equivalence(n, p10, p01, margin=margin, alpha=alpha),
        needed=needed,
        reached=_reach(needed, power, "to show equivalence"),
    )


def _cfr(there: dict[str, float], power: float, alpha: float) -> _Design:
    from fairstats.inference.power_cfr import expected_width_cfr, power_cfr, samplesize_cfr

    cfr, threshold, width = there["cfr"], there.get("threshold"), there.get("width")
    needed, reached, curve = None, "", None
    if width is not None:
        needed = samplesize_cfr(cfr, width=width, alpha=alpha)
        reached = f"{needed} items give an interval of width {width:g} or less, on average."
    if threshold is not None:
        enough = samplesize_cfr(cfr, threshold=threshold, power=power, alpha=alpha)
        reached = " ".join(
            filter(None, (reached, _reach(enough, power, f"to show a CFR above {threshold:g}")))
        )
        needed = max(enough, needed or 0)

        def curve(n: Any) -> Any:
            return power_cfr(n, cfr, threshold=threshold, alpha=alpha)

    return _Design(
        power=curve,
        width=lambda n: expected_width_cfr(n, cfr, alpha=alpha),
        needed=needed,
        reached=reached,
    )


def _models(there: dict[str, float], power: float, alpha: float) -> _Design:
    from fairstats.inference.power_comparison import (
        change_shares,
        power_comparison,
        samplesize_comparison,
    )

    by_cfr = "cfr" in there or "new_cfr" in there
    names = ("cfr", "new_cfr") if by_cfr else _ALLOWED["models"][2:]
    problems = [
        Problem(
            _option(name),
            "is missing for --test models",
            "give --cfr and --new-cfr, or the discordant shares and differences of both models",
        )
        for name in names
        if name not in there
    ]
    problems += [
        Problem(_option(name), "is not used with --cfr", "remove it")
        for name in there
        if name not in (*names, "discordant")
    ]
    if problems:
        raise InputError(problems)
    shares = _cfr_changes(there) if by_cfr else change_shares(_cells(there), _cells(there, "new_"))
    change = sum(size * share for size, share in shares.items())
    _refuse_zero("--new-cfr" if by_cfr else "--new-difference", change)
    needed = samplesize_comparison(shares, power=power, alpha=alpha)
    return _Design(
        power=lambda n: power_comparison(n, shares, alpha=alpha),
        needed=needed,
        reached=_reach(needed, power, f"to detect a change of {100 * abs(change):.3g} points"),
    )


def _cfr_changes(there: dict[str, float]) -> dict[int, float]:
    """Return the shares of items on which only the new, or only the old model keeps its answer."""
    old, new = there["cfr"], there["new_cfr"]
    if not (0 <= old <= 1 and 0 <= new <= 1):
        name, value = ("--cfr", old) if not 0 <= old <= 1 else ("--new-cfr", new)
        raise InputError([Problem(name, f"{value:g} is not a share", "give e.g. 0.93")])
    if "discordant" in there:
        one, other = _cells({"discordant": there["discordant"], "difference": new - old})
        return {1: one, -1: other}
    return {1: new * (1 - old), -1: old * (1 - new)}


_DESIGNS: dict[str, Callable[[dict[str, float], float, float], _Design]] = {
    "mcnemar": _mcnemar,
    "equivalence": _equivalence,
    "cfr": _cfr,
    "models": _models,
}


def _refuse_zero(option: str, difference: float) -> None:
    if abs(difference) < 1e-12:
        said = "gives a difference of 0, which no number of items can show"
        remedy = "give the smallest difference that matters, or use --test equivalence"
        raise InputError([Problem(option, said, remedy)])


def _reach(needed: int, power: float, aim: str) -> str:
    return f"{needed} items have {100 * power:g}% power {aim}."


def _around(needed: int | None) -> list[int]:
    """Return numbers of items around the one needed, or usual ones."""
    if needed is None:
        return [100, 200, 400, 800, 1600, 3200]
    return sorted({max(1, round(needed * part / 4)) for part in (1, 2, 3, 4, 5, 6, 8)})


def _table(design: _Design, items: Any) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame({"n_items": list(items)})
    if design.power is not None:
        table["power"] = design.power(table["n_items"])
    if design.width is not None:
        table["expected_width"] = design.width(table["n_items"])
    return table
