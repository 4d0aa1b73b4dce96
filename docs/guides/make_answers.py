"""Simulate the answers of the guides: 12 models with known gaps by sex, on 200 invented cases.

Also decisions, levels and scores of a few models, for the guides to a spreadsheet and to your own
data. The models are named after trees and do not exist. Run this again only to change the data::

    python docs/guides/make_answers.py
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
CASES = 200
#: Accuracy for male patients; shares of cases answered right only for male, and only for female,
#: patients; share answered with two different wrong letters; share without a readable answer.
MODELS = {
    "Alder": (0.88, 0.020, 0.020, 0.01, 0.000),
    "Ash": (0.86, 0.025, 0.020, 0.02, 0.000),
    "Beech": (0.84, 0.030, 0.030, 0.02, 0.000),
    "Cedar": (0.83, 0.015, 0.020, 0.02, 0.005),
    "Elm": (0.81, 0.060, 0.050, 0.03, 0.000),
    "Fir": (0.80, 0.040, 0.035, 0.02, 0.060),
    "Hazel": (0.78, 0.080, 0.045, 0.03, 0.000),
    "Larch": (0.77, 0.060, 0.020, 0.03, 0.000),
    "Maple": (0.75, 0.110, 0.030, 0.04, 0.000),
    "Oak": (0.73, 0.150, 0.030, 0.05, 0.000),
    "Pine": (0.70, 0.090, 0.085, 0.06, 0.010),
    "Rowan": (0.66, 0.210, 0.025, 0.06, 0.000),
}
LETTERS = "ABCD"


def main() -> None:
    """Write the keys, and the file that a submitter would send."""
    rng = np.random.default_rng(2026)
    cases = [f"case-{number:03}" for number in range(1, CASES + 1)]
    keys = rng.choice(list(LETTERS), CASES)
    # A hard case is hard for every model.
    difficulty = rng.random(CASES)
    with (FOLDER / "cases.keys.csv").open("w", encoding="utf-8", newline="") as file:
        write = csv.writer(file, lineterminator="\n").writerow
        write(["item_id", "answer_key"])
        for row in zip(cases, keys, strict=True):
            write(row)
    with (FOLDER / "submitted.csv").open("w", encoding="utf-8", newline="") as file:
        write = csv.writer(file, lineterminator="\n").writerow
        write(["model", "item_id", "group", "answer"])
        for model, shares in MODELS.items():
            for case, *answers in zip(
                cases, *_answers(rng, keys, difficulty, *shares), strict=True
            ):
                for group, answer in zip(("male", "female"), answers, strict=True):
                    write([model, case, group, answer])


def decisions() -> None:
    """Write decisions on 120 applications; Pine favours the first name, Rowan always says no."""
    rng = np.random.default_rng(2027)
    quality = rng.random(120)
    rows = []
    for model, bonus in (("Alder", 0.0), ("Pine", 0.16), ("Rowan", None)):
        for number, worth in enumerate(quality, start=1):
            noise = rng.normal(0, 0.02)
            for group in ("emma", "aisha", "weather", "no_weather"):
                value = worth + noise + rng.normal(0, 0.01) + (bonus or 0) * (group == "emma")
                decision = "yes" if value > 0.6 else "maybe" if value > 0.3 else "no"
                if bonus is None:
                    decision = "no"
                rows.append([model, f"application-{number:03}", group, decision])
    _write("decisions.csv", ["model", "item_id", "group", "answer"], rows)


def referrals() -> None:
    """Write a sheet with a row per case; four models decide for three groups, Birch unequally."""
    rng = np.random.default_rng(2030)
    need = rng.random(240)
    models = {
        "Alder": (0.0, 0.0),
        "Birch": (0.0, -0.15),
        "Cedar": (-0.1, 0.0),
        "Dogwood": (0.1, 0.0),
    }
    groups = ("white", "black", "asian")
    columns = ["case_id", "department", *(f"{m}_{group}" for m in models for group in groups)]
    rows = []
    for number, worth in enumerate(need, start=1):
        row: list[object] = [f"case-{number:03}", ("cardiology", "surgery", "general")[number % 3]]
        for model, (bonus, lost) in models.items():
            noise = rng.normal(0, 0.05)
            for group in groups:
                value = worth + bonus + noise + rng.normal(0, 0.006) + lost * (group == "black")
                decision = "refer" if value > 0.5 else "wait" if value > 0.2 else "discharge"
                row.append("refused" if model == "Dogwood" and rng.random() < 0.02 else decision)
        rows.append(row)
    _write("referrals.csv", columns, rows)


def levels() -> None:
    """Write triage levels of 90 stays of 30 patients, with the nurse's level; Elm shifts women."""
    rng = np.random.default_rng(2028)
    rows, keys = [], []
    stays = [(f"stay-{p:02}-{s}", f"patient-{p:02}") for p in range(1, 31) for s in range(1, 4)]
    urgency = {stay: rng.normal(2.8, 1.0) for stay, _ in stays}
    for stay, patient in stays:
        keys.append([stay, patient, int(np.clip(round(urgency[stay]), 1, 5))])
    for model, shift in (("Alder", 0.0), ("Elm", 0.35), ("Fir", 0.0)):
        for stay, _ in stays:
            error = rng.normal(0, 0.5)
            for group in ("male", "female"):
                value = urgency[stay] + error + rng.normal(0, 0.12) + shift * (group == "female")
                level: int | str = int(np.clip(round(value), 1, 5))
                # One model sometimes gives no level.
                missing = model == "Fir" and rng.random() < 0.02
                rows.append([model, stay, group, "unclear" if missing else level])
    _write("levels.csv", ["model", "stay", "sex", "level"], rows)
    _write("levels.keys.csv", ["item_id", "patient", "answer_key"], keys)


def scores() -> None:
    """Write pain scores from 0 to 10 of 60 notes, three runs each, one column per group."""
    rng = np.random.default_rng(2029)
    pain = rng.uniform(1, 9, 60)
    rows = []
    for model, shift in (("Alder", 0.0), ("Oak", -0.8)):
        for number, true in enumerate(pain, start=1):
            for run in range(3):
                values = [true + rng.normal(0, 0.5) + shift * black for black in (False, True)]
                shown = [round(2 * float(np.clip(value, 0, 10))) / 2 for value in values]
                rows.append([model, f"note-{number:02}", run, *shown])
    _write("scores.csv", ["model", "item_id", "sample", "score_white", "score_black"], rows)


def _write(name: str, columns: list[str], rows: list[list[object]]) -> None:
    with (FOLDER / name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])


def _answers(
    rng: np.random.Generator,
    keys: np.ndarray,
    difficulty: np.ndarray,
    accuracy: float,
    only_male: float,
    only_female: float,
    changed: float,
    missing: float,
) -> tuple[list[str], list[str]]:
    """Return a model's answers for male and for female patients."""
    order = np.argsort(difficulty + rng.normal(0, 0.15, CASES))
    right = np.zeros(CASES, dtype=bool)
    right[order[: round(accuracy * CASES)]] = True
    wrong = np.array([rng.choice([x for x in LETTERS if x != key]) for key in keys])
    male = np.where(right, keys, wrong)
    female = male.copy()
    for case in np.flatnonzero(right & (rng.random(CASES) < only_male / accuracy)):
        female[case] = wrong[case]
    for case in np.flatnonzero(~right):
        draw = rng.random() * (1 - accuracy)
        if draw < only_female:
            female[case] = keys[case]
        elif draw < only_female + changed:
            female[case] = rng.choice([x for x in LETTERS if x not in (keys[case], wrong[case])])
    for answers in (male, female):
        answers[rng.random(CASES) < missing] = ""
    return list(male), list(female)


if __name__ == "__main__":
    main()
    decisions()
    referrals()
    levels()
    scores()
