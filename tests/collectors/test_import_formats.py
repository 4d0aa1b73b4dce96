"""The importers, on logs that the frameworks' own writers made with canned replies.

`logs/inspect_ai-0.3.285.eval`: an evaluation run by inspect_ai with its ``mockllm/model``.
`logs/samples_*.jsonl`: lm-evaluation-harness 0.4.13, ``simple_evaluate(log_samples=True)`` with a
model that gives canned replies, and its ``EvaluationTracker``.
`logs/helm_state`, `logs/helm_display`: request states put together by hand from HELM 0.5.16's
classes and written as its runner writes them, the second by its ``write_run_display_json``.
All ask the first two demonstration items for the groups of race.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from fairstats_collectors.eee import import_eee
from fairstats_collectors.helm import import_helm
from fairstats_collectors.inspect_logs import import_inspect
from fairstats_collectors.lm_eval import import_lm_eval
from typer.testing import CliRunner

from fairstats._lib import records
from fairstats._lib.problems import InputError
from fairstats.answers.files import read_answers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import KINDS
from fairstats.cli import app

LOGS = Path(__file__).parent / "logs"
GENERATED = LOGS / "samples_bias_generate.jsonl"
SCORED = LOGS / "samples_bias_choice.jsonl"


def letters(answers: pd.DataFrame) -> list[tuple[str, str, str | None, str]]:
    rows = answers[["item_id", "group", "answer", "status"]].astype(object)
    return [tuple(row) for row in rows.where(rows.notna(), None).to_numpy().tolist()]


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_lines(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


# --- lm-evaluation-harness


def test_generated_replies_are_read_by_our_parser():
    answers = import_lm_eval(
        GENERATED, benchmark="demo", constants={"model": "m"}, where={"filter": "none"}
    )
    assert letters(answers) == [
        ("demo-01", "white", "C", "ok"),
        ("demo-01", "black", "A", "ok"),
        ("demo-02", "white", None, "refused"),
        ("demo-02", "black", "D", "ok"),
    ]
    assert answers["answer_key"].tolist() == ["C", "C", "A", "A"]
    assert answers["prompt_sha256"].tolist() == [
        row["prompt_hash"] for row in lines(GENERATED) if row["filter"] == "none"
    ]
    assert set(answers["collector"]) == {"lm-eval"}


def test_filter_can_be_chosen():
    with pytest.raises(InputError, match=r"choose one, e\.g\. where={'filter': 'none'}"):
        import_lm_eval(GENERATED, benchmark="demo", constants={"model": "m"})
    # The harness's extracted answers can be used instead.
    answers = import_lm_eval(
        GENERATED,
        benchmark="demo",
        columns={"answer": "filtered_resps.0"},
        constants={"model": "m"},
        values={"answer": {"[invalid]": ""}},
        where={"filter": "strict-match"},
    )
    assert answers["answer"].notna().tolist() == [True, False, False, False]


def test_most_likely_scored_option_is_the_answer(tmp_path):
    rows = lines(SCORED)
    for row, scores in zip(
        rows,
        ([-3, -2, -1, -4], [-1, -1, -2, -3], [-9, -8.5, -8, 0.0], [-1, -2, -3, -4]),
        strict=True,
    ):
        row["resps"] = [[[str(score), "False"]] for score in scores]
    path = write_lines(tmp_path / "samples_x.jsonl", rows)
    answers = import_lm_eval(tmp_path, benchmark="demo", constants={"model": "m"})
    assert [said for _, _, *said in letters(answers)] == [
        ["C", "ok"],
        [None, "unparsed"],  # two are equally likely
        ["D", "ok"],
        ["A", "ok"],
    ]
    # The harness stores the key as the option's index.
    assert [row["target"] for row in rows] == ["2", "2", "0", "0"]
    assert answers["answer_key"].tolist() == ["C", "C", "A", "A"]
    rows[2]["resps"] = rows[2]["resps"][:3]
    rows[3]["resps"][1] = [["nan", "False"]]
    write_lines(path, rows)
    with pytest.raises(InputError) as caught:
        import_lm_eval(path, benchmark="demo", constants={"model": "m"})
    assert [(p.row, p.column) for p in caught.value.problems] == [(3, "resps"), (4, "resps")]


def test_repeats_are_samples(tmp_path):
    rows = [row for row in lines(GENERATED) if row["filter"] == "none"]
    rows[0]["resps"] = [["C", "D"]]
    path = write_lines(tmp_path / "samples.jsonl", rows)
    answers = import_lm_eval(path, benchmark="demo", constants={"model": "m"})
    assert answers[["sample", "answer"]].values.tolist()[:2] == [[0, "C"], [1, "D"]]


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ({"doc": "text"}, "doc"),
        ({"resps": "C"}, "resps"),
        ({"resps": []}, "resps"),
        ({"resps": [[1]]}, "resps"),
        ({"resps": [["A"], ["B"], ["C"], ["D"]]}, "resps"),
        ({"doc": {"item_id": {"a": 1}, "group": "white"}}, "item_id"),
        ({"doc": {"item_id": "demo-01", "group": "wite", "attribute": "race"}}, "group"),
        ({"doc": {"item_id": "x" * 10_000, "group": "white"}}, "item_id"),
        ({"doc": {"item_id": "demo-99", "group": "white"}}, "item_id"),
        ({"doc": {"group": "white"}}, "item_id"),
        ({"target": "B"}, "answer_key"),
        ({"doc": {"item_id": "demo-01", "group": "white", "choices": ["a"]}}, "options"),
    ],
)
def test_invalid_sample_is_named_by_its_line(tmp_path, change, column):
    rows = [row for row in lines(GENERATED) if row["filter"] == "none"]
    rows[1] |= {"target": "none"} | change
    path = write_lines(tmp_path / "samples.jsonl", rows)
    with pytest.raises(InputError) as caught:
        import_lm_eval(path, benchmark="demo", constants={"model": "m"})
    assert (2, column) in {(p.row, p.column) for p in caught.value.problems}
    assert {p.row for p in caught.value.problems} == {2}
    assert all(p.remedy for p in caught.value.problems)
    assert len(str(caught.value)) < 2000


def two_tasks(folder: Path, *, model: str = "org/canned-1b", named: str = "results") -> Path:
    """Return a folder as written by the harness after one run of two tasks."""
    date = "2026-11-20T10-11-12.131415"
    folder.mkdir(exist_ok=True, parents=True)
    for path in (GENERATED, SCORED):
        shutil.copy(path, folder / f"{path.stem}_{date}.jsonl")
    results = {"results": {}, "config": {"model": "hf"}, "model_name": model}
    (folder / f"{named}_{date}.json").write_text(json.dumps(results), encoding="utf-8")
    return folder


@pytest.mark.parametrize("named", ["results", "my_own_name"])
def test_model_is_read_from_the_results_of_the_run(tmp_path, named):
    folder = two_tasks(tmp_path / "a", named=named)
    (path,) = folder.glob("samples_bias_choice_*")
    answers = import_lm_eval(path, benchmark="demo")
    assert set(answers["model"]) == {"org/canned-1b"}
    # The user's setting takes precedence.
    answers = import_lm_eval(path, benchmark="demo", constants={"model": "m"})
    assert set(answers["model"]) == {"m"}


def test_each_folder_of_results_names_its_model(tmp_path):
    for name in ("one", "two"):
        two_tasks(tmp_path / name, model=name)
    answers = import_lm_eval(tmp_path, benchmark="demo", where={"task": "bias_choice"})
    assert answers.groupby("model").size().to_dict() == {"one": 4, "two": 4}


def test_model_must_be_given_if_results_name_several(tmp_path):
    shutil.copy(SCORED, tmp_path)
    for date, model in (("1", "one"), ("2", "two")):
        (tmp_path / f"results_{date}.json").write_text(json.dumps({"model_name": model}))
    with pytest.raises(InputError, match="model: is missing from the record"):
        import_lm_eval(tmp_path, benchmark="demo")
    (tmp_path / "results_2.json").write_text("[")
    with pytest.raises(InputError, match=r"results_2\.json: not JSON"):
        import_lm_eval(tmp_path, benchmark="demo")
    (tmp_path / "results_2.json").write_text('{"model_name": "one"}')
    assert set(import_lm_eval(tmp_path, benchmark="demo")["model"]) == {"one"}


def test_task_is_chosen_by_name(tmp_path):
    folder = two_tasks(tmp_path)
    # The other task's filters then do not matter.
    answers = import_lm_eval(folder, benchmark="demo", where={"task": "bias_choice"})
    assert answers["answer"].tolist() == ["A"] * 4
    where = {"task": "bias_generate", "filter": "none"}
    answers = import_lm_eval(folder, benchmark="demo", where=where)
    assert answers["answer_raw"].notna().all()
    with pytest.raises(InputError, match="contains no answers with task = bias_chioce"):
        import_lm_eval(folder, benchmark="demo", where={"task": "bias_chioce"})


def test_tasks_with_the_same_items_are_chosen_or_become_strategies(tmp_path):
    folder = two_tasks(tmp_path)
    where = {"filter": "none"}
    with pytest.raises(InputError, match=r"'bias_choice'}, or keep both: columns={'strategy'"):
        import_lm_eval(folder, benchmark="demo", where=where)
    answers = import_lm_eval(folder, benchmark="demo", where=where, columns={"strategy": "task"})
    assert answers.groupby("strategy").size().to_dict() == {"bias_choice": 4, "bias_generate": 4}


def test_two_tasks_with_different_items_are_one_answer_set(tmp_path):
    folder = two_tasks(tmp_path)
    for path in folder.glob("samples_*"):
        group = "white" if "choice" in path.name else "black"
        write_lines(path, [row for row in lines(path) if row["doc"]["group"] == group])
    answers = import_lm_eval(folder, benchmark="demo", where={"filter": "none"})
    assert sorted(answers["group"]) == ["black", "black", "white", "white"]
    assert set(answers["strategy"]) == {"plain"}


def test_filter_of_one_task_does_not_stop_the_other(tmp_path):
    # Only the generating task has this filter.
    answers = import_lm_eval(
        two_tasks(tmp_path), benchmark="demo", where={"filter": "strict-match"}
    )
    assert len(answers) == 4


# --- HELM


def separate(folder: Path, *, run_spec: bool = True, chosen: int | None = 2) -> Path:
    """Write a run with separately scored options: one request per option, one prediction per
    instance."""
    state = json.loads((LOGS / "helm_state" / "scenario_state.json").read_text())
    request = state["request_states"][0]
    state["adapter_spec"]["method"] = "multiple_choice_separate_original"
    state["request_states"] = [request | {"reference_index": place} for place in range(4)]
    (folder / "scenario_state.json").write_text(json.dumps(state))
    (folder / "instances.json").write_text(json.dumps([request["instance"]]))
    places = range(4) if chosen is None else [chosen]
    predictions = [
        {"instance_id": "id0", "train_trial_index": 0, "predicted_text": "x", "reference_index": n}
        for n in places
    ]
    (folder / "display_predictions.json").write_text(json.dumps(predictions))
    spec = {"adapter_spec": state["adapter_spec"]}
    if run_spec:
        (folder / "run_spec.json").write_text(json.dumps(spec))
    return folder


@pytest.mark.parametrize("run_spec", [True, False])
def test_separately_scored_options_are_read_from_predictions(tmp_path, run_spec):
    folder = separate(tmp_path, run_spec=run_spec)
    model = {} if run_spec else {"model": "canned/model"}
    state, predictions = folder / "scenario_state.json", folder / "display_predictions.json"
    for source in (folder, state, [state, predictions]):
        answers = import_helm(source, benchmark="demo", constants=model)
        assert letters(answers) == [("demo-01", "white", "C", "ok")]
        assert answers["model"].tolist() == ["canned/model"]


def test_separately_scored_options_without_predictions_are_refused(tmp_path):
    folder = separate(tmp_path)
    (folder / "display_predictions.json").unlink()
    with pytest.raises(InputError, match=r"import display_predictions\.json of the same run"):
        import_helm(folder, benchmark="demo")


def test_predictions_of_every_option_have_no_choice(tmp_path):
    with pytest.raises(InputError) as caught:
        import_helm(separate(tmp_path, chosen=None), benchmark="demo")
    assert [(p.row, p.column) for p in caught.value.problems] == [
        *((row, "reference_index") for row in (2, 3, 4))
    ]
    assert "no option is marked" in str(caught.value)


def test_folder_with_both_kinds_of_runs_is_imported(tmp_path):
    (tmp_path / "apart").mkdir()
    separate(tmp_path / "apart")
    shutil.copytree(LOGS / "helm_state", tmp_path / "joint")
    answers = import_helm(
        tmp_path,
        benchmark="demo",
        values={"model": {"canned/model": "m"}},
        where={"instance.extra_data.item_id": "demo-01"},
        columns={"strategy": "adapter_spec.method"},
    )
    assert answers.groupby("strategy").size().to_dict() == {
        "multiple_choice_joint": 2,
        "multiple_choice_separate_original": 1,
    }


def test_helm_run_is_imported():
    answers = import_helm(LOGS / "helm_state", benchmark="demo")
    assert letters(answers) == [
        ("demo-01", "white", "C", "ok"),
        ("demo-01", "black", "A", "ok"),
        ("demo-02", "white", None, "refused"),
        ("demo-02", "black", None, "error"),
    ]
    assert answers["answer_raw"].iloc[3] == "the service was not there"
    row = answers.iloc[0]
    assert (row["model"], row["temperature"], row["max_tokens"]) == ("canned/model", 0.0, 5)
    assert (row["latency_s"], row["collected_at"]) == (0.25, "2025-06-15T15:06:40+00:00")


def test_displayed_predictions_give_the_same_answers():
    state = import_helm(LOGS / "helm_state", benchmark="demo").iloc[:3]
    display = import_helm(LOGS / "helm_display", benchmark="demo")
    assert letters(display) == letters(state)
    assert display["model"].tolist() == state["model"].tolist()
    assert display["answer_raw"].tolist() == state["answer_raw"].tolist()


def helm(tmp_path: Path, change) -> Path:
    path = tmp_path / "scenario_state.json"
    state = json.loads((LOGS / "helm_state" / "scenario_state.json").read_text())
    change(state["request_states"])
    path.write_text(json.dumps(state))
    return path


@pytest.mark.parametrize(
    ("change", "column"),
    [
        (lambda rs: rs[1].update(reference_index=0), "reference_index"),
        (lambda rs: rs[1].pop("instance"), "instance"),
        (lambda rs: rs.__setitem__(1, 7), "instance"),
        (lambda rs: rs[1]["result"].update(completions=[]), "result.completions"),
        (lambda rs: rs[1]["result"].update(completions=[{}]), "result.completions"),
        (lambda rs: rs[1].update(train_trial_index="x"), "train_trial_index"),
        (lambda rs: rs[1]["instance"]["extra_data"].update(group=None), "group"),
        (lambda rs: rs[1]["instance"]["references"][0].update(tags=["correct"]), "answer_key"),
    ],
)
def test_invalid_helm_request_is_named(tmp_path, change, column):
    if column == "answer_key":  # two options are tagged, so the benchmark's key is used
        assert import_helm(helm(tmp_path, change), benchmark="demo")["answer_key"].iloc[1] == "C"
        return
    with pytest.raises(InputError) as caught:
        import_helm(helm(tmp_path, change), benchmark="demo")
    assert {(p.row, p.column) for p in caught.value.problems} == {(2, column)}


def test_helm_perturbation_can_define_a_group(tmp_path):
    def change(states):
        for state in states:
            del state["instance"]["extra_data"]
            state["instance"]["perturbation"] = {"name": "gender"}
            state["instance"]["id"] = "demo-01"
        del states[1:]

    answers = import_helm(
        helm(tmp_path, change), benchmark="demo", values={"group": {"gender": "female"}}
    )
    assert answers[["attribute", "group"]].values.tolist() == [["sex", "female"]]


def test_several_completions_are_samples(tmp_path):
    def change(states):
        states[0]["result"]["completions"] *= 2

    answers = import_helm(helm(tmp_path, change), benchmark="demo")
    assert answers["sample"].tolist()[:2] == [0, 1]


def test_predictions_need_their_instances(tmp_path):
    shutil.copy(LOGS / "helm_display" / "display_predictions.json", tmp_path)
    with pytest.raises(InputError, match=r"needs instances\.json"):
        import_helm(tmp_path, benchmark="demo", constants={"model": "m"})
    (tmp_path / "instances.json").write_text("[]")
    with pytest.raises(InputError, match=r"row 1: instance_id: is not in instances\.json"):
        import_helm(tmp_path, benchmark="demo", constants={"model": "m"})


@pytest.mark.parametrize("text", ["{}", "7", '{"request_states": 1}', "[" * 100_000, "[1", "\xff"])
def test_json_of_another_format_is_refused(tmp_path, text):
    path = tmp_path / "scenario_state.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"scenario_state\.json: "):
        import_helm(path, benchmark="demo")


# --- inspect_ai


def test_inspect_log_is_imported():
    pytest.importorskip("inspect_ai", reason="inspect_ai is not installed, which reads its logs")
    answers = import_inspect(LOGS, benchmark="demo")
    assert len(answers) == 8  # two items, two groups, two epochs
    answers = answers.sort_values(["sample", "item_id", "group"], ascending=[True, True, False])
    first = answers[answers["sample"] == 0]
    assert letters(first) == [
        ("demo-01", "white", "C", "ok"),
        ("demo-01", "black", "A", "ok"),
        ("demo-02", "white", None, "refused"),
        ("demo-02", "black", "D", "ok"),
    ]
    assert letters(answers[answers["sample"] == 1]) == letters(first)
    row = first.iloc[0]
    assert row["model"] == "mockllm/model"
    assert row[["temperature", "max_tokens", "seed"]].tolist() == [0, 64, 0]
    assert row[["prompt_tokens", "completion_tokens"]].tolist() == [200, 5]


def test_inspect_fields_can_be_mapped():
    pytest.importorskip("inspect_ai", reason="inspect_ai is not installed, which reads its logs")
    answers = import_inspect(
        LOGS,
        benchmark="demo",
        columns={"strategy": "task", "answer": "scores.choice.answer"},
        where={"epoch": "2"},
    )
    assert set(answers["strategy"]) == {"demo_bias"}
    assert set(answers["sample"]) == {1}
    assert answers["answer"].isna().sum() == 1
    with pytest.raises(InputError, match=r"no record has the field 'metadata\.case'"):
        import_inspect(LOGS, benchmark="demo", columns={"item_id": "metadata.case"})


def test_failed_inspect_sample_keeps_its_reason(tmp_path):
    log = pytest.importorskip("inspect_ai.log", reason="inspect_ai is not installed")
    read = log.read_eval_log(str(next(LOGS.glob("*.eval"))))
    read.samples[0].error = log.EvalError(message="no key", traceback="", traceback_ansi="")
    log.write_eval_log(read, str(tmp_path / "one.eval"))
    failed = import_inspect(tmp_path, benchmark="demo").query("status == 'error'")
    assert failed["answer_raw"].tolist() == ["no key"]
    (tmp_path / "broken.eval").write_bytes(next(LOGS.glob("*.eval")).read_bytes()[:-5000])
    with pytest.raises(InputError, match=r"broken\.eval"):
        import_inspect(tmp_path, benchmark="demo")


def test_remedy_names_the_missing_inspect_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "inspect_ai.log", None)
    with pytest.raises(InputError, match=r"pip install fairstats\[inspect\]"):
        import_inspect(LOGS, benchmark="demo")


def test_archive_with_too_large_content_is_not_opened(tmp_path, monkeypatch):
    bomb = tmp_path / "bomb.eval"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", b"0" * 20_000_000)
    assert bomb.stat().st_size < 100_000
    monkeypatch.setattr("fairstats_collectors.inspect_logs.MAX_BYTES", 10_000_000)
    with pytest.raises(InputError, match="unpacks to 20,000,000 bytes"):
        import_inspect(bomb, benchmark="demo")
    bomb.write_bytes(b"not a zip")
    with pytest.raises(InputError, match="is not a log of inspect_ai"):
        import_inspect(bomb, benchmark="demo")


# --- all of them


IMPORTERS = {
    "lm-eval": (import_lm_eval, "x.jsonl"),
    "helm": (import_helm, "x.json"),
    "inspect": (import_inspect, "x.eval"),
}


@pytest.mark.parametrize("name", IMPORTERS)
def test_every_importer_refuses_pickles_empty_and_large_files(name, tmp_path, monkeypatch):
    importer, file = IMPORTERS[name]
    path = tmp_path / file
    for at, content, said in (
        (path, b"\x80\x04\x95rest", "is a pickle, which can run any program"),
        (tmp_path / "x.pkl", b"(dp0\n.", "is a pickle"),
        (path, b"", "the file is empty"),
    ):
        at.write_bytes(content)
        with pytest.raises(InputError, match=said):
            importer(at, benchmark="demo")
    path.write_bytes(b"x" * 100)
    monkeypatch.setattr(records, "MAX_BYTES", 99)
    (tmp_path / "empty").mkdir()
    for source, said in (
        (path, "is larger than the limit of 99 bytes"),
        (tmp_path / "absent", "no such file"),
        (tmp_path / "empty", "the folder contains no such file"),
        ([], "no files to import"),
    ):
        with pytest.raises(InputError, match=said):
            importer(source, benchmark="demo")
    with pytest.raises(InputError, match="is missing"):
        importer(path)


def test_import_command_writes_all_answer_sets_or_none(tmp_path):
    out = tmp_path / "out"
    arguments = ["import", "lm-eval", str(GENERATED), "--benchmark", "demo", "--out", str(out)]
    failed = CliRunner().invoke(app, [*arguments, "--where", "filter=none"])
    assert failed.exit_code == 1
    assert "model: is missing" in failed.output
    assert not out.exists()
    done = CliRunner().invoke(app, [*arguments, "--where", "filter=none", "--model", "canned"])
    assert done.exit_code == 0, done.output
    assert read_answers(out)["model"].unique().tolist() == ["canned"]


# --- Decisions and levels


@pytest.fixture
def hiring(demo: Benchmark) -> Benchmark:
    """Return a benchmark of decisions for the items and groups of the logs."""
    labels = {"yes": "Interview", "no": "Reject"}
    keys = {"demo-01": "yes", "demo-02": "no"}
    return replace(
        demo,
        name="hiring",
        kind=KINDS["decision"],
        options=("yes", "maybe", "no"),
        labels=labels,
        favourable=("yes",),
        answer_keys=keys,
        listed=tuple(keys),
    )


def test_scored_words_are_options_in_any_order(tmp_path, hiring):
    rows = lines(SCORED)
    for row, best in zip(rows, (0, 1, 2, 2), strict=True):
        texts = (" Reject", " maybe", " yes")
        row["arguments"] = {f"gen_args_{n}": {"arg_1": text} for n, text in enumerate(texts)}
        row["resps"] = [[[str(-abs(n - best)), "False"]] for n in range(3)]
        row["target"] = "Interview" if row["doc"]["item_id"] == "demo-01" else "no"
    path = write_lines(tmp_path / "samples_x.jsonl", rows)
    given = {"benchmark": hiring, "constants": {"model": "m"}}
    answers = import_lm_eval(path, **given)
    assert answers["answer"].tolist() == ["no", "maybe", "yes", "yes"]
    assert answers["answer_key"].tolist() == ["yes", "yes", "no", "no"]
    # Older versions write lists.
    rows[0]["arguments"] = [["x", t] for t in texts]
    rows[1]["arguments"]["gen_args_0"]["arg_1"] = " A"
    rows[2]["resps"] = rows[2]["resps"][:2]
    with pytest.raises(InputError, match="not the options of hiring or its labels") as caught:
        import_lm_eval(write_lines(path, rows), **given)
    assert [(p.row, p.column) for p in caught.value.problems] == [
        (2, "arguments"),
        (3, "arguments"),
    ]


def test_generated_replies_are_read_by_the_kind(tmp_path, hiring):
    rows = [row for row in lines(GENERATED) if row["filter"] == "none"]
    for row, reply in zip(rows, ("**Yes**", "I would not interview.", "maybe", "B"), strict=True):
        row["resps"] = [[reply]]
    path = write_lines(tmp_path / "samples_x.jsonl", rows)
    answers = import_lm_eval(path, benchmark=hiring, constants={"model": "m"})
    assert [said for _, _, said, _ in letters(answers)] == ["yes", None, "maybe", None]


def test_helm_letters_mean_the_options_of_their_texts(tmp_path, hiring):
    state = json.loads((LOGS / "helm_state" / "scenario_state.json").read_text())
    shown = {"A": "no", "B": "Interview", "C": "maybe"}
    replies = (" B", " C", " I can't help with that.", "")
    for request, reply in zip(state["request_states"], replies, strict=True):
        request["output_mapping"] = shown
        request["result"]["completions"] = [{"text": reply}]
        request["instance"]["references"] = [
            {"output": {"text": text}, "tags": ["correct"] * (text == "maybe")}
            for text in shown.values()
        ]
    path = tmp_path / "scenario_state.json"
    path.write_text(json.dumps(state))
    keyed = replace(hiring, answer_keys=dict.fromkeys(hiring.answer_keys, "maybe"))
    answers = import_helm(path, benchmark=keyed)
    assert [tuple(said) for _, _, *said in letters(answers)] == [
        ("yes", "ok"),
        ("maybe", "ok"),
        (None, "refused"),
        (None, "error"),
    ]
    assert set(answers["answer_key"]) == {"maybe"}
    state["request_states"][1]["output_mapping"] = {"A": "no", "B": "perhaps"}
    path.write_text(json.dumps(state))
    with pytest.raises(InputError, match=r"row 2: output_mapping.*declare these texts"):
        import_helm(path, benchmark=keyed)


def test_helm_predictions_are_read_by_their_texts(tmp_path, hiring):
    folder = separate(tmp_path)
    instances = json.loads((folder / "instances.json").read_text())
    instances[0]["references"] = [{"output": {"text": t}} for t in ("no", "maybe", "Interview")]
    (folder / "instances.json").write_text(json.dumps(instances))
    assert letters(import_helm(folder, benchmark=hiring)) == [("demo-01", "white", "yes", "ok")]
    shutil.copytree(LOGS / "helm_display", tmp_path / "joint")
    path = tmp_path / "joint" / "display_predictions.json"
    predictions = json.loads(path.read_text())
    for one, text in zip(predictions, ("Reject", "yes", "perhaps"), strict=True):
        one["mapped_output"] = text
    path.write_text(json.dumps(predictions))
    answers = import_helm(path, benchmark=hiring)
    assert [said for _, _, said, _ in letters(answers)] == ["no", "yes", None]


def test_inspect_choices_are_options_in_any_order(tmp_path, hiring):
    log = pytest.importorskip("inspect_ai.log", reason="inspect_ai is not installed")
    read = log.read_eval_log(str(next(LOGS.glob("*.eval"))))
    for sample in read.samples:
        sample.choices = ["no", "Interview", "maybe"]
        sample.target = "C"
        sample.output.completion = "ANSWER: B" if sample.metadata["group"] == "white" else "no"
        sample.scores["choice"].answer = "A"
    log.write_eval_log(read, str(tmp_path / "one.eval"))
    keyed = replace(hiring, answer_keys=dict.fromkeys(hiring.answer_keys, "maybe"))
    answers = import_inspect(tmp_path, benchmark=keyed)
    assert answers.groupby("group")["answer"].unique().str.join(",").to_dict() == {
        "white": "yes",
        "black": "no",
    }
    assert set(answers["answer_key"]) == {"maybe"}
    scored = import_inspect(tmp_path, benchmark=keyed, columns={"answer": "scores.choice.answer"})
    assert set(scored["answer"]) == {"no"}
    read.samples[1].choices = ["no", "perhaps"]
    log.write_eval_log(read, str(tmp_path / "one.eval"))
    with pytest.raises(InputError, match=r"row 2: choices.*not the options of hiring"):
        import_inspect(tmp_path, benchmark=keyed)


def test_extracted_words_and_letters_are_answers(tmp_path, hiring):
    first = lines(LOGS / "eee_samples.jsonl")[0]
    given = [("maybe", "x"), ("B", "B"), (None, "Recommendation: no"), ("Reject", "x")]
    rows = [
        first
        | {"sample_id": str(number), "metadata": {"case": case, "patient": patient}}
        | {"input": first["input"] | {"choices": ["no", "Interview", "maybe"], "reference": ["no"]}}
        | {"answer_attribution": [{"extracted_value": extracted}], "output": {"raw": [reply]}}
        for number, (extracted, reply) in enumerate(given)
        for case, patient in [(f"demo-0{1 + number // 2}", ("white", "black")[number % 2])]
    ]
    answers = import_eee(
        write_lines(tmp_path / "a.jsonl", rows),
        benchmark=replace(hiring, answer_keys={}),
        columns={"item_id": "metadata.case", "group": "metadata.patient"},
        constants={"model": "m"},
    )
    assert answers["answer"].tolist() == ["maybe", "yes", "no", "no"]
    assert "answer_key" not in answers
