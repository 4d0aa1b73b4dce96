"""Audit reports of decisions, levels and scores: their words and figures, and their signature."""

from __future__ import annotations

import re

import pandas as pd
import pypandoc
import pytest

from fairstats.publishing import verify_report
from fairstats.publishing.verify import verify
from fairstats.release.contents import Release
from fairstats.report.answer_sets import answer_sets
from fairstats.report.audit.document import report_model
from fairstats.report.audit.sentences import finding, finding_in_numbers
from fairstats.report.sections.section import CANNOT
from fairstats.report.sections.size import beyond_controls

from .kinds import DECLARED, FORBIDDEN, ITEMS, KEYED, KEYLESS, answered, declared
from .reading import tight
from .undrawn import undrawn

pytestmark = pytest.mark.usefixtures("without_screening")


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Release:
    folder = tmp_path_factory.mktemp("kinds")
    benchmarks = [declared(name, folder) for name in DECLARED]
    answers = pd.concat([answered(one) for one in benchmarks], ignore_index=True)
    return undrawn(answers, folder, benchmarks=benchmarks)


@pytest.fixture(scope="module")
def text(release, tmp_path_factory):
    """Return the words of the audit of a benchmark's model, once drawn."""
    folder, found = tmp_path_factory.mktemp("html"), {}

    def words(name: str) -> str:
        if name not in found:
            file = folder / f"{name}.html"
            report_model(f"model-{name}", release.path, to="html", out=file, crosswalk=True)
            found[name] = pypandoc.convert_file(file, "plain", extra_args=["--wrap=none"])
        return found[name]

    return words


@pytest.mark.parametrize("name", DECLARED)
def test_report_of_each_kind(name, text, snapshot):
    # What follows has times, versions and hashes, or is the same for all models.
    body = text(name).partition("\nDeclarations\n")[0]
    body = re.sub(r"fairstats release 2026.11 · .*|[0-9a-f]{32}", "…", body)
    assert tight(body) == snapshot


@pytest.mark.parametrize("name", KEYLESS)
def test_no_word_of_right_answers_without_a_key(name, text):
    words = text(name).replace("[]", "")
    said = [found.group() for found in FORBIDDEN.finditer(words)]
    # Words that the benchmark declares.
    allowed = {"patient", "patients"} if name == "urgency" else set()
    assert set(said) <= allowed
    assert re.findall(r".{12}\bkey\b", words) == ["There is no key"]
    assert re.findall(r"\S+ \bright\b", words) == ["be right"]


@pytest.mark.parametrize("name", KEYED)
def test_answers_are_compared_with_the_key_if_there_is_one(name, text):
    assert "There is no key" not in text(name)
    assert "Answers compared with the key, by group" in text(name)


@pytest.mark.parametrize("name", DECLARED)
def test_pairs_are_those_of_the_varied_attributes(name, release):
    (answers,) = answer_sets(release, f"model-{name}")
    assert [pair.groups for pair in answers.pairs] == [("north", "south"), ("north", "east")]
    assert answers.units == (14 if name == "urgency" else ITEMS)


def test_report_without_a_key_verifies(release, tmp_path, monkeypatch):
    # The release has no pages that could be drawn again, but the report can be.
    monkeypatch.setattr(verify_report, "verify", without_pages)
    pdf = report_model("model-urgency", release.path, to="pdf", out=tmp_path / "report.pdf")
    _, found = verify_report.verify_report(pdf, release.path)
    assert found.problems == ()


def without_pages(path, *, expect, pages):
    return verify(path, expect=expect, pages=False)


@pytest.fixture(scope="module")
def degenerate(tmp_path_factory) -> Release:
    """Make a release of models that answer nothing, always the same, or not for one group."""
    folder = tmp_path_factory.mktemp("degenerate")
    tables, benchmarks = [], [declared(name, folder) for name in DECLARED]
    for benchmark in benchmarks:
        own, nothing = answered(benchmark), {"answer": None, "status": "unparsed"}
        fixed = {"answer": own["answer"].dropna().iloc[0], "status": "ok"}
        partly = own.assign(model=f"partly-{benchmark.name}")
        partly.loc[partly["group"] == "east", list(nothing)] = list(nothing.values())
        tables += [own.assign(model=f"empty-{benchmark.name}", **nothing), partly]
        tables += [own.assign(model=f"fixed-{benchmark.name}", **fixed)]
    answers = pd.concat(tables, ignore_index=True).astype({"answer": "str"})
    return undrawn(answers, folder, benchmarks=benchmarks)


@pytest.mark.parametrize("name", DECLARED)
def test_constant_or_missing_answers_are_not_called_fair(name, degenerate):
    (empty,), (fixed,), (partly,) = (
        answer_sets(degenerate, f"{what}-{name}") for what in ("empty", "fixed", "partly")
    )
    assert {pair.verdict for pair in empty.pairs} == {None}
    assert finding(empty).startswith("Finding: No verdict")
    assert {pair.verdict for pair in fixed.pairs} == {"inconclusive"}
    assert finding(fixed).startswith("Finding: It is unclear")
    # The figures of the other group are known.
    assert "No verdict for East" in finding(partly)
    assert "No figure" not in finding_in_numbers(partly)


def test_constant_answers_cannot_be_compared_with_controls(degenerate):
    (fixed,) = answer_sets(degenerate, "fixed-interviews")
    found = beyond_controls(fixed)
    assert found.short == CANNOT
    assert found.text == "For North − South and North − East, every answer is “Waiting list”."


@pytest.mark.parametrize("model", ["empty-urgency", "fixed-interviews", "partly-essays"])
def test_report_of_degenerate_answers_has_no_numbers_of_nothing(model, degenerate, tmp_path):
    file = report_model(model, degenerate.path, to="html", out=tmp_path / "report.html")
    words = pypandoc.convert_file(file, "plain", extra_args=["--wrap=none"])
    assert not re.search(r"\bnan\b|\binf\b|\b0 (patients|essays|applications)\b|<NA>", words)
