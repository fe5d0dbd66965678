"""Optimality by duality, on the battery: certificates made, and checked by the checker of its own."""

import json
import re
from collections.abc import Iterator

from ...models.battery import exact_battery
from ...models.problem import as_json
from ...models.rationals import as_float
from ...models.tree_battery import tree_battery
from ...verifiers.evidence import HOLDS, REFUTED
from ...verifiers.registry import reference
from ...verifiers.trees.registry import TREE_REFERENCES, tree_reference
from ..audit_claims import CERTIFIED_TO
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
from ..certificates.linear_program import largest_acceptance
from ..certificates.strategies import fewest_calls, most_tokens
from ..field import QQ, in_field
from ..laws import IteratedLaw, acceptance_ccdf, expected_accepted, output_law
from ..proving import Proof, ProofResult, size_of
from ..theorem_2_calls import expected_calls
from ..theorem_2_counterexample import SURE_BONUS, pair

MOST_BLOCKS_IN_BATTERY = 130
"""Draft blocks beyond which a problem is left out."""


def proofs() -> Iterator[Proof]:
    """Optimality by linear programming duality, on the battery: made, and checked by the checker of its own."""
    battery = [p for p in exact_battery() if p.vocabulary**p.gamma <= MOST_BLOCKS_IN_BATTERY]

    def entry(claim, name, certify, checker) -> Proof:
        def run_all() -> ProofResult:
            for problem in battery:
                try:
                    value = checker(json.dumps(certify(problem)), as_json(problem.tabulated()))
                except check.Rejected as reason:
                    return ProofResult(REFUTED, f"on {problem.name}: {reason}")
                reached = expected_accepted(output_law(in_field(problem), reference(name).as_run()))
                if str(value) != str(reached):
                    return ProofResult(REFUTED, f"on {problem.name}: the optimum is {value}, {name} accepts {reached}")
            return ProofResult(HOLDS)

        return Proof(claim, "certificate", name, size_of(battery), run_all)

    for claim in ("theorem-2", "lemma-4"):
        yield entry(claim, "block", make.certificate, check.check)
    yield entry("lemma-10", "greedy-block", make_coupling.certificate, check_coupling.check)
    trees = tree_battery()
    yield Proof(
        "transport", "certificate", "the first drafts: optimal transport", size_of(trees), lambda: _first_drafts(trees)
    )
    whole = [p for p in trees if p.vocabulary**p.tree.nodes <= MOST_BLOCKS_IN_BATTERY]
    yield Proof("transport", "certificate", "whole trees: bounds by duality, and every lossless rule below them", size_of(whole),
                lambda: _whole_trees(whole))  # fmt: skip
    scaled = [p for p in battery if p.vocabulary**p.gamma <= 32 and not re.match("peaked|mixed|markov-mixed", p.name)]
    yield Proof("theorem-2", "certificate", "block, against the linear program of all valid verifiers by HiGHS, to 1e-7",
                size_of(scaled), lambda: _optimum(scaled))  # fmt: skip
    pairs = [(pair(2, QQ(2, 3)), 3), (pair(3, QQ(2, 3)), 2)]
    yield Proof("theorem-2-fails", "certificate", f"{SURE_BONUS.name}: the most tokens of all strategies, by HiGHS, to 1e-7",
                "V 2, gamma 2, 3 iterations; gamma 3, 2 iterations", lambda: _most_tokens(pairs))  # fmt: skip
    yield Proof("theorem-2-fails", "certificate", f"{SURE_BONUS.name}: the most tokens of all strategies, exactly",
                "V 2, gamma 2, 3 iterations; gamma 3, 2 iterations", lambda: _most_tokens_exactly(pairs))  # fmt: skip
    chains = [in_field(p) for p in battery if p.name.startswith("markov") and p.vocabulary**p.gamma <= 16]
    two = [p for p in battery if p.name.startswith("markov") and p.vocabulary ** (p.gamma + 1) <= 27]
    yield Proof("reaches", "certificate", "the most tokens of all strategies, exactly, against linear programs of all kernels by HiGHS, to 1e-7",
                f"{size_of(two)}, 2 iterations", lambda: _same_optimum(two, 2))  # fmt: skip
    for end, finished in ((None, "until 4 tokens"), (0, "until E.O.S. or 4 tokens")):
        yield Proof("theorem-2-calls", "certificate", "block: the fewest calls of all strategies, by HiGHS, to 1e-7",
                    f"{size_of(chains)}, {finished}", lambda end=end: _fewest_calls(chains, 4, end))  # fmt: skip


def _first_drafts(problems) -> ProofResult:
    for problem in problems:
        value = check_transport.check(json.dumps(make_transport.certificate(problem)))
        reached = acceptance_ccdf(output_law(in_field(problem), tree_reference("optimal-transport")), problem.gamma)[1]
        if str(value) != str(reached):
            return ProofResult(REFUTED, f"on {problem.name}: the optimum is {value}, the rule accepts with {reached}")
    return ProofResult(HOLDS)


def _whole_trees(problems) -> ProofResult:
    for problem in problems:
        exact = in_field(problem)
        least, bound = check_tree_bound.check(json.dumps(make_tree_bound.certificate(problem)))
        if bound - least > CERTIFIED_TO:
            return ProofResult(REFUTED, f"on {problem.name}: the best rule accepts between {least} and {bound}")
        for rule in (r for r in TREE_REFERENCES.values() if r.lossless and r.is_for(problem.tree)):
            reached = expected_accepted(output_law(exact, rule))
            if reached > QQ(bound.numerator, bound.denominator):
                return ProofResult(REFUTED, f"on {problem.name}: the bound is {bound}, {rule.name} accepts {reached}")
    return ProofResult(HOLDS)


def _most_tokens(pairs) -> ProofResult:
    for problem, iterations in pairs:
        decoded = as_float(IteratedLaw(problem, SURE_BONUS).expected_tokens(iterations))
        optimum = most_tokens(problem, iterations)
        if abs(optimum - decoded) > 1e-7:
            return ProofResult(
                REFUTED, f"on {problem.name}: the optimum is {optimum}, {SURE_BONUS.name} decodes {decoded}"
            )
    return ProofResult(HOLDS)


def _most_tokens_exactly(pairs) -> ProofResult:
    for problem, iterations in pairs:
        decoded = IteratedLaw(problem, SURE_BONUS).expected_tokens(iterations)
        value = check_iterations.check(json.dumps(make_iterations.certificate(problem, iterations)))
        if str(value) != str(decoded):
            return ProofResult(
                REFUTED, f"on {problem.name}: the optimum is {value}, {SURE_BONUS.name} decodes {decoded}"
            )
    return ProofResult(HOLDS)


def _same_optimum(problems, iterations: int) -> ProofResult:
    for problem in problems:
        value = check_iterations.check(json.dumps(make_iterations.certificate(problem, iterations)))
        optimum = most_tokens(problem, iterations)
        if abs(optimum - float(value)) > 1e-7:
            return ProofResult(REFUTED, f"on {problem.name}: certified {value}, by linear programs {optimum}")
    return ProofResult(HOLDS)


def _fewest_calls(problems, length: int, end: int | None, name: str = "block") -> ProofResult:
    for problem in problems:
        calls = as_float(expected_calls(problem, reference(name).as_run(), length, end))
        optimum = fewest_calls(problem, length, end)
        if abs(optimum - calls) > 1e-7:
            return ProofResult(REFUTED, f"on {problem.name}: the optimum is {optimum}, {name} needs {calls}")
    return ProofResult(HOLDS)


def _optimum(problems) -> ProofResult:
    """The numerical optimum, which knows nothing of block verification; peaked rows are beyond its tolerances."""
    for problem in problems:
        value = as_float(expected_accepted(output_law(in_field(problem), reference("block").as_run())))
        optimum = largest_acceptance(problem)
        if abs(optimum - value) > 1e-7:
            return ProofResult(REFUTED, f"on {problem.name}: the optimum is {optimum}, block accepts {value}")
    return ProofResult(HOLDS)
