"""Show how good the variants of each benchmark are, on its page or in a separate report."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstats._lib.atomic_files import temporary_folder
from fairstats._lib.formatting import (
    capital,
    counted,
    decimal,
    escape_html,
    escape_markdown,
    p_figure,
    p_value,
    percent,
    percent_range,
    point_range,
    points,
)
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import file_sha256, slug
from fairstats.answers.files import MEASURES_SUFFIX, answer_files
from fairstats.benchmarks.benchmark_files import copy_benchmarks
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.vignette_items import read_vignettes
from fairstats.estimates.same_variants import DIFFERENT, SAME
from fairstats.release.contents import DOWNLOADS, MANIFEST, Release
from fairstats.release.tables import write_table
from fairstats.report.findings import prompt_label
from fairstats.report.page_output import closed, show_markdown, show_table
from fairstats.report.separate_reports import draw_report, show_sources, write_tables
from fairstats.report.tables import figure_cell, files_of, labels_of, share, written_table
from fairstats.report.templates import prose
from fairstats.vignettes.audit import Audit, audit_vignettes
from fairstats.vignettes.leakage import DISTINCT, OVERLAP
from fairstats.vignettes.measures import write_measures
from fairstats.vignettes.selection import DIFFERENCE, ONE_SIDED

if TYPE_CHECKING:
    from great_tables import GT


#: The release's tables of findings, and of the items that make up a gap.
FINDINGS, ITEMS = "vignette_findings", "item_gaps"
#: The table of texts that a person should check; a release does not contain it.
FLAGS = "vignette_flags"

Row = Mapping[str, Any]
Cells = list[dict[str, str]]

#: The number of flags shown per kind, and of items per pair; the tables have all of them.
_FLAGS_SHOWN, _ITEMS_SHOWN = 12, 8
_LONGEST = 300


def show_vignettes(release: Release) -> None:
    """Show every benchmark with audited vignettes, and what answers alone show about its items."""
    findings = release.table(FINDINGS)
    measured = list(dict.fromkeys(release.measures["benchmark"]))
    if not measured:
        show_markdown(prose("vignettes-answers-only"))
    for name in dict.fromkeys([*measured, *sorted(set(findings["benchmark"]))]):
        own = findings[findings["benchmark"] == name]
        if own.empty:
            continue
        benchmark = release.benchmarks[name]
        show_markdown(f"## {escape_markdown(benchmark.title)}")
        for question in labels_of("vignettes")["questions"]:
            rows = own[own["aspect"].isin(question["aspects"])]
            if len(rows):
                _show_question(question, rows, benchmark, release)
        show_items(release, benchmark)
    _show_flags(release)


def _show_question(
    question: Mapping[str, Any], rows: pd.DataFrame, benchmark: Benchmark, release: Release
) -> None:
    """Show a question of the audit: its finding, its note, and the figures as a table."""
    aspect = question["aspects"][0]
    sentence, cells = _FINDINGS[aspect](rows, benchmark)
    parts = (f"### {question['title']}", sentence, prose(f"vignettes-{aspect.replace(' ', '-')}"))
    show_markdown("\n\n".join(filter(None, parts)))
    if cells:
        labels = {k: v for k, v in question["labels"].items() if any(k in cell for cell in cells)}
        table = written_table(
            cells,
            labels,
            name=slug(f"{aspect}-{benchmark.name}"),
            stub="of",
            heading=question["heading"],
            group="group" if "group" in cells[0] else None,
        )
        show_table(table, caption=question["caption"], download=files_of(release, FINDINGS))


def _leakage(rows: pd.DataFrame, benchmark: Benchmark) -> tuple[str, Cells]:
    titles = {OVERLAP: "Shared words", DISTINCT: "Words of no other option"}
    rows = rows.assign(column=rows["quantity"].str.removesuffix(" difference"))
    cells = [
        cell | {"group": title}
        for measure, title in titles.items()
        for cell in _cells(rows[rows["measure"] == measure], benchmark, _share)
    ]
    own = rows[rows["measure"] == OVERLAP]
    pairs = own[(own["quantity"] == "advantage difference") & own["estimate"].notna()]
    if pairs.empty:
        return "The added text has no words to compare with the options.", cells
    most = _largest(pairs)
    parts = []
    for label, of in _groups(own, most, benchmark):
        figures = of.set_index("quantity")["estimate"].map(percent)
        key, distractors = (
            f"{figures[which]} (by chance {figures[f'{which} by chance']})"
            for which in ("key", "distractors")
        )
        parts.append(f"for *{label}* {key} of the key's words and {distractors} of a distractor's")
    largest = ", the largest difference of all pairs" if len(pairs) > 1 else ""
    return (
        f"::: lede\nThe added text has words of the answer options: {parts[0]}; {parts[1]}. The "
        f"key's advantage differs by {points(most['estimate'])} points between the two groups "
        f"({point_range(most['ci_low'], most['ci_high'])}){largest}.\n:::",
        cells,
    )


def _added_text(rows: pd.DataFrame, benchmark: Benchmark) -> tuple[str, Cells]:
    cells = _cells(rows.assign(column=rows["measure"]), benchmark, _number)
    words = rows[(rows["measure"] == "words") & rows["estimate"].notna()]
    groups, pairs = words[words["group_b"] == ""], words[words["group_b"] != ""]
    if pairs.empty:
        return "", cells
    row = _largest(pairs)
    return (
        f"On average, a variant has {_signed(groups['estimate'].min())} to "
        f"{_signed(groups['estimate'].max())} words compared with the neutralized vignette, "
        "depending on the group. The largest difference between two groups is "
        f"{_signed(row['estimate'])} words ({escape_markdown(_label(benchmark, row))}; "
        f"{_signed(row['ci_low'])} to {_signed(row['ci_high'])}).",
        cells,
    )


def _content(rows: pd.DataFrame, benchmark: Benchmark) -> tuple[str, Cells]:
    cells = _cells(rows.assign(column=rows["measure"]), benchmark, _share)
    asks = rows[(rows["measure"] == "question_asked") & rows["estimate"].notna()]
    pairs = asks[asks["group_b"] != ""]
    if pairs.empty or asks.loc[asks["group_b"] == "", "estimate"].ge(1).all():
        return "", cells
    most = _largest(pairs)
    groups = " and ".join(
        f"{percent(of['estimate'].item())} of the variants for *{label}*"
        for label, of in _groups(asks, most, benchmark)
    )
    return (
        f"**Not every variant asks a question.** If the neutralized vignette asks one, {groups} "
        f"do, a difference of {points(most['estimate'])} points "
        f"({point_range(most['ci_low'], most['ci_high'])}). A model that gets such a variant with "
        "only its options is not given the question.",
        cells,
    )


def _duplicates(rows: pd.DataFrame, benchmark: Benchmark) -> tuple[str, Cells]:
    labels = labels_of("vignettes")
    # The first row of keys is that of all versions.
    lead = rows[rows["n"] > 0].drop_duplicates("measure")
    sentences = [
        labels["duplicate_items"][row["measure"]].format(
            f"{round(row['estimate'] * row['n']):,} of {counted(row['n'], 'item')} "
            f"({percent(row['estimate'])})"
        )
        for row in lead.to_dict("records")
        if row["measure"] in labels["duplicate_items"]
    ]
    alike = rows["measure"].isin(["like_neutral", "like_other_group"])
    if alike.any() and not rows.loc[alike, "estimate"].any():
        sentences.append("Every variant differs from the neutralized vignette and from the others.")
        rows = rows[~alike]
    cells = [
        {
            "group": labels["duplicates"][row["measure"]],
            "of": _label(benchmark, row) or _version(benchmark, row),
            "share": _share(row),
            "n": f"{row['n']:,}",
        }
        for row in rows.to_dict("records")
    ]
    return " ".join(sentences), cells


def _selection(rows: pd.DataFrame, benchmark: Benchmark) -> tuple[str, Cells]:
    own = rows[rows["quantity"] == DIFFERENCE]
    others = rows[rows["quantity"] == ONE_SIDED]
    sentences = []
    if own["estimate"].notna().any():
        most = _largest(own)
        sentences.append(
            f"{escape_markdown(most['model'])} was used to select the items. Its accuracy "
            f"difference minus that of the others is {points(most['estimate'])} points "
            f"({point_range(most['ci_low'], most['ci_high'])}; "
            f"{escape_markdown(_label(benchmark, most))})."
        )
    if sets := len(others[["benchmark_version", "model", "strategy"]].drop_duplicates()):
        sentences.append(
            f"Among {counted(sets, 'other answer set')}, the smallest adjusted p-value for an "
            f"undeclared selection is {p_figure(others['p_value'].min())}."
        )
    cells = []
    # Of the others, those that are less one-sided than another model show no sign.
    for row in pd.concat([own, others[others["p_value"] < 1]]).to_dict("records"):
        version = _version(benchmark, row)
        declared = row["quantity"] == DIFFERENCE
        cells.append(
            {
                "group": f"{row['model']}, {prompt_label(row['strategy'])} ({version})",
                "of": _label(benchmark, row),
                "note": row["note"].partition(";")[0],
                **({"difference": _share(row)} if declared else {"p": p_value(row["p_value"])}),
            }
        )
    return " ".join(sentences), cells


def _variant_sets(rows: pd.DataFrame, benchmark: Benchmark) -> tuple[str, Cells]:
    ratios = rows[rows["quantity"] == "odds ratio"].groupby("group_a")["estimate"]
    undeclared = benchmark.same_variants_odds_ratio is None
    sentences = [prose("vignettes-no-verdict")] if undeclared else []
    cells = []
    for declared, of in rows[rows["measure"] == "pairs"].groupby("group_a", sort=False):
        found, n = of.set_index("quantity")["estimate"].map(percent), int(of["n"].iloc[0])
        cell = {"of": str(declared), "pairs": f"{n:,}", **found}
        known = ratios.get_group(declared).dropna()
        if len(known):
            cell["ratio"] = f"{decimal(known.min(), 2)} to {decimal(known.max(), 2)}"
        if SAME in found:
            sentences.append(
                f"Of {counted(n, 'pair')} of answer sets declared as answers to {declared}, "
                f"{found[SAME]} are judged to be to the same variants, and {found[DIFFERENT]} to "
                "different ones."
            )
        cells.append(cell)
    return " ".join(sentences), cells


#: What states the finding of each question, in a sentence, and makes the cells of its table.
_FINDINGS: dict[str, Callable[[pd.DataFrame, Benchmark], tuple[str, Cells]]] = {
    "leakage": _leakage,
    "added text": _added_text,
    "content": _content,
    "duplicates": _duplicates,
    "selection": _selection,
    "variant sets": _variant_sets,
}


def _show_flags(release: Release) -> None:
    """Show the flags that a person should check; only in a separate report, as they quote text."""
    path = release.path / DOWNLOADS / f"{FLAGS}.parquet"
    flags = pd.read_parquet(path) if path.exists() else pd.DataFrame()
    if flags.empty:
        return
    show_markdown(
        f"## What a person should check\n\nRules raised {counted(len(flags), 'flag')}. Up to "
        f"{_FLAGS_SHOWN} of each kind are shown; the table of flags has all."
    )
    for (aspect, flag), own in flags.groupby(["aspect", "flag"], sort=False):
        cells = [
            {
                "of": row["item_id"],
                "of_group": row["group"],
                "detail": row["detail"][:_LONGEST] + " …" * (len(row["detail"]) > _LONGEST),
            }
            for row in own.head(_FLAGS_SHOWN).to_dict("records")
        ]
        labels = {"of_group": "Group", "detail": "Detail"}
        with closed(f"{flag} ({len(own):,})"):
            name = slug(f"flags-{aspect}-{flag}")
            table = written_table(cells, labels, name=name, stub="of", heading="Item")
            show_table(table, caption=f"{aspect}: {flag}", download=files_of(release, FINDINGS))


_PAIR = ["attribute", "group_a", "group_b"]


def show_items(release: Release, benchmark: Benchmark) -> None:
    """Show the items with the largest contributions to each gap, if the release has the table."""
    # Earlier releases and separate reports have no such table.
    if not (release.path / DOWNLOADS / f"{ITEMS}.parquet").exists():
        return
    table = release.table(ITEMS)
    own = table[table["benchmark"] == benchmark.name]
    for version, of_version in own.groupby("benchmark_version", sort=True):
        label = benchmark.versions.get(str(version), str(version))
        named = f" ({escape_markdown(label)})" if own["benchmark_version"].nunique() > 1 else ""
        title = f"### Which items make up the gap?{named}"
        pairs = [rows for _, rows in of_version.groupby(_PAIR, sort=False)]
        notes = [_of_tests(rows, release.alpha) for rows in pairs]
        # What is true of all pairs is said once; a number of items is that of one pair.
        alike = len(pairs) > 1 and len(set(notes)) == 1
        shared = notes[0] if alike and not (of_version["p_bh"] < release.alpha).any() else ""
        found = [
            f"- {_gap(rows, benchmark)} {'' if shared else note}".rstrip()
            for rows, note in zip(pairs, notes, strict=True)
        ]
        show_markdown("\n\n".join([title, prose("vignettes-items"), "\n".join(found), shared]))
        listed = pd.concat(_listed(rows, benchmark, release.alpha) for rows in pairs)
        if len(listed):
            with closed("The items with the largest contributions"):
                show_table(
                    items_table(listed, name=slug(f"items-{benchmark.name}-{version}")),
                    caption=f"{benchmark.title}: items with the largest contributions. p: exact, "
                    "flips of models; adjusted by Benjamini and Hochberg over the items of a pair",
                    download=files_of(release, ITEMS),
                )


def _gap(rows: pd.DataFrame, benchmark: Benchmark) -> str:
    """State the gap of a pair, and how many items make up half of it."""
    gap, models = float(rows["gap"].iloc[0]), counted(int(rows["models"].max()), "model")
    pair = escape_markdown(capital(_pair_label(benchmark, rows.iloc[0])))
    text = f"{pair}: mean gap {points(gap)} points over {models}."
    if not gap:
        return text
    half = int((rows["share"].cumsum() < 0.5 - 1e-9).sum()) + 1
    return (
        f"{text} {counted(half, 'item')} of {len(rows):,} ({percent(half / len(rows))}) "
        f"make{'s' * (half == 1)} up half of it."
    )


def _of_tests(rows: pd.DataFrame, alpha: float) -> str:
    """Return how many items of a pair are significant, or why none can be."""
    if significant := int((rows["p_bh"] < alpha).sum()):
        return f"{counted(significant, 'item')} significant after adjustment."
    least = float(rows["least_p"].min())
    if least * len(rows) > alpha * (rows["p_value"] <= least).sum():
        return (
            f"So few models cannot show that a single item differs: {p_figure(least)} is the "
            f"smallest possible p-value, before adjustment for {counted(len(rows), 'item')}."
        )
    return "No item is significant after adjustment."


def _listed(rows: pd.DataFrame, benchmark: Benchmark, alpha: float) -> pd.DataFrame:
    """Return the items of a pair to list, with the label of the pair."""
    shown = (rows["p_bh"] < alpha) | (np.arange(len(rows)) < _ITEMS_SHOWN)
    pair = _pair_label(benchmark, rows.iloc[0])
    return rows[shown & (rows["contribution"] != 0)].assign(pair=pair)


def items_table(items: pd.DataFrame, *, name: str) -> GT:
    """Show differences, contributions and tests of items, in groups by pair.

    Parameters
    ----------
    items : pandas.DataFrame
        Rows of the table ``item_gaps``, with the label of their ``pair``.
    name : str
        The table's id, unique on the page.
    """
    from great_tables import GT

    labels = labels_of("vignettes")["items"]
    counts = ["n10", "n01", "n"]
    columns = ["pair", "item_id", "estimate", "contribution", "share", *counts, "p_value", "p_bh"]
    return (
        GT(items[columns], rowname_col="item_id", groupname_col="pair", id=name)
        .tab_stubhead("Item")
        .cols_label(cases=dict(labels))
        .fmt_number(columns="estimate", decimals=1, scale_by=100, force_sign=True)
        .fmt_number(columns="contribution", decimals=2, scale_by=100)
        .fmt_percent(columns="share", decimals=1)
        .fmt_number(columns=counts, decimals=6, drop_trailing_zeros=True)
        .cols_merge(columns=counts, pattern="{0} and {1} of {2}")
        .fmt(lambda p: escape_html(p_figure(p)), columns=["p_value", "p_bh"])
        .sub_missing(missing_text="not known")
        .cols_align("right", columns=[name for name in labels if name != "n10"])
        .cols_align("left", columns="n10")
    )


def _pair_label(benchmark: Benchmark, row: Row | pd.Series) -> str:
    return benchmark.attribute(row["attribute"]).pair_label((row["group_a"], row["group_b"]))


def _cells(rows: pd.DataFrame, benchmark: Benchmark, form: Callable[[Row], str]) -> Cells:
    """Return a row of cells for each group and then each pair; ``column`` names the cells."""
    cells: dict[tuple[bool, str, str, str], dict[str, str]] = {}
    for row in rows.to_dict("records"):
        key = (row["group_b"] != "", row["attribute"], row["group_a"], row["group_b"])
        cell = cells.setdefault(key, {"of": _label(benchmark, row)})
        cell[row["column"]] = form(row)
    return [cells[key] for key in sorted(cells, key=lambda key: key[0])]


def _groups(
    rows: pd.DataFrame, pair: Row, benchmark: Benchmark
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the escaped label of each group of a pair, with its own rows."""
    own = rows[(rows["attribute"] == pair["attribute"]) & (rows["group_b"] == "")]
    for group in (pair["group_a"], pair["group_b"]):
        label = _label(benchmark, {**pair, "group_a": group, "group_b": ""})
        yield escape_markdown(label), own[own["group_a"] == group]


def _largest(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the row with the largest absolute estimate."""
    return rows.loc[rows["estimate"].abs().idxmax()].to_dict()


def _share(row: Row) -> str:
    """Write a share in percent, or a tested difference in points, with limits and p below."""
    tested = not math.isnan(row["p_value"])
    limits = (point_range if tested else percent_range)(row["ci_low"], row["ci_high"])
    return _with_limits(row["estimate"], points if tested else share, limits, row["p_value"])


def _number(row: Row) -> str:
    """Write a mean number with its limits below, and the p-value of a pair."""
    form = partial(decimal, places=1) if row["quantity"] == "mean" else _signed
    known = not math.isnan(row["ci_low"])
    limits = f"{form(row['ci_low'])} to {form(row['ci_high'])}" if known else ""
    return _with_limits(row["estimate"], form, limits, row["p_value"] if row["group_b"] else None)


def _with_limits(
    value: float, form: Callable[[float], str], limits: str, p: float | None = None
) -> str:
    tested = "" if p is None else p_value(p)
    return figure_cell(value, form, ", ".join(filter(None, (limits, tested))), strong=False)


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + decimal(value, 1)


def _label(benchmark: Benchmark, row: Row) -> str:
    """Return the label of a row's group or pair of groups; empty if it has none."""
    attribute = benchmark.attributes.get(str(row["attribute"]))
    groups = [str(row[name]) for name in ("group_a", "group_b") if row[name]]
    return " − ".join(attribute.groups.get(g, g) if attribute else g for g in groups)


def _version(benchmark: Benchmark, row: Row) -> str:
    version = str(row["benchmark_version"])
    return benchmark.versions.get(version, version) or "All"


@dataclass(frozen=True)
class AuditFiles:
    """The files of an audit.

    Parameters
    ----------
    folder : Path
        All of its files.
    pages : tuple of Path
        The report, as HTML and PDF.
    audit : Audit
        Its tables.
    """

    folder: Path
    pages: tuple[Path, ...]
    audit: Audit


def report_vignettes(
    items: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    answers: Iterable[str | os.PathLike[str]] = (),
    benchmark: str | os.PathLike[str] | Benchmark | None = None,
    benchmark_version: str | None = None,
    alpha: float = 0.05,
) -> AuditFiles:
    """Audit the variants of a benchmark and write the results.

    Parameters
    ----------
    items : path or str
        As for `fairstats.benchmarks.vignette_items.read_vignettes`.
    out : path
        A folder, which gets the report (``audit.html``, ``audit.pdf``), findings and flags as
        parquet, CSV and JSON, the measures (``*.measures.parquet``, for `fairstats.publish`) and
        ``manifest.json`` with the hashes of its inputs and of all files.
    answers : iterable of paths
        Answers of models to these items.
    benchmark : str, path or Benchmark, optional
        The declaration of the groups of an items file.
    benchmark_version : str, optional
        The set of variants of the items (default: the benchmark's only one).
    alpha : float
        1 − confidence level.

    Returns
    -------
    AuditFiles

    Raises
    ------
    InputError
        If the items or answers have a problem. Then no file is written.
    fairstats.report.render.PageError
        If the report cannot be drawn. Then no file is written.
    """
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise InputError([Problem(str(out), "is not a folder", "give the path of a folder")])
    vignettes = read_vignettes(items, benchmark=benchmark)
    paths = list(answers)
    audit = audit_vignettes(vignettes, paths, benchmark_version=benchmark_version, alpha=alpha)
    audited = vignettes.benchmark
    tables = {FINDINGS: audit.findings, FLAGS: audit.flags}
    with temporary_folder("report") as folder:
        release = write_tables(
            folder,
            tables,
            title=audited.title,
            alpha=alpha,
            sources=(vignettes.path, *(answer_files(paths) if paths else [])),
            benchmark=audited.name,
            benchmark_version=audit.benchmark_version,
            items=len(vignettes.items),
        )
        for name, table in tables.items():
            write_table(table, folder / "tables", name)
        write_measures(audit.measures, release.measures_path)
        copy_benchmarks({audited.name: audited}, folder / "benchmarks")
        title = f"How good are the variants of {audited.title}?"
        drawn = [folder / "audit.html", folder / "audit.pdf"]
        draw_report(release, "vignettes", title=title, to="html", target=drawn[0])
        draw_report(release, "vignettes", title=title, to="pdf", target=drawn[1])
        files = {path.name: path for path in (*drawn, *sorted((folder / "tables").iterdir()))}
        files[f"{slug(audited.name)}{MEASURES_SUFFIX}"] = release.measures_path
        hashes = {name: file_sha256(path) for name, path in sorted(files.items())}
        out.mkdir(parents=True, exist_ok=True)
        for name, path in files.items():
            shutil.copyfile(path, out / name)
        text = json.dumps(release.manifest | {"files": hashes}, indent=1, ensure_ascii=False)
        (out / MANIFEST).write_text(f"{text}\n", encoding="utf-8")
    return AuditFiles(out, tuple(out / path.name for path in drawn), audit)


def show_head(release: Release) -> None:
    """Show the audited vignettes, and the time of the audit."""
    manifest = release.manifest
    version = manifest["benchmark_version"]
    named = f"{manifest['release']}, version {version}" if version else manifest["release"]
    show_markdown(
        f"::: kicker\nVignettes · {release.created_at.date()} · {escape_markdown(named)} · "
        f"{counted(manifest['items'], 'item')}\n:::"
    )


def show_provenance(release: Release) -> None:
    """Show hashes, versions and arguments."""
    show_sources(release)
