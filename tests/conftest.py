"""Shared fixtures: small answer tables written as text, a benchmark of three groups, and the
answers that others released."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer.testing
from hypothesis import settings

from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.counts.patterns import PATTERNS, IntArray
from fairstats.release.tables import TABLES
from fairstats.report import site_pages
from tests.crossed_groups import crossed_groups
from tests.known_tables import keep_ratings, known_tables
from tests.make_answers import make_answers
from tests.marks import mark, weight

pytest_plugins = ["tests.browsing"]
# These make reference values with packages that are not installed here.
collect_ignore = ["evalstats/make.py", "ppi/make.py"]

# The same examples on every run and on every machine, including slow ones.
settings.register_profile("tests", derandomize=True, deadline=None, database=None, max_examples=40)
settings.load_profile("tests")

ROOT = Path(__file__).resolve().parents[1]
#: Released by others and not part of the repository; see its README.
SHARED = ROOT.parent / "shared" / "data"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    modules: dict[str, int] = {}
    for item in items:
        mark(item)
        module = item.nodeid.partition("::")[0]
        modules[module] = min(modules.get(module, 0), weight(item))
    # Stable, so that the tests of a module stay together and in order.
    items.sort(key=lambda item: modules[item.nodeid.partition("::")[0]])


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    # What is loaded here stays; collecting garbage would go through all of it again and again.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()
        # By default, every 700 new objects start a search, which took 4% of the time of tests.
        gc.set_threshold(10_000)


@pytest.fixture(scope="session")
def of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder shared by all workers of this run of the tests."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session", autouse=True)
def _once(of_this_run: Path) -> Iterator[None]:
    """Make each table of a release once."""
    tables, temporary = (of_this_run / name for name in ("tables", "temporary"))
    tables.mkdir(exist_ok=True)
    temporary.mkdir(exist_ok=True)
    all_tables: dict[str, Any] = TABLES  # type: ignore[assignment]
    with pytest.MonkeyPatch.context() as patch:
        # What is left there, such as the lock of a site, goes with the other files of this run.
        patch.setenv("TMPDIR", str(temporary))
        patch.setattr(tempfile, "tempdir", str(temporary))
        # Most answers here are made up. Screening may block them, e.g. as copies of each other.
        patch.setattr("fairstats.publishing.inputs.blocked_sets", lambda screening: screening[:0])
        for name, table in known_tables(tables).items():
            patch.setitem(all_tables, name, table)
        keep_ratings(tables, patch)
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_command_line() -> Iterator[None]:
    """Build the parser of the command line once: typer does so for each command, in 0.2 s."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(typer.testing._get_command))
        yield


@pytest.fixture
def declared_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the entry points that the project declares, whichever version of it is installed."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    groups = {
        group: {name: EntryPoint(name, value, group) for name, value in entries.items()}
        for group, entries in declared.items()
    }
    monkeypatch.setattr("fairstats.commands._shared.plugins", groups.__getitem__)


@pytest.fixture(scope="session")
def answers_of() -> Callable[..., pd.DataFrame]:
    """Answers from one short text an item, see `tests.make_answers`."""
    return make_answers


@pytest.fixture(scope="session")
def counts_of() -> Callable[..., IntArray]:
    """Return the outcome counts of one pair, (1, 10), from the patterns that are not 0."""

    def build(**patterns: int) -> IntArray:
        assert set(patterns) <= set(PATTERNS)
        return np.array([[patterns.get(name, 0) for name in PATTERNS]], dtype=np.int64)

    return build


@pytest.fixture(scope="session")
def row_of() -> Callable[..., pd.Series]:
    """Return the one row of an estimates table with these values."""

    def pick(estimates: pd.DataFrame, **values: str) -> pd.Series:
        found = estimates
        for column, value in values.items():
            found = found[found[column] == value]
        assert len(found) == 1, f"{len(found)} rows with {values}"
        return found.iloc[0]

    return pick


@pytest.fixture(scope="session")
def demo() -> Benchmark:
    return load_benchmark("demo")


@pytest.fixture(scope="session")
def all_right() -> Callable[[Benchmark], pd.DataFrame]:
    """Return the right answer to every variant of a benchmark's items."""
    return lambda benchmark: make_answers(1, of=benchmark, benchmark_version="1")


@pytest.fixture(scope="session")
def benchmark_file(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Write a valid benchmark file, except for the replaced parts."""

    def write(keys: str = "item_id,answer_key\ni1,A\ni2,B\ni3,A\n", **replaced: str) -> Path:
        parts = {
            "name": 'name = "three"',
            "title": 'title = "Three groups"',
            "description": 'description = "Three groups of one attribute."',
            "options": 'options = ["A", "B", "C"]',
            "keys_file": 'keys_file = "keys.csv"',
            "missing": 'missing = "available"',
            "equivalence_margin": "equivalence_margin = 0.1",
            "sources": 'sources = ["none"]',
            "licence": 'licence = "CC0"',
            "citation": 'citation = "none"',
            "versions": '[versions]\n1 = "the only one"',
            "race": "[attributes.race]\n"
            'label = "Race"\n'
            'groups = { white = "White", black = "Black", asian = "Asian" }\n'
            'pairs = [["white", "black"], ["white", "asian"], ["black", "asian"]]',
            "baseline": "[attributes.baseline]\n"
            'label = "Baseline"\n'
            'groups = { original = "Original", neutralized = "Neutralized" }\n'
            'pairs = [["original", "neutralized"]]',
        }
        folder = tmp_path_factory.mktemp("benchmark")
        (folder / "keys.csv").write_text(keys, encoding="utf-8")
        path = folder / "three.toml"
        path.write_text("\n".join((parts | replaced).values()), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def three_groups(benchmark_file: Callable[..., Path]) -> Benchmark:
    """Return a benchmark with three groups for race, and so three pairs."""
    return load_benchmark(benchmark_file())


@pytest.fixture(scope="session")
def swapped_demo(demo: Benchmark) -> Benchmark:
    """Return the demonstration benchmark under another name, with race's pair reversed."""
    race = replace(demo.attributes["race"], pairs=(("black", "white"),))
    return replace(demo, name="swapped", attributes=dict(demo.attributes) | {"race": race})


@pytest.fixture(scope="session")
def crossed_demo(demo: Benchmark) -> Benchmark:
    """Return a benchmark whose only variants are the crossed groups of race and sex."""
    return crossed_groups(demo)


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """Return a file that others released; the test is skipped if it is missing."""

    def find(name: str) -> Path:
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"released data are not here: shared/data/{name}")
        return path

    return find


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def in_engine() -> Callable[[pd.DataFrame, str], Any]:
    """Return the same answers as a frame of another library; skipped if it is not installed."""

    def convert(answers: pd.DataFrame, engine: str) -> Any:
        as_objects = answers.astype(object).where(answers.notna(), None)
        if engine == "pandas":
            return answers
        if engine == "pandas object":
            return as_objects
        if engine == "pyarrow":
            return pytest.importorskip("pyarrow").Table.from_pylist(as_objects.to_dict("records"))
        if engine == "duckdb":
            return pytest.importorskip("duckdb").from_arrow(convert(answers, "pyarrow"))
        if engine == "pyspark":
            sql = pytest.importorskip("pyspark.sql")
            if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
                pytest.skip("Java is not installed")
            session = sql.SparkSession.builder.master("local[1]").getOrCreate()
            # Spark cannot infer a type for a column of nulls.
            whole = [c for c in answers if pd.api.types.is_integer_dtype(answers[c])]
            kinds = [f"`{c}` {'long' if c in whole else 'string'}" for c in answers]
            rows = [tuple(row) for row in as_objects.itertuples(index=False)]
            return session.createDataFrame(rows, ", ".join(kinds))
        frame = pytest.importorskip("polars").DataFrame(as_objects.to_dict("list"))
        return frame.lazy() if engine == "polars lazy" else frame

    return convert


@pytest.fixture(scope="module")
def without_pages() -> Iterator[None]:
    """The look of pages is tested with the pages; in other tests drawing only takes time."""

    def render(release: Any, *, site: Path, pdf: Path, renderer: str, **_: Any) -> str:
        site.mkdir(exist_ok=True)
        (site / "index.html").write_text("page")
        pdf.write_text("pdf")
        return "nothing"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairstats.publishing.publish.render", render)
        yield


@pytest.fixture(scope="module")
def few_tables() -> Iterator[None]:
    """Return only the tables that the documents are made from."""
    # Publishing refuses answers by the table of screening.
    documents = ("estimates", "ranks", "rank_differences", "comparisons", "flips", "letters")
    kept = (*documents, "screening")
    tables: dict[str, Any] = TABLES  # type: ignore[assignment]
    every = dict(tables)
    for name in set(tables) - set(kept):
        del tables[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site_pages, "_HAS", {})
        yield
    # In order, which pages show.
    tables.clear()
    tables.update(every)


@pytest.fixture(scope="session")
def local_spark() -> None:
    """Start a real local Spark, on one core."""
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed")
    # More partitions for a few rows only add tasks, and more compilation does not pay off.
    few = sql.SparkSession.builder.config("spark.sql.shuffle.partitions", 1)
    few.config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    few.config("spark.ui.enabled", False).master("local[1]").getOrCreate()
