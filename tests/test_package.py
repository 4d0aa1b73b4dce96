"""The installed package: it has all files read at run time, and imports little."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import fairstats

ROOT = Path(__file__).parents[1]


def test_every_public_name_exists():
    for name in fairstats.__all__:
        assert getattr(fairstats, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        fairstats.nothing  # noqa: B018


def test_no_public_name_is_that_of_a_module():
    """Once the module is imported, it would replace the function."""
    modules = {path.stem for path in (ROOT / "fairstats").iterdir()}
    assert modules.isdisjoint(fairstats.__all__)


def test_importing_loads_no_library():
    code = "import fairstats, sys; print(*sorted({'pandas', 'numpy', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_analysing_loads_no_library_of_pages_or_collectors():
    code = """
import sys
import fairstats
from fairstats.benchmarks.loading import load_benchmark
import pandas as pd

keys = load_benchmark("demo").answer_keys.items()
row = dict(benchmark="demo", benchmark_version="1", strategy="plain", sample=0, attribute="race")
answers = [row | dict(item_id=item, group=group, model="m", answer=key, answer_key=key)
           for item, key in keys for group in ("white", "black")]
fairstats.analyze(pd.DataFrame(answers))
fairstats.rank_models(pd.DataFrame(answers))
others = {"IPython", "duckdb", "great_tables", "matplotlib", "openai", "pandera",
          "pingouin", "plotnine", "pypandoc", "requests", "sklearn", "typer", "typst"}
print(*sorted(others & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_checking_a_table_with_a_fault_loads_no_spark():
    code = """
import sys, warnings
warnings.simplefilter("error", FutureWarning)
import fairstats
from fairstats.answers.schema_checks import check_answers
try:
    check_answers(fairstats.example_answers().assign(answer=" A"))
except fairstats.InputError:
    print("pyspark.pandas" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_description_has_no_relative_link(wheel):
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (one for one in opened.namelist() if one.endswith("dist-info/METADATA"))
        metadata = opened.read(name).decode()
        assert any(one.endswith("licenses/data/LICENCES.md") for one in opened.namelist())
    description = metadata.partition("\n\n")[2]
    targets = [part.partition(")")[0] for part in description.split("](")[1:]]
    assert targets
    assert [one for one in targets if not one.startswith(("https://", "#"))] == []
    assert "Author: The fairstats maintainers" in metadata
    assert "Project-URL: Changelog" in metadata


def test_wheel_has_data_and_pages(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(tmp_path / "installed")
    # From the wheel's files, outside the checkout: the benchmark and the page templates.
    code = (
        "import fairstats._lib.installation as r, fairstats.benchmarks.loading as b; "
        "print(len(b.load_benchmark('demo').answer_keys), r.resource('_quarto.yml'), "
        "r.resource('reports', 'template.typ'), r.resource('data', 'sources', 'fairmedqa.csv'), "
        "r.resource('data', 'published', 'fairmedqa_table3.csv'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path / "installed",
        capture_output=True,
        text=True,
        check=True,
    )
    count, *paths = done.stdout.split()
    assert count == "24"
    assert all("_resources" in path for path in paths)


def test_checking_answers_does_not_import_pyspark(tmp_path):
    # A substitute that reports when it is imported; the real one warns of pandas 3.
    folder = tmp_path / "pyspark" / "pandas"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "__init__.py").write_text("print('imported')\n", encoding="utf-8")
    code = (
        "from fairstats.answers.schema import answers_schema; answers_schema(); print('checked')\n"
        "import pyspark.pandas"  # still available on request
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["checked", "imported"]


def test_the_help_of_the_command_line_loads_no_library():
    code = """
import sys
from typer.testing import CliRunner
from fairstats.cli import app

for arguments in ([], ["analyze"], ["collect"], ["rank"], ["ratings"], ["vignettes", "audit"]):
    assert CliRunner().invoke(app, [*arguments, "--help"]).exit_code == 0, arguments
print(*sorted({"pandas", "numpy", "pyarrow", "scipy"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
