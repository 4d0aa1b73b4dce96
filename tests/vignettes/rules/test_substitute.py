"""Variants differ from the neutralized vignette only in the words for a group."""

import csv
import json
import random
import re
from pathlib import Path

import pytest
from fairstats_collectors.amqa import convert_amqa
from fairstats_collectors.collect import collect

from fairstats._lib.installation import resource
from fairstats._lib.problems import InputError
from fairstats._lib.untrusted_files import read_json_lines
from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.vignette_items import load_items
from fairstats.estimates.analyze import analyze
from fairstats.vignettes.rules.persons import put_in
from fairstats.vignettes.rules.substitute import load_groups, substitute

CPV = resource("data", "substitutions", "cpv.toml")
WORDS = load_groups(CPV).words
HOSTILE = "A 40-year-old patient $question ${x} {0} \\1 \\g<0> .*\n\u2028\x7f <b>\"pain'\U0001f600."


@pytest.fixture
def items_file(tmp_path):
    """Write an items file with one item for each neutralized vignette, or for each row's
    replacements."""

    def write(*rows):
        lines = []
        for number, row in enumerate(rows):
            given = {"variants": {"neutralized": row}} if isinstance(row, str) else row
            item = {
                "item_id": f"i{number}",
                "options": {"A": "Rest", "B": "Surgery"},
                "answer_key": "A",
            } | given
            lines.append(json.dumps(item) + "\n")
        path = tmp_path / "items.jsonl"
        path.write_text("".join(lines), encoding="utf-8")
        return path

    return write


def taken_out(text, words):
    """Return the text without the inserted words, and the text before them."""
    before, found, after = text.partition(f"{words} ")
    assert found
    return before, after


def assert_only_the_words_differ(neutral, variants):
    for group, words in WORDS.items():
        before, after = taken_out(variants[group], words)
        assert neutral.endswith(after)
        head = neutral[: len(neutral) - len(after)]
        # An article right before the words belongs to them; the rest is the neutral text.
        assert re.sub(r"\b([Aa])n? $", r"\1 ", before) == re.sub(r"\b([Aa])n? $", r"\1 ", head)
        assert variants[group].count(words) == neutral.count(words) + 1


@pytest.mark.parametrize(
    ("text", "start", "words", "said"),
    [
        ("A patient", 2, "Asian", "An Asian patient"),
        ("An individual", 3, "Black", "A Black individual"),
        ("seen in a patient", 10, "Asian", "seen in an Asian patient"),
        ("The patient", 4, "Asian", "The Asian patient"),
        ("An 80-year-old patient", 15, "White", "An 80-year-old White patient"),
        ("A patient", 2, "European", "A European patient"),
        ("A patient", 2, "unidentified", "An unidentified patient"),
        ("Vitamin A patient", 10, "Asian", "Vitamin An Asian patient"),
        ("A patient", 2, r"\1 $x", r"A \1 $x patient"),
    ],
)
def test_the_article_is_set_right(text, start, words, said):
    assert put_in(text, start, words) == said


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"variants": {}}, "variants.neutralized: no vignette"),
        ({"variants": {"neutralized": " "}}, "variants.neutralized"),
        ({"variants": {"neutralized": "A\ud800 patient"}}, "variants: is not valid Unicode text"),
        ({"variants": None}, "variants: must contain one"),
        ({"options": {}}, "row 1: options"),
        ({"options": None}, "row 1: options"),
        ({"answer_key": "Z"}, "row 1: answer_key = 'Z'"),
        ({"item_id": 4}, "row 1: item_id = '4'"),
    ],
)
def test_unusable_item_is_named_and_prevents_writing(items_file, tmp_path, row, said):
    whole = {"variants": {"neutralized": "A patient has pain."}} | row
    with pytest.raises(InputError, match=said):
        substitute(items_file(whole), groups=CPV, out=tmp_path / "out", name="new")
    assert not (tmp_path / "out").exists()


def test_no_items_prevent_writing(items_file, tmp_path):
    with pytest.raises(InputError, match="the file is empty"):
        substitute(items_file(), groups=CPV, out=tmp_path / "out", name="new")
    with pytest.raises(InputError, match="i0': no mention of a patient; no items are left"):
        substitute(items_file("No one."), groups=CPV, out=tmp_path / "out", name="new")
    with pytest.raises(InputError, match="no such file"):
        substitute(tmp_path / "none.jsonl", groups=CPV, out=tmp_path / "out", name="new")
    with pytest.raises(InputError, match="is a built-in benchmark"):
        substitute(items_file("A patient."), groups=CPV, out=tmp_path / "out", name="demo")
    assert not (tmp_path / "out").exists()


def test_item_without_valid_variants_is_left_out_with_a_reason(items_file, tmp_path):
    rows = [
        "A patient has pain.",
        "A 9-year-old patient has pain.",
        "A 40-year-old patient has an enlarged prostate.",
        {"variants": {"neutralized": "A patient bleeds."}, "options": {"A": "Menses", "B": "No"}},
        {"variants": {"neutralized": "A patient bleeds."}, "options": {"A": "Ask him", "B": "No"}},
        "A woman has pain, and a patient too.",
        {"item_id": "=1+1", "variants": {"neutralized": "Nobody, \n is here."}},
    ]
    made = substitute(items_file(*rows), groups=CPV, out=tmp_path / "out", name="new")
    assert (made.items, made.variants) == (1, 21)
    with (tmp_path / "out" / "new.left_out.csv").open(encoding="utf-8", newline="") as file:
        left_out = [(row["item_id"], row["reason"]) for row in csv.DictReader(file)]
    for (item, reason), (expected, end) in zip(
        left_out,
        [
            ("i1", " younger than 10 years"),
            ("i2", "sex-specific: prostat"),
            ("i3", "sex-specific: Menses"),
            ("i4", " still names a group: him"),
            ("i5", " still names a group: woman"),
            ("'=1+1", "no mention of a patient"),  # a spreadsheet would evaluate it
        ],
        strict=True,
    ):
        assert item == expected
        assert reason.endswith(end)
    kept = substitute(
        items_file(*rows), groups=CPV, out=tmp_path / "kept", name="new", keep_sex_specific=True
    )
    assert kept.items == 3
    assert list(load_benchmark(kept.path).answer_keys) == ["i0", "i2", "i3"]


def test_groups_can_allow_children_and_sex_specific_items(items_file, tmp_path):
    groups = tmp_path / "race.toml"
    groups.write_text(
        '[attributes.race]\nlabel = "Race"\nreference = "white"\n'
        'groups = { white = "White", asian = "Asian" }\n'
    )
    rows = ["A newborn has jaundice.", "A 30-year-old patient is pregnant."]
    made = substitute(items_file(*rows), groups=groups, out=tmp_path / "out", name="race")
    first, second = load_items(load_benchmark(made.path))
    assert first.variants["asian"] == "An Asian newborn has jaundice."
    assert second.variants["white"] == "A 30-year-old White patient is pregnant."
    assert made.left_out.empty
    assert (tmp_path / "out" / "race.left_out.csv").read_text() == "item_id,reason\n"


def test_hostile_text_is_unchanged(items_file, tmp_path, run):
    out = tmp_path / "out"
    source = items_file({"item_id": "i,$", "variants": {"neutralized": HOSTILE, "original": "O"}})
    done = run("substitute", "--items", source, "--out", out, "--name", "new")
    assert done.exit_code == 0, done.output
    assert "1 items in 21 variants" in done.output
    (item,) = load_items(load_benchmark(out / "new.toml"))
    assert item.item_id == "i,$"
    assert item.variants["original"] == "O"
    assert item.variants["neutralized"] == HOSTILE
    assert_only_the_words_differ(HOSTILE, item.variants)
    assert {path.name for path in out.iterdir()} == {"new.toml", "new.jsonl", "new.left_out.csv"}


def test_command_names_a_fault_and_writes_no_file(items_file, tmp_path, run):
    source = items_file("Nobody is here.")
    done = run("substitute", "--items", source, "--out", tmp_path / "out", "--name", "new")
    assert done.exit_code == 1
    assert "no mention of a patient" in done.output
    assert not (tmp_path / "out").exists()


def test_missing_original_is_reported(items_file, tmp_path):
    made = substitute(items_file("A patient."), groups=CPV, out=tmp_path / "one", name="one")
    benchmark = load_benchmark(made.path)
    assert any("no original vignette" in note for note in benchmark.notes)
    (item,) = load_items(benchmark)
    assert item.variants["original"] == item.variants["neutralized"]
    both = {"variants": {"neutralized": "A patient.", "original": "A man."}}
    made = substitute(items_file(both), groups=CPV, out=tmp_path / "two", name="two")
    assert not any("no original vignette" in note for note in load_benchmark(made.path).notes)
    with pytest.raises(InputError, match=r"row 2: variants\.original: no vignette"):
        substitute(items_file(both, "A patient."), groups=CPV, out=tmp_path / "three", name="three")


def test_other_variants_of_the_items_are_dropped(tmp_path):
    source = resource("data", "benchmarks", "demo.items.jsonl")
    made = substitute(source, groups=CPV, out=tmp_path, name="demo-cpv")
    assert (made.items, len(made.left_out)) == (24, 0)
    for row, item in zip(
        read_json_lines(source), load_items(load_benchmark(made.path)), strict=True
    ):
        assert item.variants["original"] == row["variants"]["original"]
        assert item.variants["white"] != row["variants"]["white"]
        assert "high_income" not in item.variants
        assert_only_the_words_differ(row["variants"]["neutralized"], item.variants)


def test_second_run_is_identical_and_other_files_are_kept(items_file, tmp_path):
    made = substitute(items_file("A patient."), groups=CPV, out=tmp_path / "out", name="new")
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    again = substitute(items_file("A patient."), groups=CPV, out=tmp_path / "out", name="new")
    assert again.path == made.path
    with pytest.raises(InputError, match="already exists with different content"):
        substitute(items_file("A person."), groups=CPV, out=tmp_path / "out", name="new")
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_disk_failure_leaves_no_incomplete_file(items_file, tmp_path, monkeypatch):
    from fairstats.benchmarks import benchmark_files

    write = benchmark_files._write

    def full(path, text):
        if path.parent.name == "out" and "jsonl" in path.name:
            path.write_text(text[:5])
            raise OSError(28, "No space left on device", str(path))
        write(path, text)

    monkeypatch.setattr(benchmark_files, "_write", full)
    with pytest.raises(OSError, match="No space left"):
        substitute(items_file("A patient."), groups=CPV, out=tmp_path / "out", name="new")
    assert list((tmp_path / "out").iterdir()) == []


def test_benchmark_can_be_run_and_analyzed(tmp_path, all_right, capsys):
    source = resource("data", "benchmarks", "demo.items.jsonl")
    benchmark = load_benchmark(substitute(source, groups=CPV, out=tmp_path, name="demo-cpv").path)
    collect(benchmark, model="m", out=tmp_path, base_url="http://localhost:9/v1", dry_run=True)
    assert "504" in capsys.readouterr().out.replace(",", "")  # 24 items in 21 variants
    answers = all_right(benchmark)
    wrong = (answers["group"] == "black_female") & (answers["item_id"] == "demo-01")
    answers.loc[wrong, "answer"] = "A"
    estimates = analyze(answers, benchmarks=[benchmark])
    found = estimates[
        (estimates["attribute"] == "race_gender")
        & (estimates["metric"] == "accuracy_difference")
        & (estimates["group_a"] == "white_male")
    ].set_index("group_b")["estimate"]
    assert len(found) == 11
    assert found["black_female"] == pytest.approx(1 / 24)
    assert (found.drop("black_female") == 0).all()


def test_variants_of_real_vignettes_differ_only_in_the_words(shared_data, tmp_path):
    source = shared_data("amqa/items.parquet")
    convert_amqa(source, out=tmp_path / "items.jsonl")
    given = read_json_lines(tmp_path / "items.jsonl")
    neutral = {item["item_id"]: item["variants"]["neutralized"] for item in given}
    made = substitute(tmp_path / "items.jsonl", groups=CPV, out=tmp_path, name="amqa-cpv")
    assert made.items + len(made.left_out) == len(given) == 801
    assert made.items / len(given) >= 0.83
    assert made.left_out["reason"].str.contains("more than one|no mention|no noun").sum() <= 10
    for item in load_items(load_benchmark(made.path)):
        assert item.variants["neutralized"] == neutral[item.item_id]
        assert_only_the_words_differ(neutral[item.item_id], item.variants)


@pytest.mark.parametrize("seed", range(20))
def test_any_text_of_these_pieces_can_be_substituted(items_file, tmp_path, seed):
    pieces = ["A ", "an ", "The ", "40-year-old ", "patient ", "individual ", "obese ", ", ", "\n"]
    pieces += ["has pain. ", "nurse ", "healthy ", "who ", "$x ", "\\1 ", "(", "'s "]
    random.seed(seed)
    texts = ["".join(random.choices(pieces, k=8)) + "x" for _ in range(200)]
    made = substitute(
        items_file("A patient.", *texts), groups=CPV, out=tmp_path / "out", name="new"
    )
    items = load_items(load_benchmark(made.path))
    assert len(items) + len(made.left_out) == 201
    assert len(items) > 20
    for item in items:
        assert_only_the_words_differ(item.variants["neutralized"], item.variants)


def test_the_documented_groups_can_be_used(items_file, tmp_path):
    document = Path(__file__).parents[3] / "docs" / "vignettes.md"
    (text,) = re.findall(r"(?s)```toml\n(.*?)```", document.read_text(encoding="utf-8"))
    (tmp_path / "groups.toml").write_text(text, encoding="utf-8")
    source = items_file("A patient.")
    made = substitute(source, groups=tmp_path / "groups.toml", out=tmp_path / "out", name="new")
    (item,) = load_items(load_benchmark(made.path))
    assert item.variants["asian_low_income"] == "An Asian low-income patient."
    assert made.variants == 4 + 2 + 8 + 2
