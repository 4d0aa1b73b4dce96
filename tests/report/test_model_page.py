"""The page of one model, over releases: what it shows, and what it leaves out."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable

import pandas as pd
import pypandoc
import pytest

from fairstats.benchmarks.declaration import load_benchmark
from fairstats.release.contents import Release
from fairstats.report.flips_section import FLIPS_SHOWN
from fairstats.report.model_history import history_of, history_plot
from fairstats.report.model_page import show_model
from fairstats.report.releases_page import show_releases

from .conftest import answers_of_models
from .reading import Markup, squeezed
from .undrawn import undrawn, whole


@pytest.fixture(scope="module")
def drawn(tmp_path_factory) -> Callable[..., str]:
    """What a part of a page shows, as HTML; drawn here and in no kernel."""
    project = tmp_path_factory.mktemp("project")
    # A model's page lies two folders below the project's root.
    (project / "_quarto.yml").touch()
    (project / "reports" / "models").mkdir(parents=True)

    def html(show: Callable[..., None], *arguments: object) -> str:
        parts: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(project / "reports" / "models")
            patch.setattr("IPython.display.display", lambda shown: parts.append(shown.data))
            show(*arguments)
        text = "\n\n".join(parts)
        return pypandoc.convert_text(text, "html", format="markdown", extra_args=["--wrap=none"])

    return html


@pytest.fixture(scope="module")
def page(drawn) -> Callable[..., str]:
    return lambda release, model="One": drawn(show_model, release, release.slugs[model])


def headings(html: str) -> list[str]:
    return re.findall(r"<h2[^>]*>Demonstration items: ([^<]*)</h2>", html)


def other_answers(answers: pd.DataFrame, model: str = "One") -> pd.DataFrame:
    """The same, but that one model is right in every item of one group."""
    changed = (answers["model"] == model) & (answers["group"] == "black")
    return answers.assign(
        answer=answers["answer"].mask(changed, answers["answer_key"]),
        status=answers["status"].mask(changed, "ok"),
    )


@pytest.fixture(scope="module")
def releases(tmp_path_factory) -> list[Release]:
    """Five releases of one site, each with another reason for its figures to move."""
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


# A model's page


def test_the_page_of_a_model_has_its_parts_in_order(releases, page):
    assert headings(page(releases[1])) == [
        "accuracy difference",
        "paired outcomes",
        "how the verdict depends on the margin",
        "what missing answers could change",
        "letters",
        "items whose answer changes",
        "over the releases",
        "all estimates",
    ]


def test_history_starts_with_the_second_release_that_has_the_model(releases, page):
    title = "over the releases"
    first, second, third, *_ = releases
    assert title not in headings(page(first))
    assert title not in headings(page(second, "New"))
    assert title in headings(page(third, "New"))
    # In the first and the third release, and not in the one between.
    assert title in headings(page(third, "Two"))


def test_history_is_what_each_release_published(releases):
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


def test_history_is_drawn_in_the_order_of_the_releases(releases, demo):
    drawn = history_plot(history_of(releases[2], "One", "demo"), demo).data
    assert drawn["release"].cat.categories.tolist() == ["1", "2", "3"]
    race = drawn[drawn["pair"] == "White − Black"].sort_values("release")
    published = [
        release.estimates.query(
            "model == 'One' and metric == 'accuracy_difference' and attribute == 'race'"
        )["estimate"].iloc[0]
        for release in releases[:3]
    ]
    assert race["estimate"].tolist() == pytest.approx([100 * share for share in published])


@pytest.fixture(scope="module")
def cases(tmp_path_factory) -> Release:
    """Models that are whole, miss answers in one strategy, answer nothing, or are not plain."""
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


def test_policies_stand_where_an_answer_is_missing_and_nowhere_else(cases, page):
    html = page(cases, "Whole")
    assert "No answer is missing: the four policies for missing answers give the same" in html
    assert 'id="policies-demo' not in html
    html = page(cases, "Some")
    assert "Elsewhere no answer is missing: the four policies" in html
    table = html[html.index("under the four policies for missing answers, in points") :]
    table = table[: table.index("</table>")]
    assert "Some (Demonstration items, 1, cot)" in table
    assert "Some (Demonstration items, 1, plain)" not in table
    assert "answer is missing" not in page(cases, "Nothing")


def test_a_model_without_a_verdict_has_no_plot_of_margins(cases, page):
    title = "how the verdict depends on the margin"
    assert title in headings(page(cases, "Whole"))
    assert title not in headings(page(cases, "Nothing"))


def test_under_bounds_there_is_no_margin_and_no_interval(tmp_path, page):
    made = undrawn(answers_of_models(("One",)), tmp_path, missing="bounds")
    html = page(made)
    assert "how the verdict depends on the margin" not in headings(html)
    assert "interval" not in re.sub(r"<(svg|details)\b.*?</\1>", "", html, flags=re.DOTALL)
    # Where no answer is missing the range is a point, and still no interval.
    html = page(undrawn(whole(answers_of_models(("One",))), tmp_path / "whole", missing="bounds"))
    assert "95% interval" not in html


def test_the_page_of_a_model_that_answered_nothing(cases, page):
    html = page(cases, "Nothing")
    text = re.sub(r"<svg.*?</svg>", "", html, flags=re.DOTALL)
    assert "not every figure is known as one number" in text
    assert headings(html) == [
        "accuracy difference",
        "what missing answers could change",
        "letters",
        "all estimates",
    ]
    assert not re.findall(r"\b(nan|NaN|None|inf)\b|<NA>", re.sub(r"<[^>]*>", " ", text))
    assert "192" in text


def test_a_model_that_was_never_asked_plainly_has_a_page(cases, page):
    html = page(cases, "Other")
    assert "Demonstration items, 1, aware: " in html
    assert headings(html)[-1] == "all estimates"
    assert "All estimates, 1, aware" in html


def test_plain_answers_stand_first(cases, page):
    html = page(cases, "Some")
    plain, cot = (html.index(f"All estimates, 1, {name}<") for name in ("plain", "cot"))
    assert plain < cot
    plain, cot = (
        html.index(f"Some (Demonstration items, 1, {name}): ") for name in ("plain", "cot")
    )
    assert plain < cot


def test_flips_are_capped_and_the_rest_is_a_link_away(benchmark_file, tmp_path, page, drawn):
    keys = "item_id,answer_key\n" + "".join(f"i{n},A\n" for n in range(60))
    benchmark = load_benchmark(benchmark_file(keys=keys))
    rows = [
        {
            "benchmark": "three",
            "benchmark_version": "1",
            "model": "One",
            "strategy": "plain",
            "item_id": item,
            "attribute": attribute,
            "group": group,
            "sample": 0,
            "answer": "B" if group == "black" and place < 50 else "A",
            "answer_key": "A",
            "status": "ok",
        }
        for place, item in enumerate(benchmark.answer_keys)
        for attribute, group in benchmark.variants
    ]
    made = undrawn(pd.DataFrame(rows), tmp_path, benchmarks=[benchmark])
    html = page(made)
    assert f"the {FLIPS_SHOWN} of 50 items that flip for most pairs; all are in flips.csv" in html
    table = html[html.index("Items whose answer by One changes with the group") :]
    table = table[: table.index("</table>")]
    assert len(re.findall(r'<th[^>]*scope="row"', table)) == FLIPS_SHOWN
    assert 'href="../../downloads/flips.csv"' in html
    assert (made.path / "downloads" / "flips.csv").is_file()
    assert made.table("flips")["item_id"].nunique() == 50


# The page of releases


@pytest.fixture(scope="module")
def news(drawn, releases) -> list[str]:
    """The words of each release's page of releases."""
    return [Markup(drawn(show_releases, release)).words for release in releases]


def test_the_first_release_says_that_it_is(releases, news):
    assert squeezed("2 models".replace("2", "two")) in news[0]
    assert squeezed("The first release.") in news[0]
    assert "Earlierreleases" not in news[0]


def test_new_gone_and_changed_answer_sets_are_named(news):
    label = "(the 24 items as shipped, plain prompt)"
    assert (
        squeezed(f"Added: New {label}. Removed: Two {label}. Changed answers: One {label}.")
        in news[1]
    )
    assert squeezed(f"Added: Two {label}. Changed figures: none.") in news[2]
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
        assert squeezed(f"{figure}, {what}{''.join(values)}answers") in news[1]
    moved = fourth.table("figure_changes")
    assert set(moved["why"]) == {"method"}
    assert squeezed(f"Changed figures: {len(moved)} (different method).") in news[3]
    assert fifth.table("figure_changes").empty
    assert squeezed("All figures in both releases are the same.") in news[4]


def test_earlier_releases_are_listed_newest_first_with_their_addresses(
    releases, drawn, monkeypatch
):
    # Drawn outside of a site there is nowhere to lead to.
    assert "index.html" not in drawn(show_releases, releases[3])
    monkeypatch.setenv("FAIRSTATS_PUBLISHED", "1")
    html = drawn(show_releases, releases[3])
    links = re.findall(r'<li><a\s+href="([^"]*)">(\d)</a>', html)
    # From reports/models, where this page is drawn: out of the release and into the other.
    assert links == [(f"../../../../v/{name}/index.html", name) for name in "321"]


def test_a_benchmark_that_was_declared_otherwise_is_the_reason(tmp_path, demo, drawn):
    file = tmp_path / "demo.toml"
    text = demo.path.read_text(encoding="utf-8")
    # A built-in benchmark's name is kept for its own declaration.
    text = text.replace('name = "demo"', 'name = "mine"')
    shutil.copy(demo.keys_file, tmp_path)
    file.write_text(
        text.replace('missing = "available"', 'missing = "incorrect"'), encoding="utf-8"
    )
    from fairstats.benchmarks.declaration import load_benchmark

    answers = answers_of_models(("One",)).assign(benchmark="mine")
    first = tmp_path / "first.toml"
    first.write_text(text, encoding="utf-8")
    undrawn(answers, tmp_path, release="1", benchmarks=[load_benchmark(first)])
    made = undrawn(answers, tmp_path, release="2", benchmarks=[load_benchmark(file)])
    moved = made.table("figure_changes")
    assert set(moved["why"]) == {"benchmark"}
    words = Markup(drawn(show_releases, made)).words
    assert squeezed(f"Changed figures: {len(moved)} (different benchmark file).") in words


def test_changed_verdict_has_its_new_reason(tmp_path, drawn, benchmark_file, all_right):
    from fairstats.benchmarks.declaration import load_benchmark

    keys = "item_id,answer_key\n" + "".join(f"i{n},{'ABC'[n % 3]}\n" for n in range(120))
    pair = 'groups = { white = "White", black = "Black" }\npairs = [["white", "black"]]'
    file = benchmark_file(keys=keys, race=f'[attributes.race]\nlabel = "Race"\n{pair}')
    given = {"benchmarks": [load_benchmark(file)]}
    right = all_right(given["benchmarks"][0])
    undrawn(right, tmp_path, release="1", **given)
    gone = right["group"].eq("black") & right["item_id"].isin([f"i{n}" for n in range(40)])
    answer, status = right["answer"].mask(gone), right["status"].mask(gone, "refused")
    made = undrawn(right.assign(answer=answer, status=status), tmp_path, release="2", **given)
    (row,) = made.table("verdict_changes").to_dict("records")
    assert (row["old"], row["new"]) == ("equivalent", "inconclusive")
    assert "missing answers could change the verdict" in row["verdict_reason"]
    words = Markup(drawn(show_releases, made)).words
    assert squeezed(f"inconclusive ({row['verdict_reason']})") in words


def test_the_largest_moves_are_shown_and_all_are_counted(releases, drawn, monkeypatch):
    monkeypatch.setattr("fairstats.report.releases_page._MOST_ROWS", 1)
    words = Markup(drawn(show_releases, releases[1])).words
    moved = releases[1].table("figure_changes")
    assert squeezed(f"{len(moved)} figures changed since 1. Shown: the 1 largest changes") in words
    shown = moved[moved["metric"].isin(["accuracy_difference", "cfr"])]
    largest = shown.loc[shown["change"].abs().sort_values(ascending=False).index]
    values = [f"{row.change:.4f}answers".replace("-", "−") for row in largest.itertuples()]
    others = [value for value in values if value != values[0]]
    assert len(others) > 3
    assert values[0] in words
    assert not any(value in words for value in others)
