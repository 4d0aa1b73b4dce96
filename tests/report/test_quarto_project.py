"""The pages are a Quarto project; the built-in renderer also reads its declarations."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pypandoc
import pytest
import typst

from fairstats._lib.problems import InputError
from fairstats._lib.processes import Watch
from fairstats.release.contents import Release
from fairstats.report import page_output, render
from fairstats.report.page_output import (
    PUBLISHED_VARIABLE,
    QUARTO_VARIABLE,
    RELEASE_VARIABLE,
    load_release,
    output_format,
)
from fairstats.report.render import _Page, _site_page
from fairstats.report.site_pages import (
    MODEL_FOLDER,
    NAVIGATION,
    PAGES,
    TYPST_TEMPLATE,
    conditions,
    copy_pages,
    prepare,
    write_search_index,
)

from .reading import broken_links

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def declared():
    yaml = pytest.importorskip("yaml", reason="pyyaml reads _quarto.yml")
    return yaml.safe_load((ROOT / "_quarto.yml").read_text(encoding="utf-8"))


@pytest.fixture
def shown() -> Iterator[list[str]]:
    """Return the output of a cell, one entry per output."""
    with page_output.collected() as outputs:
        yield outputs


@pytest.fixture
def project(tmp_path, release) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    copy_pages(folder)
    prepare(folder, Release(release.path))
    return folder


def drawn(project: Path, page: str = "reports/data.qmd") -> str:
    """A page of one line, drawn by the built-in renderer."""
    text = f"---\ntitle: Some page\nroot: {'../' * page.count('/')}\n---\n\nOne line.\n"
    return _site_page(_Page(project / page, "html", [text], []), text, project)


def test_every_page_is_rendered_and_in_the_list(declared):
    globs = declared["project"]["render"]
    # Otherwise Quarto also finds the pages inside the releases of site/, and runs their cells.
    assert all(glob.removeprefix("!").startswith("/") for glob in globs)
    rendered = {path for glob in globs if glob[0] != "!" for path in ROOT.glob(glob[1:])}
    rendered -= {ROOT / glob[2:] for glob in globs if glob[0] == "!"}
    rendered -= {*(ROOT / MODEL_FOLDER).glob("*"), ROOT / "reports" / "leaderboard.qmd"}
    assert rendered == {ROOT / page.path for page in PAGES}
    assert declared["metadata-files"] == [NAVIGATION]


def test_quarto_shows_no_warning_and_keeps_no_release(declared):
    assert declared["execute"] == {
        "echo": False,
        "warning": False,
        "daemon": False,
        "freeze": False,
    }
    header = (ROOT / "reports" / "_leaderboard.qmd").read_text(encoding="utf-8").split("---")[1]
    assert "warning: false" in header
    assert "daemon: false" in header


def test_project_requires_the_oldest_supported_quarto(declared):
    oldest = ".".join(map(str, render._OLDEST_QUARTO))
    assert declared["quarto-required"] == f">={oldest}.0"


def test_the_metadata_that_both_renderers_read_has_the_settings(project, release):
    before = drawn(project)
    assert '<a href="../index.html">Leaderboard</a>' in before
    assert '<a href="../reports/data.html#files">a table of the release</a>' in before
    assert 'class="search"' in before
    (project / "site.toml").write_text('title = "Our board"\npublisher = "Us"\n')
    prepare(project, Release(release.path))
    # Quarto merges this file into the metadata of each page.
    metadata = json.loads((project / NAVIGATION).read_text(encoding="utf-8"))
    assert set(metadata["frame"]) == {"search", "title", "publisher"}
    after = drawn(project)
    assert "<title>Some page · Our board</title>" in after
    assert '<a class="brand" href="../index.html">Our board</a>' in after
    assert "Published by Us." in after
    assert ".qmd" not in after


def test_quarto_draws_only_pages_with_content(project, release):
    # If a script removed them afterwards, the preview would not find what it drew.
    metadata = json.loads((project / NAVIGATION).read_text(encoding="utf-8"))
    excluded = {path.removeprefix("!/") for path in metadata["project"]["render"]}
    assert excluded == {page.path for page in PAGES if not page.has_content(Release(release.path))}
    assert "reports/ratings.qmd" in excluded


def test_no_text_of_the_metadata_is_the_name_of_a_file(project, release, monkeypatch):
    """Quarto takes such a text for a path, and shows the path."""
    monkeypatch.chdir(ROOT)

    def texts(value):
        if isinstance(value, (str, bool)):
            return [str(value)]
        inside = value.values() if isinstance(value, dict) else value
        return [text for one in inside for text in texts(one)]

    (project / "site.toml").write_text('title = "fairstats"\nlicence = "LICENSE"\n')
    prepare(project, Release(release.path))
    metadata = json.loads((project / NAVIGATION).read_text(encoding="utf-8"))
    found = texts({key: value for key, value in metadata.items() if key != "has"})
    assert not [text for text in found if not text.startswith("/") and Path(text).exists()]


def test_preview_may_run_the_script_that_reloads_a_page(project, release):
    strict = drawn(project)
    assert "script-src 'sha256-" in strict
    assert "ws:" not in strict
    prepare(project, Release(release.path), preview=True)
    policy = re.search(r'Policy" content="(.*?)"', drawn(project))
    assert policy is not None
    assert "script-src 'self' 'unsafe-inline'" in policy[1]
    assert "connect-src 'self' ws:" in policy[1]


def test_preview_draws_an_edited_note(project, release):
    """Quarto watches the files that the metadata name, but keeps the results of cells."""
    frozen = project / ".quarto" / "_freeze"
    frozen.mkdir(parents=True)
    prepare(project, Release(release.path), preview=True)
    metadata = json.loads((project / NAVIGATION).read_text(encoding="utf-8"))
    assert "reports/_notes/benchmark.md" in metadata["watched"]
    assert frozen.is_dir()
    note = project / "reports" / "_notes" / "benchmark.md"
    later = frozen.stat().st_mtime + 5
    os.utime(note, (later, later))
    prepare(project, Release(release.path))
    assert frozen.is_dir()
    prepare(project, Release(release.path), preview=True)
    assert not frozen.exists()


def test_only_what_changed_is_written_again(project, release):
    """Quarto's preview draws what was written, so it would never end."""
    models = sorted((project / MODEL_FOLDER).iterdir())
    (project / MODEL_FOLDER / "gone.qmd").touch()
    written = {path: path.stat().st_mtime_ns for path in [project / NAVIGATION, *models]}
    prepare(project, Release(release.path))
    assert {path: path.stat().st_mtime_ns for path in written} == written
    assert sorted((project / MODEL_FOLDER).iterdir()) == models


def test_links_to_pages_lead_there_from_every_folder(project):
    assert 'href="./reports/data.html"' in drawn(project, "index.qmd")
    assert 'href="../../reports/data.html"' in drawn(project, "reports/models/a.qmd")


def test_highlighted_code_can_be_typeset(tmp_path):
    # Quarto 1.9 and newer let pandoc highlight code in typst.
    source = tmp_path / "page.typ"
    template = f"--template={ROOT / TYPST_TEMPLATE}"
    pypandoc.convert_text(
        "---\ntitle: T\n---\n\n```python\nx = 1\n```\n",
        "typst",
        format="markdown",
        outputfile=str(source),
        extra_args=["--standalone", template, "--highlight-style=pygments"],
    )
    assert "Tok(" in source.read_text(encoding="utf-8"), "not highlighted by pandoc"
    typst.compile(str(source), output=str(tmp_path / "page.pdf"))


def test_a_folded_part_is_one_output(shown):
    with page_output.closed("More & more"):
        page_output.show_markdown("First")
        with page_output.closed("Inside"):
            page_output.show_html("<b>Second</b>")
    page_output.show_markdown("After")
    assert len(shown) == 2
    html = pypandoc.convert_text(shown[0], "html", format="markdown")
    assert html.count("<details>") == html.count("</details>") == 2
    assert html.startswith("<details><summary>More &amp; more</summary>")
    assert html.index("<p>First</p>") < html.index("Inside") < html.index("<b>Second</b>")
    assert html.rstrip().endswith("</details>")
    assert shown[1] == "After"


def test_failing_folded_part_is_dropped(shown):
    def fail() -> None:
        with page_output.closed("More"):
            page_output.show_markdown("First")
            raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        fail()
    page_output.show_markdown("After")
    assert shown == ["After"]


def test_a_folded_part_is_open_on_paper(shown, tmp_path):
    with page_output.drawing(tmp_path, "typst"), page_output.closed("More"):
        page_output.show_markdown("First")
    assert shown == ["First"]


@pytest.fixture
def quarto_draws(monkeypatch, tmp_path):
    def to(name: str) -> None:
        info = tmp_path / "info.json"
        info.write_text(json.dumps({"format": {"pandoc": {"to": name}}}), encoding="utf-8")
        monkeypatch.setenv(QUARTO_VARIABLE, str(info))

    return to


@pytest.mark.parametrize(("to", "expected"), [("html", "html"), ("html5", "html"), ("typst",) * 2])
def test_the_format_is_the_one_that_quarto_draws(quarto_draws, to, expected):
    quarto_draws(to)
    assert output_format() == expected


def test_a_format_without_tables_and_plots_is_refused(quarto_draws):
    quarto_draws("docx")
    with pytest.raises(InputError, match=r"--to.*docx.*html, or typst"):
        output_format()


def test_a_page_in_another_format_ends_with_a_message(quarto_draws, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="it runs the cells for Quarto")
    nbformat = pytest.importorskip("nbformat")
    quarto_draws("latex")
    cells = [nbformat.v4.new_code_cell("from fairstats.report import load_release\nload_release()")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    with pytest.raises(nbclient.exceptions.CellExecutionError):
        nbclient.NotebookClient(notebook, kernel_name="python3").execute()
    (output,) = notebook.cells[0]["outputs"]
    assert output["traceback"] == [
        "--to: the tables and plots cannot be drawn for latex; use html, or typst for a PDF"
    ]


def test_the_built_in_renderer_sets_the_format_also_inside_of_quarto(quarto_draws, tmp_path):
    quarto_draws("docx")
    with page_output.drawing(tmp_path, "typst"):
        assert output_format() == "typst"


def test_a_release_is_found_by_name_from_the_folder_of_a_page(release, tmp_path, monkeypatch):
    project = tmp_path / "project"
    page = project / "reports" / "models"
    page.mkdir(parents=True)
    (project / "_quarto.yml").touch()
    shutil.copytree(release.path, project / "site" / "v" / "a")
    shutil.copytree(release.path, project / "other" / "b")
    monkeypatch.chdir(page)
    for chosen in ("a", "site/v/a", str(project / "site" / "v" / "a")):
        monkeypatch.setenv(RELEASE_VARIABLE, chosen)
        assert load_release().path.resolve() == project / "site" / "v" / "a"
    monkeypatch.setenv(RELEASE_VARIABLE, "other/b")
    assert load_release().path.resolve() == project / "other" / "b"
    monkeypatch.setenv(RELEASE_VARIABLE, "c")
    with pytest.raises(InputError, match="c: is not a release"):
        load_release()


def test_a_release_without_a_table_of_the_pages_names_the_version_that_drew_it(release, tmp_path):
    older = shutil.copytree(release.path, tmp_path / "older")
    (older / "downloads" / "overlap.parquet").unlink()
    manifest = json.loads((older / "manifest.json").read_text(encoding="utf-8"))
    with pytest.raises(InputError, match=r"overlap\.parquet.*download the release again"):
        conditions(Release(older))
    del manifest["files"]["downloads/overlap.parquet"]
    (older / "manifest.json").write_text(json.dumps(manifest | {"fairstats": "0.0.9"}))
    with pytest.raises(InputError, match=r"fairstats 0\.0\.9, which published.*fairstats==0\.0\.9"):
        conditions(Release(older))


@pytest.mark.parametrize("in_project", [True, False])
def test_a_site_above_the_project_is_not_drawn(in_project, release, tmp_path, monkeypatch):
    shutil.copytree(release.path, tmp_path / "site" / "v" / "a")
    clone = tmp_path / "clone"
    clone.mkdir()
    if in_project:
        (clone / "_quarto.yml").touch()
    monkeypatch.chdir(clone)
    monkeypatch.delenv(RELEASE_VARIABLE, raising=False)
    with pytest.raises(InputError, match="there is no release to draw"):
        load_release()
    monkeypatch.setenv(RELEASE_VARIABLE, "a")
    with pytest.raises(InputError, match="a: is not a release"):
        load_release()


def script(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script that Quarto runs before and after the pages."""
    return subprocess.run(
        [sys.executable, "reports/prepare.py", *arguments],
        cwd=project,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_script_completes_what_quarto_drew(project, release, tmp_path):
    environment = {RELEASE_VARIABLE: str(release.path), PUBLISHED_VARIABLE: ""}
    assert script(project, **environment).returncode == 0
    assert json.loads((project / NAVIGATION).read_text(encoding="utf-8"))["preview"] is True
    site = tmp_path / "_site"
    shutil.copytree(release.path / "reports", site / "reports")
    shutil.copy(release.path / "index.html", site)
    done = script(project, "finish", QUARTO_PROJECT_OUTPUT_DIR=str(site), **environment)
    assert (done.returncode, done.stderr) == (0, "")
    # These pages are published ones, which also link to other releases.
    assert not [
        link for _, link in broken_links(site) if not re.match(r"(\.\./)+(feed|index\.html$)", link)
    ]
    assert (site / "leaderboard.pdf").is_file()


def test_the_script_runs_again_in_a_preview(project, release):
    # The preview sets the variable for a page, and removes the file afterwards.
    environment = {RELEASE_VARIABLE: str(release.path), QUARTO_VARIABLE: "removed.json"}
    done = script(project, **environment)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_script_names_the_remedy_in_a_wrong_python(project, tmp_path):
    (tmp_path / "fairstats").mkdir()
    (tmp_path / "fairstats" / "__init__.py").touch()
    done = script(project, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "QUARTO_PYTHON" in done.stderr
    assert sys.executable in done.stderr


def test_the_script_names_the_remedy_without_a_release(project):
    done = script(project, FAIRSTATS_RELEASE="")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "there is no release to draw; run `make demo`" in done.stderr


def test_the_style_sheet_is_plain_css_with_every_property_it_uses():
    css = (ROOT / "reports" / "style.css").read_text(encoding="utf-8")
    assert "$" not in css
    assert "//" not in css
    declared = set(re.findall(r"(?<![\w(])--[\w-]+(?=:)", css))
    assert set(re.findall(r"var\((--[\w-]+)", css)) <= declared
    plots = {f"--{name}" for name in page_output._VARIABLES.values()}
    assert plots <= declared


def test_git_ignores_quartos_output():
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("no git checkout")
    made = [
        "reports/.quarto/x", ".quarto/x", "index.quarto_ipynb", "reports/data.quarto_ipynb",
        "reports/assets/a.svg", "reports/navigation.yml",
        "reports/leaderboard.qmd", "reports/leaderboard.pdf",
        "_site/index.html", "_environment.local",
    ]  # fmt: skip
    done = subprocess.run(["git", "check-ignore", *made], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == made
    # If these lines are missing, Quarto appends them.
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {"/.quarto/", "**/*.quarto_ipynb", "/_*.local"} <= set(lines)


def test_the_search_index_has_the_words_of_pages_without_figures(tmp_path):
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "a.html").write_text(
        "<!DOCTYPE html><title>T</title><nav>Nav</nav><main><h1>A <em>page</em></h1><p>Some\nwords"
        "<svg><text>axis</text></svg></p><table><tr><th>Model</th><td>0.5</td></tr></table></main>"
        "<script>code</script>"
    )
    write_search_index(tmp_path)
    (entry,) = json.loads((tmp_path / "search.json").read_text(encoding="utf-8"))
    assert (entry["href"], entry["title"]) == ("reports/a.html", "A page")
    assert entry["text"] == "Some words Model"


@pytest.fixture
def old_quarto(tmp_path, monkeypatch):
    program = tmp_path / "quarto"
    program.write_text("#!/bin/sh\necho 1.8.27\n")
    program.chmod(0o755)
    monkeypatch.setattr(render.shutil, "which", lambda name: str(program))


def test_too_old_quarto_is_refused_if_requested(old_quarto, release, tmp_path):
    with pytest.raises(render.RenderError, match=r"Quarto 1\.8\.27 is too old.*builtin"):
        render.render(
            Release(release.path), site=tmp_path / "s", pdf=tmp_path / "p", renderer="quarto"
        )


def test_auto_does_not_take_a_quarto_that_is_too_old(old_quarto, release, tmp_path, monkeypatch):
    for module in render._QUARTO_NEEDS:
        pytest.importorskip(module, reason="without it no Quarto is looked for")

    def draw(*arguments: object, site: Path, pdf: Path, watch: Watch) -> str:
        site.mkdir()
        return "built-in"

    monkeypatch.setattr(render, "render_builtin", draw)
    site = tmp_path / "s"
    assert render.render(Release(release.path), site=site, pdf=tmp_path / "p") == "built-in"
