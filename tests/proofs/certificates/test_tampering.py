"""Certificates of every kind: what is changed in one, or belongs to another problem, is rejected with the reason."""

import json
from fractions import Fraction as F
from functools import cache

import pytest

from draftproof.models.battery import drawn, drawn_markov, toy
from draftproof.models.problem import as_json
from draftproof.models.tree_battery import drawing
from draftproof.proofs.certificates import (
    check,
    check_coupling,
    check_iterations,
    check_transport,
    check_tree_bound,
    make,
    make_coupling,
    make_iterations,
    make_transport,
    make_tree_bound,
)
from draftproof.proofs.certificates.check import Rejected
from draftproof.verifiers.trees.draft_tree import WITHOUT_REPLACEMENT

pytestmark = pytest.mark.certificate

TREE = drawing(toy(2), 2, 1)
MADE = {
    "acceptance": lambda: make.certificate(toy(2)),
    "coupling": lambda: make_coupling.certificate(toy(2)),
    "iterations": lambda: make_iterations.certificate(toy(2), 2),
    "transport": lambda: make_transport.certificate(drawing(toy(1), 2)),
    "tree bound": lambda: make_tree_bound.certificate(TREE),
}
CHECKERS = {
    "acceptance": check.check, "coupling": check_coupling.check, "iterations": check_iterations.check,
    "transport": check_transport.check, "tree bound": check_tree_bound.check,
}  # fmt: skip


@cache
def made(kind):
    return json.dumps(MADE[kind]())


def more(number):
    return str(F(number) + F(1, 1000))


def change(*path, to):
    """Put another value at a place, or change the value there."""

    def tamper(data):
        place = data
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to(place[path[-1]]) if callable(to) else to

    return tamper


def move(table, key, given, taken):
    """Move mass within one row, so that what is claimed stays consistent and the law does not."""

    def tamper(data):
        row = data[table][key]
        row[given], row[taken] = str(F(row[given]) + F(1, 100)), str(F(row[taken]) - F(1, 100))

    return tamper


def both_raised(data):
    """Raise everything that is claimed together."""
    data["expected_tokens"] = more(data["expected_tokens"])
    data["texts"]["2"][""]["value"] = more(data["texts"]["2"][""]["value"])


FIRST, LAST, DRAFTING = ("texts", "2", ""), ("texts", "1", "0,1"), ("problem", "drafting")
TAMPERED = {
    "acceptance": [
        (change("expected_accepted", to="12/9"), "accepts 11/9 tokens, not the 4/3 claimed"),
        (move("verifier", "0,0", "0,0,0", "1"), "not lossless"),
        (change("slack", "0,0", to=more), "its bound is"),
        (change("martingale", "0,1", to=more), "its martingale drifts"),
        (change("verifier", "0,0", "1", to=more), "does not add up"),
        (change("verifier", "0,0", to={"1": "5/9", "0,0,0": "-1/9"}), "negative probability"),
        (change("verifier", "0,0", to={"1,1": "4/9"}), "emits (1, 1) on block (0, 0)"),
        (change("problem", "target", "", to=["1/2", "1/3"]), "is not a probability row"),
        (change("problem", "draft", to={}), "does not have exactly the prefixes"),
        (change("slack", to={}), "no slack for block"),
        (change("survival", "1,1", to=0), "its verifier keeps (1, 1)"),
        (change("survival", "0,0", to=3), "is not a length"),
        (change("survival", to={}), "its survival is not given"),
        (change("problem", "gamma", to=10**9), "expected at most 200"),
        (change("format", to="other"), "not a certificate"),
        (change("problem", "law", to={"temperature": "2"}), "its problem has ['law'], which this form"),
        (change("problem", "drafting", to={"children": [2, 1], "how": "iid"}), "its problem has ['drafting'], which"),
        (change("slack", "0,0", to=0.5), "is a float"),
        (lambda data: data.pop("slack"), "its fields are"),
    ],
    "coupling": [
        (change("expected_accepted", to="3/2"), "agrees on 4/3 tokens, not on the 3/2 claimed"),
        (move("coupling", "0,0", "0,0", "1,1"), "its coupling gives the target block"),
        (change("coupling", "0,0", to={"0,0": "4/9", "1,1": "-1/9"}), "negative probability"),
        (change("coupling", "0,0", to={"0,0,0": "4/9"}), "is not a block of 2 tokens"),
        (change("coupling", to=[]), "coupling is not a table"),
        (change("draft_potential", "0,0", to="-1"), "its bound fails on the draft block (0, 0)"),
        (change("target_potential", "1,1", to="3"), "its bound is"),
        (change("target_potential", to={}), "its potentials are not given"),
        (change("problem", "law", to={}), "its problem has ['law'], which"),
    ],
    "iterations": [
        (change("expected_tokens", to=more), "its texts show 40/9 tokens"),
        (both_raised, "its reaches are worth 40/9"),
        (change(*LAST, "value", to=more), "its reaches are worth"),
        (change(*LAST, "reach", "1", to=more), "no valid verifier keeps (1,)"),
        (change(*FIRST, "reach", "0,1", to="-1/9"), "no valid verifier keeps (0, 1)"),
        (change(*FIRST, "drafted", "1", to="0"), "the prices of (1,) do not cover"),
        (change(*FIRST, "drafted", "1", to="-1"), "a price of (1,) is negative"),
        (change(*FIRST, "parent", "0", to=more), "its bound is"),
        (change(*FIRST, "reach", to={}), "numbers for other prefixes"),
        (change("texts", "1", to={}), "not exactly those that 1 of its iterations may emit"),
        (change("texts", to={}), "not given for exactly the iterations to come"),
        (change("iterations", to=0), "not a whole number"),
        (change("problem", "gamma", to=10**9), "too many texts"),
        (change("problem", to=[]), "its problem's vocabulary and gamma are not"),
        (change("problem", "drafting", to={}), "its problem has ['drafting'], which"),
    ],
    "transport": [
        (change("first_accepted", to="1"), "accepts with 8/9, not with the 1 claimed"),
        (change("dual_set", to=[]), "its bound is 1, not the 8/9 claimed"),
        (change("dual_set", to=[7]), "not a list of tokens"),
        (change("plan", "0,1", "1", to="5/9"), "more from the drafts [0, 1] than their probability"),
        (change("plan", "0", "0", to="4/9"), "gives token 0 the probability 4/9"),
        (change("plan", "1", "1", to="-1/9"), "moves -1/9"),
        (change("plan", to=[]), "plan is not a table"),
        (change("problem", to={}), "not a pair of tables"),
        (change("problem", "law", to={}), "its problem has ['law'], which"),
    ],
    "tree bound": [
        (change("bound", to="4/3"), "its bound is 131/81, not the 4/3 claimed"),
        (change("reached", to="4/3"), "its rule accepts 131/81 tokens, not the 4/3 claimed"),
        (change("rule", to=lambda rule: dict([*rule.items()][1:])), "not given for exactly the trees"),
        (change("rule", "0 0,0", to={"1": "1/2"}), "accepts what was not drafted"),
        (change("rule", "0 0,0", to={"0": "-1/2"}), "accepts what was not drafted, or not with"),
        (change("rule", "0 0,0", to={"0,0": "1"}), "more often than the target allows"),
        (change("rule", "0,0 0", to={}), "the texts of a tree twice"),
        (change("format", to="draftproof-tree/1"), "not a certificate of the form draftproof-tree/2"),
        (change("potential", to={}), "not given for exactly the texts"),
        (change(*DRAFTING, to={"children": [99, 1], "how": "iid"}), "too many"),
        (change(*DRAFTING, to={"parents": [-1, 1], "how": "iid"}), "how trees"),
        (change(*DRAFTING, "parents", to=[-1, -1, 0, 1]), "drafting has ['children', 'how', 'parents'], expected"),
        (change("problem", "about", to={}), "its problem has ['about'], which"),
    ],
}


@pytest.mark.parametrize(
    ("kind", "tamper", "reason"), [(kind, *row) for kind, rows in TAMPERED.items() for row in rows]
)
def test_a_tampered_certificate_is_rejected_with_the_reason(kind, tamper, reason):
    data = json.loads(made(kind))
    tamper(data)
    with pytest.raises(Rejected) as caught:
        CHECKERS[kind](json.dumps(data))
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "own", "other"),
    [
        ("acceptance", as_json(toy(2).tabulated()), as_json(drawn(2, 2, "generic").tabulated())),
        ("coupling", as_json(toy(2).tabulated()), as_json(drawn(2, 2, "generic").tabulated())),
        ("transport", as_json(drawing(toy(1), 2).tabulated()), as_json(drawing(toy(1), 3).tabulated())),
        ("tree bound", as_json(TREE.tabulated()), as_json(drawing(toy(2), 2, 1, how=WITHOUT_REPLACEMENT).tabulated())),
        ("iterations", make_iterations.tables(toy(2), 2), make_iterations.tables(drawn_markov(2, 2), 2)),
    ],
)
def test_a_certificate_of_another_problem_is_rejected(kind, own, other):
    CHECKERS[kind](made(kind), own)
    with pytest.raises(Rejected, match="another problem"):
        CHECKERS[kind](made(kind), other)


def test_a_list_is_no_certificate():
    with pytest.raises(Rejected, match="not a certificate"):
        check.check(f"[{made('acceptance')}]")
