"""The command line: one app of the commands in `fairstats.commands`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

import typer
from typer.core import TyperGroup

from fairstats.commands import (
    analyse,
    benchmark,
    explore,
    get_answers,
    plan,
    publish,
    rag,
    rating_figures,
    ratings,
    submission,
    trust,
    vignettes,
)

#: The panels of ``fairstats --help`` and their commands, in the order of work.
PANELS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Get answers": ("fetch", "import", "collect", "validate", "reparse", "schema"),
        "Analyse": ("analyze", "compare", "rank", "gate", "plan"),
        "Publish": ("publish", "report", "diff", "export", "serve", "demo"),
        "Trust": ("verify", "screen", "keygen", "sign", "attestations", "check-table"),
        "Topics": ("benchmark", "explore", "rag", "ratings", "vignettes", "submission", "site"),
    }
)


class _InPanels(TyperGroup):
    """List the commands in their panels."""

    def list_commands(self, ctx: object) -> list[str]:
        for panel, names in PANELS.items():
            for name in names:
                self.commands[name].rich_help_panel = panel  # type: ignore[attr-defined]
        return [name for names in PANELS.values() for name in names]


app = typer.Typer(
    cls=_InPanels,
    rich_markup_mode="markdown",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
    help="Statistics and reports for bias benchmarks of language models in medical QA.",
)
for commands in (get_answers, analyse, plan, publish, trust):
    app.add_typer(commands.commands)
ratings.commands.add_typer(rating_figures.commands)
for name, group in {
    "benchmark": benchmark.commands,
    "explore": explore.commands,
    "rag": rag.commands,
    "ratings": ratings.commands,
    "vignettes": vignettes.commands,
    "submission": submission.commands,
    "site": submission.site,
}.items():
    app.add_typer(group, name=name)


def _version(wanted: bool) -> None:
    if wanted:
        from fairstats._lib.installation import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Statistics and reports for bias benchmarks of language models in medical QA."""


if __name__ == "__main__":
    app()
