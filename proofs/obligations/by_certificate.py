"""Optimality by duality, on the battery: certificates made, and checked by the checker of its own."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ...models.battery import exact_battery
from ...models.problem import Problem, as_json
from ...models.rationals import as_float
from ...models.tree_battery import tree_battery
from ...verifiers.registry import reference
from ...verifiers.trees.registry import TREE_REFERENCES, tree_reference
from ..certificates import (
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
from ..certificates.linear_program import fewest_calls, most_tokens
from ..certificates.make_tree_bound import CERTIFIED_TO
from ..field import QQ, in_field
from ..laws.reference_laws import IteratedLaw, acceptance_ccdf, expected_accepted, output_law
from ..proving import Proof, on_each, size_of
from ..theorem_2 import SURE_BONUS, expected_calls, pair

MOST_BLOCKS_IN_BATTERY = 130
"""Largest number of draft blocks of a problem that is certified."""

TOLERANCE = 1e-7
"""Largest distance between equal optima if HiGHS found one of them."""


def proofs() -> Iterator[Proof]:
    """Yield proofs of optimality by linear programming duality on the battery; each has a checker of its own."""
    battery = [p for p in exact_battery() if p.vocabulary**p.gamma <= MOST_BLOCKS_IN_BATTERY]

    def entry(claim: str, what: str, problems: list, wrong: Callable[[Any], str | None], size: str = "") -> Proof:
        return Proof(claim, "certificate", what, size or size_of(problems), on_each(problems, wrong))

    for claim in ("theorem-2", "lemma-4"):
        yield entry(claim, "block", battery, partial(_certified, "block", make.certificate, check.check))
    coupled = partial(_certified, "greedy-block", make_coupling.certificate, check_coupling.check)
    yield entry("lemma-10", "greedy-block", battery, coupled)
    trees = tree_battery()
    yield entry("transport", "the first drafts: optimal transport", trees, _first_drafts)
    whole = [p for p in trees if p.vocabulary**p.tree.nodes <= MOST_BLOCKS_IN_BATTERY]
    yield entry("transport", "whole trees: bounds by duality, and every lossless rule below them", whole, _whole_tree)
    pairs = [pair(2, QQ(2, 3)), pair(3, QQ(2, 3))]
    size = "V 2, gamma 2, 3 iterations; gamma 3, 2 iterations"
    what = f"{SURE_BONUS.name}: the most tokens of all strategies"
    yield entry("theorem-2-fails", f"{what}, by HiGHS, to 1e-7", pairs, partial(_most_tokens, most_tokens), size)
    yield entry("theorem-2-fails", f"{what}, exactly", pairs, partial(_most_tokens, _certified_tokens), size)
    chains = [in_field(p) for p in battery if p.name.startswith("markov") and p.vocabulary**p.gamma <= 16]
    two = [p for p in battery if p.name.startswith("markov") and p.vocabulary ** (p.gamma + 1) <= 27]
    what = "the most tokens of all strategies, exactly, against linear programs of all kernels by HiGHS, to 1e-7"
    yield entry("reaches", what, two, _same_optimum, f"{size_of(two)}, 2 iterations")
    for end, finished in ((None, "until 4 tokens"), (0, "until E.O.S. or 4 tokens")):
        what = "block: the fewest calls of all strategies, by HiGHS, to 1e-7"
        yield entry("theorem-2-calls", what, chains, partial(_fewest_calls, 4, end), f"{size_of(chains)}, {finished}")


def _unequal(optimum: Any, reached: Any, what: str) -> str | None:
    """Return what is wrong unless both are equal: exactly, or to ``TOLERANCE`` if the optimum is a float."""
    same = abs(optimum - as_float(reached)) <= TOLERANCE if isinstance(optimum, float) else str(optimum) == str(reached)
    return None if same else f"the optimum is {optimum}, {what} {reached}"


def _certified(name: str, certify: Callable, checker: Callable, problem: Problem) -> str | None:
    try:
        value = checker(json.dumps(certify(problem)), as_json(problem.tabulated()))
    except check.Rejected as reason:
        return str(reason)
    reached = expected_accepted(output_law(in_field(problem), reference(name).as_run()))
    return _unequal(value, reached, f"{name} accepts")


def _first_drafts(problem: Problem) -> str | None:
    value = check_transport.check(json.dumps(make_transport.certificate(problem)))
    reached = acceptance_ccdf(output_law(in_field(problem), tree_reference("optimal-transport")), problem.gamma)[1]
    return _unequal(value, reached, "the rule accepts with")


def _whole_tree(problem: Problem) -> str | None:
    exact = in_field(problem)
    least, bound = check_tree_bound.check(json.dumps(make_tree_bound.certificate(problem)))
    if bound - least > CERTIFIED_TO:
        return f"the best rule accepts between {least} and {bound}"
    for rule in (r for r in TREE_REFERENCES.values() if r.lossless and r.is_for(problem.tree)):
        reached = expected_accepted(output_law(exact, rule))
        if reached > QQ(bound.numerator, bound.denominator):
            return f"the bound is {bound}, {rule.name} accepts {reached}"
    return None


def _certified_tokens(problem: Problem, iterations: int) -> Any:
    return check_iterations.check(json.dumps(make_iterations.certificate(problem, iterations)))


def _most_tokens(optimum: Callable[[Problem, int], Any], problem: Problem) -> str | None:
    """Compare the optimum with the counterexample, in as few iterations as it needs."""
    iterations = 3 if problem.gamma == 2 else 2
    decoded = IteratedLaw(problem, SURE_BONUS).expected_tokens(iterations)
    return _unequal(optimum(problem, iterations), decoded, f"{SURE_BONUS.name} decodes")


def _same_optimum(problem: Problem) -> str | None:
    return _unequal(most_tokens(problem, 2), _certified_tokens(problem, 2), "certified")


def _fewest_calls(length: int, end: int | None, problem: Problem, name: str = "block") -> str | None:
    calls = expected_calls(problem, reference(name).as_run(), length, end)
    return _unequal(fewest_calls(problem, length, end), calls, f"{name} needs")
