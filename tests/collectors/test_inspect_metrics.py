"""The metrics for inspect_ai, in an evaluation that it runs with its ``mockllm/model``."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from fairstats_collectors.inspect_logs import import_inspect

from fairstats._lib.problems import InputError
from fairstats.estimates.analyze import analyze

ROOT = Path(__file__).parents[2]
#: The replies for demo-01 (key C) and demo-02 (key A), by group; two epochs.
REPLIES = {
    ("demo-01", "white"): ("C", "The best answer is C."),
    ("demo-01", "black"): ("A", "C"),
    ("demo-02", "white"): ("A", "I cannot give medical advice."),
    ("demo-02", "black"): ("B", "(a)"),
    ("demo-03", "white"): ("who knows", "D"),
    ("demo-03", "black"): ("D", "D"),
}


@pytest.fixture(scope="module", autouse=True)
def inspect_ai():
    """Load the library, which takes seconds, for these tests alone."""
    return pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")


def evaluate(folder, demo, replies=REPLIES):
    """Run a task whose model gives these replies in the order in which it is asked."""
    import inspect_ai
    from fairstats_collectors.inspect_metrics import letter
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    samples = [
        Sample(
            input=f"{item} {group}",
            target=demo.answer_keys[item],
            metadata={"item_id": item, "attribute": "race", "group": group},
        )
        for item, group in replies
    ]

    def reply(messages, *_):
        item, group = messages[-1].text.split()
        said = replies[item, group]
        seen[item, group] = seen.get((item, group), -1) + 1
        output = ModelOutput.from_content("mockllm/model", said[seen[item, group]])
        # Without it, inspect_ai counts tokens with a file that it downloads.
        output.usage = ModelUsage(input_tokens=9, output_tokens=1, total_tokens=10)
        return output

    seen = {}
    (log,) = inspect_ai.eval(
        inspect_ai.Task(dataset=samples, scorer=letter("demo"), epochs=2),
        model=get_model("mockllm/model", custom_outputs=reply),
        log_dir=str(folder), display="none", max_samples=1, max_connections=1,
    )  # fmt: skip
    return log


def test_figures_in_the_log_are_those_of_the_imported_log(tmp_path, demo):
    log = evaluate(tmp_path, demo)
    assert log.status == "success", log.error
    estimates = analyze(import_inspect(tmp_path, benchmark="demo"))
    expected = estimates[estimates["attribute"].eq("race")].set_index("metric")["estimate"]
    scores = {score.reducer: score for score in log.results.scores}
    found = scores[None].metrics
    for name in ("cfr", "ad", "accuracy_difference"):
        assert found[f"{name} race white-black"].value == pytest.approx(expected[name])
    assert expected[["cfr", "ad"]].notna().all()
    assert 0 < expected["cfr"] < 1
    # An answer that could not be read is missing for fairstats, and wrong for inspect_ai.
    answers = [(one.scores["letter"].value, one.scores["letter"].answer) for one in log.samples]
    assert answers.count(("N", None)) == 2
    assert scores["mean"].metrics["accuracy"].value == pytest.approx(8 / 12)


def test_unknown_item_stops_the_evaluation(tmp_path, demo):
    other = replace(demo, name="own", answer_keys={"x": "A"})
    log = evaluate(tmp_path, other, {("x", "white"): ("A", "A")})
    assert log.status == "error"
    assert "metadata.item_id = 'x': unknown item" in log.error.message


def test_other_kinds_than_choice_are_refused(tmp_path):
    from fairstats_collectors.inspect_metrics import cfr
    from inspect_ai.scorer import SampleScore, Score

    declared = (ROOT / "data" / "benchmarks" / "demo.toml").read_text(encoding="utf-8")
    score = 'name = "own"\nkind = "score"\nlimits = [0, 27]'
    declared = re.sub(r"(?m)^(name|options|items_file|keys_file) = .*$", "", declared)
    (tmp_path / "own.toml").write_text(f"{score}\n{declared}", encoding="utf-8")
    with pytest.raises(InputError, match="these metrics are for letters"):
        cfr(str(tmp_path / "own.toml"))([SampleScore(score=Score(value="C"))])


def test_metric_without_a_benchmark_names_the_remedy():
    from fairstats_collectors.inspect_metrics import cfr
    from inspect_ai.scorer import SampleScore, Score

    score = SampleScore(score=Score(value="C", answer="C"), sample_id=7)
    with pytest.raises(InputError, match=r"sample 7: scorer: names no benchmark; name it, e\.g\."):
        cfr()([score])
    assert cfr()([]) == {}


def test_entry_point_loads_the_metrics():
    """inspect_ai loads the entry point with the name before the slash of a registered name."""
    from fairstats_collectors.inspect_metrics import letter

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    ((name, value),) = declared["inspect_ai"].items()
    assert EntryPoint(name, value, "inspect_ai").load().letter is letter
    assert value.split(".")[0] == name
