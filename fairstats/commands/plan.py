"""The command that plans how many items a test needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairstats._lib.problems import InputError, Problem, input_error, parameter, refuse
from fairstats.commands._options import Alpha
from fairstats.commands._shared import Output, print_table, says_what_is_wrong

if TYPE_CHECKING:
    import pandas as pd

commands = typer.Typer()

Test = Literal["mcnemar", "equivalence", "models", "means", "means-equivalence"]

# The options of each test; all are needed.
_OPTIONS = {
    "mcnemar": ("discordant", "difference"),
    "equivalence": ("discordant", "difference", "margin"),
    "models": ("discordant", "difference", "new_discordant", "new_difference"),
    "means": ("deviation", "difference"),
    "means-equivalence": ("deviation", "difference", "margin", "scale"),
}
# Those that may be left out.
_OPTIONAL = dict.fromkeys(("means", "means-equivalence"), ("cluster_size", "icc"))


@dataclass(frozen=True)
class Design:
    """The options that describe what is tested."""

    discordant: Annotated[
        float | None,
        typer.Option(
            help="Share of pairs that only one group gets right, or in which only one has a "
            "favourable decision, e.g. 0.12."
        ),
    ] = None
    deviation: Annotated[
        float | None,
        typer.Option(help="Standard deviation of the items' differences, in levels or points."),
    ] = None
    difference: Annotated[
        float | None,
        typer.Option(
            help="True difference between the groups, e.g. 0.04 for 4 points of accuracy or "
            "selection; else in levels or points of a score."
        ),
    ] = None
    margin: Annotated[
        float | None,
        typer.Option(help="Equivalence margin in the unit of --difference, e.g. 0.02."),
    ] = None
    scale: Annotated[
        float | None,
        typer.Option(help="Highest minus lowest possible level or score, for means-equivalence."),
    ] = None
    cluster_size: Annotated[
        float | None,
        typer.Option(help="Mean number of items in a cluster, such as a patient (default: 1)."),
    ] = None
    icc: Annotated[
        float | None,
        typer.Option(help="Intraclass correlation of the differences in a cluster (default: 0)."),
    ] = None
    new_discordant: Annotated[
        float | None, typer.Option(help="As --discordant, for the new model.")
    ] = None
    new_difference: Annotated[
        float | None, typer.Option(help="As --difference, for the new model.")
    ] = None


@commands.command()
@says_what_is_wrong
def plan(
    test: Annotated[
        Test,
        typer.Option(
            help="mcnemar: a difference between two groups. equivalence: a difference within a "
            "margin. models: a change of the difference from one model to another. For levels and "
            "scores: means, means-equivalence."
        ),
    ],
    *,
    design: Design,
    items: Annotated[
        list[int] | None,
        typer.Option(help="Number of items (default: several around the one needed). Repeatable."),
    ] = None,
    power: Annotated[float, typer.Option(help="Power to reach.")] = 0.8,
    alpha: Alpha = 0.05,
    plot: Annotated[Path | None, typer.Option(help="SVG file to draw the power curve in.")] = None,
    output: Output,
) -> None:
    """Plan how many items a test needs: print its power by number of items.

    The two models are assumed to be independent. They usually fail on the same items, which gives
    more power.
    """
    there = {name: value for name, value in vars(design).items() if value is not None}
    _check_options(test, there, power, items, plot)
    try:
        needed, aim, power_of = _planned(test, there, power, alpha)
        table = _table(power_of, items or _around(needed), design.cluster_size)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise input_error("the plan", str(error), "see `fairstats plan --help`") from None
    print_table(table, output)
    clusters = ""
    if design.cluster_size is not None:
        from fairstats.inference.power_means import units_of

        clusters = f" in {units_of(needed, design.cluster_size)} clusters"
    typer.echo(f"{needed} items{clusters} have {100 * power:g}% power {aim}.", err=True)
    if test == "models" and _sign_may_vary(there, needed):
        note = (
            "A difference this close to 0 may have either sign, and `compare` tests its size: its"
        )
        typer.echo(f"{note} power is lower (at 0, in simulations 64% instead of 80%).", err=True)
    if plot is not None:
        from fairstats._lib.atomic_files import whole_file
        from fairstats.report.plot_style import power_svg

        most = max(2 * needed, *table["n_items"])
        curve = _table(power_of, range(0, most + 1, max(most // 80, 1)))
        svg = power_svg(curve, target=power, needed=needed)
        with whole_file(plot) as path:
            path.write_text(svg, encoding="utf-8")


def _check_options(
    test: Test, there: dict[str, float], power: float, items: list[int] | None, plot: Path | None
) -> None:
    """Refuse options that are missing, of another test, or out of range."""
    problems = [
        Problem(parameter(name), f"is missing for --test {test}", "see `fairstats plan --help`")
        for name in _OPTIONS[test]
        if name not in there
    ]
    problems += [
        Problem(parameter(name), f"is not used by --test {test}", "remove it")
        for name in there
        if name not in (*_OPTIONS[test], *_OPTIONAL.get(test, ()))
    ]
    if not 0 < power < 1:
        problems.append(Problem("--power", f"{power} is out of range", "give e.g. 0.8"))
    if any(n < 1 for n in items or ()):
        problems.append(Problem("--items", "must be at least 1", "give a number of items"))
    if plot is not None and plot.suffix != ".svg":
        problems.append(Problem(str(plot), "is not a .svg file", "end the name with .svg"))
    refuse(problems)


def _planned(
    test: Test, there: dict[str, float], power: float, alpha: float
) -> tuple[int, str, Callable[[Any], Any]]:
    """Return the number of items needed, what it is needed for, and the power by number."""
    from fairstats.inference import power as powers
    from fairstats.inference import power_comparison as comparisons

    if test in _OPTIONAL:
        return _planned_means(test, there, power, alpha)
    p10, p01 = _cells(there)
    if test == "equivalence":
        margin = there["margin"]
        return (
            powers.samplesize_equivalence(p10, p01, margin=margin, power=power, alpha=alpha),
            "to show equivalence",
            lambda n: powers.power_equivalence(n, p10, p01, margin=margin, alpha=alpha),
        )
    if test == "mcnemar":
        _refuse_zero("--difference", p10 - p01)
        return (
            powers.samplesize_mcnemar(p10, p01, power=power, alpha=alpha),
            "to detect this difference",
            lambda n: powers.power_mcnemar(n, p10, p01, alpha=alpha),
        )
    shares = comparisons.change_shares((p10, p01), _cells(there, "new_"))
    change = sum(size * share for size, share in shares.items())
    _refuse_zero("--new-difference", change)
    if there["difference"] * there["new_difference"] < 0:
        said = "has the other sign: `compare` tests the change of the size of a difference"
        remedy = "give both with the same sign, or plan for each model with --test mcnemar"
        raise input_error("--new-difference", said, remedy)
    return (
        comparisons.samplesize_comparison(shares, power=power, alpha=alpha),
        f"to detect a change of {100 * abs(change):.3g} points",
        lambda n: comparisons.power_comparison(n, shares, alpha=alpha),
    )


def _planned_means(
    test: Test, there: dict[str, float], power: float, alpha: float
) -> tuple[int, str, Callable[[Any], Any]]:
    """Return `_planned` for levels and scores."""
    from fairstats.inference.power_means import power_means, samplesize_means

    given = {name: there[name] for name in (*_OPTIONAL[test], "margin", "scale") if name in there}
    two = there["difference"], there["deviation"]
    if test == "means":
        _refuse_zero("--difference", two[0], "means-equivalence")
    return (
        samplesize_means(*two, **given, power=power, alpha=alpha),
        "to detect this difference" if test == "means" else "to show equivalence",
        lambda n: power_means(n, *two, **given, alpha=alpha),
    )


def _sign_may_vary(there: dict[str, float], items: int) -> bool:
    """Return whether a difference is within 0.7 standard errors of 0."""
    return any(
        abs(there[f"{prefix}difference"]) < 0.7 * (there[f"{prefix}discordant"] / items) ** 0.5
        for prefix in ("", "new_")
    )


def _cells(there: dict[str, float], prefix: str = "") -> tuple[float, float]:
    """Return p10 and p01."""
    psi, difference = there[f"{prefix}discordant"], there[f"{prefix}difference"]
    option = parameter(f"{prefix}discordant")
    if not 0 <= psi <= 1:
        raise input_error(option, f"{psi:g} is not a share", "give e.g. 0.12")
    if abs(difference) > psi:
        said = f"{psi:g} is below the difference of {abs(difference):g}"
        remedy = "only discordant pairs make a difference: give a larger share"
        raise input_error(option, said, remedy)
    return (psi + difference) / 2, (psi - difference) / 2


def _refuse_zero(option: str, difference: float, instead: str = "equivalence") -> None:
    if abs(difference) < 1e-12:
        said = "gives a difference of 0, which no number of items can show"
        remedy = f"give the smallest difference that matters, or use --test {instead}"
        raise input_error(option, said, remedy)


def _around(needed: int) -> list[int]:
    """Return numbers of items around the one needed."""
    return sorted({max(1, round(needed * part / 4)) for part in (1, 2, 3, 4, 5, 6, 8)})


def _table(
    power_of: Callable[[Any], Any], items: Any, cluster_size: float | None = None
) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame({"n_items": list(items)})
    if cluster_size is not None:
        from fairstats.inference.power_means import units_of

        table["n_units"] = [units_of(n, cluster_size) for n in table["n_items"]]
    return table.assign(power=power_of(table["n_items"]))
