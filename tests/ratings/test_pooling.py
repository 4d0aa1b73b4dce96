"""Sets of items that pairs link."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairstats.ratings.pooling import linked_items


def frame(pairs, **columns):
    return pd.DataFrame(pairs, columns=["item_id", "item_id_2"]).assign(**columns)


def test_no_row_and_no_second_item():
    assert linked_items(frame([]), []).tolist() == []
    assert linked_items(frame([("a", None), ("b", None), ("a", np.nan)]), []).tolist() == [0, 1, 0]
    alone = pd.DataFrame({"item_id": list("aba")})
    assert linked_items(alone, []).tolist() == [0, 1, 0]


def test_missing_model_is_treated_as_a_separate_model():
    names = {"benchmark": "b", "rubric": "r"}
    pairs = [("a", "b"), ("b", "c"), ("b", "c")]
    found = linked_items(frame(pairs, **names, model=["m", "m", None]))
    assert found[0] == found[1] != found[2]
    together = linked_items(frame(pairs, **names, model=None))
    assert len(set(together)) == 1


def sets_of(pairs):
    """The sets of items, from single ones on, two joined by each pair."""
    sets = [{item} for item in {item for pair in pairs for item in pair}]
    for pair in pairs:
        apart = [own for own in sets if not own & set(pair)]
        sets = [*apart, set().union(*(own for own in sets if own & set(pair)))]
    return sets


@pytest.mark.parametrize("seed", range(8))
def test_the_sets_are_those_that_joining_gives(seed):
    rng = np.random.default_rng(seed)
    pairs = [tuple(str(i) for i in rng.choice(40, 2, replace=False)) for _ in range(25)]
    found = linked_items(frame(pairs), [])
    sets = sets_of(pairs)
    place = [next(i for i, own in enumerate(sets) if pair[0] in own) for pair in pairs]
    assert 1 < len(sets) < 25
    assert len(set(found)) == len(sets) == len(set(zip(found, place, strict=True)))
    turned = linked_items(frame([pair[::-1] for pair in pairs]), [])
    assert len(set(zip(found, turned, strict=True))) == len(sets)
