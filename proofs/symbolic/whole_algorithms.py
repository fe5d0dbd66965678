"""Whole algorithms, for all models of a size at once: the reference verifiers' own code, run on symbols.

A problem has a row of its own after every prefix, with zeros allowed, and every entry is a real variable (the last of
a row: one minus the others). The code that samples is run on them (``piecewise``): draft, verify, emit, along every path.
What comes out is the law as a function of the model, and z3 decides the claim on each of its pieces.

Reach. Asked of z3 in one piece, block verification's validity times out from V = 2 gamma = 2 on, token verification's
from V = 3 gamma = 3 on. Piece by piece it also went through at V = 4 gamma = 2 (27 s) and V = 3 gamma = 3 (85 s); every
gamma is what ``single_steps`` and Coq are for. At gamma = 1 no sub-block rule uses h_i: a mutant of it shows from 2 on.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import z3

from ...models.decoding import Decoded, iteration
from ...models.law import Table
from ...models.problem import Problem, with_numbers
from ...verifiers.arithmetic import minimum
from ...verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED
from ...verifiers.registry import Reference, reference
from ..laws import completed, completed_after_modification, joint_law, survival
from . import mutants
from .counterexample import rational_point
from .decision_trees import Quotient, combined, leaves, sign_among
from .piecewise import AllModels, Models, Piecewise
from .processor_time import check
from .sign_regions import NEGATIVE, NONZERO, ZERO, OutOfTimeError, Region
from .single_steps import SolverAnswer


class Size(NamedTuple):
    """V and gamma, and the seconds of processor time after which a proof of that size is given up."""

    vocabulary: int
    gamma: int
    limit: float = 60.0


class Obligation(NamedTuple):
    """The value's sign is none of ``wrong`` for any model of the region that gives the probability a value above 0."""

    region: Region
    probability: Piecewise
    value: Piecewise
    wrong: frozenset


def all_models(vocabulary: int, gamma: int, limit: float) -> tuple[Models, Problem]:
    """The space of all problems of a size, and the problem whose entries are its variables."""
    prefixes = [x for n in range(gamma + 1) for x in product(range(vocabulary), repeat=n)]
    models = [(kind, x) for x in prefixes for kind in ("target", "draft")[: 2 if len(x) < gamma else 1]]
    label = {place: f"{place[0]}({','.join(map(str, place[1]))})" for place in models}
    space = Models([f"{label[place]}[{t}]" for place in models for t in range(vocabulary - 1)], limit)
    free = iter(space.variables)
    rows: dict[str, dict] = {"target": {}, "draft": {}}
    for kind, x in models:
        row = [next(free) for _ in range(vocabulary - 1)]
        row.append(space.unit - sum(row))
        for entry in row:
            space.know(entry)
        rows[kind][x] = tuple(map(space.number, row))
    name = f"all-models-V{vocabulary}-gamma{gamma}"
    return space, Problem(vocabulary, gamma, Table(rows["target"], "target"), Table(rows["draft"], "draft"), name)


def _paths(chance: AllModels, problem: Problem, verifier: Reference) -> Iterator[tuple[Decoded, Piecewise]]:
    return chance.paths(lambda chance: iteration(problem, verifier, Decoded(), chance))


def _law(space: Models, problem: Problem, verifier: Reference) -> dict[Decoded, Piecewise]:
    law: dict[Decoded, Piecewise] = {}
    for decoded, probability in _paths(AllModels(space), problem, verifier):
        if probability != 0:  # for some model
            law[decoded] = law.get(decoded, 0) + probability
    return law


def _output_law(space: Models, problem: Problem, verifier: Reference) -> dict:
    return {decoded.tokens: probability for decoded, probability in _law(space, problem, verifier).items()}


def equal(space: Models, observed: dict, expected: dict) -> Iterator[Obligation]:
    """Two laws are the same."""
    for key in {**expected, **observed}:
        difference = space.number(0) + expected.get(key, 0) - observed.get(key, 0)
        yield Obligation(space.everywhere, space.number(1), difference, NONZERO)


def validity(space: Models, problem: Problem, verifier: Reference) -> Iterator[Obligation]:
    """Every sequence of gamma + 1 tokens has the target's probability. Source: Sun et al. 2025, Eq. (7)."""
    law, length = _output_law(space, problem, verifier), problem.gamma + 1
    yield from equal(space, completed(law, problem.target, length), joint_law(problem.target, length, space.number(1)))


def expected_acceptance(space: Models, problem: Problem, verifier: Reference) -> Iterator[Obligation]:
    """E[tau] is at least token verification's, term by term: E[tau] = sum over prefixes x of Pr(X^i = x, tau >= i)."""
    reached = survival(_output_law(space, problem, verifier))
    for prefix, mass in survival(_output_law(space, problem, reference("token"))).items():
        yield Obligation(space.everywhere, space.number(1), reached.get(prefix, 0) - mass, NEGATIVE)


def bounds(space: Models, problem: Problem, verifier: Reference) -> Iterator[Obligation]:
    """0 <= h_i <= 1 at every flip that is reached with positive probability."""
    chance = AllModels(space)
    for _ in _paths(chance, problem, verifier):
        for flip in chance.flips:
            (h,) = flip.weights
            yield Obligation(flip.region, flip.probability, h, NEGATIVE)
            yield Obligation(flip.region, flip.probability, h - 1, frozenset((1,)))
        chance.flips.clear()


def residual_mass(space: Models, problem: Problem, verifier: Reference) -> Iterator[Obligation]:
    """Whatever is drawn from with positive probability has a positive mass and no negative weight."""
    chance = AllModels(space)
    for _ in _paths(chance, problem, verifier):
        for draw in chance.draws:
            yield Obligation(draw.region, draw.probability, sum(draw.weights, space.number(0)), NEGATIVE | ZERO)
            for weight in draw.weights:
                yield Obligation(draw.region, draw.probability, weight, NEGATIVE)
        chance.draws.clear()


def lemma_9(space: Models, problem: Problem, verifier: Reference) -> Iterator[Obligation]:
    """Pr(X^l = x, tau >= l) = min(M_b(x), M_s(x)) for every prefix x of length l >= 1."""
    both: dict = {}
    for length in range(1, problem.gamma + 1):
        target, draft = (joint_law(model, length, space.number(1)) for model in (problem.target, problem.draft))
        both.update({x: minimum(target[x], draft[x]) for x in target})
    yield from equal(space, survival(_output_law(space, problem, verifier)), both)


def lemma_8(space: Models, problem: Problem, verifier: Reference) -> Iterator[Obligation]:
    """Every sequence of gamma tokens, each output completed by its modified target, has the target's probability."""
    done = completed_after_modification(_law(space, problem, verifier), problem, problem.gamma)
    yield from equal(space, done, joint_law(problem.target, problem.gamma, space.number(1)))


Statement = Callable[[Models, Problem, Any], Iterator[Obligation]]


def _violations(obligation: Obligation) -> Iterator[tuple[Region, list]]:
    """The regions where the obligation may fail, each with the polynomials that are not zero where it does."""

    def fails(region: Region, probability: Quotient | None, value: Quotient | None):
        if probability is not None and region.vanishes(probability.numerator):
            return False
        if probability is None or value is None:
            return True
        if obligation.wrong == NONZERO:
            return not region.vanishes(value.numerator)
        return sign_among(region, value, obligation.wrong)

    trees = obligation.probability.tree, obligation.value.tree
    for region, failed in leaves(obligation.region, combined(obligation.region, fails, *trees)):
        if failed is not False:
            for piece, pair in leaves(region, combined(region, lambda _, *pair: pair, *trees)):
                reached = [leaf.numerator for leaf in pair if isinstance(leaf, Quotient)]
                yield piece, reached if obligation.wrong == NONZERO else reached[:1]


def decide(statement: Statement, verifier: Any, size: Size) -> tuple[SolverAnswer, Problem | None]:
    """Whether the statement holds of a verifier for all models of a size; if not, the problem on which it fails."""
    decided = True
    space, problem = all_models(size.vocabulary, size.gamma, size.limit)
    try:
        for obligation in statement(space, problem, verifier):
            for region, nonzero in _violations(obligation):
                question = space.question(region, *nonzero)
                answer = check(question, space.time_left())
                if answer == z3.sat:
                    model = question.model()
                    return SolverAnswer(REFUTED, model), _instance(
                        space, problem, rational_point(question, space.reals)
                    )
                decided = decided and answer == z3.unsat
    except OutOfTimeError:
        decided = False
    return SolverAnswer(HOLDS if decided else NO_EVIDENCE), None


def _instance(space: Models, problem: Problem, point: list[Fraction] | None) -> Problem | None:
    """The problem at one point of the space."""
    if point is None:
        return None
    at_point = with_numbers(problem, lambda entry: space.value(entry.tree.numerator, point))
    return replace(at_point, name="counterexample")


@dataclass(frozen=True)
class WholeClaim:
    """A claim about a whole algorithm, the sizes it is proved at, and a mutant that fails it."""

    of: str
    claim: str
    statement: Statement
    verifier: Reference
    mutant: Reference
    sizes: tuple[Size, ...]

    @property
    def name(self) -> str:
        return f"{self.of}: {self.claim}"

    def prove(self, vocabulary: int, gamma: int, limit: float) -> SolverAnswer:
        """holds, refuted (with z3's model), or no-evidence where the limit, in seconds of processor time, was not enough."""
        return decide(self.statement, self.verifier, Size(vocabulary, gamma, limit))[0]

    def mutated(self, vocabulary: int, gamma: int, limit: float) -> tuple[SolverAnswer, Problem | None]:
        """The same question about the mutant, and the problem on which it fails."""
        return decide(self.statement, self.mutant, Size(vocabulary, gamma, limit))


SMALL_SIZES = (Size(2, 1), Size(2, 2), Size(3, 1))
USUAL_SIZES = (*SMALL_SIZES, Size(2, 3), Size(3, 2))
TOKEN, BLOCK, GREEDY = reference("token"), reference("block"), reference("greedy-block")

LARGE_TOKEN_SIZES = (*USUAL_SIZES, Size(2, 4, 120), Size(4, 2, 120))
STREAM = reference("block-stream")

WHOLE_CLAIMS = [
    WholeClaim("token", "validity", validity, TOKEN, mutants.FROM_TARGET, LARGE_TOKEN_SIZES),
    WholeClaim("block", "validity", validity, BLOCK, mutants.REDRAWN, (*USUAL_SIZES, Size(2, 4, 180))),
    WholeClaim("block-stream", "validity", validity, STREAM, mutants.FIRST_ROW, SMALL_SIZES),
    WholeClaim("block over token", "expected-acceptance", expected_acceptance, BLOCK, mutants.LOW, USUAL_SIZES),
    WholeClaim("token", "bounds", bounds, TOKEN, mutants.RATIO, USUAL_SIZES),
    WholeClaim("block", "bounds", bounds, BLOCK, mutants.GENEROUS, USUAL_SIZES),
    WholeClaim("greedy-block", "bounds", bounds, GREEDY, mutants.NO_CAP, USUAL_SIZES),
    WholeClaim("token", "residual", residual_mass, TOKEN, mutants.HALF, USUAL_SIZES),
    WholeClaim("block", "residual", residual_mass, BLOCK, mutants.HASTY, USUAL_SIZES),
    WholeClaim("greedy-block", "residual", residual_mass, GREEDY, mutants.CERTAIN, USUAL_SIZES),
    WholeClaim("greedy-block", "lemma-9", lemma_9, GREEDY, BLOCK, USUAL_SIZES),
    WholeClaim("greedy-block", "lemma-8", lemma_8, GREEDY, mutants.FORGETFUL, USUAL_SIZES),
]
"""Every claim about a whole algorithm. draftproof prove asks each at all its sizes."""
