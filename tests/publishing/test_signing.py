"""A signed site is verified by the keys that its reader trusts; anything else fails by name."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from fairstats._lib.problems import InputError
from fairstats.publishing.publish import publish
from fairstats.publishing.sign_site import add_attestations, sign, verify_and_attest
from fairstats.publishing.signing_keys import create_key, read_public_key
from fairstats.publishing.site_folder import assemble
from fairstats.publishing.verify import verify
from fairstats.release.contents import Release
from tests.publishing.edited_releases import change_manifest, rehash, run, sha256
from tests.report.conftest import answers_of_models

PAGE = "<p>Release</p>"


@pytest.fixture(scope="module", autouse=True)
def small_releases(few_tables):
    """Pages that take no time to draw, with the part that names the release."""

    def render(release, *, site, pdf, renderer, watch):
        site.mkdir(exist_ok=True)
        (site / "index.html").write_text(PAGE)
        pdf.write_text("pdf")
        return "nothing"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairstats.publishing.publish.render", render)
        yield


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """The publisher's key, one of an attacker, and those of three witnesses."""
    folder = tmp_path_factory.mktemp("keys")
    names = ("board", "mallory", "ann", "ben", "cai")
    for name in names:
        create_key(folder / name)
    return {name: folder / name for name in names}


def public(key: Path) -> Path:
    return key.with_name(f"{key.name}.pub")


def short(key: Path) -> str:
    return read_public_key(public(key)).short


@pytest.fixture(scope="module")
def released(tmp_path_factory, keys, small_releases):
    """A site with one signed release, and the same site with a second one, signed again."""
    folder = tmp_path_factory.mktemp("signed")
    for name, models in (("1", ("One", "Two")), ("2", ("One",))):
        answers_of_models(models).to_parquet(folder / f"{name}.parquet")
        publish(folder / f"{name}.parquet", release=name, out=folder / "site")
        sign(folder / "site", keys["board"])
        shutil.copytree(folder / "site", folder / f"site-{name}")
    return folder


@pytest.fixture(scope="module")
def forged(tmp_path_factory, small_releases):
    """Other answers, published under the names of the same releases: it all matches."""
    folder = tmp_path_factory.mktemp("forged")
    for name, models in (("1", ("One", "Two")), ("2", ("One",))):
        frame = answers_of_models(models)
        known = frame["answer"].notna()
        frame.loc[known, "answer"] = frame.loc[known, "answer_key"]
        frame.to_parquet(folder / f"{name}.parquet")
        publish(folder / f"{name}.parquet", release=name, out=folder / "site")
    return folder / "site"


@pytest.fixture
def site(released, tmp_path):
    """A copy of the newer site, somewhere else."""
    return shutil.copytree(released / "site-2", tmp_path / "elsewhere" / "site")


def signature_of(site: Path) -> Path:
    """The signature of the newest release."""
    (path,) = (site / "signatures").glob("2.*.json")
    return path


# --- What is signed, checked without the code that signed it


def pae(payload: bytes) -> bytes:
    """The bytes that DSSE signs: https://github.com/secure-systems-lab/dsse, protocol.md."""
    kind = b"application/vnd.in-toto+json"
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def test_signature_is_checked_by_cryptography_and_openssl(site, keys, tmp_path):
    envelope = json.loads(signature_of(site).read_text())
    payload = base64.b64decode(envelope["payload"], validate=True)
    (signature,) = envelope["signatures"]
    sig = base64.b64decode(signature["sig"], validate=True)
    key = load_pem_public_key(public(keys["board"]).read_bytes())
    key.verify(sig, pae(payload))  # raises InvalidSignature
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not on the path")
    (tmp_path / "message").write_bytes(pae(payload))
    (tmp_path / "sig").write_bytes(sig)
    command = [openssl, "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", public(keys["board"])]
    files = ["-in", tmp_path / "message", "-sigfile", tmp_path / "sig"]
    done = subprocess.run([*command, *files], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "Signature Verified Successfully")
    (tmp_path / "message").write_bytes(pae(payload + b" "))
    assert subprocess.run([*command, *files], capture_output=True).returncode == 1
    der = [openssl, "pkey", "-pubin", "-in", public(keys["board"]), "-outform", "DER"]
    found = subprocess.run(der, capture_output=True, check=True).stdout
    assert hashlib.sha256(found).hexdigest() == signature["keyid"]


def layout(value: object) -> object:
    """The names and types of a JSON value; lists by their first entry."""
    if isinstance(value, dict):
        return {name: layout(inner) for name, inner in value.items()}
    return [layout(value[0])] if isinstance(value, list) else type(value).__name__


def test_envelope_and_statement_have_the_layout_of_the_example(site, shared_data):
    example = json.loads(shared_data("formats/example-dsse-svr.json").read_text())
    envelope = json.loads(signature_of(site).read_text())
    assert layout(envelope) == layout(example)
    assert envelope["payloadType"] == example["payloadType"]
    expected = json.loads(base64.b64decode(example["payload"]))
    found = json.loads(base64.b64decode(envelope["payload"]))
    assert layout(found["predicate"]["verifier"].pop("version")).keys() > {"python", "pandas"}
    assert layout(found) == layout(expected)
    assert {n: found[n] for n in ("_type", "predicateType")} == {
        n: expected[n] for n in ("_type", "predicateType")
    }


def test_statement_names_every_manifest_and_what_was_checked(site):
    payload = base64.b64decode(json.loads(signature_of(site).read_text())["payload"])
    statement = json.loads(payload)
    assert {one["name"]: one["digest"]["sha256"] for one in statement["subject"]} == {
        f"v/{name}/manifest.json": sha256(site / "v" / name / "manifest.json") for name in "12"
    }
    assert statement["predicate"]["properties"] == [
        "FAIRSTATS_HASHES_MATCH",
        "FAIRSTATS_CHAIN_LINKED",
        "FAIRSTATS_PUBLISHED_BY_SIGNER",
    ]
    for policy in statement["predicate"]["verifier"]["policies"]:
        assert policy["digest"]["sha256"] == sha256(site / policy["name"])


# --- Verification on another machine


@pytest.mark.usefixtures("without_figures")
def test_signed_site_verifies_from_another_folder(site, keys):
    done = run("verify", site, "--trust", public(keys["board"]))
    assert done.exit_code == 0, done.output
    assert f"board ({short(keys['board'])}) on {date.today()}" in done.output
    root = sha256(site / "v" / "2" / "manifest.json")
    first = sha256(site / "v" / "1" / "manifest.json")
    options = ["--expect", root, "--after", first, "--no-pages"]
    assert run("verify", site, "--trust", public(keys["board"]), *options).exit_code == 0
    *_, around = verify(site, trust=public(keys["board"]), pages=False)
    assert around.signed_by == (read_public_key(public(keys["board"])).id,)
    assert around.recomputed_by == ()


@pytest.mark.usefixtures("without_figures")
def test_signature_without_a_trusted_key_is_a_note(site, keys):
    done = run("verify", site, "--no-pages")
    assert done.exit_code == 0
    assert f"signed with key {short(keys['board'])}" in done.output
    assert "compare this key" in done.output


def test_unsigned_site_needs_no_library_of_cryptography(released, tmp_path):
    site = shutil.copytree(released / "site-1", tmp_path / "site")
    remove_signatures(site)
    code = f"""
import sys
sys.modules["cryptography"] = sys.modules["securesystemslib"] = None
import fairstats._lib.installation as extras
# As pyproject.toml declares it; the installed metadata may be older.
extras.requires = lambda name: ["cryptography>=48; extra == 'submit'"]
from pathlib import Path
from fairstats.publishing.site_folder import Verification
from fairstats.publishing.verify import _with_signers
for site in map(Path, {[str(site), str(released / "site-1")]!r}):
    print(_with_signers(Verification(site, 0, {{}}, ()), {{}}).notes)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == "()"
    assert "not checked: signatures and attestations" in second
    assert "fairstats[submit]" in second


# --- What an attacker changes


def change_figure(site: Path, **_) -> None:
    path = site / "v" / "2" / "downloads" / "estimates.csv"
    path.write_text(path.read_text().replace("0.", "0.9", 1))


def change_page(site: Path, **_) -> None:
    (site / "v" / "2" / "index.html").write_text("<p>all is fair</p>")


def change_page_and_hashes(site: Path, **_) -> None:
    change_page(site)
    rehash(site / "v" / "2")
    assemble(site)


def change_newest_page(site: Path, **_) -> None:
    (site / "latest" / "index.html").write_text("<p>all is fair</p>")


def remove_release(site: Path, **_) -> None:
    shutil.rmtree(site / "v" / "2")
    assemble(site)


def remove_first_release(site: Path, **_) -> None:
    shutil.rmtree(site / "v" / "1")


def remove_signatures(site: Path, **_) -> None:
    for name in ("signatures", "keys"):
        shutil.rmtree(site / name)
    (site / "attestations.json").unlink()
    assemble(site)


def sign_with_other_key(site: Path, keys, **_) -> None:
    remove_signatures(site)
    sign(site, keys["mallory"])


def forge_key_id(site: Path, keys, **_) -> None:
    """A signature by another key, under the id of the publisher's."""
    other = shutil.copytree(site, site.parent / "other")
    sign_with_other_key(other, keys)
    forged = json.loads(signature_of(other).read_text())
    forged["signatures"][0]["keyid"] = read_public_key(public(keys["board"])).id
    signature_of(site).write_text(json.dumps(forged))


def swap_key_file(site: Path, keys, **_) -> None:
    shutil.copy(public(keys["mallory"]), site / "keys" / f"{short(keys['board'])}.pub")


def edit_statement(site: Path, **_) -> None:
    envelope = json.loads(signature_of(site).read_text())
    statement = json.loads(base64.b64decode(envelope["payload"]))
    statement["predicate"]["timeCreated"] = "2020-01-01T00:00:00Z"
    envelope["payload"] = base64.b64encode(json.dumps(statement).encode()).decode()
    signature_of(site).write_text(json.dumps(envelope))


def publish_more(site: Path, **_) -> None:
    answers_of_models(("Two",)).to_parquet(site.parent / "3.parquet")
    publish(site.parent / "3.parquet", release="3", out=site)


def forge_consistently(site: Path, forged: Path, **_) -> None:
    shutil.rmtree(site / "v")
    shutil.copytree(forged / "v", site / "v")
    assemble(site)


def forge_and_remove_signatures(site: Path, forged: Path, **_) -> None:
    forge_consistently(site, forged)
    remove_signatures(site)


def forge_and_sign(site: Path, keys, forged: Path) -> None:
    forge_consistently(site, forged)
    sign_with_other_key(site, keys)


ATTACKS = {
    change_figure: "estimates.csv: was changed after it was published",
    change_page: "v/2/index.html: was changed after it was published",
    change_page_and_hashes: "v/2/manifest.json: is not the manifest that key {board} signed on",
    change_newest_page: "latest/index.html: does not match the releases",
    remove_release: "v/2: is missing: release 2 is in the site that key {board} signed on",
    remove_first_release: "v/1: is missing: release 1 is in the site that key {board} signed on",
    remove_signatures: "site: is not signed (trusted: board ({board}))",
    sign_with_other_key: "is signed with key {mallory}, which is not trusted (board ({board}))",
    forge_key_id: "was changed, or was not signed with the key {board} that it names",
    swap_key_file: "keys/{board}.pub: is not the key of this name, but key {mallory}",
    edit_statement: "was changed, or was not signed with the key {board} that it names",
    publish_more: "covers the releases up to 2, but later ones are not signed",
    forge_consistently: "v/1/manifest.json: is not the manifest that key {board} signed on",
    forge_and_remove_signatures: "site: is not signed (trusted: board ({board}))",
    forge_and_sign: "is signed with key {mallory}, which is not trusted (board ({board}))",
}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
@pytest.mark.usefixtures("without_figures")
def test_attack_fails_with_its_message(attack, site, keys, forged):
    attack(site, keys=keys, forged=forged)
    done = run("verify", site, "--trust", public(keys["board"]), "--no-pages")
    assert done.exit_code == 1, done.output
    names = {name: short(key) for name, key in keys.items()}
    assert ATTACKS[attack].format(**names) in done.output


def test_forged_site_is_consistent_and_fails_only_by_its_signature(site, keys, forged):
    forge_and_sign(site, keys=keys, forged=forged)
    assert run("verify", site).exit_code == 0
    assert run("verify", site, "--trust", public(keys["board"])).exit_code == 1


@pytest.mark.usefixtures("without_figures")
def test_replayed_old_site_passes_its_signature_and_fails_expect_and_after(released, keys):
    old, root = released / "site-1", sha256(released / "site-2" / "v" / "2" / "manifest.json")
    trust = ("--trust", public(keys["board"]), "--no-pages")
    assert run("verify", old, *trust).exit_code == 0
    done = run("verify", old, *trust, "--expect", root)
    assert done.exit_code == 1
    assert "an old copy" in done.output
    done = run("verify", old, *trust, "--after", root.upper())
    assert done.exit_code == 1
    assert f"the manifest with sha256 {root}" in done.output
    assert "the site is older" in done.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--after", "abc"), "--after: 'abc' is not a sha256"),
        (("--attest",), "--attest and --key: need each other"),
        (("--trust", "{board}"), "is a private key; keep it secret"),
        (("--trust", "{site}/latest/index.html"), "is not a public key in PEM"),
        (("--trust", "{board}.pub", "--trust", "{board}.pub"), "which was given before"),
        (("--trust", "{site}/missing.pub"), "missing.pub"),
    ],
)
def test_wrong_option_is_refused(options, message, site, keys):
    given = [one.format(board=keys["board"], site=site) for one in options]
    done = run("verify", site, *given)
    assert done.exit_code == 1
    assert message in done.output


@pytest.mark.parametrize("option", ["--trust", "--after"])
def test_one_release_has_no_signature(option, site, keys):
    value = public(keys["board"]) if option == "--trust" else "0" * 64
    done = run("verify", site / "v" / "2", option, value)
    assert done.exit_code == 1
    assert "is about a whole site" in done.output
    done = run("sign", site / "v" / "2", "--key", keys["board"])
    assert "is one release" in done.output


# --- Signing


def test_site_with_a_changed_file_is_not_signed(site, keys):
    change_page(site)
    before = signature_of(site).read_bytes()
    done = run("sign", site, "--key", keys["board"])
    assert done.exit_code == 1
    assert "was changed after" in done.output
    assert signature_of(site).read_bytes() == before


@pytest.mark.usefixtures("without_figures")
def test_private_key_is_in_no_file_and_no_message(site, keys, tmp_path):
    for number, passphrase in enumerate((None, "a long passphrase")):
        env = {"FAIRSTATS_PASSPHRASE": passphrase}
        key = tmp_path / f"key {number}"
        shown = [run("keygen", "--out", key, env=env), run("sign", site, "--key", key, env=env)]
        shown += [run("verify", site, "--no-pages", "--attest", "--key", key, env=env)]
        assert [done.exit_code for done in shown] == [0, 0, 0]
        shown += [run("keygen", "--out", key, env=env), run("sign", site, "--key", key.parent)]
        shown += [run("verify", site, "--trust", key), run("sign", key, "--key", key, env=env)]
        assert [done.exit_code for done in shown[3:]] == [1, 1, 1, 1]
        content = key.read_bytes()
        secret = load_pem_private_key(content, passphrase and passphrase.encode())
        raw = secret.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        body = b"".join(content.splitlines()[1:-1])
        searched = [done.stdout.encode() + done.stderr.encode() for done in shown]
        searched += [path.read_bytes() for path in site.rglob("*") if path.is_file()]
        assert len(searched) > 50
        for part in (raw, raw.hex().encode(), base64.b64encode(raw), body[-40:], b"PRIVATE KEY"):
            assert not [text for text in searched if part in text]
        if passphrase:
            assert not [text for text in searched if passphrase.encode() in text]


# --- Attestations


def attest(site: Path, key: Path, **options: object):
    return verify_and_attest(site, key, pages=False, **options)


def recomputed_by(site: Path) -> dict[str, int]:
    listed = json.loads((site / "releases.json").read_text())
    return {one["release"]: one["recomputed_by"] for one in listed}


@pytest.mark.usefixtures("without_figures")
def test_attestations_are_counted_by_key_and_listed_with_the_release(site, keys):
    for key in ("ann", "ben", "ann", "cai", "board"):
        assert attest(site, keys[key]).path is not None
    shown = run("verify", site, "--no-pages")
    assert shown.exit_code == 0, shown.output
    assert "recomputed by 3: " in shown.output
    entries = json.loads((site / "attestations.json").read_text())
    assert [one["kind"] for one in entries].count("attestation") == 4
    assert all(one["versions"]["python"] for one in entries)
    assert recomputed_by(site) == {"1": 0, "2": 3}
    # The release itself never changes.
    assert (site / "v" / "2" / "index.html").read_text() == PAGE
    trusted = [public(keys[name]) for name in ("board", "ann")]
    *_, around = verify(site, trust=trusted, pages=False)
    assert around.recomputed_by == (read_public_key(public(keys["ann"])).id,)
    assert f"recomputed by 1: ann ({short(keys['ann'])})" in around.notes
    assert any("not counted: recomputations by 2 keys" in note for note in around.notes)


@pytest.mark.usefixtures("without_figures")
def test_attestation_states_pages_only_if_they_were_drawn(site, keys):
    for pages in (False, True):
        path = verify_and_attest(site, keys["ann"], pages=pages).path
        statement = json.loads(base64.b64decode(json.loads(path.read_text())["payload"]))
        properties = statement["predicate"]["properties"]
        assert "FAIRSTATS_FIGURES_RECOMPUTED" in properties
        assert ("FAIRSTATS_PAGES_REDRAWN" in properties) == pages


def test_failed_verification_gives_no_attestation(site, keys):
    change_figure(site)
    done = run("verify", site, "--attest", "--key", keys["ann"])
    assert done.exit_code == 1
    assert "not attested: the verification failed" in done.output
    assert not (site / "attestations").exists()
    assert not (site / "keys" / f"{short(keys['ann'])}.pub").exists()


def test_wrong_figure_with_right_hashes_gives_no_attestation(site, keys):
    """Hashes and chain match, and even the publisher signs: only recomputation shows it."""
    change_figure(site)
    rehash(site / "v" / "2")
    remove_signatures(site)
    sign(site, keys["board"])
    done = run("verify", site, "--attest", "--key", keys["ann"], "--trust", public(keys["board"]))
    assert done.exit_code == 1
    assert "estimates.csv: does not match" in done.output
    assert not (site / "attestations").exists()


@pytest.mark.usefixtures("without_figures")
def test_site_that_changes_while_it_is_verified_is_not_attested(site, keys, monkeypatch):
    def verify_and_change(folder, **options):
        found = verify(folder, **options)
        change_manifest(folder / "v" / "2", python="9")
        return found

    monkeypatch.setattr("fairstats.publishing.sign_site.verify", verify_and_change)
    with pytest.raises(InputError, match="changed while it was verified"):
        attest(site, keys["ann"])
    assert not (site / "attestations").exists()


@pytest.mark.usefixtures("without_figures")
def test_attestation_of_an_older_release_does_not_count_for_the_newest(released, keys, tmp_path):
    site = shutil.copytree(released / "site-1", tmp_path / "site")
    attest(site, keys["ann"])
    publish_more(site)
    sign(site, keys["board"])
    assert recomputed_by(site) == {"1": 1, "3": 0}
    *_, around = verify(site, trust=[public(keys["board"]), public(keys["ann"])], pages=False)
    assert (around.problems, around.recomputed_by) == ((), ())
    assert Release(site / "v" / "3").manifest["previous"]["release"] == "1"


@pytest.mark.usefixtures("without_figures")
def test_publisher_adds_the_attestation_of_another(site, released, keys, tmp_path):
    theirs = shutil.copytree(released / "site-2", tmp_path / "theirs")
    path = attest(theirs, keys["ann"]).path
    done = run("attestations", site, path)
    assert done.exit_code == 1
    assert f"names the key {short(keys['ann'])}" in done.output
    done = run("attestations", site, path, public(keys["ann"]), "--json")
    assert done.exit_code == 0, done.output
    assert [one["kind"] for one in json.loads(done.output)][-1] == "attestation"
    assert recomputed_by(site) == {"1": 0, "2": 1}
    assert run("verify", site, "--no-pages").exit_code == 0


@pytest.mark.usefixtures("without_figures")
def test_attestation_of_another_site_is_refused(site, forged, keys, tmp_path):
    theirs = shutil.copytree(forged, tmp_path / "theirs")
    path = attest(theirs, keys["ann"]).path
    with pytest.raises(InputError, match="is not the manifest that key"):
        add_attestations(site, [path, public(keys["ann"])])
    assert not (site / "attestations").exists()


@pytest.mark.usefixtures("without_figures")
def test_attestation_among_the_signatures_is_no_signature(site, keys):
    path = attest(site, keys["ann"]).path
    path.rename(site / "signatures" / path.name)
    done = run("verify", site, "--no-pages", "--trust", public(keys["ann"]))
    assert done.exit_code == 1
    assert "is not one of the signatures" in done.output


@pytest.mark.usefixtures("without_figures")
def test_list_that_claims_more_is_named(site, keys):
    attest(site, keys["ann"])
    path = site / "attestations.json"
    more = json.loads(path.read_text())
    path.write_text(json.dumps([*more, more[-1] | {"keyid": "0" * 64}], indent=1) + "\n")
    assemble(site)
    assert recomputed_by(site) == {"1": 0, "2": 2}
    done = run("verify", site, "--no-pages")
    assert done.exit_code == 1
    assert "attestations.json: does not match" in done.output
    add_attestations(site)
    assert run("verify", site, "--no-pages").exit_code == 0
