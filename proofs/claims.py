"""The papers' statements, checked exactly on one problem; what fails comes with a witness.

Each check takes a problem over QQ and what it judges (an output law, or a verifier) and returns Evidence.
"""

from collections.abc import Mapping
from typing import Any

from ..models.law import Prefix, prefix_key
from ..models.problem import Problem, as_json
from ..verifiers.evidence import HOLDS, REFUTED, Evidence, LawEntry, Method, Witness
from ..verifiers.registry import Reference
from .field import QQ
from .laws import reference_laws as laws
from .laws.reference_laws import (
    IteratedLaw,
    OutputLaw,
    completed_after_modification,
    expected_accepted,
    joint_law,
    survival,
)
from .theorem_2 import expected_calls


def survival_bound(problem: Problem) -> OutputLaw:
    """Return M_s(x^i) p_i(x^i) for every draft prefix of length 1..gamma, p_i as in Eq. (9)."""
    bound: OutputLaw = {}

    def walk(prefix, mass, survived):
        target, draft = problem.target.row(prefix), problem.draft.row(prefix)
        for token, q in enumerate(draft):
            if q == 0:
                continue
            longer = (*prefix, token)
            here = min(survived * target[token] / q, QQ(1))
            bound[longer] = mass * q * here
            if len(longer) < problem.gamma:
                walk(longer, mass * q, here)

    walk((), QQ(1), QQ(1))
    return bound


def coupling_bound(problem: Problem) -> OutputLaw:
    """Return min(M_b(x^l), M_s(x^l)) for every prefix of length 1..gamma that both models allow (Lemmas 9, 10)."""
    both: dict[Prefix, tuple] = {(): (QQ(1), QQ(1))}
    bound: OutputLaw = {}
    for _ in range(problem.gamma):
        longer = {(*x, t): (p * b, q * s) for x, (p, q) in both.items()
                  for t, (b, s) in enumerate(zip(problem.target.row(x), problem.draft.row(x)))}  # fmt: skip
        both = {x: joint for x, joint in longer.items() if all(joint)}
        bound |= {x: min(joint) for x, joint in both.items()}
    return bound


def largest_difference(problem: Problem, observed: Mapping, expected: Mapping) -> Witness | None:
    """Return where two laws differ most; None where they are equal."""
    gaps = {key: abs(observed.get(key, 0) - expected.get(key, 0)) for key in observed.keys() | expected.keys()}
    worst = max(sorted(gaps), key=lambda key: gaps[key], default=None)
    if worst is None or gaps[worst] == 0:
        return None
    entry = LawEntry(prefix_key(worst), str(expected.get(worst, 0)), str(observed.get(worst, 0)))
    return Witness(**vars(entry), problem=as_json(problem))


def _evidence(claim: str, problem: Problem, witness: Witness | None, deviation: Any = None) -> Evidence:
    return Evidence(
        claim=claim,
        method=Method.ENUMERATION,
        verdict=REFUTED if witness else HOLDS,
        problem=problem.name,
        total_variation=deviation,
        witness=witness,
    )


def _equal(claim: str, problem: Problem, observed: Mapping, expected: Mapping) -> Evidence:
    witness = largest_difference(problem, observed, expected)
    return _evidence(claim, problem, witness, laws.total_variation(observed, expected))


def _at_least(claim: str, problem: Problem, larger: Any, smaller: Any, names: tuple[str, str]) -> Evidence:
    """Check that one quantity is at least another. names: those of the larger and of the smaller."""
    witness = None
    if larger < smaller:
        expected = f"at least {smaller} ({names[1]})"
        witness = Witness(problem=as_json(problem), sequence=names[0], expected=expected, observed=str(larger))
    return _evidence(claim, problem, witness)


def lossless(problem: Problem, law: Mapping[Prefix, Any]) -> Evidence:
    """Check that X^tau, Y, Z^{gamma - tau} ~ M_b^{gamma + 1}, or the law that the problem declares.

    Source: Sun et al. 2025, Eq. (7), Lemma 2, Theorem 1.
    """
    length = problem.gamma + 1
    return _equal("lossless", problem, laws.completed(law, problem.asked, length), joint_law(problem.asked, length))


def lemma_2(problem: Problem, verifier: Reference, iterations: int) -> Evidence:
    """Check that i iterations of Algorithm 3, completed by the target, follow M_b^{i (gamma + 1)}."""
    length = iterations * (problem.gamma + 1)
    observed = completed_after_modification(laws.iterated_law(problem, verifier, iterations), problem, length)
    return _equal("lemma-2", problem, observed, joint_law(problem.target, length))


def lemma_3(problem: Problem, law: Mapping[Prefix, Any]) -> Evidence:
    """Check that Pr(tau >= i | X^i = x) = p_i(x) for every i and every x that can be drafted."""
    return _equal("lemma-3", problem, survival(law), survival_bound(problem))


def lemma_4(problem: Problem, law: Mapping[Prefix, Any]) -> Evidence:
    """Check that Pr(tau >= i | X^i = x) <= p_i(x): no valid verifier keeps a prefix more often."""
    bound, reached = survival_bound(problem), survival(law)
    over = {x: mass - bound.get(x, 0) for x, mass in reached.items() if mass > bound.get(x, 0)}
    witness = None
    if over:
        worst = max(sorted(over), key=lambda x: over[x])
        entry = LawEntry(prefix_key(worst), f"at most {bound.get(worst, 0)}", str(reached[worst]))
        witness = Witness(**vars(entry), problem=as_json(problem))
    return _evidence("lemma-4", problem, witness)


def theorem_2(problem: Problem, block: Reference, other: Reference, iterations: int = 1) -> Evidence:
    """Check that E_block[N(i)] >= E_other[N(i)] for the tokens decoded in i iterations, i = ``iterations``.

    Proved (proofs/mechanized) for one iteration against every valid verifier, and for any number against token
    verification; against every valid verifier it is false from three iterations on for gamma = 2, from two on for
    greater gamma (``theorem_2_counterexample``). The step of Appendix B.2 that fails is f(eta) = p(x): f is conditioned
    on the output, Lemma 3 on the draft. What is true of all of them is ``theorem_2_calls``.
    """
    most = IteratedLaw(problem, block).expected_tokens(iterations)
    less = IteratedLaw(problem, other).expected_tokens(iterations)
    return _at_least("theorem-2", problem, most, less, (f"E[N({iterations})] {block.name}", other.name))


def theorem_2_calls(
    problem: Problem, block: Reference, other: Reference, length: int, end: int | None = None
) -> Evidence:
    """Check that E_block[target calls] <= E_other[target calls] until a text has ``length`` tokens or contains the
    token ``end``.

    Proved (proofs/mechanized) for every valid verifier, also one that changes from iteration to iteration.
    """
    fewest, calls = (expected_calls(problem, verifier, length, end) for verifier in (block, other))
    return _at_least("theorem-2-calls", problem, calls, fewest, (f"E[calls] {other.name}", block.name))


def theorem_3(problem: Problem, greedy_law: Mapping[Prefix, Any], block_law: Mapping[Prefix, Any]) -> Evidence:
    """Check that greedy block verification accepts at least as many tokens in one iteration as block verification."""
    most, less = expected_accepted(greedy_law), expected_accepted(block_law)
    return _at_least("theorem-3", problem, most, less, ("E[tau] greedy", "E[tau] block"))


def lemma_7(problem: Problem, larger: Mapping[Prefix, Any], smaller: Mapping[Prefix, Any]) -> Evidence:
    """Check that E f(tau) >= E' f(tau) for increasing f, where Pr(tau >= i) >= Pr'(tau >= i) for every i.

    f: the thresholds, which are that dominance, and 2^tau, in which the longest count most.
    """
    tails = [laws.acceptance_ccdf(law, problem.gamma) for law in (larger, smaller)]
    for i in range(problem.gamma + 1):
        at_least = _at_least("lemma-7", problem, tails[0][i], tails[1][i], (f"Pr(tau >= {i})", "the dominated law"))
        if at_least.verdict == REFUTED:
            return at_least
    more, less = (sum(p * 2 ** (len(o) - 1) for o, p in law.items()) for law in (larger, smaller))
    return _at_least("lemma-7", problem, more, less, ("E 2^tau", "the dominated law"))


def lemma_8(problem: Problem, greedy: Reference, iterations: int = 1) -> Evidence:
    """Check that X^tau, Y, Z ~ M_b^gamma with Z from the modified target; over i iterations, nested (footnote 6)."""
    observed = completed_after_modification(laws.iterated_law(problem, greedy, iterations), problem, problem.gamma)
    return _equal("lemma-8", problem, observed, joint_law(problem.target, problem.gamma))


def lemma_9(problem: Problem, law: Mapping[Prefix, Any]) -> Evidence:
    """Check that Pr(X^l = x, tau >= l) = min(M_b(x), M_s(x)) under greedy block verification."""
    return _equal("lemma-9", problem, survival(law), coupling_bound(problem))


def lemma_10(problem: Problem, law: Mapping[Prefix, Any]) -> Evidence:
    """Check that E[tau] <= sum_l sum_x min(M_b(x^l), M_s(x^l)), the value of the optimal coupling of Eq. (40).

    A verifier above it is proved biased without a look at its law.
    """
    value = sum(coupling_bound(problem).values(), QQ(0))
    return _at_least("lemma-10", problem, value, expected_accepted(law), ("coupling value", "E[tau]"))
