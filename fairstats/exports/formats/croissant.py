"""Croissant 1.1 with the vocabulary for responsible AI (RAI 1.0), without a library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_bool_dtype, is_float_dtype, is_integer_dtype

from fairstats._lib.safe_names import file_sha256
from fairstats._lib.table_text import json_text, write_text
from fairstats.exports import descriptions
from fairstats.exports.export import Export, Options
from fairstats.release.citation import PUBLISHER
from fairstats.release.contents import DOWNLOADS, Release
from fairstats.release.tables import TABLES

CROISSANT = "croissant.json"
_INPUTS = ("answers", "retrievals", "ratings", "measures", "submissions")
#: The names of the vocabulary that are written without its prefix.
_TERMS = (
    "arrayShape",
    "citeAs",
    "column",
    "containedIn",
    "equivalentProperty",
    "extract",
    "field",
    "fileObject",
    "fileProperty",
    "fileSet",
    "format",
    "includes",
    "isArray",
    "isLiveDataset",
    "jsonPath",
    "key",
    "md5",
    "parentField",
    "path",
    "recordSet",
    "references",
    "regex",
    "repeated",
    "replace",
    "samplingRate",
    "separator",
    "source",
    "subField",
    "transform",
)
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    **{term: f"cr:{term}" for term in _TERMS},
}


def write_croissant(release: Release, folder: Path, options: Options) -> list[Path]:
    """Write ``croissant.json``: the release's parquet files, their columns, and how they were made.

    Parameters
    ----------
    release : Release
        The release.
    folder : Path
        The target folder.
    options : Options
        `url` is the address of the release. Without it, readers find the files only if
        ``croissant.json`` is in the release's folder of downloads.

    Returns
    -------
    list of Path
        The file.
    """
    return [write_text(json_text(croissant(release, options.url)), folder / CROISSANT)]


def croissant(release: Release, url: str | None = None) -> dict[str, Any]:
    """Return the metadata of a release as JSON-LD, see `write_croissant`."""
    tables = _published(release)
    base = f"{url.rstrip('/')}/{DOWNLOADS}/" if url else ""
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [
            "http://mlcommons.org/croissant/1.1",
            "http://mlcommons.org/croissant/RAI/1.0",
        ],
        "name": f"fairstats-{release.name}",
        "description": descriptions.described(release),
        "version": release.name,
        "datePublished": release.created_at.date().isoformat(),
        **({"url": address} if (address := descriptions.address(release, url)) else {}),
        "license": descriptions.licences(release),
        "citeAs": "; ".join(descriptions.citations(release)),
        "creator": {"@type": "sc:Organization", "name": PUBLISHER},
        "keywords": list(descriptions.KEYWORDS),
        "inLanguage": "en",
        "isLiveDataset": False,
        **_responsible(release),
        "distribution": [_file(release, name, base) for name in tables],
        "recordSet": [_records(name, table) for name, table in tables.items()],
    }


def _published(release: Release) -> dict[str, pd.DataFrame]:
    """Return the tables and inputs that have a row."""
    there = (name for name in (*_INPUTS, *TABLES) if _path(release, name).is_file())
    read = ((name, release.table(name)) for name in there)
    return {name: table for name, table in read if len(table)}


def _path(release: Release, name: str) -> Path:
    return release.path / DOWNLOADS / f"{name}.parquet"


def _responsible(release: Release) -> dict[str, Any]:
    """Return what the RAI vocabulary asks for, from the manifest and the benchmarks."""
    entries = release.manifest["answers"]
    missing, answers = (sum(entry[name] for entry in entries) for name in ("missing", "answers"))
    found: dict[str, Any] = {
        "dataCollection": (
            "Language models answered multiple-choice questions. Each question was put in several "
            "versions, which differ in one characteristic. The option letter was read from the "
            f"reply. The versions: {'; '.join(descriptions.groups(release))}."
        ),
        "dataCollectionType": ["Experiments"],
        "dataCollectionMissingData": (
            f"{missing:,} of {answers:,} answers are missing: no letter in the reply, a refusal or "
            "an error. They are kept, with their status."
        ),
        "dataCollectionRawData": "Replies of the models, in the column answer_raw if known.",
        "dataPreprocessingProtocol": [
            "Answers were checked against the benchmark's items, keys and groups. Rows that do not "
            "match were refused. Answers were not changed, dropped or weighted in any other way."
        ],
        "dataUseCases": [
            "To see how often a model's answer to a clinical question changes with a "
            "characteristic that should not matter, and how accuracy differs between groups.",
            "To compare models, versions and prompts on the same items.",
            "Not to approve a model for use with patients, or to certify that it is fair.",
        ],
        "dataLimitations": descriptions.limitations(release),
        "dataSocialImpact": (
            "Differences here do not show how often a model treats two real patients differently. "
            "A model without a difference here may have one elsewhere."
        ),
        "personalSensitiveInformation": [
            "None of real patients. The vignettes name groups of invented patients."
            + (" Raters are named by pseudonyms." if len(release.ratings) else "")
        ],
        "dataReleaseMaintenancePlan": (
            "A release never changes. Corrections are in later releases of the same site."
        ),
    }
    if known := descriptions.biases(release):
        found["dataBiases"] = known
    return {f"rai:{name}": value for name, value in found.items()}


def _file(release: Release, name: str, base: str) -> dict[str, Any]:
    path = _path(release, name)
    return {
        "@type": "cr:FileObject",
        "@id": path.name,
        "name": path.name,
        "contentUrl": f"{base}{path.name}",
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": file_sha256(path),
    }


def _records(name: str, table: pd.DataFrame) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column}",
                "name": column,
                "dataType": _data_type(values),
                "source": {
                    "fileObject": {"@id": f"{name}.parquet"},
                    "extract": {"column": column},
                },
            }
            for column, values in table.items()
        ],
    }


def _data_type(values: pd.Series) -> str:
    if is_bool_dtype(values):
        return "sc:Boolean"
    if is_integer_dtype(values) and values.notna().all():
        return "sc:Integer"
    # Readers turn a column of whole numbers with missing ones into floats.
    return "sc:Float" if is_float_dtype(values) or is_integer_dtype(values) else "sc:Text"


EXPORT = Export(
    contents="Croissant 1.1 with RAI 1.0", write=write_croissant, takes=frozenset({"url"})
)
