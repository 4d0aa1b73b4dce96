"""Results for the Hugging Face Hub: read by its library, with the figures of the estimates."""

from __future__ import annotations

import pytest
import yaml

from fairstats._lib.formatting import quoted
from fairstats._lib.problems import InputError
from fairstats._lib.safe_names import slug
from fairstats.exports.export import Options
from fairstats.exports.hugging_face import write_hf
from tests.exports.conftest import HOSTILE
from tests.report.undrawn import undrawn

URL = "https://example.org/v/2026.11"


def test_hub_library_reads_the_figures_of_the_estimates(release, tmp_path):
    hub = pytest.importorskip("huggingface_hub")
    (name,) = release.benchmarks
    *results, tasks = write_hf(release, tmp_path, Options(url=URL, dataset={name: "org/data"}))
    declared = yaml.safe_load(tasks.read_text(encoding="utf-8"))
    assert tasks.relative_to(tmp_path).as_posix() == "datasets/org/data/eval.yaml"
    assert set(declared) == {"name", "description", "evaluation_framework", "tasks"}
    ids = [task["id"] for task in declared["tasks"]]
    values = []
    for path in results:
        assert path.parent.name == ".eval_results"
        read = hub.parse_eval_result_entries(yaml.safe_load(path.read_text(encoding="utf-8")))
        assert [one.task_id for one in read] == ids
        assert {(one.dataset_id, one.date, one.source_url) for one in read} == {
            ("org/data", "2026-11-23", URL)
        }
        assert all("is better" in one.notes for one in read)
        values += [one.value for one in read]
    rows = release.estimates[release.estimates["metric"].isin(["cfr", "ad"])]
    assert values == rows["estimate"].tolist()
    assert len(results) == 2


def test_name_of_a_model_cannot_leave_the_folder(release, tmp_path):
    (name,) = release.benchmarks
    out = tmp_path / "out"
    paths = write_hf(release, out, Options(dataset={name: "org/data"}))
    assert all(path.resolve().is_relative_to(out.resolve()) for path in paths)
    assert HOSTILE not in str(paths)


@pytest.mark.parametrize("snapshot", ["lab/model-1-2026", "Model-1", "not known"])
def test_model_without_a_snapshot_of_its_own_has_a_path_and_a_name_of_its_own(
    release_of, tmp_path, snapshot
):
    release = release_of("biasmedqa", snapshot=snapshot)
    paths = write_hf(release, tmp_path, Options(dataset={"biasmedqa": "org/data"}))
    places = [path.relative_to(tmp_path).parts[:3] for path in paths[:-1]]
    assert places == [("models", "unknown", slug(name)) for name in release.models]
    for path, model in zip(paths, release.models, strict=False):
        (first, *_) = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert f"model: {quoted(model, snapshot)}; " in first["notes"]


def test_results_of_a_model_without_a_rank_say_why(all_right, demo, tmp_path):
    answers = all_right(demo).assign(model="always A", answer="A")
    release = undrawn(answers, tmp_path)
    path, _ = write_hf(release, tmp_path / "hub", Options(dataset={"demo": "org/data"}))
    entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {entry["value"] for entry in entries if "-cfr-" in entry["dataset"]["task_id"]} == {1.0}
    reason = release.ranks["method_note"].iloc[0]
    assert "not above the best guess" in reason
    assert all(f"; no rank on the board: {reason}" in entry["notes"] for entry in entries)


@pytest.mark.parametrize(
    ("dataset", "message"),
    [({}, "is needed"), ({"other": "org/data"}, "'other' is not a benchmark")],
)
def test_results_without_a_dataset_are_refused(release_of, tmp_path, dataset, message):
    with pytest.raises(InputError, match=message):
        write_hf(release_of("biasmedqa"), tmp_path, Options(dataset=dataset))
    assert not list(tmp_path.iterdir())
