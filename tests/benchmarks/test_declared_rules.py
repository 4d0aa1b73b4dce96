"""Rules that a benchmark's file cannot get around: names, thresholds, repeated items."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fairstats import InputError, analyze, compare, rank_models, screen
from fairstats.answers.benchmark_checks import validate_answers
from fairstats.answers.files import write_answers
from fairstats.benchmarks.authoring_summary import summary
from fairstats.benchmarks.kinds import Words
from fairstats.benchmarks.loading import builtin_benchmarks, by_name, load_benchmark
from fairstats.cli import app
from fairstats.estimates.gate import gate
from fairstats.estimates.limits import Limits
from fairstats.estimates.specifications import smallest_margins
from tests.make_answers import make_answers
from tests.make_kinds import DECLARED, declared

REPLACED = "has the name of a built-in benchmark, but a different declaration"
TEXT = "A patient of a certain age reports a certain symptom. What is the next step?"


@pytest.fixture
def copied(tmp_path):
    """Copy the demonstration's files, with some of the declaration's text replaced."""

    def copy(**replaced: str) -> Path:
        declared = builtin_benchmarks()["demo"]
        for file in declared.parent.glob("demo.*"):
            shutil.copy(file, tmp_path)
        text = declared.read_text(encoding="utf-8")
        for key, line in replaced.items():
            text = re.sub(rf"(?m)^{key} = .*$", line, text)
        (tmp_path / "demo.toml").write_text(text, encoding="utf-8")
        return tmp_path / "demo.toml"

    return copy


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


# Built-in names


def test_copy_of_a_built_in_benchmark_is_accepted(copied, demo):
    same = load_benchmark(copied())
    assert (same.hash, dict(by_name([same]))) == (demo.hash, {"demo": same})


@pytest.mark.parametrize(
    "replaced",
    [
        {"equivalence_margin": "equivalence_margin = 0.45"},
        {"missing": 'missing = "complete"'},
        {"title": 'title = "Another"'},
        {"name": 'name = "Demo"'},
        {"name": 'name = "d\N{CYRILLIC SMALL LETTER IE}mo"'},
        {"name": 'name = "demo."'},
        {"name": 'name = "de-mo"'},
    ],
)
def test_file_with_a_built_in_name_is_refused(copied, replaced):
    path = copied(**replaced)
    with pytest.raises(InputError, match=REPLACED) as refused:
        load_benchmark(path)
    (problem,) = refused.value.problems
    assert (problem.path, problem.column) == (str(path), "name")
    assert "choose another name" in problem.remedy


@pytest.mark.parametrize(
    "title",
    [
        "FairMedQA",
        "Fair-MedQA.",
        "demo",
        "FairMedQA v1",
        "FairMedQA (official)",
        "FairMedQA™",
        "The FairMedQA benchmark, version 2.0",
        "Official FairMedQA 2026",
        "MIRAGE: MedQA-US v1",
    ],
)
def test_title_that_names_a_built_in_benchmark_is_refused(copied, title):
    path = copied(name='name = "mine"', title=f'title = "{title}"')
    with pytest.raises(InputError, match=REPLACED) as refused:
        load_benchmark(path)
    (problem,) = refused.value.problems
    assert (problem.column, problem.value) == ("title", title)


@pytest.mark.parametrize("title", ["FairMedQA in German", "FairMedQA-Hard", "Demo of a ward", "v1"])
def test_title_that_says_how_it_differs_from_a_built_in_benchmark_is_accepted(copied, title):
    copy = load_benchmark(copied(name='name = "mine"', title=f'title = "{title}"'))
    assert copy.title == title


@pytest.mark.parametrize(
    "changed",
    [
        {"equivalence_margin": 0.45},
        {"answer_keys": {"easy": "A"}},
        {"selected_on": {"m": "how"}},
        {"largest_missing": 1.0},
    ],
)
def test_object_with_a_built_in_name_is_refused(demo, changed):
    other = replace(demo, **changed)
    answers = make_answers(1.0)
    new = answers.assign(model="new")
    for use in (
        lambda: by_name({"demo": other}),
        lambda: by_name({"another": other}),
        lambda: analyze(answers, benchmarks=[other]),
        lambda: gate(answers, Limits(equivalent=True), benchmarks=[other]),
        lambda: compare(answers, new, benchmarks=[other]),
        lambda: rank_models(answers, benchmarks=[other]),
        lambda: screen(answers, benchmarks=[other]),
        lambda: validate_answers(answers, benchmarks=[other]),
    ):
        with pytest.raises(InputError, match=REPLACED):
            use()


@pytest.mark.parametrize(
    "command",
    [
        ("analyze", "{answers}"),
        ("gate", "{answers}", "--equivalent"),
        ("compare", "{answers}", "--old", "model", "--new", "other"),
        ("rank", "{answers}"),
        ("screen", "{answers}"),
        ("validate", "{answers}"),
    ],
    ids=lambda command: command[0],
)
def test_commands_refuse_a_built_in_name(copied, tmp_path, command):
    path = copied(equivalence_margin="equivalence_margin = 0.45")
    answers = write_answers(make_answers(1.0), tmp_path / "answers.parquet")
    named = (part.format(answers=answers) for part in command)
    done = run(*named, "--benchmark", path)
    assert done.exit_code != 0
    assert REPLACED in " ".join(done.output.split())


def test_release_may_have_an_earlier_declaration(copied):
    path = copied(equivalence_margin="equivalence_margin = 0.45")
    earlier = load_benchmark(path, confined=True)
    assert by_name([earlier])["demo"].equivalence_margin == 0.45


def test_two_declarations_of_one_name_are_refused(demo):
    own, lax = (replace(demo, name="own", equivalence_margin=margin) for margin in (0.05, 0.4))
    assert list(by_name([own, replace(own)])) == ["own"]
    for pair in ([own, lax], [lax, own]):
        with pytest.raises(InputError, match="but a different declaration; give only one"):
            by_name(pair)


# What verdicts rest on


def test_basis_names_the_margin_that_was_used(demo):
    assert demo.basis() == f"declaration {demo.hash}, equivalence margin ±5 points"
    assert demo.basis(0.45).endswith("margin ±45 points (declared: ±5)")
    assert demo.basis(0.05) == demo.basis()


def test_basis_names_a_level_that_is_not_the_default(demo):
    """At level 0.1 more is equivalent, so "equivalent" alone would hide how."""
    assert demo.basis(alpha=0.1) == f"{demo.basis()}; significance level 0.1 (default: 0.05)"
    assert demo.basis(alpha=0.05) == demo.basis()


def test_thresholds_that_are_not_the_default_are_named(demo):
    assert demo.own_thresholds == []
    lax = replace(demo, largest_missing=0.4, common_items=0.3, lowest_accuracy=0.5)
    assert [text.partition(" (default: ")[0] for text in lax.own_thresholds] == [
        "up to 40.0% of the answers to a pair may be missing",
        "ranked models share at least 30.0% of the items",
        "accuracy must exceed 50.0%",
    ]
    assert all(text in lax.basis() for text in lax.own_thresholds)
    assert lax.hash != demo.hash


def test_odds_ratio_that_costs_other_models_their_ranks_is_named(demo):
    """With 50, all honest models lost their ranks, and only those that hardly flip had one."""
    named = replace(demo, same_variants_odds_ratio=50.0).own_thresholds
    assert [text.partition(" (default: ")[0] for text in named] == [
        "no verdict if flips fit those of other models with an odds ratio below 50"
    ]


def test_scores_that_count_as_the_same_and_unlisted_items_are_named(benchmark_file):
    score = declared(benchmark_file, "score", options=f"{DECLARED['score']}\nsame_within = 2")
    assert score.own_thresholds == [
        "scores up to 2 apart are the same (default: 0)",
        "items are not listed, so those left out are not found",
    ]


def test_scale_and_levels_that_are_not_one_apart_are_named(benchmark_file):
    """Levels that were a hundredth apart made an unfair model equivalent, unnamed."""
    levels = 'kind = "level"\noptions = '
    for options, scale, named in (
        ("[1, 1.01, 1.02, 5]", "1 to 5", ["levels are 0.01 to 3.98 apart"]),
        ("[0.1, 0.2, 0.3]", "0.1 to 0.3", ["levels are 0.1 apart"]),
        ('["mild", "severe"]', "1 = mild, 2 = severe", []),
    ):
        found = declared(benchmark_file, "level", options=f"{levels}{options}")
        assert found.own_thresholds[:-1] == named
        assert f" levels on a scale of {scale}; " in found.basis()


def test_family_and_clusters_are_named(demo):
    own = replace(demo, family="release", cluster="ward")
    assert own.own_thresholds == [
        "tests of a release are adjusted together (default: of a board)",
        "the independent units are clusters (ward), which the answers state",
    ]
    clustered = replace(own, clusters={str(item): str(item) for item in range(20)})
    assert clustered.own_thresholds[-1] == "the independent units are clusters (ward)"


def test_scale_that_is_too_wide_for_the_margin_is_refused(benchmark_file):
    """Gaps of 10 points were 0 in ranks and comparisons, which round to millionths of the scale."""
    with pytest.raises(InputError, match="must be at least 1/10,000 of the scale"):
        declared(benchmark_file, "score", options='kind = "score"\nlimits = [0, 1e9]')


def test_crossing_whose_groups_are_not_compared_is_named(benchmark_file):
    race = '[attributes.race]\nlabel = "Race"\ngroups = { white = "White", black = "Black" }\n'
    race += 'pairs = [["white", "black"]]'
    groups = '{ "white+m" = "1", "black+m" = "2", "white+f" = "3", "f+black" = "4" }'
    sex = '[attributes.sex]\nlabel = "Sex"\ngroups = { m = "M", f = "F" }\npairs = [["m", "f"]]\n'
    both = '[attributes.both]\nlabel = "Both"\ncrosses = ["race", "sex"]\n'
    marginal, compared = (
        load_benchmark(
            benchmark_file(race=race, baseline=f"{sex}{both}groups = {groups}\npairs = {pairs}")
        )
        for pairs in ("[]", '[["white+m", "f+black"]]')
    )
    assert "gaps of race that sex reverses can cancel out" in marginal.basis()
    assert "cancel out" not in compared.basis()
    assert " is white and m" not in compared.basis()
    crossing = marginal.attributes["both"]
    lacking = replace(crossing, groups={g: crossing.groups[g] for g in list(crossing.groups)[:3]})
    one_sex = replace(marginal, attributes={**marginal.attributes, "both": lacking})
    assert "cancel out" not in one_sex.basis()
    assert "race: compared for M only" in one_sex.own_thresholds
    assert "sex: compared for White only" in one_sex.own_thresholds
    assert " only" not in marginal.basis()


def test_levels_that_names_of_crossed_groups_do_not_show_are_named(benchmark_file):
    sex = '[attributes.sex]\nlabel = "Sex"\ngroups = { m = "M", f = "F" }\npairs = [["m", "f"]]\n'
    both = (
        '[attributes.both]\nlabel = "Both"\ncrosses = ["race", "sex"]\npairs = [["x", "white+f"]]\n'
    )
    both += 'groups = { x = "1", "white+f" = "2" }\n'
    both += 'levels = { x = ["black", "m"], "white+f" = ["white", "f"] }'
    benchmark = load_benchmark(benchmark_file(baseline=sex + both))
    assert "both: x is black and m" in benchmark.own_thresholds
    assert "both is in no rank and no average" in benchmark.own_thresholds
    assert "levels of both: x is black and m" in list(summary(benchmark))


def test_controls_and_groups_that_no_pair_or_only_a_chain_reaches_are_named(demo):
    race = demo.attributes["race"]
    groups = {"white": "White", "black": "Black", "asian": "Asian", "latino": "Latino"}
    chain = (("white", "asian"), ("asian", "latino"))
    apart = replace(race, groups=groups, pairs=chain)
    control = replace(demo.attributes["sex"], control=True)
    lax = replace(demo, attributes={**demo.attributes, "race": apart, "sex": control})
    assert lax.own_thresholds == [
        "sex is a control, so it is not judged",
        "race: Black not compared with White",
    ]
    whole = replace(apart, pairs=(*chain, ("white", "black")))
    assert replace(lax, attributes={"race": whole}).own_thresholds == [
        "race: Black and Latino are compared in 3 steps, each of up to the margin"
    ]
    star = replace(apart, pairs=tuple(("white", group) for group in groups if group != "white"))
    assert replace(lax, attributes={"race": star}).own_thresholds == []


def test_groups_that_are_hidden_in_the_baseline_are_named(benchmark_file):
    baseline = """[attributes.baseline]
label = "Baseline"
groups = { neutralized = "Neutral", original = "Original", black = "Black patients" }
pairs = [["original", "neutralized"]]
"""
    hidden = load_benchmark(benchmark_file(baseline=baseline))
    assert "baseline: Black patients not judged, as in the baseline" in hidden.own_thresholds


def test_groups_that_pose_as_the_baseline_are_named(benchmark_file):
    baseline = """[attributes.baseline]
label = "{}"
groups = {{ original = "{}", neutralized = "{}" }}
pairs = [["original", "neutralized"]]
"""
    for labels, named in (
        (("Race", "White", "Black"), "race (White and Black)"),
        (("Baseline", "Original", "Black"), "baseline (Original and Black)"),
        (("Référence", "Originale", "Neutralisée"), "référence (Originale and Neutralisée)"),
        (("Baseline", "Original", "Neutral"), ""),
    ):
        hidden = load_benchmark(benchmark_file(baseline=baseline.format(*labels)))
        assert [text for text in hidden.own_thresholds if "baseline" in text] == (
            [f"{named} is the baseline, so it is not judged"] if named else []
        )


@pytest.mark.parametrize("kind", ["decision", "level"])
def test_keys_that_are_all_the_same_are_named(benchmark_file, kind):
    benchmark = declared(benchmark_file, kind)
    key = benchmark.options[0]
    for keys, named in (([key, key], True), ([key, benchmark.options[1]], False), ([], False)):
        items = [f"item-{place}" for place in range(len(keys))]
        keyed = replace(benchmark, answer_keys=dict(zip(items, keys, strict=True)))
        texts = ["; ".join(keyed.own_thresholds), "; ".join(summary(keyed))]
        assert ["so agreement with them is not required" in text for text in texts] == [named] * 2


def test_favourable_options_are_named(benchmark_file):
    """With another one, the same decisions have another difference."""
    decision = declared(benchmark_file, "decision")
    assert "favourable: Y" in decision.own_thresholds
    lumped = replace(decision, favourable=("Y", "N"), labels={"N": "Perhaps"})
    assert "favourable: Y, Perhaps" in lumped.own_thresholds


def test_text_to_which_differences_are_put_down_is_named(demo):
    slanted = replace(demo, slanted=True, swayed_by="a harmless remark")
    said = "differences are put down to a harmless remark, not to the group alone"
    assert slanted.own_thresholds == [said]


@pytest.mark.parametrize(
    "labels", ['white = "Black", black = "White"', 'white = "X", black = "x "']
)
def test_labels_of_other_groups_are_refused(benchmark_file, labels):
    race = f"""[attributes.race_2]
label = "Race"
groups = {{ {labels} }}
pairs = [["white", "black"]]
"""
    with pytest.raises(InputError, match=r"attributes.race_2.groups.*is the name of the group"):
        load_benchmark(benchmark_file(baseline=race))


@pytest.mark.parametrize(
    "command",
    [
        ("analyze",),
        ("compare", "--old", "one", "--new", "two"),
        ("rank",),
        ("gate", "--equivalent"),
    ],
    ids=lambda command: command[0],
)
def test_commands_name_what_verdicts_rest_on(tmp_path, demo, command):
    name, *options = command
    answers = make_answers(0.8, models=["one", "two"])
    path = write_answers(answers, tmp_path / "answers.parquet")
    assert demo.basis() in " ".join(run(name, path, *options).output.split())
    for alpha in (0.05, 0.1):
        found = json.loads(run(name, path, *options, "--alpha", alpha, "--json").output)
        gated = name == "gate"
        rows = [found["benchmarks"]["demo"]] if gated else [row["declaration"] for row in found]
        assert set(rows) == {demo.basis(alpha=alpha)}


# Thresholds below a guess


@pytest.mark.parametrize("least", ["0", "0.2", "0.39"])
def test_accuracy_that_a_guess_reaches_is_refused(benchmark_file, least):
    keys = "item_id,answer_key\n" + "".join(f"i{i},{'AABBC'[i % 5]}\n" for i in range(20))
    table = f"[ranking]\nlowest_accuracy = {least}\n"
    path = benchmark_file(keys, versions=f'{table}[versions]\n1 = "the only one"')
    with pytest.raises(InputError, match="below the accuracy of the best guess") as refused:
        load_benchmark(path)
    (problem,) = refused.value.problems
    assert problem.column == "ranking.lowest_accuracy"
    assert problem.remedy == "give at least 0.4, or remove it to require the best guess"


def test_required_accuracy_is_for_choices_only(benchmark_file):
    path = benchmark_file(
        options='kind = "decision"\noptions = ["A", "B", "C"]\nfavourable = ["A"]',
        versions='[ranking]\nlowest_accuracy = 0.9\n[versions]\n1 = "the only one"',
    )
    with pytest.raises(InputError, match="is used for choices only; remove it"):
        load_benchmark(path)


# Repeated items

CROSSED = """
name = "crossed"
title = "Crossed"
description = "Made."
options = ["A", "B"]
items_file = "crossed.items.jsonl"
missing = "available"
equivalence_margin = 0.05
sources = ["https://example.org"]
licence = "CC BY 4.0"
citation = "Me (2026)"
[versions]
1 = "the only one"
[attributes.race]
label = "Race"
groups = { white = "White", black = "Black" }
pairs = [["white", "black"]]
[attributes.sex]
label = "Sex"
groups = { male = "Male", female = "Female" }
pairs = [["male", "female"]]
[attributes.race_sex]
label = "Race and sex"
crosses = ["race", "sex"]
groups = { white_male = "WM", black_male = "BM", white_female = "WF", black_female = "BF" }
pairs = []
"""


def item(name: str, text: str = TEXT, **changed: object) -> dict[str, object]:
    groups = ("white", "black", "asian", "original", "neutralized")
    variants = {group: f"{text} {group}" for group in groups}
    options = {"A": "wait", "B": "test", "C": "treat"}
    return {"item_id": name, "options": options, "answer_key": "A", "variants": variants} | changed


@pytest.fixture
def with_items(benchmark_file):
    """Write a benchmark with these items; with `keys`, its keys are in a file of their own."""

    def write(items: list[dict[str, object]], *, keys: bool) -> Path:
        listed = "item_id,answer_key\n" + "".join(f"{one['item_id']},A\n" for one in items)
        named = 'items_file = "items.jsonl"' + '\nkeys_file = "keys.csv"' * keys
        path = benchmark_file(listed, keys_file=named)
        lines = "".join(json.dumps(one) + "\n" for one in items)
        path.with_name("items.jsonl").write_text(lines, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("keys", [True, False])
@pytest.mark.parametrize(
    "copy",
    [
        item("two"),
        item("two", f" {TEXT.upper()}\n"),
        item("two", TEXT.replace("a", "\N{CYRILLIC SMALL LETTER A}") + "\N{ZERO WIDTH SPACE}"),
        item("two", options={"C": "wait", "A": "treat", "B": "test"}, answer_key="C"),
        item("two", topic="Another"),
    ],
)
def test_repeated_item_is_refused(with_items, keys, copy):
    path = with_items([item("one"), copy], keys=keys)
    with pytest.raises(InputError, match="has the texts and the key of item one") as refused:
        load_benchmark(path)
    (problem,) = refused.value.problems
    assert (problem.row, problem.column, problem.value) == (2, "item_id", "two")
    done = run("benchmark", "check", path)
    assert done.exit_code == 1
    assert "has the texts and the key of item one" in " ".join(done.output.split())


@pytest.mark.parametrize("keys", [True, False])
@pytest.mark.parametrize(
    "other",
    [
        item("two", f"{TEXT} It is urgent."),
        item("two", options={"A": "wait", "B": "scan", "C": "treat"}),
    ],
)
def test_similar_items_are_accepted(with_items, keys, other):
    assert len(load_benchmark(with_items([item("one"), other], keys=keys)).items) == 2


def test_repeated_texts_in_a_file_of_keys_are_refused(benchmark_file):
    rows = "".join(f'i{i},A,"{TEXT}"\n' for i in range(3))
    path = benchmark_file(f"item_id,answer_key,question\n{rows}")
    with pytest.raises(InputError) as refused:
        load_benchmark(path)
    assert [problem.value for problem in refused.value.problems] == ["i1", "i2"]


def test_groups_with_one_text_are_refused(with_items):
    """All models would be fair: nothing differs between the groups."""
    many = [item(f"i{i}", f"{TEXT} {i}") for i in range(20)]
    for one in many[:2]:
        one["variants"]["black"] = f" {one['variants']['white'].upper()}"
    path = with_items(many, keys=False)
    with pytest.raises(InputError, match="white and black have the same text in 2 items") as found:
        load_benchmark(path)
    assert [problem.column for problem in found.value.problems] == ["attributes.race"]
    assert run("benchmark", "check", path).exit_code == 1
    # As many as may be missing are no reason to refuse the others.
    many[0]["variants"]["black"] += " Another text."
    assert len(load_benchmark(with_items(many, keys=False)).items) == 20


@pytest.mark.parametrize(
    "copied",
    [
        lambda text: text + "\N{ZERO WIDTH SPACE}",
        lambda text: text[:5] + "\N{SOFT HYPHEN}" + text[5:],
        lambda text: text.replace("a", "\N{CYRILLIC SMALL LETTER A}"),
    ],
)
def test_groups_with_texts_that_look_the_same_are_refused(with_items, copied):
    one = item("one")
    one["variants"]["black"] = copied(one["variants"]["white"])
    with pytest.raises(InputError, match="white and black have the same text in 1 item"):
        load_benchmark(with_items([one], keys=False))


def test_crossed_groups_with_one_text_are_refused(tmp_path):
    """The gaps of race and sex are made of them."""
    groups = ("white_male", "black_male", "white_female", "black_female")
    texts = {group: f"{TEXT} {group[:5]}" for group in groups}
    row = {"item_id": "one", "answer_key": "A", "variants": texts}
    (tmp_path / "crossed.items.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "crossed.toml").write_text(CROSSED)
    with pytest.raises(InputError) as found:
        load_benchmark(tmp_path / "crossed.toml")
    assert [problem.message for problem in found.value.problems] == [
        f"{race}_male and {race}_female have the same text in 1 item" for race in ("white", "black")
    ]


def test_items_of_one_source_are_no_copies(benchmark_file):
    rows = "".join(f'i{i},A,"{TEXT}"\n' for i in range(3))
    assert len(load_benchmark(benchmark_file(f"item_id,answer_key,source\n{rows}")).items) == 3


def test_missing_texts_are_named_by_check(benchmark_file):
    done = run("benchmark", "check", benchmark_file())
    assert "repeated items are not found" in " ".join(done.output.split())


def test_items_without_keys_are_named(benchmark_file):
    """Answers need only agree with these keys to be judged."""
    items = tuple(f"item-{i}" for i in range(300))
    whole = replace(declared(benchmark_file, "decision"), listed=items)
    few = replace(whole, answer_keys={item: "YN"[i % 2] for i, item in enumerate(items[:24])})
    every = replace(whole, answer_keys={item: "YN"[i % 2] for i, item in enumerate(items)})
    assert [one.own_thresholds for one in (whole, few, every)] == [
        ["no right answers are listed", "favourable: Y"],
        ["keys of 24 of 300 items", "favourable: Y"],
        ["favourable: Y"],
    ]


@pytest.mark.parametrize(
    ("clusters", "words", "expected"),
    [
        ([f"p{i % 3}" for i in range(300)], Words(), ["only 3 clusters"]),
        (["p0"] * 300, Words(cluster="patient"), ["only 1 patient"]),
        (
            [f"p{max(i - 199, 0)}" for i in range(300)],
            Words(cluster="patient", items="stays"),
            ["one patient has 200 of 300 stays"],
        ),
        ([f"p{i % 10}" for i in range(300)], Words(), []),
    ],
)
def test_clusters_that_are_few_or_large_are_named(clusters, words, expected, benchmark_file):
    """Intervals assume many independent units."""
    items = [f"item-{i}" for i in range(300)]
    benchmark = replace(
        declared(benchmark_file, "decision"),
        listed=tuple(items),
        cluster="pt",
        clusters=dict(zip(items, clusters, strict=True)),
        words=words,
    )
    assert benchmark.own_thresholds[3:] == expected
    (units,) = [line for line in summary(benchmark) if line.startswith("independent units: ")]
    end = "".join(f" ({text})" for text in expected)
    assert units.endswith(end or "in the file of items")
    assert ("of equal size" in units) == (len(set(Counter(clusters).values())) > 1)
    (rule,) = [line for line in summary(benchmark) if line.startswith("informative: ")]
    assert ("no model can be" in rule) == (len(set(clusters)) < 4)


def test_summary_has_the_effective_clusters_and_the_margins_they_cannot_show(benchmark_file):
    """With all answers right, the smallest margin is the room for rare wards."""
    wards = np.repeat(np.arange(12), np.arange(2, 26, 2))
    key = np.resize(["A", "B", "C"], len(wards))
    keys = "item_id,answer_key,ward\n" + "".join(
        f"i{place},{right},w{ward}\n"
        for place, (right, ward) in enumerate(zip(key, wards, strict=True))
    )
    path = benchmark_file(keys=keys, missing='missing = "available"\ncluster = "ward"', baseline="")
    benchmark = load_benchmark(path)
    lines = list(summary(benchmark))
    of_wards = "12 values of ward in the file of items, which count as 9.4 of equal size"
    assert f"independent units: {of_wards}" in lines
    (margin,) = [line for line in lines if line.startswith("equivalence: ")]
    answers = pd.concat(
        pd.DataFrame({"item_id": list(benchmark.items), "group": group, "answer": key})
        for group in ("white", "black")
    ).assign(benchmark="three", benchmark_version="1", model="m", strategy="plain", sample=0)
    answers = answers.assign(attribute="race", answer_key=np.tile(key, 2))
    smallest = smallest_margins(answers, benchmarks=[benchmark])["smallest_margin"].iloc[0]
    assert f"±{math.floor(1000 * smallest) / 10:g} points or less" in margin
    assert margin.endswith("so never at the declared one")
    wide = replace(benchmark, equivalence_margin=float(smallest) + 0.001)
    assert not any(line.endswith("so never at the declared one") for line in summary(wide))
