"""Laws that a problem declares: rows as stated, refused in one line, and each judged against the right one."""

import json
from fractions import Fraction as F

import jsonschema
import pytest

from draftproof.models.declared import DeclaredLaw
from draftproof.models.errors import InputError
from draftproof.models.problem import as_json, problem_from, tree_problem_from
from draftproof.proofs import claims
from draftproof.proofs.field import QQ, in_field
from draftproof.proofs.laws.reference_laws import joint_law, output_law
from draftproof.reports.audits.api import law
from draftproof.tests.models.schemas import PROBLEM_SCHEMA
from draftproof.verifiers.registry import reference
from draftproof.verifiers.trees.registry import tree_reference

pytestmark = pytest.mark.exact
ROWS = {"vocabulary": 3, "gamma": 2, "target": ["1/2", "3/10", "1/5"], "draft": ["1/5", "1/5", "3/5"]}
AFTER_1 = {"allowed": {"1": [0], "0,1": [0], "2": [2]}}
SCHEMA = jsonschema.Draft202012Validator(PROBLEM_SCHEMA)


def asking(**law):
    return tree_problem_from({**ROWS, "law": law})


@pytest.mark.parametrize(
    ("law", "row"),
    [
        ({"temperature": "1/2"}, ["25/38", "9/38", "2/19"]),
        ({"top_k": 2}, ["5/8", "3/8", "0"]),
        ({"top_p": "1/2"}, ["1", "0", "0"]),
        ({"top_p": "0.51"}, ["5/8", "3/8", "0"]),
        ({"mixture": "1/4"}, ["11/40", "9/40", "1/2"]),
        ({"temperature": "1/2", "top_k": 2}, ["25/34", "9/34", "0"]),
        ({"cascade": {"defer": "chow", "alpha": "1/2"}}, ["1/5", "1/5", "3/5"]),
        ({"cascade": {"defer": "chow", "alpha": "3/10"}}, ["1/2", "3/10", "1/5"]),
        ({"cascade": {"defer": "difference", "alpha": "0"}}, ["1/5", "1/5", "3/5"]),
        ({"cascade": {"defer": "optimal", "alpha": "-1"}}, ["1/2", "3/10", "1/5"]),
        ({"grammar": {"allowed": {"": [1, 2]}, "law": "projected"}}, ["0", "3/5", "2/5"]),
    ],
    ids=str,
)
def test_the_first_row_is_as_stated_in_fractions_and_in_the_field(law, row):
    problem = asking(**law)
    assert list(problem.asked.row(())) == [F(p) for p in row]
    assert list(in_field(problem).asked.row(())) == [QQ(F(p).numerator, F(p).denominator) for p in row]


def test_after_a_whole_block_there_is_no_row_of_the_draft():
    problem = asking(mixture="1/4")
    assert problem.asked.row((0,)) == problem.asked.row(()) != problem.asked.row((0, 1)) == problem.target.row(())


def test_the_two_laws_of_a_grammar_differ_and_the_conditional_one_is_that_of_texts_that_are_allowed():
    laws = {kind: joint_law(in_field(asking(grammar={**AFTER_1, "law": kind})).asked, 3) for kind in
            ("projected", "conditional")}  # fmt: skip
    whole = joint_law(in_field(asking(top_k=3)).target, 3)
    allowed = {(): (0, 1, 2), (1,): (0,), (0, 1): (0,), (2,): (2,)}
    stays = {x: p for x, p in whole.items() if all(x[i] in allowed.get(x[:i], (0, 1, 2)) for i in range(3))}
    assert laws["conditional"] == {x: p / sum(stays.values()) for x, p in stays.items()}
    assert laws["projected"].keys() == laws["conditional"].keys() and laws["projected"] != laws["conditional"]


def test_it_survives_a_round_trip_and_fits_the_schema():
    for declared in ({"mixture": "1/4"}, {"temperature": "1/3", "top_k": 2, "grammar": {**AFTER_1, "law": "projected"}},
                     {"top_p": "9/10", "cascade": {"defer": "optimal", "alpha": "1/5"}}):  # fmt: skip
        problem = asking(**declared)
        data = json.loads(json.dumps(as_json(problem)))
        SCHEMA.validate(data)
        assert data["law"] == declared and as_json(tree_problem_from(data)) == data
        assert problem.law.says


@pytest.mark.parametrize(
    ("law", "says"),
    [
        ({}, "at least one of temperature"),
        ({"temperature": "2/3"}, "expected 1 / n"),
        ({"mixture": "3/2"}, r"in \[0, 1\]"),
        ({"mixture": "1/2", "cascade": {"defer": "chow", "alpha": "0"}}, "got both"),
        ({"top_k": 0}, "top_k"),
        ({"grammar": {"allowed": {"": [3]}, "law": "projected"}}, "tokens of 0..2"),
        ({"grammar": {"allowed": {"x": [0]}, "law": "projected"}}, "not a prefix"),
        ({"cascade": {"defer": "never", "alpha": "0"}}, "invalid enum value"),
    ],
    ids=str,
)
def test_what_means_no_law_is_refused(law, says):
    with pytest.raises(InputError, match=says):
        asking(**law)


def test_where_nothing_may_follow_the_text_is_named():
    dead = tree_problem_from({**ROWS, "target": ["1", "0", "0"],
                              "law": {"grammar": {"allowed": {"0": [1]}, "law": "projected"}}})  # fmt: skip
    with pytest.raises(InputError, match='no token may follow "0"'):
        dead.asked.row((0,))


def test_rules_are_judged_against_the_law_declared():
    """The ensemble keeps its mixture and no other; token verification the target's law, which is not the mixture."""
    for share, right in (("1/2", True), ("2/3", False), ("1", False)):
        exact = in_field(asking(mixture=share))
        assert claims.lossless(exact, output_law(exact, tree_reference("ensemble"))).holds is right
        assert claims.lossless(exact, output_law(exact, reference("token"))).holds is (share == "1")
    judged = law("ensemble", json.dumps({**ROWS, "law": {"mixture": "1/2"}}))
    assert (judged["lossless"], judged["law"]) == (True, "mixture with the target's share 1/2")


def test_what_knows_the_target_alone_refuses_a_declared_law():
    text = {**ROWS, "law": {"top_k": 2}}
    with pytest.raises(InputError, match='declares a "law"'):
        problem_from(text)
    with pytest.raises(InputError, match="one iteration"):
        law("block", json.dumps(text), iterations=2)
    with pytest.raises(InputError, match="plain loop"):
        law("greedy-block", json.dumps(text))


def test_the_rows_of_a_twin_keep_the_law():
    problem = asking(mixture="1/2")
    assert problem.tabulated().law == problem.law and in_field(problem).law == problem.law
    assert problem.as_asked.law is None and problem.as_asked.target.row(()) == problem.asked.row(())
    assert DeclaredLaw(mixture="1/2") == problem.law
