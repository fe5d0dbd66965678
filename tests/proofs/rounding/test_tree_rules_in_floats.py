"""Our own rules for trees are judged by their theorems: the right rule is within, a bias just above is refuted."""

from dataclasses import replace

import pytest

from draftproof.models.battery import drawn, toy
from draftproof.models.errors import InputError
from draftproof.proofs.audit_claims import lossless
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import output_law
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.rounding.rounding_allowed import EPSILON, MOST
from draftproof.proofs.rounding.tree_rules import THEOREMS, own_bound
from draftproof.proofs.sandbox import Sandbox
from draftproof.reports.audits.subject import subject_from
from draftproof.tests.proofs.rounding.in_floats import ANSWER, drafted, moved
from draftproof.verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED
from draftproof.verifiers.trees.registry import IN_FLOATS, TREE_REFERENCES, tree_reference

pytestmark = pytest.mark.exact


def problem_of(rule):
    return in_field(drafted(rule, drawn(3, 2, "generic"), 2, 1))


def test_each_rule_that_is_a_function_has_a_theorem():
    assert set(THEOREMS) == set(IN_FLOATS)


@pytest.mark.parametrize("rule", IN_FLOATS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_what_is_planted_just_above_the_theorem_is_refuted_and_just_below_it_is_not(rule, dtype):
    """In bfloat16 the bounds are beyond the most that is ever excused, but none comes to nothing: that is refuted."""
    problem = problem_of(rule)
    found = measured(problem, dtype, [ANSWER], own_rule=rule)
    bound = min(own_bound(rule, problem, EPSILON[dtype], EPSILON[dtype] / 2), MOST)
    assert found.tolerance == found.explained == found.rounding["theorem"] == bound
    assert found.rounding["theorem_of"] == rule
    law = output_law(problem, tree_reference(rule))
    for size, verdict in ((0, HOLDS), (0.99, HOLDS), (1.01, REFUTED)):
        of_size = lossless(replace(found, blocks={(): moved(law, size * bound)}))
        assert of_size.verdict == verdict and of_size.law.rounding.theorem_of == rule


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_shares_of_a_solver_that_nothing_scales_are_not_excused_by_the_theorem_on_those_that_are(dtype):
    """Whatever the solver left is forgiven once shares are scaled by what the target has, and only then."""
    problem = problem_of("global-resolution")
    found = measured(problem, dtype, [ANSWER], own_rule="global-resolution")
    for rule, verdict in (("global-resolution", HOLDS), ("global-resolution-truncated", REFUTED)):
        law = output_law(problem, tree_reference(rule))
        assert lossless(replace(found, blocks={(): law})).verdict == verdict


@pytest.mark.parametrize("rule", ["k-seq", "traversal", "hierarchical"])
def test_other_code_is_judged_by_both_measures_and_undecided_between_them(rule):
    problem = problem_of(rule)
    found = measured(problem, "float32", [ANSWER])
    assert found.tolerance < found.explained and "theorem_of" not in found.rounding
    between = moved(output_law(problem, tree_reference(rule)), (found.tolerance + found.explained) / 2)
    assert lossless(replace(found, blocks={(): between})).verdict == NO_EVIDENCE


@pytest.fixture(scope="module", params=["float64", "float32"])
def sandbox(request):
    with Sandbox("", dtype=request.param) as box:
        yield box


@pytest.mark.parametrize(
    ("kind", "children"), [("generic", (2,)), pytest.param("equal", (2, 1), marks=pytest.mark.long)]
)
@pytest.mark.parametrize("rule", IN_FLOATS)
def test_the_rule_in_floating_point_is_within_its_theorem_and_a_biased_one_is_not(sandbox, rule, kind, children):
    """By interception of the code that an audit runs."""
    sandbox.load(f"draftproof.verifiers.trees.in_floats:{rule.replace('-', '_')}", [toy(1)])
    problem = drafted(rule, drawn(3, len(children), kind), *children)
    law = measured(problem, sandbox.dtype, sandbox.law(problem), own_rule=rule)
    assert law.known and lossless(law).holds, (problem.name, law.reason)
    assert lossless(law).total_variation < law.tolerance < EPSILON[sandbox.dtype] * 1_000
    assert lossless(replace(law, blocks={(): moved(law.outputs(), 1.5 * law.tolerance)})).refuted


def test_a_rule_is_run_in_floating_point_where_a_precision_is_asked_for():
    assert subject_from("k-seq", dtypes=("float32",)).own_rule == "k-seq"
    with pytest.raises(InputError, match=r"its exact distribution; .*--dtype float32"):
        subject_from("k-seq")
    assert subject_from("judge", dtypes=("float32",)).own_rule is None
    with pytest.raises(InputError, match=r"law greedy-multi-path shows its exact distribution; no audit"):
        subject_from("greedy-multi-path", dtypes=("float32",))


@pytest.mark.parametrize("rule", TREE_REFERENCES.values(), ids=TREE_REFERENCES.keys())
def test_a_rule_that_cannot_be_audited_is_not_called_proved_and_a_lossy_one_is_called_so(rule):
    with pytest.raises(InputError) as error:
        subject_from(rule.name)
    assert "proved" not in str(error.value) and ("a lossy one" in str(error.value)) == (not rule.lossless)
