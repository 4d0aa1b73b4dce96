"""The command that previews a site."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairstats.commands._shared import says_what_is_wrong
from fairstats.publishing.serving import DEFAULT_PORT, SiteServer

commands = typer.Typer()


@commands.command()
@says_what_is_wrong
def serve(
    site: Annotated[Path, typer.Argument(help="Folder of the site (the one with index.html).")],
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 for any free port.", min=0, max=65535)
    ] = DEFAULT_PORT,
) -> None:
    """Preview a site in a browser on this machine. Stop with Ctrl-C."""
    with SiteServer(site, port=port) as server:
        try:
            typer.echo(f"{server.address} serves {site}; press Ctrl-C to stop")
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo("stopped")
