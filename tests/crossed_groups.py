"""A benchmark in which race and sex only have the variants of an attribute that crosses them."""

from __future__ import annotations

from dataclasses import replace

from fairstats.benchmarks.declaration import Attribute, Benchmark

#: The crossed groups, with their race and sex.
CELLS = {f"{race}+{sex}": (race, sex) for race in ("white", "black") for sex in ("male", "female")}


def crossed_groups(of: Benchmark) -> Benchmark:
    """Return a benchmark like this one, whose race and sex are those of `CELLS`."""
    own = {name: of.attributes[name] for name in ("race", "sex")}
    race, sex = (one.groups for one in own.values())
    names = {cell: f"{race[a]} {sex[b].lower()}" for cell, (a, b) in CELLS.items()}
    both = Attribute("race_sex", "Race and sex", names, (), (*own,), CELLS)
    return replace(of, name="crossed", attributes=own | {"race_sex": both})
