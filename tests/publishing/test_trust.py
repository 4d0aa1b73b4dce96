"""Keys, lists of trusted keys, and hostile files among the signed statements."""

from __future__ import annotations

import base64
import json
import operator
import os
import re
import shutil
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from fairstats._lib.atomic_files import unfinished
from fairstats._lib.problems import InputError
from fairstats._lib.table_text import json_text
from fairstats._lib.untrusted_files import read_once
from fairstats.publishing import release_signatures
from fairstats.publishing.release_signatures import (
    add_statements,
    check_signers,
    entries_of,
    read_statements,
)
from fairstats.publishing.release_statements import sign_payload, state_of, statement_payload
from fairstats.publishing.signing_keys import (
    PublicKey,
    create_key,
    public_part,
    read_private_key,
    read_public_key,
    read_trusted,
)
from fairstats.publishing.site_folder import Verification, locked

TODAY = datetime.now(UTC).date()
VERSIONS = {"python": "3.11.7"}


# --- Keys


def test_key_pair_has_its_modes_and_is_never_overwritten(tmp_path):
    old = os.umask(0)
    try:
        public, key = create_key(tmp_path / "new" / "board")
    finally:
        os.umask(old)
    private = tmp_path / "new" / "board"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert private.read_text().startswith("-----BEGIN PRIVATE KEY-----\n")
    assert public_part(read_private_key(private).public_key()) == key == read_public_key(public)
    content = private.read_bytes()
    for gone in (private, public):
        gone.rename(tmp_path / "moved")
        with pytest.raises(InputError, match="a key is never overwritten"):
            create_key(private)
        assert sorted(path.name for path in private.parent.iterdir()) == [
            name for name in ("board", "board.pub") if name != gone.name
        ]
        (tmp_path / "moved").rename(gone)
    assert private.read_bytes() == content


def test_key_that_cannot_be_written_leaves_no_file(tmp_path, monkeypatch):
    written = os.fdopen

    def full(opened, mode):
        if len(list(tmp_path.iterdir())) == 2:
            os.close(opened)
            raise OSError(28, "No space left on device")
        return written(opened, mode)

    monkeypatch.setattr(os, "fdopen", full)
    with pytest.raises(OSError, match="No space"):
        create_key(tmp_path / "board")
    assert list(tmp_path.iterdir()) == []


def test_passphrase_is_needed_and_must_be_right(tmp_path):
    create_key(tmp_path / "board", passphrase=b"right")
    text = (tmp_path / "board").read_text()
    assert text.startswith("-----BEGIN ENCRYPTED PRIVATE KEY-----\n")
    read_private_key(tmp_path / "board", passphrase=b"right")
    for passphrase, message in (
        (None, "is encrypted; set FAIRSTATS_PASSPHRASE"),
        (b"wrong", "the passphrase is wrong"),
    ):
        with pytest.raises(InputError, match=message) as error:
            read_private_key(tmp_path / "board", passphrase=passphrase)
        assert text.splitlines()[1] not in str(error.value)
    create_key(tmp_path / "open")
    with pytest.raises(InputError, match="is not encrypted; unset FAIRSTATS_PASSPHRASE"):
        read_private_key(tmp_path / "open", passphrase=b"right")
    with pytest.raises(InputError, match="FAIRSTATS_PASSPHRASE: is empty"):
        create_key(tmp_path / "other", passphrase=b"")


@pytest.mark.skipif(os.name != "posix", reason="files have no modes on this system")
def test_key_that_others_can_read_is_refused(tmp_path):
    create_key(tmp_path / "board")
    (tmp_path / "board").chmod(0o640)
    with pytest.raises(InputError, match=r"can be read by other users .*; run chmod 600 board"):
        read_private_key(tmp_path / "board")


def test_key_in_a_site_is_refused(tmp_path):
    site = small_site(tmp_path / "site")
    with pytest.raises(InputError, match=r"is inside the site .*, which is published"):
        create_key(site / "keys" / "board")
    create_key(tmp_path / "board")
    shutil.copy(tmp_path / "board", site / ".board")
    with pytest.raises(InputError, match="move it to a folder that is not published"):
        read_private_key(site / ".board")
    assert sorted(path.name for path in site.iterdir()) == [".board", "v"]


def test_other_files_are_not_keys(tmp_path):
    create_key(tmp_path / "board")
    curve = generate_private_key(SECP256R1())
    other = curve.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = curve.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    right = (tmp_path / "board.pub").read_bytes()
    for read, content, message in (
        (read_private_key, right, "is a public key; give the private key"),
        (read_private_key, other, "is not an ed25519 key"),
        (read_private_key, b"\x00\xff" * 10, "is not a private key in PEM"),
        (read_public_key, (tmp_path / "board").read_bytes(), "is a private key; keep it secret"),
        (read_public_key, public, "is not an ed25519 key"),
        (read_public_key, b"<script>alert(1)</script>\n" + right, "contains more than a public"),
        (read_public_key, b"x" * (1 << 20), "is larger than"),
    ):
        path = tmp_path / "key"
        path.write_bytes(content)
        path.chmod(0o600)
        with pytest.raises(InputError, match=message) as error:
            read(path)
        assert "alert" not in str(error.value)


# --- Statements of a site with a manifest alone


def small_site(site: Path, *releases: str) -> Path:
    """A site of which only the manifests matter."""
    for day, name in enumerate(releases or ("1",), start=1):
        folder = site / "v" / name
        (folder / "downloads").mkdir(parents=True)
        manifest = {
            "release": name,
            "created_at": f"2026-01-{day:02}T00:00:00+00:00",
            "files": {"benchmarks/demo.toml": "0" * 64},
        }
        (folder / "manifest.json").write_text(json.dumps(manifest))
    return site


@pytest.fixture
def board(tmp_path) -> Path:
    create_key(tmp_path / "board")
    return tmp_path / "board"


@pytest.fixture
def site(tmp_path) -> Path:
    return small_site(tmp_path / "site")


def put(
    site: Path,
    key: Path,
    kind: str = "signature",
    *,
    change=lambda statement: None,
    change_envelope=lambda envelope: None,
    name: str | None = None,
) -> Path:
    """Sign a statement about a site, changed before or after, and put it into the site."""
    signer = read_private_key(key)
    public = public_part(signer.public_key())
    statement = json.loads(statement_payload(state_of(site), kind, versions=VERSIONS))
    change(statement)
    envelope = json.loads(sign_payload(json.dumps(statement).encode(), signer))
    change_envelope(envelope)
    path = site / f"{kind}s" / (name or f"{list(state_of(site).manifests)[-1]}.{public.short}.json")
    for folder in (path.parent, site / "keys"):
        folder.mkdir(exist_ok=True)
    path.write_text(json_text(envelope))
    (site / "keys" / f"{public.short}.pub").write_text(public.pem)
    return path


def check(site: Path, *trusted: Path):
    """What a reader with these keys learns, with the site's list as it must be."""
    statements, _ = read_statements(site, state_of(site), trusted=keys_of(*trusted))
    text = json_text(entries_of(statements))
    (site / "attestations.json").write_text(text)
    return check_signers(Verification(site, 0, {}, ()), read_trusted(trusted))


def keys_of(*paths: Path) -> dict[str, PublicKey]:
    return {keyid: one.key for keyid, one in read_trusted(paths).items()}


def public(key: Path) -> Path:
    return key.with_name(f"{key.name}.pub")


def messages(site: Path, *trusted: Path) -> str:
    return "\n".join(map(str, check(site, *trusted).problems))


def test_helpers_make_a_site_without_a_problem(site, board):
    put(site, board)
    found = check(site, public(board))
    assert found.problems == ()
    assert found.signed_by == (read_public_key(public(board)).id,)


def at(place: str, edit):
    """Return a function that edits the entry at this place, e.g. ``subject.0.name``."""

    def change(found) -> None:
        *outer, last = (int(name) if name.isdigit() else name for name in place.split("."))
        for name in outer:
            found = found[name]
        edit(found, last)

    return change


def set_in(place: str, value: object):
    return at(place, lambda found, name: operator.setitem(found, name, value))


def remove(place: str):
    return at(place, operator.delitem)


def twice(place: str):
    return at(place, lambda found, name: found[name].append(found[name][0]))


DIGEST = {"sha256": "0" * 64}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("_type", "https://in-toto.io/Statement/v0.1"),
        ("predicateType", "https://slsa.dev/provenance/v1"),
        ("subject", []),
        ("subject", "x"),
        ("subject.0.name", "manifest.json"),
        ("subject.0.name", "v/../manifest.json"),
        ("subject.0.digest.sha256", "\ud800"),
        ("predicate", [1]),
        ("predicate.timeCreated", "yesterday"),
        ("predicate.timeCreated", "2026-13-45T00:00:00Z"),
        ("predicate.timeCreated", "2999-01-01T00:00:00Z"),
        ("predicate.properties", []),
        ("predicate.properties", ["ALL_IS_FAIR"]),
        ("predicate.verifier.id", "https://example.org"),
        ("predicate.verifier.version", []),
        ("predicate.verifier.version.a", "<b>"),
    ],
)
def test_signed_statement_with_a_wrong_field_is_refused_by_its_name(place, value, site, board):
    path = put(site, board, change=set_in(place, value))
    found = messages(site, public(board))
    assert f"{path}: {place}: is signed, but" in found
    assert "no valid signature (trusted: board" in found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_in("subject.0.name", "v/9/manifest.json"), "v/9: is missing: release 9"),
        (set_in("subject.0.digest", DIGEST), "v/1/manifest.json: is not the manifest"),
        (set_in("subject.0.digest", {"md5": "0"}), "subject.0.digest.sha256: is signed, but"),
        (twice("subject"), "about a site (has an entry twice)"),
        (remove("predicate"), "predicate: is signed, but"),
        (set_in("predicate.timeCreated", "2025-12-01T00:00:00Z"), "before release 1"),
        (set_in("predicate.verifier.policies", []), "does not name the benchmark"),
    ],
)
def test_statement_that_is_signed_but_wrong_is_refused(change, message, site, board):
    put(site, board, change=change)
    found = messages(site, public(board))
    assert message in found
    assert "no valid signature (trusted: board" in found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_in("payloadType", "text/plain"), "payloadType: is not a signed statement"),
        (
            set_in("payload", "not base64!"),
            "payload: is not a signed statement of fairstats (is not",
        ),
        (set_in("payload", 5), "payload: is not a signed statement of fairstats (is not a text)"),
        (set_in("payload", base64.b64encode(b"{}").decode()), "was changed, or was not signed"),
        (set_in("signatures", []), "signatures: is not a signed statement"),
        (twice("signatures"), "signatures: is not a signed statement"),
        (set_in("signatures.0.sig", "AAAA"), "signatures.0.sig: is not a signed statement"),
        (set_in("signatures.0.sig", "=" * 88), "signatures.0.sig: is not a signed statement"),
        (set_in("signatures.0.keyid", "a"), "signatures.0.keyid: is not a signed statement"),
        (set_in("signatures.0.keyid", "0" * 64), "names the key 0000000000000000, which"),
        (set_in("signatures.0.note", "x"), "signatures.0.note: is not a signed statement"),
        (set_in("note", "certified"), "note: is not a signed statement"),
        (remove("payload"), "payload: is not a signed statement"),
    ],
)
def test_envelope_that_was_changed_is_refused(change, message, site, board):
    path = put(site, board, change_envelope=change)
    found = messages(site, public(board))
    assert f"{path}: " in found
    assert message in found
    assert "; get the " in found or "; remove it" in found


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(": ", ":  ", 1),
        lambda text: text + "\n",
        lambda text: json.dumps(json.loads(text)),
        # The last letter before == has four bits that do not count.
        lambda text: re.sub('.=="', lambda found: chr(ord(found[0][0]) + 1) + '=="', text),
    ],
    ids=["space", "line", "one line", "base64"],
)
def test_envelope_that_is_written_in_another_way_is_refused(change, site, board):
    path = put(site, board)
    content = path.read_text()
    path.write_text(change(content))
    assert path.read_text() != content
    assert "is not written as fairstats writes it" in messages(site, public(board))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b" " * (2 << 20), "is larger than 1,048,576 bytes"),
        (b"[" * 100_000, "nested too deeply"),
        (b"\xff\xfe{}", "not UTF-8 text"),
        (b'{"payload": "", "payload": ""}', "appears more than once"),
        (b"null", "is not a signed statement of fairstats"),
    ],
)
def test_file_that_is_no_envelope_is_refused(content, message, site, board):
    path = put(site, board)
    path.write_bytes(content)
    assert message in messages(site, public(board))


@pytest.mark.parametrize("folder", ["signatures", "attestations", "keys"])
def test_links_pipes_and_other_files_are_named_and_not_read(folder, site, board, tmp_path):
    put(site, board)
    put(site, board, "attestation")
    (tmp_path / "secret").write_text("the-secret")
    name = "0" * 16 + (".pub" if folder == "keys" else ".json")
    name = name if folder == "keys" else f"1.{name}"
    (site / folder / name).symlink_to(tmp_path / "secret")
    os.mkfifo(site / folder / f"a{name[1:]}")
    (site / folder / "more").mkdir()
    (site / folder / "x.html").write_text("<script>")
    found = messages(site, public(board))
    assert f"{folder}/{name}: is a link" in found
    assert found.count(f"is not part of {folder}/") == 3
    assert "the-secret" not in found


@pytest.mark.parametrize("folder", ["signatures", "attestations", "keys"])
def test_folder_that_is_a_link_is_named_and_not_written_to(folder, site, board, tmp_path):
    path = put(site, board, "attestation")
    draft = path.rename(tmp_path / path.name)
    shutil.rmtree(site / folder, ignore_errors=True)
    (tmp_path / "elsewhere").mkdir()
    (site / folder).symlink_to(tmp_path / "elsewhere")
    assert f"{folder}: is a link" in messages(site)
    with pytest.raises(InputError, match="is a link"):
        add_statements(site, [read_once(draft)], [read_public_key(public(board))])
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_leftovers_of_an_interrupted_signature_are_removed(site, board):
    path = put(site, board)
    left = unfinished(path)
    left.touch()
    assert "is not part of signatures/" in messages(site)
    with locked(site):
        assert not left.exists()
    assert messages(site) == ""


def test_too_many_attestations_are_not_read(site, board, monkeypatch):
    put(site, board)
    monkeypatch.setattr(release_signatures, "MOST_FILES", 5)
    (site / "attestations").mkdir()
    for number in range(6):
        (site / "attestations" / f"1.{number:016x}.json").write_text("x")
    found = messages(site, public(board))
    assert "attestations: contains more than 5 files" in found
    assert "1.0000" not in found


def test_thousand_attestations_are_read_in_seconds(site, board):
    path = put(site, board, "attestation")
    for number in range(release_signatures.MOST_FILES - 1):
        shutil.copy(path, path.with_name(f"1.{number:016x}.json"))
    begin = datetime.now(UTC)
    found, problems = read_statements(site, state_of(site))
    assert (datetime.now(UTC) - begin).total_seconds() < 10
    # One key counts once, whatever its files are called.
    assert len(found) == 1
    assert len(problems) == 999


def test_name_of_a_file_must_be_that_of_its_content(site, board):
    put(site, board, name="9.0123456789abcdef.json")
    assert "is about release 1" in messages(site)


def test_inserted_release_does_not_match_the_statement(tmp_path, board):
    site = small_site(tmp_path / "site", "1", "2", "3")
    put(
        site,
        board,
        change=remove("subject.1"),
        name=f"3.{read_public_key(public(board)).short}.json",
    )
    found = messages(site, public(board))
    assert "does not list the oldest" in found


# --- Trusted keys


def trust_file(path: Path, *entries: str) -> Path:
    path.write_text("\n".join(f"[[key]]\n{entry}" for entry in entries))
    return path


def entry(key: Path, **values: str) -> str:
    lines = {"name": f'"{key.name}"', "public_key": f'"""\n{public(key).read_text()}"""'} | values
    return "\n".join(f"{name} = {value}" for name, value in lines.items())


YESTERDAY, TOMORROW = TODAY - timedelta(days=1), TODAY + timedelta(days=1)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, None),
        ({"valid_from": str(TODAY), "valid_until": str(TODAY)}, None),
        ({"valid_from": str(TOMORROW)}, f"on {TODAY}, but this key is valid only from {TOMORROW}"),
        ({"valid_until": str(YESTERDAY)}, f"but this key was valid only until {YESTERDAY}"),
        (
            {"revoked": str(TOMORROW), "reason": '"stolen"'},
            f"but this key was revoked on {TOMORROW}: stolen",
        ),
        ({"role": '"witness"'}, "a witness, who cannot sign for the publisher"),
    ],
)
def test_key_counts_only_in_its_time_and_role(values, message, site, board, tmp_path):
    path = put(site, board)
    found = check(site, trust_file(tmp_path / "trust.toml", entry(board, **values)))
    if message is None:
        assert found.problems == ()
    else:
        (problem,) = found.problems
        assert problem.path == str(path)
        assert message in problem.message
        assert found.signed_by == ()


def test_rotated_key_and_its_successor_sign_the_same_site(site, board, tmp_path):
    create_key(tmp_path / "next")
    put(site, board)
    put(site, tmp_path / "next")
    trust = [entry(board, valid_until=str(YESTERDAY)), entry(tmp_path / "next")]
    found = check(site, trust_file(tmp_path / "trust.toml", *trust))
    assert found.problems == ()
    assert found.signed_by == (read_public_key(tmp_path / "next.pub").id,)


def test_attestation_with_a_revoked_key_does_not_count(site, board, tmp_path):
    for name in ("ann", "ben"):
        create_key(tmp_path / name)
        put(site, tmp_path / name, "attestation")
    put(site, board)
    trust = [entry(board), entry(tmp_path / "ann"), entry(tmp_path / "ben", role='"witness"')]
    both = check(site, trust_file(tmp_path / "trust.toml", *trust))
    assert len(both.recomputed_by) == 2
    trust[1] = entry(tmp_path / "ann", revoked=str(YESTERDAY))
    one = check(site, trust_file(tmp_path / "trust.toml", *trust))
    assert one.problems == ()
    assert one.recomputed_by == (read_public_key(tmp_path / "ben.pub").id,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("key = []", "key: lists no key"),
        ("keys = 5", "keys: unknown key; did you mean key?"),
        ("key = 5", "key: has the wrong type; write a list of tables"),
        ("key = [5]", "key[0]: has the wrong type; write a table"),
        ("[[key]]\nname = 'a'", "key[0].public_key: is missing; add it"),
        ("[[key]]\nname = 'a'\nx = 1\npublic_key = ''", "key[0].x: unknown key; known keys: name"),
        ("[[key]]\nname = 'a'\npublic_key = 'PEM'", "public_key: is not a public key in PEM"),
        ("[[key]]\nname = 'a'\npublic_key = ''\nrevoked = '2026-01-01'", "write a date such as"),
        ("[[key]]\nname = 'a'\npublic_key = ''\nrevoked = 2026-01-01T00:00:00Z", "write a date"),
        ("[[key", "is not valid TOML"),
    ],
)
def test_wrong_list_of_keys_is_refused(text, message, tmp_path):
    path = tmp_path / "trust.toml"
    path.write_text(text or "# none\n")
    with pytest.raises(InputError) as error:
        read_trusted(path)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)


def test_list_of_keys_in_the_documents_can_be_read(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "trust.md").read_text(encoding="utf-8")
    (tmp_path / "trust.toml").write_text(re.findall(r"(?s)```toml\n(.*?)```", text)[0])
    board, university = read_trusted(tmp_path / "trust.toml").values()
    assert (board.name, board.role) == ("The board", "publisher")
    revoked = university.why_not(datetime(2026, 1, 1, tzinfo=UTC))
    assert revoked.endswith("revoked on 2026-11-02: laptop stolen")


def test_wrong_role_and_name_are_refused(board, tmp_path):
    for values, message in (
        ({"role": '"owner"'}, "key[0].role = 'owner': is unknown; use one of publisher, witness"),
        ({"name": '" "'}, "key[0].name = ' ': must have 1 to 100 characters"),
    ):
        with pytest.raises(InputError) as error:
            read_trusted(trust_file(tmp_path / "trust.toml", entry(board, **values)))
        assert message in str(error.value)
