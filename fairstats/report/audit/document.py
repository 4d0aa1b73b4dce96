"""Write a model's audit report, with what its author declares; the rest is "not stated"."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pyarrow.dataset
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from fairstats._lib.formatting import listed, percent, quoted
from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import Problem, input_error, refuse
from fairstats._lib.safe_names import file_sha256
from fairstats._lib.toml_files import read_toml, unknown_keys
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.answers.files import read_parquet
from fairstats.release.contents import MANIFEST, Release
from fairstats.release.manifest import open_release
from fairstats.report.answer_sets import AnswerSet, answer_sets
from fairstats.report.render import draw_report, report_file
from fairstats.report.site_pages import benchmark_conditions
from fairstats.report.tables import labels_of
from fairstats.submissions.declaration import Line

#: A PDF states the facts in its keywords, so they are short.
_MOST_BYTES = 12_000
#: The first day that belongs to a last day.
_STARTS = {"valid_until": "audited", "answers_until": "answers_from"}


class AuditFacts(BaseModel):
    """What an auditor declares; `labels.toml` names the facts in the report.

    `benchmark` names that of the first page.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    benchmark: Line | None = None
    intended_use: Line | None = None
    commissioner: Line | None = None
    auditor: Line | None = None
    conflicts: Line | None = None
    verified: Literal["matched", "differed", "not run"] | None = None
    opinion: Literal["supported", "with reservations", "not supported"] | None = None
    reservations: Line | None = Field(default=None, validate_default=True)
    audited: date | None = None
    valid_until: date | None = None
    answers_from: date | None = None
    answers_until: date | None = None
    text_dates: Line | None = None
    settings: Line | None = None
    contamination: Line | None = None
    mitigation: Line | None = None
    consulted: Line | None = None
    registration: Line | None = None
    cost: Line | None = None

    @field_validator("valid_until", "answers_until")
    @classmethod
    def _not_before(cls, day: date | None, info: ValidationInfo) -> date | None:
        start = info.data.get(_STARTS[str(info.field_name)])
        if day is not None and start is not None and day < start:
            raise ValueError(f"is before {start}")
        return day

    @field_validator("opinion")
    @classmethod
    def _with_verified(cls, text: str | None, info: ValidationInfo) -> str | None:
        if text == "supported" and info.data.get("verified") == "differed":
            raise ValueError('does not go with verified = "differed"')
        return text

    @field_validator("reservations")
    @classmethod
    def _with_opinion(cls, text: str | None, info: ValidationInfo) -> str | None:
        opinion = info.data.get("opinion")
        if opinion == "with reservations" and text is None:
            raise ValueError('is missing, although opinion = "with reservations"')
        if opinion in ("supported", "not supported") and text is not None:
            raise ValueError(f'does not go with opinion = "{opinion}"')
        return text

    @property
    def encoded(self) -> str:
        """Return the facts as letters, digits, hyphens and underscores, for the PDF's keywords."""
        text = self.model_dump_json(exclude_none=True)
        return "" if text == "{}" else base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


#: The names of the facts that the report states, in its order.
FACTS = tuple(name for name in AuditFacts.model_fields if name != "benchmark")
#: The facts that the first page of a signed report needs.
ON_PAGE_1 = (
    "auditor",
    "commissioner",
    "intended_use",
    "conflicts",
    "verified",
    "opinion",
    "audited",
)


def read_facts(path: AnyPath) -> AuditFacts:
    """Read the facts of an audit report from a TOML file with some of the keys of `AuditFacts`."""
    source = Path(path)
    declared = read_toml(source)
    known = tuple(AuditFacts.model_fields)
    problems = unknown_keys(declared, known, source)
    try:
        facts = AuditFacts(**{key: value for key, value in declared.items() if key in known})
    except ValidationError as error:
        problems += [_problem(one, source) for one in error.errors()]
    refuse(problems)
    if len(facts.encoded) > _MOST_BYTES:
        message, remedy = "is too long for a report", "shorten the texts, or refer to documents"
        raise input_error(source, message, remedy)
    return facts


def _problem(error: Any, source: Path) -> Problem:
    (name, *_), value = error["loc"], error["input"]
    message = error["msg"].removeprefix("Value error, ").removeprefix("Input ")
    remedy = f"write it or remove the key: {labels_of('audit')['facts'][name]}"
    message = message[:1].lower() + message[1:]
    return Problem(str(source), message, remedy, column=name, value=str(value)[:80])


def decoded_facts(text: str) -> AuditFacts:
    """Return the facts that `AuditFacts.encoded` encoded.

    Examples
    --------
    >>> facts = AuditFacts(auditor="A. Auditor", audited=date(2026, 11, 23))
    >>> decoded_facts(facts.encoded) == facts
    True
    """
    if not text:
        return AuditFacts()
    if len(text) > _MOST_BYTES:
        raise ValueError(f"the facts of a report have at most {_MOST_BYTES} characters")
    content = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    return AuditFacts.model_validate_json(content)


@dataclass(frozen=True)
class AuditReport:
    """Hold what an audit report is about."""

    release: Release
    model: str
    facts: AuditFacts = field(default_factory=AuditFacts)
    crosswalk: bool = False
    signed: bool = False

    @cached_property
    def answers(self) -> Recorded:
        """Return what the model's answers record about how they were collected."""
        return read_recorded(self.release, self.model)

    @cached_property
    def sets(self) -> list[AnswerSet]:
        """Return the model's answer sets, those to the benchmark of the first page first."""
        sets = answer_sets(self.release, self.model)
        return sorted(sets, key=lambda own: own.benchmark.name != self.facts.benchmark)

    @property
    def first(self) -> AnswerSet:
        """Return the answer set of the first page."""
        return self.sets[0]

    @property
    def others(self) -> list[AnswerSet]:
        """Return the other answer sets."""
        return self.sets[1:]


_KEYWORDS = re.compile(
    r"fairstats audit report; model ([0-9a-z.-]{1,100}); manifest sha256 ([0-9a-f]{64})"
    r"(; crosswalk)?(; signed)?(?:; facts ([0-9A-Za-z_-]{1,12000}))?"
)


@dataclass(frozen=True)
class Origin:
    """Hold what an audit report was drawn from: `model` is the last part of its page's address."""

    model: str
    manifest: str
    crosswalk: bool = False
    signed: bool = False
    facts: AuditFacts = field(default_factory=AuditFacts)

    def __str__(self) -> str:
        """Return the keywords of the PDF."""
        stated = f"fairstats audit report; model {self.model}; manifest sha256 {self.manifest}"
        stated += "; crosswalk" * self.crosswalk + "; signed" * self.signed
        return f"{stated}; facts {self.facts.encoded}" if self.facts.encoded else stated


def origin_of(
    release: Release,
    model: str,
    *,
    crosswalk: bool = False,
    signed: bool = False,
    facts: AuditFacts | None = None,
) -> Origin:
    """Return the origin of the report of a model."""
    manifest = file_sha256(release.path / MANIFEST)
    return Origin(release.slugs[model], manifest, crosswalk, signed, facts or AuditFacts())


def read_origin(keywords: str) -> Origin | None:
    """Return the origin that the keywords of a PDF state; None if they state none.

    Examples
    --------
    >>> origin = Origin("gpt-4.1", "0" * 64)
    >>> read_origin(str(origin)) == origin, read_origin(f"{origin}; manifest sha256 {'1' * 64}")
    (True, None)
    """
    found = _KEYWORDS.fullmatch(keywords)
    if found is None:
        return None
    try:
        facts = decoded_facts(found[5] or "")
    except ValueError:
        return None
    return Origin(found[1], found[2], bool(found[3]), bool(found[4]), facts)


def report_model(
    model: str,
    release: AnyPath,
    *,
    to: Literal["pdf", "html"] = "pdf",
    out: AnyPath | None = None,
    crosswalk: bool = False,
    facts: AuditFacts | AnyPath | None = None,
    sign: Callable[[bytes], bytes] | None = None,
) -> Path:
    """Write the audit report of one model.

    Parameters
    ----------
    model : str
        The model's name, or the last part of its page's address.
    release : path
        The release's folder.
    to : {"pdf", "html"}
        A typeset PDF, or one HTML file with everything in it.
    out : path, optional
        The file to write, by default in the current folder and named after model and release. A
        name without the format's suffix gets it.
    crosswalk : bool
        Whether to append what laws and standards ask for, next to what the report shows of it.
    facts : AuditFacts or path, optional
        What the auditor declares, or the TOML file with it
        (`fairstats.report.audit.document.read_facts`).
    sign : callable, optional
        Makes the signed content of the file from the drawn one
        (`fairstats.publishing.report_signature.report_signer`). The report then states that it is
        signed.

    Returns
    -------
    Path
        The report.

    Raises
    ------
    InputError
        As `fairstats.release.manifest.open_release` and `read_facts`. Also if the release has no
        such model, the model has no answers to the declared benchmark, or the file's name is for
        the other format.
    fairstats.report.render.PageError
        If the report cannot be drawn. Then no file is written.

    Notes
    -----
    Every figure is read from the release, also those in sentences. The report is drawn by pandoc
    and typst, so it is the same with and without Quarto. The keywords of a PDF state the model, the
    sha256 of the release's manifest, and the declared facts.
    """
    chosen = open_release(release)
    name = model_of(chosen, model)
    given = facts if isinstance(facts, AuditFacts) else read_facts(facts) if facts else AuditFacts()
    benchmarks = {own.benchmark.name: own.benchmark for own in answer_sets(chosen, name)}
    if given.benchmark not in (None, *benchmarks):
        message = f"{name} has no answers to it in release {chosen.name}"
        remedy = f"one of: {', '.join(benchmarks)}"
        raise input_error("<facts>", message, remedy, column="benchmark", value=given.benchmark)
    usual = f"{chosen.slugs[name]}-audit-{chosen.name.removeprefix('audit-')}"
    target = report_file(out or usual, to)
    origin = origin_of(chosen, name, crosswalk=crosswalk, signed=sign is not None, facts=given)
    draw_report(
        chosen,
        "audit",
        {"ORIGIN": str(origin)},
        title=f"Audit of {quoted(name)}",
        to=to,
        target=target,
        headline=True,
        keywords=str(origin),
        conditions=benchmark_conditions(benchmarks.values()),
        finish=sign or bytes,
    )
    return target


def model_of(release: Release, slug: str) -> str:
    """Return the model with this name or page address."""
    for model, own in release.slugs.items():
        if slug in (model, own):
            return model
    known = ", ".join(release.models)
    raise input_error(slug, f"is no model of release {release.name}", f"one of: {known}")


_COLUMNS = ("status", "collected_at", "temperature", "max_tokens", "seed", "endpoint")
#: How a setting is stated.
_SETTINGS = {"temperature": "temperature {}", "max_tokens": "at most {} tokens", "seed": "seed {}"}
# More values than these are given as a range.
_MOST_VALUES = 3


@dataclass(frozen=True)
class Recorded:
    """Hold what answers record; each method returns an empty text for what they do not."""

    rows: pd.DataFrame

    def of(self, sets: Iterable[AnswerSet]) -> Recorded:
        """Return the answers of these answer sets only."""
        units = pd.MultiIndex.from_frame(self.rows[list(UNIT_COLUMNS)])
        own = units.isin([one.unit for one in sets])
        return Recorded(self.rows[own])

    @property
    def days(self) -> tuple[str, str]:
        """Return the first and the last day on which answers were collected (UTC)."""
        if (texts := self._values("collected_at")).empty:
            return "", ""
        times = pd.to_datetime(texts, utc=True, format="ISO8601")
        return f"{times.min():%Y-%m-%d}", f"{times.max():%Y-%m-%d}"

    @property
    def settings(self) -> str:
        """Return the settings, e.g. ``"temperature 0, at most 24 tokens, seed 0"``."""
        named = {name: self._numbers(name) for name in _SETTINGS}
        return ", ".join(_SETTINGS[name].format(value) for name, value in named.items() if value)

    @property
    def services(self) -> str:
        """Return the host and path of each service that answered."""
        return listed(sorted(self._values("endpoint").astype(str)))

    def unanswered(self, missing: int, expected: int) -> str:
        """State how many expected answers were refused, or are missing for other reasons."""
        if not missing:
            return f"none of {expected:,}"
        refused = int((self.rows["status"] == "refused").sum())
        counts = {
            "refused": refused,
            "empty or unreadable": int((self.rows["status"] == "unparsed").sum()),
            "failed": int((self.rows["status"] == "error").sum()),
        }
        counts["not in the file"] = missing - sum(counts.values())
        parts = [
            f"{count:,} {name} ({percent(count / expected)})"
            for name, count in counts.items()
            if count > 0
        ]
        # Not all tools distinguish refusals.
        return ", ".join(["none marked as refused"] * (not refused) + parts)

    def _values(self, column: str) -> pd.Series:
        """Return the different known values of a column."""
        there = self.rows.get(column, pd.Series(dtype="object"))
        return there.dropna().drop_duplicates()

    def _numbers(self, column: str) -> str:
        values = [f"{value:g}" for value in sorted(self._values(column))]
        if len(values) > _MOST_VALUES:
            return f"{values[0]} to {values[-1]}"
        return listed(values, "or")


def read_recorded(release: Release, model: str) -> Recorded:
    """Read what a model's answers record, from the release's file of answers."""
    there = pyarrow.dataset.dataset(release.answers_path).schema.names
    columns = [*UNIT_COLUMNS, *(name for name in _COLUMNS if name in there)]
    rows = read_parquet(release.answers_path, columns=columns, filters=[("model", "==", model)])
    return Recorded(rows)
