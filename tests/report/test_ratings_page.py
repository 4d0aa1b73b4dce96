"""The ratings page: its figures are those of the release's tables, and names are escaped."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace

import pandas as pd
import pytest
from pypdf import PdfReader
from typer.testing import CliRunner

from fairstats._lib.formatting import escape_markdown, percent, percent_range, point_range, points
from fairstats._lib.problems import InputError
from fairstats._lib.safe_names import file_sha256
from fairstats.benchmarks.declaration import POOLED
from fairstats.cli import app
from fairstats.ratings.files import write_ratings
from fairstats.ratings.rates import bias_rates
from fairstats.ratings.rubrics import load_rubric
from fairstats.ratings.summaries import RATING_TABLES
from fairstats.ratings.table import check_ratings
from fairstats.report.audit import sections as audit_sections
from fairstats.report.audit.document import AuditReport
from fairstats.report.ratings.figures import (
    agreement_table,
    in_words,
    preference_table,
    rates_table,
)
from fairstats.report.ratings.page import (
    RatedTexts,
    bias_reported,
    report_ratings,
    show_figures,
    show_ratings,
    who_judged,
)
from tests.drawn_ratings import drawn_ratings, fewer

from .conftest import HOSTILE, answers_of_models
from .reading import region_names, shown
from .undrawn import contents, undrawn

MODEL = HOSTILE[0]


@pytest.fixture(scope="module")
def ratings():
    """All names from outside are hostile."""
    drawn = drawn_ratings(
        models=(MODEL, HOSTILE[1], HOSTILE[6]), datasets=(HOSTILE[2], HOSTILE[4]), rater="<i>"
    )
    # Two comparisons of three models are enough.
    return drawn[drawn["model"] == MODEL]


@pytest.fixture(scope="module")
def release(ratings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rated")
    path = write_ratings(ratings, folder / "r.ratings.parquet")
    return undrawn(answers_of_models((MODEL,)), folder, ratings=path, every=True)


@pytest.fixture(scope="module")
def page(release):
    return shown(show_ratings, release)


def rows_of(markup: str) -> list[str]:
    return re.findall(r"<tr.*?</tr>", markup, flags=re.DOTALL)


def row_with(markup: str, *texts: str) -> str:
    found = [row for row in rows_of(markup) if all(text in row for text in texts)]
    assert found, texts
    return found[0]


def test_ratings_page_needs_ratings(release, tmp_path):
    assert "Ratings" in contents(release)
    unrated = undrawn(answers_of_models(("Model-1",)), tmp_path, every=True)
    assert "Ratings" not in contents(unrated)
    assert shown(audit_sections.show_rated, unrated, "Model-1") == ""


def test_rubrics_are_ordered_by_what_they_compare(page):
    heads = re.findall(r"(?m)^## .*", page)
    assert [head.rsplit(", ", 1)[1] for head in heads] == [
        "independent assessment",
        "pairwise assessment",
        "counterfactual assessment",
    ]


def test_hostile_names_are_escaped(page, ratings):
    assert "<script>" not in page
    assert "<img" not in page
    assert "<i>" not in page
    assert HOSTILE[4] not in page
    assert "&amp;lt;" not in page  # escaped once
    assert set(ratings["dataset"]) == {HOSTILE[2], HOSTILE[4]}


def test_every_table_and_plot_has_a_different_name(page, release):
    for markup in (page, shown(audit_sections.show_rated, release, MODEL)):
        names = region_names(markup)
        assert len(names) > 10
        assert len(set(names)) == len(names)


def test_each_group_of_raters_is_named_once(page):
    assert re.search("72 by four physicians.*72 by three health.*24 by the model", page)


def test_one_rater_is_not_several(ratings):
    one = ratings[ratings["rater_group"] == "physician"].head(1)
    text = who_judged(one, load_rubric(one["rubric"].iloc[0]))
    assert text == "Judgements of 1 answer: 1 by one rater (physicians)."


@pytest.mark.parametrize(
    ("raters", "items", "reported", "others"),
    [
        (3, 4, {0, 4}, "answers and raters"),
        (1, 4, {0}, "answers"),
        (3, 4, set(), "answers"),
        (3, 1, {0}, "raters"),
    ],
)
def test_the_first_sentence_names_what_its_interval_is_for(raters, items, reported, others):
    rubric = load_rubric("independent")
    row = {"benchmark": "b", "rubric": "independent", "rater_group": "physician", "model": "M"}
    bias = {n: n in reported for n in range(raters * items)}
    rows = [
        row
        | {"task_id": f"t{n % items}", "item_id": f"i{n % items}", "rater_id": f"r{n // items}"}
        | {"dimension": name, "value": "absent" if name != "bias" else "minor" if yes else "none"}
        for n, yes in bias.items()
        for name in (rubric.dimensions if yes else ["bias"])
    ]
    for missing, said in ((False, True), (True, False)):
        ratings = check_ratings(pd.DataFrame(rows).assign(**{"value": None} if missing else {}))
        release = SimpleNamespace(table=lambda _, r=ratings: bias_rates(r), alpha=0.05)
        found = " ".join(bias_reported(RatedTexts(release, "b", rubric)))
        assert (f"(95% interval for other {others}: " in found) == said
        assert "nan" not in found


def test_direction_of_an_own_rubric_is_next_to_its_rate(tmp_path):
    """It may count the fair answers, or call the biased ones not biased."""
    built_in = load_rubric("independent")
    text = built_in.declaration.replace('"independent"', '"inverted"')
    text = text.replace('"Independent assessment"', '"Fairness"')
    text = text.replace('"No bias", reported = false', '"Fair", reported = true')
    text = text.replace('"Minor bias", reported = true', '"Minor bias", reported = false')
    (tmp_path / "inverted.toml").write_text(text, encoding="utf-8")
    rubric = load_rubric(tmp_path / "inverted.toml")
    unit = {"benchmark": "b", "rubric": "inverted", "rater_group": "physician", "model": "M"}
    texts = {"task_id": "t", "item_id": "i", "rater_id": "r", "dimension": "bias", "value": "none"}
    ratings = check_ratings(pd.DataFrame([unit | texts]), rubrics=[rubric])
    rates = bias_rates(ratings, rubrics=[rubric])
    release = SimpleNamespace(table=lambda _: rates, alpha=0.05)
    *_, last = bias_reported(RatedTexts(release, "b", rubric))
    assert last.startswith("Higher is worse, as declared in inverted.toml: reports are “Fair”")
    assert "or “Severe bias” for Any bias; “Yes” for " in last
    assert not built_in.direction
    write_ratings(ratings, tmp_path / "r.ratings.parquet", rubrics=[rubric])
    options = ["ratings", "rates", str(tmp_path), "--rubric-file", str(rubric.path)]
    shown = CliRunner().invoke(app, options)
    assert "inverted: higher is worse, as declared in inverted.toml" in shown.output


def test_own_rubric_of_comparisons_states_which_model_it_prefers(tmp_path, monkeypatch):
    """It may prefer the answer with more bias."""
    built_in = load_rubric("pairwise")
    text = built_in.declaration.replace('"pairwise"', '"turned"')
    text = text.replace('"Pairwise assessment"', '"Better answers"')
    text = text.replace("prefers = 2", "prefers = x").replace("prefers = 1", "prefers = 2")
    (tmp_path / "turned.toml").write_text(text.replace("= x", "= 1"), encoding="utf-8")
    rubric = load_rubric(tmp_path / "turned.toml")
    unit = {"benchmark": "b", "rubric": "turned", "rater_group": "physician", "model": "M"}
    unit |= {"model_2": "N", "task_id": "t", "item_id": "i", "rater_id": "r", "value": "answer_1"}
    rows = [unit | {"dimension": name} for name in rubric.dimensions]
    ratings = check_ratings(pd.DataFrame(rows), rubrics=[rubric])
    said = "referred, as declared in turned.toml: answer 1 if “Answer 1” or answer 2 if “Answer 2”"
    monkeypatch.setattr("fairstats.report.ratings.page._show_preferences", lambda rated: None)
    page = shown(show_figures, RatedTexts(SimpleNamespace(), "b", rubric))
    text = escape_markdown(f"P{said} for “Which answer contains more bias?”, Inaccuracy")
    assert text in page
    assert not built_in.direction
    write_ratings(ratings, tmp_path / "r.ratings.parquet", rubrics=[rubric])
    options = ["ratings", "preferences", str(tmp_path), "--rubric-file", str(rubric.path)]
    assert f"turned: p{said}" in CliRunner().invoke(app, options).output


def test_rates_are_those_of_the_table(release):
    rates = release.table("bias_rates")
    own = rates[(rates["rubric"] == "independent") & (rates["dataset"] == POOLED)]
    markup = rates_table(own, load_rubric("independent"), name="t").as_raw_html()
    row = row_with(markup, ">Any bias<")
    any_bias = own[own["dimension"] == "bias"]
    assert len(any_bias) == 3 * 4  # three aggregations; two groups, both, and the model
    for figures in any_bias.to_dict("records"):
        n = figures["n_ratings" if figures["aggregation"] == "pooled" else "n_tasks"]
        cell = (
            f"<strong>{100 * figures['estimate']:.1f}</strong> "
            f"<small>{figures['n_reported']} of {n}</small><br><small>"
            f"{percent_range(figures['crossed_low'], figures['crossed_high'])}<br>"
            f"({percent_range(figures['ci_low'], figures['ci_high'])})"
        )
        # Votes of all groups together mix numbers of raters.
        mixed = figures["rater_group"] == POOLED and figures["aggregation"] != "pooled"
        assert (cell in row) != mixed
    assert row.count("one rater") == 1
    assert re.findall(r">([^<>]+), %<", markup) == [
        "Physicians",
        "Health equity experts",
        "All raters",
        "“&lt;i&gt;judge” (a model)",
    ]


def test_agreement_is_that_of_the_table_with_words(release):
    agreement = release.table("rater_agreement")
    own = agreement[(agreement["rubric"] == "independent") & (agreement["dataset"] == POOLED)]
    own = own[own["rater_group"] == "physician"]
    markup = agreement_table(own, load_rubric("independent"), name="t").as_raw_html()
    row = row_with(markup, ">Any bias<")
    bias = own[(own["dimension"] == "bias") & (own["level"] == "nominal")]
    for figures in bias.to_dict("records"):
        said = f"{100 * figures['estimate']:.1f}"
        if figures["coefficient"] not in ("percent", "positive"):
            said = f"{abs(figures['estimate']):.3f}".removeprefix("0")
        assert f"{said}</strong>" in row, figures["coefficient"]


def test_unknown_limits_of_agreement_leave_no_empty_parentheses(release):
    agreement = release.table("rater_agreement")
    own = agreement[(agreement["rubric"] == "independent") & (agreement["dataset"] == POOLED)]
    own = own[own["rater_group"] == "physician"].assign(ci_low=math.nan, ci_high=math.nan)
    markup = agreement_table(own, load_rubric("independent"), name="t").as_raw_html()
    assert "()" not in markup
    low = own.loc[own["coefficient"] == "krippendorff", "crossed_low"].dropna().iloc[0]
    assert f"{abs(low):.3f}".removeprefix("0") in markup


@pytest.mark.parametrize(
    ("method", "note"),
    [
        ("t (one rater is in every pair: the variance between raters is unknown)", "in all pairs"),
        ("t (one rater: the variance between raters is unknown)", "one rater"),
        ("wilson over clusters (all pairs are the same)", "all the same"),
        ("none (undefined without one of the raters)", "depends on one"),
    ],
)
def test_note_below_limits_names_one_reason(release, method, note):
    agreement = release.table("rater_agreement").assign(crossed_method=method)
    own = agreement[(agreement["rubric"] == "independent") & (agreement["dataset"] == POOLED)]
    markup = agreement_table(own.head(1), load_rubric("independent"), name="t").as_raw_html()
    last = re.findall(r"<br>([^<]*)</small>", markup)[0]
    assert note in last
    assert "," not in last


def words(krippendorff, *, low=0.0, positive=None, crossed=float("nan")):
    rows = [("krippendorff", krippendorff, low, crossed)]
    if positive is not None:
        rows.append(("positive", positive, 0, crossed))
    columns = ["coefficient", "estimate", "ci_low", "crossed_low"]
    return in_words(pd.DataFrame(rows, columns=columns).set_index("coefficient"))


def test_words_go_by_the_convention(snapshot):
    nan = float("nan")
    limits = ((-0.1, -0.2), (0.66, 0.5), (0.667, 0.5), (0.8, 0.7), (nan, nan))
    found = {krippendorff: words(krippendorff, low=low) for krippendorff, low in limits}
    assert found | {"positive": words(0.9, positive=0.253)} == snapshot


def test_words_use_the_wider_interval():
    assert "by chance" in words(0.2, low=0.1, crossed=-0.05)
    assert "by chance" not in words(0.2, low=0.1)


def test_preferences_are_those_of_the_table(release):
    table = release.table("preferences")
    own = table[(table["dimension"] == "bias") & (table["rater_group"] == POOLED)]
    first = own.iloc[0]
    own = own[(own["model"] == first["model"]) & (own["model_2"] == first["model_2"])]
    markup = preference_table(own, load_rubric("pairwise"), name="t").as_raw_html()
    row = row_with(markup, ">Any bias<")
    figures = own.set_index("metric")
    for metric in ("preferred", "preferred_2", "indifferent"):
        assert f"<strong>{100 * figures.loc[metric, 'estimate']:.1f}</strong>" in row
    difference = figures.loc["preference_difference"]
    assert f"<strong>{points(difference['estimate'])}</strong>" in row
    assert point_range(difference["crossed_low"], difference["crossed_high"]) in row
    assert f"<strong>{points(figures.loc['position_difference', 'estimate'])}</strong>" in row


def test_the_audit_of_a_model_has_the_ratings_of_its_answers(release):
    text = shown(audit_sections.show_rated, release, MODEL)
    assert text.startswith("# What raters report")
    assert "<script>" not in text
    assert "168 judgements on 24 answers" in text
    assert "rubric independent\\, version 1" in text
    # It is on the first page, and the report names its source.
    estimate = release.table("bias_rates").query(
        "model == @MODEL and dataset == 'pooled' and dimension == 'bias' and "
        "aggregation == 'pooled' and rater_group == 'pooled'"
    )["estimate"]
    (share,) = estimate
    said = f"People report bias in {percent(share)} of 144 ratings"
    report = AuditReport(release, MODEL)
    assert escape_markdown(said) in shown(audit_sections.show_first_page, report)
    assert "Reports show the judgement of" in shown(audit_sections.show_limitations, report)
    assert "two\\-way clusters" in shown(audit_sections.show_methods, report)
    sha256 = file_sha256(release.table_path("ratings"))
    provenance = shown(audit_sections.show_provenance, report)
    assert sha256 in provenance
    assert "rubric independent" in provenance
    assert text.count("<table") > 4


def test_ratings_without_a_value_are_stated(ratings, tmp_path):
    """A judge's reply that cannot be read must not look like no bias."""
    own = ratings[ratings["rubric"].eq("independent") & ratings["model"].eq(MODEL)]
    own = own.assign(value=own["value"].mask(own["task_id"].eq(own["task_id"].iloc[0])))
    path = write_ratings(own, tmp_path / "r.ratings.parquet")
    release = undrawn(answers_of_models((MODEL,)), tmp_path / "out", ratings=path, every=True)
    page = shown(show_ratings, release)
    assert "Left out: 6 ratings without a value." in page.replace("\\", "")
    left_out = re.findall(r"<br>(\d) without a value<", row_with(page, ">Any bias<"))
    assert left_out == ["3", "3", "6", "1"]  # two groups of people, both, and the judge


@pytest.fixture(scope="module")
def documents(ratings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    few = fewer(ratings)
    parts = {"html": few, "pdf": few[few["rubric"] == "independent"]}
    return {
        kind: report_ratings(
            write_ratings(part, folder / f"{kind}.ratings.parquet"),
            to=kind,
            out=folder / f"r.{kind}",
            title="<b>Study</b>",
        )
        for kind, part in parts.items()
    }


def test_report_of_ratings_gets_the_suffix_of_its_format(ratings, tmp_path):
    own = ratings[ratings["rubric"] == "independent"]
    path = write_ratings(fewer(own), tmp_path / "own.ratings.parquet")
    done = CliRunner().invoke(
        app, ["ratings", "report", str(path), "--out", str(tmp_path / "v1.2")]
    )
    assert done.exit_code == 0, done.output
    assert (tmp_path / "v1.2.html").exists()
    with pytest.raises(InputError, match="is not a name for pdf"):
        report_ratings(path, to="pdf", out=tmp_path / "own.html")


def test_report_of_ratings_needs_no_other_file(documents, ratings):
    text = documents["html"].read_text(encoding="utf-8")
    assert "<title>&lt;b&gt;Study&lt;/b&gt;" in text
    assert "<script>alert" not in text
    assert not re.search(r'(?:src|href)="(?!data:|#)', text)
    rates = RATING_TABLES["bias_rates"].make(fewer(ratings), alpha=0.05, rubrics={})
    own = rates[(rates["rubric"] == "independent") & (rates["dimension"] == "bias")]
    assert len(own) == 3 * 2  # three aggregations; a group of people, and the model
    for estimate in own["estimate"]:
        assert f"<strong>{100 * estimate:.1f}</strong>" in text
    pdf = PdfReader(documents["pdf"])
    said = " ".join(page.extract_text() for page in pdf.pages)
    assert "Agreement between raters" in said
    assert "<b>Study</b>" in said
    for estimate in own["estimate"]:
        assert f"{100 * estimate:.1f}" in said


def test_a_study_with_many_panels_is_cut_into_plots_below_a_page(release, page):
    heights = [float(h) for h in re.findall(r'<svg[^>]* height="([\d.]+)pt"', page)]
    assert heights
    assert max(heights) <= 8.5 * 72 + 1
