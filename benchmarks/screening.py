"""Measure how often screening flags honest answer sets, and which share of a fraud it detects.

``python benchmarks/screening.py ANSWERS... BENCHMARKS...`` takes folders of honest answer sets,
e.g. those that ``fairstats fetch`` and ``fairstats import`` write, and files of their benchmarks.
It also draws honest sets from item response theory, in every combination of `GRID`. It writes
benchmarks/results/screening.json and prints the tables of docs/screening-rates.md.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby, product
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairstats import load_benchmark, read_answers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.screening.findings import ASKING
from fairstats.screening.screen import screen

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.screening import frauds
from tests.screening.honest_models import boards, flags_of

RESULTS = Path(__file__).parent / "results" / "screening.json"
_SET = ["benchmark", "benchmark_version", "model", "strategy"]
#: Honest sets that each fraud is made from, draws of each, and seed.
SOURCES, DRAWS, SEED = 12, 1, 2026
#: What honest sets are drawn for: accuracy of the other models, their number, items, options, and
#: the share of variants that half of the sets answer at a high temperature.
GRID = {
    "accuracy": ((0.48, 0.55), (0.62, 0.68), (0.75, 0.85), (0.88, 0.92), (0.95, 0.98)),
    "models": (3, 6, 20),
    "items": (50, 200, 801),
    "options": (2, 3, 4, 5),
    "noise": (0.0, 0.3, 0.6),
}
#: More kinds of honest sets, next to models of this accuracy and with this noise: models of
#: accuracy 0.98 to 0.995 next to weaker ones; models without the direction of the others; models
#: that all prefer some letter where they do not know the answer (they know this share); models that
#: only the first attribute sways; and strong models next to weaker ones if some keys are wrong.
MORE = {
    "strong": (GRID["accuracy"][:3], 0.0),
    "undirected": (GRID["accuracy"], 0.3),
    "letters": (((0.35, 0.45), *GRID["accuracy"][:3]), 0.3),
    "one effect": (GRID["accuracy"][1:4], 0.0),
    "wrong keys": (GRID["accuracy"][1:3], 0.0),
}
#: Boards in each combination, and screened sets on each.
BOARDS, CANDIDATES = 4, 5
#: The checks that are meant for answers that were made right, or the same for all variants.
LAUNDERING = ("flip_level", "pair_flips", "hard_items", "item_difficulty")
#: Each fraud, its shares, and the checks that are meant for it. Shares are of answers, pairs or
#: items; of the two frauds with the key, of the items with an error.
PARTIAL = {
    "answers copied": (frauds.copied, (0.1, 0.25, 0.5, 1.0), ("copied_answers", "copied_items")),
    "answers copied with other wrong letters": (
        frauds.copied_marks,
        (0.25, 0.5, 0.75, 1.0),
        ("copied_marks",),
    ),
    "unexpected answers replaced by usual ones": (
        frauds.usual_answers,
        (0.5, 0.75, 1.0),
        ("minority_answers",),
    ),
    "the same, of a copy under another name": (
        lambda share: frauds.usual_answers(share, renamed=True),
        (0.5, 0.75, 1.0),
        ("minority_answers", "copied_answers", "copied_marks"),
    ),
    "items copied": (frauds.copied_items, (0.1, 0.25, 0.5), ("copied_answers", "copied_items")),
    "items copied from many sets": (frauds.mosaic, (0.25, 0.5, 0.75, 1.0), ("mosaic",)),
    "second answers of pairs replaced by first": (
        frauds.forced,
        (0.1, 0.25, 0.5, 0.9, 1.0),
        ("pair_flips",),
    ),
    "labels swapped": (frauds.swapped, (0.25, 0.5, 0.75, 1.0), ("group_labels",)),
    "labels swapped, each attribute by itself": (
        frauds.swapped_apart,
        (0.25, 0.5, 0.75, 1.0),
        ("group_labels",),
    ),
    "all answers to an item replaced by one": (
        frauds.levelled,
        (0.25, 0.5, 0.7, 0.85, 1.0),
        LAUNDERING,
    ),
    "the same, for the items that flip most": (
        frauds.levelled_most,
        (0.05, 0.1, 0.15, 0.2, 0.3),
        LAUNDERING,
    ),
    "the key for all variants if one has it": (
        lambda share: frauds.in_part(frauds.laundered, share),
        (0.5, 0.7, 0.85, 1.0),
        LAUNDERING,
    ),
    "the key for the items with an error that others find easiest": (
        frauds.key_of_easiest,
        (0.25, 0.5, 0.75, 0.9),
        LAUNDERING,
    ),
    "the key for random items with an error": (
        frauds.key_of_errors,
        (0.25, 0.5, 0.75, 0.9),
        LAUNDERING,
    ),
}
#: Those that are made with the answers of all other sets, not of one.
FROM_ALL = (
    "unexpected answers replaced by usual ones",
    "the same, of a copy under another name",
    "items copied from many sets",
    "the key for the items with an error that others find easiest",
)


def main() -> None:
    """Measure both, and write the results."""
    declared = [load_benchmark(path) for path in sys.argv[1:] if path.endswith(".toml")]
    given = [path for path in sys.argv[1:] if not path.endswith(".toml")]
    answers = read_answers(given)
    found = {
        "honest": honest(answers, declared),
        "simulated": simulated(),
        "partial": list(partial(answers[answers["benchmark"] == "fairmedqa"])),
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(honest_table(found["honest"]), simulated_table(found["simulated"]), sep="\n\n")
    print("", partial_table(found["partial"]), sep="\n")


def honest_table(found: list[dict[str, Any]]) -> str:
    """Return the flags of released sets as Markdown."""
    lines = ["| benchmark | sets | `look` | `block` | checks that were not possible |"]
    lines.append("|---|--:|--:|--:|--:|")
    for row in found:
        cells = [row[name] for name in ("benchmark", "sets", "look", "block", "not_checked")]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def partial_table(found: list[dict[str, Any]]) -> str:
    """Return the shares of detected frauds as Markdown, one row per fraud."""
    lines = ["| fraud | share: `look` or `block` | `block` |", "|---|---|---|"]
    for fraud, rows in groupby(found, key=itemgetter("fraud")):
        own = list(rows)
        flagged, blocked = (
            ", ".join(
                f"{row['share']:.0%}: {row[name] / row['frauds']:.0%}"
                for row in own
                if row[name] or name == "flagged"
            )
            for name in ("flagged", "blocked")
        )
        lines.append(f"| {fraud} | {flagged} | {blocked or 'never'} |")
    return "\n".join(lines)


def honest(answers: pd.DataFrame, benchmarks: list[Benchmark]) -> list[dict[str, Any]]:
    """Screen the answer sets of each benchmark version against each other, as a publisher would."""
    table = screen(answers, benchmarks=benchmarks).to_frame()
    rows = []
    for (benchmark, version), own in table.groupby(_SET[:2]):
        flags = own.groupby(_SET)["flag"].agg(set)
        asked = own[own["flag"].isin(ASKING)]
        rows.append(
            {
                "benchmark": f"{benchmark} ({version})",
                "sets": len(flags),
                "look": int(sum("look" in one for one in flags)),
                "block": int(sum("block" in one for one in flags)),
                "not_checked": f"{(own['flag'] == 'not_checked').sum()} of {len(own)}",
                "flagged": asked[[*_SET[2:], "check", "flag", "value"]].round(3).to_dict("records"),
            }
        )
    return rows


def simulated() -> list[dict[str, Any]]:
    """Count the flags of honest sets in every combination of `GRID`, and of the other kinds."""
    combinations: list[dict[str, Any]] = [
        dict(zip(GRID, values, strict=True)) | {"kind": "choice", "screened": "any"}
        for values in product(*GRID.values())
    ]
    combinations += [
        {"accuracy": accuracy, "models": models, "items": items, "options": options}
        | {"noise": noise, "kind": "choice", "screened": screened}
        for screened, (accuracies, noise) in MORE.items()
        for accuracy, models, items, options in product(
            accuracies, GRID["models"], GRID["items"], GRID["options"]
        )
    ]
    combinations += [
        {"accuracy": accuracy, "models": models, "items": items, "options": 5, "noise": 0.3}
        | {"kind": kind, "screened": "any"}
        for kind in ("decision", "level", "score")
        for accuracy, models, items in product(*list(GRID.values())[:3])
    ]
    with ProcessPoolExecutor(max_workers=2) as pool:
        return list(pool.map(_flags_of, combinations, chunksize=4))


def _flags_of(at: dict[str, Any]) -> dict[str, Any]:
    """Screen the honest sets of a combination as `screen` does, each by itself."""
    low = at["accuracy"][0]
    seed = [
        SEED,
        round(100 * low),
        at["models"],
        at["items"],
        at["options"],
        round(10 * at["noise"]),
        *([list(MORE).index(at["screened"])] if at["screened"] in MORE else []),
    ]
    rng = np.random.default_rng(seed)
    sets = look = block = 0
    flagged: Counter[str] = Counter()
    for panel in boards(
        at["items"],
        at["options"],
        at["models"],
        at["accuracy"],
        noise=at["noise"],
        draws=BOARDS,
        candidates=CANDIDATES,
        kind=at["kind"],
        screened=at["screened"],
        rng=rng,
    ):
        for sheet in panel.screened:
            flags = flags_of(sheet, panel)
            asked = [check for check, flag in flags.items() if flag in ASKING]
            sets += 1
            look += bool(asked)
            block += "block" in flags.values()
            flagged.update(asked)
    return at | {"sets": sets, "flagged": look, "blocked": block, "checks": dict(flagged)}


def simulated_table(found: list[dict[str, Any]]) -> str:
    """Return the flagged simulated sets by the accuracy and number of other models."""
    table = pd.DataFrame(found)
    table["rate"] = table["flagged"] / table["sets"]
    numbers = [f"`look`, {models} others" for models in GRID["models"]]
    heads = ["sets", "accuracy of others", *numbers, "highest of one combination", "`block`"]
    lines = [f"| {' | '.join(heads)} |", f"|---|---|{'--:|' * (len(heads) - 2)}"]
    table["accuracy"] = [f"{low:.2f} to {high:.2f}" for low, high in table["accuracy"]]
    keyed = table["kind"] == "choice"
    names = {
        "any": "choice",
        "strong": "accuracy 0.98 to 0.995",
        "undirected": "no direction",
        "letters": "a preferred letter",
        "one effect": "one attribute with an effect",
        "wrong keys": "wrong keys, strong sets",
    }
    table["kind"] = table["screened"].map(names).where(keyed, "other kinds")
    table["accuracy"] = table["accuracy"].where(keyed, "all")
    for (kind, accuracy), own in table.groupby(["kind", "accuracy"], sort=False):
        by = own.groupby("models")[["flagged", "sets"]].sum()
        cells = [f"{flagged} of {sets:,}" for flagged, sets in by.itertuples(index=False)]
        cells += [f"{own['rate'].max():.0%}", str(own["blocked"].sum())]
        lines.append(f"| {kind} | {accuracy} | {' | '.join(cells)} |")
    return "\n".join(lines)


def partial(answers: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Make each fraud in part, and count how often the checks meant for it flag it."""
    plain = answers[answers["strategy"] == "plain"]
    version = plain.groupby("benchmark_version")["model"].nunique().idxmax()
    plain = plain[plain["benchmark_version"] == version]
    benchmark = load_benchmark(str(plain["benchmark"].iloc[0]))
    models = sorted(plain["model"].unique())
    for name, (fraud, shares, checks) in PARTIAL.items():
        for share in shares:
            rng = np.random.default_rng([SEED, round(100 * share)])
            flags = []
            for model in rng.choice(models, min(SOURCES, len(models)), replace=False):
                for _ in range(DRAWS):
                    own = plain[plain["model"] == model].reset_index(drop=True)
                    panel = plain[plain["model"] != model]
                    source = rng.choice([other for other in models if other != model])
                    other = panel[panel["model"] == source]
                    if name in FROM_ALL:
                        other = panel
                    made = fraud(share)(own, other, benchmark, rng).assign(model="new")
                    table = screen(made, panel).to_frame()
                    # A check that the fraud made impossible does not count as detection.
                    table = table[table["check"].isin(checks) & table["value"].notna()]
                    flags.append(set(table["flag"]))
            row = {
                "fraud": name,
                "share": share,
                "frauds": len(flags),
                "flagged": sum(bool(one & set(ASKING)) for one in flags),
                "blocked": sum("block" in one for one in flags),
            }
            print(row, file=sys.stderr)
            yield row


if __name__ == "__main__":
    main()
