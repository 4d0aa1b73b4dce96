"""Show how good the variants of each benchmark are, on its page or in a separate report."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
import pandas as pd
from great_tables import GT

from fairstats._lib.atomic_files import temporary_folder
from fairstats._lib.formatting import (
    capital,
    counted,
    decimal,
    escape_markdown,
    level,
    number_word,
    p_figure,
    p_value,
    percent,
    point_range,
    points,
    quoted,
    span,
)
from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import input_error
from fairstats._lib.safe_names import file_sha256, slug
from fairstats.answers.files import MEASURES_SUFFIX, answer_files, read_parquet
from fairstats.benchmarks.benchmark_files import copy_benchmarks
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.vignette_items import read_vignettes
from fairstats.comparisons.change_verdicts import PAIR
from fairstats.estimates.same_variants import SAME
from fairstats.release.contents import MANIFEST, Release
from fairstats.release.tables import write_table
from fairstats.report.findings import prompt_label
from fairstats.report.page_output import closed, prose, show_markdown, show_table
from fairstats.report.render import draw_report, write_tables
from fairstats.report.tables import figure_cell, files_of, labels_of, sentence, share, written_table
from fairstats.report.words import words_of
from fairstats.vignettes.audit import Audit, audit_vignettes
from fairstats.vignettes.leakage import OVERLAP
from fairstats.vignettes.selection import DIFFERENCE
from fairstats.vignettes.tables import write_measures

_sentence = partial(sentence, "vignettes")
#: The release's tables of findings, and of the items that make up a gap.
FINDINGS, ITEMS = "vignette_findings", "item_gaps"
#: The table of texts that a person should check; a release does not contain it.
FLAGS = "vignette_flags"

Row = Mapping[str, Any]
Cells = list[dict[str, str]]
#: Sentences on a question, and the rows of its table.
Found = tuple[list[str], Cells]

#: The number of flags shown per kind, and of items per pair; the tables have all of them.
_FLAGS_SHOWN, _ITEMS_SHOWN = 12, 8
_LONGEST = 300
_COUNTS = ("n10", "n01", "n")


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
        for aspect, question in labels_of("vignettes")["questions"].items():
            rows = own[own["aspect"] == aspect]
            if len(rows):
                _show_question(aspect, question, rows, benchmark, release)
        show_items(release, benchmark)
        _show_flags(release, benchmark)


def _show_question(
    aspect: str, question: Row, rows: pd.DataFrame, benchmark: Benchmark, release: Release
) -> None:
    """Show a question of the audit: its finding, its note, and the figures as a table."""
    sentences, cells = _FINDINGS[aspect](rows, benchmark, release.alpha)
    note = prose(f"vignettes-{aspect.replace(' ', '-')}", texts=_texts_of_keys(rows))
    parts = [f"### {question['title']}", *sentences, note]
    show_markdown("\n\n".join(parts))
    if cells:
        labels = {k: v for k, v in question["labels"].items() if any(c.get(k) for c in cells)}
        table = written_table(
            cells,
            labels,
            name=slug(f"{aspect}-{benchmark.name}"),
            stub="of",
            heading=question["heading"],
            group="group" if "group" in cells[0] else None,
        )
        caption = question["caption"].format(level=level(release.alpha))
        show_table(
            table, caption=f"{benchmark.title}: {caption}", download=files_of(release, FINDINGS)
        )


def _texts_of_keys(rows: pd.DataFrame) -> str:
    """Name the texts that decide whether a key may be wrong."""
    baseline = rows["note"].astype(str).str.contains("neutralized text").any()
    return "an item's original and neutralized text" if baseline else "the versions of an item"


def _leakage(rows: pd.DataFrame, benchmark: Benchmark, _: float) -> Found:
    cells = [
        cell | {"group": title}
        for measure, title in labels_of("vignettes")["leakage"].items()
        for cell in _cells(rows[rows["measure"] == measure], benchmark, "quantity")
    ]
    own = rows[rows["measure"] == OVERLAP]
    pairs = own[(own["quantity"] == "advantage difference") & own["estimate"].notna()]
    if pairs.empty:
        return [_sentence("no words")], cells
    most = _largest(pairs)
    groups = _of_groups(own, most, benchmark, "leakage group")
    largest = ", the largest difference of all pairs" if len(pairs) > 1 else ""
    return [_sentence("leakage", groups="; ".join(groups), largest=largest, **_gap(most))], cells


def _added_text(rows: pd.DataFrame, benchmark: Benchmark, _: float) -> Found:
    cells = _cells(rows, benchmark, "measure")
    words = rows[(rows["measure"] == "words") & rows["estimate"].notna()]
    groups, pairs = words[words["group_b"] == ""]["estimate"], words[words["group_b"] != ""]
    if pairs.empty:
        return [], cells
    most = _largest(pairs)
    figures = {name: _signed(most[name]) for name in ("estimate", "ci_low", "ci_high")}
    figures |= {"words": span(_signed(groups.min()), _signed(groups.max()))}
    pair = escape_markdown(_label(benchmark, most))
    return [_sentence("added text", pair=pair, **figures)], cells


def _content(rows: pd.DataFrame, benchmark: Benchmark, _: float) -> Found:
    cells = _cells(rows, benchmark, "measure")
    asks = rows[(rows["measure"] == "question_asked") & rows["estimate"].notna()]
    pairs = asks[asks["group_b"] != ""]
    if pairs.empty or asks.loc[asks["group_b"] == "", "estimate"].ge(1).all():
        return [], cells
    most = _largest(pairs)
    groups = _of_groups(asks, most, benchmark, "content group")
    return [_sentence("content", groups=" and ".join(groups), **_gap(most))], cells


def _duplicates(rows: pd.DataFrame, benchmark: Benchmark, _: float) -> Found:
    labels = labels_of("vignettes")
    # The first row of keys is that of all versions.
    lead = rows[rows["n"] > 0].drop_duplicates("measure")
    sentences = []
    for row in lead[lead["measure"].isin([*labels["duplicate_items"]])].to_dict("records"):
        number = round(row["estimate"] * row["n"])
        share_of = f" ({percent(row['estimate'])})" if number else ""
        words = words_of(benchmark)
        text = f"{_some(number, row['n'], words.item, words.items)}{share_of}"
        sentences.append(capital(labels["duplicate_items"][row["measure"]].format(text)))
    alike = rows["measure"].isin(["like_neutral", "like_other_group"])
    if alike.any() and not rows.loc[alike, "estimate"].any():
        sentences.append(_sentence("different"))
        rows = rows[~alike]
    cells = [
        {
            "group": labels["duplicates"][row["measure"]],
            "of": _label(benchmark, row) or _version(benchmark, row),
            "share": _figure(row),
            "n": f"{row['n']:,}",
        }
        for row in rows.to_dict("records")
    ]
    return [" ".join(sentences)], cells


def _selection(rows: pd.DataFrame, benchmark: Benchmark, alpha: float) -> Found:
    declared = rows["quantity"] == DIFFERENCE
    own, others = rows[declared & rows["estimate"].notna()], rows[~declared]
    sentences = []
    if len(own):
        most = _largest(own)
        names = {"model": quoted(most["model"]), "pair": _label(benchmark, most)}
        names = {name: escape_markdown(text) for name, text in names.items()}
        sentences.append(_sentence("selected", **names, **_gap(most)))
    # An answer set is tested once per pair of groups.
    least = others.groupby(["benchmark_version", "model", "strategy"])["p_value"].min()
    if len(least):
        signs = int((least < alpha).sum())
        words = {"verb": "show" if signs > 1 else "shows", "smallest": ""}
        if least.min() < 1:
            words["smallest"] = _sentence("smallest", p=p_figure(least.min()))
        sets = capital(_some(signs, len(least), "answer set", "answer sets"))
        sentences.append(_sentence("undeclared", sets=sets, **words))
    # Those that are less one-sided than another model show no sign.
    cells = [
        {
            "group": f"{quoted(row['model'])}, {prompt_label(row['strategy'])} "
            f"({_version(benchmark, row)})",
            "of": _label(benchmark, row),
            "note": row["note"].partition(";")[0],
            "difference": _figure(row) if row["quantity"] == DIFFERENCE else "",
            "p": "" if row["quantity"] == DIFFERENCE else p_value(row["p_value"]),
        }
        for row in pd.concat([rows[declared], others[others["p_value"] < 1]]).to_dict("records")
    ]
    return [" ".join(sentences)], cells


def _variant_sets(rows: pd.DataFrame, benchmark: Benchmark, _: float) -> Found:
    ratios = rows[rows["quantity"] == "odds ratio"].groupby("group_a")["estimate"]
    undeclared = benchmark.same_variants_odds_ratio is None
    sentences = [prose("vignettes-no-verdict")] if undeclared else []
    cells = []
    for declared, of in rows[rows["measure"] == "pairs"].groupby("group_a", sort=False):
        found, n = of.set_index("quantity")["estimate"].map(percent), int(of["n"].iloc[0])
        known = ratios.get_group(declared).dropna()
        ratio = span(decimal(known.min(), 2), decimal(known.max(), 2)) if len(known) else ""
        cells.append({"of": str(declared), "pairs": f"{n:,}", "ratio": ratio, **found})
        if SAME in found:
            pairs = counted(n, "pair")
            sentences.append(_sentence("variant sets", pairs=pairs, declared=declared, **found))
    # A number of pairs alone is no finding.
    return sentences, [cell for cell in cells if cell["ratio"] or SAME in cell]


#: What states the finding of each question, and makes the cells of its table.
_FINDINGS: dict[str, Callable[[pd.DataFrame, Benchmark, float], Found]] = {
    "leakage": _leakage,
    "added text": _added_text,
    "content": _content,
    "duplicates": _duplicates,
    "keys": _duplicates,
    "selection": _selection,
    "variant sets": _variant_sets,
}


def _show_flags(release: Release, benchmark: Benchmark) -> None:
    """Show the flags that a person should check; only in a separate report, as they quote text."""
    path = release.table_path(FLAGS)
    flags = read_parquet(path) if path.exists() else pd.DataFrame()
    if flags.empty:
        return
    raised = counted(len(flags), "flag")
    show_markdown(_sentence("flags", raised=raised, shown=_FLAGS_SHOWN))
    for (aspect, flag), own in flags.groupby(["aspect", "flag"], sort=False):
        cells = [
            {
                "of": row["item_id"],
                "of_group": _label(benchmark, {**row, "group_a": row["group"], "group_b": ""}),
                "detail": shorten(row["detail"], _LONGEST, placeholder=" …"),
            }
            for row in own.head(_FLAGS_SHOWN).to_dict("records")
        ]
        labels = {"of_group": "Group", "detail": "Detail"}
        with closed(f"{flag} ({len(own):,})"):
            name = slug(f"flags-{aspect}-{flag}")
            table = written_table(cells, labels, name=name, stub="of", heading="Item")
            show_table(table, caption=f"{aspect}: {flag}", download=files_of(release, FINDINGS))


def show_items(release: Release, benchmark: Benchmark) -> None:
    """Show the items with the largest contributions to each gap, if the release has the table."""
    # Earlier releases and separate reports have no such table.
    if not release.table_path(ITEMS).exists():
        return
    table = release.table(ITEMS)
    own = table[table["benchmark"] == benchmark.name]
    for version, of_version in own.groupby("benchmark_version", sort=True):
        label = benchmark.versions.get(str(version), str(version))
        named = f" ({label})" if own["benchmark_version"].nunique() > 1 else ""
        groups = of_version.groupby([*PAIR], sort=False)
        pairs = [rows for _, rows in groups]
        notes = [_of_tests(rows, release.alpha) for rows in pairs]
        # What is true of all pairs is said once; a number of items is that of one pair.
        alike = len(pairs) > 1 and len(set(notes)) == 1
        shared = notes[0] if alike and not (of_version["p_bh"] < release.alpha).any() else ""
        found = [
            f"- {_items_of_gap(rows, benchmark)} {'' if shared else note}".rstrip()
            for rows, note in zip(pairs, notes, strict=True)
        ]
        title = f"### Which items make up the gap?{escape_markdown(named)}"
        show_markdown("\n\n".join([title, prose("vignettes-items"), "\n".join(found), shared]))
        listed = pd.concat(
            rows.assign(pair=_label(benchmark, rows.iloc[0]))[
                (rows["contribution"] != 0)
                & ((rows["p_bh"] < release.alpha) | (np.arange(len(rows)) < _ITEMS_SHOWN))
            ]
            for rows in pairs
        )
        if len(listed):
            with closed("The items with the largest contributions"):
                show_table(
                    items_table(listed, name=slug(f"items-{benchmark.name}-{version}")),
                    caption=f"{benchmark.title}{named}: {labels_of('vignettes')['items_caption']}",
                    download=files_of(release, ITEMS),
                )


def _items_of_gap(rows: pd.DataFrame, benchmark: Benchmark) -> str:
    """State the gap of a pair, and how many items make up half of it."""
    gap, models = float(rows["gap"].iloc[0]), counted(int(rows["models"].max()), "model")
    pair = escape_markdown(capital(_label(benchmark, rows.iloc[0])))
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
        verb = "is" if significant == 1 else "are"
        return f"{counted(significant, 'item')} {verb} significant after adjustment."
    least = float(rows["least_p"].min())
    if least * len(rows) > alpha * max(1, (rows["p_value"] <= least).sum()):
        return _sentence("too few models", p=p_figure(least), items=counted(len(rows), "item"))
    return "No item is significant after adjustment."


def items_table(items: pd.DataFrame, *, name: str) -> GT:
    """Show differences, contributions and tests of items, in groups by pair."""
    rows = [
        {
            "pair": row["pair"],
            "item": row["item_id"],
            "estimate": points(row["estimate"]),
            "contribution": decimal(100 * row["contribution"], 2),
            "share": percent(row["share"]),
            "counts": "{:g} and {:g} of {:g}".format(*(round(row[n], 1) for n in _COUNTS)),
            "p": p_figure(row["p_value"]),
            "p_bh": p_figure(row["p_bh"]),
        }
        for row in items.to_dict("records")
    ]
    labels = labels_of("vignettes")["items"]
    right = [column for column in labels if column != "counts"]
    return written_table(
        rows, labels, name=name, stub="item", heading="Item", group="pair", right=right
    )


def _cells(rows: pd.DataFrame, benchmark: Benchmark, column: str) -> Cells:
    """Return a row of cells for each group and then each pair, one cell per value of a column."""
    cells: dict[tuple[bool, str, str, str], dict[str, str]] = {}
    for row in rows.to_dict("records"):
        key = (row["group_b"] != "", row["attribute"], row["group_a"], row["group_b"])
        cell = cells.setdefault(key, {"of": _label(benchmark, row)})
        cell[row[column].removesuffix(" difference")] = _figure(row)
    return [cells[key] for key in sorted(cells, key=lambda key: key[0])]


def _of_groups(rows: pd.DataFrame, pair: Row, benchmark: Benchmark, name: str) -> Iterator[str]:
    """Yield a sentence on the shares of each group of a pair."""
    own = rows[(rows["attribute"] == pair["attribute"]) & (rows["group_b"] == "")]
    for group in (pair["group_a"], pair["group_b"]):
        label = escape_markdown(_label(benchmark, {**pair, "group_a": group, "group_b": ""}))
        shares = own[own["group_a"] == group].set_index("quantity")["estimate"].map(percent)
        yield _sentence(name, group=label, **shares)


def _largest(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the row with the largest absolute estimate."""
    return rows.loc[rows["estimate"].abs().idxmax()].to_dict()


def _gap(row: Row) -> dict[str, str]:
    """Return the words of a difference of shares."""
    limits = point_range(row["ci_low"], row["ci_high"])
    return {"difference": points(row["estimate"]), "limits": limits}


def _figure(row: Row) -> str:
    """Write a share, a mean number or a difference, with its limits and p-value below."""
    p, form = row["p_value"], share if math.isnan(row["p_value"]) else points
    if row["aspect"] == "added text":
        form = partial(decimal, places=1) if row["quantity"] == "mean" else _signed
        p = p if row["group_b"] else math.nan
    limits = [form(row[end]) for end in ("ci_low", "ci_high") if not math.isnan(row[end])]
    below = (("–" if form is share else " to ").join(limits), p_value(p))
    return figure_cell(row["estimate"], form, ", ".join(filter(None, below)), strong=False)


def _some(number: int, of: int, one: str, several: str) -> str:
    some = number_word(number) if number else "none"
    return f"{some} of {number_word(of)} {one if of == 1 else several}"


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
    """The files of an audit."""

    folder: Path
    pages: tuple[Path, ...]
    audit: Audit


def report_vignettes(
    items: AnyPath,
    *,
    out: AnyPath,
    answers: Iterable[AnyPath] = (),
    benchmark: AnyPath | Benchmark | None = None,
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
        parquet and CSV, the measures (``*.measures.parquet``, for `fairstats.publish`) and
        ``manifest.json`` with the hashes of its inputs and of all files.
    answers : iterable of paths
        Answers of models to these items.
    benchmark : str, path or Benchmark, optional
        The declaration of the groups of an items file.
    benchmark_version : str, optional
        The set of variants of the items (default: the benchmark's only one).
    alpha : float
        1 − confidence level.

    Raises
    ------
    InputError
        If the items or answers have a problem. Then no file is written.
    fairstats.report.render.PageError
        If the report cannot be drawn. Then no file is written.
    """
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise input_error(out, "is not a folder", "give the path of a folder")
    vignettes, paths = read_vignettes(items, benchmark=benchmark), list(answers)
    audit = audit_vignettes(vignettes, paths, benchmark_version=benchmark_version, alpha=alpha)
    audited, tables = vignettes.benchmark, {FINDINGS: audit.findings, FLAGS: audit.flags}
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
        write_measures(audit.measures, release.table_path("measures"))
        copy_benchmarks({audited.name: audited}, folder / "benchmarks")
        made = folder / "made"
        for name, table in tables.items():
            write_table(table, made, name)
        title, pages = f"How good are the variants of {audited.title}?", []
        for kind in ("html", "pdf"):
            pages.append(made / f"audit.{kind}")
            draw_report(release, "vignettes", title=title, to=kind, target=pages[-1])
        shutil.copy(release.table_path("measures"), made / f"{slug(audited.name)}{MEASURES_SUFFIX}")
        hashes = {path.name: file_sha256(path) for path in sorted(made.iterdir())}
        text = json.dumps(release.manifest | {"files": hashes}, indent=1, ensure_ascii=False)
        (made / MANIFEST).write_text(f"{text}\n", encoding="utf-8")
        out.mkdir(parents=True, exist_ok=True)
        for path in made.iterdir():
            shutil.copyfile(path, out / path.name)
    return AuditFiles(out, tuple(out / path.name for path in pages), audit)
