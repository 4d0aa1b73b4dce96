"""The command line: one app of the commands in `fairstats.commands`."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

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

#: Where the pages of ``docs/`` are on the web.
DOCS = "https://github.com/fairstats/fairstats/blob/main/docs"
#: The page of ``docs/`` that explains a command, or all commands of a group.
GUIDES: Mapping[str, str] = MappingProxyType(
    {
        "": "index.md",
        "fetch": "published.md",
        "import": "import.md",
        "collect": "collect.md",
        "validate": "answers.md",
        "reparse": "import.md",
        "schema": "answers.md",
        "analyze": "estimates.md",
        "compare": "estimates.md",
        "rank": "estimates.md",
        "gate": "continuous-checks.md",
        "plan": "evidence.md",
        "publish": "site.md",
        "report": "site.md",
        "diff": "guides/audit.md",
        "export": "exports.md",
        "serve": "guides/spreadsheet.md",
        "demo": "install.md",
        "verify": "site.md",
        "screen": "screening.md",
        "keygen": "trust.md",
        "sign": "trust.md",
        "attestations": "trust.md",
        "check-table": "published.md",
        "benchmark": "benchmark-files.md",
        "explore": "items-and-models.md",
        "explore policies": "answers.md",
        "explore specifications": "estimates.md",
        "explore levels": "comparing-scores.md",
        "rag": "retrieval.md",
        "rag retrieve": "collect.md",
        "ratings": "ratings.md",
        "vignettes": "vignettes.md",
        "vignettes audit": "judging.md",
        "vignettes run": "building.md",
        "vignettes release": "vignettes-review.md",
        "vignettes review": "vignettes-review.md",
        "submission": "submissions.md",
        "site": "submissions.md",
        "site pages": "site.md",
    }
)


class _InPanels(TyperGroup):
    """List the commands in their panels."""

    def list_commands(self, ctx: object) -> list[str]:
        for panel, names in PANELS.items():
            for name in names:
                self.commands[name].rich_help_panel = panel  # type: ignore[attr-defined]
        return [name for names in PANELS.values() for name in names]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse empty arguments: a variable that is not set would name the current folder."""
        if "" in args:
            ctx.fail("An argument is empty. Give a value, or leave the option out.")
        return list(super().parse_args(ctx, args))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Name the groups that have a command which is not one of its own."""
        name = args[0]
        groups = [
            own for own, group in self.commands.items() if name in getattr(group, "commands", ())
        ]
        if groups and name not in self.commands:
            ways = " or ".join(f"'fairstats {group} {name}'" for group in groups)
            ctx.fail(f"No such command '{name}'. Did you mean {ways}?")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_InPanels,
    rich_markup_mode="markdown",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
    help="Statistics and reports for bias benchmarks of language models in medical QA.",
    epilog=f"Guide: {DOCS}/{GUIDES['']}",
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


def _end_with_guides(group: typer.Typer, path: str = "") -> None:
    """End the help of each command in a group with the address of its page."""
    for command in group.registered_commands:
        name = command.name or command.callback.__name__.replace("_", "-")  # type: ignore[union-attr]
        command.epilog = f"Guide: {DOCS}/{guide_of(f'{path} {name}')}"
    for part in group.registered_groups:
        below = f"{path} {part.name}" if part.name else path
        part.epilog = f"Guide: {DOCS}/{guide_of(below)}"
        _end_with_guides(part.typer_instance, below)  # type: ignore[arg-type]


def guide_of(command: str) -> str:
    """Return the page of ``docs/`` that explains a command, e.g. ``"vignettes audit"``."""
    name = command.strip()
    while name not in GUIDES:
        name = name.rpartition(" ")[0]
    return GUIDES[name]


_end_with_guides(app)


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
    # Most objects live until a command ends, and Python looks for unused ones every 700 new ones.
    gc.set_threshold(100_000, 20, 20)
    atexit.register(_leave_to_the_system)


def _leave_to_the_system() -> None:
    """Free nothing while Python ends, which takes half a second; DuckDB reports what is left."""
    if "_duckdb" not in sys.modules:
        gc.freeze()


if __name__ == "__main__":
    app()
