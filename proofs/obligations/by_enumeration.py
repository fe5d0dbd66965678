"""Exact laws of the code that runs, on the battery."""

from collections.abc import Callable, Iterator
from functools import partial

from ...models.battery import drawn_markov, exact_battery, toy
from ...models.decoding import Decoded, modified
from ...models.problem import Problem
from ...models.tree_battery import tree_battery
from ...verifiers.evidence import HOLDS, REFUTED, Evidence
from ...verifiers.registry import Reference, reference
from ...verifiers.trees.registry import TREE_REFERENCES
from .. import claims
from ..field import QQ, in_field
from ..laws.reference_laws import (
    IteratedLaw,
    OutputLaw,
    completed_after_modification,
    expected_accepted,
    iterated_law,
    output_law,
)
from ..laws.tree_laws import formulas_for
from ..proving import Proof, ProofResult, on_each, size_of
from ..theorem_2 import SURE_BONUS, pair

MOST_BLOCKS_ENUMERATED = 250
"""Largest number of draft blocks of a problem that is enumerated choice by choice."""


def _as_run(name: str) -> Reference:
    """Look a verifier up when a proof runs: one that breaks down makes its own proofs errors, and no others."""
    return reference(name).as_run()


def _law(problem: Problem, name: str) -> OutputLaw:
    return output_law(problem, _as_run(name))


def proofs() -> Iterator[Proof]:
    """Yield one proof for each claim, object and size."""
    battery = list(exact_battery())
    small = [p for p in battery if p.vocabulary**p.gamma <= MOST_BLOCKS_ENUMERATED]
    chains = [p for p in battery if p.name.startswith("markov")]
    chains += [drawn_markov(4, 3, "mixed"), drawn_markov(2, 6), toy(2), toy(3)]
    few = [p for p in chains if p.vocabulary**p.gamma <= 16]

    def entry(claim: str, what: str, problems: list, check_one: Callable[[Problem], Evidence], size: str = "") -> Proof:
        def wrong(problem: Problem) -> object:
            return check_one(in_field(problem)).witness

        return Proof(claim, "enumeration", what, size_of(problems) + size, on_each(problems, wrong))

    yield Proof("lemma-1", "enumeration", "block and token", "V 2, gamma 2", _example)
    for name in ("block", "token", "block-stream"):
        yield entry("theorem-1", name, small, lambda p, name=name: claims.lossless(p, _law(p, name)))
    yield entry("theorem-1", "block, its formulas in one pass", battery,
                lambda p: claims.lossless(p, output_law(p, reference("block"))))  # fmt: skip
    for name in ("token", "block"):
        yield entry("lemma-2", name, few, lambda p, name=name: claims.lemma_2(p, _as_run(name), 2), ", 2 iterations")
    yield entry("lemma-3", "block", small, lambda p: claims.lemma_3(p, _law(p, "block")))
    yield entry("lemma-4", "token", small, lambda p: claims.lemma_4(p, _law(p, "token")))
    yield entry("theorem-2", "block over token", small,
                lambda p: claims.theorem_2(p, _as_run("block"), _as_run("token")))  # fmt: skip
    for i in (2, 3, 4):
        yield entry("theorem-2-iterations", "block over token", chains,
                    lambda p, i=i: claims.theorem_2(p, _as_run("block"), _as_run("token"), i),
                    f", {i} iterations")  # fmt: skip
    for gamma, i in ((2, 3), (3, 2), (4, 2), (2, 4)):
        size = f"V 2, gamma {gamma}, {i} iterations"
        yield Proof("theorem-2-fails", "enumeration", f"{SURE_BONUS.name}, over block", size, partial(_fails, gamma, i))
    for other in (reference("token"), SURE_BONUS):
        for end, finished in ((None, ", until 5 tokens"), (0, ", until E.O.S. or 5 tokens")):
            yield entry("theorem-2-calls", f"block over {other.name}", chains,
                        lambda p, o=other, end=end: claims.theorem_2_calls(p, _as_run("block"), o, 5, end),
                        finished)  # fmt: skip
    for rule in TREE_REFERENCES.values():
        trees = [p for p in tree_battery() if rule.lossless and rule.is_for(p.tree)]
        for by_formulas, how in ((False, ""), (True, ", by its formulas")):
            chosen = [p for p in trees if bool(formulas_for(p, rule)) == by_formulas]
            if chosen:
                yield entry("several-drafts", rule.name + how, chosen,
                            lambda p, rule=rule: claims.lossless(p, output_law(p, rule)),
                            f", up to {max(p.tree.nodes for p in chosen)} drafts")  # fmt: skip
    yield entry("lemma-9", "greedy-block", small, lambda p: claims.lemma_9(p, _law(p, "greedy-block")))
    yield entry("lemma-8", "greedy-block", small, lambda p: claims.lemma_8(p, _as_run("greedy-block")))
    for i in (2, 3):
        yield entry("lemma-8", "greedy-block, nested", few,
                    lambda p, i=i: claims.lemma_8(p, _as_run("greedy-block"), i), f", {i} iterations")  # fmt: skip
    for name in ("block", "greedy-block"):
        yield entry("lemma-10", name, small, lambda p, name=name: claims.lemma_10(p, _law(p, name)))
    yield entry(
        "lemma-7", "tau of block over token", small, lambda p: claims.lemma_7(p, _law(p, "block"), _law(p, "token"))
    )
    yield Proof("remark-c1", "enumeration", "greedy-block, block", "V 2, gamma 2, up to 3 iterations", remark_c1)
    yield entry("theorem-3", "greedy-block over block", small,
                lambda p: claims.theorem_3(p, _law(p, "greedy-block"), _law(p, "block")))  # fmt: skip


def _example() -> ProofResult:
    reached = [str(expected_accepted(_law(in_field(toy(2)), name))) for name in ("block", "token")]
    return ProofResult(HOLDS if reached == ["11/9", "10/9"] else REFUTED, f"{reached[0]} and {reached[1]} tokens")


def remark_c1() -> ProofResult:
    """Check Appendix C.1 on the example: bias in the plain loop, the point mass, E[N] in one and three iterations."""
    problem, greedy = in_field(toy(2)), _as_run("greedy-block")
    b, a = range(2)[::-1]
    plain = completed_after_modification(iterated_law(problem, greedy._replace(modifies_target=False), 2), problem, 2)
    sure = modified(problem.target, problem.draft, (0,), problem.gamma).row((b,))[b]
    tokens = [[IteratedLaw(problem, v).expected_tokens(i) for v in (greedy, _as_run("block"))] for i in (1, 3)]
    right = plain[b, a] == QQ(1, 3) and sure == 1 and tokens[0][0] > tokens[0][1] and tokens[1][0] < tokens[1][1]
    found = f"Pr(BA) {plain[b, a]}, M_new(B) {sure}, E[N] " + ", ".join(f"{x} to {y}" for x, y in tokens)
    return ProofResult(HOLDS if right else REFUTED, found)


def _fails(gamma: int, iterations: int) -> ProofResult:
    """Check the counterexample: its verifier is lossless from every text it can meet, and decodes more."""
    for t in (QQ(1, 2) + QQ(1, 100), QQ(2, 3), QQ(9, 10)):
        problem = pair(gamma, t, apart=max(iterations - (3 if gamma == 2 else 2), 0))
        loop = IteratedLaw(problem, SURE_BONUS)
        reached, states = {Decoded()}, {Decoded()}
        for _ in range(iterations):
            states = {after for state in states for after, _ in loop.iteration(state)}
            reached |= states
        for here in (problem.after(state.tokens) for state in reached):
            if not claims.lossless(here, output_law(here, SURE_BONUS)).holds:
                return ProofResult(REFUTED, "the verifier is not lossless")
        less, more = (IteratedLaw(problem, v).expected_tokens(iterations) for v in (_as_run("block"), SURE_BONUS))
        if more <= less:
            return ProofResult(REFUTED, f"at t = {t}: {more} tokens against {less} of block verification")
    return ProofResult(HOLDS, f"at t = {t}: {more} tokens against {less} of block verification")
