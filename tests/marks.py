"""The requirements of a test besides Python, from its folder and the fixtures it uses.

``make check`` leaves out all of these; ``pytest -m draws`` runs those that draw pages, and so on.
`slow.txt` lists the tests that take long by themselves. To measure them again::

    make test PYTEST_ADDOPTS=--junitxml=times.xml && python -m tests.marks times.xml
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path, PurePath
from xml.etree import ElementTree

import pytest

#: Modules, or single tests of them, by requirement.
NEEDED: dict[str, tuple[str, ...]] = {
    # They publish, report or render.
    "draws": (
        "answers/test_hostile_files.py::test_files_replaced_while_publishing",
        "benchmarks/test_without_baseline.py",
        "commands/test_cli.py",
        "commands/test_rating_commands.py",
        "docs/test_guides.py::test_audit_is_published",
        "docs/test_guides.py::test_own_data",
        "docs/test_spreadsheet_guide.py",
        "docs/test_site.py",
        "publishing/",
        "recipes/test_page.py",
        "replication/test_replicate.py::test_a_release_holds_the_table",
        "report/test_api.py",
        "report/test_audit_crosswalk.py",
        "report/test_audit_sections.py",
        "report/test_audit_summary.py",
        "report/test_badges.py",
        "report/test_change_tables.py",
        "report/test_downloads.py",
        "report/test_feed.py",
        "report/test_flip_texts.py",
        "report/test_model_page.py",
        "report/test_pages.py",
        "report/test_quarto_project.py",
        "report/test_rank_table.py",
        "report/test_ratings_page.py",
        "report/test_renderers.py",
        "report/test_replication_pages.py",
        "report/test_retrieval_page.py",
        "report/test_sensitivity_tables.py",
        "report/test_table_snapshots.py",
        "report/test_template.py",
        "report/test_vignettes_page.py",
        "screening/test_screen.py::test_command_compares_with_a_release",
    ),
    # The embedded models answer.
    "embedded": (
        "collectors/test_embedded_chat_model.py",
        "publishing/test_demo.py",
        "vignettes/building/test_end_to_end.py::test_embedded_model",
    ),
    # Processes are killed or interrupted while they work.
    "kills": (
        "collectors/test_campaign.py",
        "publishing/test_interrupted_publishing.py",
        "ratings/collection/test_ask_judge.py::test_killed_run",
        "vignettes/building/test_run.py",
    ),
    # Packages are installed from the registry.
    "registry": ("test_installation.py",),
}
#: Fixtures by the requirement of their tests.
FIXTURES = {
    "browser": "browser",
    "driver": "browser",
    "local_spark": "spark",
    "shared_data": "released",
}


#: A test is slow if it takes at least this many seconds.
SLOW = 0.15
_LIST = Path(__file__).with_name("slow.txt")


@cache
def slow_tests() -> frozenset[str]:
    """Return the listed tests, without their parameters."""
    return frozenset(_LIST.read_text(encoding="utf-8").splitlines())


def mark(item: pytest.Item) -> None:
    """Add the marks for the requirements of a test."""
    path = PurePath(item.nodeid.partition("::")[0])
    place = item.nodeid.removeprefix("tests/")
    found = {
        name
        for name, places in NEEDED.items()
        if path.parts[0] == "tests" and place.startswith(places)
    }
    found |= {FIXTURES[name] for name in getattr(item, "fixturenames", ()) if name in FIXTURES}
    parameters = getattr(item, "callspec", None)
    engines = set(map(str, parameters.params.values())) if parameters else set()
    if engines & {"pyspark", "spark"}:
        found.add("spark")
    if item.nodeid.partition("[")[0] in slow_tests():
        found.add("slow")
    for name in sorted(found):
        item.add_marker(name)


def weight(item: pytest.Item) -> int:
    """Return how early a module starts: slow ones come first, so that no core waits at the end."""
    names = {one.name for one in item.iter_markers()}
    return -sum(2**place for place, name in enumerate(_BY_LENGTH) if name in names)


_BY_LENGTH = ("released", "slow", "kills", "browser", "draws", "embedded", "spark", "registry")


def write_slow(report: Path) -> None:
    """Write the list of slow tests from the times of a run, in pytest's JUnit XML."""
    slow = set()
    for case in ElementTree.parse(report).iter("testcase"):
        if float(case.get("time", 0)) >= SLOW:
            parts = case.get("classname", "").split(".")
            # Behind its module, the name of a test may have a class.
            inside = [parts.pop()] if parts[-1][:1].isupper() else []
            name = case.get("name", "").partition("[")[0]
            slow.add("::".join([f"{'/'.join(parts)}.py", *inside, name]))
    _LIST.write_text("".join(f"{name}\n" for name in sorted(slow)), encoding="utf-8")


if __name__ == "__main__":
    write_slow(Path(sys.argv[1]))
