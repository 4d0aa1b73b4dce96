"""Simulate the answers of the guides: 12 models with known gaps by sex, on 200 invented cases.

The models are named after trees and do not exist. Run this again only to change the guides' data::

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
