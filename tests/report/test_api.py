"""The JSON documents of a release: the figures of its tables, as described by the schemas."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pandas as pd
import pytest

from fairstats.answers.files import read_answers
from fairstats.benchmarks.loading import load_benchmark
from fairstats.comparisons.compare import RELEASE_COMPARISON_COLUMNS
from fairstats.comparisons.ranking import RANK_COLUMNS
from fairstats.estimates.table import ESTIMATE_COLUMNS, PRIMARY_TESTS
from fairstats.metrics.registry import METRICS
from fairstats.publishing.json_api import (
    LEADERBOARD_SCHEMA,
    MODEL_SCHEMA,
    leaderboard_document,
    model_document,
    schema_documents,
    write_api,
)
from fairstats.release.contents import EARLIER, Release

from .conftest import HOSTILE, answers_of_models
from .undrawn import undrawn, whole

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema checks the documents")
KINDS = ("hostile", "missing", "bounds", "mixed", "degenerate", "alone")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Callable[[], Path]:
    return lambda: tmp_path_factory.mktemp("api")


@pytest.fixture(scope="module")
def missing(folder) -> Release:
    """Make a release with missing answers, all of one group for one model, and no snapshots."""
    answers = answers_of_models(("One", "Two")).drop(columns="snapshot")
    gone = (answers["model"] == "Two") & (answers["group"] == "female")
    answers.loc[gone, ["answer", "status"]] = [None, "refused"]
    return undrawn(answers, folder())


@pytest.fixture(scope="module")
def mixed(folder, benchmark_file, all_right) -> Release:
    """Make a release with two benchmarks, one with three groups and items selected by a model."""
    selected = '[selected_on]\n"Chooser" = "kept what it got wrong"'
    three = load_benchmark(benchmark_file(selected=selected))
    right = all_right(three)
    answers = pd.concat(
        [whole(answers_of_models(("Model-1",))), right.assign(model="Chooser"), right]
    )
    return undrawn(answers, folder(), benchmarks=[three])


@pytest.fixture(scope="module")
def degenerate(folder, benchmark_file, all_right) -> Release:
    """Make a release with one item and no differences, and a model without parsed answers."""
    one = load_benchmark(benchmark_file(keys="item_id,answer_key\ni1,A\n"))
    right = all_right(one)
    silent = right.assign(model="silent", answer=None, status="unparsed")
    return undrawn(pd.concat([right, silent]), folder(), benchmarks=[one])


@pytest.fixture(scope="module")
def alone(folder) -> Release:
    return undrawn(answers_of_models(("Only",)), folder(), alpha=0.1, missing="incorrect")


@pytest.fixture(params=KINDS)
def any_release(request) -> Release:
    return request.getfixturevalue(request.param)


def closed(schema: Any) -> Any:
    """Close every object of the schema, so that fields without a description are errors."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    own = {name: closed(part) for name, part in schema.items()}
    return {"additionalProperties": False} | own if "properties" in own else own


def validator(name: str) -> Any:
    return jsonschema.Draft202012Validator(closed(schema_documents()[name]))


def documents(release: Release) -> Iterator[tuple[str, dict[str, Any]]]:
    yield LEADERBOARD_SCHEMA, leaderboard_document(release)
    for model in release.models:
        yield MODEL_SCHEMA, model_document(release, model)


def test_documents_match_their_schemas_exactly(any_release):
    for schema, document in documents(any_release):
        as_read = json.loads(json.dumps(document, allow_nan=False))
        errors = [
            f"{error.json_path}: {error.message}"
            for error in validator(schema).iter_errors(as_read)
        ]
        assert errors == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["boards"][0]["rows"][0]["pairs"][0].update(verdict="unfair"), "unfair"),
        (lambda d: d["boards"][0]["rows"][0]["pairs"][0].pop("n_missing_b"), "n_missing_b"),
        (lambda d: d["boards"][0]["rows"][0]["accuracy"].update(estimate=1.2), "1.2"),
        (lambda d: d["boards"][0]["rows"][0]["accuracy"].update(n="24"), "'24'"),
        (lambda d: d["boards"][0]["rows"][0]["rank"].update(rank=0), "0 is less"),
        (lambda d: d["boards"][0]["rows"][0]["rank"].update(may_be_best=None), "None"),
        (lambda d: d.update(schema_version="2.0"), "2.0"),
        (lambda d: d["models"][0].update(slug="a/b"), "a/b"),
        (lambda d: d["release"]["content"].update(ranks="x"), "'x'"),
        (lambda d: d.update(more=1), "'more'"),
    ],
)
def test_document_that_violates_the_schema_is_refused(missing, change, said):
    document = leaderboard_document(missing)
    change(document)
    errors = list(validator(LEADERBOARD_SCHEMA).iter_errors(document))
    assert said in " ".join(e.message for error in errors for e in (error, *error.context))


def test_added_fields_are_accepted_by_todays_schema(missing):
    document = leaderboard_document(missing) | {"schema_version": "1.7", "news": []}
    schema = schema_documents()[LEADERBOARD_SCHEMA]
    errors = list(jsonschema.Draft202012Validator(schema).iter_errors(document))
    assert errors == []


@pytest.mark.parametrize("name", [LEADERBOARD_SCHEMA, MODEL_SCHEMA])
def test_schema_is_valid_and_describes_every_field(name):
    schema = schema_documents()[name]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"

    def walk(part: Any, where: str) -> Iterator[str]:
        if isinstance(part, list):
            for number, inner in enumerate(part):
                yield from walk(inner, f"{where}[{number}]")
        elif isinstance(part, dict):
            for field, told in (part.get("properties") or {}).items():
                target = told
                if "$ref" in told:
                    target = schema["$defs"][told["$ref"].removeprefix("#/$defs/")]
                if not (target.get("title") and len(target.get("description", "")) > 5):
                    yield f"{where}.{field}"
            for key, inner in part.items():
                yield from walk(inner, f"{where}.{key}")

    assert list(walk(schema, "")) == []
    used = {part.partition('"')[0] for part in json.dumps(schema).split('"#/$defs/')[1:]}
    assert used == set(schema["$defs"])


def test_the_schema_describes_every_column_and_metric():
    described = schema_documents()[MODEL_SCHEMA]["$defs"]
    for name, columns in (
        ("estimate", ESTIMATE_COLUMNS),
        ("rank", RANK_COLUMNS),
        ("comparison", RELEASE_COMPARISON_COLUMNS),
    ):
        assert set(columns) == set(described[name]["required"])
        assert set(described[name]["properties"]) - set(columns) <= {"infinite", *EARLIER}
    metrics = [part.get("const") for part in described["estimate"]["properties"]["metric"]["anyOf"]]
    assert metrics == [*METRICS, None]


def as_table(rows: list[dict[str, Any]], like: pd.DataFrame) -> pd.DataFrame:
    """Return records as a table, with their infinite numbers, and empty notes."""
    for row in rows:
        row |= {name: sign * math.inf for name, sign in row.pop("infinite", {}).items()}
    table = pd.DataFrame(rows, columns=like.columns).astype(like.dtypes)
    return table.assign(method_note=table["method_note"].fillna(""))


def test_a_models_document_has_every_figure_of_the_tables_to_the_last_bit(any_release):
    for model in any_release.models:
        document = json.loads(json.dumps(model_document(any_release, model)))
        compared = any_release.comparisons
        for name, table in {
            "estimates": any_release.estimates.query("model == @model"),
            "ranks": any_release.ranks.query("model == @model"),
            "comparisons": compared.query("model_old == @model or model_new == @model"),
        }.items():
            expected = table.assign(method_note=table["method_note"].fillna(""))
            found = as_table(document[name], expected)
            pd.testing.assert_frame_equal(found, expected.reset_index(drop=True), check_exact=True)


def equal(found: object, expected: object) -> bool:
    """Return null for unknown values; other values are unchanged."""
    return found is None if pd.isna(expected) or expected == "" else found == expected


def test_the_board_has_the_figures_of_the_tables_to_the_last_bit(any_release, row_of):
    document = json.loads(json.dumps(leaderboard_document(any_release)))
    tests = any_release.estimates["test"].str.startswith(PRIMARY_TESTS)
    mcnemar = any_release.estimates["metric"] == "mcnemar"
    estimates = any_release.estimates[~mcnemar | tests]
    compared = 0
    for board in document["boards"]:
        unit = {name: board[name] for name in ("benchmark", "benchmark_version", "strategy")}
        for row in board["rows"]:
            for pair in row["pairs"]:
                own = {name: pair[name] for name in ("attribute", "group_a", "group_b")}
                key = unit | own | {"model": row["model"]}
                for metric in ("accuracy_difference", "cfr", "mcnemar"):
                    if metric == "mcnemar" and pair[metric] is None:
                        continue
                    expected = row_of(estimates, metric=metric, **key)
                    assert all(equal(value, expected[name]) for name, value in pair[metric].items())
                    compared += len(pair[metric])
                difference = row_of(estimates, metric="accuracy_difference", **key)
                for name in ("verdict", "n_missing_a", "n_missing_b"):
                    assert equal(pair[name], difference[name])
            key = unit | {"model": row["model"], "attribute": "baseline", "metric": "accuracy_a"}
            expected = row_of(estimates, **key)
            assert row["accuracy"].pop("group") == expected["group_a"]
            assert row["accuracy"].pop("n_missing") == expected["n_missing_a"]
            assert all(equal(value, expected[name]) for name, value in row["accuracy"].items())
            snapshots = any_release.estimates.query("model == @row['model']")["snapshot"]
            assert equal(row["snapshot"], snapshots.iloc[0])
    assert compared >= 3 * 22


def test_unasked_pairs_are_null_or_left_out(missing):
    made = Release(missing.path)
    asked = ~missing.estimates["attribute"].isin(["baseline", "sex"])
    vars(made)["estimates"] = missing.estimates[asked]
    document = leaderboard_document(made)
    assert validator(LEADERBOARD_SCHEMA).is_valid(document)
    for row in document["boards"][0]["rows"]:
        assert row["accuracy"] is None
        assert [pair["attribute"] for pair in row["pairs"]] == ["race", "ses"]


def test_the_board_is_in_the_order_of_the_page(any_release):
    document = leaderboard_document(any_release)
    boards = any_release.boards
    assert len(document["boards"]) == len(boards)
    for found, board in zip(document["boards"], boards, strict=True):
        assert [row["model"] for row in found["rows"]] == board.ordered
        ranks = board.ranks.set_index("model")
        for row in found["rows"]:
            if row["rank"] is not None:
                own = ranks.loc[row["model"]]
                assert all(equal(value, own[name]) for name, value in row["rank"].items())
        sets = [one for m in board.models for one in any_release.answers_of(board, m)]
        assert sum(row["answers"] for row in found["rows"]) == sum(s["answers"] for s in sets)
        assert sum(row["answers_missing"] for row in found["rows"]) == sum(
            s["missing"] for s in sets
        )


def test_bounds_have_only_limits(bounds):
    document = leaderboard_document(bounds)
    (board,) = document["boards"]
    assert board["missing"] == "bounds"
    ranges = 0
    for row in board["rows"]:
        assert row["rank"] is None
        for pair in row["pairs"]:
            assert pair["verdict"] is None
            difference = pair["accuracy_difference"]
            assert (difference["ci_method"], difference["ci_level"]) == ("bounds", None)
            if difference["ci_low"] < difference["ci_high"]:
                assert difference["estimate"] is None
                ranges += 1
    assert ranges > 0
    assert model_document(bounds, "GPT-5")["ranks"] == []


def test_a_model_that_selected_the_items_is_marked_and_not_judged(mixed):
    document = leaderboard_document(mixed)
    (board,) = [b for b in document["boards"] if b["benchmark"] == "three"]
    rows = {row["model"]: row for row in board["rows"]}
    assert rows["Chooser"]["selected_items"] is True
    assert rows["Chooser"]["selected_items_reason"] == "kept what it got wrong"
    assert rows["Chooser"]["rank"]["rank"] is None
    assert "selecting the items" in rows["Chooser"]["rank"]["method_note"]
    assert [pair["verdict"] for pair in rows["Chooser"]["pairs"]] == [None] * 3
    assert rows["model"]["selected_items"] is False
    assert rows["model"]["selected_items_reason"] is None
    (three,) = [b for b in document["benchmarks"] if b["name"] == "three"]
    assert three["selected_on"] == [{"model": "Chooser", "reason": "kept what it got wrong"}]
    chooser = {"benchmark": "three", "reason": "kept what it got wrong"}
    assert model_document(mixed, "Chooser")["selected_items"] == [chooser]
    assert model_document(mixed, "Model-1")["selected_items"] == []


def test_model_without_parsed_answers_has_nulls_and_counts(degenerate):
    (board,) = leaderboard_document(degenerate)["boards"]
    (row,) = [row for row in board["rows"] if row["model"] == "silent"]
    assert row["accuracy"]["estimate"] is None
    assert (row["answers"], row["answers_missing"]) == (5, 5)
    for pair in row["pairs"]:
        assert pair["accuracy_difference"]["estimate"] is pair["verdict"] is None
        assert (pair["n_missing_a"], pair["n_missing_b"]) == (1, 1)


def test_infinite_odds_ratio_is_null_and_marked_as_infinite(hostile):
    rows = model_document(hostile, "GPT-5")["estimates"]
    (row,) = [row for row in rows if "infinite" in row and row["metric"] == "odds_ratio"]
    assert (row["estimate"], row["n01"]) == (None, 0)
    assert row["infinite"] == {"estimate": 1, "ci_high": 1}


def test_documents_name_their_release(alone):
    for _, document in documents(alone):
        manifest = alone.manifest
        assert document["schema_version"] == "1.1"
        assert document["release"] == {
            "name": "2026.11",
            "created_at": manifest["created_at"],
            "fairstats": manifest["fairstats"],
            "alpha": 0.1,
            "content": manifest["content"],
        }
    (board,) = leaderboard_document(alone)["boards"]
    assert board["missing"] == "incorrect"
    assert board["rows"][0]["pairs"][0]["accuracy_difference"]["ci_level"] == 0.9
    assert board["rows"][0]["rank"]["ci_level"] == 0.9


@pytest.fixture(scope="module")
def written(hostile, folder) -> tuple[Path, list[Path]]:
    """Return the documents in a site, and the pages they link to."""
    site = folder()
    pages = site / "reports" / "models"
    pages.mkdir(parents=True)
    for slug in hostile.slugs.values():
        (pages / f"{slug}.html").write_text("page")
    return site, write_api(hostile, site / "api")


def test_exactly_the_documented_files_are_written(hostile, written):
    site, paths = written
    found = {path.relative_to(site / "api").as_posix() for path in paths}
    slugs = hostile.slugs.values()
    assert found == {
        "leaderboard.json",
        LEADERBOARD_SCHEMA,
        MODEL_SCHEMA,
        *(f"models/{slug}.json" for slug in slugs),
        *(f"badges/{slug}.json" for slug in slugs),
    }
    there = {path for path in (site / "api").rglob("*") if path.is_file()}
    assert there == set(paths)


def test_files_are_strict_json_that_reads_back_as_the_documents(hostile, written):
    folder = written[0] / "api"
    for path in folder.rglob("*.json"):
        text = path.read_bytes().decode("utf-8")
        assert text.endswith("}\n")
        assert "\r" not in text
        json.loads(text, parse_constant=pytest.fail)
    board = json.loads((folder / "leaderboard.json").read_text(encoding="utf-8"))
    assert board == leaderboard_document(hostile)
    bases = [one.benchmark.basis() for one in hostile.boards]
    assert [one["declaration"] for one in board["boards"]] == bases
    for model, slug in hostile.slugs.items():
        path = folder / "models" / f"{slug}.json"
        assert json.loads(path.read_text(encoding="utf-8")) == model_document(hostile, model)


def test_every_address_leads_to_a_file_of_the_site(hostile, written):
    site, paths = written
    root = "https://example.org/"
    followed = 0
    for path in paths:
        if path.suffix != ".json" or "schema" in path.name or path.parent.name == "badges":
            continue
        own = root + path.relative_to(site).as_posix()
        for address in addresses(json.loads(path.read_text(encoding="utf-8"))):
            target = urljoin(own, address)
            assert target.startswith(root)
            assert (site / target.removeprefix(root)).is_file(), (own, address)
            followed += 1
    assert followed > 50


def addresses(part: Any) -> Iterator[str]:
    if isinstance(part, list):
        for inner in part:
            yield from addresses(inner)
    elif isinstance(part, dict):
        for name, value in part.items():
            if name in ("page", "document", "badge", "leaderboard", "$schema"):
                yield value
            else:
                yield from addresses(value)


def test_writing_again_gives_the_same_bytes(hostile, written, tmp_path):
    write_api(Release(hostile.path), tmp_path)
    for path in written[1]:
        again = tmp_path / path.relative_to(written[0] / "api")
        assert again.read_bytes() == path.read_bytes()


def test_keys_are_in_the_order_of_the_schema(mixed):
    schema = schema_documents()[LEADERBOARD_SCHEMA]
    document = leaderboard_document(mixed)
    described = schema["$defs"]
    row = document["boards"][0]["rows"][0]
    for found, part in (
        (document, schema),
        (document["benchmarks"][0], described["benchmark"]),
        (document["boards"][0], described["board"]),
        (row, described["row"]),
        (row["pairs"][0], described["pair"]),
        (row["accuracy"], described["accuracy"]),
    ):
        assert list(found) == [name for name in part["properties"] if name in found]
        assert set(part["required"]) <= set(found)


def test_model_of_another_release_is_refused(missing):
    with pytest.raises(ValueError, match=r"'Nobody' is not in release 2026\.11"):
        model_document(missing, "Nobody")


def test_models_document_has_only_its_answer_sets(hostile):
    entries = hostile.manifest["answers"]
    for model in hostile.models:
        found = model_document(hostile, model)["answer_sets"]
        added = {"declaration", "notes"}
        assert [{k: v for k, v in own.items() if k not in added} for own in found] == [
            {k: v for k, v in entry.items() if k != "model"}
            for entry in entries
            if entry["model"] == model
        ]
    strategies = [own["strategy"] for own in model_document(hostile, HOSTILE[0])["answer_sets"]]
    assert strategies == ["aware", "plain"]


def test_names_are_unchanged_in_documents(hostile):
    document = leaderboard_document(hostile)
    assert {entry["model"] for entry in document["models"]} == {"GPT-4.1", "GPT-5", *HOSTILE}
    answered = read_answers(hostile.answers_path)
    assert set(answered["model"]) == {entry["model"] for entry in document["models"]}
