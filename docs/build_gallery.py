"""Draw the pictures of the gallery: run the code of gallery.md on simulated answers.

Run from the checkout: python docs/build_gallery.py
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fairstats

PAGE = Path(__file__).with_name("gallery.md")
_EXAMPLE = re.compile(r"```python\n(.*?)```\n\n!\[[^]]*\]\((gallery/[\w-]+\.png)\)", re.S)
_DPI = 100
_ITEMS = 400
# Each model's accuracy, and what it loses for the second group of race and of sex.
_MODELS = {
    "Model A 1": (0.78, 0.10, 0.05),
    "Model A 2": (0.88, 0.04, 0.00),
    "Model B": (0.84, 0.00, 0.00),
    "Model C": (0.80, 0.05, 0.03),
    "Model D": (0.70, 0.12, 0.01),
}
# The share of answers that are missing.
_MISSING = {"Model A 2": 0.001, "Model C": 0.005, "Model D": 0.02}


def simulated_answers() -> pd.DataFrame:
    """Return answers of five invented models, one with two prompts; the same at every call."""
    rng = np.random.default_rng(20)
    keys = rng.choice(list("ABCD"), _ITEMS)
    hard = rng.beta(2, 2, _ITEMS)
    rows = []
    for model, (accuracy, race, sex) in _MODELS.items():
        for strategy in ("plain", "cot") if model == "Model A 2" else ("plain",):
            # An item is answered in the same way for all groups, unless the group changes it.
            level = hard + rng.normal(0, 0.1, _ITEMS)
            bonus = 0.015 if strategy == "cot" else 0.0
            for attribute, groups, loss in (
                ("race", ("white", "black"), race),
                ("sex", ("male", "female"), sex),
            ):
                for group, lost in zip(groups, (0.0, loss), strict=True):
                    limit = np.quantile(level, min(accuracy + bonus - lost, 1))
                    right = level + rng.normal(0, 0.02, _ITEMS) <= limit
                    wrong = np.where(keys == "A", "B", "A")
                    letters = pd.Series(np.where(right, keys, wrong), dtype=object)
                    letters[rng.random(_ITEMS) < _MISSING.get(model, 0)] = None
                    rows.append(
                        pd.DataFrame(
                            {
                                "model": model,
                                "strategy": strategy,
                                "attribute": attribute,
                                "group": group,
                                "item_id": [f"item-{number}" for number in range(_ITEMS)],
                                "answer": letters,
                                "answer_key": keys,
                            }
                        )
                    )
    return pd.concat(rows, ignore_index=True).assign(
        benchmark="demo", benchmark_version="1", sample=0
    )


def examples() -> Iterator[tuple[str, str]]:
    """Yield the code of each picture of the gallery, and the picture's path."""
    yield from _EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))


def drawn(code: str, names: dict[str, Any]) -> Any:
    """Run an example and return its last expression, the plot."""
    *first, last = ast.parse(code).body
    if not isinstance(last, ast.Expr):
        raise ValueError("the last line of an example must be the plot")
    exec(compile(ast.Module(first, []), str(PAGE), "exec"), names)
    return eval(compile(ast.Expression(last.value), str(PAGE), "eval"), names)


def build(folder: Path) -> list[Path]:
    """Draw every picture below a folder and return their paths."""
    names: dict[str, Any] = {"fairstats": fairstats, "answers": simulated_answers()}
    made = []
    for code, picture in examples():
        path = folder / picture
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn(code, names).save(path, dpi=_DPI, verbose=False)
        made.append(path)
    return made


if __name__ == "__main__":
    for path in build(PAGE.parent):
        sys.stdout.write(f"{path.name}: {path.stat().st_size / 1000:.0f} kB\n")
