"""Tables for papers: read back by other programs, with every text literal."""

from __future__ import annotations

import shutil
from pathlib import Path

import openpyxl
import pypandoc
import pytest

from fairstats._lib.formatting import escape_html
from fairstats._lib.problems import InputError
from fairstats.exports.export import Options, write_export
from fairstats.exports.tables import write_latex, write_xlsx
from fairstats.release.contents import Release
from tests.exports.conftest import HOSTILE

CFR = Options(
    "estimates", None, ("model", "attribute", "estimate", "p_value", "n"), {"metric": "cfr"}
)
PAGE = f"""<p>text</p>
<table><caption>Gaps &lt;b&gt;</caption>
<thead><tr><th rowspan="2">Model<th colspan="2">AD</tr><tr><th>Race<th>Sex</tr></thead>
<tbody><tr><th><a href="x">{escape_html(HOSTILE)}</a><td class="gt_right">1.0 <small>(0–2)</small>
<td>2<br>n.s.</tr></tbody></table>
<table><caption>chart</caption><tr><td><svg><text>1</text></svg></td></tr></table>
<table><tr><td>no caption</td></tr></table>"""


@pytest.fixture
def with_page(release_of, tmp_path: Path) -> Release:
    folder = tmp_path / "release"
    shutil.copytree(release_of("fairmedqa").path, folder)
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    return Release(folder)


def plain(path: Path) -> str:
    options = ["--wrap=none", "--columns=100000"]
    text = pypandoc.convert_file(str(path), "plain", format="latex", extra_args=options)
    # LaTeX has its own quotes, which pandoc reads as typographic ones.
    return " ".join(text.split()).replace('"', "”")


def test_latex_of_a_table_of_the_release_is_read_back(release, tmp_path):
    (path,) = write_latex(release, tmp_path, CFR)
    text = plain(path)
    assert text.count("Model-1") == (release.estimates["metric"] == "cfr").sum() / 2
    assert HOSTILE.replace('"', "”") in text


def test_latex_of_a_table_of_a_page_is_read_back(with_page, tmp_path):
    (path,) = write_latex(with_page, tmp_path, Options(page="index.html"))
    assert path.stem == "index-1"
    assert "Gaps <b>" in path.read_text(encoding="utf-8").replace(
        "\\textless b\\textgreater", "<b>"
    )
    assert "1.0 (0–2)" in plain(path)
    assert HOSTILE.replace('"', "”") in plain(path)


def test_latex_runs_no_command_of_a_name(release, tmp_path):
    (path,) = write_latex(release, tmp_path, CFR)
    text = path.read_text(encoding="utf-8")
    assert "\\input" not in text
    assert "\\textbackslash input" in text


def test_workbook_has_numbers_and_no_formula(release, tmp_path):
    (path,) = write_xlsx(release, tmp_path, CFR)
    book = openpyxl.load_workbook(path)
    head, *rows = book["estimates"].iter_rows()
    own = release.estimates[release.estimates["metric"] == "cfr"]
    assert [cell.value for cell in head] == ["model", "attribute", "estimate", "p value", "n"]
    read = [[cell.value for cell in row] for row in rows[: len(own)]]
    # openpyxl writes 16 digits.
    assert [row[2] for row in read] == pytest.approx(own["estimate"].tolist(), rel=1e-15)
    assert [row[4] for row in read] == own["n"].tolist()
    assert HOSTILE in [row[0] for row in read]
    assert all(cell.data_type != "f" for row in rows for cell in row)


def test_workbook_of_pages_keeps_the_columns_of_spanned_cells(with_page, tmp_path):
    (path,) = write_xlsx(with_page, tmp_path, Options())
    rows = list(openpyxl.load_workbook(path)["index-1"].iter_rows(values_only=True))
    assert rows[:3] == [
        ("Model", "AD", None),
        (None, "Race", "Sex"),
        (HOSTILE, "1.0 (0–2)", "2 n.s."),
    ]


@pytest.mark.parametrize("write", [write_latex, write_xlsx])
def test_writing_again_gives_the_same_bytes(release_of, tmp_path, write, monkeypatch):
    release = release_of("biasmedqa")
    (one,) = write(release, tmp_path / "1", CFR)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    (other,) = write(release, tmp_path / "2", CFR)
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("name", "choice", "message"),
    [
        ("xlsx", Options("answers"), "'answers' is not a table"),
        ("xlsx", Options(page="x.html"), "'x.html' is not a page"),
        ("xlsx", Options("estimates", columns=("x",)), "'x' is not a column"),
        ("xlsx", Options("estimates", where={"metric": "x"}), "no row with metric=x"),
        ("xlsx", Options(where={"metric": "x"}), "e.g. table='estimates'"),
        ("xlsx", Options("estimates", "index.html"), "page: cannot be given with table"),
        ("xlsx", Options(), "has no tables on its pages"),
        ("eee", Options("estimates"), "has no effect on eee"),
        ("html", Options(), "is not an export format"),
    ],
)
def test_wrong_choice_is_refused(release_of, tmp_path, monkeypatch, name, choice, message):
    monkeypatch.setattr("fairstats.release.manifest.open_release", Release)
    with pytest.raises(InputError, match=message):
        write_export(name, release_of("biasmedqa").path, tmp_path, choice)
