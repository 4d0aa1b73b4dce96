"""The audit report: its figures are those of the release, and it states their limitations."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from fairstats._lib.formatting import quoted
from fairstats._lib.problems import InputError
from fairstats._lib.safe_names import file_sha256
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.cli import app
from fairstats.release.contents import Release
from fairstats.report.answer_sets import answer_sets
from fairstats.report.audit.document import (
    AuditFacts,
    AuditReport,
    model_of,
    origin_of,
    read_origin,
    report_model,
)
from fairstats.report.audit.sections import scope, sections_of
from fairstats.report.audit.sentences import (
    clauses,
    confidence,
    finding,
    finding_in_numbers,
    limitations,
    not_tested,
)
from fairstats.report.render import PageError
from fairstats.report.sections import size
from fairstats.report.sensitivity import CHOICE_LABELS
from tests.browsing import violations
from tests.make_answers import make_answers

from .conftest import HOSTILE
from .reading import MARKS, Markup, figures, p_words, pdf_words, signed, squeezed
from .undrawn import undrawn

ITEMS = 300
PAIRS = {
    ("white", "black"): "White − Black",
    ("white", "asian"): "White − Asian",
    ("black", "asian"): "Black − Asian",
}
#: All hostile names in one, of the maximum length.
ALL_HOSTILE = " ".join(name for name in HOSTILE if name not in ("../../outside", "m" * 200))[:200]


@pytest.fixture(scope="module")
def benchmark(benchmark_file) -> Benchmark:
    """Return 300 items for three groups of one attribute, with a narrow margin."""
    keys = "".join(f"i{n},{'ABC'[n % 3]}\n" for n in range(ITEMS))
    margin = "equivalence_margin = 0.02"
    file = benchmark_file(keys=f"item_id,answer_key\n{keys}", equivalence_margin=margin)
    return load_benchmark(file)


def answered(
    benchmark: Benchmark,
    model: str = "Model-1",
    *,
    wrong: Mapping[str, Collection[int]] | None = None,
    lost: Mapping[str, Collection[int]] | None = None,
    letter: str | None = None,
    **unit: object,
) -> pd.DataFrame:
    """Return right answers, except wrong and missing ones for these groups and items.

    A wrong answer is `letter`, or the letter after the key if `letter` is the key.
    """
    rows = make_answers(1, of=benchmark, models=[model])
    places = {item: place for place, item in enumerate(benchmark.answer_keys)}
    first, *later = benchmark.options
    other = rows["answer_key"].map(dict(zip(benchmark.options, [*later, first], strict=True)))
    if letter is not None:
        other = other.where(rows["answer_key"] == letter, letter)

    def among(chosen: Mapping[str, Collection[int]] | None) -> list[bool]:
        variants = zip(rows["item_id"].map(places), rows["group"], strict=True)
        return [place in (chosen or {}).get(group, ()) for place, group in variants]

    gone = among(lost)
    answer = rows["answer"].mask(among(wrong), other).mask(gone)
    status = rows["status"].mask(gone, "unparsed")
    return rows.assign(answer=answer, status=status, snapshot=f"{model[:190]}-1", **unit)


@pytest.fixture(scope="module")
def release(benchmark, tmp_path_factory) -> Release:
    """Make a release with every verdict, missing answers, two strategies, and a hostile name."""
    hundred, few = range(100), range(4)
    # So few that White − Asian is equivalent for any values.
    lost = {"white": range(290, 292), "asian": range(290, 291)}
    tables = [
        answered(benchmark, wrong={"black": hundred}, lost=lost),
        answered(benchmark, wrong={"black": hundred, "asian": few}, strategy="cot"),
        answered(benchmark, ALL_HOSTILE, wrong={"asian": hundred}, strategy="$x$ <i>cot</i> {{<"),
    ]
    answers = pd.concat(tables, ignore_index=True)
    return undrawn(answers, tmp_path_factory.mktemp("audit"), benchmarks=[benchmark])


def test_auditor_chooses_the_benchmark_of_the_first_page(benchmark, demo, tmp_path):
    tables = [answered(benchmark), answered(demo)]
    made = undrawn(pd.concat(tables, ignore_index=True), tmp_path, benchmarks=[benchmark, demo])
    by_default = AuditReport(made, "Model-1")
    names = [own.benchmark.name for own in by_default.sets]
    assert sorted(names) == sorted([benchmark.name, demo.name])
    chosen = AuditReport(made, "Model-1", AuditFacts(benchmark=names[1]))
    assert chosen.first.benchmark.name == names[1]
    assert [own.benchmark.name for own in chosen.others] == [names[0]]
    assert read_origin(str(origin_of(made, "Model-1", facts=chosen.facts))).facts == chosen.facts
    with pytest.raises(InputError, match="has no answers to it") as caught:
        report_model("Model-1", made.path, facts=AuditFacts(benchmark="other"))
    assert names[1] in str(caught.value)


def test_equivalence_with_a_caution_is_no_open_verdict(benchmark, tmp_path):
    wrong = dict.fromkeys(("white", "black", "asian"), range(60))
    made = undrawn(answered(benchmark, wrong=wrong), tmp_path, benchmarks=[benchmark])
    limits = list(limitations(made, "Model-1"))
    assert not [text for text in limits if text.startswith("A verdict is open")]
    (careful,) = (text for text in limits if text.startswith("“Equivalent” has a caution. "))
    (own,) = answer_sets(made, "Model-1")
    assert careful.removeprefix("“Equivalent” has a caution. ") in size.answer(own).text


@pytest.fixture(scope="module")
def draw(release, tmp_path_factory):
    """Draw the report of a model as a file, once."""
    folder, drawn = tmp_path_factory.mktemp("reports"), {}

    def report(model: str, to: str) -> Path:
        if (model, to) not in drawn:
            out = folder / f"{len(drawn)}.{to}"
            drawn[model, to] = report_model(model, release.path, to=to, out=out)
        return drawn[model, to]

    return report


def words(path: Path, model: str = "Model-1") -> str:
    if path.suffix == ".pdf":
        return pdf_words(path, title=f"Audit of {quoted(model)}")
    return Markup(path.read_text(encoding="utf-8")).words


@pytest.fixture(scope="module", params=["pdf", "html"])
def report(request, draw) -> str:
    return words(draw("Model-1", request.param))


def pairs(release: Release, model: str = "Model-1"):
    """Yield each demographic pair of each answer set: strategy, label and estimates by metric."""
    own = release.estimates[release.estimates["model"] == model]
    for strategy in own["strategy"].unique():
        for (a, b), label in PAIRS.items():
            unit = {"strategy": strategy, "attribute": "race", "group_a": a, "group_b": b}
            yield strategy, label, figures(own, **unit)


def test_the_release_has_every_verdict(release):
    verdicts = {own.loc["accuracy_difference", "verdict"] for _, _, own in pairs(release)}
    assert verdicts == set(MARKS)


def pair_row(label: str, own: pd.DataFrame) -> str:
    """Return the expected row of the table of pairs."""
    difference, cfr = own.loc["accuracy_difference"], own.loc["cfr"]
    accuracy = " / ".join(
        f"{100 * own.loc[metric, 'estimate']:.1f}" for metric in ("accuracy_a", "accuracy_b")
    )
    verdict = difference["verdict"]
    return squeezed(
        f"{label}{accuracy}{signed(difference['estimate'])}({signed(difference['ci_low'])} "
        f"to {signed(difference['ci_high'])}){100 * cfr['estimate']:.1f}"
        f"({100 * cfr['ci_low']:.1f}–{100 * cfr['ci_high']:.1f})"
        f"{difference['n10']} : {difference['n01']}{p_figure(own.loc['mcnemar', 'p_adjusted'])}"
        f"{MARKS[verdict]}{verdict}"
    )


def short_row(label: str, own: pd.DataFrame) -> str:
    """Return the expected row of the table on the first page, without counts and p-value."""
    difference = own.loc["accuracy_difference"]
    counts = f"{difference['n10']} : {difference['n01']}"
    tests = squeezed(f"{counts}{p_figure(own.loc['mcnemar', 'p_adjusted'])}")
    return pair_row(label, own).replace(f"){tests}", ")", 1)


def p_figure(p: float) -> str:
    return p_words(p).removeprefix("p").removeprefix("=")


def test_each_pair_of_each_answer_set_is_shown_once(release, report):
    rows = [pair_row(label, own) for _, label, own in pairs(release)]
    assert len(rows) == 6
    assert [report.count(row) for row in rows] == [1] * 6


def test_the_first_page_has_the_first_answer_set_and_its_p_values_are_never_0(release, draw):
    pypdf = pytest.importorskip("pypdf", reason="pypdf reads the PDF's text")
    first, *others = pypdf.PdfReader(draw("Model-1", "pdf")).pages
    text = squeezed(first.extract_text())
    assert [short_row(label, own) in text for _, label, own in pairs(release)] == [
        strategy == "plain" for strategy, *_ in pairs(release)
    ]
    assert not re.search("McNemar|Discordant|power", text)
    assert "Manifest" in text
    assert file_sha256(release.path / "manifest.json") in text
    # It contains the whole summary, and no other text.
    assert text.index("Auditor’sstatement") < text.index("Details:Resultsp.2")
    assert "Wholosesaccuracy?" not in text
    assert squeezed(others[0].extract_text()).startswith("ResultsFiguresandtests")
    everything = "".join(squeezed(page.extract_text()) for page in (first, *others))
    assert "<0.001" in everything
    assert not re.search(r"p[=<]0(\.0+)?(?![\d.])", everything)


def test_the_pages_in_the_contents_are_those_of_the_sections(release, draw):
    pypdf = pytest.importorskip("pypdf", reason="pypdf reads the PDF's text")
    texts = [page.extract_text() for page in pypdf.PdfReader(draw("Model-1", "pdf")).pages]
    details = re.search(r"Details: (.*?)\n", texts[0] + "\n")
    assert details is not None
    listed = dict(re.findall(r"([A-Z][\w ]*) p\.\s(\d+)", details[1]))
    assert list(listed) == sections_of(AuditReport(release, "Model-1"))
    for title, page in listed.items():
        assert re.search(rf"^{title}$", texts[int(page) - 1], re.MULTILINE), title


def test_outcomes_are_those_of_the_estimates(release, report):
    for strategy, label, own in pairs(release):
        outcomes = [
            f"{100 * own.loc[metric, 'estimate']:.1f}"
            for metric in ("both_correct", "only_a_correct", "only_b_correct", "neither_correct")
        ]
        row = squeezed(f"{label}{''.join(outcomes)}")
        assert (row in report) or strategy != "plain", row


def test_sizes_are_those_of_the_estimates_and_of_sensitivity(release, report):
    table = release.table("sensitivity")
    for strategy, label, own in pairs(release):
        if strategy != "plain":
            continue
        (a, b) = next(groups for groups, name in PAIRS.items() if name == label)
        unit = {"model": "Model-1", "strategy": strategy, "group_a": a, "group_b": b}
        rows = table[(table[list(unit)] == list(unit.values())).all(axis=1)]
        smallest = rows[rows["choice"] == "smallest"].iloc[0]
        figures = [own.loc[metric] for metric in ("odds_ratio", "cohens_h")]
        texts = [
            f"{row['estimate']:.{places}f}({row['ci_low']:.{places}f}to{row['ci_high']:.{places}f})"
            if pd.notna(row["estimate"])
            else "–"
            for row, places in zip(figures, (2, 3), strict=True)
        ]
        row = (
            f"{label}{''.join(texts)}{signed(smallest['ci_low'])}to"
            f"{signed(smallest['ci_high'])}±{100 * smallest['estimate']:.1f}"
            f"{100 * own.loc['minimum_detectable_difference', 'estimate']:.1f}"
            f"{p_figure(own.loc['mcnemar', 'p_value'])}"
        )
        for printed, text in {"-": "−", "inf": "∞"}.items():
            row = row.replace(printed, text)
        assert squeezed(row) in report


def test_head_scope_and_provenance_are_the_manifests(release, report):
    manifest = release.manifest
    day = release.created_at
    assert squeezed(f"fairstats release 2026.11 · {day.day} {day:%B %Y}") in report
    for label, value in {
        "Model tested": "“Model-1-1”",
        "Benchmark": "Three groups,",
        "Size": "300 vignettes, 1,500 answers",
        "Margin": "±2 points",
        "plain:": "300 vignettes, 1,500 answers, 3 of them missing (3 empty or unreadable)",
        "reasoning first:": "300 vignettes, 1,500 answers, 0 of them missing; snapshot “Model-1-1”",
    }.items():
        assert squeezed(f"{label} {value}") in report
    for name in ("answers", "estimates"):
        assert manifest["files"][f"downloads/{name}.parquet"] in report
    assert squeezed(manifest["created_at"]) in report
    for name, version in manifest["libraries"].items():
        assert squeezed(f"{name} {version}") in report


def test_the_finding_has_the_figures_of_the_estimates(release, report):
    plain = [own for strategy, _, own in pairs(release) if strategy == "plain"]
    changed = [own.loc["cfr", "n"] * (1 - own.loc["cfr", "estimate"]) for own in plain]
    differences = [own.loc["accuracy_difference", "estimate"] for own in plain]
    first = answer_sets(release, "Model-1")[0]
    numbers = finding_in_numbers(first)
    said = numbers.partition("The answer changed in ")[2]
    found = re.findall(r"(\d+|none) of \d+ [A-Z]", said)
    assert found == [f"{count:.0f}" if count > 0.5 else "none" for count in changed]
    assert f" {signed(min(differences))} to {signed(max(differences))} percentage" in numbers
    assert squeezed(numbers) in report
    assert squeezed(finding(first)) in report


def test_command_in_the_reports_gives_the_same_report(release, draw, tmp_path, monkeypatch):
    text = r"fairstatsreportmodel-1--release(v/[\w.]+)--topdf"
    found = [re.search(text, words(draw("Model-1", kind))) for kind in ("pdf", "html")]
    assert None not in found
    (command,) = {one[1] for one in found}
    monkeypatch.chdir(release.path.parents[1])
    arguments = ["report", "model-1", "--release", command, "--to", "html"]
    done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "again.html")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "again.html").read_bytes() == draw("Model-1", "html").read_bytes()


@pytest.mark.parametrize("to", ["pdf", "html"])
def test_a_hostile_name_is_text_in_title_tables_and_sentences(release, draw, to):
    path = draw(ALL_HOSTILE, to)
    text = words(path, ALL_HOSTILE)
    # Typst's fonts have no emoji; the rest of such a name is shown.
    name = squeezed(quoted(ALL_HOSTILE))
    name, text = (part.encode("ascii", "ignore").decode() for part in (name, text))
    assert f"Auditof{name}" in text[:600]
    assert f"Allestimatesof{name}arein" in text
    assert "$x$<i>cot</i>{{<prompt;" in text
    # A summary longer than a page is complete.
    order = ["Auditorsstatement", "Details:Results", "Wholosesaccuracy?"]
    assert sorted(order, key=text.index) == order
    command = f"fairstatsreport{release.slugs[ALL_HOSTILE]}--releasev/2026.11--topdf"
    assert command in text
    assert "hatchling" not in text, "an include of a name was followed"


def test_hostile_name_is_not_markup(draw):
    page = Markup(draw(ALL_HOSTILE, "html").read_text(encoding="utf-8"))
    names = [tag for tag, _ in page.tags]
    # Our script is the only one, without event handlers or external resources.
    assert names.count("script") == 1
    assert not {"img", "iframe", "object", "embed", "i"} & set(names)
    assert not [a for _, attributes in page.tags for a in attributes if a.startswith("on")]


@pytest.mark.parametrize("model", ["Model-1", ALL_HOSTILE])
def test_html_report_needs_no_other_file(draw, model):
    path = draw(model, "html")
    ids, links = set(), []
    for tag, attributes in Markup(path.read_text(encoding="utf-8")).tags:
        ids.add(attributes.get("id"))
        # Parts of a figure: SVG's `use`, gradients and clips.
        links += [
            (tag, attributes[key]) for key in ("src", "href", "xlink:href") if key in attributes
        ]
    assert ("link", "data:,") in links
    assert [link for link in links if not (link[1] or "").startswith(("#", "data:"))] == []
    assert {link[1][1:] for link in links if link[1].startswith("#")} <= ids
    assert re.findall(r"url\((?!#)", path.read_text(encoding="utf-8")) == []


def one_pair(benchmark_file, n: int, **replaced: str) -> Benchmark:
    """Return a benchmark with this many items, all with the key A."""
    keys = "item_id,answer_key\n" + "".join(f"i{place},A\n" for place in range(n))
    return load_benchmark(benchmark_file(keys=keys, **replaced))


def nothing_parsed(benchmark: Benchmark) -> pd.DataFrame:
    everything = {group: range(len(benchmark.answer_keys)) for _, group in benchmark.variants}
    return answered(benchmark, lost=everything)


def with_samples(benchmark: Benchmark) -> pd.DataFrame:
    samples = [
        answered(benchmark, wrong={"black": range(5 * k, 5 * k + 8)}, sample=k) for k in range(3)
    ]
    return pd.concat(samples, ignore_index=True)


#: The published answers, the options, and figures and labels of the report.
DEGENERATE = {
    "one item": (
        lambda file: one_pair(file, 1),
        answered,
        {},
        [
            "1 vignette, 5 answers",
            "White − Black 100.0 / 100.0 0.0 (−79.3 to +79.3) 100.0 (20.7–100.0) 0 : 0 1 "
            "○ inconclusive",
        ],
    ),
    "nothing parsed": (
        lambda file: one_pair(file, 30),
        nothing_parsed,
        {},
        [
            "150 of 150 answers are missing (150 empty or unreadable); policy available.",
            "White − Black – / – not known (−100.0 to +100.0) not known (0.0–100.0) 0 : 0 – not "
            "judged",
        ],
    ),
    "bounds": (
        lambda file: one_pair(file, 30),
        lambda benchmark: answered(benchmark, lost={"white": range(3)}),
        {"missing": "bounds"},
        [
            "White − Black 90.0–100.0 / 100.0 range (−10.0 to 0.0) range (90.0–100.0) – – not "
            "judged",
            "Black − Asian 100.0 / 100.0 0.0 (0.0 to 0.0) 100.0 (100.0–100.0) – – not judged",
            "; policy bounds.",
        ],
    ),
    "several samples": (
        lambda file: one_pair(file, 60),
        with_samples,
        {},
        [
            "mid-p, items flipped",
            "design effect",
            "900 answers",
            "i10, sample 2",
            "With several samples per vignette, the accuracy of all groups is not estimated.",
        ],
    ),
    "selected": (
        lambda file: one_pair(file, 30, selected='[selected_on]\nModel-1 = "by hand"'),
        lambda benchmark: answered(benchmark, wrong={"black": range(20)}),
        {},
        ["by hand"],
    ),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_report_of_a_degenerate_release_states_the_problem(
    case, benchmark_file, tmp_path, snapshot
):
    make, given, options, shown = DEGENERATE[case]
    benchmark = make(benchmark_file)
    made = undrawn(given(benchmark), tmp_path, benchmarks=[benchmark], **options)
    (answers,) = answer_sets(made, "Model-1")
    summary = [
        finding(answers),
        finding_in_numbers(answers),
        *(" ".join(part) for part in confidence(answers, [])),
        next(limitations(made, "Model-1")),
        not_tested(answers, rated=False)[0],
        clauses("use", answers)[0],
    ]
    assert summary == snapshot
    path = report_model("Model-1", made.path, out=tmp_path / "report.pdf")
    text = words(path)
    for sentence in (*summary, *shown):
        assert squeezed(sentence) in text
    assert ("95%" not in text) == (case == "bounds")
    pypdf = pytest.importorskip("pypdf")
    pages = " ".join(page.extract_text() for page in pypdf.PdfReader(path).pages)
    assert not re.findall(r"\b(nan|NaN|None|NaT|inf)\b|<NA>", pages)


def test_missing_model_is_named_and_no_file_written(release, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"Model-9.*is no model of release 2026\.11.*Model-1"):
        report_model("Model-9", release.path, out=tmp_path / "new" / "a.pdf")
    with pytest.raises(InputError, match="contains no release"):
        report_model("Model-1", tmp_path / "v" / "1")
    for arguments in (["Model-9", "--release", str(release.path)], ["Model-1", "--release", "v/1"]):
        done = CliRunner().invoke(app, ["report", *arguments])
        assert done.exit_code == 1
        assert "Traceback" not in done.output
    done = CliRunner().invoke(app, ["report", "x", "--release", str(release.path), "--to", "docx"])
    assert done.exit_code != 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "file"),
    [("2026.11", "model-1-audit-2026.11.html"), ("audit-1", "model-1-audit-1.html")],
)
def test_default_file_is_named_after_model_and_release(
    name, file, release, tmp_path, monkeypatch, undrawn_reports
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Release, "name", name)
    assert report_model("Model-1", release.path, to="html") == Path(file)


def test_model_can_be_given_by_name_or_page_address(release):
    for model, slug in release.slugs.items():
        assert model_of(release, model) == model_of(release, slug) == model


def test_a_page_that_fails_leaves_the_file_as_it_was(release, tmp_path):
    broken = Release(shutil.copytree(release.path, tmp_path / "v" / "broken"))
    letters = broken.path / "downloads" / "letters.parquet"
    pd.DataFrame({"other": [1]}).to_parquet(letters)
    manifest = broken.manifest
    manifest["files"]["downloads/letters.parquet"] = file_sha256(letters)
    (broken.path / "manifest.json").write_text(json.dumps(manifest))
    out = tmp_path / "out"
    with pytest.raises(PageError, match=r"audit\.qmd failed: KeyError"):
        report_model("Model-1", broken.path, out=out / "a.pdf")
    assert not out.exists()
    out.mkdir()
    (out / "a.pdf").write_text("an earlier one")
    with pytest.raises(PageError):
        report_model("Model-1", broken.path, out=out / "a.pdf")
    assert [path.read_text() for path in out.iterdir()] == ["an earlier one"]


def test_a_half_written_file_is_removed(release, tmp_path, undrawn_reports):
    (tmp_path / "a.pdf").mkdir()
    with pytest.raises(OSError, match=r"a\.pdf"):
        report_model("Model-1", release.path, out=tmp_path / "a.pdf")
    assert [path.name for path in tmp_path.iterdir()] == ["a.pdf"]


def limits_of(release: Release, model: str) -> str:
    return "\n".join(limitations(release, model))


GROUPS = ("white", "black", "asian", "original", "neutralized")
#: The answers of the models of `several`, as options of `answered`.
SEVERAL = {
    # McNemar's mid-p of n missing answers of only one group is 2 to the power of -n.
    **{
        f"{n} missing": {"lost": {"black": range(n)}, "wrong": {"white": range(60)}} for n in (4, 5)
    },
    "equally missing": {"lost": dict.fromkeys(GROUPS, range(30))},
    "90 missing": {"lost": dict.fromkeys(GROUPS, range(90))},
    "black missing": {"lost": {"black": range(ITEMS)}},
    **{
        f"{n} discordant": {
            "wrong": {"white": range(n // 2), "black": range(n // 2, n), "asian": range(100, 160)}
        }
        for n in (9, 10)
    },
    # Of 1,500 answers 5 points are 75: the number above that of keys.
    **{
        f"{n} times A": {
            "wrong": {"asian": [place for place in range(ITEMS) if place % 3][:n]},
            "letter": "A",
        }
        for n in (74, 76)
    },
    "right": {},
    "unknown snapshot": {},
    "two snapshots": {"lost": {"white": range(7)}},
}


@pytest.fixture(scope="module")
def several(benchmark, tmp_path_factory) -> Release:
    """Publish models with one limitation each; a limitation does not depend on other models."""
    tables = [answered(benchmark, model, **options) for model, options in SEVERAL.items()]
    answers = pd.concat(tables, ignore_index=True)
    answers.loc[answers.index[answers["model"] == "unknown snapshot"][:5], "snapshot"] = None
    later = answers["item_id"].isin([f"i{n}" for n in range(100)])
    both = later.map({True: "later", False: "first"})
    answers["snapshot"] = answers["snapshot"].mask(answers["model"] == "two snapshots", both)
    return undrawn(answers, tmp_path_factory.mktemp("several"), benchmarks=[benchmark])


def test_no_limitation_is_stated_without_a_reason(benchmark, tmp_path):
    # 60 discordant pairs on each side, for every pair of groups; the letters are those of the keys.
    wrong = {"white": range(60), "black": range(60, 120), "asian": range(120, 180)}
    made = undrawn(answered(benchmark, wrong=wrong), tmp_path, benchmarks=[benchmark])
    found = list(limitations(made, "Model-1"))
    assert [line.partition(" ")[0] for line in found] == ["Other", "The"]


@pytest.mark.parametrize(
    ("model", "limit", "figures"),
    [
        # 5 of 300 items; mid-p is 2 to the power of -5.
        ("4 missing", "missing more often", None),
        ("5 missing", "missing more often", "White − Black: −1.7 points, p\u00a0=\u00a00.031"),
        ("equally missing", "missing more often", None),
        ("9 discordant", "Fewer than", "discordant (White − Black)"),
        ("10 discordant", "Fewer than", None),
        # Five points above the share of the keys, (500 + 75) / 1500, or less.
        ("74 times A", "of the keys", None),
        ("76 times A", "The letter A is", "38.4% of the answers but 33.3% of the keys"),
        ("90 missing", "of the keys", None),
        ("right", "version of the model is", None),
        ("unknown snapshot", "version of the model is", "not known"),
    ],
)
def test_limitation_is_stated_only_with_a_reason(several, model, limit, figures):
    found = "\n".join(line for line in limitations(several, model) if limit in line)
    assert bool(found) == (figures is not None)
    assert (figures or "") in found


def test_verdict_that_depends_on_a_choice_is_a_limitation(benchmark, tmp_path):
    # 9 against 1: mid-p .0117, times 3 over all pairs; the exact test's .0215 gives .064.
    wrong = {"white": [0, *range(20, 80)], "black": [*range(1, 10), *range(20, 80)]}
    wrong["asian"] = [0, *range(20, 80)]
    table = answered(benchmark, wrong=wrong)
    made = undrawn(table, tmp_path, benchmarks=[benchmark])
    rows = made.table("sensitivity")
    found = "\n".join(limitations(made, "Model-1"))
    judged = rows[rows["verdict"].notna() & (rows["choice"] != "smallest")]
    demographic = judged[judged["attribute"] != "baseline"]
    moved = 0
    for pair, own in demographic.groupby(["attribute", "group_a", "group_b"]):
        (verdict,) = own.loc[own["published"], "verdict"].unique()
        # Wald's interval and the bootstrap's cover too rarely to decide a verdict.
        defended = (own["aspect"] != "margin") & ~own["choice"].isin(["wald", "bootstrap"])
        others = own[(own["verdict"] != verdict) & defended]
        moved += len(others) > 0
        for row in others.itertuples():
            assert CHOICE_LABELS.get(row.choice, row.choice).lower() in found.lower(), pair
    assert found.count(" depends on the choice") == moved > 0
    changed = "White − Black depends on the choice of method: inconclusive instead of disparity"
    assert f"{changed} with the exact test" in found
    assert "Wald" not in found


def test_scope_counts_answers_per_snapshot(several):
    (answers,) = answer_sets(several, "two snapshots")
    first, second = scope(answers)
    for text, parts in (
        (first, ("200 vignettes", "1,000 answers", "0 of them", "snapshot “first”")),
        (second, ("100 vignettes", "500 answers", "7 of them", "snapshot “later”")),
    ):
        assert [part for part in parts if part not in text] == []


def test_pairs_without_a_verdict_are_named_with_the_reason(several):
    pairs = "White − Black and Black − Asian"
    said = f"{pairs}: a group has no answers."
    assert f"missing. {said}" in limits_of(several, "black missing")
    (answers,) = answer_sets(several, "black missing")
    assert f"for {pairs}. Within" in finding(answers)
    assert said in finding_in_numbers(answers)
    assert ("No basis", f"for a verdict: {said}") not in confidence(answers, [])


def test_limits_of_each_benchmark_name_it_if_there_are_several(benchmark_file, all_right, tmp_path):
    titles = {"three": "Three groups", "more": "More groups"}
    keys = "item_id,answer_key,ward\ni1,A,x\ni2,B,y\ni3,A,z\n"
    options = 'options = ["A", "B", "C"]\ncluster = "ward"'
    known = [
        load_benchmark(
            benchmark_file(
                keys, options=options, name=f'name = "{name}"', title=f'title = "{title}"'
            )
        )
        for name, title in titles.items()
    ]
    answers = pd.concat(map(all_right, known), ignore_index=True)
    made = undrawn(answers, tmp_path, benchmarks=known)
    few = [line for line in limitations(made, answers["model"][0]) if "only 3 independent" in line]
    assert [line.partition(":")[0] for line in few] == sorted(titles.values())


def test_selection_and_the_benchmarks_notes_are_limitations(benchmark_file, tmp_path):
    file = benchmark_file(
        citation='citation = "none"\nnotes = ["Items are few."]',
        selected='[selected_on]\nModel-1 = "by hand"',
    )
    benchmark = load_benchmark(file)
    models = [answered(benchmark, model) for model in ("Model-1", "Model-2")]
    made = undrawn(pd.concat(models, ignore_index=True), tmp_path, benchmarks=[benchmark])
    for model, selected in (("Model-1", True), ("Model-2", False)):
        found = "\n".join(limitations(made, model))
        assert "Items are few." in found.splitlines()
        assert (f"“{model}” took part" in found) == selected
        # This is the only reason.
        assert "no verdict is given" not in found


@pytest.fixture
def opened(browser):
    """Open a file in a separate context; return the tab with its messages and requests."""
    contexts = []

    def visit(path: Path, **options):
        contexts.append(browser.new_context(**options))
        tab = contexts[-1].new_page()
        said, asked = [], []
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(path.as_uri())
        return tab, said, asked

    yield visit
    for context in contexts:
        context.close()


@pytest.mark.parametrize("model", ["Model-1", ALL_HOSTILE])
def test_report_in_a_browser_makes_no_request_and_passes_axe(opened, draw, model):
    path = draw(model, "html")
    tab, said, asked = opened(path, bypass_csp=True)
    assert (said, asked) == ([], [path.as_uri()])
    (title,) = tab.locator("h1").all_inner_texts()
    assert squeezed(title) == squeezed(f"Audit of {quoted(model)}")
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        assert violations(tab) == [], scheme
    assert (said, asked) == ([], [path.as_uri()])


def test_report_fits_a_phone_and_passes_its_content_policy(opened, draw):
    path = draw("Model-1", "html")
    tab, said, asked = opened(path, viewport={"width": 360, "height": 800})
    assert (said, asked) == ([], [path.as_uri()])
    assert tab.evaluate("document.documentElement.scrollWidth") == 360
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(253, 252, 249)"
    drawn = tab.evaluate(
        "[...document.querySelectorAll('svg')].map(e => e.getBoundingClientRect().height)"
    )
    assert len(drawn) >= 9
    assert min(drawn) > 15
