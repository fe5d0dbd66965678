"""Exact laws of the code that runs, on the battery."""

from collections.abc import Callable, Iterator
from functools import partial

from ...models.battery import drawn_markov, exact_battery, toy
from ...models.problem import Problem
from ...verifiers.evidence import HOLDS, REFUTED, Evidence
from ...verifiers.registry import Reference, reference
from .. import claims
from ..field import in_field
from ..laws import IteratedLaw, expected_accepted, output_law
from ..proving import Proof, ProofResult, size_of
from ..theorem_2_counterexample import SHORTER, pair

MOST_BLOCKS_ENUMERATED = 250
"""Draft blocks beyond which a problem is not enumerated choice by choice."""


def _on_each(problems: list[Problem], check_one: Callable[[Problem], Evidence]) -> Callable[[], ProofResult]:
    def run_all() -> ProofResult:
        for problem in problems:
            evidence = check_one(in_field(problem))
            if evidence.verdict == REFUTED:
                return ProofResult(REFUTED, f"on {problem.name}: {evidence.witness}")
        return ProofResult(HOLDS)

    return run_all


def _as_run(name: str) -> Reference:
    return reference(name).as_run()


def proofs() -> Iterator[Proof]:
    """One entry a claim, an object and a size."""
    block, token, stream, greedy = map(_as_run, ("block", "token", "block-stream", "greedy-block"))
    battery = list(exact_battery())
    small = [p for p in battery if p.vocabulary**p.gamma <= MOST_BLOCKS_ENUMERATED]
    chains = [p for p in battery if p.name.startswith("markov")]
    chains += [drawn_markov(4, 3, "mixed"), drawn_markov(2, 6), toy(2), toy(3)]
    few = [p for p in chains if p.vocabulary**p.gamma <= 16]

    def entry(claim, what, problems, check_one, size="") -> Proof:
        return Proof(claim, "enumeration", what, size_of(problems) + size, _on_each(problems, check_one))

    yield Proof("lemma-1", "enumeration", "block and token", "V 2, gamma 2", _example)
    for verifier in (block, token, stream):
        yield entry("theorem-1", verifier.name, small, lambda p, v=verifier: claims.lossless(p, output_law(p, v)))
    one_pass, what = reference("block"), "block, its formulas in one pass"
    yield entry("theorem-1", what, battery, lambda p: claims.lossless(p, output_law(p, one_pass)))
    for verifier in (token, block):
        yield entry("lemma-2", verifier.name, few, lambda p, v=verifier: claims.lemma_2(p, v, 2), ", 2 iterations")
    yield entry("lemma-3", "block", small, lambda p: claims.lemma_3(p, output_law(p, block)))
    yield entry("lemma-4", "token", small, lambda p: claims.lemma_4(p, output_law(p, token)))
    over_token = "block over token"
    yield entry("theorem-2", over_token, small, lambda p: claims.theorem_2(p, block, token))
    for i in (2, 3, 4):
        checked = partial(claims.theorem_2, block=block, other=token, iterations=i)
        yield entry("theorem-2-iterations", over_token, chains, checked, f", {i} iterations")
    yield Proof("theorem-2-fails", "enumeration", f"{SHORTER.name}, over block", "V 2, gamma 7, 2 iterations", _fails)
    yield entry("lemma-9", "greedy-block", small, lambda p: claims.lemma_9(p, output_law(p, greedy)))
    yield entry("lemma-8", "greedy-block", small, lambda p: claims.lemma_8(p, greedy))
    for i in (2, 3):
        checked = partial(claims.lemma_8, greedy=greedy, iterations=i)
        yield entry("lemma-8", "greedy-block, nested", few, checked, f", {i} iterations")
    for verifier in (block, greedy):
        yield entry("lemma-10", verifier.name, small, lambda p, v=verifier: claims.lemma_10(p, output_law(p, v)))
    yield entry("theorem-3", "greedy-block over block", small,
                lambda p: claims.theorem_3(p, output_law(p, greedy), output_law(p, block)))  # fmt: skip


def _example() -> ProofResult:
    reached = [str(expected_accepted(output_law(in_field(toy(2)), v))) for v in map(_as_run, ("block", "token"))]
    return ProofResult(HOLDS if reached == ["11/9", "10/9"] else REFUTED, f"{reached[0]} and {reached[1]} tokens")


def _fails() -> ProofResult:
    """The counterexample: the shorter verifier is lossless on the models, and decodes more."""
    problem = pair(7)
    contexts = [(0,) * n for n in range(9)] + [(*(0,) * 7, 1)]
    for here in map(problem.after, contexts):
        if not claims.lossless(here, output_law(here, SHORTER)).holds:
            return ProofResult(REFUTED, "the shorter verifier is not lossless")
    less, more = (IteratedLaw(problem, v).expected_tokens(2) for v in (_as_run("block"), SHORTER))
    return ProofResult(HOLDS if more > less else REFUTED, f"E[N(2)] = {more} against {less} of block verification")
