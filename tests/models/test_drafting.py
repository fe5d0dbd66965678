"""How trees are drawn: read and written exactly, and a program whose law is that of the models."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
from sympy import QQ

from draftproof import audit, models
from draftproof.benchmarks.choose_tree_battery import choose, specification
from draftproof.models.battery import drawn, toy
from draftproof.models.drafting import replayed
from draftproof.models.errors import InputError
from draftproof.models.problem import as_json, problem_from, size_of, tree_problem_from
from draftproof.models.tree_battery import drawing, ragged, tree_audit_battery, tree_battery
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import joint_law, output_law
from draftproof.proofs.laws.tree_laws import drawn_trees, tree_law
from draftproof.tests.models.schemas import PROBLEM_SCHEMA
from draftproof.tests.refusals import one_line
from draftproof.verifiers.registry import reference
from draftproof.verifiers.trees.draft_tree import EVERY_WAY, TOP, WITHOUT_REPLACEMENT, Drafting, drafting_by_parents
from draftproof.verifiers.trees.registry import TREE_REFERENCES

pytestmark = pytest.mark.exact


def with_drafting(drafting):
    return {**as_json(toy(2)), "drafting": drafting}


def test_every_tree_problem_survives_a_round_trip_and_fits_the_schema():
    battery, audited = tree_battery(), tree_audit_battery(EVERY_WAY)
    assert len({p.name for p in audited}) == len(audited)
    kept = json.loads(Path(models.__file__).with_name("tree_battery.json").read_text())
    assert json.loads(json.dumps([*map(specification, choose())])) == kept
    battery = {problem.name: problem for problem in (*battery, *audited)}.values()
    for problem in battery:
        data = json.loads(json.dumps(as_json(problem)))
        jsonschema.Draft202012Validator(PROBLEM_SCHEMA).validate(data)
        assert as_json(tree_problem_from(data)) == data


def test_a_ragged_tree_is_drawn_by_its_parents_and_an_even_one_is_no_ragged_one():
    problem = ragged(drawn(2, 2, "generic"), -1, -1, 1, 1)
    assert {tree.parents for tree in drawn_trees(in_field(problem))} == {(-1, -1, 1, 1)}
    assert (str(problem.tree), problem.tree.nodes, problem.drafts, problem.tree.paths) == ("2x0+2", 4, 16, None)
    runs_out = ragged(drawn(3, 2, "one-hot-draft"), -1, -1, 1, how=WITHOUT_REPLACEMENT)
    assert {tree.parents for tree in drawn_trees(in_field(runs_out))} == {(-1,)}
    assert size_of(runs_out)["nodes"] == 1 and size_of(problem)["children"] == ["2", "0+2"]
    assert drafting_by_parents((-1, -1, 0, 1)) == Drafting((2, 1))


def test_independent_paths_are_a_tree_that_branches_once():
    problem = tree_problem_from(with_drafting({"paths": 3}))
    assert (problem.drafting, problem.tree.paths, problem.tree.nodes) == (Drafting((3, 1)), 3, 6)
    assert drawing(toy(2), 2, 2).tree.paths is None
    assert toy(2).tree.chain


@pytest.mark.parametrize(
    ("drafting", "message"),
    [
        ({"children": [2]}, "a tree of depth 1 where gamma is 2"),
        ({"children": [2, 0]}, r"drafting.children\[1\]: expected int >= 1"),
        ({"children": [2, True]}, "expected int, got bool"),
        ({"paths": "2"}, "drafting.paths: expected int, got str"),
        ({"children": [2, 1], "how": "beam"}, "drafting.how: invalid enum value 'beam'"),
        ({"paths": 2, "how": "iid"}, "expected drafting as"),
        ([2, 1], "drafting: expected object"),
        ({}, "expected drafting as"),
        ({"children": [9, 9]}, "a tree of 90 nodes, expected at most 64"),
        ({"parents": [-1, -1, 1, 0]}, "expected each node behind its parent, level by level"),
        ({"parents": [-1, 2, 1]}, "expected each node behind its parent, level by level"),
        ({"parents": [-1, True]}, "expected int, got bool"),
        ({"parents": [-1] * 65}, "a tree of 65 nodes, expected at most 64"),
        ({"parents": [-1, -1]}, "a tree of depth 1 where gamma is 2"),
        ({"parents": [-1, 0], "children": [1, 1]}, "expected drafting as"),
    ],
)
def test_bad_drafting_is_refused_in_one_line(drafting, message):
    assert re.search(message, one_line(tree_problem_from, with_drafting(drafting)))


def test_where_a_single_path_is_expected_a_tree_is_refused():
    with pytest.raises(InputError, match="draws a tree of several drafts"):
        problem_from(with_drafting({"children": [2, 1]}))
    assert problem_from(with_drafting({"paths": 1})).tree.chain


def test_where_a_draft_block_is_expected_the_likeliest_tokens_are_refused():
    """A path of them was judged as if it was drawn from the draft's rows."""
    likeliest = tree_problem_from(with_drafting({"children": [1, 1], "how": "top"}))
    for refuses in (
        lambda: problem_from(with_drafting({"children": [1, 1], "how": "top"})),
        lambda: output_law(likeliest, reference("block")),
        lambda: audit("block", problems=[likeliest]),
    ):
        with pytest.raises(InputError, match="draws the likeliest tokens"):
            refuses()


def test_an_audit_refuses_a_problem_that_draws_a_tree():
    with pytest.raises(InputError, match="draws a tree of several drafts"):
        audit("block", problems=[drawing(toy(2), 2, 1)])


@pytest.mark.parametrize("pair", [toy(2), drawn(3, 2, "zeros")], ids=lambda p: p.name)
def test_each_path_of_an_independent_tree_follows_the_draft_model(pair):
    problem = in_field(drawing(pair, 2, 1))
    for leaf in (2, 3):
        law = {}
        for tree, p in drawn_trees(problem).items():
            law[tree.path(leaf)] = law.get(tree.path(leaf), 0) + p
        assert law == joint_law(problem.draft, 2)


def test_without_replacement_no_token_comes_twice_and_a_row_that_is_used_up_draws_no_more():
    problem = in_field(drawing(drawn(3, 2, "zeros"), 3, 2, how=WITHOUT_REPLACEMENT))
    assert sum(drawn_trees(problem).values()) == 1
    for tree in drawn_trees(problem):
        for node in range(-1, len(tree.tokens)):
            tokens = [tree.tokens[n] for n in tree.children(node)]
            assert len(set(tokens)) == len(tokens)
        for n, row in enumerate(tree.draft):
            assert sum(row) == 1 and row[tree.tokens[n]] > 0
    assert {len(tree.children(-1)) for tree in drawn_trees(problem)} == {2}


def test_the_most_likely_tokens_are_one_tree_with_ties_to_the_smaller_id():
    pair = in_field(drawing(drawn(3, 1, "equal"), 2, how=TOP))
    (tree,) = drawn_trees(pair)
    row = pair.draft.row(())
    assert list(tree.tokens) == sorted(range(3), key=lambda t: (-row[t], t))[:2]
    assert all(row[token] == QQ(1) for token, row in zip(tree.tokens, tree.draft))


@pytest.mark.parametrize("how", EVERY_WAY)
def test_a_tree_drawn_depth_first_has_the_law_of_the_same_tree_level_by_level(how):
    pair = drawn(2, 2, "generic")
    levels, depth_first = in_field(drawing(pair, 2, 1, how=how)), in_field(ragged(pair, -1, 0, -1, 2, how=how))
    assert tree_problem_from(as_json(depth_first)).tree == depth_first.tree
    assert {tree.parents for tree in drawn_trees(depth_first)} == {(-1, 0, -1, 2)}
    rules = [rule for rule in TREE_REFERENCES.values() if rule.is_for(depth_first.tree)]
    assert rules and all(tree_law(levels, rule) == tree_law(depth_first, rule) for rule in rules)
    for tree, p in drawn_trees(depth_first).items():
        assert replayed(depth_first.target, depth_first.draft, depth_first.tree, tree.tokens) == (tree, p)
