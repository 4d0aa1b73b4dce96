"""The recipe for a metric works: it is in the estimates, the pages and the schema."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from fairstats.metrics.registry import METRICS
from tests.recipes.conftest import ROOT

#: A script that the copy must run; it uses only the name and position of the new metric.
USE_METRIC = """
import pandas as pd
import fairstats
from fairstats.metrics.registry import metrics_table
from fairstats.publishing.json_api import MODEL_SCHEMA, schema_documents

unit = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain", answer_key="A")
rows = [
    unit | dict(item_id=f"item-{item}", attribute="race", group=group, sample=sample, answer=answer)
    for sample in range(2)
    for item, letters in enumerate(["AA", "BB", "BC", "BB", ["B", None]])
    for group, answer in zip(("white", "black"), letters)
]
answers = pd.DataFrame(rows)
single = answers[answers["sample"] == 0]
estimates = fairstats.analyze(single)
race = estimates[estimates["attribute"] == "race"]
print("order:", *race["metric"].drop_duplicates())
own = race.set_index("metric").loc["same_wrong"]
print("estimate:", own["estimate"], own["n"], own["ci_method"])
twice = fairstats.analyze(answers).set_index("metric").loc["same_wrong"]
print("clustered:", twice["ci_method"])
bounds = fairstats.analyze(single, "bounds").set_index("metric").loc["same_wrong"]
print("bounds:", bounds["ci_low"], bounds["ci_high"])
metric = schema_documents()[MODEL_SCHEMA]["$defs"]["estimate"]["properties"]["metric"]
print("schema:", *[part["title"] for part in metric["anyOf"] if part.get("const") == "same_wrong"])
print("methods:", "`same_wrong`" in metrics_table())
"""


def run(checkout: Path, *command: str) -> str:
    """Run Python on the packages of a copy."""
    paths = os.pathsep.join(map(str, (checkout, checkout / "collectors")))
    done = subprocess.run(
        [sys.executable, *command],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_metric_is_one_file(checkout):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipe = text.split("\n## A metric\n")[1].split("\n## ")[0]
    name, code = re.findall(r"(?s)The file, here `(.*?)`:\n\n   ```python\n(.*?)   ```", recipe)[0]
    assert not (checkout / name).exists()
    (checkout / name).write_text(dedent(code), encoding="utf-8")

    told = dict(line.split(": ", 1) for line in run(checkout, "-c", USE_METRIC).splitlines())
    order = told["order"].split()
    assert [metric for metric in order if metric != "same_wrong"] == [
        metric for metric in METRICS if metric in order
    ]
    place = order.index("same_wrong")
    assert order[place - 1 : place + 2] == ["neither_correct", "same_wrong", "bowker"]
    assert told["estimate"] == "0.5 4 wilson"
    assert "design effect" in told["clustered"]
    assert told["bounds"] == "0.4 0.6"
    assert told["methods"] == "True"
    assert told["schema"] == "Same wrong letter"

    # No other file was changed.
    changed = {
        path.relative_to(checkout).as_posix()
        for path in checkout.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
        if not (ROOT / (own := path.relative_to(checkout))).is_file()
        or (ROOT / own).read_bytes() != path.read_bytes()
    }
    assert changed == {name}


def test_two_metrics_of_one_name_are_refused(checkout):
    source = (checkout / "fairstats/metrics/odds_ratio.py").read_text(encoding="utf-8")
    (checkout / "fairstats/metrics/twin.py").write_text(source, encoding="utf-8")
    with pytest.raises(AssertionError, match=r"two metrics are named 'odds_ratio'.*twin"):
        run(checkout, "-c", "import fairstats.metrics.registry")
