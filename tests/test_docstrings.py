"""Every public docstring has the estimand, the input, the errors and the source."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from tests.documented_names import documented_names

FUNCTIONS = {
    name: subject
    for name, subject in sorted(documented_names().items())
    if inspect.isfunction(subject)
}
# Functions that compute a statistic have a source; these read, write, count or show.
WITHOUT_SOURCE = {
    "analyze",
    "answers_schema",
    "check_submission",
    "count_outcomes",
    "diff_releases",
    "item_patterns",
    "load_benchmark",
    "load_rubric",
    "plot_forest",
    "plot_outcomes",
    "plot_pairwise",
    "plot_ranks",
    "plot_specification",
    "plot_versions",
    "publish",
    "paired_counts",
    "publication_table",
    "read_answers",
    "read_ratings",
    "read_retrievals",
    "scan_answers",
    "validate_answers",
    "verify",
    "write_answers",
    "write_ratings",
}
# Their errors are those of the functions that they call, or they have none.
WITHOUT_ERRORS = {"answers_schema", "example_answers", "item_patterns", "validate_answers"}
ROOT = Path(__file__).parents[1]


def sections(name: str) -> dict[str, str]:
    text = inspect.getdoc(FUNCTIONS[name]) or ""
    parts = re.split(r"\n\n([A-Z][A-Za-z ]+)\n-{4,}\n", "\n\n" + text)
    return {"": parts[0].strip()} | dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstring_has_all_sections(name):
    found = sections(name)
    assert len(found[""]) > 20
    assert "Returns" in found
    for parameter in inspect.signature(FUNCTIONS[name]).parameters:
        assert re.search(rf"(^|[ ,*]){parameter}\b", found["Parameters"], re.M), parameter
    if name not in WITHOUT_SOURCE:
        assert "References" in found
        assert "Examples" in found
    if name not in WITHOUT_ERRORS and name not in WITHOUT_SOURCE:
        assert "Raises" in found
