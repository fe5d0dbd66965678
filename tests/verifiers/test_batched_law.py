"""The batched verifiers by interception: their exact law is the reference's, and planted bugs change it."""

from collections import Counter
from pathlib import Path

import pytest

from draftproof.models.battery import drawn, toy
from draftproof.models.rationals import as_float
from draftproof.proofs.enumeration import law_of
from draftproof.proofs.laws.reference_laws import output_law, total_variation
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.rounding.rule import rounding_allowed
from draftproof.proofs.sandbox import Sandbox
from draftproof.verifiers.registry import reference

pytestmark = [pytest.mark.interception, pytest.mark.engine]
FILE = Path(__file__).parents[1] / "subjects" / "batched.py"
ALGORITHM = {"token": "token", "block": "block", "greedy": "greedy-block"}
TELLING = [
    toy(2), drawn(3, 1, "disjoint"), drawn(2, 2, "equal"), drawn(3, 2, "mixed"), drawn(3, 2, "zeros"),
    drawn(3, 2, "generic"),
]  # fmt: skip
PAIRS = [toy(1), drawn(3, 1, "generic"), drawn(2, 2, "generic")]


@pytest.fixture(scope="module", params=["float64", "bfloat16"])
def sandbox(request):
    with Sandbox("", "torch", request.param, timeout=120, torch=True) as box:
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
    return all(
        as_float(total_variation(found.outcomes(), output_law(found.in_use, verifier_of(name)))) <= allowed(found, name)
        for found in measurements(sandbox, name, problems)
    )


def joint_law(found, verifier, drafted):
    """The law of a block and its mirror image, verified independently, as the pair subjects tell it."""
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


@pytest.mark.parametrize(
    "name", ["token_logits", "block_logits", "greedy_logits", "block", "block_waits", "token_chunks"]
)
def test_the_law_is_the_law_of_the_reference_as_on_cuda_and_in_narrow_chunks_too(sandbox, name):
    assert equal_in_law(sandbox, name, TELLING if name.endswith("logits") else TELLING[:4])


def test_the_members_of_a_batch_are_independent_and_noise_shared_in_it_is_seen(sandbox):
    assert independent_and_equal_in_law(sandbox, "block_pair", PAIRS)
    assert not independent_and_equal_in_law(sandbox, "block_pair_noise", PAIRS)


@pytest.mark.parametrize("name", ["block_next_row", "token_noise", "greedy_without_survival", "block_coins"])
def test_a_planted_bug_changes_the_law(sandbox, name):
    assert not equal_in_law(sandbox, name, TELLING)
