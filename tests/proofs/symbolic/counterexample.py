"""A point of z3 turned into a problem with rational numbers, on which the exact law refutes the claim too.

A mutant that z3 refutes in one step is refuted as a whole verifier: the step becomes the second of a draft block.
"""

from fractions import Fraction
from itertools import product

import z3

from draftproof.models.law import Table
from draftproof.models.problem import Problem
from draftproof.proofs import claims
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import enumerated_law, expected_accepted, output_law
from draftproof.proofs.symbolic.single_steps import STEP_TIME_LIMIT, check, reals, total
from draftproof.tests.proofs.symbolic.mutants import OF_LEMMAS
from draftproof.verifiers import greedy_block_verification as greedy
from draftproof.verifiers.arithmetic import minimum
from draftproof.verifiers.chance import NothingToDrawError
from draftproof.verifiers.registry import reference

DENOMINATORS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30, 60, 100, 1000, 10**4, 10**6, 10**9)
APPROXIMATION_DIGITS = 30


def _fraction_near(value):
    """A number of z3's as a fraction: exactly if it is rational, to APPROXIMATION_DIGITS digits if it is algebraic."""
    number = value.approx(APPROXIMATION_DIGITS) if isinstance(value, z3.AlgebraicNumRef) else value
    return Fraction(number.numerator_as_long(), number.denominator_as_long())


def _candidates(value):
    """Fractions ever nearer to the value, those with small denominators first."""
    nearer = []
    for largest in DENOMINATORS:
        candidate = value.limit_denominator(largest)
        if not nearer or abs(candidate - value) < abs(nearer[-1] - value):
            nearer.append(candidate)
    return nearer if nearer[-1] == value else [*nearer, value]


def rational_point(solver, variables, limit=STEP_TIME_LIMIT):
    """A rational point that satisfies the solver's assertions, or None if z3 gives none in time.

    Where z3's model is irrational the variables are fixed one after the other, each to the simplest fraction near its
    value that leaves the rest satisfiable; z3 is asked after each, so the point is exact.
    limit: seconds of processor time for each question.
    """
    if check(solver, limit) != z3.sat:
        return None
    point = []
    model = solver.model()
    values = [model.eval(x, model_completion=True) for x in variables]
    if all(isinstance(value, z3.RatNumRef) for value in values):
        return list(map(_fraction_near, values))
    solver.push()
    for x in variables:
        for candidate in _candidates(_fraction_near(model.eval(x, model_completion=True))):
            solver.push()
            solver.add(x == z3.Q(candidate.numerator, candidate.denominator))
            if check(solver, limit) == z3.sat:
                point.append(candidate)
                model = solver.model()
                break
            solver.pop()
        else:
            break
    solver.pop(solver.num_scopes())
    return point if len(point) == len(variables) else None


def _realisable(lemma, refutes, size):
    """What a step must also satisfy to be the second step of a draft block, and to be seen in the block's law.

    The construction fixes the m and r that a lemma leaves free; its one token is the first of a row; some mass is left
    undecided. Above p = 1 greedy block verification accepts all it can, and a mutant shows in a coin of more than 1 or
    in a prefix that the residual before it emits; any other mutant is looked for below p = 1.
    """
    p, t, b, s = z3.Reals("p t b s")
    (target, draft), (m, r) = (reals("b", size), reals("s", size)), (reals("m", size), reals("r", size))
    conditions = [p > 1 if lemma.rule is greedy.RULE and refutes in ("bounds", "lemma-8") else p < 1, p > 0, t == p]
    conditions += [b == target[0], s == draft[0], s > 0, total(m) < 1]
    conditions += [*(x >= 0 for x in (*target, *draft)), total(target) == 1, total(draft) == 1]
    return conditions + [z3.And(mx == minimum(p * x, y), rx == p * x - mx) for mx, rx, x, y in zip(m, r, target, draft)]


def _second_step(p, q, target, draft):
    """gamma = 2: token 0 comes first with p and q, and after it the rows given; elsewhere the models are equal."""
    vocabulary = len(target)
    certain = tuple(Fraction(int(t == 0)) for t in range(vocabulary))

    def rows(first, second):
        after = {(t,): certain for t in range(1, vocabulary)}
        return {(): (first, 1 - first, *[Fraction(0)] * (vocabulary - 2)), (0,): tuple(second), **after}

    ends = dict.fromkeys(product(range(vocabulary), repeat=2), certain)
    models = Table({**rows(p, target), **ends}, "target"), Table(rows(q, draft), "draft")
    return Problem(vocabulary, 2, *models, "counterexample")


def problem_of_step(lemma, size=2, limit=STEP_TIME_LIMIT):
    """A problem with gamma = 2 in whose second step the lemma's mutant fails; None if z3 gives none in time."""
    mutant = OF_LEMMAS[lemma.name]
    query = mutant.asked(lemma, size)
    solver = z3.Solver()
    solver.add(*query.given, z3.Not(query.claim), *_realisable(lemma, mutant.refutes, size))
    point = rational_point(solver, [z3.Real("p"), *reals("b", size), *reals("s", size)], limit)
    if point is None:
        return None
    p, target, draft = point[0], point[1 : size + 1], point[size + 1 :]
    return _second_step(min(p, Fraction(1)), min(1 / p, Fraction(1)), target, draft)


def exactly_refuted(claim, problem, verifier):
    """How the exact law refutes a claim about a verifier on one problem; None if the claim holds there.

    claim: of ``StepMutant.refutes`` ("validity", "expected-acceptance", "bounds", "residual", "lemma-8", "lemma-9"), or
    "lemma-3". A verifier that fails in another way (a coin outside [0, 1] where its law is asked for) has no law to
    judge: None.
    Raises: KeyError for a claim that is none of these.
    """
    problem = in_field(problem)
    try:
        law = enumerated_law(problem, verifier)
    except NothingToDrawError as error:
        return f"residual: {error}" if claim in ("residual", "bounds") else None
    except ValueError as error:
        return f"bounds: {error}" if claim == "bounds" else None
    if claim == "expected-acceptance":
        own, least = expected_accepted(law), expected_accepted(output_law(problem, reference("token")))
        return f"E[tau] = {own}, token verification {least}" if own < least else None
    if claim in ("bounds", "residual"):
        return None
    if claim == "lemma-8":
        evidence = claims.lemma_8(problem, verifier)
    else:
        checks = {"validity": claims.lossless, "lemma-3": claims.lemma_3, "lemma-9": claims.lemma_9}
        evidence = checks[claim](problem, law)
    return None if evidence.holds else str(evidence.witness)
