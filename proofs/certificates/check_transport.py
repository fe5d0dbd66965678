"""The checker of transport certificates. It needs nothing but the file, and shares no code with what makes them."""

from fractions import Fraction

from .check import ProblemPair, Rejected, fields, given, prefix_of, rational_of, shown, table_of
from .check_tree_bound import DraftedBy, pair_and_any_drafting, texts_of_trees

TRANSPORT_FORMAT = "draftproof-transport/1"
FIELDS = {"format", "problem", "first_accepted", "plan", "dual_set"}
MOST_DRAWS = 65_536
"""Largest number of ways to draw the first tokens: each is looked at."""


def check(text: str, problem: dict | None = None) -> Fraction:
    """Return the value that a certificate proves: the largest probability that a valid rule accepts a draft of the
    first step.

    problem: if given, the certificate must be one of this problem (in the JSON form of a table, with its drafting).
    Raises: Rejected, with the first thing that is wrong.
    """
    data = fields(text, TRANSPORT_FORMAT, FIELDS)
    pair, drafting = given(data, problem, pair_and_any_drafting)
    claimed = rational_of(data["first_accepted"], "first_accepted")
    if not isinstance(data["plan"], dict):
        raise Rejected("plan is not a table")
    plan = {frozenset(prefix_of(key, "plan")): table_of(row, f"plan[{key}]") for key, row in data["plan"].items()}
    law = _law_of_drafts(pair, drafting)
    reached = _value_of_plan(pair.target[()], law, plan)
    if reached != claimed:
        raise Rejected(f"its plan accepts with {shown(reached)}, not with the {shown(claimed)} claimed")
    bound = _value_of_dual(pair.target[()], law, data["dual_set"])
    if bound != claimed:
        raise Rejected(f"its bound is {shown(bound)}, not the {shown(claimed)} claimed")
    return claimed


def _law_of_drafts(pair: ProblemPair, drafting: DraftedBy) -> dict[frozenset[int], Fraction]:
    """Return Pr(the drafts of the first step are this set of tokens)."""
    count = len(drafting.shape)
    if pair.vocabulary**count > MOST_DRAWS:
        raise Rejected(f"{count} drafts are too many to look at every way to draw them")
    drawn = texts_of_trees(pair, DraftedBy(((),) * count, drafting.how))
    return {frozenset(token for (token,) in texts): mass for texts, mass in drawn.items()}


def _value_of_plan(target: list[Fraction], law: dict, plan: dict) -> Fraction:
    """Return how often the plan accepts a draft, after seeing that a valid rule can accept so."""
    received = [Fraction(0)] * len(target)
    for drafts, row in plan.items():
        if sum(row.values(), Fraction(0)) > law.get(drafts, 0):
            raise Rejected(f"its plan moves more from the drafts {sorted(drafts)} than their probability")
        for path, mass in row.items():
            if len(path) != 1 or path[0] not in drafts or not 0 <= path[0] < len(target) or mass < 0:
                raise Rejected(f"its plan moves {shown(mass)} from the drafts {sorted(drafts)} to {path}")
            received[path[0]] += mass
    for token, mass in enumerate(received):
        if mass > target[token]:
            raise Rejected(f"its plan gives token {token} the probability {shown(mass)}, more than the target's")
    return sum(received, Fraction(0))


def _value_of_dual(target: list[Fraction], law: dict, tokens: object) -> Fraction:
    """Return M_b(H) + 1 - Pr(all drafts lie in H)."""
    if not isinstance(tokens, list) or not all(type(t) is int and 0 <= t < len(target) for t in tokens):
        raise Rejected("its dual set is not a list of tokens")
    inside = set(tokens)
    return sum((target[t] for t in inside), Fraction(1)) - sum(p for drafts, p in law.items() if drafts <= inside)
