"""Everything that the documents mention exists."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import optimize, stats

import fairstats
from fairstats.benchmarks.loading import load_benchmark
from fairstats.comparisons.compare import RELEASE_COMPARISON_COLUMNS
from fairstats.comparisons.ranking import RANK_COLUMNS, RANK_DIFFERENCE_COLUMNS
from fairstats.estimates.item_statistics import ITEM_FUNCTIONING_COLUMNS
from fairstats.estimates.specifications import smallest_margins
from fairstats.estimates.table import ESTIMATE_COLUMNS
from fairstats.metrics.registry import METRICS
from fairstats.publishing.json_api import described_columns
from fairstats.ratings.files import write_ratings
from fairstats.retrieval.effects import (
    CELLS,
    CHANGE_DIFFERENCE,
    CHANGED_OTHER,
    CHANGED_SAME,
    EFFECT_COLUMNS,
)
from fairstats.retrieval.overlap import OVERLAP_COLUMNS, TEXT_OVERLAP_COLUMNS
from fairstats.retrieval.voting import VOTE_COLUMNS
from tests.drawn_ratings import drawn_ratings

DOCS = Path(__file__).parents[1] / "docs"


def python_of(page: str, words: str) -> str:
    """Return the one block of Python of a page that has these words."""
    text = (DOCS / page).read_text(encoding="utf-8")
    (code,) = (c for c in re.findall(r"(?s)```python\n(.*?)```", text) if words in c)
    return code


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("estimates", ESTIMATE_COLUMNS),
        ("comparisons", (*RELEASE_COMPARISON_COLUMNS, "release_old", "manifest_old")),
        ("ranks", RANK_COLUMNS),
        ("rank_differences", RANK_DIFFERENCE_COLUMNS),
        ("item_gaps", ITEM_FUNCTIONING_COLUMNS),
        ("overlap", OVERLAP_COLUMNS),
        ("retrieval_effects", EFFECT_COLUMNS),
        ("votes", VOTE_COLUMNS),
        ("text_overlap", TEXT_OVERLAP_COLUMNS),
    ],
)
def test_schema_describes_every_column_of_a_table(table, columns):
    described = described_columns()[table]
    assert set(described) == set(columns)
    assert all(text.endswith(".") for text in described.values())


def test_schema_names_every_metric_of_retrieval_effects():
    text = described_columns()["retrieval_effects"]["metric"]
    names = (*CELLS, CHANGED_SAME, CHANGED_OTHER, CHANGE_DIFFERENCE)
    assert set(re.findall(r"\w+", text)) >= set(names)


def test_figures_of_the_estimates_page_exist():
    text = (DOCS / "estimates.md").read_text(encoding="utf-8")
    _, _, rest = text.partition("| question |")
    table, _, _ = rest.partition("\n\n")
    for name in re.findall(r"`(\w+)(?:_…)?`", table):
        assert any(metric.startswith(name) for metric in METRICS), name


def test_the_benchmark_of_the_documents_can_be_loaded(tmp_path):
    text = (DOCS / "benchmark-files.md").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(re.findall(r"(?s)```toml\n(.*?)```", text)[0])
    (tmp_path / "mine.keys.csv").write_text("item_id,answer_key\nq1,A\n")
    benchmark = load_benchmark(tmp_path / "mine.toml")
    assert benchmark.attributes["race_sex"].crosses == ("race", "sex")
    assert benchmark.attributes["race"].pairs[1] == ("white", "asian")


def test_the_python_of_the_page_on_ratings_runs(tmp_path, monkeypatch):
    write_ratings(drawn_ratings(), tmp_path / "ratings" / "a.ratings.parquet")
    monkeypatch.chdir(tmp_path)
    code = python_of("ratings.md", "krippendorff")
    names = {"fairstats": fairstats}
    exec(code, names)
    assert set(names["table"].columns) == {"p0", "p1", "p2", "p3", "h0", "h1", "h2"}


def test_ratings_can_be_given_to_other_libraries(tmp_path, monkeypatch):
    write_ratings(drawn_ratings(), tmp_path / "ratings" / "a.ratings.parquet")
    monkeypatch.chdir(tmp_path)
    code = python_of("ratings.md", "crowdkit")
    names = {"fairstats": fairstats}
    exec(code, names)
    assert list(names["labels"].columns) == ["task", "worker", "label"]
    compared = names["compared"]
    assert len(names["wins"]) == len(compared)
    (winner, loser), first = names["wins"][0], compared.iloc[0]
    better = first["model"] if first["prefers"] == 1 else first["model_2"]
    assert names["models"][winner] == better
    assert {winner, loser} == {names["models"].index(first[c]) for c in ("model", "model_2")}


def test_examples_of_the_page_on_evidence_give_the_results_shown():
    found = doctest.testfile(str(DOCS / "evidence.md"), module_relative=False)
    assert found.attempted > 12
    assert found.failed == 0


def test_the_python_of_the_page_on_scores_runs(capsys):
    text = (DOCS / "comparing-scores.md").read_text(encoding="utf-8")
    names = {}
    for code in re.findall(r"(?s)```python\n(.*?)```", text):
        exec(code, names)
    shown, *_ = re.findall(r"(?s)```text\n(.*?)```", text)
    assert capsys.readouterr().out == shown
    assert names["found"].disagreements("plain", "reasoning")["difference"].lt(0).all()


def test_the_python_on_judges_runs():
    code = python_of("ratings.md", "ppi_mean")
    names = {"fairstats": fairstats}
    exec(code, names)
    assert names["found"].n_people == 12
    assert names["found"].n_effective > 12


def test_the_python_of_the_page_on_items_and_models_runs():
    text = (DOCS / "items-and-models.md").read_text(encoding="utf-8")
    code = re.findall(r"(?s)```python\n(.*?)```", text)
    names = {}
    exec("".join(code), names)
    race, _, sex = (row for _, row in names["table"].iterrows())
    for row, wanted in ((race, "3.4 to 31.1"), (sex, "−0.3 to 29.5")):
        low, high = (100 * row[["new_items_low", "new_items_high"]]).round(1)
        assert f"{low} to {high}".replace("-", "−") == wanted
        assert wanted in text
    mean = "17.2 points (95% interval 13.2 to 21.3)"
    assert (
        "{:.1f} points (95% interval {:.1f} to {:.1f})".format(
            *100 * race[["estimate", "ci_low", "ci_high"]]
        )
        == mean
    )
    assert mean in text
    assert (names["items"]["p_holm"] > 0.05).all()
    assert names["noise"]["metric"].nunique() == 3


def test_the_python_of_the_page_on_statistics_recomputes_limits_over_clusters(benchmark_file):
    """Limits of `analyze` follow from the printed formulas; Tango's are the roots of its score."""
    code = python_of("statistics.md", "def with_room")
    names: dict[str, Any] = {"fairstats": fairstats}
    exec(code, names)
    assert -1 < names["low"] < names["values"].mean() < names["high"] < 1

    rng = np.random.default_rng(4)
    wards = np.repeat(np.arange(9), [2, 3, 5, 5, 6, 8, 11, 15, 25])
    items = [f"i{place}" for place in range(len(wards))]
    key, wrong = np.resize(["A", "B", "C"], 80), np.resize(["B", "C", "A"], 80)
    keys = "item_id,answer_key,ward\n" + "".join(
        f"{item},{right},w{ward}\n" for item, right, ward in zip(items, key, wards, strict=True)
    )
    path = benchmark_file(keys=keys, missing='missing = "available"\ncluster = "ward"', baseline="")
    benchmark = load_benchmark(path)
    # The groups differ in three wards only, so that the median ward matters.
    right = {"white": rng.random(80) < 0.8}
    right["black"] = right["white"] & ~((wards % 3 == 0) & (rng.random(80) < 0.3))
    right["asian"] = rng.random(80) < 0.8
    answers = pd.concat(
        pd.DataFrame({"item_id": items, "group": group, "answer": np.where(own, key, wrong)})
        for group, own in right.items()
    ).assign(
        benchmark="three", benchmark_version="1", model="m", strategy="plain", attribute="race"
    )
    answers = answers.assign(sample=0, answer_key=np.tile(key, 3))
    table = fairstats.analyze(answers, benchmarks=[benchmark], metrics=["accuracy_difference"])
    margins = smallest_margins(answers, benchmarks=[benchmark])
    table, margins = (
        own[own["group_a"] == "white"].set_index("group_b") for own in (table, margins)
    )
    for other in ("black", "asian"):
        values = right["white"].astype(int) - right[other]
        effect = names["corrected_effect"](values, wards)
        assert effect > 1.1
        n10, n01, n = ((values == 1).sum(), (values == -1).sum(), len(values))

        def beyond(delta: float, z: float, counts=(n10, n01, n), effect=effect) -> float:
            """Tango's score minus z; p01 is the root of the likelihood's quadratic."""
            n10, n01, n = (count / effect for count in counts)
            b, c = -n10 - n01 + (2 * n - n10 + n01) * delta, -n01 * delta * (1 - delta)
            p01 = (np.sqrt(b**2 - 8 * n * c) - b) / (4 * n)
            return (n10 - n01 - n * delta) / np.sqrt(n * (2 * p01 + delta * (1 - delta))) - z

        def limits(alpha: float, beyond=beyond) -> list[float]:
            z = stats.norm.isf(alpha / 2)
            return [optimize.brentq(beyond, -0.9, 0.9, args=(side * z,)) for side in (1, -1)]

        assert table.loc[other, ["ci_low", "ci_high"]].tolist() == pytest.approx(
            limits(0.05), abs=1e-9
        )
        inner = names["with_room"](values.mean(), *limits(0.1), wards)
        assert margins.loc[other, "smallest_margin"] == pytest.approx(max(np.abs(inner)), abs=1e-9)


@pytest.mark.parametrize("cluster", [False, True])
def test_the_python_of_the_page_on_statistics_recomputes_limits_of_samples(benchmark_file, cluster):
    """Limits of shares and the difference with three samples, with the room that Methods states."""
    code = python_of("statistics.md", "def with_room")
    names: dict[str, Any] = {}
    exec(code, names)
    rng = np.random.default_rng(6)
    wards = np.repeat(np.arange(7), [2, 3, 4, 5, 7, 9, 10])
    items = [f"i{place}" for place in range(len(wards))]
    keys = "item_id,answer_key,ward\n" + "".join(
        f"{item},A,w{ward}\n" for item, ward in zip(items, wards, strict=True)
    )
    line = 'missing = "available"' + '\ncluster = "ward"' * cluster
    benchmark = load_benchmark(benchmark_file(keys=keys, missing=line, baseline=""))
    ability = rng.beta(4, 1, len(items))
    letters = {
        group: np.where(rng.random((3, len(items))) < ability - lost, "A", "B")
        for group, lost in (("white", 0), ("black", 0.1), ("asian", 0))
    }
    letters["asian"][:] = letters["white"][0]
    answers = pd.concat(
        pd.DataFrame({"item_id": items, "group": group, "answer": own, "sample": sample})
        for group, samples in letters.items()
        for sample, own in enumerate(samples)
    ).assign(
        benchmark="three", benchmark_version="1", model="m", strategy="plain", attribute="race"
    )
    table = fairstats.analyze(answers.assign(answer_key="A"), benchmarks=[benchmark])
    table = table[table["group_a"] == "white"].set_index(["metric", "group_b"])

    units = wards if cluster else np.arange(len(items))
    z2 = stats.norm.isf(0.025) ** 2
    number = np.bincount(units)
    # Of few clusters, the room would be most of each interval.
    w = 0.0 if cluster else z2 / (z2 + number.sum() ** 2 / (number**2).sum())

    def wilson(share: float, n: float) -> NDArray[np.float64]:
        """Return the roots of the score equation (p − share)² n = z² p (1 − p)."""
        roots = np.roots([1 + z2 / n, -2 * share - z2 / n, share**2]).real
        return np.sort(roots)

    def effect_of(values: NDArray[np.float64], samples: int) -> float:
        units_of = np.tile(units, len(values))
        effect = "corrected_effect" if cluster else "design_effect"
        return names[effect](values.ravel(), units_of, samples)

    def checked(metric: str, other: str, limits: NDArray[np.float64]) -> None:
        found = table.loc[(metric, other), ["ci_low", "ci_high"]]
        assert found.tolist() == pytest.approx(limits.tolist(), abs=1e-9), metric

    a = letters["white"]
    for other in ("black", "asian"):
        b = letters[other]
        pairs = [(i, j) for i in range(3) for j in range(3)]
        same = np.array([a[i] == b[j] for i, j in pairs]).astype(float)
        for metric, own, samples in (("cfr", same, 3), ("accuracy_b", (b == "A").astype(float), 1)):
            low, high = wilson(own.mean(), own.size / effect_of(own, samples))
            least = (1 - w) * own.mean()
            checked(metric, other, np.array([min(low, least), max(high, least + w)]))

        values = np.array([(a[i] == "A").astype(float) - (b[j] == "A") for i, j in pairs])
        counts = [
            sum(((a[i] == "A") == x).astype(int) @ ((b[j] == "A") == y) for i, j in pairs)
            for x in (True, False)
            for y in (True, False)
        ]
        found = names["tango"](*counts, design_effect=effect_of(values, 3))
        p_a, p_b = (a == "A").mean(), (b == "A").mean()
        ends = (1 - w) * p_a - min((1 - w) * p_b + w, 1), min((1 - w) * p_a + w, 1) - (1 - w) * p_b
        low, high = found.ci_low, found.ci_high
        wide = min(low, ends[0]) if low <= 0 else low, max(high, ends[1]) if high >= 0 else high
        checked("accuracy_difference", other, np.array(wide))


def test_the_links_between_documents_lead_somewhere():
    for path in (DOCS.parent / "README.md", *DOCS.glob("*.md")):
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), (path.name, target)


def test_specification_example_of_the_estimates_page_runs():
    code = python_of("estimates.md", "specification")
    names = {"fairstats": fairstats}
    exec(code, names)
    assert names["shares"].set_index("attribute").loc["race", "disparity"] == 1
    assert names["models"]["model"].tolist() == ["Gemini-2.5-Flash"]
