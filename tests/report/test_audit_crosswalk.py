"""What an audit report shows of a standard, and the groups and facts that it needs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import fairstats.publishing.verify_report as verify_report
from fairstats._lib.problems import InputError
from fairstats.cli import app
from fairstats.report.answer_sets import answer_sets
from fairstats.report.audit.crosswalk import (
    EVIDENCE,
    declarations,
    read_crosswalk,
    show_crosswalk,
    shown_and_missing,
)
from fairstats.report.audit.document import (
    FACTS,
    AuditFacts,
    AuditReport,
    Origin,
    Recorded,
    decoded_facts,
    read_facts,
    read_origin,
)
from fairstats.report.audit.groups import groups_of, overall_of, show_groups, small_groups
from fairstats.report.audit.sections import show_declarations
from fairstats.report.audit.summary import show_summary
from fairstats.submissions.declaration import Line

from .conftest import HOSTILE, answers_of_models
from .kinds import ITEMS, answered, declared
from .undrawn import undrawn

#: One name with everything that XML, Markdown and HTML give a meaning.
NAME = f"{HOSTILE[0]} & [x](javascript:1) *b* ]]>"
FACTS_FILE = """
auditor = "A. Auditor <script>alert(1)</script>"
conflicts = "No interest in the model"
audited = 2026-11-23
valid_until = 2027-11-22
contamination = "not known to the provider"
"""


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    answers = answers_of_models((NAME,))
    return undrawn(answers, tmp_path_factory.mktemp("crosswalk"))


@pytest.fixture
def facts(tmp_path) -> AuditFacts:
    path = tmp_path / "facts.toml"
    path.write_text(FACTS_FILE)
    return read_facts(path)


def test_facts_of_the_documents_are_valid(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "crosswalk.md").read_text(encoding="utf-8")
    (tmp_path / "facts.toml").write_text(re.findall(r"(?s)```toml\n(.*?)```", text)[0])
    assert read_facts(tmp_path / "facts.toml").audited == date(2026, 11, 23)


def test_facts_are_read_and_the_others_are_not_stated(release, facts):
    lines = declarations(AuditReport(release, NAME, facts))
    assert len(lines) == len(FACTS)
    assert "Date of the audit: 2026-11-23" in lines
    assert sum(line.endswith(": not stated") for line in lines) == len(FACTS) - 5


def test_first_page_has_facts_and_ticks(release, drawn):
    given = AuditFacts(
        intended_use="Triage <b>",
        commissioner="A committee",
        auditor="A. Auditor",
        conflicts="We sell it",
        opinion="with reservations",
        reservations="Few items",
        audited=date(2026, 11, 23),
    )
    said = drawn(show_summary, AuditReport(release, NAME, given, signed=True), [])
    for text in ("Triage &lt;b&gt;", "A committee", "Few items", "We sell it", "2026-11-23"):
        assert text in said
    assert said.count("A. Auditor") == 2
    ticked = re.findall(r'class="ticked"><span class="piece">(.*?)</span>', said)
    assert ticked == ["supported, with reservations", "conflict of interest declared"]
    assert "digital signature in this file" in said
    assert "Second reviewer" not in said
    empty = drawn(show_summary, AuditReport(release, NAME), [])
    assert "ticked" not in empty
    assert "digital signature" not in empty
    assert "Second reviewer" in empty


@pytest.mark.parametrize(("days", "before"), [(-400, True), (-2, True), (-1, False), (30, False)])
def test_audit_dated_before_the_release_is_stated(release, drawn, days, before):
    day = (release.created_at + pd.Timedelta(days=days)).date()
    said = drawn(show_summary, AuditReport(release, NAME, AuditFacts(audited=day)), [])
    assert ("is before the day on which this release was published" in said) == before


ANSWERED = {
    "benchmark": "demo",
    "benchmark_version": "1",
    "model": "m",
    "strategy": "plain",
    "status": "ok",
}


def test_recorded_facts_are_those_of_the_answers():
    recorded = {
        "collected_at": ["2026-11-23T23:30:00-02:00", "2026-11-22T10:00:00Z", None],
        "temperature": [0.0, 0.7, 0.7],
        "max_tokens": [24, 24, None],
        "seed": [0, 1, 2],
        "endpoint": ["host.org/v1", "host.org/v1", None],
    }
    rows = pd.DataFrame([ANSWERED] * 3).assign(**recorded)
    found = Recorded(rows)
    # In UTC.
    assert found.days == ("2026-11-22", "2026-11-24")
    assert found.settings == "temperature 0 or 0.7, at most 24 tokens, seed 0, 1 or 2"
    assert found.services == "host.org/v1"
    many = Recorded(pd.concat([rows] * 2).assign(seed=range(6)))
    assert many.settings.endswith("seed 0 to 5")
    nothing = Recorded(pd.DataFrame([ANSWERED]))
    assert (nothing.days, nothing.settings, nothing.services) == (("", ""), "", "")


@pytest.mark.parametrize(
    ("statuses", "missing", "said"),
    [
        (["ok"] * 10, 0, "none of 10"),
        (
            ["ok"] * 7 + ["refused", "refused", "unparsed"],
            3,
            "2 refused (20.0%), 1 empty or unreadable (10.0%)",
        ),
        (["ok"] * 9 + ["unparsed"], 1, "none marked as refused, 1 empty or unreadable (10.0%)"),
        (
            ["ok"] * 7 + ["refused", "error"],
            3,
            "1 refused (10.0%), 1 failed (10.0%), 1 not in the file (10.0%)",
        ),
    ],
)
def test_missing_answers_are_counted_by_reason(statuses, missing, said):
    rows = pd.DataFrame([ANSWERED | {"status": status} for status in statuses])
    assert Recorded(rows).unanswered(missing, 10) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('auditer = "A"', "auditer: unknown key; did you mean auditor?"),
        ('auditor = " "', "auditor = ' ': string should have at least 1 character"),
        (f'auditor = "{"a" * 501}"', "string should have at most 500 characters"),
        ("auditor = 3", "auditor = '3': should be a valid string"),
        ('opinion = "fine"', "opinion = 'fine': should be 'supported', 'with reservations' or"),
        ('opinion = "with reservations"', "reservations = 'None': is missing, although opinion ="),
        (
            'opinion = "supported"\nreservations = "a"',
            "reservations = 'a': does not go with opinion = \"supported\"",
        ),
        (
            'verified = "differed"\nopinion = "supported"',
            "opinion = 'supported': does not go with verified = \"differed\"",
        ),
        ('auditor = "a\\u0007b"', "has characters that cannot be printed"),
        ('audited = "2026-11-23"', "audited = '2026-11-23': should be a valid date"),
        (
            "audited = 2026-11-23\nvalid_until = 2026-11-22",
            "valid_until = '2026-11-22': is before 2026-11-23; write it or remove the key",
        ),
    ],
)
def test_bad_facts_are_refused_by_file_and_key(tmp_path, text, said):
    path = tmp_path / "facts.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(said)) as refused:
        read_facts(path)
    assert str(refused.value).startswith(f"{path}: ")


def test_facts_too_long_for_a_pdf_are_refused(tmp_path):
    path = tmp_path / "facts.toml"
    texts = [name for name, of in AuditFacts.model_fields.items() if of.annotation == Line | None]
    texts.remove("reservations")
    assert len(texts) > 8
    path.write_text("\n".join(f'{name} = "{"é" * 500}"' for name in texts))
    with pytest.raises(InputError, match="is too long for a report"):
        read_facts(path)


def test_origin_of_a_pdf_includes_its_options(facts):
    for crosswalk, signed in product((False, True), repeat=2):
        origin = Origin("gpt-4.1", "0" * 64, crosswalk=crosswalk, signed=signed, facts=facts)
        assert read_origin(str(origin)) == origin
    assert read_origin(str(Origin("gpt-4.1", "0" * 64))) == Origin("gpt-4.1", "0" * 64)


@pytest.mark.parametrize("text", ["e30", "W10", "eyJhdWRpdG9yIjozfQ", "eyJ4IjoxfQ", "a", "/" * 4])
def test_facts_of_a_hostile_pdf_are_refused(text):
    if text == "e30":
        assert decoded_facts(text) == AuditFacts()
        return
    with pytest.raises(ValueError, match=r"."):
        decoded_facts(text)
    assert read_origin(f"{Origin('a', '0' * 64)}; facts {text}") is None


def test_report_is_drawn_again_with_its_options(monkeypatch, facts, tmp_path):
    given = {}

    def report_model(model, release, *, out, **options):
        given.update(options)
        out.write_bytes(b"pdf")
        return out

    monkeypatch.setattr(verify_report, "report_model", report_model)
    pdf = type("Drawn", (), {"content": b"pdf"})()
    origin = Origin("a", "0" * 64, crosswalk=True, facts=facts)
    for signed, sign in ((False, None), (True, bytes)):
        assert verify_report.shows_the_release(pdf, tmp_path, replace(origin, signed=signed))
        assert given == {"crosswalk": True, "facts": facts, "sign": sign}


def test_groups_have_the_figures_of_the_estimates(release):
    answers = answer_sets(release, NAME)[0]
    race = answers.benchmark.attributes["race"]
    rows = answers.rows[answers.rows["attribute"] == "race"].set_index("metric")
    white, black = groups_of(answers, race)
    assert (white.label, black.label) == tuple(race.groups.values())
    for group, side in ((white, "a"), (black, "b")):
        row = rows.loc[f"accuracy_{side}"]
        assert (group.row["estimate"], group.n) == (row["estimate"], row["n"])
        assert group.missing == row[f"n_missing_{side}"]
        assert group.share == pytest.approx(0.5)
    right = white.row["estimate"] * white.n + black.row["estimate"] * black.n
    overall = overall_of(answers, race)
    assert overall is not None
    assert overall["n"] == white.n + black.n
    assert overall["estimate"] == pytest.approx(right / (white.n + black.n))


@pytest.mark.parametrize("lost", [range(ITEMS), range(ITEMS // 2)], ids=["all", "half"])
def test_groups_of_complete_pairs_have_the_figures_of_the_page(lost, tmp_path):
    """North has no figure in its pair with South if no answer for South could be read."""
    benchmark = declared("interviews", tmp_path)
    answers = answered(benchmark)
    gone = answers["group"].eq("south") & answers["item_id"].isin([f"i{n}" for n in lost])
    answers.loc[gone, ["answer", "status"]] = None, "refused"
    (own,) = answer_sets(
        undrawn(answers, tmp_path, benchmarks=[benchmark], missing="complete"), "model-interviews"
    )
    north, south, east = groups_of(own, benchmark.attributes["origin"])
    page = [figure.estimate for figure in own.by_group.values()]
    report = [100 * group.row["estimate"] for group in (north, south, east)]
    assert report == pytest.approx(page, nan_ok=True)
    # Each item has three samples. Half of them are in the first pair.
    assert north.n == 3 * (ITEMS - len(lost) or ITEMS)
    assert not any(group.small for group in (north, south, east))


def test_groups_section_shows_each_group_with_unknown_answers(release, drawn):
    answers = answer_sets(release, NAME)[0]
    html = re.sub(r"<[^>]+>", " ", drawn(show_groups, answers))
    for attribute in answers.benchmark.varied:
        for group in groups_of(answers, attribute):
            row = f"{group.label} {group.n} {group.missing} {100 * group.row['estimate']:.1f}"
            assert row in " ".join(html.split())
    assert "Impact ratio" in html
    assert "No combinations of attributes" in html


def test_group_with_under_2_percent_of_the_answers_is_marked(release):
    answers = answer_sets(release, NAME)[0]
    assert small_groups(answers) == []
    rows = answers.rows.copy()
    rows.loc[(rows["attribute"] == "race") & (rows["metric"] == "accuracy_b"), "n"] = 0
    rows.loc[rows["attribute"] == "race", "n_missing_b"] = 0
    board = replace(answers.board, estimates=rows)
    assert small_groups(replace(answers, board=board)) == ["Black"]


def test_every_part_is_in_a_clause_and_has_evidence():
    crosswalk = read_crosswalk()
    parts = set(crosswalk["parts"])
    assert {name for clause in crosswalk["clauses"] for name in clause["shows"]} == parts
    assert set(EVIDENCE) == parts


def test_crosswalk_never_claims_that_a_demand_is_met(release, drawn):
    text = drawn(show_crosswalk, AuditReport(release, NAME, crosswalk=True))
    assert "It certifies nothing" in text
    assert all(clause["name"] in text for clause in read_crosswalk()["clauses"])
    for word in ("complian", "comply", "complies", "fulfil", "satisf", "meets"):
        assert word not in text.lower()


def clause_of(name: str) -> Mapping[str, Any]:
    (clause,) = [one for one in read_crosswalk()["clauses"] if one["name"] == name]
    return clause


def test_clause_is_not_shown_without_the_facts(release, facts):
    clause = clause_of("MS-2.11-001")
    shown, missing = shown_and_missing(clause, AuditReport(release, NAME))
    assert [section for section, _ in shown] == ["", "Limits"]
    assert missing == [read_crosswalk()["parts"]["contamination"]["name"]]
    shown, missing = shown_and_missing(clause, AuditReport(release, NAME, facts))
    assert [section for section, _ in shown] == ["", "Limits", "Declarations"]
    assert missing == []


def test_empty_section_of_this_report_is_not_shown(release):
    audit = AuditReport(release, NAME)
    shown, missing = shown_and_missing(clause_of("MS-2.11-002"), audit)
    assert shown[0][0] == "Groups"
    assert shown[0][1].startswith("accuracy of 6 groups")
    assert missing == ["intersections of attributes"]
    assert shown_and_missing(clause_of("MS-2.11-003"), audit)[0] == []


def test_hostile_facts_are_shown_as_text(release, facts, drawn):
    html = drawn(show_declarations, AuditReport(release, NAME, facts))
    assert "&lt;script&gt;" in html
    assert "<script" not in html


def test_command_refuses_wrong_facts_before_it_draws(release, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ["--release", str(release.path), "--facts", "none.toml"]
    done = CliRunner().invoke(app, ["report", NAME, *options])
    assert done.exit_code != 0
    assert "none.toml: " in done.output
    assert list(tmp_path.iterdir()) == []
