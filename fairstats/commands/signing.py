"""Commands that make keys, sign a site and list its attestations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairstats.commands._shared import AsJson, print_table, says_what_is_wrong

commands = typer.Typer()


@commands.command()
@says_what_is_wrong
def keygen(
    out: Annotated[Path, typer.Option(help="File of the private key; OUT.pub is the public one.")],
) -> None:
    """Make a key pair to sign releases with (ed25519).

    If the environment variable FAIRSTATS_PASSPHRASE is set, it encrypts the private key.
    """
    from fairstats.publishing.keys import create_key, passphrase

    public, key = create_key(out, passphrase=passphrase())
    typer.echo(f"private key: {out} (keep it secret)")
    typer.echo(f"public key:  {public} (publish it somewhere else than on the site)")
    typer.echo(f"key id:      {key.id}")


@commands.command()
@says_what_is_wrong
def sign(
    site: Annotated[Path, typer.Argument(help="Folder of the site.")],
    key: Annotated[Path, typer.Option(help="File of the private key, see `fairstats keygen`.")],
) -> None:
    """Sign the releases of a site as their publisher.

    Checks all hashes first, but recomputes no figure. FAIRSTATS_PASSPHRASE decrypts the key.
    """
    from fairstats.publishing.keys import passphrase
    from fairstats.publishing.release_statements import state_of
    from fairstats.publishing.sign_site import sign as sign_site

    path = sign_site(site, key, passphrase=passphrase())
    root = state_of(site).root
    typer.echo(f"{path}: signed; the newest manifest has sha256 {root}")


@commands.command()
@says_what_is_wrong
def attestations(
    site: Annotated[Path, typer.Argument(help="Folder of the site.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Attestations (.json) and public keys (.pub) of others to add."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add attestations of others to a site, and list all signatures and attestations.

    Writes `attestations.json` and the pages in `latest/` again.
    """
    import pandas as pd

    from fairstats.publishing.release_signatures import entries_of
    from fairstats.publishing.sign_site import add_attestations

    found = pd.DataFrame(
        entries_of(add_attestations(site, files or ())),
        columns=["kind", "release", "keyid", "created", "path"],
    )
    print_table(found, as_json=as_json, as_csv=False)
