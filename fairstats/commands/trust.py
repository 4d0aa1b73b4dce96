"""Commands that check what others publish, and sign: verify, screen, sign, check tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairstats._lib.formatting import counted, listed
from fairstats._lib.problems import InputError, Problem, input_error, printable, refuse
from fairstats.answers import MEMORY_LIMIT
from fairstats.commands._options import Benchmarks, EngineName, MemoryLimit, Paths, load_given
from fairstats.commands._shared import (
    AsJson,
    Output,
    print_problems,
    print_table,
    read_trusted,
    says_what_is_wrong,
)

if TYPE_CHECKING:
    from fairstats.publishing.site_folder import Verification
    from fairstats.replication.check_table import CheckedTable

commands = typer.Typer()


@commands.command()
@says_what_is_wrong
def verify(
    path: Annotated[
        Path,
        typer.Argument(help="Folder of a release or of a site, or the PDF of an audit report."),
    ],
    release: Annotated[
        Path | None,
        typer.Option(
            help="For a PDF: release that it was made from, or a site with it (default: site)."
        ),
    ] = None,
    expect: Annotated[
        str | None,
        typer.Option(help="Expected sha256 of the newest manifest, as announced by the publisher."),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(
            help="The sha256 of a manifest that was the newest before. Refuse older sites."
        ),
    ] = None,
    trust: Annotated[
        list[Path] | None,
        typer.Option(
            help="Public key that must have signed the site, or a .toml file of keys. For a PDF, a "
            "certificate in PEM. Repeatable."
        ),
    ] = None,
    attest: Annotated[
        bool,
        typer.Option("--attest", help="If all is equal, sign a statement that it was recomputed."),
    ] = False,
    key: Annotated[Path | None, typer.Option(help="File of the private key for --attest.")] = None,
    pages: Annotated[
        bool, typer.Option("--pages/--no-pages", help="Render the pages again and compare them.")
    ] = True,
) -> None:
    """Recompute every hash, figure and page of a release or a whole site; list all differences.

    For the PDF of an audit report, also check its signature.
    """

    if path.suffix.lower() == ".pdf" and not path.is_dir():
        about_sites = {"--expect": expect, "--after": after, "--attest": attest, "--key": key}
        _print_verified(_verified_report(path, release, trust, pages, about_sites))
        return
    if release is not None:
        message, remedy = f"{path} is not a PDF", "give the PDF of an audit report, or no --release"
        raise input_error("--release", message, remedy)
    from fairstats.publishing.verify import verify as verify_releases

    if attest != (key is not None):
        raise input_error("--attest and --key", "need each other", "give both, or neither")
    signed = None
    if key is not None:
        from fairstats.publishing.sign_site import verify_and_attest
        from fairstats.publishing.signing_keys import passphrase

        attested = verify_and_attest(
            path,
            key,
            passphrase=passphrase(),
            expect=expect,
            after=after,
            trust=trust or (),
            pages=pages,
        )
        results, signed = attested.found, attested.path
    else:
        results = verify_releases(path, expect=expect, after=after, trust=trust or (), pages=pages)
    _print_verified(results, attesting=attest)
    if signed is not None:
        typer.echo(f"{signed}: attested; send it and your public key to the publisher")


def _verified_report(
    path: Path,
    release: Path | None,
    trust: list[Path] | None,
    pages: bool,
    about_sites: Mapping[str, object],
) -> list[Verification]:
    """Verify the PDF of an audit report, without the options about sites."""
    from fairstats.release.contents import DEFAULT_SITE

    problems = [
        Problem(option, f"is not for a PDF ({path})", "verify its release with this option")
        for option, value in about_sites.items()
        if value
    ]
    if release is None and Path(DEFAULT_SITE).is_dir():
        release = Path(DEFAULT_SITE)
    if release is None:
        message = "give the release that it was made from: --release site/v/NAME"
        problems.append(Problem(str(path), "is checked against a release", message))
        raise InputError(problems)
    refuse(problems)
    from fairstats.publishing.verify_report import verify_report

    return verify_report(path, release, trust=trust or (), pages=pages)


def _print_verified(results: list[Verification], *, attesting: bool = False) -> None:
    """Print the results of a verification; exit with 1 if there is a problem."""
    for found in results:
        if found.problems:
            print_problems(found.problems, err=False)
        else:
            rows = [f"{name} ({count:,})" for name, count in found.rows.items() if count]
            tables = f", and the rows of {listed(rows)}" if rows else ""
            typer.echo(printable(f"{found.path}: verified {counted(found.files, 'file')}{tables}"))
        for note in found.notes:
            typer.echo(printable(f"{found.path}: {note}"))
    if any(found.problems for found in results):
        if attesting:
            typer.echo("not attested: the verification failed")
        raise typer.Exit(1)


_COLUMNS = ["model", "strategy", "check", "value", "reference", "p_adjusted", "flag", "note"]


@commands.command()
@says_what_is_wrong
def screen(
    paths: Paths,
    *,
    against: Annotated[
        list[Path] | None,
        typer.Option(
            help="Trusted answers to compare with: a release, answer files or folders "
            "(default: the other answer sets). Repeatable."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write the table to, as CSV, JSON and Markdown.")
    ] = None,
    output: Output,
    benchmark: Benchmarks = None,
    engine: EngineName = "pandas",
    memory_limit: MemoryLimit = MEMORY_LIMIT,
) -> None:
    """Check answer sets for copied, shifted, forced or invented answers.

    Exits with 1 if a check has the flag "block". Stored replies are read only by pandas.
    """
    from fairstats.answers.engines import engine_problems, scan_answers
    from fairstats.screening.screen import count_flags, write_screening
    from fairstats.screening.screen import screen as run

    known = {one.name: one for one in load_given(benchmark)}
    trusted = None
    if against:
        reference = read_trusted(against)
        trusted, known = reference.answers, reference.benchmarks | known
    with engine_problems(engine):
        answers = scan_answers(paths, engine=engine, memory_limit=memory_limit)
        found = run(answers, trusted, benchmarks=known)
    table = found.to_frame()
    if out is not None:
        for path in write_screening(found, out):
            typer.echo(path, err=True)
    print_table(table, output, _print_flagged)
    typer.echo(count_flags(table), err=True)
    if len(found.blocked):
        raise typer.Exit(1)


def _print_flagged(table: Any) -> None:
    """Print the rows that are not "ok"."""
    from fairstats.report import terminal
    from fairstats.screening.screen import flagged

    rows = flagged(table)
    sets = table[["benchmark", "benchmark_version"]].drop_duplicates()
    extra = [] if len(sets) == 1 else ["benchmark_version"]
    if len(rows):
        terminal.print_table(rows[[*extra, *_COLUMNS]])


@commands.command()
@says_what_is_wrong
def keygen(
    out: Annotated[Path, typer.Option(help="File of the private key; OUT.pub is the public one.")],
) -> None:
    """Make a key pair to sign releases with (ed25519).

    If the environment variable FAIRSTATS_PASSPHRASE is set, it encrypts the private key.
    """
    from fairstats.publishing.signing_keys import create_key, passphrase

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
    from fairstats.publishing.release_statements import state_of
    from fairstats.publishing.sign_site import sign as sign_site
    from fairstats.publishing.signing_keys import passphrase

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

    Writes `attestations.json` and `releases.json` again.
    """
    import pandas as pd

    from fairstats.publishing.release_signatures import entries_of
    from fairstats.publishing.sign_site import add_attestations

    found = pd.DataFrame(
        entries_of(add_attestations(site, files or ())),
        columns=["kind", "release", "keyid", "created", "path"],
    )
    print_table(found, Output(as_json))


@commands.command()
@says_what_is_wrong
def check_table(
    table: Annotated[Path, typer.Argument(help="CSV file, one row per pair of groups.")],
    n: Annotated[
        int | None,
        typer.Option(help="Number of pairs, for rows without a cell in a column n."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=METRIC", help="Metric of a column, e.g. Gap=ad; or ignore. Repeatable."
        ),
    ] = None,
    test: Annotated[
        Literal["exact", "midp", "asymptotic", "asymptotic_cc"] | None,
        typer.Option(help="Version of McNemar's test (default: each is tried)."),
    ] = None,
    rounding: Annotated[
        Literal["half_up", "half_even", "half_either", "truncated", "truncated_either"] | None,
        typer.Option(help="How figures were rounded (default: each is tried)."),
    ] = None,
    max_missing: Annotated[
        int | None,
        typer.Option(
            help="Most missing answers per group to try (default: a tenth of n, at most 40)."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check whether the published figures of each row can all be true of n pairs of answers.

    Columns: accuracy_a, accuracy_b, ad, accuracy_difference, cfr, cohens_h, p, odds_ratio, n.

    Every table of whole counts is searched. Write figures with all their published decimals.
    """
    from fairstats._lib.table_text import json_text
    from fairstats.replication.check_table import check_table as check

    checked = check(
        table,
        n=n,
        columns=dict(map(_named, column or ())),
        test=test,
        rounding=rounding,
        max_missing=max_missing,
    )
    if as_json:
        typer.echo(json_text([row.to_dict() for row in checked.rows]), nl=False)
    else:
        _print(checked)


def _named(option: str) -> tuple[str, str]:
    key, equals, metric = option.rpartition("=")
    if not equals or not key or not metric:
        raise input_error("--column", f"{option!r} is not KEY=METRIC", "write e.g. --column Gap=ad")
    return key, metric


def _print(checked: CheckedTable) -> None:
    frame = checked.to_frame()[["row", "label", "n", "verdict", "note"]]
    frame = frame.assign(label=frame["label"].map(printable))
    print_table(frame)
    counts = frame["verdict"].value_counts(sort=False)
    typer.echo(", ".join(f"{number} {verdict}" for verdict, number in counts.items()))
    for line in checked.power_lines():
        typer.echo(line)
