"""A declaration of groups is read completely, or refused with its faults."""

import pytest

from fairstats._lib.installation import resource
from fairstats._lib.problems import InputError
from fairstats.vignettes.rules.substitute import load_groups

RACE = """
[attributes.race]
label = "Race"
reference = "b"
groups = { a = "Asian", b = "Black" }
"""
SEX = """
[attributes.sex]
label = "Sex"
reference = "m"
groups = { f = "female", m = "male" }
"""
BOTH = '[attributes.both]\nlabel = "Both"\ncrosses = ["race", "sex"]\n'


@pytest.fixture
def load(tmp_path):
    def write(text):
        path = tmp_path / "groups.toml"
        path.write_text(text, encoding="utf-8")
        return load_groups(path)

    return write


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("attributes = 3", "attributes: has the wrong type; write a table of tables"),
        ("[attributes]\nrace = 3", "attributes.race: has the wrong type; write a table"),
        ("[attributes]", "attributes: has no attribute"),
        ("not toml", "is not valid TOML"),
        (RACE.replace('label = "Race"', ""), "attributes.race.label"),
        (RACE.replace('"b"\n', '"c"\n'), "attributes.race.reference"),
        (RACE.replace('reference = "b"', ""), "attributes.race.reference"),
        (RACE.replace(', b = "Black"', ""), "attributes.race.groups: must have two or more groups"),
        (RACE.replace('"Black"', '"asian"'), "has the same word twice"),
        (RACE.replace('"Black"', '"Bl\\nack"'), "attributes.race.groups.b"),
        (RACE.replace('"Black"', '""'), "attributes.race.groups.b"),
        (RACE.replace('"Black"', "3"), "attributes.race.groups.b"),
        (RACE + 'weight = "x"', "attributes.race.weight: unknown key; known keys: "),
        (
            RACE + 'referense = "x"',
            "attributes.race.referense: unknown key; did you mean reference",
        ),
        ("atributes = 1\n" + RACE, "atributes: unknown key; did you mean attributes?"),
        (RACE + "minimum_age = -1", "attributes.race.minimum_age"),
        (RACE + "minimum_age = nan", "attributes.race.minimum_age"),
        (RACE + 'sex_specific = "yes"', "attributes.race.sex_specific"),
        (RACE.replace(" a =", " neutralized ="), "is already the name of another"),
        (RACE + SEX.replace("m ", "a ").replace('"m"', '"a"'), "is already the name of another"),
        (RACE.replace("race", "baseline"), "is a reserved name"),
        (BOTH + RACE + SEX, "attributes.both.crosses"),
        (RACE + SEX + BOTH.replace('"sex"', '"race"'), "attributes.both.crosses"),
        (RACE + SEX + BOTH.replace('["race", "sex"]', "[[1], 2]"), "attributes.both.crosses"),
        (RACE + SEX + BOTH + 'reference = "b_m"', "must not declare groups"),
    ],
)
def test_a_fault_is_named(load, text, said):
    with pytest.raises(InputError, match=said):
        load(text)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        load_groups(tmp_path / "none.toml")


def test_reference_is_compared_with_every_other_group(load):
    groups = load(RACE + SEX + BOTH)
    assert [attribute.pairs for attribute in groups.attributes] == [
        (("b", "a"),),
        (("m", "f"),),
        (("b_m", "b_f"), ("b_m", "a_m"), ("b_m", "a_f")),
    ]
    assert groups.words["a_f"] == "Asian female"
    assert dict(groups.attributes[2].levels)["a_f"] == ("a", "f")
    assert groups.attributes[2].groups["a_f"] == "Asian female"
    assert groups.attributes[1].groups["f"] == "Female"
    assert (groups.sex_specific, groups.minimum_age) == (False, 0)


def test_the_shipped_groups_are_four_three_and_twelve():
    groups = load_groups(resource("data", "substitutions", "cpv.toml"))
    sizes = {attribute.name: len(attribute.groups) for attribute in groups.attributes}
    assert sizes == {"race": 4, "gender": 3, "race_gender": 12}
    assert [len(attribute.pairs) for attribute in groups.attributes] == [3, 2, 11]
    assert {pair[0] for pair in groups.attributes[2].pairs} == {"white_male"}
    assert len(set(groups.words.values())) == 19
    assert groups.sex_specific
