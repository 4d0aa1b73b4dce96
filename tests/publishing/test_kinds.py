"""Decisions, levels and scores, published: the JSON API, badges, exports and differences."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

from fairstats import load_benchmark
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import KINDS
from fairstats.exports.catalogues import croissant
from fairstats.exports.every_eval_ever import write_eee
from fairstats.exports.export import Options
from fairstats.exports.hugging_face import write_hf
from fairstats.publishing.diff import diff_releases
from fairstats.publishing.feed import badge
from fairstats.publishing.json_api import leaderboard_document, model_document
from fairstats.publishing.submission_check import preview
from fairstats.release.contents import Release
from tests.make_answers import make_answers
from tests.report.test_api import documents, validator
from tests.report.undrawn import undrawn

ITEMS = 40
DECLARED = {
    "decision": 'kind = "decision"\noptions = ["yes", "maybe", "no"]\nfavourable = ["yes"]',
    "level": 'kind = "level"\noptions = [1, 2, 3, 4, 5]\nhigher = "less urgent"',
    "score": 'kind = "score"\nlimits = [0, 9]',
}
SIGNS = {"decision": ("yes", "maybe", "no"), "level": tuple("12345"), "score": tuple("0123456789")}
MARGINS = {"decision": 0.3, "level": 0.5, "score": 1}
CONTROL = (
    '[attributes.placebo]\nlabel = "Placebo"\ncontrol = true\n'
    'groups = { red = "Red car", blue = "Blue car" }\npairs = [["red", "blue"]]\n'
    '[words]\nitem = "advert"\nsubject = "applicant"'
)
TEXTS = ("rai:", "description", "keywords")
GROUPS = {"race": ("white", "black", "asian"), "placebo": ("red", "blue")}
WRONG = ("accurac", "patient", "letter", "clinical", "vignette", "medical")


@pytest.fixture(scope="module")
def declare(benchmark_file: Callable[..., Path]) -> Callable[[str], Benchmark]:
    def make(kind: str) -> Benchmark:
        parts = {"options": DECLARED[kind], "keys_file": "", "baseline": CONTROL}
        parts["equivalence_margin"] = f"equivalence_margin = {MARGINS[kind]}"
        return load_benchmark(benchmark_file(**parts))

    return make


def answers_to(benchmark: Benchmark, changed: int = 0) -> pd.DataFrame:
    """Return answers of three models, one with two prompts; the last of them prefers White."""
    signs, tables = SIGNS[benchmark.kind.name], []
    for model, strategy, unfair in (
        ("One", "plain", 0),
        ("Two", "plain", 2),
        ("Two", "cot", 1),
        ("Three", "plain", 20 + changed),
    ):
        for attribute, groups in (
            ("race", ("white", "black", "asian")),
            ("placebo", ("red", "blue")),
        ):
            texts = ["A" * len(groups)] * ITEMS
            one = {"attribute": attribute, "groups": groups, "benchmark": benchmark.name}
            table = make_answers(texts, model=model, strategy=strategy, answer_key=None, **one)
            item = table["item_id"].str.removeprefix("item-").astype(int)
            place = item % len(signs)
            place = place.mask((item < unfair) & (table["group"] == "black"), len(signs) - 1)
            place = place.mask((item < unfair) & (table["group"] == "white"), 0)
            tables.append(table.assign(answer=[signs[p] for p in place]))
    found = pd.concat(tables, ignore_index=True)
    gone = (found["model"] == "Two") & (found["item_id"] == "item-9")
    found.loc[gone, ["answer", "status"]] = [None, "refused"]
    return found


@pytest.fixture(scope="module")
def published(declare, tmp_path_factory) -> Callable[[str, int], Release]:
    made: dict[tuple[str, int], Release] = {}

    def build(kind: str, changed: int = 0) -> Release:
        if (kind, changed) not in made:
            benchmark, folder = declare(kind), tmp_path_factory.mktemp("release")
            answers = answers_to(benchmark, changed)
            made[kind, changed] = undrawn(answers, folder, benchmarks=[benchmark])
        return made[kind, changed]

    return build


@pytest.mark.parametrize("kind", SIGNS)
def test_documents_match_their_schemas(kind, published):
    release = published(kind)
    for schema, document in documents(release):
        as_read = json.loads(json.dumps(document, allow_nan=False))
        errors = [f"{e.json_path}: {e.message}" for e in validator(schema).iter_errors(as_read)]
        assert errors == []
    board = leaderboard_document(release)
    (benchmark,) = board["benchmarks"]
    assert benchmark["kind"]["name"] == kind
    assert [one["demographic"] for one in benchmark["attributes"]] == [True, False]
    plain = next(one for one in board["boards"] if one["strategy"] == "plain")
    row = next(row for row in plain["rows"] if row["model"] == "Three")
    difference, test = KINDS[kind].difference, KINDS[kind].test
    estimates = release.estimates
    for pair in row["pairs"]:
        own = estimates[
            (estimates["model"] == "Three")
            & (estimates["metric"] == difference)
            & (estimates["group_a"] == pair["group_a"])
            & (estimates["group_b"] == pair["group_b"])
        ]
        assert pair[difference]["estimate"] == own["estimate"].iloc[0]
        assert pair[test]["p_adjusted"] <= 1
    assert {pair["attribute"] for pair in row["pairs"]} == {"race"}
    comparisons = model_document(release, "Two")["comparisons"]
    assert {one["metric"] for one in comparisons} > {f"delta_{difference}", "delta_cfr"}


@pytest.mark.parametrize("kind", SIGNS)
def test_badge_states_the_margin_in_the_unit_of_the_kind(kind, published):
    release = published(kind)
    assert badge(release, "Three")["message"].startswith("disparity: race")
    message = badge(release, "One")["message"]
    margin = {"decision": "30 points", "level": "0.5 levels", "score": "1 score point"}[kind]
    assert message == f"equivalent within ±{margin}"


@pytest.mark.parametrize("kind", SIGNS)
def test_exports_say_nothing_untrue(kind, published, tmp_path, shared_data):
    release = published(kind)
    schemas = {
        suffix: jsonschema.Draft7Validator(json.loads(shared_data(f"formats/{name}").read_text()))
        for suffix, name in (
            (".json", "eee-eval.schema.json"),
            (".jsonl", "eee-instance_level_eval.schema.json"),
        )
    }
    samples: list[dict[str, Any]] = []
    for path in write_eee(release, tmp_path, Options()):
        lines = path.read_text(encoding="utf-8").splitlines()
        records = lines if path.suffix == ".jsonl" else ["\n".join(lines)]
        for record in map(json.loads, records):
            schemas[path.suffix].validate(record)
            samples += [record] if path.suffix == ".jsonl" else []
    scores = {one["evaluation"]["score"] for one in samples if "error" not in one}
    expected = {"decision": {0.0, 1.0}, "level": {1.0, 2.0, 3.0, 4.0, 5.0}}
    assert scores == expected.get(kind, set(map(float, range(10))))
    assert not any(one["evaluation"]["is_correct"] for one in samples)
    assert {one["metadata"]["is_correct"] for one in samples} == {
        "not known: nothing is right or wrong here"
    }
    assert {one["evaluation_name"].split(" ", 3)[-1] for one in samples} <= {
        KINDS[kind].figure,
        f"race {KINDS[kind].figure}",
        f"placebo {KINDS[kind].figure}",
    }
    described = croissant(release)
    about = json.dumps(
        {k: v for k, v in described.items() if k.startswith(("rai:", "desc", "key"))}
    )
    assert not [word for word in WRONG if word in about.lower()]
    written = write_hf(release, tmp_path, Options(dataset={"three": "a/b"}))
    texts = "".join(path.read_text(encoding="utf-8") for path in written)
    assert KINDS[kind].difference.replace("_", "-") in texts
    assert "accuracy" not in texts


def test_changed_verdicts_are_in_the_differences(published):
    old, new = published("level"), published("level", -19)
    found = diff_releases(old.path, new.path)
    changed = found.verdicts
    assert set(changed["metric"]) == {KINDS["level"].difference}
    assert ("Three", "disparity") in set(zip(changed["model"], changed["old"], strict=True))
    sets = found.answer_sets.set_index(["model", "strategy"])["change"]
    assert sets["Three", "plain"] == "answers changed"
    assert (sets.drop(("Three", "plain")) == "same").all()


@pytest.mark.parametrize("kind", SIGNS)
def test_preview_of_a_submission_has_the_figures_of_the_kind(kind, declare):
    benchmark = declare(kind)
    answers = answers_to(benchmark)
    new = answers[answers["model"] == "Three"]
    found = preview(new, answers[answers["model"] != "Three"], benchmarks={"three": benchmark})
    assert set(found.figures["metric"]) == {KINDS[kind].difference}
    assert np.isfinite(found.figures["difference"]).all()
    assert found.ranks["model"].tolist()[-1:] != []
