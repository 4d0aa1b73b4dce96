"""Hostile and damaged releases are refused in a line, with bounded memory, and nothing of other
files is printed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from fairstats._lib.problems import InputError, Note
from fairstats.cli import app
from fairstats.publishing.publish import publish, write_documents
from fairstats.publishing.site_folder import assemble
from fairstats.release.contents import Release
from fairstats.release.tables import write_table
from tests.publishing.edited_releases import change_manifest, rehash, relink, sha256
from tests.report.conftest import answers_of_models

pytestmark = pytest.mark.usefixtures("without_pages", "few_tables")

SECRET = "item_id,answer_key\nthe-secret,A\n"


@pytest.fixture(scope="module")
def published(tmp_path_factory, without_pages, few_tables):
    """Three releases whose pages were not drawn."""
    folder = tmp_path_factory.mktemp("attacked")
    for name, models in (("1", ("One", "Two")), ("2", ("One",)), ("3", ("Two",))):
        answers_of_models(models).to_parquet(folder / f"{name}.parquet")
        publish(folder / f"{name}.parquet", release=name, out=folder / "site")
    return folder / "site"


@pytest.fixture
def site(published, tmp_path):
    return shutil.copytree(published, tmp_path / "site")


@pytest.fixture
def release(published, tmp_path):
    """The first release alone."""
    return shutil.copytree(published / "v" / "1", tmp_path / "1")


@pytest.fixture
def first_site(published, tmp_path):
    """A site with the first release alone."""
    shutil.copytree(published / "v" / "1", tmp_path / "site" / "v" / "1")
    assemble(tmp_path / "site")
    return tmp_path / "site"


def run(*arguments: object):
    # In colour, since the runner removes escape sequences from what is not for a terminal.
    return CliRunner().invoke(app, ["verify", *map(str, arguments)], color=True)


@pytest.fixture(scope="module")
def unchanged(published) -> str:
    """The output of the verification of the site as it was published."""
    done = run(published)
    assert done.exit_code == 0, done.output
    return done.output


def refused(done) -> str:
    """The output of a verification that failed without a traceback, in lines of messages."""
    assert done.exit_code == 1, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert "Traceback" not in done.output
    return done.output


# Not ru_maxrss for the peak: a process inherits that of the process that started it.
VERIFY_APART = """
import json, re, sys
from pathlib import Path
from typer.testing import CliRunner
from fairstats.cli import app
for path in sys.argv[1:]:
    done = CliRunner().invoke(app, ["verify", path], catch_exceptions=False)
    (peak,) = re.findall(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
    print(json.dumps([path, done.exit_code, done.output, int(peak) / 1024]), flush=True)
"""


def refused_apart(*releases: Path) -> list[str]:
    """Return the outputs of `fairstats verify` in a process of its own, which needs under 1 GB."""
    done = subprocess.run(
        [sys.executable, "-c", VERIFY_APART, *map(str, releases)],
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        # 8 GB of addresses: what reads /dev/zero ends here, and not this machine.
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30)),
    )
    assert done.returncode == 0, done.stdout
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [path for path, *_ in found] == list(map(str, releases))
    for path, code, output, memory in found:
        assert code == 1, (path, output)
        assert "Traceback" not in output, path
        assert memory < 1000, path
    return [output for _, _, output, _ in found]


# --- Files that are none of the release


def set_keys(release: Path, keys: str) -> None:
    toml = release / "benchmarks" / "demo.toml"
    lines = [line for line in toml.read_text().splitlines() if not line.startswith("keys_file")]
    toml.write_text("\n".join([f"keys_file = {json.dumps(keys)}", *lines]))


@pytest.mark.parametrize("kind", ["absolute", "above", "link", "hard to see link", "folder"])
def test_keys_outside_of_the_release_are_refused_and_not_printed(release, tmp_path, kind):
    outside = tmp_path / "outside" / "secret.csv"
    outside.parent.mkdir()
    outside.write_text(SECRET)
    name = {"absolute": str(outside), "above": "../../outside/secret.csv"}.get(kind, "secret.csv")
    if kind == "link":
        (release / "benchmarks" / name).symlink_to(outside)
    if kind == "hard to see link":
        (release / "benchmarks" / "more").symlink_to(outside.parent)
        name = "more/secret.csv"
    if kind == "folder":
        name = "."
    set_keys(release, name)
    rehash(release)
    output = refused(run(release))
    assert "the-secret" not in output
    assert "demo.toml" in output or "link" in output


def with_key_device(release: Path) -> None:
    set_keys(release, "/dev/zero")
    rehash(release)


def with_key_pipe(release: Path) -> None:
    os.mkfifo(release / "benchmarks" / "keys.csv")
    set_keys(release, "keys.csv")
    rehash(release)


def with_named_pipe(release: Path) -> None:
    os.mkfifo(release / "downloads" / "pipe")
    files = json.loads((release / "manifest.json").read_text())["files"]
    change_manifest(release, files=files | {"downloads/pipe": "0" * 64})


def with_gigabytes(release: Path) -> None:
    """Write two GB of text into a file of kilobytes."""
    texts = pyarrow.DictionaryArray.from_arrays(np.zeros(2000, dtype=np.int32), ["x" * 1_000_000])
    table = pyarrow.table({"model": texts})
    pyarrow.parquet.write_table(table, release / "downloads" / "estimates.parquet")
    rehash(release)


def replaced(name: str, target: str):
    """Return a function that replaces a part of a release by a link or a pipe."""

    def change(release: Path) -> None:
        path = release / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        if target == "fifo":
            os.mkfifo(path)
        else:
            path.symlink_to(target)

    return change


def test_devices_pipes_and_gigabytes_are_refused_without_filling_memory(published, tmp_path):
    changes = [with_gigabytes, with_key_device, with_key_pipe, with_named_pipe]
    for target in ("/dev/zero", "fifo"):
        for name in ("manifest.json", "downloads/flips.parquet", "downloads"):
            changes.append(replaced(name, target))
    releases = [tmp_path / str(number) / "1" for number in range(len(changes))]
    for change, release in zip(changes, releases, strict=True):
        change(shutil.copytree(published / "v" / "1", release))
    with_other_rows, *_ = refused_apart(*releases)
    assert "estimates.parquet: has 2,000 rows" in with_other_rows


def test_a_folder_of_the_release_that_is_a_link_is_refused(release, tmp_path):
    shutil.move(release / "benchmarks", tmp_path / "elsewhere")
    (release / "benchmarks").symlink_to(tmp_path / "elsewhere")
    assert "benchmarks: is a link" in refused(run(release))


def test_a_release_that_is_a_link_is_refused_in_a_site(site, tmp_path):
    shutil.move(site / "v" / "2", tmp_path / "elsewhere")
    (site / "v" / "2").symlink_to(tmp_path / "elsewhere")
    assert "is a link" in refused(run(site))


def test_pipes_and_links_around_the_releases_are_named(first_site):
    paths = [first_site / name for name in ("latest/index.html", "feed.xml")]
    for replace in (lambda path: path.symlink_to("/dev/zero"), os.mkfifo):
        for path in paths:
            path.unlink()
            replace(path)
        output = refused(run(first_site))
        assert all(f"{path}: is" in output for path in paths)


def test_files_that_the_manifest_names_elsewhere_are_missing(release, tmp_path):
    (tmp_path / "secret").write_text(SECRET)
    files = json.loads((release / "manifest.json").read_text())["files"]
    digest = sha256(tmp_path / "secret")
    change_manifest(release, files=files | {"../secret": digest, str(tmp_path / "secret"): digest})
    output = refused(run(release))
    assert output.count("is missing") == 2
    assert "the-secret" not in output


@pytest.mark.parametrize("before", ["../../etc", "/etc", ".", "a/b", ""])
def test_a_release_before_that_is_no_name_is_refused(release, before):
    change_manifest(release, previous={"release": before, "manifest_sha256": "0" * 64})
    assert "is not the manifest of" in refused(run(release))


# --- What is a function of the tables, changed with its hash


@pytest.mark.parametrize("version", [None, "0.0.1"])
def test_changed_documents_do_not_pass_whatever_version_is_claimed(release, version):
    if version is not None:
        change_manifest(release, fairstats=version)
    names = (
        "api/leaderboard.json",
        "api/models/one.json",
        "api/badges/one.json",
        "api/model.schema.json",
        "CITATION.cff",
        "downloads/estimates.csv",
        "downloads/ranks.csv",
        "benchmarks/demo.keys.csv",
    )
    for name in names:
        text = (release / name).read_text()
        changed = text + "\n" if name.endswith(".csv") else text.replace("1", "7")
        assert changed != text
        (release / name).write_text(changed)
    rehash(release)
    output = refused(run(release))
    assert [name for name in names if f"{release / name}: " not in output] == []


def test_a_changed_version_alone_does_not_pass(release):
    change_manifest(release, fairstats="0.0.1")
    output = refused(run(release))
    assert "made with fairstats 0.0.1" in output


def test_files_that_publishing_does_not_make_are_named_although_their_hashes_are_given(release):
    names = ("evil.js", "reports/extra.html", "downloads/more.parquet", "x/y")
    for name in names:
        (release / name).parent.mkdir(exist_ok=True)
        (release / name).write_text("alert(1)")
    rehash(release)
    output = refused(run(release))
    for name in names:
        assert f"{name}: is not a file" in output


def test_a_file_that_was_taken_out_of_folder_and_manifest_is_missed(release):
    (release / "api" / "badges" / "one.json").unlink()
    rehash(release)
    assert "one.json: is missing" in refused(run(release))


def test_files_and_folders_between_the_releases_are_named(first_site):
    for name in ("evil.html", "v/evil.html", "v/4/index.html", "more/a.js"):
        (first_site / name).parent.mkdir(exist_ok=True)
        (first_site / name).write_text("x")
    (first_site / "v" / ".hidden").mkdir()
    output = refused(run(first_site))
    for name in ("evil.html", "v/evil.html", "v/4", "more", "v/.hidden"):
        assert f"{first_site / name}: is not part" in output


def test_files_for_the_host_are_listed_as_not_checked(first_site):
    (first_site / "CNAME").write_text("example.org")
    (first_site / ".git").mkdir()
    done = run(first_site)
    assert done.exit_code == 0
    assert "not checked: .git, CNAME" in done.output


@pytest.mark.parametrize("name", ["CNAME", "LICENSE", "README.md", "robots.txt"])
def test_folders_in_the_place_of_files_for_the_host_are_named(first_site, name):
    (first_site / name).mkdir()
    (first_site / name / "index.html").write_text("x")
    assert f"{first_site / name}: is not part" in refused(run(first_site))


def test_a_release_without_the_one_before_it_is_not_verified(site):
    assert run(site / "v" / "2").exit_code == 0
    shutil.rmtree(site / "v" / "1")
    output = refused(run(site / "v" / "2"))
    assert "an earlier release, 1, is missing" in output


def test_a_benchmark_that_readers_know_otherwise_is_named(release, tmp_path, monkeypatch):
    other = shutil.copytree(release / "benchmarks", tmp_path / "other") / "demo.toml"
    text = other.read_text()
    other.write_text(text.replace("equivalence_margin = 0.", "equivalence_margin = 0.1"))
    assert other.read_text() != text
    assert "not declared" not in run(release).output
    monkeypatch.setattr(
        "fairstats.publishing.remade_files.builtin_benchmarks", lambda: {"demo": other}
    )
    assert "declares benchmark demo differently" in run(release).output


# --- The chain


@pytest.mark.usefixtures("without_figures")
def test_the_chain_is_anchored_by_the_newest_manifest_alone(published, unchanged):
    newest = sha256(published / "v" / "3" / "manifest.json")
    assert re.search(f"not anchored: .* {newest}", unchanged)
    done = run(published, "--expect", newest.upper())
    assert done.exit_code == 0
    assert "not anchored" not in done.output


@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize("gone", ["1", "2", "3"])
def test_a_release_that_was_taken_out_of_the_chain_is_missed_by_the_anchor(site, gone):
    newest = sha256(site / "v" / "3" / "manifest.json")
    shutil.rmtree(site / "v" / gone)
    relink(site)
    output = refused(run(site, "--expect", newest))
    assert f", not {newest}" in output


@pytest.mark.usefixtures("without_figures")
def test_the_hash_of_an_older_release_is_no_anchor_and_is_named(site):
    output = refused(run(site, "--expect", sha256(site / "v" / "2" / "manifest.json")))
    assert "is the sha256 of release 2" in output


def test_one_release_is_anchored_by_its_own_manifest(release):
    assert run(release, "--expect", sha256(release / "manifest.json")).exit_code == 0
    assert f", not {'0' * 64}" in refused(run(release, "--expect", "0" * 64))


@pytest.mark.parametrize("wrong", ["abc", "g" * 64, "0" * 63])
def test_what_is_no_hash_is_refused(release, wrong):
    assert "64 hexadecimal digits" in refused(run(release, "--expect", wrong))


# --- Damage


def deep(sign: str, depth: int = 100_000) -> str:
    return sign * depth


@pytest.mark.parametrize(
    "text",
    [
        deep("["),
        deep('{"a":'),
        '{"files":' + deep("["),
        "",
        "null",
        "[]",
        "1",
        '"text"',
        "\x00",
        "{",
        '{"release": 1}',
        "1" * 5000,
        "NaN",
        '"\ud800"',
    ],
    ids=range(14),
)
def test_a_damaged_manifest_is_refused_in_one_line(release, site, text):
    for folder, given in ((release, release), (site / "v" / "1", site)):
        (folder / "manifest.json").write_bytes(text.encode(errors="surrogatepass"))
        output = refused(run(given))
        assert len(output.splitlines()) == 1
        assert len(output) < 2000


WRONG = [None, True, -1, 1e308, float("nan"), "text", "", [], [1], {}, {"a": {"b": []}}]


def test_wrong_types_in_a_manifest_are_refused_without_a_traceback(release):
    right = json.loads((release / "manifest.json").read_text())
    nested = {
        (outer, inner): right[outer][inner]
        for outer in ("arguments", "content", "rows", "files")
        for inner in list(right[outer])[:2]
    }
    # What nothing else depends on is only read.
    free = ("python", "libraries", "sources", "fairstats", "drawn_by")
    for key in [*((name,) for name in right if name not in free), *nested]:
        for wrong in WRONG:
            changed = json.loads(json.dumps(right))
            place = changed if len(key) == 1 else changed[key[0]]
            if place[key[-1]] == wrong:
                continue
            place[key[-1]] = wrong
            (release / "manifest.json").write_text(json.dumps(changed))
            done = run(release)
            assert done.exception is None or isinstance(done.exception, SystemExit), (key, wrong)
            if key != ("arguments", "renderer"):
                assert done.exit_code == 1, (key, wrong)


def test_flipped_bytes_in_tables_are_refused_without_a_traceback(release):
    rng = np.random.default_rng(16)
    files = sorted((release / "downloads").glob("*.parquet"))
    whole = {path: path.read_bytes() for path in files}
    for number in range(30):
        path = files[number % len(files)]
        content = bytearray(whole[path])
        for place in rng.integers(0, len(content), 1 + number % 5):
            content[place] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(content))
        rehash(release)
        done = run(release)
        assert done.exception is None or isinstance(done.exception, SystemExit), (path, number)
        path.write_bytes(whole[path])


@pytest.mark.parametrize("name", ["benchmarks/demo.toml", "benchmarks/demo.keys.csv"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"x = " + b"[" * 100_000, b"a,b\n1\n"])
def test_damaged_declarations_are_refused_in_lines(release, name, content):
    (release / name).write_bytes(content)
    rehash(release)
    assert len(refused(run(release)).splitlines()) <= 3


def test_a_damaged_release_does_not_stop_the_check_of_the_others(site):
    path = site / "v" / "2" / "downloads" / "estimates.parquet"
    path.write_bytes(b"PAR1" + b"\0" * 100 + b"PAR1")
    rehash(site / "v" / "2")
    output = refused(run(site))
    assert re.search(r"site/v/1: verified \d+ files, and the rows of estimates \(\d+\)", output)
    assert "estimates.parquet: is not a parquet file" in output


# --- Tables, as readers with pandas and without it see them


def change_estimates(release: Path, change, **options) -> None:
    """Change the estimates, and all that follows from them, as somebody would who knows how."""
    path = release / "downloads" / "estimates.parquet"
    table = change(pd.read_parquet(path))
    table.to_parquet(path, **{"index": False} | options)
    changed = Release(release)
    write_table(changed.table("estimates"), release / "downloads", "estimates")
    table.to_parquet(path, **{"index": False} | options)
    text = changed.table("estimates").to_csv(index=False)
    content = changed.manifest["content"] | {"estimates": hashlib.sha256(text.encode()).hexdigest()}
    change_manifest(release, content=content)
    write_documents(Release(release), release)
    rehash(release)


def with_text_for_a_null(table: pd.DataFrame) -> pd.DataFrame:
    given = table["p_adjusted"].map(lambda p: None if pd.isna(p) else repr(p)).astype("object")
    given[given.index[given.isna()][0]] = "significant (p < .001)"
    return table.assign(p_adjusted=given.astype("str"))


def with_tiny_figures(table: pd.DataFrame) -> pd.DataFrame:
    assert (table["estimate"] == 0).any()
    return table.assign(estimate=table["estimate"].replace(0.0, -9e-13))


def with_a_tiny_p_value(table: pd.DataFrame) -> pd.DataFrame:
    known = table["p_value"].notna() & (table["p_value"] < 1)
    assert known.any()
    return table.assign(p_value=table["p_value"].mask(known, table["p_value"] * (1 + 1e-6)))


@pytest.mark.parametrize("change", [with_text_for_a_null, with_tiny_figures, with_a_tiny_p_value])
def test_a_small_change_of_a_figure_does_not_pass(change, release):
    change_estimates(release, change)
    assert "estimates.parquet: row" in refused(run(release, "--no-pages"))


def test_a_column_that_pandas_hides_does_not_pass(release):
    change_estimates(
        release, lambda table: table.assign(corrected=0.9).set_index("corrected"), index=True
    )
    assert "has columns that differ" in refused(run(release, "--no-pages"))


@pytest.mark.parametrize("name", ["estimates", "answers"])
@pytest.mark.parametrize("kind", ["renamed", "note"])
def test_metadata_that_tells_another_story_does_not_pass(name, kind, release):
    path = release / "downloads" / f"{name}.parquet"
    table = pyarrow.parquet.read_table(path)
    metadata = dict(table.schema.metadata)
    if kind == "note":
        metadata[b"note"] = b"the true CFR is 99.9%"
    else:
        of_pandas = json.loads(metadata[b"pandas"])
        of_pandas["columns"][0]["name"] = "model"
        metadata[b"pandas"] = json.dumps(of_pandas).encode()
    pyarrow.parquet.write_table(table.replace_schema_metadata(metadata), path)
    rehash(release)
    assert f"{name}.parquet" in refused(run(release, "--no-pages"))


def range_index(table: pyarrow.Table) -> pyarrow.Table:
    """An index that pandas shows as a column, and that no column holds."""
    of_pandas = json.loads(table.schema.metadata[b"pandas"])
    kind = {"kind": "range", "name": "true", "start": 9, "stop": 9 + len(table), "step": 1}
    metadata = {b"pandas": json.dumps(of_pandas | {"index_columns": [kind]}).encode()}
    return table.replace_schema_metadata(metadata)


def field_metadata(table: pyarrow.Table) -> pyarrow.Table:
    field = table.schema.field(0).with_metadata({b"note": b"not the true model"})
    return table.cast(table.schema.set(0, field))


@pytest.mark.parametrize("name", ["estimates", "answers", "letters"])
@pytest.mark.parametrize("change", [range_index, field_metadata])
def test_what_only_some_readers_see_does_not_pass(name, change, release):
    path = release / "downloads" / f"{name}.parquet"
    pyarrow.parquet.write_table(change(pyarrow.parquet.read_table(path)), path)
    rehash(release)
    assert f"{name}.parquet" in refused(run(release, "--no-pages"))


@pytest.mark.parametrize("name", ["estimates", "answers"])
def test_tables_are_the_bytes_that_publishing_writes(name, release):
    path = release / "downloads" / f"{name}.parquet"
    content = path.read_bytes()
    # Between the figures and the footer no reader looks.
    path.write_bytes(content + content)
    rehash(release)
    assert f"{name}.parquet" in refused(run(release, "--no-pages"))
    # Written by another version the figures are compared, and the rest is said not to be.
    libraries = json.loads((release / "manifest.json").read_text())["libraries"]
    change_manifest(release, libraries=libraries | {"pyarrow": "1.0"})
    done = run(release, "--no-pages")
    assert re.search(f"not checked: storage .*downloads/{name}.parquet", done.output)


def test_a_release_says_that_the_earlier_ones_were_not_computed_again(published, unchanged):
    assert "figures of the earlier release 1" in run(published / "v" / "2").output
    assert "earlier release" not in unchanged


@pytest.mark.parametrize("manifest", ["{}", "[" * 100_000, "link", '{"release": "../../x"}'])
def test_nothing_is_published_after_a_release_that_is_damaged(manifest, site, tmp_path):
    path = site / "v" / "3" / "manifest.json"
    path.unlink()
    if manifest == "link":
        path.symlink_to("/etc/hostname")
    else:
        path.write_text(manifest)
    answers_of_models(("One",)).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"manifest\.json"):
        publish(tmp_path / "a.parquet", release="4", out=site)
    assert not (site / "v" / "4").exists()


def with_entries(**entries: object):
    return lambda text: json.dumps(json.loads(text) | entries)


NONE = "is not the manifest of a release ("


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (
            lambda text: text.replace('"arguments": {', '"arguments": {"certified_by": "us", ', 1),
            f"arguments.certified_by: {NONE}",
        ),
        (with_entries(answers=[{}]), f"answers.0.benchmark: {NONE}"),
        (with_entries(overruled=[{}]), f"overruled.0.benchmark: {NONE}"),
        (with_entries(libraries=5), f"libraries: {NONE}"),
        (with_entries(libraries={"pandas": ["3"]}), f"libraries.pandas: {NONE}"),
        (with_entries(sources=[{"path": 1}]), f"sources.0.path: {NONE}"),
        (with_entries(certified_by="us"), f"certified_by: {NONE}"),
        (with_entries(files={"a": "0" * 63}), f"files.a: {NONE}"),
        (with_entries(created_at="2026-11-20T10:00:00"), f"created_at: {NONE}has no time zone"),
        (with_entries(measures={"rows": 9}), "measures: does not match the content"),
        (
            lambda text: text.replace('"alpha": 0.05', '"alpha": 1' + "0" * 400),
            f"arguments.alpha: {NONE}",
        ),
        (lambda text: text.replace('"alpha": 0.05', '"alpha": NaN'), f"arguments.alpha: {NONE}"),
        (
            lambda text: text.replace('"alpha": 0.05', '"alpha": 0.01, "alpha": 0.05'),
            f"{NONE}the name 'alpha' appears more than once",
        ),
    ],
)
def test_a_manifest_with_other_entries_is_none(edit, said, release):
    path = release / "manifest.json"
    text = json.dumps(json.loads(path.read_text()))
    assert edit(text) != text
    path.write_text(edit(text))
    assert f"{path}: {said}" in refused(run(release, "--no-pages"))


# --- What reads a release without verifying it


def command(name: str, release: Path, published: Path):
    arguments = {
        "diff": ["diff", published / "v" / "1", release],
        "report": ["report", "One", "--release", release, "--to", "html"],
    }
    return CliRunner().invoke(app, [str(part) for part in arguments[name]])


@pytest.mark.parametrize("name", ["diff", "report"])
def test_diff_and_report_refuse_files_that_were_changed_or_are_links(name, release, published):
    path = release / "downloads" / "estimates.parquet"
    elsewhere = shutil.copy(path, release.parent / "elsewhere.parquet")
    path.write_bytes(path.read_bytes()[:1000])
    assert "was changed after" in refused(command(name, release, published))
    path.unlink()
    path.symlink_to(elsewhere)
    rehash(release)
    assert "is a link" in refused(command(name, release, published))
    assert not list(Path.cwd().glob("audit-*"))


@pytest.mark.parametrize("other", ["letters", None])
def test_diff_refuses_other_tables_with_their_hashes(other, release, published):
    path = release / "downloads" / "estimates.parquet"
    if other is None:
        path.write_bytes(b"hello")
    else:
        shutil.copy(release / "downloads" / f"{other}.parquet", path)
    rehash(release)
    said = refused(command("diff", release, published))
    assert str(path if other is None else release) in said


def test_nothing_is_published_after_a_release_whose_tables_are_links(site, tmp_path):
    path = site / "v" / "3" / "downloads" / "estimates.parquet"
    path.rename(tmp_path / "elsewhere.parquet")
    path.symlink_to(tmp_path / "elsewhere.parquet")
    answers_of_models(("One",)).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="is a link"):
        publish(tmp_path / "a.parquet", release="4", out=site)
    assert not (site / "v" / "4").exists()


@pytest.mark.parametrize("text", [None, "", "[1]", "{}", "[" * 100_000])
def test_a_name_of_a_release_that_is_gone_is_not_used_again(site, tmp_path, text):
    """Readers have other figures under it, and the new ones verify."""
    answers_of_models(("One", "Two")).to_parquet(tmp_path / "better.parquet")
    shutil.rmtree(site / "v" / "3")
    if text is not None:
        # A list that cannot be read is made again.
        (site / "releases.json").write_text(text)
        assert publish(tmp_path / "better.parquet", release="4", out=site).new
        return
    with pytest.raises(InputError, match="release 3 was published before, and its folder is gone"):
        publish(tmp_path / "better.parquet", release="3", out=site)
    assert not (site / "v" / "3").exists()
    with pytest.warns(Note, match="lists 3, and the site no longer has it"):
        publish(tmp_path / "better.parquet", release="4", out=site)


def test_a_name_of_an_earlier_release_that_is_gone_is_not_used_after_others(site, tmp_path):
    """After one more release, the list had lost its name, and a chain of releases was a circle."""
    answers_of_models(("One", "Two")).to_parquet(tmp_path / "better.parquet")
    shutil.rmtree(site / "v" / "2")
    with pytest.warns(Note, match="lists 2, and the site no longer has it"):
        publish(tmp_path / "better.parquet", release="4", out=site)
    with pytest.raises(InputError, match="release 2 was published before, and its folder is gone"):
        publish(tmp_path / "better.parquet", release="2", out=site)


def test_earlier_releases_of_a_circle_are_each_opened_once(tmp_path):
    for name, before in (("1", "2"), ("2", "1"), ("3", "2")):
        (tmp_path / name / "downloads").mkdir(parents=True)
        text = json.dumps({"release": name, "previous": {"release": before}})
        (tmp_path / name / "manifest.json").write_text(text)
    assert [one.name for one in Release(tmp_path / "3").earlier] == ["1", "2"]


@pytest.mark.usefixtures("without_figures")
def test_a_copy_of_a_release_under_another_name_is_named(site):
    for name in ("4", "\x1b[2J"):
        shutil.copytree(site / "v" / "3", site / "v" / name)
    output = refused(run(site))
    assert output.count("belongs to release 3") == 2
    assert "\x1b" not in output
