"""Every Eval Ever: valid by its schemas, and read back to the same estimates."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pandas as pd
import pytest
from fairstats_collectors.eee import import_eee

from fairstats._lib.problems import InputError
from fairstats.answers.schema import KEY_COLUMNS
from fairstats.estimates.analyze import analyze
from fairstats.exports.every_eval_ever import write_eee
from fairstats.exports.export import Options
from fairstats.release.contents import Release


@pytest.fixture
def written(release: Release, tmp_path: Path) -> list[Path]:
    return write_eee(release, tmp_path, Options())


def samples_of(paths: list[Path]) -> list[dict]:
    texts = [path.read_text(encoding="utf-8") for path in paths if path.suffix == ".jsonl"]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def records_of(paths: list[Path]) -> list[dict]:
    return [
        json.loads(path.read_text(encoding="utf-8")) for path in paths if path.suffix == ".json"
    ]


def test_files_are_valid_by_the_schemas(written, tmp_path, shared_data):
    schemas = {
        kind: jsonschema.Draft7Validator(json.loads(shared_data(f"formats/{name}").read_text()))
        for kind, name in (
            ("aggregate", "eee-eval.schema.json"),
            ("sample", "eee-instance_level_eval.schema.json"),
        )
    }
    for record in records_of(written):
        schemas["aggregate"].validate(record)
        assert (tmp_path / record["detailed_evaluation_results"]["file_path"]).is_file()
    for sample in samples_of(written):
        schemas["sample"].validate(sample)


def test_scores_and_intervals_are_those_of_the_estimates(written, release):
    for record in records_of(written):
        own = release.estimates[release.estimates["model"] == record["model_info"]["name"]]
        finite = own["estimate"].fillna(own["p_value"]).replace(float("inf"), None).dropna()
        results = record["evaluation_results"]
        assert [one["score_details"]["score"] for one in results] == finite.tolist()
        intervals = [
            one["score_details"]["uncertainty"]["confidence_interval"]
            for one in results
            if "uncertainty" in one["score_details"]
        ]
        limits = own[["ci_low", "ci_high"]].replace(float("inf"), None).dropna()
        assert [(one["lower"], one["upper"]) for one in intervals] == list(
            limits.itertuples(index=False, name=None)
        )
        groups = {
            (details["attribute"], details.get("group_a"), details.get("group_b"))
            for details in (one["source_data"]["additional_details"] for one in results)
        }
        assert groups == {
            (
                row["attribute"],
                *(row[g] if isinstance(row[g], str) else None for g in ("group_a", "group_b")),
            )
            for row in own.to_dict("records")
        }


def test_every_sample_belongs_to_one_result(written):
    results = {
        (record["evaluation_id"], one["evaluation_result_id"])
        for record in records_of(written)
        for one in record["evaluation_results"]
    }
    number = sum(len(record["evaluation_results"]) for record in records_of(written))
    assert len(results) == number
    for sample in samples_of(written):
        assert (sample["evaluation_id"], sample["evaluation_result_id"]) in results


def test_missing_answer_has_an_error_and_its_status(written, release):
    answers = pd.read_parquet(release.answers_path)
    missing = [one for one in samples_of(written) if "error" in one]
    assert len(missing) == answers["answer"].isna().sum() > 0
    for one in missing:
        assert one["error"].startswith(one["metadata"]["status"])
        assert one["answer_attribution"] == []
        assert not one["evaluation"]["is_correct"]


def test_import_gives_the_same_answers_and_estimates(written, release, tmp_path):
    answers = pd.read_parquet(release.answers_path)
    (benchmark,) = release.benchmarks.values()
    again = import_eee(tmp_path, benchmark=benchmark)
    keys = list(KEY_COLUMNS)
    columns = list(answers.columns)
    pd.testing.assert_frame_equal(
        again.sort_values(keys, ignore_index=True)[columns],
        answers.sort_values(keys, ignore_index=True),
        check_dtype=False,
    )
    pd.testing.assert_frame_equal(analyze(again), release.estimates, check_exact=True)


def test_writing_again_gives_the_same_bytes(written, release, tmp_path):
    again = write_eee(release, tmp_path / "again", Options())
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


def test_samples_contain_vignettes_only_if_the_release_does(release_of, written, tmp_path):
    assert all("text not in the release" in one["input"]["raw"] for one in samples_of(written))
    demo = write_eee(release_of("demo"), tmp_path / "demo", Options())
    item = samples_of(demo)[0]
    assert len(item["input"]["raw"]) > 100
    assert len(item["sample_hash"]) == 64


class TestImport:
    @pytest.fixture
    def sample(self, release_of: Callable[..., Release], tmp_path: Path) -> tuple[Path, list[dict]]:
        paths = write_eee(release_of("demo"), tmp_path / "demo", Options())
        return paths[1], samples_of(paths[1:2])

    def test_changed_samples_are_refused(self, sample):
        path, samples = sample
        path.write_text("".join(json.dumps(one) + "\n" for one in samples[:-1]))
        with pytest.raises(InputError, match="does not have the sha256"):
            import_eee(path, benchmark="demo")

    def test_another_benchmark_is_refused(self, sample):
        with pytest.raises(InputError, match="is not the given benchmark, fairmedqa"):
            import_eee(sample[0], benchmark="fairmedqa")

    def test_samples_of_others_need_only_item_group_and_output(self, sample, tmp_path):
        """Another tool has other metadata, a record per figure, and answers as option texts."""
        path, samples = tmp_path / "other.jsonl", []
        for number, one in enumerate(sample[1][:6]):
            kept = {
                "sample_id": one["metadata"]["item_id"],
                "model_id": "org/model",
                "input": one["input"],
                "output": {"raw": [f"Answer: {'ABCD'[number % 4]}"]},
                "metadata": {"patient": one["metadata"]["group"]},
                "evaluation_result_id": "accuracy",
            }
            if number == 2:
                kept["error"] = "timeout"
            if number == 3:
                text = one["input"]["choices"][1]
                kept["answer_attribution"] = [{"extracted_value": text, "is_terminal": True}]
            samples += [kept, kept | {"evaluation_result_id": "f1", "evaluation": {"score": 0}}]
        path.write_text("".join(json.dumps(one) + "\n" for one in samples))
        found = import_eee(path, benchmark="demo", columns={"group": "metadata.patient"})
        assert found["model"].unique().tolist() == ["org/model"]
        assert found["answer"].fillna("-").tolist() == ["A", "B", "-", "B", "A", "B"]
        assert found["status"].tolist()[2] == "error"

    @pytest.mark.parametrize(
        ("broken", "message"),
        [({"input": "text"}, "input"), ({"output": {"raw": "C"}}, "output.raw")],
    )
    def test_broken_sample_is_named(self, sample, tmp_path, broken, message):
        path = tmp_path / "broken.jsonl"
        path.write_text(json.dumps(sample[1][0] | broken))
        with pytest.raises(InputError) as error:
            import_eee(path, benchmark="demo")
        assert [(p.row, p.column) for p in error.value.problems] == [(1, message)]


def test_models_that_state_one_snapshot_have_ids_of_their_own(release_of, tmp_path):
    release = release_of("biasmedqa", snapshot="lab/model-1-2026")
    records = records_of(write_eee(release, tmp_path, Options()))
    assert [one["model_info"]["id"] for one in records] == release.models
    assert len({one["evaluation_id"] for one in records}) == len(records)
