"""Rules for trees, for all models of a size; laws on symbols; and the problems on which mutants of a step fail."""

import random
from fractions import Fraction

import pytest
import z3

from draftproof.models.battery import KINDS, drawn
from draftproof.models.decoding import Decoded, iteration
from draftproof.models.problem import as_json, problem_from
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import output_law
from draftproof.proofs.symbolic.single_steps import LEMMAS, Query, ask, reals
from draftproof.proofs.symbolic.symbols import AllBranches, Models
from draftproof.proofs.symbolic.tree_rules import TREE_CLAIMS, TreeClaim, all_models, law_on_symbols
from draftproof.tests.proofs.symbolic import mutants
from draftproof.tests.proofs.symbolic.counterexample import exactly_refuted, problem_of_step, rational_point
from draftproof.tests.proofs.tree_mutants import TREE_MUTANTS
from draftproof.verifiers import block_verification as block
from draftproof.verifiers import greedy_block_verification as greedy
from draftproof.verifiers.arithmetic import minimum, positive_part, quotient, ratio, residual
from draftproof.verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED
from draftproof.verifiers.registry import reference
from draftproof.verifiers.trees.draft_tree import IID, TOP, WITHOUT_REPLACEMENT

pytestmark = pytest.mark.symbolic
by_name = {"ids": lambda entry: entry.name}


@pytest.mark.parametrize("claim", TREE_CLAIMS, ids=lambda c: f"{c.name}, {c.how}")
def test_a_rule_for_trees_is_valid_for_all_models_of_its_sizes(claim):
    for vocabulary, children in claim.sizes:
        assert claim.decide(vocabulary, children).verdict == HOLDS


@pytest.mark.parametrize(
    ("name", "how", "vocabulary", "children"),
    [
        ("sample-until-it-matches", IID, 2, (2,)),
        ("only-the-rejected-entry", IID, 3, (1,)),
        ("only-the-rejected-entry", WITHOUT_REPLACEMENT, 3, (2,)),
        ("row-before-the-elder-was-removed", TOP, 3, (2,)),
        ("replacement-from-the-target", TOP, 2, (1,)),
        ("row-of-the-parent", IID, 2, (1, 1)),
        ("weight-not-updated", IID, 2, (1, 1)),
        ("bonus-from-the-root", IID, 2, (1,)),
    ],
)
def test_a_mutant_of_a_rule_for_trees_is_refuted_with_a_model(name, how, vocabulary, children):
    (verify,) = (mutant.verify for mutant in TREE_MUTANTS if mutant.name == name)
    answer = TreeClaim(name, verify, how, ()).decide(vocabulary, children, limit=600)
    assert answer.verdict == REFUTED and isinstance(answer.model, z3.ModelRef)


@pytest.mark.parametrize("claim", TREE_CLAIMS, ids=lambda c: f"{c.name}, {c.how}")
def test_a_proof_that_does_not_end_in_time_is_no_evidence(claim):
    assert claim.decide(*claim.sizes[0], 0.001) == (NO_EVIDENCE, None)


def test_a_question_that_z3_gives_up_on_is_no_evidence(monkeypatch):
    monkeypatch.setattr("draftproof.proofs.symbolic.single_steps.check", lambda *_: z3.unknown)
    assert TREE_CLAIMS[0].decide(*TREE_CLAIMS[0].sizes[0]).verdict == NO_EVIDENCE


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("lemma", LEMMAS, **by_name)
def test_the_mutant_of_a_step_fails_as_a_whole_verifier_on_a_problem_file(lemma, size):
    problem = problem_from(as_json(problem_of_step(lemma, size)))
    mutant, original = mutants.OF_LEMMAS[lemma.name], "greedy-block" if lemma.rule is greedy.RULE else "block"
    assert exactly_refuted(mutant.refutes, problem, mutant.verifier)
    assert exactly_refuted(mutant.refutes, problem, reference(original)) is None


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


# The law as a function of the model is the law.


def values(models, facts, numbers):
    """The symbols' values where the facts hold, which must be possible."""
    solver = z3.Solver()
    solver.add(*models.facts, *facts)
    assert solver.check() == z3.sat
    model = solver.model()
    return [Fraction(model.eval(x.term, model_completion=True).as_string()) for x in numbers]


def law_at(problem, verifier):
    """The law on symbols at one problem, without what has probability 0."""
    models, everything = all_models(problem.vocabulary, problem.gamma)
    law = law_on_symbols(models, lambda chance: iteration(everything, verifier, Decoded(), chance).tokens)
    prefixes = [(everything.target, problem.target, n) for n in range(problem.gamma + 1)]
    prefixes += [(everything.draft, problem.draft, n) for n in range(problem.gamma)]
    entries = [
        entry.term == z3.RealVal(str(value))
        for symbols, numbers, n in prefixes
        for prefix in problem.prefixes(n)
        for entry, value in zip(symbols.row(prefix), numbers.row(prefix), strict=True)
    ]
    return {output: p for output, p in zip(law, values(models, entries, law.values()), strict=True) if p}


@pytest.mark.parametrize("name", ["token", "block", "greedy-block"])
@pytest.mark.parametrize("size", [(2, 2), (3, 1)])
def test_at_every_problem_the_law_on_symbols_is_the_exact_law(name, size):
    """Zeros, equal rows and disjoint supports included: the places where a verifier branches."""
    for kind in (*KINDS, "mixed"):
        problem = drawn(*size, kind).tabulated()
        expected = {o: Fraction(str(p)) for o, p in output_law(in_field(problem), reference(name)).items() if p}
        assert law_at(problem, reference(name)) == expected, problem.name


def test_the_comparison_sees_the_law_of_another_verifier():
    problem = drawn(2, 1, "generic").tabulated()
    assert law_at(problem, mutants.REDRAWN) != law_at(problem, reference("block"))


@pytest.mark.parametrize(
    "compute",
    [
        lambda x, y: minimum(x, y) + positive_part(x - 2 * y) - positive_part(2 * y - x),
        lambda x, y: minimum(x * y, 1) - quotient(x, x + y, 7),
        lambda x, y: ratio(x, y) * (3 - x) + quotient(minimum(x - y, y), x * x - y, -1),
        lambda x, y: (x + 1) / (1 + positive_part(x * x - y)) - positive_part(y * y - x) * ratio(y, x),
    ],
)
def test_a_number_on_symbols_has_the_value_of_the_computation_at_every_point(compute):
    models, draw, (x, y) = Models(), random.Random(0), z3.Reals("x y")
    number = compute(models.number(x), models.number(y))
    for point in [tuple(Fraction(draw.randint(0, 4), draw.randint(1, 3)) for _ in "xy") for _ in range(40)]:
        at_point = [z3.Q(v.numerator, v.denominator) for v in point]
        assert values(models, [x == at_point[0], y == at_point[1]], [number]) == [compute(*point)], point


def test_no_claim_holds_that_depends_on_a_quotient_with_denominator_zero():
    models, (x, y) = Models(), z3.Reals("x y")
    share = (models.number(x) / models.number(y)).term
    for value in (0, 1):
        assert ask(Query(share == value, [*models.facts, x == 0, y == 0])).verdict == REFUTED
    assert ask(Query(0 * share == 0, [*models.facts, x == 0, y == 0])).verdict == HOLDS


def test_a_program_that_branches_on_an_equality_goes_both_ways():
    models = Models()
    x, y = map(models.number, z3.Reals("x y"))

    def program(chance):
        return "equal" if x == y else ("first" if chance.flip(quotient(x, x + y, 0)) else "second")

    law = {}
    for outcome, probability in AllBranches(models).paths(program):
        law[outcome] = law.get(outcome, 0) + probability
    for (a, b), expected in {(2, 2): (1, 0, 0), (1, 2): (0, Fraction(1, 3), Fraction(2, 3))}.items():
        found = values(models, [x.term == a, y.term == b], [law["equal"], law["first"], law["second"]])
        assert tuple(found) == expected
    total = (law["equal"] + law["first"] + law["second"]).term
    assert ask(Query(total == 1, models.facts)).verdict == HOLDS


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
