"""A small release with hostile names, drawn once for all tests of pages."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pypandoc
import pytest
from filelock import FileLock

from fairstats.answers.files import write_answers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.publishing.publish import Published, publish
from fairstats.release.contents import Release
from fairstats.release.tables import TABLES
from fairstats.report.page_output import collected
from fairstats.screening.screen import SCREENING_COLUMNS

from .undrawn import undrawn, whole

#: Names that an answer file may contain.
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    '=HYPERLINK("http://127.0.0.1/")',
    "../../outside",
    "{{< include ../../pyproject.toml >}}",
    "{{< env PATH >}}",
    "$x$ *b* `c` [l](http://127.0.0.1) @ref #set page(width: 1cm) ````{=html} \\",
    "m" * 200,
    "tiny-🤗",
)


def answers_of_models(models: tuple[str, ...], *, items: int = 24) -> pd.DataFrame:
    """Return complete answers to the demonstration benchmark, some missing, the same in every
    run."""
    demo = load_benchmark("demo")
    rng = np.random.default_rng(1)
    rows = []
    for model in models:
        for item, key in list(demo.answer_keys.items())[:items]:
            for attribute, group in demo.variants:
                chosen = rng.random()
                answer = (
                    key if chosen < 0.6 else None if chosen > 0.97 else rng.choice(list("ABCD"))
                )
                rows.append(
                    {
                        "benchmark": "demo",
                        "benchmark_version": "1",
                        "model": model,
                        "strategy": "plain",
                        "item_id": item,
                        "attribute": attribute,
                        "group": group,
                        "sample": 0,
                        "answer": answer,
                        "answer_key": key,
                        "status": "unparsed" if answer is None else "ok",
                        "snapshot": f"{model[:190]}-1",
                    }
                )
    return pd.DataFrame(rows)


@pytest.fixture(scope="session")
def release(of_this_run: Path) -> Published:
    """Draw the release in the first worker that needs it; tests must not change it."""
    folder = of_this_run / "releases"
    with FileLock(of_this_run / "releases.lock"):
        if not (folder / "drawn").exists():
            answers = answers_of_models(("Model-1", *HOSTILE))
            path = write_answers(answers, folder / "in" / "a.parquet")
            publish(path, release="2026.11", out=folder / "out", renderer="builtin")
            (folder / "drawn").touch()
    return Published(folder / "out" / "v" / "2026.11", new=True)


@pytest.fixture(scope="session")
def pages(release: Published) -> dict[str, str]:
    """Return the text of every page by its path in the site."""
    site = release.path
    return {
        path.relative_to(site).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(site.rglob("*.html"))
    }


@pytest.fixture
def small_answers(tmp_path: Path) -> Path:
    return write_answers(answers_of_models(("Model-1",)), tmp_path / "answers.parquet")


@pytest.fixture(scope="session")
def one_pair(benchmark_file) -> Callable[[int], Benchmark]:
    """Return a benchmark with this many items ("i00" and so on), and White and Black as its
    pair."""

    def declare(items: int) -> Benchmark:
        keys = "".join(f"i{n:02},{'ABC'[n % 3]}\n" for n in range(items))
        pair = 'groups = { white = "White", black = "Black" }\npairs = [["white", "black"]]'
        race = f'[attributes.race]\nlabel = "Race"\n{pair}'
        return load_benchmark(benchmark_file(f"item_id,answer_key\n{keys}", race=race))

    return declare


@pytest.fixture(scope="session")
def hostile(tmp_path_factory) -> Release:
    """Make a release with hostile names, model versions, two strategies, and an infinite odds
    ratio."""
    answers = whole(answers_of_models(("GPT-4.1", "GPT-5", *HOSTILE)))
    wrong = (answers["model"] == "GPT-5") & (answers["group"] == "black")
    answers.loc[wrong, "answer"] = answers.loc[wrong, "answer_key"].map(lambda k: "AB"[k == "A"])
    aware = answers[answers["model"] == HOSTILE[0]].assign(strategy="aware")
    folder, newer = tmp_path_factory.mktemp("hostile"), {"GPT-5": "GPT-4.1"}
    return undrawn(pd.concat([answers, aware]), folder, successors=newer)


@pytest.fixture(scope="session")
def bounds(tmp_path_factory) -> Release:
    """Make a release of ranges."""
    answers, newer = answers_of_models(("GPT-4.1", "GPT-5")), {"GPT-5": "GPT-4.1"}
    return undrawn(answers, tmp_path_factory.mktemp("bounds"), missing="bounds", successors=newer)


@pytest.fixture(scope="session")
def drawn(tmp_path_factory) -> Callable[..., str]:
    """Return the HTML of a part of a page."""
    project = tmp_path_factory.mktemp("project")
    # A model's page is two folders below the project's root.
    (project / "_quarto.yml").touch()
    (project / "reports" / "models").mkdir(parents=True)

    def html(show: Callable[..., None], *arguments: object) -> str:
        with chdir(project / "reports" / "models"), collected() as parts:
            show(*arguments)
        text = "\n\n".join(parts)
        return pypandoc.convert_text(text, "html", format="markdown", extra_args=["--wrap=none"])

    return html


@pytest.fixture
def undrawn_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a report as a short text, in tests of its file."""

    def draw(release: Release, project: Path, page: str, *, out: Path) -> None:
        out.write_text("a report")

    monkeypatch.setattr("fairstats.report.render.render_document", draw)


@pytest.fixture(scope="module")
def without_screening():
    """The checks of answers have their own tests; here they would only take time."""
    empty = pd.DataFrame({name: pd.Series(dtype="str") for name in SCREENING_COLUMNS})
    table = replace(TABLES["screening"], make=lambda of: empty)
    with mock.patch.dict(TABLES, {"screening": table}):
        yield
