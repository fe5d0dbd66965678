"""The exact laws of reference verifiers: of (X^tau, Y), of tau, of completed tokens, of several iterations.

``block_laws`` and ``tree_laws`` compute the output laws, of (X^tau, Y).
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate
from typing import Any

from ...models.decoding import Decoded, modified, starts_in_force
from ...models.errors import InputError
from ...models.law import Model, Prefix
from ...models.problem import AnyProblem, Problem
from ...verifiers.registry import Reference
from ...verifiers.trees.registry import TreeReference
from ..enumeration import ONE
from ..field import QQ
from .block_laws import OutputLaw, enumerated_law, sub_block_law
from .tree_laws import tree_law

MOST_STATES = 300_000
"""Largest number of texts of several iterations whose law is computed."""


def output_law(problem: Problem, verifier: Reference | TreeReference) -> OutputLaw:
    """Return the law of (X^tau, Y) of one iteration of a reference verifier, or of a rule for trees, exactly.

    Raises: InputError if the verifier is not meant for the problem's way of drafting.
    """
    if isinstance(verifier, TreeReference):
        return tree_law(problem, verifier)
    if not problem.tree.block:
        drawn = problem.tree.drawn
        raise InputError(f"{problem.name}: {verifier.name} verifies a single path, and the problem draws {drawn}")
    return enumerated_law(problem, verifier) if verifier.rule is None else sub_block_law(problem, verifier.rule)


class IteratedLaw:
    """A loop of Algorithm 3 (or 6 for greedy block) on one problem. States with the same future are computed once."""

    def __init__(self, problem: Problem, verifier: Reference | TreeReference):
        self.problem, self.verifier = problem, verifier
        self._known: dict[Any, OutputLaw] = {}
        self._expected: dict[Any, Any] = {}

    def _target(self, decoded: Decoded) -> Model:
        return modified(self.problem.target, self.problem.draft, decoded.starts, self.problem.gamma)

    def _future(self, decoded: Decoded):
        states = (self._target(decoded).state(decoded.tokens), self.problem.draft.state(decoded.tokens))
        return (*states, decoded.starts and decoded)

    def iteration(self, decoded: Decoded) -> list[tuple[Decoded, Any]]:
        """Return every state that one iteration can lead to, with its probability."""
        future = self._future(decoded)
        if future not in self._known:
            pair = self.problem
            here = replace(pair, target=self._target(decoded)).after(decoded.tokens)
            self._known[future] = output_law(here, self.verifier)
        reached = ((decoded.tokens + output, p) for output, p in self._known[future].items())
        return [(Decoded(x, starts_in_force(self.problem, self.verifier, decoded, x)), p) for x, p in reached]

    def expected_tokens(self, iterations: int, decoded: Decoded | None = None) -> Any:
        """Return E[N(i)], the tokens decoded in i iterations from a state on; the text itself is not carried."""
        if iterations == 0:
            return QQ(0)
        decoded = decoded or Decoded()
        key = (iterations, self._future(decoded))
        if key not in self._expected:
            before = len(decoded.tokens)
            self._expected[key] = sum(
                p * (len(after.tokens) - before + self.expected_tokens(iterations - 1, after))
                for after, p in self.iteration(decoded)
            )
        return self._expected[key]


def iterated_law(problem: Problem, verifier: Reference | TreeReference, iterations: int) -> dict[Decoded, Any]:
    """Return the law of the text after N iterations of the verifier's loop; states that are equal are merged."""
    loop, law = IteratedLaw(problem, verifier), {Decoded(): QQ(1)}
    for _ in range(iterations):
        if len(law) > MOST_STATES:
            many = f"more than {MOST_STATES:,} different outputs"
            raise InputError(f"{iterations} iterations: {many}; expected fewer iterations")
        after: dict[Decoded, Any] = {}
        for decoded, mass in law.items():
            for state, probability in loop.iteration(decoded):
                after[state] = after.get(state, 0) + mass * probability
        law = after
    return law


def completion(problem: Problem, modifies_target: bool) -> tuple[Model, int]:
    """Return the model that continues one iteration's tokens, and the length to which a lossless verifier follows it.

    The target, or the law that the problem declares, to gamma + 1 tokens (Lemma 2); after greedy block verification the
    modified target, to gamma (Lemma 8).
    Raises: InputError for greedy block verification and a declared law.
    """
    if modifies_target:
        if problem.law:
            raise InputError(f"{problem.name}: greedy block verification is judged by the target's distribution alone")
        return modified(problem.target, problem.draft, (0,), problem.gamma), problem.gamma
    return problem.asked, problem.gamma + 1


def completed(law: Mapping[Prefix, Any], target: Model, length: int) -> OutputLaw:
    """Return the law of the first ``length`` tokens, a shorter output being continued by the target (Lemma 2).

    (X^tau, Y, Z), Z ~ M_b(. | X^tau, Y).
    """
    done: OutputLaw = {}
    for output, probability in law.items():
        _complete(output[:length], probability, target, length, done)
    return done


def completed_after_modification(law: Mapping[Decoded, Any], problem: Problem, length: int) -> OutputLaw:
    """Return the law of the first ``length`` tokens, each output continued by its modified target (Lemma 8)."""
    done: OutputLaw = {}
    for decoded, probability in law.items():
        target = modified(problem.target, problem.draft, decoded.starts, problem.gamma)
        _complete(decoded.tokens[:length], probability, target, length, done)
    return done


def _complete(prefix, probability, target, length, done):
    if len(prefix) == length:
        done[prefix] = done.get(prefix, 0) + probability
        return
    for token, p in enumerate(target.row(prefix)):
        if p != 0:
            _complete((*prefix, token), probability * p, target, length, done)


def joint_law(model: Model, length: int, one: Any = ONE) -> OutputLaw:
    """Return M^length: the law of a model's first ``length`` tokens."""
    done: OutputLaw = {}
    _complete((), one, model, length, done)
    return done


def is_output(outcome: Any, problem: AnyProblem) -> bool:
    """Return whether a verifier may emit it: 1 to gamma + 1 tokens of the vocabulary."""
    in_range = isinstance(outcome, tuple) and all(0 <= token < problem.vocabulary for token in outcome)
    return in_range and 1 <= len(outcome) <= problem.gamma + 1


def total_variation(law: Mapping, other: Mapping) -> Any:
    """Return sum_o |law(o) - other(o)| / 2, in [0, 1]."""
    return sum(abs(law.get(o, 0) - other.get(o, 0)) for o in law.keys() | other.keys()) / QQ(2)


def marginal(law: Mapping, length: int) -> OutputLaw:
    """Return the law of the first ``length`` tokens of what is emitted or written; errors are left out."""
    shorter: OutputLaw = {}
    for outcome, probability in law.items():
        if isinstance(outcome, tuple):
            shorter[outcome[:length]] = shorter.get(outcome[:length], 0) + probability
    return shorter


def acceptance_ccdf(law: Mapping[Prefix, Any], gamma: int) -> list:
    """Return [Pr(tau >= 0), ..., Pr(tau >= gamma)]."""
    exactly = [QQ(0)] * (gamma + 1)
    for output, probability in law.items():
        exactly[len(output) - 1] += probability
    return list(accumulate(reversed(exactly)))[::-1]


def expected_accepted(law: Mapping[Prefix, Any]) -> Any:
    """Return E[tau], the expected number of accepted draft tokens in one iteration."""
    return sum((len(output) - 1) * probability for output, probability in law.items())


def expected_tokens(law: Mapping[Decoded, Any]) -> Any:
    """Return E[N(i)], the expected number of tokens after the iterations."""
    return sum(len(decoded.tokens) * probability for decoded, probability in law.items())


def survival(law: Mapping[Prefix, Any]) -> OutputLaw:
    """Return Pr(X^i = x, tau >= i) for every draft prefix x, i >= 1."""
    mass: OutputLaw = {}
    for output, probability in law.items():
        for i in range(1, len(output)):
            mass[output[:i]] = mass.get(output[:i], 0) + probability
    return mass
