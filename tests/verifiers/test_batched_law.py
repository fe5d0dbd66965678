"""The batched verifiers by interception: their exact law is the reference's, and planted bugs change it."""

from collections import Counter
from pathlib import Path

import pytest

from draftproof.models.battery import audit_battery, drawn, toy
from draftproof.models.rationals import as_float
from draftproof.models.tree_battery import drawing
from draftproof.proofs.enumeration import law_of
from draftproof.proofs.laws.reference_laws import output_law, total_variation
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.rounding.rule import rounding_allowed
from draftproof.proofs.sandbox import Sandbox
from draftproof.verifiers.registry import reference
from draftproof.verifiers.trees.registry import tree_reference

pytestmark = [pytest.mark.interception, pytest.mark.engine]
FILE = Path(__file__).parents[1] / "subjects" / "batched.py"
ALGORITHM = {"token": "token", "block": "block", "greedy": "greedy-block"}
TELLING = [
    toy(2),
    drawn(3, 1, "disjoint"),
    drawn(2, 2, "equal"),
    drawn(3, 2, "mixed"),
    drawn(3, 2, "zeros"),
    drawn(3, 2, "generic"),
]
PAIRS = [toy(1), drawn(3, 1, "generic"), drawn(2, 2, "generic")]


@pytest.fixture(scope="module", params=["float64", pytest.param("float32", marks=pytest.mark.long), "bfloat16"])
def sandbox(request):
    with Sandbox("", "torch", request.param, timeout=120, torch=True) as box:
        yield box


@pytest.fixture(scope="module")
def exact():
    with Sandbox("", "torch", "float64", timeout=120, torch=True) as box:
        yield box


def measurements(sandbox, name, problems):
    sandbox.load(f"{FILE}:{name}", [toy(1), drawn(3, 2, "generic")])
    for problem in problems:
        found = measured(problem, sandbox.dtype, sandbox.law(problem))
        assert found.known, (name, problem.name, found.reason)
        yield found


def verifier_of(name):
    return reference(ALGORITHM[name.split("_")[0]])


def allowed(found, name):
    """Logits are worked on in float32 at least, whatever their type: held to that type's rounding."""
    finer = found.dtype == "bfloat16" and name.endswith("_logits")
    return rounding_allowed(found.problem.gamma, "float32") if finer else found.tolerance


def equal_in_law(sandbox, name, problems):
    """Whether the measured law of (X^tau, Y) is the reference's on the rows in use, up to rounding, on all problems."""
    for found in measurements(sandbox, name, problems):
        expected = output_law(found.in_use, verifier_of(name))
        if as_float(total_variation(found.outcomes(), expected)) > allowed(found, name):
            return False
    return True


def joint_law(found, verifier, drafted):
    """Of a block and its mirror image, verified independently, as the pair subjects tell it."""
    block, joint = found.in_use.block(drafted), Counter()
    law = law_of(lambda chance: verifier.verify(block, chance).tokens(block))

    def outcome_of(tokens):
        return (len(tokens) - 1, *tokens, *[-1] * (block.gamma + 1 - len(tokens)))

    for tokens, p in law.items():
        for others, q in law.items():
            mirrored = tuple(found.problem.vocabulary - 1 - token for token in others)
            joint[outcome_of(tokens) + outcome_of(mirrored)] += p * q
    return joint


def independent_and_equal_in_law(sandbox, name, problems):
    """Whether both members of a batch of two follow the reference's law, each for itself."""
    return all(
        as_float(total_variation(law, joint_law(found, verifier_of(name), drafted))) <= 2 * found.tolerance
        for found in measurements(sandbox, name, problems)
        for drafted, law in found.blocks.items()
    )


@pytest.mark.parametrize("name", ["token_logits", "block_logits", "greedy_logits"])
def test_the_law_is_the_law_of_the_reference(sandbox, name):
    assert equal_in_law(sandbox, name, TELLING)


@pytest.mark.long
@pytest.mark.parametrize("name", ["token_logits", "block_logits", "greedy_logits"])
def test_so_it_is_on_the_whole_battery(sandbox, name):
    assert equal_in_law(sandbox, name, audit_battery())


@pytest.mark.parametrize(
    "name",
    [
        *("block", "greedy_torch", "block_waits", "token_chunks"),
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in ("token", "greedy", "token_torch", "block_torch", "greedy_waits", "block_chunks")
        ),
    ],
)
def test_so_it_is_for_probabilities_without_numba_as_on_cuda_and_in_narrow_chunks(sandbox, name):
    assert equal_in_law(sandbox, name, TELLING[:4])


@pytest.mark.parametrize(
    "name", ["block_pair", *(pytest.param(name, marks=pytest.mark.long) for name in ("token_pair", "greedy_pair"))]
)
def test_the_members_of_a_batch_are_independent_and_follow_their_own_law(sandbox, name):
    assert independent_and_equal_in_law(sandbox, name, PAIRS)


TWO_PATHS = [
    drawing(drawn(3, 1, "generic"), 2),
    drawing(drawn(2, 2, "zeros"), 2, 1),
    drawing(drawn(3, 1, "peaked"), 3),
    drawing(drawn(3, 2, "mixed"), 2, 1),
]


def off_the_rule(exact, name, problem):
    rule = tree_reference(name.removeprefix("paths_").removesuffix("_target").replace("_", "-"))
    exact.load(f"{FILE}:{name}", [toy(1)])
    found = measured(problem, "float64", exact.law(problem))
    assert found.known, found.reason
    return as_float(total_variation(found.outcomes(), output_law(found.in_use, rule)))


@pytest.mark.long
def test_a_rule_of_several_paths_has_the_law_of_its_reference_and_with_a_planted_bug_another(exact):
    assert off_the_rule(exact, "paths_spec_infer", TWO_PATHS[0]) < 1e-14
    assert off_the_rule(exact, "paths_spec_infer_target", TWO_PATHS[0]) > 1e-3


@pytest.mark.long
@pytest.mark.parametrize("name", ["paths_spec_infer", "paths_k_seq"])
@pytest.mark.parametrize("problem", TWO_PATHS, ids=lambda p: p.name)
def test_rules_of_several_paths_have_the_law_of_their_reference(exact, name, problem):
    assert off_the_rule(exact, name, problem) < 1e-14


@pytest.mark.parametrize(
    "name",
    [
        f"{algorithm}_{bug}"
        for algorithm in ("token", "block", "greedy")
        for bug in ("next_row", "row_before", "noise", "without_survival", "coins")
        if (algorithm, bug) not in {("token", "without_survival"), ("token", "coins")}
    ],
)
def test_a_planted_bug_changes_the_law(exact, name):
    assert not equal_in_law(exact, name, TELLING)


@pytest.mark.parametrize("name", ["token_pair_noise", "block_pair_noise", "greedy_pair_noise"])
def test_noise_shared_in_the_batch_is_seen(exact, name):
    assert not independent_and_equal_in_law(exact, name, PAIRS)
