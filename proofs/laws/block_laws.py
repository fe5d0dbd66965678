"""Exact laws of what one iteration emits from a single path.

An *output law* maps each emitted sequence (X^tau, Y), a tuple of tau + 1 tokens, to its probability.
"""

from typing import Any

from ...models.decoding import Decoded, iteration
from ...models.law import Prefix
from ...models.problem import Problem
from ...verifiers.registry import Reference
from ...verifiers.sub_block import SubBlockRule
from ..enumeration import ONE, law_of

OutputLaw = dict[Prefix, Any]


def enumerated_law(problem: Problem, verifier: Reference) -> OutputLaw:
    """Return the output law of one iteration, by running the verifier's own code for every way chance can fall."""
    return law_of(lambda chance: iteration(problem, verifier, Decoded(), chance).tokens)


def sub_block_law(problem: Problem, rule: SubBlockRule, one: Any = ONE) -> OutputLaw:
    """Return the output law of a sub-block rule in one pass over the tree of draft prefixes.

    Pr(X^i, tau = i) = h_i(X^i) Pr(X^i, tau <= i), from the longest prefixes down: a coin for X^i depends on X^i
    alone, so what the continuations of X^i leave undecided can be added up before it is flipped once. Time is
    linear in the number of entries, where enumeration pays for every pair of a block and a length.

    one: the unit of the problem's numbers.
    Guarantee: equal to ``enumerated_law`` of ``longest_sub_block`` (a test compares them over the battery).
    """
    gamma, law = problem.gamma, {}

    def settle(prefix, mass, weights, total):
        for token, weight in enumerate(weights):
            if weight != 0:
                law[(*prefix, token)] = mass * weight / total

    def undecided_after(prefix, p_i, mass):
        """Return Pr(X^i = prefix, tau < i), having settled all outcomes with tau >= i on it."""
        target = problem.target.row(prefix)
        if len(prefix) == gamma:
            accepted = mass * rule.accept_all(p_i)
            if accepted != 0:
                settle(prefix, accepted, target, 1)
            return mass - accepted
        draft = problem.draft.row(prefix)
        undecided = 0
        for token, q in enumerate(draft):
            if q != 0:
                undecided += undecided_after((*prefix, token), rule.survive(p_i, target[token], q), mass * q)
        if undecided == 0:
            return undecided
        rest = rule.rest(target, draft, p_i)
        surplus = sum(rest)
        accepted = undecided * (rule.accept(p_i, surplus, target, draft) if prefix else 1)
        if accepted != 0:
            settle(prefix, accepted, rest, surplus)
        return undecided - accepted

    undecided_after((), rule.start, one)
    return law
