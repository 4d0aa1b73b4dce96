"""Importing workbooks: values only, within bounds."""

from __future__ import annotations

import datetime
import zipfile

import openpyxl
import pandas as pd
import pytest
from fairstats_collectors import import_answers
from fairstats_collectors.import_answers import import_table
from typer.testing import CliRunner

from fairstats._lib import records
from fairstats._lib.problems import InputError, Note
from fairstats._lib.records import csv_records, xlsx_records
from fairstats.cli import app

HEADER = ["case", "white", "black", "total"]
ROWS = [["demo-01", "C", "A", 3], ["demo-02", "A", None, 4]]
GIVEN = {
    "benchmark": "demo",
    "columns": {"item_id": "case"},
    "constants": {"model": "m"},
    "wide": {"white": "white", "black": "black"},
}


@pytest.fixture
def book(tmp_path):
    def save(*rows, name="a.xlsx", change=None):
        workbook = openpyxl.Workbook()
        for row in rows:
            workbook.active.append(row)
        if change is not None:
            change(workbook)
        workbook.save(tmp_path / name)
        return tmp_path / name

    return save


def refused(path, match, **given):
    with pytest.raises(InputError, match=match):
        import_table(path, **GIVEN | given)


def test_workbook_gives_the_same_answers_as_csv(book, tmp_path):
    answers = import_table(book(HEADER, *ROWS), **GIVEN)
    pd.DataFrame(ROWS, columns=HEADER).to_csv(tmp_path / "a.csv", index=False)
    pd.testing.assert_frame_equal(answers, import_table(tmp_path / "a.csv", **GIVEN))


def test_long_workbook_needs_no_wide_columns(book):
    path = book(["item_id", "group", "answer_raw"], ["demo-01", "white", "It is C."])
    given = {"benchmark": "demo", "constants": {"model": "m"}}
    assert import_table(path, **given)["answer"].tolist() == ["C"]


def test_empty_rows_and_unnamed_columns_are_ignored(book):
    path = book([" case ", None, "n", None], ["x", "lost", 1.0], [], ["y", None, 2.5])
    assert [(r.row, r.fields) for r in xlsx_records(path)] == [
        (2, {"case": "x", "n": 1}),
        (4, {"case": "y", "n": 2.5}),
    ]


def test_formula_is_refused_only_in_used_cells(book):
    def total(workbook):
        workbook.active["D2"] = "=COUNTA(B2:C2)"

    def answer(workbook):
        workbook.active["C3"] = '=IF(1=1,"A","B")'

    assert len(import_table(book(HEADER, *ROWS, change=total), **GIVEN)) == 4
    path = book(HEADER, *ROWS, change=answer)
    refused(path, r"row 3: black: is a formula, not a value; replace it with its value")


def test_rows_of_a_workbook_are_numbered_as_the_spreadsheet_shows_them(book):
    """The header is row 1; and `init` named the rows of the table that it made."""
    refused(book(HEADER, ROWS[0], ["demo-02", "C", "Z", 4]), r"row 3: black = 'Z'")
    path = book(["item_id", "a", "b"], ["demo-01", "yes", "no"], ["demo\x7f", "no", "yes"])
    done = CliRunner().invoke(app, ["benchmark", "init", str(path), "--wide", "a=a,b=b"])
    assert "row 3: item_id = 'demo\\x7f'" in done.output


def test_rows_that_were_not_checked_are_named(book, monkeypatch):
    """Of 540 wrong rows, "rows 1, 2, 3 and 247 more" were named."""
    monkeypatch.setattr(import_answers, "REPORTED_LINES", 2)
    path = book(["item_id", "group", "answer"], *(["demo-01", "green", "A"] for _ in range(4)))
    refused(path, "rows from 4 on were not checked; correct these first", wide={}, columns={})


def test_formula_is_the_only_problem_of_its_cell(book):
    """A remedy for a missing column of answers would not help."""

    def answer(workbook):
        workbook.active["C3"] = '=IF(1=1,"A","B")'

    with pytest.raises(InputError) as caught:
        import_table(book(HEADER, *ROWS, change=answer), **GIVEN)
    assert len(caught.value.problems) == 1


def test_other_sheets_are_named_and_can_be_chosen(book):
    def add(workbook):
        other = workbook.create_sheet("second")
        for row in (HEADER, ["demo-03", "B", "B"]):
            other.append(row)

    path = book(HEADER, *ROWS, change=add)
    with pytest.warns(Note, match=r"only the sheet 'Sheet' is read, not 'second'; .*sheet='NAME'"):
        first = import_table(path, **GIVEN)
    assert set(first["item_id"]) == {"demo-01", "demo-02"}
    assert set(import_table(path, **GIVEN, sheet="second")["item_id"]) == {"demo-03"}
    refused(path, "has no sheet 'third'; use one of Sheet, second", sheet="third")


def test_hidden_first_sheet_is_refused(book):
    """People see another sheet, whose answers may be others."""

    def hide(workbook):
        shown = workbook.create_sheet("data")
        for row in (HEADER, *ROWS):
            shown.append(row)
        workbook.active.sheet_state = "hidden"
        workbook.active = shown

    refused(book(HEADER, *ROWS, change=hide), "its sheet 'Sheet' is hidden; delete it")


@pytest.mark.parametrize("how", ["hidden", "filtered", "without height"])
def test_hidden_rows_are_refused(book, how):
    """People see the other rows."""

    def hide(workbook):
        sheet = workbook.active
        if how == "filtered":
            sheet.auto_filter.ref = "A1:C3"
            sheet.auto_filter.add_filter_column(0, ["demo-01"])
        if how == "without height":
            sheet.row_dimensions[3].height = 0.1
        else:
            sheet.row_dimensions[3].hidden = True

    refused(book(HEADER, *ROWS, change=hide), "row 3: is hidden, by hand or by a filter")

    def below(workbook):
        workbook.active.row_dimensions[9].hidden = True

    assert len(import_table(book(HEADER, *ROWS, change=below), **GIVEN)) == 4


@pytest.mark.parametrize("how", ["hidden", "without width", "grouped"])
def test_hidden_columns_are_refused(book, how):
    def hide(workbook, first="C", last="C"):
        column = workbook.active.column_dimensions[first]
        if how == "grouped":
            workbook.active.column_dimensions.group(first, last, hidden=True)
        elif how == "hidden":
            column.hidden = True
        else:
            column.width = 0.1

    for last in ("C", "D"):
        path = book(HEADER, *ROWS, change=lambda workbook, last=last: hide(workbook, last=last))
        refused(path, "black: is hidden, by hand or by a filter; delete it, or unhide it")
    # It has no name, so it is not read.
    path = book(HEADER, *ROWS, change=lambda workbook: hide(workbook, "E", "E"))
    assert len(import_table(path, **GIVEN)) == 4


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ("C2:C3", "row 3: black: is one of merged cells"),
        ("B3:C3", "row 3: black: is one of merged cells"),
        ("A2:A3", "row 3: item_id: is one of merged cells"),
        # Not used, below the table, or of empty cells.
        ("D2:D3", ""),
        ("A4:C9", ""),
        ("C3:C4", ""),
    ],
)
def test_merged_cells_are_refused_if_one_without_its_value_is_used(book, cells, problem):
    """Only the first of them has the value; the others became missing answers."""
    path = book(HEADER, *ROWS, change=lambda workbook: workbook.active.merge_cells(cells))
    if problem:
        refused(path, f"{problem}, not a value; ")
    else:
        assert len(import_table(path, **GIVEN)) == 4


def test_error_and_truth_value_are_not_answers(book):
    refused(book(HEADER, ["demo-01", "#N/A", "A"]), r"row 2: white: is the error #N/A")
    refused(book(HEADER, ["demo-01", True, "A"]), r"row 2: white = 'True': is not text")


def test_item_that_became_a_date_is_refused(book):
    path = book(HEADER, [datetime.datetime(2026, 1, 2), "C", "A"])
    refused(path, r"row 2: item_id = '2026-01-02': unknown item")


def test_duplicate_column_is_refused(book):
    refused(
        book(["case", "white", "white "], ["demo-01", "C", "A"]),
        "white: the column appears more than once",
    )


@pytest.mark.parametrize(
    ("name", "limit", "message"),
    [
        ("MAX_UNPACKED", 1000, "unpacks to"),
        ("MAX_TAGS", 50, "has too many cells"),
        ("MAX_ROWS", 1, "has more than 1 rows"),
        ("MAX_CHARACTERS", 5, "or 5 characters"),
        ("MAX_COLUMNS", 3, "has 4 columns"),
    ],
)
def test_size_of_a_workbook_is_bounded(book, monkeypatch, name, limit, message):
    path = book(HEADER, *ROWS)
    monkeypatch.setattr(records, name, limit)
    refused(path, message)


def test_impossible_row_number_is_refused(book, tmp_path):
    path = book(HEADER, *ROWS)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename.endswith("sheet1.xml"):
                content = content.replace(b'r="3"', b'r="999999999999"')
            new.writestr(entry.filename, content)
    refused(tmp_path / "b.xlsx", "has more than")


@pytest.mark.parametrize("content", [b"PK nothing", b"x,y\n1,2\n"])
def test_file_that_is_not_a_workbook_is_refused(tmp_path, content):
    (tmp_path / "a.xlsx").write_bytes(content)
    refused(tmp_path / "a.xlsx", "not a workbook")


def test_damaged_workbook_is_refused(book, tmp_path):
    path = book(HEADER, *ROWS)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            new.writestr(entry.filename, content[:-40] if "sheet1" in entry.filename else content)
    refused(tmp_path / "b.xlsx", "is not a readable workbook")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_workbook_with_a_part_twice_is_refused(book, tmp_path):
    """Some readers take the first sheet of a name, others the last."""
    path = book(HEADER, *ROWS)
    with zipfile.ZipFile(path, "a") as file:
        sheet = next(name for name in file.namelist() if name.endswith("sheet1.xml"))
        file.writestr(sheet, file.read(sheet).replace(b"A", b"B"))
    refused(path, "contains the same part twice")


def test_title_above_the_columns_is_named(book):
    refused(book(("Study 2026",), ("item", "answer"), ("i1", "yes")), "delete the rows above")
    blank = ("Study 2026",), (None,), ("item", "answer"), ("i1", "yes")
    refused(book(*blank), "row 3: has values in columns that the header does not name")
    # One column has one name.
    assert len(xlsx_records(book(("item",), ("i1",)))) == 1


NOTE = "Source: registry, exported in May"


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("suffix", [".xlsx", ".csv"])
def test_note_below_a_table_is_refused(book, tmp_path, suffix, checked):
    path, row = book(HEADER, *ROWS, [None], [NOTE]), 5
    if suffix == ".csv":
        path, row = tmp_path / "a.csv", 3
        pd.DataFrame([*ROWS, [NOTE, *[None] * 3]], columns=HEADER).to_csv(path, index=False)
    found = f"row {row}: case = .* has a value in one column only; delete the row if it is a note"
    refused(path, found, checked=checked)


def test_item_without_answers_is_no_note(book):
    sheet = [["case", "white", "black"], ["demo-01", "A", "C"], ["demo-02", "C", "A"], ["demo-03"]]
    answers = import_table(book(*sheet), **GIVEN)
    assert answers["answer"].isna().tolist() == [False] * 4 + [True] * 2


def test_item_with_an_identifier_only_is_refused_among_rows_with_many_cells(book):
    names = ["case", "white", "black", "key", "ward", "run"]
    rows = [[f"demo-0{number}", "A", "C", "A", "ICU", 1] for number in (1, 2)]
    refused(book(names, *rows, ["demo-03"]), "row 4: case = .* in one column only")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("case", "key", "a", None, "b", None), (None, None, *["white", "black"] * 2)),
        ((None, None, "a", None, "b", None), ("case", "key", *["white", "black"] * 2)),
    ],
)
def test_second_row_of_names_is_named(book, first, second):
    refused(
        book(first, second, ("i1", "A", *"ABAB")),
        "row 2: has values in columns that the header does not name",
    )


@pytest.mark.parametrize("names", [",,model a,model a", "case,key,model a,model a"])
def test_second_row_of_names_in_csv_is_explained(tmp_path, names):
    path = tmp_path / "a.csv"
    path.write_text(f"{names}\ncase,key,white,black\ni1,A,A,B\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"in the first row; .* make one row of two"):
        csv_records(path)
