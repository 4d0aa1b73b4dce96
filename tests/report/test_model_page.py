"""The page of one model over releases: its content, and omitted parts."""

from __future__ import annotations

import html as html_text
import re
import shutil
from collections.abc import Callable
from functools import cache

import pandas as pd
import pytest

from fairstats._lib.formatting import percent_range, point_range, points, quoted
from fairstats.benchmarks.loading import load_benchmark
from fairstats.release.contents import Release
from fairstats.report.about.releases import show_releases
from fairstats.report.answer_sets import answer_sets
from fairstats.report.board.charts import measures_of
from fairstats.report.board.figures import BoardFigures
from fairstats.report.model.page import (
    ITEMS_SHOWN,
    figures_caption,
    history_charts,
    history_of,
    show_model,
)
from tests.make_answers import make_answers

from .changes import METRICS, words_of
from .conftest import HOSTILE, answers_of_models
from .reading import Markup, figures, squeezed
from .undrawn import undrawn, whole

QUESTIONS = [
    "1. Who loses accuracy?",
    "2. Could the accuracy gap be chance?",
    "3. Is the gap big enough to matter?",
]
TABLES = ["All figures", "Would other choices change the verdict?", "Which items change?"]
PAIRS = {
    "Race": ("race", "white", "black"),
    "Sex": ("sex", "male", "female"),
    "Income": ("ses", "high_income", "low_income"),
}


@pytest.fixture(scope="module")
def page(drawn) -> Callable[..., str]:
    """Draw the page of a model once."""
    return cache(lambda release, model="One": drawn(show_model, release, release.slugs[model]))


def headings(html: str) -> list[str]:
    return re.findall(r"<h[23][^>]*>([^<]*)</h[23]>", html)


def question(html: str, title: str) -> str:
    """A question with its answers and charts."""
    start = html.index(title)
    return html[start : html.index("<h2", start)]


def of_set(html: str, key: str = "s0") -> str:
    """Return the content of a question for one answer set."""
    start = html.index(f'<div data-set="{key}">')
    end = html.find("<div data-set=", start + 1)
    return html[start : end if end > 0 else None]


def answer(html: str, title: str, key: str = "s0") -> tuple[str, str]:
    """The short answer to a question, and the sentences after it."""
    part = question(html, title)
    if "data-set" in part:
        part = of_set(part, key)
    found = re.search(r'<p class="answer">.*?<b>(.*?)\.</b> (.*?)</p>', part, flags=re.DOTALL)
    assert found is not None
    return html_text.unescape(found[1]), html_text.unescape(found[2]).replace("\u00a0", " ")


def words_of_chart(part: str) -> list[str]:
    """Return the texts of a chart's drawings for screen readers."""
    return [html_text.unescape(text) for text in re.findall(r'role="img" aria-label="(.*?)"', part)]


def facts(html: str) -> dict[str, str]:
    """The key figures."""
    box = html[html.index('<dl class="key-figures">') : html.index("</dl>")]
    entries = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", box, flags=re.DOTALL)
    return {
        name: html_text.unescape(re.sub(r"<[^>]*>", "", text.replace("<br>", "\n"))).strip()
        for name, text in entries
    }


def estimates_of(release: Release, model: str, strategy: str = "plain") -> pd.DataFrame:
    rows = release.estimates
    return rows[(rows["model"] == model) & (rows["strategy"] == strategy)]


def other_answers(answers: pd.DataFrame, model: str = "One") -> pd.DataFrame:
    """Return the same answers, but with one model right in every item of one group."""
    changed = (answers["model"] == model) & (answers["group"] == "black")
    return answers.assign(
        answer=answers["answer"].mask(changed, answers["answer_key"]),
        status=answers["status"].mask(changed, "ok"),
    )


@pytest.fixture(scope="module")
def releases(tmp_path_factory) -> list[Release]:
    """Make five releases of one site, each with a different reason for changed figures."""
    folder = tmp_path_factory.mktemp("site")
    first = answers_of_models(("One", "Two"))
    second = other_answers(pd.concat([first[first["model"] == "One"], answers_of_models(("New",))]))
    third = pd.concat([second, first[first["model"] == "Two"]])
    return [
        undrawn(first, folder, release="1"),
        undrawn(second, folder, release="2"),
        undrawn(third, folder, release="3"),
        undrawn(third, folder, release="4", missing="complete"),
        undrawn(third, folder, release="5", missing="complete"),
    ]


OLD, NEW = "Claude-3.7-Sonnet", "Claude-4-Sonnet"
VERSIONS, PROMPTS = f"4. Is it better than “{OLD}”?", "5. Does another prompt close the gap?"


@pytest.fixture(scope="module")
def full(tmp_path_factory) -> Release:
    """Return answers of a model with a previous version and a second prompt with hostile text."""
    answers = whole(answers_of_models((OLD, NEW)))
    # The newer version is better; with the other prompt it is right for one group only.
    better = (answers["model"] == NEW) & (answers["group"] != "black")
    answers["answer"] = answers["answer"].mask(better, answers["answer_key"])
    asked = answers[answers["model"] == NEW].assign(strategy=HOSTILE[1])
    asked["answer"] = asked["answer"].mask(asked["group"] == "black", asked["answer_key"])
    folder = tmp_path_factory.mktemp("full")
    return undrawn(pd.concat([answers, asked]), folder, successors={NEW: OLD})


# The questions


def test_all_questions_are_numbered_in_order(full, page):
    html = page(full, NEW)
    assert headings(html) == [*QUESTIONS, VERSIONS, PROMPTS, *TABLES]


def test_prompt_is_named_only_if_another_one_was_declared(full, releases):
    named, unnamed = (
        answer_sets(release, model)[0] for release, model in ((full, NEW), (releases[0], "One"))
    )
    for label in ("label", "full_label"):
        assert getattr(named, label).endswith("plain")
        assert "plain" not in getattr(unnamed, label)


def test_questions_without_data_are_left_out(full, releases, page):
    # The older version has no predecessor and one prompt.
    assert headings(page(full, OLD)) == [*QUESTIONS, *TABLES]
    since = "4. What changed since release 1?"
    assert headings(page(releases[1])) == [*QUESTIONS, since, *TABLES, "Over the releases"]


def test_question_on_neutral_text_is_about_the_groups_without_baseline(
    tmp_path, page, benchmark_file, all_right
):
    benchmark = load_benchmark(benchmark_file(baseline=""))
    answers = all_right(benchmark)
    made = undrawn(answers, tmp_path, benchmarks=[benchmark])
    html = page(made, "model")
    first, *rest = [title[3:] for title in headings(html)[:3]]
    assert first == "How accurate is it for each group?"
    assert rest == [title[3:] for title in QUESTIONS[1:]]
    assert facts(html)["Accuracy of the groups"] == "100.0%"
    # No answer changes.
    assert "Which items change?" not in headings(html)


def test_accuracy_chart_shows_the_release_figures(full, page):
    html = question(page(full, NEW), QUESTIONS[0])
    for key, strategy in (("s0", "plain"), ("s1", HOSTILE[1])):
        said = words_of_chart(of_set(html, key))
        assert len(said) == len(PAIRS)
        rows = estimates_of(full, NEW, strategy)
        neutral = figures(rows, attribute="baseline").loc["accuracy_b"]
        for text, (attribute, a, b) in zip(said, PAIRS.values(), strict=True):
            pair = figures(rows, attribute=attribute, group_a=a, group_b=b)
            for row in (pair.loc["accuracy_a"], pair.loc["accuracy_b"], neutral):
                limits = percent_range(row["ci_low"], row["ci_high"])
                assert f"{100 * row['estimate']:.1f}% ({limits})" in text


def test_discordant_chart_shows_the_release_counts(full, page):
    html = question(page(full, NEW), QUESTIONS[1])
    rows = estimates_of(full, NEW)
    labels = full.benchmarks["demo"].attributes
    said = words_of_chart(of_set(html))
    for text, (attribute, a, b) in zip(said, PAIRS.values(), strict=True):
        test = figures(rows, attribute=attribute, group_a=a, group_b=b).loc["mcnemar"]
        first, second = (labels[attribute].groups[group] for group in (a, b))
        assert re.findall(r"(\d+) [^,]*?for ([\w ]+) only", text) == [
            (str(test["n10"]), first),
            (str(test["n01"]), second),
        ]


def test_gap_chart_shows_the_figures_and_the_other_models(full, page):
    html = of_set(question(page(full, NEW), QUESTIONS[2]))
    for text, (attribute, a, b) in zip(words_of_chart(html), PAIRS.values(), strict=True):
        own, other = (
            figures(
                estimates_of(full, model),
                attribute=attribute,
                group_a=a,
                group_b=b,
            ).loc["accuracy_difference"]
            for model in (NEW, OLD)
        )
        assert points(own["estimate"]) in text
        assert point_range(own["ci_low"], own["ci_high"]) in text
        assert f"other models {' to '.join([points(other['estimate'])] * 2)}" in text
    # One hollow dot per pair, for the only other model of the board.
    assert html.count('fill="none"') == len(PAIRS)


def test_control_chooses_the_answer_set_without_a_script(full, page):
    html = page(full, NEW)
    assert re.findall(r'<input type="radio" name="model-0-set" value="(\w+)"', html) == ["s0", "s1"]
    for key in ("s0", "s1"):
        assert (
            f'#model-0:has(input[name="model-0-set"][value="{key}"]:checked) '
            f'[data-set]:not([data-set~="{key}"]){{display:none}}'
        ) in html
        # The three charts, the table of all figures, choices and items.
        assert html.count(f'data-set="{key}"') == 6
    assert "<script" not in html
    assert "data-set" not in question(html, VERSIONS)
    # One set needs no control.
    assert "radio" not in page(full, OLD)


def test_hostile_prompt_is_escaped(full, page):
    html = page(full, NEW)
    assert HOSTILE[1] not in html
    assert html_text.escape(quoted(HOSTILE[1])) in html


def test_table_has_all_figures_of_the_set(full, page):
    html = page(full, NEW)
    part = html[html.index("All figures</h2>") : html.index("Would other choices")]
    for key, strategy in (("s0", "plain"), ("s1", HOSTILE[1])):
        words = Markup(of_set(part, key)).words
        rows = estimates_of(full, NEW, strategy)
        pairs = [*PAIRS.values(), ("pooled", "first", "second")]
        for attribute, a, b in pairs:
            own = figures(rows, attribute=attribute, group_a=a, group_b=b)
            gap = own.loc["accuracy_difference"]
            ends = (gap["ci_low"], gap["ci_high"])
            assert squeezed(f"{points(gap['estimate'])}({point_range(*ends)})") in words
            text = ""
            for metric in ("accuracy_a", "accuracy_b", "cfr"):
                row = own.loc[metric]
                ends = (row["ci_low"], row["ci_high"])
                text += f"{100 * row['estimate']:.1f}({percent_range(*ends)})"
            assert squeezed(text) in words
            test = own.loc["mcnemar"]
            p = test["p_adjusted"]
            shown = "<0.001" if p < 0.001 else "1" if p == 1 else f"{p:.3f}"
            assert squeezed(f"{test['n10']} : {test['n01']}{shown}") in words


def test_p_value_is_never_zero(full, page):
    for model in (OLD, NEW):
        text = Markup(page(full, model)).words
        assert not re.search(r"p[=≤]0(?!\.)|p[=≤]0\.000", text)


# The head


def test_key_figures_are_those_of_the_release(full, page):
    shown = facts(page(full, NEW))
    rows = estimates_of(full, NEW)
    pooled = figures(rows, attribute="pooled")
    gap, cfr = pooled.loc["accuracy_difference"], pooled.loc["cfr"]
    original = figures(rows, attribute="baseline").loc["accuracy_a"]
    assert shown["Mean accuracy gap"].startswith(
        f"{points(gap['estimate'])} points 95% CI {point_range(gap['ci_low'], gap['ci_high'])}, "
    )
    for name, row in (("Same answer (CFR)", cfr), ("Accuracy, original text", original)):
        limits = percent_range(row["ci_low"], row["ci_high"])
        assert shown[name] == f"{100 * row['estimate']:.1f}% 95% CI {limits}"
    (rank,) = full.ranks.query("model == @NEW and strategy == 'plain'").to_dict("records")
    ordinals = {1: "1st", 2: "2nd"}
    low, high = ordinals[rank["rank_low"]], ordinals[rank["rank_high"]]
    could = low if low == high else f"{low} or {high}"
    assert shown["Rank (smallest mean gap)"].startswith(f"{ordinals[rank['rank']]} of 2 ")
    assert shown["Rank (smallest mean gap)"].endswith(f": {could}")
    tested = shown["Tested"]
    assert "384 answers (" in tested
    assert "none missing" in tested
    assert f"{NEW}-1" in tested
    assert f"fairstats report {full.slugs[NEW]} --release site/v/2026.11" in tested


def test_warning_is_above_the_first_figure(full, page):
    html = page(full, NEW)
    note = full.benchmarks["demo"].read_first
    assert squeezed(note) in Markup(html[: html.index('class="questions"')]).words


@pytest.fixture(scope="module")
def swayed(tmp_path_factory, demo) -> Release:
    """Publish a model that is wrong for one group, on a slanted benchmark and on another one."""
    folder = tmp_path_factory.mktemp("swayed")
    shutil.copy(demo.keys_file, folder)
    tables, benchmarks = [], []
    for name, slant in (("slanted", "\nslanted = true"), ("fair", "")):
        text = demo.path.read_text(encoding="utf-8").replace('name = "demo"', f'name = "{name}"')
        text = text.replace("publish_items = true", f"publish_items = true{slant}")
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
        benchmarks.append(load_benchmark(folder / f"{name}.toml"))
        answers = whole(answers_of_models((name,))).assign(benchmark=name)
        wrong = answers["answer_key"].map({"A": "B", "B": "C", "C": "D", "D": "A"})
        answers["answer"] = answers["answer_key"].where(answers["group"] != "black", wrong)
        tables.append(answers)
    return undrawn(pd.concat(tables), folder, benchmarks=benchmarks)


@pytest.mark.parametrize(("model", "slanted"), [("slanted", True), ("fair", False)])
def test_finding_about_a_slanted_benchmark_is_about_being_swayed(swayed, page, model, slanted):
    html = page(swayed, model)
    finding = Markup(html[html.index('class="headline"') : html.index('class="note"')]).words
    assert ("sway" in finding) == slanted
    assert ("lessaccurateforBlackthanforWhite" in finding) == (not slanted)
    assert answer(html, QUESTIONS[0])[0] == ("Text for Black" if slanted else "Black")


def test_model_that_selected_the_items_is_not_judged(tmp_path, page, demo):
    text = demo.path.read_text(encoding="utf-8").replace('name = "demo"', 'name = "mine"')
    text += '\n[selected_on]\nOne = "it chose them"\n'
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    shutil.copy(demo.keys_file, tmp_path)
    answers = whole(answers_of_models(("One", "Two"))).assign(benchmark="mine")
    made = undrawn(answers, tmp_path, benchmarks=[load_benchmark(tmp_path / "mine.toml")])
    html = page(made)
    for title in QUESTIONS:
        short, text = answer(html, title)
        assert short == "Cannot be judged"
        assert "took part" in text
    assert "itchosethem" in Markup(html).words
    # The model's figures are not included in those of the other models.
    assert "the other models" not in " ".join(
        words_of_chart(question(page(made, "Two"), QUESTIONS[2]))
    )


# Versions and prompts


@pytest.mark.parametrize(("kind", "title"), [("version", VERSIONS), ("strategy", PROMPTS)])
def test_charts_show_the_comparisons(full, page, kind, title):
    rows = full.comparisons[full.comparisons["kind"] == kind]
    assert len(rows) == 9
    key = ["attribute", "group_a", "group_b"]
    expected = [
        words_of(row)
        for pair in PAIRS.values()
        for metric in METRICS
        for row in rows[(rows[["metric", *key]] == [metric, *pair]).all(axis=1)].to_dict("records")
    ]
    assert words_of_chart(question(page(full, NEW), title)) == expected


# Unknown values


@pytest.fixture(scope="module")
def cases(tmp_path_factory) -> Release:
    """Models that are complete, miss answers with one strategy, have no answers, or are not
    plain."""
    some = answers_of_models(("Some",))
    everything = whole(answers_of_models(("Whole",)))
    nothing = everything.assign(model="Nothing", answer=None, status="unparsed")
    tables = [
        everything,
        whole(some),
        some.assign(strategy="cot"),
        nothing,
        answers_of_models(("Other",)).assign(strategy="aware"),
    ]
    answers = pd.concat(tables, ignore_index=True).astype({"answer": "str"})
    return undrawn(answers, tmp_path_factory.mktemp("cases"))


def test_missing_policies_shown_only_if_answers_missing(cases, page):
    html = page(cases, "Whole")
    assert "under the four policies" not in html
    assert "no answer is missing" in html
    html = page(cases, "Some")
    # It is shown with the prompt that has missing answers.
    assert 'id="model-0-policies-0"' not in html
    before = html[: html.index('id="model-0-policies-1"')]
    assert before.rindex('<div data-set="s1">') > before.rindex('data-set="s0"')


def test_mean_over_the_pairs_with_both_answers_says_so(cases, page):
    """The mean size, by which models are ranked, is that of each group's own answers."""
    for model, limited in (("Whole", False), ("Other", True)):
        gap = facts(page(cases, model))["Mean accuracy gap"]
        assert ("over the pairs with both answers" in gap) == limited
    (board,) = (board for board in cases.boards if board.strategy == "aware")
    note = measures_of(BoardFigures(board, cases))["gap"].note
    assert "Signed mean: all pairs with both answers counted together" in note
    assert "the signed mean need not be their mean" in note
    caption = figures_caption(answer_sets(cases, "Other")[0], cases)
    assert "Average: the difference is over the pairs with both answers" in caption


def test_margins_are_those_of_the_release(cases, page):
    html = page(cases, "Whole")
    table = html[html.index("only with a margin at least this wide") :].partition("<thead")[2]
    words = Markup(table[: table.index("</table>")]).words
    rows = cases.table("sensitivity").query(
        "model == 'Whole' and choice == 'smallest' and attribute in ['race', 'sex', 'ses']"
    )
    shown = "".join(f"±{points(value, signed=False)}" for value in rows["estimate"])
    assert re.findall(r"±[\d.]+", words) == re.findall(r"±[\d.]+", shown)
    assert "margin at least" not in page(cases, "Nothing")


def test_page_of_a_model_without_answers(cases, page):
    html = page(cases, "Nothing")
    text = re.sub(r"<(svg|style).*?</\1>", "", html, flags=re.DOTALL)
    assert headings(html) == [*QUESTIONS, *TABLES[:2]]
    for title in QUESTIONS:
        assert answer(html, title)[0] == "Cannot be judged"
    assert not re.findall(r"\b(nan|NaN|None|inf)\b|<NA>", re.sub(r"<[^>]*>", " ", text))
    assert not re.findall(r"\b(nan|NaN|None|inf)\b", " ".join(words_of_chart(html)))
    assert facts(html)["Mean accuracy gap"] == "not known no answers"
    assert "192 missing" in facts(html)["Tested"]


@pytest.fixture(scope="module")
def ranges(tmp_path_factory) -> Release:
    answers = pd.concat([whole(answers_of_models(("Whole",))), answers_of_models(("Some",))])
    return undrawn(answers, tmp_path_factory.mktemp("ranges"), missing="bounds")


@pytest.mark.parametrize(("model", "complete"), [("Whole", True), ("Some", False)])
def test_bounds_show_no_verdicts_and_no_intervals(ranges, page, model, complete):
    html = page(ranges, model)
    for title in QUESTIONS:
        assert answer(html, title)[0] == "Cannot be judged"
    assert "95% interval" not in html
    assert "95% CI" not in html
    rows = estimates_of(ranges, model)
    gap = figures(rows, attribute="pooled").loc["accuracy_difference"]
    shown = points(gap["estimate"]) if complete else point_range(gap["ci_low"], gap["ci_high"])
    assert facts(html)["Mean accuracy gap"].startswith(f"{shown} points ")


def test_model_that_was_never_asked_plainly_has_a_page(cases, page):
    html = page(cases, "Other")
    assert headings(html) == [*QUESTIONS, *TABLES]
    assert "(bias warning prompt)" in facts(html)["Tested"]


def test_plain_answers_are_shown_first(cases, page):
    html = page(cases, "Some")
    labels = re.findall(r'<input type="radio".*?<span>(.*?)</span>', html)
    assert labels == ["Plain", "Reasoning first"]
    assert "vignettes, plain" in facts(html)["Tested"]


def test_the_first_changing_items_are_listed_and_all_are_a_link_away(
    benchmark_file, tmp_path, page
):
    keys = "item_id,answer_key\n" + "".join(f"i{n},A\n" for n in range(60))
    benchmark = load_benchmark(benchmark_file(keys=keys))
    right = make_answers(1, of=benchmark, models=["One"])
    changed = right["group"].eq("black") & right["item_id"].isin([f"i{n}" for n in range(50)])
    answers = right.assign(answer=right["answer"].mask(changed, "B"))
    made = undrawn(answers, tmp_path, benchmarks=[benchmark])
    html = page(made)
    part = html[html.index("Which items change?") :]
    assert "50 of 60 items" in part
    table = part[: part.index("</table>")]
    assert len(re.findall(r'<th[^>]*scope="row"', table)) == ITEMS_SHOWN
    assert 'href="../../downloads/flips.parquet"' in part
    assert made.table("flips")["item_id"].nunique() == 50


def test_page_has_no_words_of_another_benchmark(benchmark_file, tmp_path, page):
    """Attribute, groups and terms come from the benchmark's file."""
    keys = "item_id,answer_key\n" + "".join(f"i{n},{'ABC'[n % 3]}\n" for n in range(30))
    groups = 'groups = { white = "Tall", black = "Small" }\npairs = [["white", "black"]]'
    file = benchmark_file(keys=keys, race=f'[attributes.race]\nlabel = "Height"\n{groups}')
    benchmark = load_benchmark(file)
    right = make_answers(1, of=benchmark, models=["One"])
    right = right[right["attribute"] == "race"]
    answers = right.assign(answer=right["answer"].mask(right["group"] == "black", "A"))
    html = page(undrawn(answers, tmp_path, benchmarks=[benchmark]))
    text = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    assert not re.search(r"privileged|race|FairMedQA|patient|income", text, flags=re.IGNORECASE)
    assert "Accuracy, Tall, %" in text
    assert "less accurate for Small than for Tall" in text


# Over the releases


def test_board_counts_models_that_lose_more_than_they_gain(full):
    board = BoardFigures(full.boards[0], full)
    losing = 0
    for model in board.board.models:
        rows = estimates_of(full, model)
        neutral = figures(rows, attribute="baseline").loc["accuracy_b", "estimate"]
        pooled = figures(rows, attribute="pooled")["estimate"]
        losing += neutral - pooled["accuracy_b"] > pooled["accuracy_a"] - neutral
    note = measures_of(board)["groups"].note
    assert f"in {losing} of {len(board.board.models)} models." in note


def test_history_starts_with_the_second_release_that_has_the_model(releases, page):
    title = "Over the releases"
    first, second, third, *_ = releases
    assert title not in headings(page(first))
    assert title not in headings(page(second, "New"))
    assert title in headings(page(third, "New"))
    # In the first and the third release, but not in the second one.
    assert title in headings(page(third, "Two"))


def test_history_has_the_published_figures(releases):
    rows = history_of(releases[2], "One", "demo")
    assert rows["release"].unique().tolist() == ["1", "2", "3"]
    assert set(rows["attribute"]) == {"race", "sex", "ses"}
    for release in releases[:3]:
        own = release.estimates.query("model == 'One' and metric == 'accuracy_difference'")
        own = own[own["attribute"].isin(["race", "sex", "ses"])]
        found = rows[rows["release"] == release.name]
        columns = ["attribute", "group_a", "group_b", "estimate", "ci_low", "ci_high"]
        pd.testing.assert_frame_equal(
            found[columns].reset_index(drop=True), own[columns].reset_index(drop=True)
        )
    changed = rows[rows["attribute"] == "race"]["estimate"].tolist()
    assert changed[0] != changed[1] == changed[2]
    assert history_of(releases[2], "Two", "demo")["release"].unique().tolist() == ["1", "3"]


def test_history_is_drawn_in_the_order_of_the_releases(releases):
    own = answer_sets(releases[2], "One")[0]
    charts = history_charts(own, history_of(releases[2], "One", "demo"), name="x")
    assert [chart.axes[0].note for chart in charts] == [pair.note for pair in own.pairs]
    for chart, pair in zip(charts, own.pairs, strict=True):
        assert [row.label for row in chart.rows] == ["1", "2", "3"]
        published = [
            pair.rows(release.estimates)
            .query("model == 'One' and metric == 'accuracy_difference'")["estimate"]
            .iloc[0]
            for release in releases[:3]
        ]
        drawn = [row.cells[0].words.partition(" ")[0] for row in chart.rows]
        assert drawn == [points(difference) for difference in published]


# The page of releases


@pytest.fixture(scope="module")
def news(drawn, releases) -> list[str]:
    """The words of each release's page of releases."""
    return [Markup(drawn(show_releases, release)).words for release in releases]


def test_first_release_is_marked_as_the_first(releases, news):
    assert "twomodels" in news[0]
    assert "Thefirstrelease." in news[0]
    assert "Earlierreleases" not in news[0]


def test_new_gone_and_changed_answer_sets_are_named(releases, news):
    label = squeezed("(24 demonstration vignettes).")
    for change in ("Added:“New”", "Removed:“Two”", "Changedanswers:“One”"):
        assert f"{change}{label}" in news[1]
    moved = len(releases[2].table("figure_changes"))
    reason = squeezed(f"{moved} (p or detectable difference adjusted for other tests).")
    assert f"Added:“Two”{label}Changedfigures:{reason}" in news[2]
    assert "Removed" not in news[2].split("Earlierreleases")[0]


def test_moved_figures_have_their_reason(releases, news):
    second, fourth, fifth = releases[1], releases[3], releases[4]
    moved = second.table("figure_changes")
    assert set(moved["why"]) == {"answers"}
    assert squeezed(f"Changed figures: {len(moved)} (different answers).") in news[1]
    for row in moved[moved["metric"].isin(["accuracy_difference", "cfr"])].itertuples():
        figure = (
            "Accuracy difference" if row.metric != "cfr" else "CFR, counterfactual fairness rate"
        )
        what = {"estimate": "estimate", "ci_low": "lower limit", "ci_high": "upper limit"}[row.what]
        values = (f"{x:.4f}".replace("-", "−") for x in (row.old, row.new, row.change))
        assert squeezed(f"{figure}, {what}{''.join(values)}different answers") in news[1]
    moved = fourth.table("figure_changes")
    assert set(moved["why"]) == {"method"}
    assert squeezed(f"Changed figures: {len(moved)} (different method).") in news[3]
    assert fifth.table("figure_changes").empty
    assert "figuresofpairsthatareinbothreleasesarethesame" in news[4]


def test_figures_that_other_models_change_are_told(releases, news):
    moved = releases[2].table("figure_changes")
    assert set(moved["model"]) == {"New", "One"}
    assert set(moved["why"]) == {"family"}
    adjusted = moved["what"] == "p_adjusted"
    assert adjusted.any()
    assert set(moved.loc[~adjusted, "metric"]) == {"minimum_detectable_difference"}
    assert squeezed(f"{len(moved)} figures changed, but no difference of groups") in news[2]


def test_earlier_releases_are_listed_newest_first_with_their_addresses(
    releases, drawn, monkeypatch
):
    # Outside a site, there is no page to link to.
    assert "index.html" not in drawn(show_releases, releases[3])
    monkeypatch.setenv("FAIRSTATS_PUBLISHED", "1")
    html = drawn(show_releases, releases[3])
    links = re.findall(r'<li><a\s+href="([^"]*)">(\d)</a>', html)
    # From reports/models, where this page is drawn, to the other release.
    assert links == [(f"../../../../v/{name}/index.html", name) for name in "321"]


def test_changed_declaration_is_given_as_the_reason(tmp_path, demo, drawn):
    file = tmp_path / "demo.toml"
    text = demo.path.read_text(encoding="utf-8")
    # A built-in benchmark's name is reserved for its declaration.
    text = text.replace('name = "demo"', 'name = "mine"')
    shutil.copy(demo.keys_file, tmp_path)
    file.write_text(
        text.replace('missing = "available"', 'missing = "incorrect"'), encoding="utf-8"
    )
    answers = answers_of_models(("One",)).assign(benchmark="mine")
    first = tmp_path / "first.toml"
    first.write_text(text, encoding="utf-8")
    undrawn(answers, tmp_path, release="1", benchmarks=[load_benchmark(first)])
    made = undrawn(answers, tmp_path, release="2", benchmarks=[load_benchmark(file)])
    moved = made.table("figure_changes")
    assert set(moved["why"]) == {"benchmark"}
    words = Markup(drawn(show_releases, made)).words
    assert squeezed(f"{len(moved)} (different benchmark file)") in words


def test_changed_verdict_has_its_new_reason(tmp_path, drawn, one_pair, all_right):
    given = {"benchmarks": [one_pair(120)]}
    right = all_right(given["benchmarks"][0])
    undrawn(right, tmp_path, release="1", **given)
    gone = right["group"].eq("black") & right["item_id"].isin([f"i{n:02}" for n in range(40)])
    answer, status = right["answer"].mask(gone), right["status"].mask(gone, "refused")
    made = undrawn(right.assign(answer=answer, status=status), tmp_path, release="2", **given)
    (row,) = made.table("verdict_changes").to_dict("records")
    assert (row["old"], row["new"]) == ("equivalent", "inconclusive")
    assert "missing answers" in row["verdict_reason"]
    words = Markup(drawn(show_releases, made)).words
    assert squeezed(f"inconclusive ({row['verdict_reason']})") in words


def test_the_largest_moves_are_shown_and_all_are_counted(releases, drawn, monkeypatch):
    monkeypatch.setattr("fairstats.report.about.releases._MOST_ROWS", 1)
    words = Markup(drawn(show_releases, releases[1])).words
    moved = releases[1].table("figure_changes")
    assert squeezed(f"{len(moved)} figures changed since 1.") in words
    shown = moved[moved["metric"].isin(["accuracy_difference", "cfr"])]
    largest = shown.loc[shown["change"].abs().sort_values(ascending=False).index]
    values = [f"{row.change:.4f}differentanswers".replace("-", "−") for row in largest.itertuples()]
    others = [value for value in values if value != values[0]]
    assert len(others) > 3
    assert values[0] in words
    assert not any(value in words for value in others)
