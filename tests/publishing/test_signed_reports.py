"""Signed audit reports are checked with their release; anything else fails by name."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import zlib
from datetime import datetime
from pathlib import Path

import pytest
from asn1crypto.keys import PrivateKeyInfo
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from pyhanko.pdf_utils.generic import (
    ArrayObject,
    DictionaryObject,
    IndirectObject,
    NumberObject,
    StreamObject,
    pdf_name,
    pdf_string,
)
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.sign.fields import SigFieldSpec, SigSeedSubFilter, append_signature_field
from pyhanko.sign.signers import PdfSignatureMetadata, SimpleSigner, sign_pdf
from pyhanko.sign.signers.pdf_cms import select_suitable_signing_md
from pyhanko_certvalidator.registry import SimpleCertificateStore

from fairstats._lib.problems import InputError
from fairstats.publishing import verify_report
from fairstats.publishing.report_signature import _sign, encoded, read_certificates, report_signer
from fairstats.publishing.verify import verify
from fairstats.publishing.verify_report import check_signature, read_pdf, shows_the_release
from fairstats.report.audit.document import origin_of, report_model
from tests.publishing.edited_releases import run, sha256
from tests.publishing.signing_certificates import DAY, NOW, make_person, write_p12
from tests.report.conftest import answers_of_models
from tests.report.undrawn import undrawn

SECRET = b"correct horse battery"


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """An auditor, another person with the same name, and one with a certificate from a root."""
    root = make_person("A Root", issues=True, usage="key_cert_sign")
    office = make_person("An Office", issues=True, usage="key_cert_sign", issuer=root)
    return {
        "ann": make_person("Ann Auditor"),
        "mallory": make_person("Ann Auditor"),
        "root": root,
        "office": office,
        "ben": make_person("Ben, B.", issuer=office, usage="content_commitment"),
    }


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """Two releases of one site, without pages."""
    folder = tmp_path_factory.mktemp("releases")
    both, one = answers_of_models(("One", "Two")), answers_of_models(("One",))
    return [
        undrawn(both, folder, release="1", every=True),
        undrawn(one, folder, release="2", every=True),
    ]


@pytest.fixture(scope="module")
def reports(releases, people, tmp_path_factory):
    """Reports of the first release: unsigned, and signed by each person."""
    folder = tmp_path_factory.mktemp("reports")
    drawn = report_model("One", releases[0].path, out=folder / "unsigned")
    chain = [people["office"].certificate]
    for name in ("ann", "mallory", "ben"):
        p12 = people[name].p12(folder / f"{name}.p12", SECRET, chain=chain if name == "ben" else ())
        signed = report_signer(p12, passphrase=SECRET)(drawn.read_bytes())
        (folder / f"{name}.pdf").write_bytes(signed)
    return folder


@pytest.fixture
def report(reports, tmp_path):
    """The report that Ann signed, somewhere else."""
    return Path(shutil.copy(reports / "ann.pdf", tmp_path / "report.pdf"))


@pytest.fixture
def trusted(people, tmp_path):
    return people["ann"].pem(tmp_path / "ann.pem")


@pytest.fixture
def undrawn_release(monkeypatch):
    """These releases have no pages that could be drawn again, but reports can be."""

    def without_pages(path, *, expect, pages):
        return verify(path, expect=expect, pages=False)

    monkeypatch.setattr(verify_report, "verify", without_pages)


def checked(path: Path, release: Path, *options: object, code: int = 0) -> str:
    """The output of `fairstats verify` about a PDF, without drawing it."""
    done = run("verify", path, "--release", release, "--no-pages", *options)
    assert done.exit_code == code, done.output
    return "\n".join(line for line in done.output.splitlines() if line.startswith(f"{path}: "))


# --- What a report states about its origin


def test_pdf_names_its_model_and_manifest(reports, releases):
    pypdf = pytest.importorskip("pypdf", reason="pypdf reads the PDF's metadata")
    origin = origin_of(releases[0], "One")
    for name in ("unsigned", "ann"):
        metadata = pypdf.PdfReader(reports / f"{name}.pdf").metadata
        assert metadata["/Keywords"] == str(origin)
    assert origin.model == "one"
    assert json.loads((releases[1].path / "manifest.json").read_text())["previous"] == {
        "release": "1",
        "manifest_sha256": origin.manifest,
    }


# --- Signing


@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize("kind", ["P-256", "P-384", "RSA"])
def test_pdfsig_and_fairstats_accept_a_signature(kind, reports, releases, tmp_path):
    key = {
        "P-256": lambda: ec.generate_private_key(ec.SECP256R1()),
        "P-384": lambda: ec.generate_private_key(ec.SECP384R1()),
        "RSA": lambda: rsa.generate_private_key(65537, 2048),
    }[kind]()
    person = make_person("Cai Checker", key=key)
    p12 = person.p12(tmp_path / "cai.p12", SECRET)
    path = tmp_path / "signed.pdf"
    unsigned = (reports / "unsigned.pdf").read_bytes()
    path.write_bytes(report_signer(p12, passphrase=SECRET)(unsigned))
    assert path.read_bytes().startswith(unsigned)
    said = checked(path, releases[0].path, "--trust", person.pem(tmp_path / "cai.pem"))
    assert f"'CN=Cai Checker' (certificate sha256 {person.fingerprint})" in said
    assert "and not changed since" in said
    program = shutil.which("pdfsig")
    if program is None:
        pytest.skip("pdfsig (poppler-utils) is not on the path")
    done = subprocess.run([program, path], capture_output=True, text=True)
    assert "Signature Validation: Signature is Valid." in done.stdout
    assert "Signature Type: ETSI.CAdES.detached" in done.stdout
    assert "Total document signed" in done.stdout
    assert "Signer Certificate Common Name: Cai Checker" in done.stdout


@pytest.mark.usefixtures("without_figures")
def test_command_signs_with_the_passphrase_of_the_environment(
    people, releases, tmp_path, monkeypatch
):
    monkeypatch.setenv("FAIRSTATS_PASSPHRASE", SECRET.decode())
    p12 = people["ann"].p12(tmp_path / "ann.p12", SECRET)
    out = tmp_path / "out" / "audit.pdf"
    arguments = ["report", "One", "--release", releases[0].path, "--out", out, "--sign", p12]
    done = run(*arguments)
    assert done.exit_code == 0
    assert done.output.startswith(f"{out}\npage 1 does not state: auditor, commissioner, ")
    # The programs that draw pages do not get it.
    assert "FAIRSTATS_PASSPHRASE" not in os.environ
    assert "signed by 'CN=Ann Auditor'" in checked(out, releases[0].path)
    assert list(out.parent.iterdir()) == [out]
    assert SECRET not in out.read_bytes()


def p12_of(name: str, **made: object):
    """Return a function that writes a new person's key and certificate into a folder."""
    return lambda folder: make_person(name, **made).p12(folder / "a.p12", SECRET)


valid = p12_of("Ann")


def link(folder: Path) -> Path:
    (folder / "link.p12").symlink_to(valid(folder))
    return folder / "link.p12"


def open_to_all(folder: Path) -> Path:
    path = valid(folder)
    path.chmod(0o644)
    return path


def pem(folder: Path) -> Path:
    path = make_person("Ann").pem(folder / "a.p12")
    path.chmod(0o600)
    return path


def damaged(folder: Path) -> Path:
    path = valid(folder)
    path.write_bytes(path.read_bytes()[:-40])
    return path


def one_part(key: object = None, certificate: object = None):
    return lambda folder: write_p12(folder / "a.p12", key, certificate, SECRET)


ANN = make_person("Ann")
OLD_END, NEW_START = NOW - DAY / 2, NOW + DAY


@pytest.mark.parametrize(
    ("make", "passphrase", "said"),
    [
        (valid, "wrong horse", "cannot be decrypted: the passphrase is wrong, or the file is"),
        (valid, None, "is encrypted; set FAIRSTATS_PASSPHRASE to its passphrase"),
        (damaged, ..., "is not a PKCS#12 file; make one: openssl pkcs12 -export"),
        (pem, ..., "is not a PKCS#12 file; make one: openssl pkcs12 -export"),
        (link, ..., "is a link; give the file itself"),
        (open_to_all, ..., "can be read by other users of this machine; run chmod 600 a.p12"),
        (lambda folder: folder / "none.p12", ..., "no such file"),
        (one_part(key=ANN.key), ..., "contains a private key, but not its certificate"),
        (one_part(certificate=ANN.certificate), ..., "contains no private key"),
        (
            p12_of("Old", end=OLD_END),
            ...,
            f"contains a certificate that expired on {OLD_END:%Y-%m-%d}",
        ),
        (
            p12_of("New", start=NEW_START),
            ...,
            f"contains a certificate that is valid only from {NEW_START:%Y-%m}",
        ),
        (
            p12_of("Sealed", usage="key_encipherment"),
            ...,
            "contains a certificate that is not for signatures",
        ),
        (
            p12_of("Short", key=rsa.generate_private_key(65537, 1024)),
            ...,
            "contains an RSA key of only 1,024 bits",
        ),
        (
            p12_of("Ed", key=ed25519.Ed25519PrivateKey.generate()),
            ...,
            "contains a key of a kind that few readers of PDFs can check",
        ),
    ],
)
def test_unusable_key_is_refused_and_no_file_written(make, passphrase, said, releases, tmp_path):
    (tmp_path / "keys").mkdir()
    p12 = make(tmp_path / "keys")
    secret = SECRET.decode() if passphrase is ... else passphrase
    out = tmp_path / "out" / "a.pdf"
    arguments = ["report", "One", "--release", releases[0].path, "--out", out, "--sign", p12]
    done = run(*arguments, env={"FAIRSTATS_PASSPHRASE": secret})
    assert done.exit_code == 1
    assert done.output.startswith(f"{p12}: {said}")
    assert secret is None or secret not in done.output
    assert not out.parent.exists()


def test_key_inside_the_site_is_refused(people, releases, tmp_path):
    site = shutil.copytree(releases[0].path.parents[1], tmp_path / "site")
    p12 = people["ann"].p12(site / ".ann.p12")
    done = run("report", "One", "--release", site / "v" / "1", "--out", tmp_path, "--sign", p12)
    assert done.exit_code == 1
    assert f"{p12}: is inside the site {site}" in done.output


def test_html_report_cannot_be_signed(people, releases, tmp_path):
    p12 = people["ann"].p12(tmp_path / "ann.p12")
    arguments = ["--release", releases[0].path, "--to", "html", "--sign", p12]
    done = run("report", "One", *arguments)
    assert done.exit_code == 1
    assert done.output.startswith("--sign: only a PDF")


def test_failed_signing_leaves_the_file_as_it_was(releases, tmp_path):
    (tmp_path / "a.pdf").write_text("an earlier one")

    def fail(content):
        assert content.startswith(b"%PDF")
        raise InputError([])

    with pytest.raises(InputError):
        report_model("One", releases[0].path, out=tmp_path / "a.pdf", sign=fail)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["an earlier one"]


def test_missing_library_is_named_with_its_extra(releases, reports):
    code = """
import json, sys
class Missing:
    def find_spec(name, *rest):
        if name in ("asn1crypto", "cryptography", "pyhanko", "securesystemslib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing)
import fairstats._lib.installation as extras
# As pyproject.toml declares it; the installed metadata may be older.
extras.requires = lambda name: [
    "pyhanko>=0.38; extra == 'pades'", "cryptography>=48; extra == 'submit'"
]
from fairstats.cli import app
for arguments in json.loads(sys.argv[1]):
    try:
        app(arguments)
    except SystemExit as ended:
        print(ended.code)
"""
    release, pdf = str(releases[0].path), str(reports / "ann.pdf")
    commands = [
        ["report", "One", "--release", release, "--sign", str(reports / "ann.p12")],
        ["verify", pdf, "--release", release],
    ]
    command = [sys.executable, "-c", code, json.dumps(commands)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["1", "1"]
    expected = "pyhanko: is not installed; install it: pip install 'fairstats[pades]'"
    assert done.stderr.splitlines() == [expected, expected]


# --- Verification


def test_signed_report_verifies_with_its_release_and_signer(
    report, releases, people, trusted, snapshot
):
    release = releases[0].path
    texts = set()
    for folder in (release, release.parents[1]):
        said = checked(report, folder, "--trust", trusted)
        for text, name in (
            (str(report), "REPORT"),
            (str(release), "RELEASE"),
            (origin_of(releases[0], "One").manifest, "MANIFEST"),
            (people["ann"].fingerprint, "ANN"),
        ):
            assert text in said
            said = said.replace(text, name)
        texts.add(re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "TIME", said))
    (text,) = texts
    assert text == snapshot


@pytest.mark.usefixtures("without_figures")
def test_signer_without_a_trusted_certificate_is_not_verified(report, releases, people):
    said = checked(report, releases[0].path)
    assert "identity not verified" in said
    assert people["ann"].fingerprint in said
    (_, found) = verify_report.verify_report(report, releases[0].path, pages=False)
    assert (found.problems, found.signed_by) == ((), ())


@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize("name", ["root", "office", "ben"])
def test_root_issuer_or_signer_can_be_trusted(name, reports, releases, people, tmp_path):
    path = people[name].pem(tmp_path / "trusted.pem")
    said = checked(reports / "ben.pdf", releases[0].path, "--trust", path)
    assert "identity: " in said
    assert ("issued under a root" in said) == (name != "ben")
    assert r"'CN=Ben\\, B.'" in said


def test_report_is_drawn_again_by_default(report, releases, undrawn_release, tmp_path):
    release = shutil.copytree(releases[0].path, tmp_path / "alone" / "1")
    done = run("verify", report, "--release", release)
    assert done.exit_code == 0, done.output
    assert f"{report}: pages: the same as drawn" in done.output


@pytest.mark.usefixtures("without_figures")
def test_unsigned_report_says_so_and_fails_with_trust(reports, releases, trusted):
    path = reports / "unsigned.pdf"
    said = checked(path, releases[0].path)
    assert f"{path}: verified 1 file\n" in said
    assert "not signed: this file" in said
    said = checked(path, releases[0].path, "--trust", trusted, code=1)
    assert "is not signed; get" in said


# --- What an attacker changes


def changed_byte(path: Path, **_: object) -> None:
    """Change a byte in the middle of a page's content."""
    content = bytearray(path.read_bytes())
    start = content.index(b"stream\n") + 200
    content[start] ^= 1
    path.write_bytes(content)


def changed_keywords(path: Path, releases, **_: object) -> None:
    """Name the other release, which has as long a hash."""
    first, second = (origin_of(one, "One").manifest.encode() for one in releases)
    content = path.read_bytes()
    assert first in content
    path.write_bytes(content.replace(first, second))


def with_update(path: Path, change) -> bytes:
    """Append an incremental update to a PDF."""
    writer = IncrementalPdfFileWriter(io.BytesIO(path.read_bytes()))
    change(writer)
    output = io.BytesIO()
    writer.write(output)
    return output.getvalue()


#: A page that is black.
BOX = b"0 0 600 900 re f"


def first_page(writer: IncrementalPdfFileWriter) -> DictionaryObject:
    page = writer.root["/Pages"]["/Kids"][0]
    return page["/Kids"][0] if "/Kids" in page else page


def change_first_page(writer: IncrementalPdfFileWriter) -> None:
    """Replace the content of the first page."""
    page = first_page(writer)
    page["/Contents"] = writer.add_object(StreamObject(stream_data=BOX))
    writer.update_container(page)


def appended_update(path: Path, **_: object) -> None:
    path.write_bytes(with_update(path, change_first_page))


def appended_end(path: Path, **_: object) -> None:
    """Append only a second end of the file."""
    content = path.read_bytes()
    path.write_bytes(content + content[content.rindex(b"startxref") :])


def appended_junk(path: Path, **_: object) -> None:
    path.write_bytes(path.read_bytes() + b"\n<html>")


def stripped(path: Path, reports, **_: object) -> None:
    unsigned = (reports / "unsigned.pdf").read_bytes()
    path.write_bytes(path.read_bytes()[: len(unsigned)])


def signed_by_another(path: Path, reports, **_: object) -> None:
    shutil.copy(reports / "mallory.pdf", path)


def signed_again(path: Path, reports, **_: object) -> None:
    """Change the page below a second signature."""
    changed = with_update(path, change_first_page)
    again = report_signer(reports / "mallory.p12", passphrase=SECRET)
    output = io.BytesIO()
    writer = IncrementalPdfFileWriter(io.BytesIO(changed))
    append_signature_field(writer, SigFieldSpec("Other"))
    writer.write(output)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairstats.publishing.report_signature._FIELD", "Other")
        path.write_bytes(again(output.getvalue()))


def signature_of_another(path: Path, reports, **_: object) -> None:
    """Put the certificate and signature of another person into the signed file."""
    content, drawn = path.read_bytes(), (reports / "unsigned.pdf").read_bytes()
    # Of another file: two people who sign one in the same second sign the same bytes.
    other = report_signer(reports / "mallory.p12", passphrase=SECRET)(drawn + b"\n")
    old, new = (re.search(rb"/Contents <([0-9A-F]+)>", one)[1] for one in (content, other))
    path.write_bytes(content.replace(old, new))


def uncovered_range(path: Path, **_: object) -> None:
    """Let the signature leave out 100 bytes more."""
    content = path.read_bytes()
    found = re.search(rb"/ByteRange \[0 (\d+) (\d+) (\d+)\] *", content)
    first, second, length = (int(one) for one in found.groups())
    text = b"/ByteRange [0 %d %d %d]" % (first - 100, second, length)
    path.write_bytes(content.replace(found[0], text.ljust(len(found[0]))))


def added_to_the_padding(path: Path, **_: object) -> None:
    """Put an entry among the zeros behind the signature, which it does not cover."""
    content = path.read_bytes()
    digits = re.search(rb"/Contents <([0-9A-F]+)>", content)[1]
    entry = b"> /Added (text) /Rest <00"
    path.write_bytes(content.replace(digits, digits[: -len(entry)] + entry))


def hidden_in_the_padding(path: Path, **_: object) -> None:
    """Write digits over the zeros behind the signature."""
    content = path.read_bytes()
    digits = re.search(rb"/Contents <([0-9A-F]+)>", content)[1]
    text = b"hidden".hex().encode()
    path.write_bytes(content.replace(digits, digits[: -len(text)] + text))


ATTACKS = {
    changed_byte: "was changed after it was signed: its content does not match the signature",
    changed_keywords: "was changed after it was signed: its content does not match the signature",
    appended_update: "was changed after it was signed: the signature covers the first",
    appended_end: "was changed after it was signed: the signature covers the first",
    appended_junk: "was changed after it was signed: the signature covers the first",
    stripped: "is not signed",
    signed_by_another: "which is not trusted; if the signer announced this certificate elsewhere",
    signed_again: "has 2 signatures, but can be checked only with one",
    signature_of_another: "was changed after it was signed: its content does not match",
    uncovered_range: "has a signature that does not cover bytes",
    added_to_the_padding: "has a signature that does not cover bytes",
    hidden_in_the_padding: "was changed after it was signed: bytes behind the signature",
}


@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda one: one.__name__)
def test_attacked_report_fails_by_name(attack, report, reports, releases, trusted):
    attack(report, reports=reports, releases=releases)
    said = checked(report, releases[0].path.parents[1], "--trust", trusted, code=1)
    assert ATTACKS[attack] in said
    assert "signed by 'CN=Ann" not in said.replace("is signed by 'CN=Ann", "")
    # Without a trusted certificate, only what shows in the file can be a problem.
    code = 0 if attack in (stripped, signed_by_another) else 1
    checked(report, releases[0].path.parents[1], code=code)


def test_release_changed_afterwards_fails(report, releases, tmp_path):
    release = shutil.copytree(releases[0].path, tmp_path / "1")
    figures = release / "downloads" / "estimates.csv"
    figures.write_text(figures.read_text().replace("0.", "0.9", 1))
    done = run("verify", report, "--release", release)
    assert done.exit_code == 1
    assert f"{figures}: was changed" in done.output
    assert f"{report}: not checked: the pages" in done.output
    # With a manifest that fits, it is another release.
    path = release / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["files"]["downloads/estimates.csv"] = sha256(figures)
    path.write_text(json.dumps(manifest))
    said = checked(report, release, code=1)
    old, new = origin_of(releases[0], "One").manifest, sha256(path)
    assert f"manifest has sha256 {old}" in said
    assert f"{release} has sha256 {new}" in said


def test_report_of_another_release_fails(report, releases, trusted, tmp_path):
    said = checked(report, releases[1].path, "--trust", trusted, code=1)
    digest = origin_of(releases[1], "One").manifest
    assert f"{releases[1].path} has sha256 {digest}" in said
    site = shutil.copytree(releases[0].path.parents[1], tmp_path / "site")
    shutil.rmtree(site / "v" / "1")
    said = checked(report, site, "--trust", trusted, code=1)
    assert f"no release in {site}" in said


def test_pdf_without_origin_is_refused(releases, tmp_path):
    pypdf = pytest.importorskip("pypdf", reason="pypdf writes a PDF")
    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    writer.write(tmp_path / "other.PDF")
    said = checked(tmp_path / "other.PDF", releases[0].path, code=1)
    assert "does not name the release" in said


# --- Pages that are not those of the release


def overwrite(writer: IncrementalPdfFileWriter) -> IndirectObject:
    """Replace the content of the first page by a black box, with the same entries."""
    content = first_page(writer).raw_get("/Contents")
    old = content.get_object()
    data = zlib.compress(BOX).ljust(old["/Length"], b"\0")
    writer.objects[content.generation, content.idnum] = StreamObject(old, encoded_data=data)
    return content


def overwritten(writer: IncrementalPdfFileWriter) -> None:
    overwrite(writer)


def named_as_metadata(writer: IncrementalPdfFileWriter) -> None:
    """Call the replaced content the document's metadata, which signing may replace."""
    writer.root["/Metadata"] = overwrite(writer)
    writer.update_root()
    # The library would refuse this metadata.
    writer._update_meta = lambda: None


def named_as_page(writer: IncrementalPdfFileWriter) -> None:
    """Call the replaced content the page of the signature, to which signing adds an annotation."""
    content = overwrite(writer)
    append_signature_field(writer, SigFieldSpec("Signature"))
    (field,) = writer.root["/AcroForm"]["/Fields"]
    field.get_object()["/P"] = content
    replaced = writer.objects[content.generation, content.idnum]
    replaced[pdf_name("/Annots")] = ArrayObject([field])
    # The page itself stays as it was.
    page = first_page(writer).container_ref
    del writer.objects[page.generation, page.idnum]


def script(writer: IncrementalPdfFileWriter) -> None:
    """Run a script when the document is opened."""
    action = {"/S": pdf_name("/JavaScript"), "/JS": pdf_string("app.alert(1)")}
    writer.root["/OpenAction"] = DictionaryObject({pdf_name(n): v for n, v in action.items()})
    writer.update_root()


def visible_field(writer: IncrementalPdfFileWriter) -> None:
    """Let the signature cover half of the page."""
    append_signature_field(writer, SigFieldSpec("Signature", box=(0, 0, 600, 400)))


def second_note(writer: IncrementalPdfFileWriter) -> None:
    """Put an annotation over the page."""
    page = first_page(writer)
    entries = {"/Type": "/Annot", "/Subtype": "/Square"}
    note = DictionaryObject({pdf_name(name): pdf_name(kind) for name, kind in entries.items()})
    note[pdf_name("/Rect")] = ArrayObject(map(NumberObject, (0, 0, 600, 400)))
    page["/Annots"].append(writer.add_object(note))
    writer.update_container(page)


def hidden_pages(writer: IncrementalPdfFileWriter) -> None:
    """Put other pages into the metadata, for viewers that search a broken file for objects.

    `signed_with` breaks it: the version is at a false place.
    """
    pages = writer.root.raw_get("/Pages").idnum
    text = b"BT /F 24 Tf 50 700 Td (PASSED) Tj ET"
    hidden = b"""
%d 0 obj
<</Type/Pages/Kids[9001 0 R]/Count 1>>
endobj
9001 0 obj
<</Type/Page/Parent %d 0 R/MediaBox[0 0 595 842]/Contents 9002 0 R
/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>
endobj
9002 0 obj
<</Length %d>>
stream
%s
endstream
endobj
""" % (pages, pages, len(text), text)
    entries = {pdf_name("/Type"): pdf_name("/Metadata"), pdf_name("/Subtype"): pdf_name("/XML")}
    writer.root["/Metadata"] = writer.add_object(StreamObject(entries, stream_data=hidden))
    # Signing replaces any lower version.
    writer.root["/Version"] = writer.add_object(pdf_name("/2.0"))
    writer.update_root()
    # The library would refuse this metadata.
    writer._update_meta = lambda: None


def nothing_else(writer: IncrementalPdfFileWriter) -> None:
    """Sign with other programs, which also change the metadata."""


#: Programs that print the text of a PDF.
VIEWERS = (
    ("pdftotext", "-layout"),
    ("gs", "-q", "-dNOPAUSE", "-dBATCH", "-sDEVICE=txtwrite", "-sOutputFile=-"),
)


def viewed(command: tuple[str, ...], path: Path) -> str:
    """Return the text that a viewer shows."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not here")
    rest = ["-"] if command[0] == "pdftotext" else []
    done = subprocess.run([*command, str(path), *rest], capture_output=True)
    # Ghostscript does not write all characters as UTF-8.
    return done.stdout.decode(errors="replace")


@pytest.fixture
def drawn_once(reports, monkeypatch):
    def copy(model, release, *, out, crosswalk, facts, sign):
        assert (model, crosswalk, facts.encoded, sign) == ("one", False, "", None)
        return shutil.copy(reports / "unsigned.pdf", out)

    monkeypatch.setattr(verify_report, "report_model", copy)


def signed_with(change, reports: Path, p12: Path, path: Path) -> Path:
    """Change a report and sign it in the same revision, so the signature is valid."""
    writer = IncrementalPdfFileWriter(io.BytesIO((reports / "unsigned.pdf").read_bytes()))
    change(writer)
    metadata = PdfSignatureMetadata(field_name="Signature", subfilter=SigSeedSubFilter.PADES)
    (signer,) = report_signer(p12, passphrase=SECRET).args
    content = sign_pdf(writer, metadata, signer=signer).getvalue()
    if change is hidden_pages:
        content = resigned(displaced(content), signer)
    path.write_bytes(content)
    return path


def displaced(content: bytes) -> bytes:
    """Let the table of objects name a false place for the version."""
    place = content.rindex(b" 0 obj\n/2.0\nendobj")
    place = content.rindex(b"\n", 0, place) + 1
    # If it were not referred to, poppler would not look for it, and show the pages of the report.
    assert b"/Version %s 0 R" % content[place:].split()[0] in content
    assert content.count(b"%010d 00000 n" % place) == 1
    return content.replace(b"%010d 00000 n" % place, b"%010d 00000 n" % 15)


def resigned(content: bytes, signer: SimpleSigner) -> bytes:
    """Sign changed bytes again, in the place of their signature."""
    found = re.findall(rb"/ByteRange \[0 (\d+) (\d+) (\d+)\]", content)
    first, second, _ = map(int, found[-1])
    covered = content[:first] + content[second:]
    algorithm = select_suitable_signing_md(signer.signing_cert.public_key)
    digest = hashlib.new(algorithm, covered).digest()
    made = asyncio.run(signer.async_sign(digest, algorithm, use_pades=True))
    digits = made.dump().hex().encode().ljust(second - first - 2, b"0")
    return content[: first + 1] + digits + content[second - 1 :]


@pytest.mark.usefixtures("drawn_once")
@pytest.mark.parametrize(
    "change",
    [
        change_first_page,
        overwritten,
        named_as_metadata,
        named_as_page,
        script,
        visible_field,
        second_note,
        nothing_else,
        hidden_pages,
    ],
)
def test_signer_cannot_show_other_pages(change, reports, releases, trusted, tmp_path):
    path = signed_with(change, reports, reports / "ann.p12", tmp_path / "a.pdf")
    pdf = read_pdf(path)
    # The signature is fine: only drawing the report again shows what its signer changed.
    assert check_signature(pdf, read_certificates([trusted])).problems == ()
    assert pdf.content.startswith((reports / "unsigned.pdf").read_bytes())
    assert not shows_the_release(pdf, releases[0].path, origin_of(releases[0], "One"))


@pytest.mark.usefixtures("drawn_once")
def test_signed_report_shows_the_release_in_every_viewer(reports, releases):
    pdf = read_pdf(reports / "ann.pdf")
    assert shows_the_release(pdf, releases[0].path, origin_of(releases[0], "One"))
    for command in VIEWERS:
        texts = [viewed(command, reports / f"{name}.pdf") for name in ("unsigned", "ann")]
        assert texts[0] == texts[1]
        assert "Auditor’s statement" in texts[0]


@pytest.mark.usefixtures("drawn_once")
@pytest.mark.parametrize(
    ("stated", "same"), [(b"20200101000000Z", True), (b"1 0 obj<<>> obj", False)]
)
def test_only_the_time_of_signing_can_differ(stated, same, reports, releases, tmp_path):
    content = (reports / "ann.pdf").read_bytes()
    (there,) = re.findall(rb"/M \(D\\072(\d{14}Z)\)", content)
    (tmp_path / "a.pdf").write_bytes(content.replace(there, stated))
    pdf = read_pdf(tmp_path / "a.pdf")
    assert shows_the_release(pdf, releases[0].path, origin_of(releases[0], "One")) == same


def test_file_that_states_a_signature_must_have_one(people, releases, tmp_path):
    p12 = people["ann"].p12(tmp_path / "ann.p12", SECRET)
    signer = report_signer(p12, passphrase=SECRET)
    path = report_model("One", releases[0].path, out=tmp_path / "a.pdf", sign=signer)
    assert "signed by 'CN=Ann Auditor'" in checked(path, releases[0].path)
    path.write_bytes(path.read_bytes()[: path.read_bytes().index(b"%%EOF") + 5])
    said = checked(path, releases[0].path, code=1)
    assert "states on page 1 that it is signed, but has no signature" in said


@pytest.mark.usefixtures("drawn_once")
def test_pages_with_an_appended_update_differ(reports, releases, tmp_path):
    origin = origin_of(releases[0], "One")
    changed = with_update(reports / "unsigned.pdf", overwritten)
    (tmp_path / "a.pdf").write_bytes(changed)
    assert not shows_the_release(read_pdf(tmp_path / "a.pdf"), releases[0].path, origin)
    assert shows_the_release(read_pdf(reports / "unsigned.pdf"), releases[0].path, origin)
    (tmp_path / "b.pdf").write_bytes(report_signer(reports / "ann.p12", passphrase=SECRET)(changed))
    assert not shows_the_release(read_pdf(tmp_path / "b.pdf"), releases[0].path, origin)


@pytest.mark.usefixtures("undrawn_release", "without_figures")
def test_changed_pages_fail_with_a_remedy(reports, releases, tmp_path):
    path = tmp_path / "a.pdf"
    path.write_bytes(with_update(reports / "unsigned.pdf", overwritten))
    done = run("verify", path, "--release", releases[0].path)
    assert done.exit_code == 1
    assert f"{path}: its pages differ" in done.output
    assert "--no-pages checks only" in done.output


# --- Times and certificates


def signed_at(when, person, path: Path, reports: Path) -> Path:
    """Sign with any certificate, and with a clock that shows this time."""
    signer = SimpleSigner(
        encoded(person.certificate),
        PrivateKeyInfo.load(
            person.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        ),
        SimpleCertificateStore(),
    )

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return when.astimezone(tz)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairstats.publishing.report_signature.datetime", Clock)
        path.write_bytes(_sign(signer, (reports / "unsigned.pdf").read_bytes()))
    return path


@pytest.mark.parametrize(
    ("when", "made", "problem", "note"),
    [
        (NOW, {}, "", ""),
        (NOW + DAY, {}, "claims to be signed at", ""),
        (NOW, {"end": NOW - DAY / 2}, "but this certificate expired on", ""),
        (NOW - 2 * DAY, {}, "but this certificate is valid only from", ""),
        (NOW, {"usage": "key_encipherment"}, "but this certificate is not for signatures", ""),
        (
            NOW - 3 * DAY,
            {"start": NOW - 4 * DAY, "end": NOW - 2 * DAY},
            "",
            "only the signer's clock shows that it was used before",
        ),
    ],
)
def test_time_of_signing_must_fit_the_certificate(when, made, problem, note, reports, tmp_path):
    person = make_person("Cai", **made)
    pdf = read_pdf(signed_at(when, person, tmp_path / "a.pdf", reports))
    found = check_signature(pdf, [person.certificate])
    assert [problem in one.message for one in found.problems] == [True] * bool(problem)
    assert found.signed_by == (() if problem else (person.fingerprint,))
    assert note in " ".join(found.notes)
    if not problem:
        assert f"at {when:%Y-%m-%d %H:%M} UTC" in found.notes[0]


def test_certificate_of_a_root_with_the_same_name_is_not_enough(reports, people, tmp_path):
    other = make_person("A Root", issues=True, usage="key_cert_sign")
    pdf = read_pdf(reports / "ben.pdf")
    (problem,) = check_signature(pdf, [other.certificate]).problems
    assert "which is not trusted" in problem.message
    # A root that has expired by now issued nothing today.
    chain = [people["office"].certificate, people["root"].certificate]
    assert check_signature(pdf, chain).problems == ()


# --- Options


@pytest.mark.usefixtures("without_figures")
def test_pdf_needs_a_release_and_no_options_of_sites(report, releases, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("verify", report)
    assert done.exit_code == 1
    assert done.output.startswith(f"{report}: is checked against")
    (tmp_path / "site").symlink_to(releases[0].path.parents[1])
    assert run("verify", report, "--no-pages").exit_code == 0
    release = releases[0].path
    for option in (["--expect", "0" * 64], ["--after", "0" * 64], ["--attest"], ["--key", report]):
        done = run("verify", report, "--release", release, *option)
        assert done.exit_code == 1
        assert done.output.startswith(f"{option[0]}: is not for a PDF")
    done = run("verify", release, "--release", release)
    assert done.exit_code == 1
    assert "is not a PDF; give" in done.output


def test_only_certificates_can_be_trusted(report, releases, people, tmp_path):
    key = people["ann"].key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = (
        people["ann"].key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    certificate = people["ann"].pem(tmp_path / "ann.pem").read_bytes()
    for content, said in (
        (key, "contains a private key; keep it secret, and give the signer's certificate"),
        (certificate + key, "contains a private key"),
        (public, "is not a file of certificates in PEM; give the signer's certificate"),
        (certificate + b"junk", "is not a file of certificates in PEM"),
        (certificate[:200], "is not a file of certificates in PEM"),
        (b"\xff\x00", "is not a file of certificates in PEM"),
    ):
        path = tmp_path / "other.pem"
        path.write_bytes(content)
        assert (
            f"{path}: {said}"
            in run("verify", report, "--release", releases[0].path, "--trust", path).output
        )


# --- Hostile files


def encrypted(path: Path) -> None:
    pypdf = pytest.importorskip("pypdf", reason="pypdf encrypts a PDF")
    writer = pypdf.PdfWriter(clone_from=path)
    writer.encrypt("secret")
    writer.write(path)


def nested(path: Path) -> None:
    """Nest arrays deeper than Python's stack in the document's information."""
    content = path.read_bytes()
    path.write_bytes(content.replace(b"/Keywords", b"/Deep " + b"[" * 100_000 + b"/Keywords", 1))


def loop(path: Path) -> None:
    """Let the table of objects refer to itself as the one before."""
    content = path.read_bytes()
    start = content[content.rindex(b"startxref") :].split()[1]
    path.write_bytes(re.sub(rb"/Prev \d+", b"/Prev " + start, content))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.write_bytes(b"%PDF-1.7"), "cannot be read as a PDF ("),
        (lambda path: path.write_text("no PDF"), "cannot be read as a PDF ("),
        (lambda path: path.write_bytes(b""), "the file is empty"),
        (lambda path: os.truncate(path, 17 << 20), "is larger than 16,777,216 bytes"),
        (lambda path: os.truncate(path, 100_000), "cannot be read as a PDF ("),
        (encrypted, "is encrypted; get a copy that is not encrypted"),
        (nested, "cannot be read as a PDF ("),
        (loop, "cannot be read as a PDF ("),
    ],
)
def test_hostile_pdf_is_refused_in_a_line(damage, said, report, releases):
    damage(report)
    done = run("verify", report, "--release", releases[0].path)
    assert done.exit_code == 1
    (line,) = done.output.splitlines()
    assert line.startswith(f"{report}: {said}")
    assert logging.getLogger("pyhanko").level == logging.NOTSET


@pytest.mark.usefixtures("without_figures")
def test_hostile_name_cannot_pose_as_output(reports, releases, tmp_path):
    person = make_person("Ann' (trusted)\n\x1b[2J" + "x" * 30)
    path = signed_at(NOW, person, tmp_path / "a.pdf", reports)
    said = checked(path, releases[0].path)
    assert "\x1b" not in said
    assert r"""signed by "CN=Ann' (trusted)\n\x1b[2J""" in said
