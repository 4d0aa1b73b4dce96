"""Descriptions of a release: Croissant 1.1 for catalogues, schema.org for pages, its citation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow
import pyarrow.parquet

from fairstats._lib.formatting import quoted
from fairstats._lib.safe_names import WEB_ADDRESS, file_sha256
from fairstats._lib.table_text import json_text, write_text, yaml_text
from fairstats.benchmarks.declaration import Benchmark
from fairstats.exports.export import Options
from fairstats.release.contents import DOWNLOADS, INPUTS, Release
from fairstats.release.tables import TABLES

CROISSANT = "croissant.json"
#: The author of a release that does not name one.
PUBLISHER = "The publishers of this release"
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
_FORMATS = {
    "estimates.csv": "text/csv",
    "estimates.parquet": "application/x-parquet",
    "answers.parquet": "application/x-parquet",
}
_KEYWORDS = ("fairness", "bias", "medical question answering", "language models", "benchmark")


def write_croissant(release: Release, folder: Path, options: Options) -> list[Path]:
    """Write ``croissant.json``: the release's parquet files, their columns, and how they were made.

    Without the address of the release in `options`, readers find the files only if it is in the
    release's folder of downloads.
    """
    return [write_text(json_text(croissant(release, options.url)), folder / CROISSANT)]


def croissant(release: Release, url: str | None = None) -> dict[str, Any]:
    """Return the metadata of a release as JSON-LD, see `write_croissant`."""
    tables = _published(release)
    base = f"{url.rstrip('/')}/{DOWNLOADS}/" if url else ""
    address = url or next(iter(_sources(release)), None)
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [
            "http://mlcommons.org/croissant/1.1",
            "http://mlcommons.org/croissant/RAI/1.0",
        ],
        "name": f"fairstats-{release.name}",
        "description": _described(release),
        "version": release.name,
        "datePublished": release.created_at.date().isoformat(),
        **({"url": address} if address else {}),
        "license": _licences(release),
        "citeAs": "; ".join(_citations(release)),
        "creator": {"@type": "sc:Organization", "name": PUBLISHER},
        "keywords": _keywords(release),
        "inLanguage": "en",
        "isLiveDataset": False,
        **_responsible(release),
        "distribution": [one for name in tables for one in _distribution(release, name, base)],
        "recordSet": [
            _records(name, _resource(release, name), types) for name, types in tables.items()
        ],
    }


def _published(release: Release) -> dict[str, dict[str, str]]:
    """Return the types of the columns of each table and input that has a row."""
    found = {}
    for name in (*INPUTS, *TABLES):
        if types := _types(_files(release, name)):
            found[name] = types
    return found


def _types(paths: list[Path]) -> dict[str, str]:
    """Return the type of each column, or nothing without rows; rows are not read."""
    kinds: dict[str, pyarrow.DataType] = {}
    nulls: set[str] = set()
    for path in paths:
        with pyarrow.parquet.ParquetFile(path) as file:
            whole = file.metadata
            for number in range(whole.num_row_groups if whole.num_rows else 0):
                for place, field in enumerate(file.schema_arrow):
                    kinds[field.name] = field.type
                    counted = whole.row_group(number).column(place).statistics
                    if counted is None or counted.null_count:
                        nulls.add(field.name)
    return {name: _data_type(kind, name in nulls) for name, kind in kinds.items()}


def _files(release: Release, name: str) -> list[Path]:
    """Return the parquet files of a table, of which answers can have several."""
    path = release.answers_path if name == "answers" else release.table_path(name)
    return sorted(path.glob("*.parquet")) if path.is_dir() else [path] * path.is_file()


def _resource(release: Release, name: str) -> str:
    """Return the identifier of a table's file, or of the set of its files."""
    parts = name == "answers" and release.answers_folder.is_dir()
    return name if parts else f"{name}.parquet"


def _responsible(release: Release) -> dict[str, Any]:
    """Return what the RAI vocabulary asks for, from the manifest and the benchmarks."""
    entries = release.manifest["answers"]
    missing, answers = (sum(entry[name] for entry in entries) for name in ("missing", "answers"))
    about = _about(release)
    found: dict[str, Any] = {
        "dataCollection": f"{about['collected']} The groups: {'; '.join(_groups(release))}.",
        "dataCollectionType": ["Experiments"],
        "dataCollectionMissingData": (
            f"{missing:,} of {answers:,} answers are missing: no {about['answer']} in the reply, a "
            "refusal or an error. They are kept, with their status."
        ),
        "dataCollectionRawData": "Replies of the models, in the column answer_raw if known.",
        "dataPreprocessingProtocol": [
            "Answers were checked against the benchmark's items, keys and groups. Rows that do not "
            "match were refused. Answers were not changed, dropped or weighted in any other way."
        ],
        "dataUseCases": [
            about["use"],
            "To compare models, versions and prompts on the same items.",
            about["no_use"],
        ],
        "dataLimitations": [
            text for one in release.benchmarks.values() for text in (one.read_first, *one.notes)
        ],
        "dataSocialImpact": (
            f"Differences here do not show how often a model treats two real {about['people']} "
            "differently. A model without a difference here may have one elsewhere."
        ),
        "personalSensitiveInformation": [
            about["personal"] + (" Raters are named by pseudonyms." if len(release.ratings) else "")
        ],
        "dataReleaseMaintenancePlan": (
            "A release never changes. Corrections are in later releases of the same site."
        ),
    }
    if known := _biases(release):
        found["dataBiases"] = known
    return {f"rai:{name}": value for name, value in found.items()}


def _about(release: Release) -> dict[str, str]:
    """Return what was asked, in sentences that are true of all benchmarks of a release."""
    known = list(release.benchmarks.values())
    if all(one.kind.needs_key for one in known):
        return {
            "collected": "Language models answered multiple-choice questions. Each question was "
            "put in several versions, which differ in one characteristic. The option letter was "
            "read from the reply.",
            "answer": "letter",
            "use": "To see how often a model's answer to a clinical question changes with a "
            "characteristic that should not matter, and how accuracy differs between groups.",
            "no_use": "Not to approve a model for use with patients, or to certify that it is "
            "fair.",
            "people": "patients",
            "personal": "None of real patients. The vignettes name groups of invented patients.",
        }
    items = "; ".join(
        f"{one.title}: the {one.words.items} are {one.words.source}"
        if one.words.source
        else f"{one.title}: whether the {one.words.items} describe real {one.words.subjects} is "
        "not declared"
        for one in known
    )
    people = list(dict.fromkeys(one.words.subjects for one in known))
    return {
        "collected": "Language models gave decisions, levels, scores or choices. Each item was put "
        "in several versions, which differ in one characteristic. The answer was read from the "
        "reply.",
        "answer": "answer",
        "use": "To see how often a model's answer changes with a characteristic that should not "
        "matter, and how far the answers for two groups differ.",
        "no_use": "Not to approve a model for a use, or to certify that it is fair.",
        "people": people[0] if len(people) == 1 else "persons",
        "personal": f"{items}.",
    }


def _distribution(release: Release, name: str, base: str) -> Iterator[dict[str, Any]]:
    """Yield the files of a table, and the set of them if they are several."""
    files = _files(release, name)
    yield from (_file(path, path.relative_to(release.path / DOWNLOADS), base) for path in files)
    if _resource(release, name) == name:
        yield {
            "@type": "cr:FileSet",
            "@id": name,
            "name": name,
            "encodingFormat": "application/x-parquet",
            "includes": f"{name}/*.parquet",
        }


def _file(path: Path, inside: Path, base: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": inside.as_posix(),
        "name": inside.as_posix(),
        "contentUrl": f"{base}{inside.as_posix()}",
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": file_sha256(path),
    }


def _records(name: str, resource: str, types: dict[str, str]) -> dict[str, Any]:
    kind = "fileObject" if resource.endswith(".parquet") else "fileSet"
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column}",
                "name": column,
                "dataType": of_column,
                "source": {
                    kind: {"@id": resource},
                    "extract": {"column": column},
                },
            }
            for column, of_column in types.items()
        ],
    }


def _data_type(kind: pyarrow.DataType, nulls: bool) -> str:
    if pyarrow.types.is_boolean(kind) and not nulls:
        return "sc:Boolean"
    if pyarrow.types.is_integer(kind) and not nulls:
        return "sc:Integer"
    # Readers turn a column of whole numbers with missing ones into floats.
    number = pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind)
    return "sc:Float" if number else "sc:Text"


def dataset_markup(release: Release, root: str = "") -> str:
    """Return a ``<script>`` element with the description of a release as JSON-LD.

    `root` is the path from the page to the release's folder, e.g. ``../``.
    """
    # A name that contains </script> must not end the element.
    text = json.dumps(dataset(release, root), ensure_ascii=False, indent=1)
    safe = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return f'<script type="application/ld+json">\n{safe}\n</script>'


def dataset(release: Release, root: str = "") -> dict[str, Any]:
    """Return the description of a release as JSON-LD, see `dataset_markup`."""
    return {
        "@context": "https://schema.org",
        "@type": "Dataset",
        "name": release_title(release),
        "description": _described(release),
        "version": release.name,
        "datePublished": release.created_at.date().isoformat(),
        "identifier": f"sha256:{release.manifest['content']['estimates']}",
        "creator": {"@type": "Organization", "name": PUBLISHER},
        "keywords": _keywords(release),
        "isAccessibleForFree": True,
        "isBasedOn": _sources(release),
        "citation": _citations(release),
        "license": _licences(release),
        "variableMeasured": _groups(release),
        "distribution": [
            {
                "@type": "DataDownload",
                "name": name,
                "encodingFormat": form,
                "contentUrl": f"{root}{DOWNLOADS}/{name}",
            }
            for name, form in _FORMATS.items()
            # Those that were published from an engine are in several files.
            if name != "answers.parquet" or not release.answers_folder.is_dir()
        ],
    }


def _keywords(release: Release) -> list[str]:
    """Return keywords; those of exam questions only if all benchmarks are such."""
    medical = all(one.kind.needs_key for one in release.benchmarks.values())
    return [word for word in _KEYWORDS if medical or not word.startswith("medical")]


def _described(release: Release) -> str:
    """Return a description of a release in a few sentences."""
    answers = sum(entry["answers"] for entry in release.manifest["answers"])
    models = len({entry["model"] for entry in release.manifest["answers"]})
    number = "1 model" if models == 1 else f"{models:,} models"
    about = " ".join(benchmark.description for benchmark in release.benchmarks.values())
    return (
        f"{release_title(release)}. {answers:,} answers of {number}, with every estimate, interval "
        f"and test computed from them. {about}"
    )


def _biases(release: Release) -> list[str]:
    """Return known biases of the data: text written to sway, and models that selected items."""
    found = []
    for one in release.benchmarks.values():
        if one.slanted:
            way = one.swayed_by or "text that helps the first group and misleads for the second"
            found.append(f"{one.title}: versions were written to sway a model, by {way}.")
        found += [
            f"{one.title}, {quoted(model)}: {role}" for model, role in one.selected_on.items()
        ]
    return found


def _licences(release: Release) -> list[str]:
    """Return the licences of the benchmarks, as declared."""
    return [f"{one.title}: {one.licence}" for one in release.benchmarks.values()]


def _citations(release: Release) -> list[str]:
    """Return how to cite the benchmarks."""
    return [one.citation for one in release.benchmarks.values()]


def _sources(release: Release) -> list[str]:
    """Return the web addresses of the benchmarks' sources."""
    return list(
        dict.fromkeys(place for one in release.benchmarks.values() for place in web_addresses(one))
    )


def _groups(release: Release) -> list[str]:
    """Return the attributes and groups that the benchmarks vary."""
    return [
        f"{one.title}, {attribute.label}: {quoted(*attribute.groups.values())}"
        for one in release.benchmarks.values()
        for attribute in one.varied
    ]


def citation_cff(
    release: Release, *, publisher: str = PUBLISHER, title: str = "", licence: str = ""
) -> str:
    """Return the citation of a release as a Citation File Format 1.2.0 file (CITATION.cff).

    `publisher` is its author. `title` and `licence` are those of the site; empty if not stated. The
    text is JSON, which is YAML in which no text is parsed as another type.

    References
    ----------
    Druskat et al. (2021), Citation File Format 1.2.0, doi:10.5281/zenodo.5171937.
    """
    benchmarks = release.benchmarks.values()
    content = {
        "cff-version": "1.2.0",
        "message": "If you publish figures from this release, please cite it by name.",
        "type": "dataset",
        "title": f"{title}. {release_title(release)}" if title else release_title(release),
        # The key `license` takes SPDX identifiers only, and a publisher may state any licence.
        **({"abstract": f"Licence: {licence}"} if licence else {}),
        "version": release.name,
        "date-released": str(pd.Timestamp(release.manifest["created_at"]).date()),
        "authors": [{"name": publisher}],
        "identifiers": [
            {
                "type": "other",
                "value": f"sha256:{release.manifest['content']['estimates']}",
                "description": "sha256 of the estimates, as in manifest.json",
            }
        ],
        "references": [
            {
                "type": "software",
                "title": "fairstats",
                "version": str(release.manifest["fairstats"]),
                "authors": [{"name": "The fairstats maintainers"}],
                "license": "GPL-3.0-or-later",
            },
            *map(_reference, benchmarks),
        ],
    }
    return yaml_text(content)


def release_title(release: Release) -> str:
    """Return the title of a release for citations, which names its benchmarks."""
    titles = ", ".join(benchmark.title for benchmark in release.benchmarks.values())
    return f"Leaderboard of {titles}: answers and estimates"


def web_addresses(benchmark: Benchmark) -> list[str]:
    """Return the sources of a benchmark that are web addresses."""
    return [source for source in benchmark.sources if WEB_ADDRESS.fullmatch(source)]


def _reference(benchmark: Benchmark) -> dict[str, Any]:
    """Return a benchmark's reference as declared in its file, including any authors."""
    addresses = web_addresses(benchmark)
    return {
        "type": "data",
        "title": benchmark.title,
        "authors": [{"name": f"The authors of {benchmark.title}"}],
        "notes": f"Cite as: {benchmark.citation}. Licence: {benchmark.licence}",
    } | ({"url": addresses[0]} if addresses else {})
