"""A certificate of what the best valid rule accepts of a draft tree, over all depths: two bounds on it, both proved.

A rule says how often the text x is accepted of a tree that has the texts T: A(T, x) >= 0 with sum_x A(T, x) = Pr(T).
Let D(x) be the probability that the accepted text begins with x. Last tokens that make the rule valid exist if and only
if

    D(xy) <= M_b(y | x) D(x)     for every text x and token y,

and what is maximised is E[tau] = sum of D(x) over all x but the context. HiGHS solves that linear program; its A is
rounded and mended until the conditions hold exactly, so some valid rule accepts as much. Its multipliers of the
conditions give a potential y for every text of gamma + 1 tokens, and for every potential

    E[tau] <= sum_T Pr(T) max over o of (|o| - 1 - Y(o)) + sum_x M_b(x) y(x),   Y(o) = sum of M_b(x | o) y(x),

the maximum over the outputs o, a text of T or none and one token more. Both hold whatever HiGHS did.
"""

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import floor
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from ...models.drafting import drafting_json
from ...models.errors import InputError
from ...models.law import Prefix, prefix_key
from ...models.problem import Problem, as_json
from ...models.rationals import as_float
from ...verifiers.trees.draft_tree import TOP
from ..field import in_field, rational
from ..laws.reference_laws import acceptance_ccdf
from .check import ProblemPair
from .check_tree_bound import (
    MOST_TREES,
    TREE_BOUND_FORMAT,
    Rule,
    Texts,
    accepted_by,
    begins_with,
    bound_of,
    pair_and_drafting,
    texts_of_trees,
)
from .make_transport import transport_bound

DENOMINATORS = (12, 60, 1000, 10**6, 10**12)
"""Denominators to which multipliers and rules are rounded: the first as good as HiGHS to 1e-9, or else the best."""

FINE = 10**15
"""The largest denominator of a share that is kept in mending: those of D grow with the number of trees."""

TOLERANCES = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Solved(NamedTuple):
    """A solution of the linear program, in floats.

    optimum: the largest E[tau].
    multipliers: of the condition on each text of 1..gamma tokens.
    accepted: texts of a tree -> text -> the probability with which it is accepted of such a tree.
    """

    optimum: float
    multipliers: dict[Prefix, float]
    accepted: dict[Texts, dict[Prefix, float]]


def solved_by_highs(problem: Problem, trees: Mapping[Texts, Fraction]) -> Solved:
    """Return the rule that accepts most of all valid ones on a problem over QQ, by HiGHS.

    trees: law of the texts of a tree.
    Raises: InputError if the solver finds no optimum (a valid rule always exists).
    """
    row_of_text = {
        text: k for k, text in enumerate(x for n in range(1, problem.gamma + 1) for x in problem.prefixes(n))
    }
    variables = [(tree, text) for tree in trees for text in sorted(tree)]
    row_of_tree = {tree: k for k, tree in enumerate(trees, start=len(row_of_text))}
    entries, columns = [], range(len(variables))
    for k, (tree, text) in zip(columns, variables):
        entries.append((1.0, row_of_tree[tree], k))
        for n in range(1, len(text) + 1):
            entries.append((1.0, row_of_text[text[:n]], k))
        for n in range(1, min(len(text), problem.gamma - 1) + 1):
            row = problem.target.row(text[:n])
            entries += [
                (-as_float(row[y]), row_of_text[(*text[:n], y)], k) for y in range(problem.vocabulary) if row[y]
            ]
    values, rows, places = zip(*entries)
    first = problem.target.row(())
    right = [as_float(first[x[0]]) if len(x) == 1 else 0.0 for x in row_of_text] + [*map(as_float, trees.values())]
    matrix = coo_matrix((values, (rows, places)), shape=(len(right), len(variables))).tocsr()
    for presolve in (True, False):  # with masses near its tolerance HiGHS takes some problems for infeasible
        solved = linprog(
            np.array([-float(len(text)) for _, text in variables]), A_ub=matrix, b_ub=np.array(right), bounds=(0, None),
            method="highs", options={"presolve": presolve, **TOLERANCES},
        )  # fmt: skip
        if solved.status == 0:
            break
    else:
        raise InputError(f"{problem.name}: no bound on E[tau]; HiGHS: {solved.message}")
    accepted: dict[Texts, dict[Prefix, float]] = {tree: {} for tree in trees}
    for (tree, text), mass in zip(variables, solved.x):
        accepted[tree][text] = float(mass) / as_float(trees[tree])
    return Solved(
        -float(solved.fun), {x: -float(solved.ineqlin.marginals[k]) for x, k in row_of_text.items()}, accepted
    )


def potential_of(pair: ProblemPair, multipliers: Mapping[Prefix, Fraction]) -> dict[Prefix, Fraction]:
    """Return the potential of multipliers: y(x) = sum of l(z) - sum_t M_b(t | z) l(zt) over z = x^0, .., x^gamma."""
    of_text: dict[Prefix, Fraction] = {}
    for length in range(pair.gamma + 1):
        for text in product(range(pair.vocabulary), repeat=length):
            below = ((p, multipliers.get((*text, t), Fraction(0))) for t, p in enumerate(pair.target[text]))
            own = multipliers.get(text, Fraction(0)) - sum((p * m for p, m in below), Fraction(0))
            of_text[text] = own + (of_text[text[:-1]] if text else 0)
    return {text: of_text[text[:-1]] for text in product(range(pair.vocabulary), repeat=pair.gamma + 1)}


def mended(pair: ProblemPair, trees: dict[Texts, Fraction], rule: Rule) -> Rule:
    """Return a valid rule near one that may not be: where D(xy) is too large, what is accepted from xy on is accepted
    as x.

    From the first tokens on: what is done for xy changes D of no text but those that begin with xy, all by one factor.
    """
    reached = {tree: _within(accepted) for tree, accepted in rule.items()}
    for length in range(1, pair.gamma + 1):
        mass = begins_with(trees, reached, length)
        before = begins_with(trees, reached, length - 1)
        for text, share in mass.items():
            allowed = pair.target[text[:-1]][text[-1]] * before[text[:-1]]
            if share > allowed:
                kept = allowed / share
                kept = Fraction(floor(kept * FINE), FINE) if kept.denominator > FINE else kept
                for accepted in reached.values():
                    for x in [x for x in accepted if x[:length] == text]:
                        moved = accepted[x] * (1 - kept)
                        accepted[x] -= moved
                        accepted[text[:-1]] = accepted.get(text[:-1], Fraction(0)) + moved
    return {tree: {x: p for x, p in accepted.items() if x and p} for tree, accepted in reached.items()}


def _within(accepted: Mapping[Prefix, Fraction]) -> dict[Prefix, Fraction]:
    """Return probabilities of the accepted texts, the context's included: none negative, 1 in all."""
    positive = {x: max(p, Fraction(0)) for x, p in accepted.items()}
    total = max(sum(positive.values(), Fraction(0)), Fraction(1))
    shares = {x: p / total for x, p in positive.items()}
    return shares | {(): 1 - sum(shares.values(), Fraction(0))}


def certificate(problem: Problem) -> dict[str, Any]:
    """Return the certificate of a problem in its JSON form; rationals as strings.

    Guarantee: no valid rule has a larger E[tau] than ``bound``, and the one in the file has ``reached``. That the two
    are close rests on the solver.
    Raises: InputError for a problem of more than 65,536 draft trees, and where HiGHS finds no optimum.
    Source: linear programming duality; for single paths it is Theorem 2's (``make``).
    """
    if problem.tree.how != TOP and problem.vocabulary**problem.tree.nodes > MOST_TREES:
        many = f"{problem.name}: {problem.vocabulary}^{problem.tree.nodes} draft trees"
        raise InputError(f"{many} are too many for a certificate, expected at most {MOST_TREES:,}")
    data = {**as_json(problem.tabulated()), "drafting": drafting_json(problem.tree)}
    pair, drafting = pair_and_drafting(data)
    trees = texts_of_trees(pair, drafting)
    solved = solved_by_highs(in_field(problem), trees)
    bounds: list[tuple[Fraction, dict[Prefix, Fraction]]] = []
    rules: list[tuple[Fraction, Rule]] = []
    for most in DENOMINATORS:
        if not bounds or float(bounds[-1][0]) > solved.optimum + 1e-9:
            rounded = {x: max(Fraction(y).limit_denominator(most), Fraction(0)) for x, y in solved.multipliers.items()}
            potential = potential_of(pair, rounded)
            bounds.append((bound_of(pair, trees, potential), potential))
        if not rules or float(rules[-1][0]) < solved.optimum - 1e-9:
            given = {
                tree: {x: Fraction(p).limit_denominator(most) for x, p in solved.accepted[tree].items()}
                for tree in trees
            }
            rule = mended(pair, trees, given)
            rules.append((accepted_by(pair, trees, rule), rule))
    bound, potential = min(bounds, key=lambda attempt: attempt[0])
    reached, rule = max(rules, key=lambda attempt: attempt[0])
    return {
        "format": TREE_BOUND_FORMAT,
        "problem": data,
        "bound": str(bound),
        "reached": str(reached),
        "potential": {prefix_key(text): str(y) for text, y in potential.items()},
        "rule": {
            " ".join(map(prefix_key, sorted(tree))): {prefix_key(x): str(p) for x, p in accepted.items()}
            for tree, accepted in rule.items()
        },
    }


CERTIFIED_TO = 1e-6
"""Largest distance of the two proved bounds on E[tau] at which what lies between counts as optimal."""

NOT_CERTIFIED = (
    "bound not certified: the largest E[tau] of all valid rules lies between {:.9g} and {:.9g}, and so does this"
)


def largest_acceptance(problem: Problem) -> tuple[Any, Any]:
    """Return two bounds on the largest E[tau] of all valid rules (``certificates.make_tree_bound``).

    Guarantee: a valid rule accepts the first, none accepts more than the second. Both are proved; that they are close
    is not.
    Raises: InputError for too many draft trees.
    """
    made = certificate(problem)
    return rational(Fraction(made["reached"])), rational(Fraction(made["bound"]))


def most_of_first_step(problem: Problem, outputs: Mapping[Prefix, Any]) -> dict[str, float]:
    """Return Pr(tau >= 1), and the largest that it can be for any valid rule (``certificates.make_transport``)."""
    accepted = acceptance_ccdf(outputs, problem.gamma)[1] if outputs else 0
    return {"first_accepted": as_float(accepted), "transport_bound": as_float(transport_bound(problem))}
