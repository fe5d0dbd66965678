"""A certificate of what any valid rule can accept of a draft tree, over all its depths.

All valid rules are the solutions of a linear program: K(T, o) >= 0, the joint probability of the set T of texts that the tree
has and the emitted tokens o (a text of T, or none, and one token more), with sum_o K(T, o) = Pr(T), and Eq. (7) for every text
of gamma + 1 tokens; what is maximised is E[tau] = sum (|o| - 1) K. The dual has a potential y for every such text:

    E[tau] <= sum_T Pr(T) max over o of (|o| - 1 - Y(o)) + sum_x M_b(x) y(x),   Y(o) = sum of M_b(x | o) y(x),

for every y. HiGHS finds one, it is rounded to rationals, and the bound is computed exactly: so it holds whatever HiGHS did.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from ...models.drafting import drafting_json
from ...models.errors import InputError
from ...models.law import Prefix, prefix_key
from ...models.problem import Problem, as_json
from ...models.rationals import as_float
from ..field import in_field
from ..laws import completed, joint_law
from ..tree_laws import drawn_trees
from .check_tree_bound import MOST_TREES, TREE_BOUND_FORMAT, bound_of, pair_and_drafting

DENOMINATORS = (12, 60, 1000, 10**6, 10**9)
"""A potential is rounded to these, the first that is as good as HiGHS to 1e-9 or else the best."""

Texts = frozenset[Prefix]


def sets_of_texts(problem: Problem) -> dict[Texts, Any]:
    """The law of the set of texts that the draft tree has, the context among them."""
    law: dict[Texts, Any] = {}
    for tree, mass in drawn_trees(problem).items():
        texts = frozenset(tree.path(n) for n in range(-1, len(tree.tokens)))
        law[texts] = law.get(texts, 0) + mass
    return law


def _outputs(texts: Texts, vocabulary: int) -> Iterator[Prefix]:
    return ((*text, token) for text in sorted(texts) for token in range(vocabulary))


def largest_tree_acceptance(problem: Problem) -> tuple[float, dict[Prefix, float]]:
    """The largest E[tau] of all valid rules on a problem over QQ, and the dual's potential, by HiGHS.

    Raises: InputError if the solver finds no optimum (a valid rule always exists).
    """
    trees, length = sets_of_texts(problem), problem.gamma + 1
    texts = joint_law(problem.target, length)
    row_of_text = {text: k for k, text in enumerate(problem.prefixes(length), start=len(trees))}
    continued: dict[Prefix, list[tuple[int, float]]] = {}
    gains, entries = [], []
    for row, tree in enumerate(trees):
        for output in _outputs(tree, problem.vocabulary):
            if output not in continued:
                law = completed({output: 1}, problem.target, length)
                continued[output] = [(row_of_text[text], as_float(p)) for text, p in law.items()]
            entries.append((1.0, row, len(gains)))
            entries += [(p, place, len(gains)) for place, p in continued[output]]
            gains.append(1.0 - len(output))
    values, rows, columns = zip(*entries)
    right = [*map(as_float, trees.values()), *(as_float(texts.get(text, 0)) for text in row_of_text)]
    matrix = coo_matrix((values, (rows, columns)), shape=(len(right), len(gains)))
    for presolve in (True, False):  # with masses near its tolerance HiGHS takes some problems for infeasible
        solved = linprog(
            np.array(gains), A_eq=matrix.tocsr(), b_eq=np.array(right), bounds=(0, None), method="highs",
            options={"presolve": presolve},
        )  # fmt: skip
        if solved.status == 0:
            break
    else:
        raise InputError(f"{problem.name}: no bound on E[tau]; HiGHS: {solved.message}")
    return -float(solved.fun), {text: -float(solved.eqlin.marginals[k]) for text, k in row_of_text.items()}


def certificate(problem: Problem) -> dict[str, Any]:
    """The certificate of a problem in its JSON form; rationals as strings.

    Its value is an upper bound on E[tau] of every valid rule, within 1e-9 of the linear program's optimum if HiGHS is exact.
    Raises: InputError for a problem of more than 65,536 draft trees, and where HiGHS finds no optimum.
    Source: linear programming duality; for single paths it is Theorem 2's (``make``).
    """
    if problem.vocabulary**problem.tree.nodes > MOST_TREES:
        many = f"{problem.name}: {problem.vocabulary}^{problem.tree.nodes} draft trees"
        raise InputError(f"{many} are too many for a certificate, expected at most {MOST_TREES:,}")
    data = {**as_json(problem.tabulated()), "drafting": drafting_json(problem.tree)}
    pair, drafting = pair_and_drafting(data)
    optimum, potential = largest_tree_acceptance(in_field(problem))
    tried: list[tuple[Fraction, dict[Prefix, Fraction]]] = []
    for most in DENOMINATORS:
        rounded = {text: Fraction(y).limit_denominator(most) for text, y in potential.items()}
        tried.append((bound_of(pair, drafting, rounded), rounded))
        if float(tried[-1][0]) <= optimum + 1e-9:
            break
    bound, chosen = min(tried, key=lambda attempt: attempt[0])
    return {
        "format": TREE_BOUND_FORMAT,
        "problem": data,
        "bound": str(bound),
        "potential": {prefix_key(text): str(y) for text, y in chosen.items()},
    }
