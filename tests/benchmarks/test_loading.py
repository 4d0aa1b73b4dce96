"""Benchmark files: the built-in ones, and all possible faults."""

from __future__ import annotations

import json

import pytest

from fairstats._lib.model_names import named_in
from fairstats._lib.problems import InputError
from fairstats.benchmarks.loading import builtin_benchmarks, load_benchmark, load_benchmarks


def said_of(call) -> str:
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


#: The attributes and the number of variants of benchmarks other than those of patient groups.
VARIED = {"medperturb": (["gender"], 4), "biasmedqa": (["bias"], 8)}
#: The numbers of questions of benchmarks without groups.
QUESTIONS = {"mmlu": 1089, "medqa": 1273, "medmcqa": 4183, "pubmedqa": 500, "bioasq": 618}
VARIED |= {f"mirage-{name}": (["question"], 1) for name in QUESTIONS}


@pytest.mark.parametrize("name", sorted(builtin_benchmarks()))
def test_built_in_benchmark_follows_its_declarations(name):
    benchmark = load_benchmark(name)
    assert benchmark.name == name
    assert set(benchmark.answer_keys.values()) <= set(benchmark.options)
    varied, variants = VARIED.get(name, (["race", "sex", "ses"], 8))
    assert [attribute.name for attribute in benchmark.varied] == varied
    assert len(benchmark.variants) == variants
    if name.startswith("mirage-"):
        assert len(benchmark.answer_keys) == QUESTIONS[name.removeprefix("mirage-")]
        assert not benchmark.has_pairs
        return
    for attribute in benchmark.attributes.values():
        assert {group for pair in attribute.pairs for group in pair} == set(attribute.groups)


def test_fairmedqa_is_published_as_its_authors_did_and_names_its_selecting_model():
    benchmark = load_benchmark("fairmedqa")
    assert len(benchmark.answer_keys) == 801
    assert benchmark.missing == "available"
    assert list(benchmark.selected_on) == ["GPT-4o-mini"]
    assert list(benchmark.versions) == ["deepseek-agent", "gpt-agent"]
    assert benchmark.items_file is None


@pytest.mark.parametrize("field", ["versions", "attributes", "answer_keys", "selected_on"])
def test_what_a_built_in_benchmark_declares_cannot_be_changed(field):
    # It is read once and used by all.
    with pytest.raises(TypeError, match="does not support item assignment"):
        getattr(load_benchmark("fairmedqa"), field)["added"] = "x"
    assert "added" not in getattr(load_benchmark("fairmedqa"), field)


def test_sentences_name_the_attributes_whose_pairs_are_compared(benchmark_file):
    others = """[attributes.hiv]
label = "HIV status"
groups = { yes = "Positive", no = "Negative" }
pairs = [["no", "yes"]]
[attributes.race_hiv]
label = "Race and HIV status"
crosses = ["race", "hiv"]
groups = { white_yes = "1", white_no = "2", black_yes = "3", black_no = "4" }
pairs = []"""
    race = """[attributes.race]
label = "Race"
groups = { white = "White", black = "Black" }
pairs = [["white", "black"]]"""
    benchmark = load_benchmark(benchmark_file(race=race, baseline=others))
    # The crossed groups are not compared with each other, and an abbreviation keeps its capitals.
    assert benchmark.changes.endswith("race or HIV status")


def test_demo_ships_its_items(demo):
    assert len(demo.answer_keys) == 24
    assert demo.items_file is not None
    assert demo.items_file.is_file()


def test_any_number_of_groups_can_be_declared(three_groups):
    race = three_groups.attributes["race"]
    assert list(race.groups) == ["white", "black", "asian"]
    assert race.pairs == (("white", "black"), ("white", "asian"), ("black", "asian"))
    assert race.pair_label(race.pairs[1]) == "White − Asian"
    assert three_groups.answer_keys == {"i1": "A", "i2": "B", "i3": "A"}


def test_an_unknown_name_is_answered_with_the_known_ones():
    said = said_of(lambda: load_benchmark("nowhere"))
    assert "nowhere: no such benchmark" in said


def test_given_benchmarks_are_known_by_their_own_names(three_groups, demo):
    known = load_benchmarks(["three", "demo"], [three_groups])
    assert known["three"] is three_groups
    assert known["demo"] == demo
    assert load_benchmarks(["demo"], {"demo": three_groups})["demo"] == demo


VERSIONS = '[versions]\n1 = "the only one"'
RANKING = f"{VERSIONS}\n[ranking]\n"
MARGIN = "equivalence_margin = "
RACE = '[attributes.race]\nlabel = "Race"\ngroups = {{ {groups} }}\npairs = [{pairs}]'
WHITE, BLACK = 'white = "White"', 'black = "Black"'
BLIND = """[attributes.baseline]
label = "Baseline"
groups = { original = "Original", blind = "Blind" }
pairs = [["original", "blind"]]"""
NO_PAIR = "attributes.race.pairs: has no pair, or an invalid pair"
REQUIRED = ("name", "title", "options", "missing", "sources", "licence", "citation", "versions")


def pairs(groups: str, pairs: str) -> dict[str, str]:
    return {"race": RACE.format(groups=groups, pairs=pairs)}


#: Replaced parts of a valid file, and the problem that the reader gets.
REFUSED = [
    *(({part: ""}, f"{part}: is missing; add it") for part in REQUIRED),
    # Unknown keys, with the closest known one.
    ({"versions": f'{VERSIONS}\n[selectd_on]\nm = "role"'}, "selectd_on: unknown key; did you"),
    (
        {"missing": 'mising = 1\nmissing = "available"'},
        "mising: unknown key; did you mean missing?",
    ),
    (
        {"versions": f"{RANKING}largest = 1"},
        "ranking.largest: unknown key; did you mean largest_missing?",
    ),
    (
        {
            "race": RACE.format(groups=f"{WHITE}, {BLACK}", pairs='["white", "black"]')
            + "\npair = 1"
        },
        "attributes.race.pair: unknown key; did you mean pairs?",
    ),
    # Values of another type, or outside their range.
    ({"missing": 'missing = "guess"'}, "missing = 'guess': is unknown; use one of available"),
    ({"missing": "missing = 3"}, "missing: has the wrong type; write a text"),
    ({"equivalence_margin": f"{MARGIN}0"}, "must be between 0 and 1"),
    ({"equivalence_margin": f"{MARGIN}nan"}, "must be between 0 and 1"),
    ({"equivalence_margin": f'{MARGIN}"wide"'}, "has the wrong type"),
    ({"title": 'title = "T"\nfamily = "page"'}, "family = 'page': is unknown"),
    ({"versions": f"{RANKING}largest_missing = 5"}, "ranking.largest_missing = '5': must be"),
    ({"versions": f"{RANKING}lowest_accuracy = -0.1"}, "ranking.lowest_accuracy = '-0.1': must be"),
    ({"versions": f"{RANKING}common_items = 95"}, "ranking.common_items = '95': must be"),
    *(
        ({"title": f'title = "T"\npublish_items = {value}'}, "publish_items: has the wrong type")
        for value in ('"yes"', "1")
    ),
    *(
        (
            {"title": f'title = "T"\nsame_variants_odds_ratio = {value}'},
            "must be a number above 1; correct it, or remove it",
        )
        for value in ("1", "0.5", "-2", "true", '"2.5"', "inf", "nan")
    ),
    ({"race": "[attributes]\nrace = 1"}, "has the wrong type"),
    (pairs(WHITE, '["white"]'), "has the wrong type"),
    ({"name": "name = "}, "is not valid TOML"),
    # Contradictions.
    ({"race": ""}, "attributes: contain only the baseline"),
    ({"baseline": BLIND}, "attributes.baseline: has no group `neutralized`"),
    (
        {"baseline": "", "versions": f"{RANKING}lowest_accuracy = 0.7"},
        "ranking.lowest_accuracy: needs the neutralized variant",
    ),
    (
        pairs(WHITE, '["white", "black"]'),
        "race.pairs = 'black': unknown group; add it to the groups of the attribute",
    ),
    (pairs(f"{WHITE}, {BLACK}", '["white", "white"]'), NO_PAIR),
    (pairs(f"{WHITE}, {BLACK}", '["white", "black"], ["white", "black"]'), NO_PAIR),
    (pairs(f"{WHITE}, {BLACK}", '["white", "black"], ["black", "white"]'), NO_PAIR),
    (pairs(f"{WHITE}, {BLACK}", ""), NO_PAIR),
    (pairs(WHITE, ""), NO_PAIR),
    # The file of keys.
    ({"keys_file": 'keys_file = "nowhere.csv"'}, "nowhere.csv: no such file"),
    ({"keys": "item,answer_key\ni1,A\n"}, "keys.csv: item_id: is missing; add it"),
    ({"keys": "item_id,answer_key\ni1,\n"}, "keys.csv: row 1: answer_key: must be text"),
    ({"keys": "item_id,answer_key\ni1,A\ni1,B\n"}, "row 2: item_id = 'i1': the item appears twice"),
    ({"keys": "item_id,answer_key\ni1,A\ni1 ,A\n"}, "row 2: item_id = 'i1 ': must be visible"),
    ({"keys": "item_id,answer_key\ni1\u200b,A\n"}, "must be visible characters without spaces at"),
    ({"keys": "item_id,answer_key\ni1,Z\n"}, "keys.csv: keys that are not options: Z; correct"),
]


DECISION = 'kind = "decision"\noptions = {options}\nfavourable = {good}'
LEVEL = 'kind = "level"\noptions = {options}'
SCORE = 'kind = "score"\nlimits = {limits}'
YES_NO = '["yes", "no"]'
#: Kinds of answers that no file of answers could match, or that contradict themselves.
REFUSED += [
    ({"options": part, **more}, message)
    for part, more, message in [
        (DECISION.format(options=YES_NO, good="[]"), {}, "favourable: is missing; list"),
        (DECISION.format(options=YES_NO, good='["Yes"]'), {}, "favourable = 'Yes': is not an opt"),
        (DECISION.format(options=YES_NO, good=YES_NO), {}, "favourable: contains every option"),
        (
            DECISION.format(options='["yes", "Yes"]', good='["yes"]'),
            {},
            "options: 'yes' and 'Yes' are the same answer in another spelling; remove one",
        ),
        (
            LEVEL.format(options='["1", "1.0", 2]'),
            {},
            "options: '1' and '1.0' are the same answer in another spelling",
        ),
        (LEVEL.format(options="[1]"), {}, "options: must be two or more, from lowest"),
        (LEVEL.format(options="[2, 1]"), {}, "options: must be two or more, from lowest"),
        (LEVEL.format(options='["a", "a "]'), {}, "options: must be texts of 1 to 60 characters"),
        (LEVEL.format(options='["a", "b\\u202e"]'), {}, "options: must be texts of 1 to 60"),
        (LEVEL.format(options="[1, 2]"), {"equivalence_margin": f"{MARGIN}1"}, "between 0 and 1"),
        (LEVEL.format(options="[1, 2]\nlimits = [1, 2]"), {}, "limits: is used for scores only"),
        (LEVEL.format(options="[1, 2]\nsame_within = 1"), {}, "same_within: is used for scores"),
        (LEVEL.format(options='[1, 2]\nlabels = { 3 = "x" }'), {}, "labels.3: is not an option"),
        (
            LEVEL.format(options='[1, 2]\nlabels = { 1 = "2" }'),
            {},
            "labels.1 = '2': is the option '2'; use another label",
        ),
        (LEVEL.format(options='[1, 2]\ncluster = "item_id"'), {}, "cluster = 'item_id': must be"),
        (SCORE.format(limits="[1, 1]"), {}, "limits: must be the lowest and the highest score"),
        (SCORE.format(limits="[1]"), {}, "limits: has the wrong type"),
        (SCORE.format(limits="[-1e308, 1e308]"), {}, "limits: must be within ±1e+09 and more than"),
        (
            SCORE.format(limits="[0, 1e-300]"),
            {"equivalence_margin": f"{MARGIN}1e-301"},
            "limits: must be within ±1e+09 and more than 1e-09 apart; choose another unit",
        ),
        (LEVEL.format(options="[1, 1e10]"), {}, "options: must be within ±1e+09 and more than"),
        (
            SCORE.format(limits="[0, 9]") + "\nsame_within = 9",
            {},
            "same_within: makes any two scores the same; give less than 9",
        ),
        ('kind = "score"', {}, "limits: is missing; give the lowest and the highest score"),
        (
            SCORE.format(limits="[0, 9]"),
            {"equivalence_margin": f"{MARGIN}9"},
            "equivalence_margin: must be between 0 and 9",
        ),
        (
            SCORE.format(limits="[0, 9]") + "\noptions = [1, 2]",
            {},
            "options: are not used by scores",
        ),
        (
            SCORE.format(limits="[0, 9]"),
            {"keys": "item_id,answer_key\ni1,10\n"},
            "keys.csv: keys that are not options: 10",
        ),
        (
            f'{SCORE.format(limits="[0, 9]")}\ncluster = "patient"',
            {"keys": "item_id,patient\ni1,p1\ni2,\n"},
            "keys.csv: row 2: patient: must be text; write what the item belongs to, in every row",
        ),
    ]
    for more in [{"keys": "item_id\ni1\n"} | more]
]
REFUSED += [
    ({"title": 'title = "a\\u001b[31m"'}, "title = 'a\\x1b[31m': has a control character"),
    ({"title": 'title = " "'}, "title = ' ': is empty"),
    ({"title": f'title = "{"x" * 501}"'}, "has 501 characters; use at most 500"),
    ({"citation": f'citation = "{"x" * 5001}"'}, "has 5,001 characters; use at most 5,000"),
    ({"licence": 'licence = "a\\u0000b"'}, "licence = 'a\\x00b': has a control character"),
    ({"versions": '[versions]\n1 = "a\\u2028b"'}, "versions.1 = 'a\\u2028b': has a control"),
    (
        pairs(f'black = "\\u202eB", {WHITE}', '["black", "white"]'),
        "groups.black = '\\u202eB': has a control character, or one that reverses the text",
    ),
    (
        {"versions": '[versions]\n1 = "x"\n[words]\nitem = "a\\rb"'},
        "words.item = 'a\\rb': has a control",
    ),
    ({"versions": '[versions]\n1 = "x"\n[words]\nitem = ""'}, "words.item = '': is empty"),
    (
        {"versions": '[versions]\n1 = "x"\n[selected_on]\n"a\\u202e" = "x"'},
        "selected_on = 'a\\u202e': has a",
    ),
    ({"versions": '[versions]\n" 1" = "x"'}, "versions. 1 = ' 1': has spaces at the ends"),
    (pairs(f'"a\\u202e" = "A", {WHITE}', '["a\\u202e", "white"]'), "is not a possible name"),
    ({"keys": f"item_id,answer_key\n{'i' * 201},A\n"}, "keys.csv: item_id = 'iii"),
]


def test_long_texts_may_have_lines_and_letters_of_any_script(benchmark_file):
    note = "Première ligne\\nΔεύτερη\\u00a0γραμμή\\n\\u0645\\u06cc\\u200c\\u062e"
    load_benchmark(benchmark_file(sources=f'sources = ["none"]\nnotes = ["{note}"]'))


@pytest.mark.parametrize(("replaced", "message"), REFUSED)
def test_faulty_file_is_refused_with_one_problem(replaced, message, benchmark_file):
    path = benchmark_file(**replaced)
    with pytest.raises(InputError) as caught:
        load_benchmark(path)
    (problem,) = caught.value.problems
    assert str(problem).startswith(str(path.parent))
    assert message in str(problem)


SEX = '[attributes.sex]\nlabel = "Sex"\ngroups = { m = "M", f = "F" }\npairs = [["m", "f"]]\n'
BOTH = '[attributes.both]\nlabel = "Both"\ncrosses = ["race", "sex"]\n'


def crossed(names, race=None):
    """Return the parts of a file in which the named groups cross race and sex."""
    groups = ", ".join(f'"{name}" = "{place}"' for place, name in enumerate(names))
    pairs = json.dumps([names[:2]])
    parts = {"baseline": f"{SEX}{BOTH}pairs = {pairs}\ngroups = {{ {groups} }}"}
    return parts | ({"race": race} if race else {})


@pytest.mark.parametrize(
    ("names", "levels"),
    [
        (["white+m", "black+f"], [("white", "m"), ("black", "f")]),
        (["white_m", "black_f"], [("white", "m"), ("black", "f")]),
        (["m+white", "f+black"], [("white", "m"), ("black", "f")]),
        # One group is named differently.
        (["white_m", "bf"], None),
    ],
)
def test_names_of_crossed_groups_tell_their_levels(names, levels, benchmark_file):
    path = benchmark_file(**crossed(names))
    if levels is None:
        assert "attributes.both: levels must include each group" in said_of(
            lambda: load_benchmark(path)
        )
    else:
        assert list(load_benchmark(path).attributes["both"].levels.values()) == levels


def test_name_that_is_split_in_two_ways_needs_levels(benchmark_file):
    race = RACE.format(groups='a = "A", a_b = "AB"', pairs='["a", "a_b"]')
    sex = SEX.replace("m = ", "b_c = ").replace("f = ", "c = ").replace('"m", "f"', '"b_c", "c"')
    both = f'{BOTH}pairs = []\ngroups = {{ a_b_c = "1", a_c = "2" }}'
    path = benchmark_file(race=race, baseline=sex + both)
    assert "levels must include each group" in said_of(lambda: load_benchmark(path))


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["white+m", "black+m", "asian+m"], "no group of race is crossed with all groups of sex"),
        (["white+m", "black+f", "asian+m", "asian+f"], "of sex is crossed with all groups of race"),
        (["white+m", "black+m", "asian+m", "white+f"], None),
    ],
)
def test_crossing_that_gives_no_gap_of_an_attribute_is_refused(names, text, benchmark_file):
    parts = crossed(names)
    # Pairs of its own are a reason to declare it.
    assert load_benchmark(benchmark_file(**parts)).attributes["both"].pairs
    lines = parts["baseline"].splitlines()
    lines[lines.index(f"pairs = {json.dumps([names[:2]])}")] = "pairs = []"
    path = benchmark_file(baseline="\n".join(lines))
    if text is None:
        assert load_benchmark(path)
    else:
        assert text in said_of(lambda: load_benchmark(path))


def test_named_option_is_found_in_other_letters_and_by_its_label(benchmark_file):
    labels = 'labels = { yes = "Invite them", no = "Reject" }'
    options = DECISION.format(options='["yes", "no", "3"]', good='["yes"]')
    part = f"{options}\n{labels}"
    benchmark = load_benchmark(benchmark_file(options=part, keys="item_id\ni1\n"))
    named = {"YES ": "yes", "invite  THEM": "yes", "reject": "no", "3.00": "3", "4": None, "": None}
    assert {text: benchmark.named(text) for text in named} == named


def test_file_of_keys_in_another_encoding_is_named(benchmark_file):
    path = benchmark_file()
    (path.parent / "keys.csv").write_bytes("item_id,answer_key\ni1,\xff\n".encode("latin-1"))
    assert "is not UTF-8" in said_of(lambda: load_benchmark(path))


def test_missing_file_is_named(tmp_path):
    assert "no such file" in said_of(lambda: load_benchmark(tmp_path / "nowhere.toml"))


def test_a_folder_named_like_a_benchmark_file_is_an_input_error(tmp_path):
    (tmp_path / "folder.toml").mkdir()
    said_of(lambda: load_benchmark(tmp_path / "folder.toml"))


@pytest.mark.parametrize(
    "name",
    [
        "GPT-4o-mini ",
        "gpt-4o-mini",
        "GPT_4o mini",
        "GPT-4\N{CYRILLIC SMALL LETTER O}-mini",
        "G\N{GREEK CAPITAL LETTER RHO}T-4o-mini",
        "GPT\N{NON-BREAKING HYPHEN}4o\N{EN DASH}mini",
        "GPT-4o\N{ZERO WIDTH SPACE}-mini",
        "\N{FULLWIDTH LATIN CAPITAL LETTER G}PT-4o-mini",
        "gpt-4o-mini-2024-07-18",
        "OpenAI/GPT-4o-mini",
        "openrouter/openai/gpt-4o-mini-20240718",
        "GPT-4o-mini (OpenAI)",
        "GPT4o mini (2024-07-18)",
        "openai:gpt-4o-mini-latest",
        "GPT-4o-mini@0718 via Azure",
    ],
)
def test_selecting_model_is_found_in_other_spellings_and_snapshots(name):
    benchmark = load_benchmark("fairmedqa")
    assert name in benchmark.selected_on
    assert benchmark.selected_on[name] == benchmark.selected_on["GPT-4o-mini"]
    assert named_in([name, "GPT-4o"], benchmark.selected_on).tolist() == [True, False]


@pytest.mark.parametrize(
    "name",
    [
        "GPT-4o",
        "gpt-4o-2024-07-18",
        "OpenAI/GPT-4o",
        "GPT-4.1-mini",
        "GPT-4o-mini-2",
        "GPT-4o-mini-tts",
        "openai/o4-mini",
        "OpenAI",
        "2024-07-18",
        "",
    ],
)
def test_other_model_is_not_the_selecting_one(name):
    assert name not in load_benchmark("fairmedqa").selected_on


def test_no_name_is_selected_if_the_benchmark_declares_none(demo):
    assert list(demo.selected_on) == []
    assert "" not in demo.selected_on


@pytest.mark.parametrize("part", ["a", '"\\""', "'a' "])
def test_a_key_of_many_parts_is_refused_before_it_takes_gigabytes(part, tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(f"name = 'a'\n{'.'.join([part] * 30_000)} = 1\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 2 contains more than 64 dots"):
        load_benchmark(path)
    path.write_text(f"name = '{'a' * 2**20}'\n", encoding="utf-8")
    with pytest.raises(InputError, match="is larger than 1,048,576 bytes"):
        load_benchmark(path)


def test_only_fairmedqa_declares_a_same_variants_odds_ratio():
    assert load_benchmark("fairmedqa").same_variants_odds_ratio == 2.5
    for name in ("demo", "medperturb"):
        assert load_benchmark(name).same_variants_odds_ratio is None


def test_ranking_rules_have_defaults():
    benchmark = load_benchmark("fairmedqa")
    assert benchmark.family == "board"
    assert benchmark.largest_missing == 0.05
    assert benchmark.lowest_accuracy is None
    assert benchmark.common_items == 0.95


def test_chance_is_at_least_the_share_of_the_most_frequent_key():
    benchmark = load_benchmark("fairmedqa")
    keys = list(benchmark.answer_keys.values())
    assert benchmark.chance == max(keys.count(letter) for letter in "ABCD") / len(keys)
    assert benchmark.chance > 1 / 4
