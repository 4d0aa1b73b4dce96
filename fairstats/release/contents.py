"""A release: its tables, benchmarks, boards and manifest, each read when it is first asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.installation import __version__
from fairstats._lib.problems import input_error
from fairstats._lib.result_objects import Memo
from fairstats._lib.safe_names import file_sha256, unique_slugs
from fairstats.answers.engine_frames import UNIT_COLUMNS, Unit
from fairstats.answers.files import DOWNLOADS as DOWNLOADS
from fairstats.answers.files import MANIFEST as MANIFEST
from fairstats.answers.files import RELEASES as RELEASES
from fairstats.answers.files import read_parquet
from fairstats.benchmarks.declaration import PLAIN, Benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.estimates.eligibility import ALONE
from fairstats.ratings.rubrics import Rubric, load_rubric
from fairstats.ratings.table import no_ratings
from fairstats.retrieval.variant_lists import no_retrievals
from fairstats.submissions.folder import no_submissions
from fairstats.vignettes.tables import no_measures

DEFAULT_SITE = "site"
#: The tables of a release's inputs.
INPUTS = ("answers", "retrievals", "ratings", "measures", "submissions")
#: Columns that name the earlier release of a comparison, and the hash of its manifest.
EARLIER = ("release_old", "manifest_old")
#: Bytes from which on a table is read again each time, to save memory.
_LARGE = 2_000_000


def formats_of(table: str) -> tuple[str, ...]:
    """Return the formats of a table's files."""
    # A row per pair of answers: as CSV, it would be a quarter of a release.
    return ("parquet",) if table == "flips" else ("csv", "parquet")


@dataclass(frozen=True)
class Board:
    """Estimates that can be compared with each other: one benchmark version and strategy."""

    benchmark: Benchmark
    version: str
    strategy: str
    estimates: pd.DataFrame
    ranks: pd.DataFrame
    differences: pd.DataFrame

    @property
    def models(self) -> list[str]:
        """Return the names of the board's models, sorted."""
        return sorted(self.estimates["model"].unique())

    @property
    def ordered(self) -> list[str]:
        """Return the names of the board's models, best rank first; models without a rank last."""
        first = self.could_be_ranked
        return [*first, *(model for model in self.models if model not in first)]

    @property
    def ranked(self) -> pd.DataFrame:
        """Return the rows of the ranked models, best first."""
        rows = self.ranks[self.ranks["rank"].notna()]
        return rows.sort_values(["rank", "model"], ignore_index=True)

    @property
    def could_be_ranked(self) -> list[str]:
        """Return the ranked models, best first, or the only model that could be ranked."""
        alone = self.ranks["method_note"].fillna("").str.startswith(ALONE)
        return [*self.ranked["model"], *self.ranks.loc[alone & self.ranks["rank"].isna(), "model"]]

    @property
    def why_unranked(self) -> dict[str, str]:
        """Return the reason for each model without a rank; empty if the board has no ranking."""
        rows = self.ranks[self.ranks["rank"].isna()]
        return dict(zip(rows["model"], rows["method_note"], strict=True))

    @property
    def uninformative(self) -> dict[str, str]:
        """Return why the answers of some models say nothing about fairness."""
        # Older releases have no such column.
        rows = self.ranks.reindex(columns=["model", "uninformative"]).dropna()
        return dict(zip(rows["model"], rows["uninformative"], strict=True))


@dataclass(frozen=True)
class Release(Memo):
    """A release folder as read by pages."""

    path: Path

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Return the release's manifest (without file hashes while the release is being built)."""
        content: dict[str, Any] = json.loads((self.path / MANIFEST).read_text(encoding="utf-8"))
        return content

    @property
    def name(self) -> str:
        """Return the release's name, e.g. ``2026.11``."""
        return str(self.manifest["release"])

    @property
    def alpha(self) -> float:
        """Return 1 − confidence level of the intervals, which is also the level of the verdicts."""
        return float(self.manifest["arguments"]["alpha"])

    @property
    def policies(self) -> list[str]:
        """Return the missing-answer policies of the estimates."""
        return sorted(map(str, self.estimates["missing"].unique()))

    @property
    def created_at(self) -> pd.Timestamp:
        """Return when the release was published (UTC)."""
        return pd.Timestamp(self.manifest["created_at"])

    @cached_property
    def estimates(self) -> pd.DataFrame:
        """Return the estimates table."""
        return self.table("estimates")

    @cached_property
    def ranks(self) -> pd.DataFrame:
        """Return the models' ranks, see `fairstats.rank_models`."""
        return self.table("ranks")

    @cached_property
    def rank_differences(self) -> pd.DataFrame:
        """Return which models differ, see `fairstats.rank_differences`."""
        return self.table("rank_differences")

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """Return the comparisons of versions and strategies (`fairstats.comparisons.compare`)."""
        return self.table("comparisons")

    @cached_property
    def all_comparisons(self) -> pd.DataFrame:
        """Return the comparisons, then those with answers of earlier releases.

        ``release_old`` names the earlier release; it is missing within this release.
        """
        own = self.comparisons.assign(**dict.fromkeys(EARLIER))
        # The first release of a site does not have such comparisons.
        if not self.table_path("earlier_comparisons").exists():
            return own
        earlier = self.table("earlier_comparisons")
        return own if earlier.empty else pd.concat([own, earlier], ignore_index=True)

    @cached_property
    def screening(self) -> pd.DataFrame:
        """Return the checks of its answer sets, see `fairstats.screen`."""
        return self.table("screening")

    @property
    def overruled(self) -> dict[Unit, str]:
        """Return the answer sets that were published although screening blocks them, and why."""
        given = self.manifest.get("overruled", [])
        return {tuple(one[name] for name in UNIT_COLUMNS): one["reason"] for one in given}

    @property
    def successors(self) -> dict[str, str]:
        """Return the older model of each newer one, which may be in an earlier release."""
        return dict(self.manifest.get("successors", {}))

    @property
    def model_facts(self) -> dict[str, dict[str, str | bool]]:
        """Return what the publisher declared about models, e.g. their family."""
        return dict(self.manifest.get("models", {}))

    def table(self, name: str) -> pd.DataFrame:
        """Return one of the release's tables, see `fairstats.release.tables`."""
        if name == "answers":
            return read_parquet(self.answers_path)
        file = f"{DOWNLOADS}/{name}.parquet"
        if not (self.path / file).exists() and file not in self.manifest.get("files", ()):
            version = self.manifest["fairstats"]
            message = (
                f"fairstats {version}, which published this release, made no such table, and "
                f"fairstats {__version__} shows it"
            )
            remedy = (
                f"install that version to draw the release (pip install 'fairstats=={version}'), "
                f"or publish its answers as a new one (fairstats publish --answers "
                f"{self.answers_path})"
            )
            raise input_error(self.path / file, message, remedy)
        return _read(self.path / file)

    @property
    def answers_path(self) -> Path:
        """Return the file of answers, or the folder of its parts, from which all is computed."""
        folder = self.answers_folder
        return folder if folder.is_dir() else self.table_path("answers")

    @property
    def answers_folder(self) -> Path:
        """Return the folder of the parts of answers that were published from an engine."""
        return self.path / DOWNLOADS / "answers"

    def table_path(self, name: str) -> Path:
        """Return the parquet file of a table; of answers, if they were not published in parts."""
        return self.path / DOWNLOADS / f"{name}.parquet"

    def _given(self, name: str, none: Callable[[], pd.DataFrame]) -> pd.DataFrame:
        """Return a table of inputs; without its file, as in older releases, an empty one."""
        path = self.table_path(name)
        return _read(path) if path.exists() else none()

    @cached_property
    def retrievals(self) -> pd.DataFrame:
        """Return the retrievals; empty if the answers were generated without retrieval."""
        return self._given("retrievals", no_retrievals)

    @cached_property
    def ratings(self) -> pd.DataFrame:
        """Return the raters' judgements; empty if there are none."""
        return self._given("ratings", no_ratings)

    @cached_property
    def measures(self) -> pd.DataFrame:
        """Return the measures of vignettes; empty if there are none."""
        return self._given("measures", no_measures)

    @cached_property
    def submissions(self) -> pd.DataFrame:
        """Return who sent in which answers; empty if the publisher added all of them."""
        return self._given("submissions", no_submissions)

    @cached_property
    def rubrics(self) -> dict[str, Rubric]:
        """Return the rubrics of the ratings, as declared for the release."""
        files = sorted((self.path / "rubrics").glob("*.toml"))
        rubrics = (load_rubric(file, copied=True) for file in files)
        return {rubric.name: rubric for rubric in rubrics}

    @cached_property
    def earlier(self) -> list[Release]:
        """Return earlier releases in the same site, oldest first."""
        found: list[Release] = [self]
        # If a name was used twice, manifests form a circle.
        while (previous := found[-1].manifest.get("previous")) is not None:
            path = self.path.parent / previous["release"]
            if not is_release(path) or path in [one.path for one in found]:
                break
            found.append(Release(path))
        return found[:0:-1]

    @cached_property
    def replication(self) -> pd.DataFrame:
        """Return published next to recomputed values, see `fairstats.replication.replicate`."""
        return self.table("replication")

    @cached_property
    def benchmarks(self) -> dict[str, Benchmark]:
        """Return the benchmarks of the release, as declared for it."""
        folder, content = self.path / "benchmarks", hashlib.sha256()
        for file in sorted(folder.rglob("*")):
            if file.is_file() and not file.is_symlink():
                content.update(f"{file_sha256(file)} {file.relative_to(folder)!r}\n".encode())
        return dict(_benchmarks(folder, content.digest()))

    @cached_property
    def boards(self) -> list[Board]:
        """Return one board for each benchmark, version and strategy.

        The benchmark that ranks most models comes first. Within it, plain answers and the boards
        with most models come first.
        """
        keys = ("benchmark", "benchmark_version", "strategy")
        estimates, ranks, differences = (self.estimates, self.ranks, self.rank_differences)
        groups, ranked, compared = (row_numbers(t, keys) for t in (estimates, ranks, differences))
        tables = {
            key: (
                estimates.iloc[rows],
                ranks.iloc[ranked.get(key, [])],
                differences.iloc[compared.get(key, [])],
            )
            for key, rows in groups.items()
        }
        models = {key: own["model"].nunique() for key, (own, *_) in tables.items()}
        most: dict[str, int] = {}
        for key, (_, own, _) in tables.items():
            most[key[0]] = max(most.get(key[0], 0), int(own["rank"].notna().sum()))

        def place(key: tuple[str, ...]) -> tuple[object, ...]:
            return -most[key[0]], key[0], key[2] != PLAIN, -models[key], key

        return [
            Board(self.benchmarks[key[0]], key[1], key[2], *tables[key])
            for key in sorted(tables, key=place)
        ]

    def answers_of(self, board: Board, model: str) -> list[dict[str, Any]]:
        """Return the manifest's entries on a model's answers on a board, one per snapshot."""
        key = (board.benchmark.name, board.version, board.strategy, model)
        unit = ("benchmark", "benchmark_version", "strategy", "model")
        return [e for e in self.manifest["answers"] if tuple(e[name] for name in unit) == key]

    @property
    def models(self) -> list[str]:
        """Return every model of the release, sorted."""
        return sorted(map(str, self.estimates["model"].unique()))

    @cached_property
    def slugs(self) -> dict[str, str]:
        """Return the file name of each model's page, without its suffix."""
        return unique_slugs(self.models)


def _read(path: Path) -> pd.DataFrame:
    """Read a table of a release."""
    import pyarrow

    try:
        if path.stat().st_size > _LARGE:
            return read_parquet(path)
        # Several pages, and parts of a page, show the same tables.
        storage = pd.options.mode.string_storage
        return _parsed(path, file_sha256(path), storage).copy(deep=False)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        message = f"cannot be read ({str(error).splitlines()[0]})"
        remedy = "download the release again from where it was published"
        raise input_error(path, message, remedy) from None


# Pages keep strings otherwise than what is written, see `fairstats.report.render.render`.
@lru_cache(maxsize=64)
def _parsed(path: Path, _sha256: str, _storage: str) -> pd.DataFrame:
    return read_parquet(path)


# Each page of a site opens the release again, and a benchmark can have a million items.
@lru_cache(maxsize=2)
def _benchmarks(folder: Path, content: bytes) -> dict[str, Benchmark]:
    """Return the benchmarks of a folder with this content."""
    loaded = [load_benchmark(file, confined=True) for file in sorted(folder.glob("*.toml"))]
    return {benchmark.name: benchmark for benchmark in loaded}


def changed_inputs(old: Release, new: Release) -> tuple[str, ...]:
    """Name the inputs besides the answers that differ between two releases."""
    content = [release.manifest.get("content", {}) for release in (old, new)]
    names = ("ratings", "measures", "retrievals")
    return tuple(name for name in names if content[0].get(name) != content[1].get(name))


def row_numbers(table: pd.DataFrame, columns: Iterable[str]) -> dict[tuple[str, ...], list[int]]:
    """Return the numbers of the rows with each combination of texts in these columns."""
    groups = table.groupby(list(columns), sort=False).indices
    return {key: rows.tolist() for key, rows in groups.items()}


def is_release(path: Path) -> bool:
    """Return whether a folder looks like a release."""
    return (path / MANIFEST).is_file() and (path / DOWNLOADS).is_dir()


def releases_of(site: Path) -> list[Release]:
    """Return the releases in a site's folder, oldest first."""
    folders = (site / RELEASES).glob("[!.]*")
    releases = [Release(folder) for folder in folders if is_release(folder)]
    return sorted(releases, key=lambda release: (release.created_at, release.name))


def named_release(chosen: Path) -> Path | None:
    """Return the release with this path or name in the current folder or its project."""
    for folder in _project_folders():
        for path in (folder / chosen, folder / DEFAULT_SITE / RELEASES / chosen):
            if is_release(path):
                return path
    return None


def newest_release() -> Path | None:
    """Return the newest release of the site in the current folder or its project."""
    for folder in _project_folders():
        releases = releases_of(folder / DEFAULT_SITE)
        if releases:
            return releases[-1].path
    return None


def _project_folders() -> list[Path]:
    """Return the current folder, and in a Quarto project those above it up to the project's."""
    folders = [Path.cwd(), *Path.cwd().parents]
    for number, folder in enumerate(folders):
        if (folder / "_quarto.yml").is_file():
            return folders[: number + 1]
    return folders[:1]
