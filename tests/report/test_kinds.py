"""The board and the pages of models of decisions, levels and scores."""

from __future__ import annotations

import html as html_text
import json
import re
from dataclasses import replace
from functools import partial

import pandas as pd
import pytest

from fairstats.benchmarks.declaration import Attribute
from fairstats.benchmarks.loading import load_benchmark
from fairstats.publishing.publish import publish
from fairstats.release.contents import Board, Release
from fairstats.report.about.data import benchmark_card, show_citation, show_contents, show_sources
from fairstats.report.answer_sets import AnswerSet, answer_sets
from fairstats.report.audit.sections import _show_section
from fairstats.report.audit.sentences import clauses
from fairstats.report.board.charts import accuracy_head
from fairstats.report.board.figures import BoardFigures
from fairstats.report.board.page import show_leaderboard
from fairstats.report.board.terms import terms
from fairstats.report.changes.rows import set_name
from fairstats.report.findings import findings
from fairstats.report.model.page import show_head, show_model
from fairstats.report.page_output import collected, drawing
from fairstats.report.sections.chance import could_be_chance, directions
from fairstats.report.sections.given import LETTERS
from fairstats.report.sections.groups import extremes
from fairstats.report.sections.size import four_fifths
from fairstats.report.vignettes.page import show_vignettes
from fairstats.report.words import versions_of_an_item

from .kinds import DECLARED, FORBIDDEN, ITEMS, KEYED, KEYLESS, answered, declared
from .reading import broken_links
from .undrawn import undrawn

pytestmark = pytest.mark.usefixtures("without_screening")

#: The parts of a page that are read as sentences.
_SAID = re.compile(r"<(h[1-4]|p|dt|dd|li|caption|label|summary)\b[^>]*>(.*?)</\1>", re.DOTALL)


def said(html: str) -> str:
    """Return the sentences of a page, one per line, without times and hashes."""
    html = re.sub(r"<(svg|style|script)\b.*?</\1>", "", html, flags=re.DOTALL)
    lines = [re.sub(r"<[^>]+>", " ", text) for _, text in _SAID.findall(html)]
    lines = [" ".join(html_text.unescape(line).split()) for line in lines]
    text = "\n".join(line for line in lines if line)
    return re.sub(r"published \d+ \w+ \d{4}", "published …", text)


def with_a_fair_model(name: str, folder) -> tuple[object, pd.DataFrame]:
    """Return a benchmark and answers of two models, of which one gives each group the same."""
    benchmark = declared(name, folder)
    answers = answered(benchmark)
    keys = ["item_id", "sample"]
    first = {
        attribute.name: next(iter(attribute.groups)) for attribute in benchmark.attributes.values()
    }
    same = answers[answers["group"] == answers["attribute"].map(first)]
    same = same.set_index(["attribute", *keys])[["answer", "status"]]
    fair = answers.drop(columns=["answer", "status"]).join(same, on=["attribute", *keys])
    fair = fair.assign(model=f"fair-{name}")
    return benchmark, pd.concat([answers, fair[answers.columns]], ignore_index=True)


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Release:
    folder = tmp_path_factory.mktemp("kinds")
    found = [with_a_fair_model(name, folder) for name in DECLARED]
    answers = pd.concat([answers for _, answers in found], ignore_index=True)
    return undrawn(answers, folder, benchmarks=[benchmark for benchmark, _ in found])


def board_of(release: Release, name: str) -> Board:
    (board,) = (board for board in release.boards if board.benchmark.name == name)
    return board


def set_of(release: Release, model: str) -> AnswerSet:
    (own,) = answer_sets(release, model)
    return own


def test_boards_with_the_same_version_title_are_told_apart(release):
    rows = [{"benchmark": name, "benchmark_version": "1", "strategy": "plain"} for name in DECLARED]
    names = [set_name(row, release) for row in rows]
    assert names == [f"{name.title()}: first version" for name in DECLARED]


@pytest.mark.parametrize("name", DECLARED)
def test_board_of_each_kind(name, release, drawn, snapshot):
    alone = Release(release.path)
    alone.__dict__["boards"] = [board_of(release, name)]
    text = said(drawn(show_leaderboard, alone))
    assert text == snapshot
    # It states what its figures do not show.
    unknown = text.partition("Not known")[2]
    assert "would be treated differently" in unknown
    assert ("have no key" in unknown) == (name in KEYLESS)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_missing_decisions_are_no_option_and_count_as_not_favourable(tmp_path):
    benchmark = declared("interviews", tmp_path)
    answers = answered(benchmark)
    lost = pd.concat([answers.assign(model="none"), answers.assign(model="no south")])
    lost = lost[lost["model"].eq("none") | lost["group"].eq("south")]
    kept = answers[answers["group"].ne("south")].assign(model="no south")
    rows = [lost.assign(answer=None, status="refused"), kept]
    every = pd.concat(rows, ignore_index=True)
    release = undrawn(every, tmp_path, benchmarks=[benchmark], missing="incorrect")
    answer = LETTERS.answer(set_of(release, "none"))
    assert (answer.short, answer.text) == ("Cannot be judged", "No answer could be read.")
    text = extremes(set_of(release, "no south")).text
    assert text.endswith(" for East, with missing answers counted as not favourable.")


@pytest.mark.parametrize("name", DECLARED)
def test_model_page_of_each_kind(name, release, drawn, snapshot):
    text = said(drawn(show_model, release, release.slugs[f"model-{name}"]))
    assert text == snapshot
    assert ("Which errors does it make for each group?" in text) == (name in KEYED)


def test_limits_of_a_rank_are_stated_once(release):
    text = terms(release)["Rank"]
    sentences = re.findall(r"A model is not ranked[^.]* if ([^.]*)\.", text)
    assert len(sentences) == len(set(sentences))


def test_terms_of_all_kinds(release, snapshot):
    assert "\n".join(f"{term}: {text}" for term, text in terms(release).items()) == snapshot


@pytest.mark.parametrize("name", DECLARED)
def test_fair_model_is_never_accused(name, release):
    own = set_of(release, f"fair-{name}")
    assert "Hardly" not in could_be_chance(own).short
    found = findings(own.alone, release)
    assert not any("disparit" in text for _, text in found.sure)
    assert found.headline.startswith(("It is unclear", "No model", f"“fair-{name}”"))
    assert "depends" not in found.headline or "unclear" in found.headline


def test_direction_counts_items_of_the_pair(release):
    own = set_of(release, "model-urgency")
    south = own.pairs[0].estimates["net_moved"]
    text = directions(own).text
    assert f"{south['n10']} of {ITEMS} stays are less urgent for North, {south['n01']} for" in text


def test_ratio_beyond_four_fifths_is_named_only_if_its_interval_is(release):
    own = set_of(release, "model-interviews")
    for pair in own.pairs:
        row = pair.estimates["selection_ratio"]
        outside = row["ci_high"] < 0.8 or row["ci_low"] > 1.25
        alone = AnswerSet(own.release, own.board, own.model)
        alone.__dict__["pairs"] = [pair]
        assert (four_fifths(alone).short == "Yes") == outside


def test_pages_without_a_key_say_nothing_of_right_answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keyless")
    found = [with_a_fair_model(name, folder) for name in KEYLESS]
    answers = pd.concat([answers for _, answers in found], ignore_index=True)
    source = folder / "in" / "answers.parquet"
    source.parent.mkdir()
    answers.to_parquet(source)
    published = publish(
        source,
        release="2026.11",
        out=folder / "out",
        renderer="builtin",
        benchmarks=[benchmark for benchmark, _ in found],
    )
    site = published.path
    assert broken_links(folder / "out") == []
    pages = [site / "index.html", site / "reports" / "data.html"]
    pages += sorted((site / "reports" / "models").glob("*.html"))
    for page in pages:
        text = re.sub(r"<(style|script)\b.*?</\1>", "", page.read_text(), flags=re.DOTALL)
        words = html_text.unescape(re.sub(r"<[^>]+>", " ", text))
        # The table of answers by option is a file of this name.
        words = words.replace("letters:", "")
        assert {match.group() for match in FORBIDDEN.finditer(words)} <= {"patient", "patients"}
        assert not re.search(r"\b(right|wrong)\b", words)
        assert set(re.findall(r"(\S+ \S+) key\b", words)) <= {"without a", "have no"}
        if "urgency" in page.name:
            # Only shares have points.
            assert not re.search(r"(?<!percentage )\bpoints\b", words)


def test_figures_of_controls_are_in_no_panel(release):
    figures = BoardFigures(board_of(release, "interviews"), release)
    assert [panel.attribute for panel in figures.panels] == ["origin", "origin"]


def test_crossing_without_pairs_has_no_table_and_is_not_called_compared(release):
    board = board_of(release, "interviews")
    attribute = board.benchmark.varied[0]
    attributes = {
        **board.benchmark.attributes,
        attribute.name: replace(attribute, pairs=(), crosses=("a", "b")),
    }
    benchmark = replace(board.benchmark, attributes=attributes)
    # The estimates still have rows of the attribute, as interactions are.
    shown = BoardFigures(replace(board, benchmark=benchmark), release).attributes
    assert attribute.name in set(board.estimates["attribute"])
    assert attribute.name not in [one.name for one in shown]
    named = f"{attribute.label} \\("
    assert named not in benchmark_card(benchmark, 3)
    assert named in benchmark_card(board.benchmark, 3)


def declared_with(of: Board, *attributes: Attribute) -> Board:
    """Return a board whose benchmark declares these attributes, too or differently."""
    named = {one.name: one for one in attributes}
    benchmark = replace(of.benchmark, attributes={**of.benchmark.attributes, **named})
    return replace(of, benchmark=benchmark)


@pytest.mark.parametrize("name", ["essays", "loans"])
def test_extremes_are_those_of_the_compared_groups_if_others_are_in_no_pair(name, release, drawn):
    board = board_of(release, name)
    own = AnswerSet(release, board, f"model-{name}")
    (origin,) = board.benchmark.varied
    # The figures of East are in no table then.
    fewer = declared_with(board, replace(origin, pairs=origin.pairs[:1]))
    few = AnswerSet(release, fewer, own.model)
    assert extremes(own).text.startswith("Lowest for ")
    assert extremes(few).text.startswith("Of the compared groups, lowest for ")
    assert " of the compared groups" in drawn(partial(show_head, title=""), release, [few])
    for shown, noun in ((board, " of groups"), (fewer, " of compared groups")):
        assert noun in accuracy_head(BoardFigures(shown, release))


@pytest.mark.parametrize("pairs", [(), (("a", "b"),)])
def test_all_pairs_are_all_but_those_of_crossed_groups(pairs, release):
    crossed = Attribute("both", "Both", {"a": "A", "b": "B"}, pairs, ("origin", "other"))
    board = declared_with(board_of(release, "essays"), crossed)
    own = AnswerSet(release, board, board.models[0])
    other = Release(release.path)
    vars(other)["benchmarks"] = release.benchmarks | {"essays": board.benchmark}
    but = " but those of crossed groups" * len(pairs)
    assert own.whole.title == f"All pairs{but}, signed"
    assert f"over all pairs{but}, on the items" in terms(other)["Rank"]


def asked_of(*variants: str) -> pd.DataFrame:
    return pd.DataFrame([one.split(": ") for one in variants], columns=["attribute", "group"])


def test_versions_of_an_item_are_the_variants_with_answers(release):
    interviews = board_of(release, "interviews").benchmark
    both = asked_of("origin: north", "origin: south", "placebo: none", "placebo: weather")
    assert len(versions_of_an_item(interviews, both)) == 4
    # An attribute that another one crosses has no answers of its own.
    assert versions_of_an_item(interviews, both.head(2)) == [
        interviews.attribute("origin").groups[group] for group in ("north", "south")
    ]
    assert versions_of_an_item(interviews, both.head(0)) == []


@pytest.mark.parametrize(
    ("groups", "pairs", "expected"),
    [
        # The reference of both attributes is one text.
        (("base", "x"), [("base", "x")], 3),
        # High and low education are other texts than high and low income.
        (("north", "base"), [("base", "north")], 4),
    ],
)
def test_a_shared_reference_is_one_version(groups, pairs, expected, release):
    benchmark = board_of(release, "interviews").benchmark
    origin = Attribute(
        "origin", "Origin", dict.fromkeys(("base", "north"), ""), (("base", "north"),)
    )
    other = Attribute("other", "Other", dict.fromkeys(groups, ""), tuple(pairs))
    declared = replace(benchmark, attributes={"origin": origin, "other": other})
    asked = asked_of("origin: base", "origin: north", *(f"other: {group}" for group in groups))
    assert len(versions_of_an_item(declared, asked)) == expected


def test_a_citation_is_listed_once_and_only_if_stated(release, drawn):
    benchmarks = dict(release.benchmarks)
    for name, text in (("loans", "Not stated"), ("essays", "A book"), ("stages", "A book")):
        benchmarks[name] = replace(benchmarks[name], citation=text)
    other = Release(release.path)
    vars(other)["benchmarks"] = benchmarks
    text = drawn(show_citation, other)
    assert (text.count("A book"), text.count("Not stated")) == (1, 0)


def test_data_page_states_undecided_lines_and_missing_answers(release, drawn, tmp_path):
    own = Release(release.path)
    name, benchmark = next(iter(own.benchmarks.items()))
    assert "Not decided" not in drawn(show_sources, own)
    text = benchmark.path.read_text()
    path = tmp_path / benchmark.path.name
    path.write_text(f"# DECIDE: one\n{text}\n# DECIDE: two\n")
    vars(own)["benchmarks"] = own.benchmarks | {name: replace(benchmark, path=path)}
    assert "in 2 lines of this" in drawn(show_sources, own)
    missing = sum(entry["missing"] for entry in own.manifest["answers"])
    assert (f"{missing:,} of them missing" in drawn(show_contents, own)) == (missing > 0)


def test_board_names_a_model_whose_answers_hardly_vary(tmp_path, drawn):
    _, answers = with_a_fair_model("loans", tmp_path)
    fair, refused = answers["model"] == "fair-loans", {f"i{n}" for n in range(1, 17, 2)}
    answers.loc[fair, "answer"] = "grant"
    answers.loc[fair & answers["item_id"].isin(refused), "answer"] = "refuse"
    file = tmp_path / "loans.toml"
    file.write_text(
        file.read_text().replace("equivalence_margin = 0.05", "equivalence_margin = 0.2")
    )
    release = undrawn(answers, tmp_path, benchmarks=[load_benchmark(file)])
    text = said(drawn(show_leaderboard, release))
    assert "80.0% of answers are “grant”, and 50.0% of keys: answers that" in text
    assert "model-loans: " not in text


def test_board_shows_the_original_text_only_if_a_model_was_asked_it(tmp_path, drawn):
    """A version without a group was asked, and no original."""
    declared("essays", tmp_path)
    file = tmp_path / "essays.toml"
    text = file.read_text() + (
        '[attributes.baseline]\nlabel = "Baseline"\npairs = [["original", "neutralized"]]\n'
        'groups = { original = "Original", neutralized = "Neutralized" }\n'
    )
    file.write_text(text)
    answers = answered(load_benchmark(file))
    for policy in ("available", "incorrect", "bounds"):
        file.write_text(text.replace('missing = "available"', f'missing = "{policy}"'))
        benchmark = load_benchmark(file)
        folder = tmp_path / policy
        folder.mkdir()
        release = undrawn(answers[answers["group"] != "original"], folder, benchmarks=[benchmark])
        (own,) = answer_sets(release, "model-essays")
        assert own.original is None
        assert (own.neutral is None) == (policy == "bounds")
        assert "Mean score, original" not in drawn(show_leaderboard, release)
        assert "original text" not in said(drawn(show_model, release, "model-essays"))


# Choices between words


@pytest.fixture(scope="module")
def triage(benchmark_file, tmp_path_factory) -> Release:
    """Two models' choices of one of three words, about items that the benchmark calls cases."""
    words = ["emergency", "urgent", "routine"]
    keys = "".join(f"i{n},{words[n % 3]}\n" for n in range(ITEMS))
    named = '[words]\nitem = "case"\nsetting = "triage"\n'
    parts = {"options": f"options = {json.dumps(words)}", "baseline": named}
    benchmark = load_benchmark(benchmark_file(keys=f"item_id,answer_key\n{keys}", **parts))
    answers = answered(benchmark)
    both = pd.concat([answers, answers.assign(model="same")], ignore_index=True)
    return undrawn(both, tmp_path_factory.mktemp("triage"), benchmarks=[benchmark], every=True)


def test_choices_between_words_are_in_the_words_of_the_benchmark(triage, drawn):
    board = drawn(show_leaderboard, triage)
    assert "benchmark · 40 cases ·" in said(board)
    # Not every pair is expected to differ.
    assert "McNemar p, smallest" in board
    for page in (said(board), said(drawn(show_model, triage, "same"))):
        assert not re.search(r"\b(letters?|convention|items|vignettes?)\b", page)
    own = set_of(triage, "same")
    assert LETTERS.title(own) == "Does it prefer an option?"
    (text,) = clauses("meaning", own)
    assert text.startswith("The cases are test material.")
    assert "none declared" in benchmark_card(own.benchmark, 3)


def test_note_on_keys_names_the_texts_that_were_asked(triage, drawn):
    text = said(drawn(show_vignettes, triage))
    assert "If most answers to the versions of an item are the same wrong option" in text
    assert "neutralized" not in text


def test_key_of_a_chart_is_on_its_page(triage, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with drawing(triage.path, "typst"), collected() as parts:
        _show_section(LETTERS, set_of(triage, "same"))
    text = "".join(parts)
    kept = text[text.index("#on-one-page[") :].partition("```{=typst}\n]\n")[0]
    assert ".svg" in kept
    assert "one circle per group" in kept
