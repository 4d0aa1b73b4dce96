"""The answer sets of a release, with their names in other formats."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from fairstats._lib.model_names import models_of_snapshots, names_model, snapshot_key, snapshots_in
from fairstats._lib.safe_names import slug
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import Benchmark
from fairstats.release.contents import Release, row_numbers
from fairstats.screening.findings import flag_notes

# A model on the Hugging Face Hub, or one of a service that writes names in the same way.
_WITH_DEVELOPER = re.compile(r"[\w.-]+(/[\w.-]+)+")


@dataclass(frozen=True)
class AnswerSet:
    """The answers of one model and strategy to one benchmark version, and their estimates."""

    release: Release
    benchmark: Benchmark
    version: str
    model: str
    strategy: str
    estimates: pd.DataFrame

    @cached_property
    def unit(self) -> dict[str, str]:
        """Return the values of the columns that identify it."""
        names = (self.benchmark.name, self.version, self.model, self.strategy)
        return dict(zip(UNIT_COLUMNS, names, strict=True))

    @cached_property
    def snapshots(self) -> list[str]:
        """Return the snapshots that gave its answers, sorted."""
        known = (
            entry.get("snapshot")
            for entry in self.release.manifest["answers"]
            if all(entry[column] == value for column, value in self.unit.items())
        )
        return sorted({name for name in known if name})

    @cached_property
    def questions(self) -> list[str]:
        """Return the questions of screening, and why blocked answers were published."""
        rows = self.release.screening
        own = rows[(rows[list(self.unit)] == list(self.unit.values())).all(axis=1)]
        return flag_notes(own, self.release.overruled)

    @cached_property
    def model_id(self) -> str:
        """Return the model's id: ``developer/name`` if known, else its only snapshot or its name.

        A snapshot that another model of the release also states, or has as its name, is no id, and
        so is one that does not name a model ("not known").

        Examples
        --------
        A model named ``meta-llama/Llama-3.1-8B`` keeps its name. ``GPT-4.1`` with the snapshot
        ``gpt-4.1-2025-04-14`` gets that of the snapshot.
        """
        if _WITH_DEVELOPER.fullmatch(self.model) or len(self.snapshots) != 1:
            return self.model
        entries = self.release.manifest["answers"]
        models = models_of_snapshots((one["model"], one.get("snapshot")) for one in entries)
        (snapshot,) = self.snapshots
        own = all(models[snapshot_key(one)] == {self.model} for one in snapshots_in(snapshot))
        return snapshot if own and names_model(snapshot, [self.model]) else self.model

    @property
    def developer(self) -> str | None:
        """Return the developer, if the model's id names it."""
        known = _WITH_DEVELOPER.fullmatch(self.model_id)
        return self.model_id.partition("/")[0] if known else None

    @property
    def folder(self) -> str:
        """Return ``benchmark/developer/model`` as safe names."""
        name = self.model_id.partition("/")[2] if self.developer else self.model_id
        return "/".join(map(slug, (self.benchmark.name, self.developer or "unknown", name)))

    @property
    def uuid(self) -> str:
        """Return a UUID in the form of version 4, the same for the same answers and answer set."""
        text = "\0".join([self.release.manifest["content"]["answers"], *self.unit.values()])
        return str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4))

    @property
    def label(self) -> str:
        """Return the benchmark, version and strategy in one name."""
        return f"{self.benchmark.name}-{self.version}-{self.strategy}"


def answer_sets(release: Release) -> Iterator[tuple[AnswerSet, pd.DataFrame]]:
    """Return the answer sets of a release with their answers, sorted."""
    answers, estimates = release.table("answers"), release.estimates
    own = row_numbers(answers, UNIT_COLUMNS)
    for key, rows in sorted(row_numbers(estimates, UNIT_COLUMNS).items()):
        benchmark, version, model, strategy = key
        one = AnswerSet(
            release,
            release.benchmarks[benchmark],
            version,
            model,
            strategy,
            estimates.iloc[rows],
        )
        yield one, answers.iloc[own.get(key, [])]
