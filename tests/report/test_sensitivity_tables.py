"""Tables of sensitivity and flips: their content, and escaping of names."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from fairstats._lib.formatting import p_figure, point_range, points, quoted
from fairstats.benchmarks.declaration import MISSING_POLICIES, Benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.counts.answer_tables import flipping_items, flips_of
from fairstats.estimates.specifications import INTERVALS, TESTS, sensitivity_of
from fairstats.inference.verdict import EQUIVALENT, INCONCLUSIVE
from fairstats.release.contents import Release
from fairstats.report.changed_items import FLIPS_FILE, flip_table
from fairstats.report.page_output import drawing, typst_block
from fairstats.report.sensitivity import NOT_JUDGED, choice_table, nothing_missing, policy_table
from tests.make_answers import make_answers

from .conftest import HOSTILE, answers_of_models
from .reading import squeezed

DOLLARS = r"$\frac$ $x$ \ {"


class _Text(HTMLParser):
    """Return the cells of a table as text, and its tags."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.feed(re.sub(r"<style>.*?</style>", "", markup, flags=re.DOTALL))

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag == "br" and self.rows:
            self.rows[-1][-1] += " "

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.strip("\n")


def cells(table) -> list[list[str]]:
    return [[cell.strip() for cell in row] for row in _Text(table.as_raw_html()).rows]


def release_of(benchmarks: dict[str, Benchmark]) -> Release:
    """The part of a release that the tables use, without publishing one."""
    release = Release(Path("not-there"))
    release.__dict__["benchmarks"] = benchmarks
    release.__dict__["estimates"] = pd.DataFrame(columns=["benchmark", "strategy"])
    release.__dict__["manifest"] = {"arguments": {"alpha": 0.05}}
    return release


@pytest.fixture(scope="module")
def known() -> dict:
    return {"demo": load_benchmark("demo")}


@pytest.fixture(scope="module")
def answers() -> pd.DataFrame:
    return answers_of_models(("Model-1", *HOSTILE))


@pytest.fixture(scope="module")
def board(known) -> Release:
    return release_of(known)


@pytest.fixture(scope="module")
def sensitivity(answers, known) -> pd.DataFrame:
    return sensitivity_of(answers, None, 0.05, known)


@pytest.fixture(scope="module")
def flips(answers, known) -> pd.DataFrame:
    return flips_of(answers, known)


def of(rows: pd.DataFrame, model: str = "Model-1") -> pd.DataFrame:
    return rows[rows["model"] == model]


UNIT = "“Model-1” (Demonstration items, 24 demonstration vignettes)"

# Policies


def test_each_policy_of_each_pair_is_in_its_column(sensitivity, board):
    rows = of(sensitivity)
    found = cells(policy_table(rows, board, name="t"))
    head, unit, *body = found
    assert [cell.split()[0] for cell in head] == ["Pair", *MISSING_POLICIES]
    assert unit == [UNIT]
    assert [row[0] for row in body] == [
        "Race: White − Black",
        "Sex: Male − Female",
        "Income: High income − Low income",
        "Baseline: Original − Neutralized",
        "All attributes: privileged − unprivileged",
    ]
    policies = rows[rows["aspect"] == "missing"]
    for row, (_, figures) in zip(body, policies.groupby("attribute", sort=False), strict=True):
        for cell, own in zip(row[1:], figures.itertuples(), strict=True):
            estimate, limits = points(own.estimate), point_range(own.ci_low, own.ci_high)
            if own.choice == "bounds":
                exact = own.ci_low == own.ci_high
                estimate, limits = (estimate, "no range") if exact else ("range", limits)
            assert cell.removeprefix(own.choice).startswith(f"{estimate} {limits}")


def test_published_verdict_and_changed_ones_are_named(sensitivity, board):
    rows = of(sensitivity).copy()
    chosen = (rows["attribute"] == "race") & (rows["aspect"] == "missing")
    rows.loc[chosen & rows["published"], "verdict"] = INCONCLUSIVE
    rows.loc[chosen & (rows["choice"] == "complete"), "verdict"] = EQUIVALENT
    rows.loc[chosen & (rows["choice"] == "incorrect"), "verdict"] = None
    race = cells(policy_table(rows, board, name="t"))[2]
    assert race[1].endswith(f"published: ○ {INCONCLUSIVE}")
    assert race[2].endswith(f"changes to ● {EQUIVALENT}")
    assert race[3].endswith(f"changes to {NOT_JUDGED}")
    # Under bounds there is no verdict, whatever was published; the baseline has none.
    assert "changes" not in race[4]
    baseline = cells(policy_table(rows, board, name="t"))[5]
    assert not any("published" in cell or "changes" in cell for cell in baseline)


def test_unknown_values_are_named(answers_of, known, board):
    rows = sensitivity_of(answers_of(["A-"] * 3), None, 0.05, known)
    (race,) = [row for row in cells(policy_table(rows, board, name="t")) if "Race" in row[0]]
    assert race[1].startswith("availablenot known −100.0 to +100.0")
    assert race[3].startswith("incorrect+100.0")
    assert race[4].startswith("boundsrange 0.0 to +100.0")


def test_no_range_is_stated_if_no_answer_is_missing(answers_of, known, board, sensitivity):
    rows = sensitivity_of(answers_of(["AB/AA"] * 5 + ["AA/AA"] * 20), None, 0.05, known)
    assert nothing_missing(rows)
    assert not nothing_missing(of(sensitivity))
    found = cells(policy_table(rows, board, name="t"))
    assert {row[4].removeprefix("bounds") for row in found[2:]} == {
        "+20.0 no range",
        "0.0 no range",
    }


# Intervals and tests


@pytest.mark.parametrize(("aspect", "methods"), [("interval", INTERVALS), ("test", TESTS)])
def test_the_audit_has_every_interval_and_test_with_its_figures(
    sensitivity, board, aspect, methods
):
    rows = of(sensitivity)
    found = cells(choice_table(rows, board, aspect, name="t"))
    assert found[1][0] == UNIT
    body = [row for row in found[1:] if len(row) > 1]
    shown = rows[rows["aspect"] == aspect]
    pairs = list(shown.groupby(["attribute", "group_a", "group_b"], sort=False))
    assert len(body) == len(pairs) == 5
    for row, (_, own) in zip(body, pairs, strict=True):
        given = dict(zip(("published", *methods), row[1:], strict=True))
        for choice in own.itertuples():
            if aspect == "interval":
                figure = point_range(choice.ci_low, choice.ci_high)
            else:
                p = choice.p_value if math.isnan(choice.p_adjusted) else choice.p_adjusted
                figure = p_figure(p)
            column = choice.choice if choice.choice in methods else "published"
            assert given[column].startswith(figure)
            if choice.published:
                assert given["published"].startswith(figure)
        for method in set(methods) - set(own["choice"]):
            assert given[method] == ""


def test_a_method_that_no_pair_has_is_no_column(sensitivity, board):
    """Clustered answers, such as several samples of an item, have the published interval only."""
    rows = of(sensitivity)
    clustered = rows[rows["published"].astype(bool) | rows["choice"].isin(["exact"])]
    heads = [
        cells(choice_table(clustered, board, one, name="t"))[0] for one in ("interval", "test")
    ]
    assert not {"Wald", "BCa bootstrap", "χ²"} & set(heads[0] + heads[1])
    assert "Exact" in heads[1]


def test_changed_verdict_is_in_the_cell(sensitivity, board):
    rows = of(sensitivity).copy()
    chosen = (rows["aspect"] == "interval") & (rows["choice"] == "wald")
    rows.loc[chosen & (rows["attribute"] == "race"), "verdict"] = "equivalent"
    found = cells(choice_table(rows, board, "interval", name="t"))
    race = next(row for row in found if row[0].startswith("Race"))
    assert race[-2].endswith("● equivalent")
    assert not any("equivalent" in cell for cell in (*race[:-2], race[-1]))


def test_small_p_next_to_an_open_verdict_has_its_reason(known, board):
    """The exact test rejects for the given answers, but not for all completions; mid-p does."""
    rows = []
    for place, (item, key) in enumerate(known["demo"].answer_keys.items()):
        wrong = "B" if key == "A" else "A"
        white, black = None if place == 0 else key, wrong if 1 <= place <= 7 else key
        rows += [(item, "white", key, white), (item, "black", key, black)]
    answers = pd.DataFrame(rows, columns=["item_id", "group", "answer_key", "answer"]).assign(
        benchmark="demo", benchmark_version="1", model="m", strategy="plain", attribute="race"
    )
    table = sensitivity_of(answers.assign(sample=0), None, 0.05, known)
    exact = table[(table["aspect"] == "test") & (table["choice"] == "exact")].squeeze()
    assert exact["verdict"] == INCONCLUSIVE
    assert exact["p_adjusted"] <= 0.05
    found = cells(choice_table(table, board, "test", name="t"))
    _, midp, shown, *_ = found[-1][1:]
    assert midp == p_figure(exact["p_adjusted"] / 2)
    assert shown.endswith("○ inconclusive missing answers could change it")


# Flips


def test_the_items_that_flip_most_are_listed_with_their_letters(flips, board):
    rows = of(flips)
    found = cells(flip_table(rows, board, name="t", limit=5))
    head, unit, *body = found
    assert head == [
        "Item", "Key", "Race White / Black", "Sex Male / Female", "Income High income / Low income"
    ]  # fmt: skip
    items = flipping_items(rows)
    assert len(items) > 5
    assert f"the 5 of {len(items)} items" in unit[0]
    assert FLIPS_FILE in unit[0]
    assert [row[0] for row in body] == items["item_id"].head(5).tolist()
    pairs = ["race", "sex", "ses"]
    for row in body:
        own = rows[rows["item_id"] == row[0]].set_index("attribute")
        assert row[1] == own["answer_key"].iloc[0]
        for attribute, cell in zip(pairs, row[2:], strict=True):
            if attribute in own.index:
                flip = own.loc[attribute]
                assert cell == f"{flip['answer_a']} / {flip['answer_b']}"
            else:
                assert cell == ""


def test_key_is_highlighted_in_a_cell(answers_of, known, board):
    table = flip_table(flips_of(answers_of(["AB"]), known), board, name="t")
    assert "<strong>A</strong> / B" in table.as_raw_html()


def test_all_items_are_listed_if_there_are_few(answers_of, known, board):
    rows = flips_of(answers_of(["AB", "BC", "AA"]), known)
    found = cells(flip_table(rows, board, name="t"))
    assert "all 2 items that flip" in found[1][0]
    assert FLIPS_FILE in found[1][0]
    assert len(found) == 4


def test_samples_of_an_item_have_a_row_each(answers_of, known, board):
    both = pd.concat([answers_of(["AB"]), answers_of(["AC"]).assign(sample=1)])
    found = cells(flip_table(flips_of(both, known), board, name="t"))
    assert [row[:3] for row in found[2:]] == [
        ["item-0, sample 0", "A", "A / B"],
        ["item-0, sample 1", "A", "A / C"],
    ]


def test_crossed_groups_of_an_item_are_all_listed(crossed_demo):
    variants = [variant for variant in crossed_demo.variants if variant[0] == "race_sex"]
    answers = make_answers(["ABCA"], of=crossed_demo, variants=variants)
    flips = flips_of(answers, {"crossed": crossed_demo})
    table = flip_table(flips, release_of({"crossed": crossed_demo}), name="t").as_raw_html()
    plain = re.sub("</?strong>", "", table)
    # White men, white women, black men and black women, in turn.
    assert "Male: A / C<br>Female: B / A" in plain
    assert "White: A / B<br>Black: C / A" in plain
    race = crossed_demo.attributes["race"]
    many = replace(race, pairs=race.pairs * 5)
    own = replace(crossed_demo, attributes=dict(crossed_demo.attributes) | {"race": many})
    (*_, row) = cells(flip_table(flips, release_of({"crossed": own}), name="t"))
    assert "A: White male, Black female" in row[2]


def test_line_of_a_crossed_pair_is_named_by_the_other_attribute(crossed_demo):
    """Race and sex can have groups of one name with different labels."""
    sex = crossed_demo.attributes["sex"]
    same = replace(sex, groups={"male": "Male", "white": "Other sex"}, pairs=(("male", "white"),))
    both = crossed_demo.attributes["race_sex"]
    levels = {g: (a, "white" if b == "female" else b) for g, (a, b) in both.levels.items()}
    changed = {"sex": same, "race_sex": replace(both, levels=levels)}
    of = replace(crossed_demo, attributes=dict(crossed_demo.attributes) | changed)
    variants = [variant for variant in of.variants if variant[0] == "race_sex"]
    flips = flips_of(make_answers(["ABCA"], of=of, variants=variants), {"crossed": of})
    table = flip_table(flips, release_of({"crossed": of}), name="t").as_raw_html()
    plain = re.sub("</?strong>", "", table)
    assert "Male: A / C<br>Other sex: B / A" in plain
    assert "White: A / B<br>Black: C / A" in plain


def test_without_a_flip_or_a_choice_the_tables_are_empty(answers_of, known, board):
    answers = answers_of(["AA"])
    assert len(cells(flip_table(flips_of(answers, known), board, name="t"))) == 1
    rows = sensitivity_of(answers, "bounds", 0.05, known)
    assert len(cells(choice_table(rows, board, "interval", name="t"))) == 1
    assert len(cells(policy_table(rows, board, name="t"))) == 1 + 1 + 1


# Names


@pytest.fixture(params=["policies", "choices", "flips"])
def table_of(request, sensitivity, flips, board):
    """Yield each table, with the worst names that an answer file may contain."""

    def build(model: str):
        if request.param == "policies":
            return policy_table(of(sensitivity, model), board, name="t")
        if request.param == "choices":
            return choice_table(of(sensitivity, model), board, "test", name="t")
        rows = of(flips, model)
        first = rows["item_id"] == flipping_items(rows)["item_id"].iloc[0]
        return flip_table(rows.assign(item_id=rows["item_id"].mask(first, model)), board, name="t")

    return build


@pytest.mark.parametrize("model", HOSTILE)
def test_names_are_text_in_html(model, table_of):
    parsed = _Text(table_of(model).as_raw_html())
    assert not parsed.tags & {"script", "img", "b", "a"}
    assert any(quoted(model) in cell for row in parsed.rows for cell in row)


def test_names_are_text_in_a_pdf(table_of, tmp_path):
    typst = pytest.importorskip("typst")
    pypdf = pytest.importorskip("pypdf", reason="pypdf reads the PDF's text")
    parts = []
    for model in HOSTILE:
        with drawing(tmp_path, "typst"):
            block = typst_block(table_of(model).as_raw_html())
        parts.append(block.removeprefix("````{=typst}\n").removesuffix("\n````"))
    source = tmp_path / "tables.typ"
    source.write_text("\n\n".join(parts), encoding="utf-8")
    typst.compile(str(source), output=str(tmp_path / "tables.pdf"))
    document = pypdf.PdfReader(tmp_path / "tables.pdf")
    text = re.sub(r"[\s\u200b\u2060]+", "", "".join(page.extract_text() for page in document.pages))
    for name in HOSTILE:
        # Typst's fonts have no emoji; the rest of such a name is shown.
        assert squeezed(quoted(name)).encode("ascii", "ignore") in text.encode("ascii", "ignore")


def test_labels_of_a_benchmark_are_text(answers_of, known):
    race = known["demo"].attributes["race"]
    bad = replace(race, label="<script>R", groups={"white": "<i>W", "black": "$B$"})
    attributes = dict(known["demo"].attributes) | {"race": bad}
    own = replace(known["demo"], name="own", attributes=attributes)
    hostile = release_of({"own": own})
    answers = answers_of(["AB", "A-", "AA"]).assign(benchmark="own")
    rows = sensitivity_of(answers, None, 0.05, {"own": own})
    tables = [
        policy_table(rows, hostile, name="t"),
        choice_table(rows, hostile, "interval", name="t"),
        flip_table(flips_of(answers, {"own": own}), hostile, name="t"),
    ]
    for table in tables:
        parsed = _Text(table.as_raw_html())
        assert not parsed.tags & {"script", "i"}
        assert any("<i>W" in cell for row in parsed.rows for cell in row)
