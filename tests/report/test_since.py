"""What changed since earlier releases: comparisons of their answers, and the words for it."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest

from fairstats._lib.safe_names import file_sha256
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.loading import load_benchmark
from fairstats.comparisons.compare import comparisons_of
from fairstats.publishing.diff import changes, verdict_changes
from fairstats.release.contents import Release
from fairstats.report.about.releases import show_releases
from fairstats.report.changes.page import show_versions
from fairstats.report.changes.rows import SetChange, diff_lines, set_changes, verdict_text
from fairstats.report.model.page import show_model
from fairstats.report.site_pages import PAGES
from fairstats.submissions.folder import SUBMISSION_COLUMNS

from .conftest import answers_of_models
from .undrawn import undrawn

pytestmark = pytest.mark.usefixtures("without_screening")


def better(answers: pd.DataFrame) -> pd.DataFrame:
    """Return answers that are all right."""
    return answers.assign(answer=answers["answer_key"], status="ok")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> list[Release]:
    """Make releases: a model with new answers, and a successor of one that only the first has."""
    folder = tmp_path_factory.mktemp("site")
    first = answers_of_models(("One", "Two", "Same"))
    one = better(first[first["model"] == "One"]).assign(snapshot="One-2")
    same = first[first["model"] == "Same"]
    second = pd.concat([one, same, better(answers_of_models(("Three",)))], ignore_index=True)
    newer = {"Three": "Two"}
    return [
        undrawn(first, folder, release="1"),
        undrawn(second, folder, release="2", successors=newer),
        undrawn(second, folder, release="3", successors=newer),
    ]


def test_answers_are_compared_with_the_release_that_has_the_older_model(site):
    _, second, third = site
    rows = second.table("earlier_comparisons")
    pairs = set(rows[["model_old", "model_new", "release_old"]].itertuples(index=False, name=None))
    assert pairs == {("One", "One", "1"), ("Two", "Three", "1")}
    assert set(rows["manifest_old"]) == {file_sha256(site[0].path / "manifest.json")}
    assert (rows.loc[rows["metric"] == "delta_accuracy", "estimate"] > 0).all()
    # The answers of "One" are those of release 2; "Two" is in release 1 only.
    found = third.table("earlier_comparisons")
    assert set(zip(found["model_new"], found["release_old"], strict=True)) == {("Three", "1")}
    assert site[0].all_comparisons.empty


def with_unfair_one(models: tuple[str, ...]) -> pd.DataFrame:
    """Return right answers, except those of the model One to unprivileged groups."""
    found = better(answers_of_models(models))
    other = found["answer_key"].map({"A": "B", "B": "C", "C": "D", "D": "A"})
    unfair = (found["model"] == "One") & found["group"].isin(["black", "female", "low_income"])
    return found.assign(answer=found["answer"].mask(unfair, other))


def test_successor_with_the_snapshot_of_the_older_model_is_no_newer_version():
    answers = with_unfair_one(("One", "Two"))
    of_one, verdicts = answers["model"] == "One", {}
    for one, two in (
        ("lab/One-2026-01-01", "one-2026-01-01"),
        ("one-2026-01-01", "X-1, One-2026-01-01"),
        ("One-2026-01-01", "two-2026-03-01"),
        # Two models may both be of this day.
        ("2026-01-01", "2026-01-01"),
    ):
        stated = answers.assign(snapshot=of_one.map({True: one, False: two}))
        known = {"demo": load_benchmark("demo")}
        found = comparisons_of(stated, None, 0.05, known, {"Two": "One"})
        verdicts[one, two] = found["verdict"].unique().tolist()
    assert list(verdicts.values()) == [["unclear"], ["unclear"], ["win-win"], ["win-win"]]


def test_comparisons_with_several_earlier_releases_are_one_family(tmp_path):
    old, new = (
        {one: answers[answers["model"] == one] for one in ("One", "Two")}
        for answers in (with_unfair_one(("One", "Two")), better(answers_of_models(("One", "Two"))))
    )
    undrawn(old["One"], tmp_path, release="1")
    undrawn(old["Two"].assign(answer="A"), tmp_path, release="2")
    last = undrawn(pd.concat(new.values()).assign(snapshot=None), tmp_path, release="3")
    found = last.table("earlier_comparisons")
    assert set(found["release_old"]) == {"1", "2"}
    (method,) = found["adjust_method"].unique()
    assert "pairs over 6:" in method


def test_other_answers_of_one_snapshot_are_no_better_version(tmp_path, drawn):
    """A model could publish bad answers first and better ones later."""
    one = with_unfair_one(("One",))
    stated = {"Same": ("S-1", "S-1"), "Newer": ("N-1", "N-2"), "Unknown": (None, None)}
    for place, release in enumerate("12"):
        sets = [
            (better(one) if place else one).assign(model=model, snapshot=snapshots[place])
            for model, snapshots in stated.items()
        ]
        second = undrawn(pd.concat(sets, ignore_index=True), tmp_path, release=release)
    rows = second.table("earlier_comparisons")
    verdicts = rows.groupby("model_new")["verdict"].unique().map(list).to_dict()
    assert verdicts == {"Same": ["unclear"], "Newer": ["win-win"], "Unknown": ["win-win"]}
    (reason,) = rows.loc[rows["model_new"] == "Same", "verdict_reason"].unique()
    assert reason == "both state snapshot “S-1”: no newer version"
    assert "“Same” is better" not in drawn(show_model, second, "same")


def test_versions_page_and_model_page_name_the_earlier_release(site, drawn):
    first, second, _ = site
    page = next(page for page in PAGES if page.text == "Compare versions")
    assert [page.has_content(one) for one in (first, second)] == [False, True]
    text = drawn(show_versions, second)
    assert "“One” (release 1) → “One”" in text
    assert "“Two” (release 1) → “Three”" in text
    assert "earlier_comparisons.csv" in text
    assert "Is it better than “Two” (release 1)?" in drawn(show_model, second, "three")
    text = drawn(show_model, second, "one")
    assert "What changed since release 1?" in text
    assert "Compared with its answers in release 1, “One” is " in text
    text = drawn(show_model, second, "same")
    assert "The same answers" in text
    assert "Compared with" not in text


def change_of(release: Release, model: str) -> str:
    """Return what changed for a model with one answer set."""
    (one,) = (one for one in changes_in(release) if one.model == model)
    return one.text


def changes_in(release: Release) -> list[SetChange]:
    names = ("answer_set_changes", "verdict_changes", "figure_changes")
    return set_changes(*map(release.table, names), release, *release.earlier[-1:])


def test_change_states_snapshot_and_missing_answers(site):
    _, second, third = site
    # Its rank moves from 2 to 1, inside one range of ranks.
    words = "66 other answers; snapshot “One-1” → “One-2”; 7 → 0 missing"
    assert change_of(second, "One") == words
    assert change_of(second, "Three") == "new"
    assert change_of(second, "Same").startswith("the same answers")
    assert change_of(third, "One") == "the same answers"
    assert change_of(second, "Two") == "removed"


def test_change_states_other_settings_facts_and_reasons(tmp_path, drawn):
    first = answers_of_models(("One", "Same")).assign(temperature=0.0, max_tokens=5)
    one, declared = first["model"] == "One", tmp_path / "models.toml"
    # A setting that is known for none is that of a column that is not there.
    second = first.assign(
        status=first["status"].mask(one & first["status"].eq("unparsed"), "refused"),
        temperature=first["temperature"].mask(one),
        endpoint=None,
    )
    releases = []
    for name, answers, is_open in (("1", first, "true"), ("2", second, "false")):
        declared.write_text(f'[models.One]\nfamily = "F"\nopen = {is_open}\n', "utf-8")
        releases.append(undrawn(answers, tmp_path, release=name, models=declared))
    old, new = releases
    facts = "the same answers; declared “F, open” → “F, closed”"
    other = "other reasons for missing answers and temperature"
    assert change_of(new, "One") == f"{facts}; {other}"
    assert change_of(new, "Same") == "the same answers"
    assert other in drawn(show_releases, new)
    # Only answers that screening blocks are overruled.
    unit = dict(zip(UNIT_COLUMNS, ("demo", "1", "One", "plain"), strict=True))
    for release, reason in zip(releases, "ab", strict=True):
        release.manifest["overruled"] = [unit | {"reason": reason}]
    found = changes(old, new)
    one, _ = set_changes(found.answer_sets, found.verdicts, found.figures, new, old)
    assert one.text == f"{facts}; reason for overruling “a” → “b”; {other}"


def test_page_of_releases_lists_what_matters_first(site, drawn):
    text = drawn(show_releases, site[1])
    assert text.index("snapshot “One-1” → “One-2”") < text.index("<details>")
    assert "Added: “Three” (24 demonstration vignettes)" in text


def test_benchmark_declared_differently_is_not_compared(tmp_path, benchmark_file, all_right):
    file = benchmark_file()
    first = load_benchmark(file)
    answers = all_right(first)
    undrawn(answers, tmp_path, release="1", benchmarks=[first])
    wrong = answers.assign(answer=answers["answer"].mask(answers.index == 0, None))
    wrong["status"] = wrong["status"].mask(wrong.index == 0, "refused")
    file.write_text(file.read_text(encoding="utf-8").replace("margin = 0.1", "margin = 0.2"))
    second = undrawn(wrong, tmp_path, release="2", benchmarks=[load_benchmark(file)])
    assert second.table("earlier_comparisons").empty
    text = change_of(second, str(answers["model"].iloc[0]))
    assert "the benchmark is declared differently (margin ±10 points → ±20 points)" in text


RACE = 'pairs = [["white", "black"], ["white", "asian"], ["black", "asian"]]'


def test_verdict_of_a_dropped_pair_is_no_secret(tmp_path, benchmark_file, all_right):
    file = benchmark_file()
    text = file.read_text(encoding="utf-8")
    assert RACE in text
    answers = all_right(load_benchmark(file))
    undrawn(answers, tmp_path, release="1", benchmarks=[load_benchmark(file)])
    file.write_text(text.replace(RACE, RACE.replace('["white", "black"], ', "")), encoding="utf-8")
    second = undrawn(answers, tmp_path, release="2", benchmarks=[load_benchmark(file)])
    told = change_of(second, str(answers["model"].iloc[0]))
    assert "White − Black: inconclusive → not compared" in told


def test_verdict_of_a_turned_pair_is_compared():
    row = dict(zip(UNIT_COLUMNS, ("demo", "1", "One", "plain"), strict=True))
    row |= {"attribute": "race", "metric": "accuracy_difference", "verdict_reason": None}
    old = pd.DataFrame([row | {"group_a": "white", "group_b": "black", "verdict": "disparity"}])
    new = pd.DataFrame([row | {"group_a": "black", "group_b": "white", "verdict": "equivalent"}])
    (found,) = verdict_changes(old, new).to_dict("records")
    assert (found["old"], found["new"]) == ("disparity", "equivalent")
    assert (found["group_a"], found["group_b"]) == ("black", "white")
    assert verdict_changes(old, old).empty
    # A set that only one release has is listed as new or removed.
    assert verdict_changes(old, new.assign(model="Two")).empty


def test_questions_and_declarations_of_submitters_are_compared(tmp_path):
    first = answers_of_models(("One", "Same"))
    sent = dict.fromkeys(SUBMISSION_COLUMNS, "x") | {"attempts": 9, "chosen_by": "smallest gap"}
    unit = dict(zip(UNIT_COLUMNS, ("demo", "1", "One", "plain"), strict=True))
    old, new = (undrawn(first, tmp_path, release=name) for name in ("1", "2"))
    asked = unit | {"check": "stored_replies", "flag": "look"}
    for release, sets, checks in (
        (old, sent | unit, [asked, unit | {"check": "flip_level", "flag": "ok"}]),
        (new, sent | unit | {"attempts": 1, "chosen_by": ""}, [asked | {"flag": "ok"}]),
    ):
        vars(release).update(submissions=pd.DataFrame([sets]), screening=pd.DataFrame(checks))
    found = changes(old, new)
    one, same = set_changes(found.answer_sets, found.verdicts, found.figures, new, old)
    assert "questions of screening “stored_replies” → none" in one.text
    assert "9 attempts, chosen: smallest gap" in one.text
    assert same.text == "the same answers"


def test_other_ratings_are_named(tmp_path):
    first = answers_of_models(("One",))
    old, new = (undrawn(first, tmp_path, release=name) for name in ("1", "2"))
    assert changes(old, new).inputs == ()
    new.manifest["content"] = new.manifest["content"] | {"ratings": "0" * 64}
    found = changes(old, new)
    assert found.inputs == ("ratings",)
    sets = set_changes(found.answer_sets, found.verdicts, found.figures, new)
    assert list(diff_lines(sets, inputs=found.inputs))[-1] == "no figure changed; other ratings"


def test_corrected_keys_are_not_other_answers(tmp_path, benchmark_file, all_right):
    file = benchmark_file()
    first = load_benchmark(file)
    answers = all_right(first)
    undrawn(answers, tmp_path, release="1", benchmarks=[first])
    keys = file.parent / "keys.csv"
    table = pd.read_csv(keys)
    table.loc[0, "answer_key"] = "B" if table.loc[0, "answer_key"] == "A" else "A"
    table.to_csv(keys, index=False)
    corrected = load_benchmark(file)
    answers["answer_key"] = answers["item_id"].map(corrected.answer_keys)
    second = undrawn(answers, tmp_path, release="2", benchmarks=[corrected])
    text = change_of(second, str(answers["model"].iloc[0]))
    assert text.startswith("the same answers; the benchmark is declared differently (answer keys)")
    assert "different answers" not in text


def test_changed_verdict_is_written_with_its_reason():
    row = {"attribute": "race", "group_a": "white", "group_b": "black", "verdict_reason": "why"}
    row |= {"old": "disparity", "new": "inconclusive"}
    text = "disparity → inconclusive (why)"
    assert verdict_text(row, load_benchmark("demo")) == f"Race: White − Black: {text}"
    assert verdict_text(row | {"verdict_reason": None}, None).startswith("white − black: disp")
    pooled = row | {"attribute": "pooled", "group_a": "first", "group_b": "second"}
    assert verdict_text(pooled, load_benchmark("fairmedqa")).startswith(
        "All attributes: privileged − unprivileged: disp"
    )


def changed(model: str, change: str, *verdicts: str, **facts: object) -> SetChange:
    sides = {f"{n}_{s}": 1 for n in ("answers", "missing", "ranked") for s in ("old", "new")}
    sides |= {"rank_old": "1–2", "rank_new": "1–2"}
    given = {"change": change, "changed": 30, "benchmark_changed": False, "snapshot_old": math.nan}
    given |= {"snapshot_new": math.nan}
    figures = {"answers": 2} if change == "answers changed" else {}
    return SetChange(model, "all", given | sides | facts, verdicts, figures)


def test_change_of_adjusted_figures_alone_is_stated(tmp_path, drawn):
    """They change with the other models, whose removal changes nothing else here."""
    first = with_unfair_one(("One", "Two"))
    undrawn(first, tmp_path, release="1")
    second = undrawn(first[first["model"] == "One"], tmp_path, release="2")
    (change,) = (one for one in changes_in(second) if one.model == "One")
    assert set(change.figures) == {"family"}
    *_, last = change.clauses()
    assert last.startswith("changed figures: ")
    assert last.endswith(" (p or detectable difference adjusted for other tests)")
    table, _, _ = drawn(show_releases, second).partition("<details>")
    assert last in table
    only = replace(change, facts=changed("One", "same").facts)
    assert only.matters
    assert only.text == f"the same answers; {last}"


def test_difference_of_releases_begins_with_verdicts_and_counts_figures():
    sets = [
        changed("A", "new"),
        changed("B", "same"),
        changed("C", "same", rank_new="2"),
        changed("F", "same", ranked_new=2),
        changed("D", "answers changed", "Race: disparity → equivalent", snapshot_new="D-2"),
        *(changed(f"E{n}", "answers changed") for n in range(30)),
    ]
    first, *lines, last = diff_lines(sets)
    changes = "30 other answers; snapshot not known → “D-2”; Race: disparity → equivalent"
    assert first == f"“D”, all: {changes}"
    assert "new: “A”, all" in lines
    assert "12 more answer sets changed; --all lists them" in lines
    assert "2 answer sets with the same answers, rank, verdicts and figures" in lines
    assert last.startswith("changed figures: 62 (different answers); --all")
    assert changed("G", "answers changed", changed=1).text == "1 other answer"
    assert changed("G", "answers changed", changed=0).text == "other keys or clusters"
    full = list(diff_lines(sets, every=True))
    assert "“C”, all: the same answers; rank 1–2 of 1 → 2 of 1" in full
    assert len(full) == len(sets) + 1
    assert list(diff_lines([sets[1]]))[-1] == "no figure changed"
