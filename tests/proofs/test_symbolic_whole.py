"""Whole algorithms for all models of a size, and the problems on which their mutants fail."""

import random
from fractions import Fraction

import pytest
import z3

from draftproof.models.battery import KINDS, drawn
from draftproof.models.problem import as_json, problem_from
from draftproof.proofs.field import in_field
from draftproof.proofs.laws import output_law
from draftproof.proofs.symbolic import mutants
from draftproof.proofs.symbolic.counterexample import exactly_refuted, problem_of_step, rational_point
from draftproof.proofs.symbolic.decision_trees import Branch
from draftproof.proofs.symbolic.piecewise import AllModels, Models
from draftproof.proofs.symbolic.sign_regions import NEGATIVE, NONZERO, POSITIVE, ZERO, SignTest, Space
from draftproof.proofs.symbolic.single_steps import LEMMAS, Query, ask
from draftproof.proofs.symbolic.whole_algorithms import SMALL_SIZES, WHOLE_CLAIMS, _output_law, all_models
from draftproof.proofs.symbolic.z3_numbers import reals
from draftproof.verifiers import block_verification as block
from draftproof.verifiers import greedy_block_verification as greedy
from draftproof.verifiers.arithmetic import minimum, positive_part, quotient, ratio, residual
from draftproof.verifiers.registry import REFERENCES, reference

pytestmark = pytest.mark.symbolic
by_name = {"ids": lambda entry: entry.name}


@pytest.mark.parametrize("size", SMALL_SIZES, ids=str)
@pytest.mark.parametrize("whole", WHOLE_CLAIMS, **by_name)
def test_the_claim_holds_for_all_models_of_a_small_size(whole, size):
    assert whole.prove(*size).verdict == "holds"


@pytest.mark.parametrize(("vocabulary", "gamma"), [(2, 3), (3, 2)])
def test_block_verification_is_valid_for_all_models_of_three_tokens_or_three_steps(vocabulary, gamma):
    (validity,) = (whole for whole in WHOLE_CLAIMS if whole.name == "block: validity")
    assert validity.prove(vocabulary, gamma, 120).verdict == "holds"


@pytest.mark.parametrize("whole", WHOLE_CLAIMS, **by_name)
def test_the_mutant_of_a_claim_is_refuted_on_a_problem_file_that_the_exact_engine_confirms(whole):
    answer, problem = whole.mutated(2, 2, 60)
    assert (answer.verdict, answer.model is None) == ("refuted", False)
    problem = problem_from(as_json(problem))
    assert exactly_refuted(whole.claim, problem, whole.mutant)
    assert exactly_refuted(whole.claim, problem, whole.verifier) is None


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("lemma", LEMMAS, **by_name)
def test_the_mutant_of_a_step_fails_as_a_whole_verifier_on_a_problem_file(lemma, size):
    problem = problem_from(as_json(problem_of_step(lemma, size)))
    original = reference("greedy-block" if lemma.greedy else "block")
    assert exactly_refuted(lemma.refutes, problem, lemma.mutant)
    assert exactly_refuted(lemma.refutes, problem, original) is None


@pytest.mark.parametrize(
    ("name", "rule"), [("block: law", block.RULE), ("greedy: lemma-9", greedy.RULE)], ids=["block", "greedy"]
)
def test_what_the_lemmas_assume_of_kept_mass_and_residual_the_code_gives(name, rule):
    """m and r replaced by the code's own terms, the assumptions follow from p and the rows alone."""
    size, p = 3, z3.Real("p")
    b, s, m, r = (reals(kind, size) for kind in "bsmr")
    (given,) = (lemma.query(rule, size).given for lemma in LEMMAS if lemma.name == name)
    kept = [z3.If(y > 0, y * minimum(rule.survive(p, x, y), 1), z3.RealVal(0)) for x, y in zip(b, s)]
    code = [*zip(m, kept), *zip(r, residual(b, s, p))]
    own = [z3.substitute(fact, *code) for fact in given]
    rows = [fact for fact, same in zip(given, own) if fact.eq(same)]
    assert len(given) - len(rows) == 4 * size
    assert ask(Query(z3.And(*own), rows)).verdict == "holds"
    twice = [(x, 2 * term) for x, term in code]
    assert ask(Query(z3.And(*(z3.substitute(fact, *twice) for fact in given)), rows)).verdict == "refuted"


def test_a_proof_that_does_not_end_in_time_is_no_evidence():
    for whole in WHOLE_CLAIMS:
        answer = whole.prove(3, 3, 0.05)
        assert (answer.verdict, answer.model) == ("no-evidence", None)


def test_a_defect_that_shows_on_a_boundary_only_is_found():
    """Half the ratio rejects with nothing left to draw where the two rows are equal, and nowhere else."""
    (drawn_from,) = (whole for whole in WHOLE_CLAIMS if whole.name == "token: residual")
    _, problem = drawn_from.mutated(2, 1, 20)
    assert problem.target.row(()) == problem.draft.row(())


# The law as a function of the model is the law.


def value(space, tree, point):
    while isinstance(tree, Branch):
        polynomial = space.polynomials[tree.test.polynomial]
        number = space.value(polynomial, point)
        tree = tree.yes if (number > 0) - (number < 0) in tree.test.signs else tree.no
    return None if tree is None else space.value(tree.numerator, point) / space.value(tree.denominator, point)


def point_of(problem):
    problem = problem.tabulated()
    prefixes = [x for n in range(problem.gamma + 1) for x in problem.prefixes(n)]
    rows = [
        row
        for x in prefixes
        for row in (problem.target.row(x), *([problem.draft.row(x)] if len(x) < problem.gamma else []))
    ]
    return [entry for row in rows for entry in row[:-1]]


@pytest.mark.parametrize(
    ("name", "vocabulary", "gamma"),
    [(name, *size) for name in sorted(REFERENCES) for size in ((2, 2), (3, 1))]
    + [(name, 2, 3) for name in ("token", "block", "greedy-block")],
)
def test_at_every_problem_the_symbolic_law_is_the_exact_law(name, vocabulary, gamma):
    """Zeros, equal rows and disjoint supports included: the places where a piece ends."""
    space, everything = all_models(vocabulary, gamma, 120)
    symbolic = _output_law(space, everything, reference(name))
    for kind in (*KINDS, "mixed"):
        for seed in range(3 if gamma < 3 else 1):
            problem = drawn(vocabulary, gamma, kind, seed)
            observed = {o: value(space, p.tree, point_of(problem)) for o, p in symbolic.items()}
            expected = {o: Fraction(str(p)) for o, p in output_law(in_field(problem), reference(name)).items()}
            assert {o: p for o, p in observed.items() if p} == {o: p for o, p in expected.items() if p}, problem.name


def test_the_comparison_sees_the_law_of_another_verifier():
    space, everything = all_models(2, 1, 20)
    symbolic, problem = _output_law(space, everything, mutants.REDRAWN), drawn(2, 1, "generic")
    observed = {o: value(space, p.tree, point_of(problem)) for o, p in symbolic.items()}
    assert observed != {o: Fraction(str(p)) for o, p in output_law(in_field(problem), reference("block")).items()}


def plane():
    """The plane x >= 0, y >= 0 and its two numbers."""
    space = Models(["x", "y"], 20)
    for variable in space.variables:
        space.know(variable)
    return space, *map(space.number, space.variables)


@pytest.mark.parametrize(
    "compute",
    [
        lambda x, y: minimum(x, y) + positive_part(x - 2 * y),
        lambda x, y: minimum(x * y, 1) - quotient(x, x + y, 7),
        lambda x, y: ratio(x, y) * (3 - x) + quotient(minimum(x - y, y), x * x - y, -1),
        lambda x, y: (x + 1) / (1 + positive_part(x * x - y)) - positive_part(y * y - x) * ratio(y, x),
    ],
)
def test_a_piecewise_number_has_the_value_of_the_computation_at_every_point(compute):
    space, x, y = plane()
    number = compute(x, y)
    draw = random.Random(0)
    points = [tuple(Fraction(draw.randint(0, 4), draw.randint(1, 3)) for _ in "xy") for _ in range(200)]
    for point in points:
        assert value(space, number.tree, point) == compute(*point), point


def test_pieces_with_the_same_function_fall_together():
    _, x, y = plane()
    assert not isinstance((minimum(x, y) + positive_part(x - y)).tree, Branch)
    assert isinstance((minimum(x, y) + positive_part(2 * x - y)).tree, Branch)


def test_a_function_with_a_pole_does_not_stand_for_the_value_on_its_boundary():
    """x / (x + y) is 0 on x = 0 but for the origin, where the program says 0: the origin keeps its own piece."""
    space, x, y = plane()
    share = quotient(x, x + y, 0)
    assert isinstance(share.tree, Branch)
    assert value(space, share.tree, (Fraction(0), Fraction(0))) == 0


def test_a_region_is_empty_only_where_z3_says_so():
    space, _, _ = plane()
    x, y = space.variables
    (((number, _),), ((other, _),)) = (space.factors(p).powers for p in (x + y, x - y))
    assert space.everywhere.part(SignTest(number, frozenset((-1,)))) is None
    assert space.everywhere.part(SignTest(number, ZERO)).part(SignTest(other, NONZERO)) is None
    assert space.everywhere.part(SignTest(other, POSITIVE)).part(SignTest(number, NONZERO)) is not None


def test_a_program_that_branches_on_an_equality_goes_both_ways():
    space, x, y = plane()

    def program(chance):
        return "equal" if x == y else ("first" if chance.flip(quotient(x, x + y, 0)) else "second")

    law = {}
    for outcome, probability in AllModels(space).paths(program):
        law[outcome] = law.get(outcome, 0) + probability
    assert value(space, law["equal"].tree, (Fraction(2), Fraction(2))) == 1
    assert value(space, law["first"].tree, (Fraction(1), Fraction(2))) == Fraction(1, 3)
    assert value(space, law["second"].tree, (Fraction(1), Fraction(1))) == 0
    assert law["equal"] + law["first"] + law["second"] == 1


# From z3's point to rational numbers.


def test_an_irrational_model_becomes_a_rational_point():
    x, y = z3.Reals("x y")
    solver = z3.Solver()
    solver.add(x * x * x > 2, x * x * x < 3, y * x == 1)
    point = rational_point(solver, [x, y])
    assert 2 < point[0] ** 3 < 3
    assert point[0] * point[1] == 1


def test_where_there_is_no_rational_point_none_is_made_up():
    (x,) = z3.Reals("x")
    solver = z3.Solver()
    solver.add(x * x == 2)
    assert rational_point(solver, [x]) is None


def test_the_exact_engine_confirms_nothing_of_a_verifier_without_a_defect():
    problem = drawn(2, 2, "generic")
    for claim in ("validity", "expected-acceptance", "bounds", "residual", "lemma-3"):
        assert exactly_refuted(claim, problem, reference("block")) is None
    assert exactly_refuted("validity", problem, mutants.REDRAWN)
    with pytest.raises(KeyError):
        exactly_refuted("valid", problem, mutants.REDRAWN)


class GivesUp:
    """A solver that never knows."""

    def check(self):
        return z3.unknown


def test_a_question_that_z3_gives_up_on_is_no_evidence(monkeypatch):
    monkeypatch.setattr(Space, "question", lambda *arguments: GivesUp())
    for whole in WHOLE_CLAIMS:
        assert whole.mutated(2, 2, 60)[0].verdict == "no-evidence"


def test_a_region_that_z3_gives_up_on_counts_as_not_empty(monkeypatch):
    space, _, _ = plane()
    x, y = space.variables
    ((number, _),) = space.factors(x + y).powers
    monkeypatch.setattr(space.solver, "check", lambda *arguments: z3.unknown)
    assert space.everywhere.part(SignTest(number, NEGATIVE)) is not None
