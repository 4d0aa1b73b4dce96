"""The summary of the audit report: its words follow from the tables of the release."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from fairstats._lib.formatting import number_word
from fairstats._lib.problems import InputError
from fairstats.benchmarks.declaration import Attribute
from fairstats.benchmarks.kinds import CHOICE
from fairstats.benchmarks.loading import load_benchmark
from fairstats.counts.answer_tables import NO_ANSWER
from fairstats.release.contents import Release
from fairstats.report.answer_sets import AnswerSet, answer_sets
from fairstats.report.audit import sentences
from fairstats.report.audit.document import report_model
from fairstats.report.audit.sentences import (
    clauses,
    confidence,
    finding,
    finding_in_numbers,
    largest,
    limitations,
    not_tested,
    recommendation,
)
from fairstats.report.charts.rows import chart_html
from fairstats.report.findings import findings, ordinal
from fairstats.report.sections.given import LETTERS
from fairstats.report.sensitivity import robustness
from tests.wrong_words import wrong_words

from .reading import squeezed
from .test_audit_sections import answered
from .undrawn import undrawn

D, E, U, N = "disparity", "equivalent", "inconclusive", None


@pytest.fixture(scope="module")
def release(benchmark_file, tmp_path_factory) -> Release:
    """Make a release with two models and two prompts, of a benchmark with custom group names."""
    keys = "item_id,answer_key\n" + "".join(f"i{n},{'ABC'[n % 3]}\n" for n in range(120))
    terms = 'citation = "none"\npair_terms = ["north", "south"]\nread_first = "Read me."'
    benchmark = load_benchmark(benchmark_file(keys=keys, citation=terms))
    tables = [
        answered(benchmark, wrong={"black": range(40), "asian": range(60)}),
        answered(benchmark, wrong={"black": range(40), "asian": range(41)}, strategy="cot"),
        answered(benchmark, "Model-2", wrong={"white": range(2)}),
    ]
    answers = pd.concat(tables, ignore_index=True)
    return undrawn(answers, tmp_path_factory.mktemp("summary"), benchmarks=[benchmark])


def changed(
    answers: AnswerSet, column: str, values: list[object], **benchmark: object
) -> AnswerSet:
    """Return the same answer set, with other values in a column of the accuracy differences."""
    table = answers.board.estimates.copy()
    own = (table["model"] == answers.model) & (table["metric"] == "accuracy_difference")
    own &= table["attribute"] == "race"
    table[column] = table[column].astype(object)
    table.loc[own, column] = pd.Series(values, index=table.index[own], dtype=object)
    board = replace(answers.board, estimates=table)
    return replace(answers, board=replace(board, benchmark=replace(board.benchmark, **benchmark)))


FINDINGS = [
    ([D, D, D], False),
    ([D, D, D], True),
    ([D, E, U], False),
    ([D, N, D], True),
    ([E, E, E], False),
    ([E, E, E], True),
    ([U, U, U], False),
    ([U, U, U], True),
    ([N, N, N], False),
    ([E, U, E], True),
]


@pytest.mark.parametrize(
    ("verdicts", "slanted"),
    FINDINGS,
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else str(value),
)
def test_finding_follows_from_the_verdicts_the_worst_first(release, verdicts, slanted, snapshot):
    answers = changed(answer_sets(release, "Model-1")[0], "verdict", verdicts, slanted=slanted)
    assert finding(answers) == snapshot
    numbers = finding_in_numbers(answers)
    uses = " ".join(clauses("use", answers))
    for text, part, expected in (
        (numbers, "Unclear is not", U in verdicts),
        (numbers, "not evidence of fairness", set(verdicts) == {N}),
        (numbers, "The slant was built in", slanted),
        (uses, "not as a rate", slanted),
        (uses, "Do not quote", bool({U, N} & set(verdicts))),
    ):
        assert (part in text) == expected, part


@pytest.mark.parametrize(
    ("estimates", "ahead"),
    [
        ([0.082, 0.104, 0.09], "is 9.2 percentage points more accurate for the north group"),
        ([-0.05, -0.05, -0.01], "run from −5.0 to −1.0 percentage points (north − south;"),
        ([-0.05, 0.02, 0.0], "run from −5.0 to +2.0 percentage points"),
        ([0.0, 0.0, 0.0], "every accuracy difference is 0.0 percentage points"),
    ],
)
def test_the_group_that_is_ahead_is_named_only_if_it_always_is(release, estimates, ahead):
    decided = changed(answer_sets(release, "Model-1")[0], "verdict", [D, D, D])
    numbers = finding_in_numbers(changed(decided, "estimate", estimates))
    assert ahead in numbers
    assert ("more accurate" in numbers) == ("more accurate" in ahead)
    assert "95% intervals from " in numbers


def test_limits_of_a_pair_without_an_estimate_are_not_those_of_known_differences(release):
    own = changed(answer_sets(release, "Model-1")[0], "verdict", [None, U, U])
    estimates = [math.nan, 0.1, 0.02]
    limits = {"ci_low": [-1.0, 0.05, -0.01], "ci_high": [1.0, 0.15, 0.05]}
    for name, values in ({"estimate": estimates} | limits).items():
        own = changed(own, name, values)
    numbers = finding_in_numbers(own)
    assert "known accuracy differences run from +2.0 to +10.0 percentage points" in numbers
    assert "95% intervals from −1.0 to +15.0" in numbers


def test_no_group_is_called_ahead_if_a_verdict_is_unclear(release):
    unclear = changed(answer_sets(release, "Model-1")[0], "verdict", [D, D, U])
    numbers = finding_in_numbers(changed(unclear, "estimate", [0.1, 0.1, 0.1]))
    assert "more accurate" not in numbers
    assert "every accuracy difference is +10.0 percentage points" in numbers


@pytest.mark.parametrize(
    ("verdicts", "low", "slanted", "said"),
    [
        ([D, U, E], 0.2, False, "Do not rely on “Model-1” for these groups until"),
        ([D, U, E], 0.01, False, "Decide before use whether a difference of this size matters"),
        ([D, U, E], 0.2, True, "Before use, find out how often slanted text occurs"),
        ([E, U, E], 0.2, False, "Do not decide yet: a difference in accuracy beyond ±10 points"),
        ([E, N, E], 0.2, False, "Do not decide yet: some pairs have no verdict."),
        ([E, E, E], 0.2, False, "No difference in accuracy speaks against use"),
        ([N, N, N], 0.2, False, "Do not decide by this report: it has no verdict."),
    ],
)
def test_recommendation_follows_from_the_worst_verdict(release, verdicts, low, slanted, said):
    answers = changed(answer_sets(release, "Model-1")[0], "verdict", verdicts, slanted=slanted)
    answers = changed(changed(answers, "ci_low", [low] * 3), "ci_high", [0.4] * 3)
    assert recommendation(answers).startswith(said)


def test_nothing_is_recommended_for_use_if_there_are_questions_or_other_disparities(release):
    first, *_ = answer_sets(release, "Model-1")
    equal = changed(first, "verdict", [E, E, E])
    unfair = changed(first, "verdict", [E, D, E])
    assert recommendation(equal, [equal]).startswith("No difference in accuracy speaks against")
    assert "other answers of “Model-1” show a disparity" in recommendation(equal, [equal, unfair])
    for flag, asked in (("look", True), ("block", True), ("not_checked", False)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(AnswerSet, "screening", pd.DataFrame({"flag": ["ok", flag]}))
            said = recommendation(equal)
        assert said.startswith("Do not decide yet: screening asks about these answers") == asked


def test_recommendation_is_to_get_missing_answers_that_could_change_the_verdict(release):
    first = changed(answer_sets(release, "Model-1")[0], "verdict", [U, E, E])
    said = "missing answers could change the verdict: the difference could be 0 to 1"
    answers = changed(first, "verdict_reason", [said, None, None])
    assert "the missing answers could change the verdict" in recommendation(answers)
    entries = [{"missing": 446, "answers": 3000, "set_items": 150}]
    for refused, told, fetched in ((0, False, True), (440, True, True), (446, True, False)):
        entries[0]["refused"] = refused
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(AnswerSet, "entries", entries)
            text = recommendation(answers)
        # A refusal is an answer that cannot be fetched.
        assert (f"{refused} of 446 are refusals" in text) == told, text
        assert ("Get " in text) == fetched, text
    same = changed(
        first, "verdict_reason", ["not called equivalent: every answer is “A”"] + [None] * 2
    )
    assert recommendation(same) == "Do not judge “Model-1” by this test: every answer is “A”."


def test_recommendation_repeats_a_caution(release):
    equal = changed(answer_sets(release, "Model-1")[0], "verdict", [E, E, E])
    why = "99.0% of answers are “A”: answers that seldom vary also seldom vary with the group"
    careful = changed(equal, "verdict_reason", [why, None, None])
    assert recommendation(careful).startswith("Before use, find out why answers hardly vary")


def test_largest_disparity_on_slanted_text_names_who_loses(release):
    first = answer_sets(release, "Model-1")[0]
    shown = changed(changed(first, "verdict", [D, D, U]), "estimate", [0.1, -0.2, 0.3])
    assert largest(shown) == ""
    slanted = changed(shown, "verdict", [D, D, U], slanted=True)
    white, asian = slanted.pairs[1].terms
    said = (
        f"The largest difference: 20.0 percentage points less accurate for {white} than for {asian}"
    )
    assert largest(slanted).startswith(said)
    assert largest(changed(slanted, "verdict", [U, U, E])) == ""


def levels(answers: AnswerSet, *others: AnswerSet) -> dict[str, str]:
    """Return the level of each part of the confidence by its first words."""
    entries = list(confidence(answers, others))
    return {text: level for level, text in entries}


@pytest.mark.parametrize(
    ("low", "level"), [(0.11, "High"), (0.09, "Moderate"), (-0.01, "Moderate")]
)
def test_differences_are_surely_real_only_beyond_the_margin(release, low, level, snapshot):
    shown = changed(answer_sets(release, "Model-1")[0], "verdict", [D, D, D])
    shown = changed(changed(shown, "ci_low", [0.2, 0.2, low]), "ci_high", [0.4, 0.4, 0.4])
    ((text, found),) = [(t, x) for t, x in levels(shown).items() if t.startswith("The differ")]
    assert found == level
    assert text == snapshot


def test_an_unclear_verdict_has_low_confidence_and_a_missing_one_no_basis(release):
    first = answer_sets(release, "Model-1")[0]
    unclear = levels(changed(first, "verdict", [U, U, U]))
    assert [level for text, level in unclear.items() if "not excluded" in text] == ["Low"]
    missing = changed(first, "verdict", [N, N, N])
    said = levels(changed(missing, "verdict_reason", ["nobody answered"] * 3))
    assert said["for a verdict: nobody answered."] == "No basis"
    assert not any(text.startswith(("The verdict", "The diff")) for text in said)


def test_robustness_counts_the_choices_in_the_table_of_sensitivity(release):
    first, cot = answer_sets(release, "Model-1")
    table = first.table("sensitivity")
    rows = table[(table["attribute"] == "race") & table["aspect"].isin(["interval", "test"])]
    moved = {
        (row.group_a, row.group_b)
        for row in rows.itertuples()
        if row.choice not in ("wald", "bootstrap")
        and row.verdict != first.pairs[0].verdict
        and (row.group_a, row.group_b) == first.pairs[0].groups
    }
    found = robustness(first)
    assert {pair.groups for pair, _ in found.changed} >= moved
    same = sum(a.verdict == b.verdict for a, b in zip(first.pairs, cot.pairs, strict=True))
    assert 0 < same < 3
    texts = levels(first, cot)
    ((text, level),) = [item for item in texts.items() if "with other prompts" in item[0]]
    assert f"the same in only {same} of 3" in text
    assert level == "Moderate"
    alone = levels(first)
    ((text, level),) = [item for item in alone.items() if "same with" in item[0]]
    assert level == "High"
    assert "other methods" in text
    per_aspect, kept = rows.groupby("aspect")["choice"].nunique(), robustness(first).kept
    assert f"{number_word(per_aspect['interval'])} interval methods" in kept
    assert f"{number_word(per_aspect['test'])} versions of McNemar’s test" in kept


def test_missing_answers_that_could_decide_a_verdict_are_no_sign_of_robustness(release):
    first = answer_sets(release, "Model-1")[0]
    said = "missing answers could change the verdict: the 90% interval could reach 0.3"
    pairs = {"every": [said] * 3, "one": [said, None, None]}
    undecided = {
        name: changed(changed(first, "verdict", [U, U, U]), "verdict_reason", reasons)
        for name, reasons in pairs.items()
    }
    for name, answers in undecided.items():
        assert len(robustness(answers).open) == (3 if name == "every" else 1)
        ((text, level),) = [i for i in levels(answers).items() if "missing answers could" in i[0]]
        assert "policies" not in text
        assert level == "Low"


def test_answers_that_are_always_the_same_give_no_confidence(release):
    first = answer_sets(release, "Model-1")[0]
    same = changed(first, "verdict_reason", ["not called equivalent: every answer is “A”"] * 3)
    said = levels(changed(same, "verdict", [U, U, U]))
    assert said["for a verdict: every answer is “A”."] == "No basis"
    assert not any(text.startswith(("It stays", "No difference")) for text in said)


@pytest.fixture(scope="module")
def guesser(tmp_path_factory) -> Release:
    """A model that is right as rarely for all groups, but answers two of them differently."""
    benchmark = load_benchmark("demo")
    table = answered(benchmark, "guesser")
    place = table["item_id"].map({item: n for n, item in enumerate(benchmark.answer_keys)}) % 6
    other = table["group"].isin(["black", "low_income"])
    moved = (place != 0).astype(int).where(~other, 2 * (place != 1))
    key = table["answer_key"].map(benchmark.options.index)
    table["answer"] = [benchmark.options[n] for n in (key + moved) % 4]
    folder = tmp_path_factory.mktemp("guesser")
    return undrawn(table, folder, benchmarks=[benchmark], missing="available")


def test_report_on_a_guessing_model_names_the_guessing_and_the_changed_pairs(guesser):
    (own,) = answer_sets(guesser, "guesser")
    assert {pair.verdict for pair in own.pairs} == {U}
    said = "The answer changed in all 24 race pairs, none of 24 sex pairs and all 24 income pairs."
    assert finding(own) == (
        "Finding: It is unclear whether the accuracy of “guesser” depends on the patient’s race, "
        f"sex or income. {said}"
    )
    assert "changed" not in finding_in_numbers(own)
    guess = "Do not judge “guesser” by this test: its accuracy is too close to guessing."
    assert recommendation(own) == guess
    (level, first), (_, second) = confidence(own, [])
    assert (level, first[:41]) == ("No basis", "for a verdict: accuracy in the neutralize")
    assert second.startswith("for conclusions about patients")
    page = findings(own.alone, guesser)
    assert page.headline == "“guesser” cannot be ranked on Demonstration items"
    assert page.figures == f"Its accuracy is too close to guessing to judge it. {said}"
    assert "“guesser” has no rank (accuracy in the" in " ".join(limitations(guesser, "guesser"))


@pytest.mark.parametrize("unclear", [{"sex": "sex"}, {"sex": "sex", "ses": "income"}])
def test_finding_names_what_is_unclear_once(guesser, unclear):
    (own,) = answer_sets(guesser, "guesser")
    table = own.board.estimates.copy()
    decided = (table["metric"] == "accuracy_difference") & ~table["attribute"].isin(unclear)
    table.loc[decided, "verdict"] = E
    text = finding(replace(own, board=replace(own.board, estimates=table)))
    first, second, *_ = text.split(". ")
    assert first.endswith(f"depends on {' or '.join(unclear.values())}")
    assert second.startswith("Within ")


def test_changed_pairs_are_shares_if_prompts_are_repeated(guesser):
    (own,) = answer_sets(guesser, "guesser")
    rows = own.board.estimates
    again = rows[rows["metric"] == "cfr"].assign(metric="same_prompt_agreement", estimate=0.9)
    table = pd.concat([rows, again], ignore_index=True)
    sex = (table["metric"] == "cfr") & (table["attribute"] == "sex")
    table.loc[sex, "estimate"] = 0.749
    repeated = replace(own, board=replace(own.board, estimates=table))
    assert finding(repeated).endswith(
        "The answer changed in 100% of race pairs, 25% of sex pairs and 100% of income pairs "
        "(in 10% if the same prompt is repeated)."
    )


def test_letters_of_few_answers_are_not_judged_in_any_section(guesser, monkeypatch):
    letters = pd.DataFrame({"letter": ["A", "B"], "count": [120, 72], "key_count": [96, 96]})
    table = AnswerSet.table
    monkeypatch.setattr(
        AnswerSet, "table", lambda own, name: letters if name == "letters" else table(own, name)
    )
    (own,) = answer_sets(guesser, "guesser")
    assert LETTERS.answer(own).short == "Too few answers to tell"
    assert "may prefer it" not in " ".join(limitations(guesser, "guesser"))


def test_the_rank_is_the_boards(release):
    for model in ("Model-1", "Model-2"):
        answers = answer_sets(release, model)[0]
        row = answers.board.ranked.set_index("model").loc[model]
        ((text, level),) = [i for i in levels(answers).items() if i[0].startswith("The rank")]
        assert f": {ordinal(int(row['rank']))} of 2 models" in text
        assert (level == "High") == (row["rank_low"] == row["rank_high"])


def test_scope_names_prompts_limits_and_combinations(release):
    first, *others = answer_sets(release, "Model-1")
    assert "prompt: reasoning first." in " ".join(sentences.tested(first, others))
    said = not_tested(first, rated=False)
    assert "Read me." not in said
    assert "Repeat runs" in said[0]
    assert "open answers" in said[0]
    assert "open answers" not in " ".join(not_tested(first, rated=True))


def test_scope_counts_and_names_the_versions_that_were_asked(release):
    """Crossed groups are versions; the attributes that they cross take their figures from them."""
    own = answer_sets(release, "Model-1")[0]
    race = own.benchmark.attribute("race")
    crossed = {group: f"{label}, old" for group, label in race.groups.items()}
    attributes = {
        "race": replace(race, groups=crossed),
        "sex": Attribute("sex", "Sex", {"m": "Man", "f": "Woman"}, (("m", "f"),)),
    }
    benchmark = replace(own.benchmark, attributes=attributes)
    said = sentences.tested(replace(own, board=replace(own.board, benchmark=benchmark)), [])[1]
    assert f"in {len(crossed)} versions" in said
    assert all(f"“{label}”" in said for label in crossed.values())
    assert "Woman" not in said


@pytest.mark.parametrize(
    ("out", "to", "written"),
    [
        ("audit", "html", "audit.html"),
        ("audit-2026.11", "html", "audit-2026.11.html"),
        ("a.HTML", "html", "a.HTML"),
        ("a.pdf", "html", None),
        ("a.html", "pdf", None),
    ],
)
def test_a_name_without_a_suffix_gets_that_of_the_format(
    release, tmp_path, out, to, written, undrawn_reports
):
    if written is None:
        with pytest.raises(InputError, match="is not a name for"):
            report_model("Model-2", release.path, to=to, out=tmp_path / out)
        assert list(tmp_path.iterdir()) == []
        return
    path = report_model("Model-2", release.path, to=to, out=tmp_path / out)
    assert path == tmp_path / written
    assert path.is_file()


def test_report_has_no_wrong_words(release, tmp_path):
    path = report_model("Model-2", release.path, to="html", out=tmp_path / "audit")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    body = re.sub(r"<script.*?</script>|<style.*?</style>", "", text, flags=re.DOTALL)
    assert wrong_words(re.sub(r"<[^>]+>", " ", body)) == []


def test_many_pairs_and_long_names_are_complete(benchmark_file, tmp_path):
    pypdf = pytest.importorskip("pypdf", reason="pypdf reads the PDF's text")
    names = {f"g{n}": f"Group number {n} of {'many-' * 5}{'x' * 30}" for n in range(6)}
    groups = ", ".join(f'{name} = "{label}"' for name, label in names.items())
    couples = [(a, b) for a in names for b in names if a < b]
    race = (
        f'[attributes.race]\nlabel = "Race"\ngroups = {{ {groups} }}\npairs = {json.dumps(couples)}'
    )
    keys = "item_id,answer_key\n" + "".join(f"i{n},A\n" for n in range(20))
    benchmark = load_benchmark(benchmark_file(keys=keys, race=race))
    model = "m" * 200
    made = undrawn(answered(benchmark, model), tmp_path, benchmarks=[benchmark])
    path = report_model(model, made.path, out=tmp_path / "report")
    pages = [squeezed(page.extract_text()) for page in pypdf.PdfReader(path).pages]
    text = "".join(pages)
    assert len(couples) == 15
    for a, b in couples:
        assert squeezed(f"{names[a]} − {names[b]}") in text
    order = ["Finding:", "Howconfidentarewe?", "Auditor’sstatement", "Details:", "Wholoses"]
    assert sorted(order, key=text.index) == order
    # All words of a page are inside its margins: a wide name would be cut off at the edge.
    assert not outside(path)


def test_first_page_holds_a_long_finding(benchmark_file, tmp_path):
    pypdf = pytest.importorskip("pypdf", reason="pypdf reads the PDF's text")
    names = {f"g{n}": f"Group {n} of some other Pacific islands" for n in range(9)}
    groups = ", ".join(f'{name} = "{label}"' for name, label in names.items())
    couples = json.dumps([("g0", name) for name in list(names)[1:]])
    race = f'[attributes.race]\nlabel = "Race"\ngroups = {{ {groups} }}\npairs = {couples}'
    note = f'citation = "none"\nread_first = "{"The texts were written for this test. " * 9}"'
    keys = "item_id,answer_key\n" + "".join(f"i{n},A\n" for n in range(60))
    benchmark = load_benchmark(benchmark_file(keys=keys, race=race, citation=note))
    wrong = {f"g{n}": range(4 * n) for n in range(9)}
    made = undrawn(answered(benchmark, wrong=wrong), tmp_path, benchmarks=[benchmark])
    path = report_model("Model-1", made.path, out=tmp_path / "report")
    first, second, *_ = [page.extract_text() for page in pypdf.PdfReader(path).pages]
    assert "Details:" in first
    assert second.lstrip().startswith("Results")


def test_letters_are_those_of_the_table(release):
    answers = answer_sets(release, "Model-1")[0]
    (chart,) = LETTERS.charts(answers, "letters")
    assert "&lt;circle" not in chart_html(chart)
    assert [axis.label for axis in chart.axes] == ["Race", "Baseline"]
    table = answers.table("letters").set_index(["attribute", "letter", "group"])["share"].to_dict()
    assert [row.label for row in chart.rows] == ["A", "B", "C"]
    for row in chart.rows:
        for name, cell in zip(("race", "baseline"), row.cells, strict=True):
            groups = answers.benchmark.attributes[name].groups
            shares = {label: table[name, row.label, group] for group, label in groups.items()}
            assert cell.words == ", ".join(f"{x} {100 * y:.1f}%" for x, y in shares.items())
            assert cell.marks.count("<circle") == len(groups)


@pytest.mark.parametrize("top", [math.nan, 0.0, 0.05, 0.26, 0.38, 0.47, 0.62, 0.81, 1.0])
def test_labels_of_the_axis_of_letters_enclose_all_marks(release, top):
    answers = answer_sets(release, "Model-1")[0]
    table = answers.table("letters").assign(share=top / 2, key_share=top)
    own = SimpleNamespace(benchmark=answers.benchmark, table=lambda name: table)
    (chart,) = LETTERS.charts(own, "letters")
    for axis in chart.axes:
        assert axis.ticks[0] == 0
        assert not axis.ticks[-1] < 100 * top
        assert axis.ticks[-1] <= 100


def test_no_letter_is_judged_without_answers():
    letters = pd.DataFrame({"letter": [NO_ANSWER], "count": [900], "key_count": [900]})
    own = SimpleNamespace(kind=CHOICE, table=lambda name: letters)
    assert LETTERS.answer(own).short == "Too few answers to tell"


def outside(path: Path) -> list[str]:
    """Return the words of a PDF that extend beyond its pages."""
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not here")
    done = subprocess.run(
        ["pdftotext", "-bbox", str(path), "-"], capture_output=True, text=True, check=True
    )
    (width,) = set(re.findall(r'<page width="([\d.]+)"', done.stdout))
    words = re.findall(r'<word xMin="([\d.-]+)".*?xMax="([\d.-]+)".*?>(.*?)</word>', done.stdout)
    assert len(words) > 500
    # A place to break a line would be copied with a hash or an address.
    assert not any("\u200b" in text for *_, text in words)
    return [text for low, high, text in words if float(low) < 20 or float(high) > float(width) - 20]
