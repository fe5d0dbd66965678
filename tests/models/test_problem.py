"""Problems: read exactly, refused in one clear line, written back unchanged."""

import json
import re
from fractions import Fraction as F

import jsonschema
import pytest
from msgspec.structs import fields

from draftproof.models.battery import audit_battery, drawn, exact_battery, toy
from draftproof.models.declared import CascadeForm, DeclaredLaw, GrammarForm
from draftproof.models.drafting import DraftingForm
from draftproof.models.errors import InputError
from draftproof.models.problem import MarkovForm, ProblemForm, as_json, load_problem, problem_from
from draftproof.models.wide import KINDS, WideForm, WideSpecification
from draftproof.tests.models.schemas import PROBLEM_SCHEMA
from draftproof.tests.refusals import one_line
from draftproof.verifiers.trees.draft_tree import EVERY_WAY

pytestmark = pytest.mark.exact

GOOD = {
    "vocabulary": 2,
    "gamma": 1,
    "target": {"": ["1/3", "2/3"], "0": ["1/2", "0.5"], "1": ["1e-7", "0.9999999"]},
    "draft": {"": ["2/3", "1/3"]},
}


def changed(**fields):
    return {**GOOD, **fields}


def test_rationals_decimals_and_exponents_are_read_exactly():
    problem = problem_from(GOOD)
    assert problem.target.row((1,)) == (F(1, 10**7), 1 - F(1, 10**7))
    assert problem.target.row((0,)) == (F(1, 2), F(1, 2))


def test_a_decimal_without_quotes_is_read_as_the_decimal_it_is():
    text = '{"vocabulary": 2, "gamma": 1, "target": [0.1, 0.9], "draft": [1, 0]}'
    assert load_problem(text).target.row(()) == (F(1, 10), F(9, 10))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (changed(draft={"": ["0.66", "0.33"]}), r'draft\[""\]: the row sums to 99/100 \(= 0.99\), expected exactly 1'),
        (changed(draft=["0", "0"]), "draft: the row sums to 0"),
        (changed(draft=["-1/3", "4/3"]), "draft: token 0 has the negative probability -1/3"),
        (changed(draft=["1/3", "1/3", "1/3"]), "draft: expected 2 probabilities, got 3"),
        (changed(target={"": ["1", "0"], "0": ["1", "0"]}), 'target: no row for the prefix "1"'),
        (changed(target={"": ["1", "0"], "0": ["1", "0"], "2": ["1", "0"]}), 'prefix "2" has a token outside 0..1'),
        (changed(target={"x": ["1", "0"]}), '"x" is not a prefix'),
        (changed(draft=["half", "1/2"]), "'half' is not a probability"),
        (changed(draft=[0.5, 0.5]), "is a float"),
        (changed(draft=["1/0", "1/2"]), "'1/0' is not a probability"),
        (changed(draft=["1e-999999999", "1"]), "is not a probability"),
        (changed(draft="1/2"), r"draft: expected object \| array, got str"),
        (changed(gamma=0), "gamma: expected int >= 1"),
        (changed(vocabulary=True), "vocabulary: expected int, got bool"),
        (changed(extra=1), "unknown field 'extra'"),
        ({"vocabulary": 2, "gamma": 1, "target": ["1", "0"]}, "the field 'draft' is missing"),
        (
            changed(target={"start": ["1", "0"], "after": {"0": ["1", "0"]}}),
            "target.after: '1' has no row or is no token",
        ),
        (changed(target={"start": ["1", "0"]}), "target: the field 'after' is missing"),
        ([], "problem: expected object, got array"),
    ],
)
def test_bad_problems_are_refused_in_one_line_that_names_the_place(data, message):
    assert re.search(message, one_line(problem_from, data))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ('{"vocabulary": NaN}', "NaN is not a probability"),
        ('{"vocabulary": 2, "gamma": 1, "target": {"": [1, 0], "": [0, 1]}}', 'the key "" is given twice'),
    ],
)
def test_bad_json_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        load_problem(text)


def test_a_missing_file_and_a_missing_row_are_named():
    with pytest.raises(InputError, match=r"nowhere.json: cannot be read"):
        load_problem("nowhere.json")
    with pytest.raises(InputError, match='target: no row for the prefix "0,1"'):
        problem_from(GOOD).target.row((0, 1))


def test_every_battery_problem_survives_a_round_trip_and_fits_the_schema():
    validator = jsonschema.Draft202012Validator(PROBLEM_SCHEMA)
    for problem in [*audit_battery(), toy(3)]:
        data = json.loads(json.dumps(as_json(problem)))
        validator.validate(data)
        assert as_json(problem_from(data)) == data


@pytest.mark.parametrize(
    "bad", [changed(gamma=0), changed(draft=["x", "1"]), changed(extra=1), changed(draft={"a": []})]
)
def test_the_schema_refuses_what_the_reader_refuses(bad):
    assert not jsonschema.Draft202012Validator(PROBLEM_SCHEMA).is_valid(bad)


def test_the_schema_has_the_fields_and_the_words_of_the_types():
    shown, markov = PROBLEM_SCHEMA["properties"], PROBLEM_SCHEMA["$defs"]["model"]["oneOf"][1]
    draftings = [one["properties"] for one in shown["drafting"]["oneOf"]]
    law = shown["law"]["properties"]
    for kinds, given in (
        ((ProblemForm, WideForm), shown), ((WideSpecification,), shown["wide"]["properties"]),
        ((DraftingForm,), {name for one in draftings for name in one}), ((MarkovForm,), markov["properties"]),
        ((DeclaredLaw,), law), ((CascadeForm,), law["cascade"]["properties"]),
        ((GrammarForm,), law["grammar"]["properties"]),
    ):  # fmt: skip
        assert {field.name for kind in kinds for field in fields(kind)} == set(given)
    for kind, given in ((MarkovForm, markov), (WideSpecification, shown["wide"])):
        assert {field.name for field in fields(kind) if field.required} == set(given["required"])
    assert tuple(shown["wide"]["properties"]["kind"]["enum"]) == KINDS
    assert tuple(draftings[0]["how"]["enum"]) == EVERY_WAY


def test_the_battery_has_what_bugs_hide_behind():
    names = [p.name for p in audit_battery()]
    assert len(set(names)) == len(names)
    problem = drawn(3, 2, "generic")
    rows = [problem.target.row(x) for n in range(3) for x in problem.prefixes(n)]
    assert len(set(rows)) == len(rows), "every context has its own row"
    exact = list(exact_battery())
    assert {p.vocabulary for p in exact} == {2, 3, 4, 5}
    assert {p.gamma for p in exact} == {1, 2, 3, 4, 5, 6}
