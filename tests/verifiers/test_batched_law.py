"""The batched verifiers by interception: their exact law is the reference's, and planted bugs change it."""

from pathlib import Path

import pytest

from draftproof.models.battery import audit_battery, drawn, toy
from draftproof.models.rationals import as_float
from draftproof.proofs.laws.reference_laws import output_law, total_variation
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.rounding.rounding_allowed import rounding_allowed
from draftproof.proofs.sandbox import Sandbox
from draftproof.tests.choices import long_unless
from draftproof.verifiers.registry import reference

pytestmark = [pytest.mark.interception, pytest.mark.engine]
FILE = Path(__file__).parents[1] / "subjects" / "batched.py"
ALGORITHM = {"token": "token", "block": "block", "greedy": "greedy-block"}
TELLING = [toy(2), drawn(3, 1, "disjoint"), drawn(2, 2, "equal"), drawn(3, 2, "mixed"), drawn(3, 2, "zeros")]


@pytest.fixture(scope="module", params=long_unless(("float64", "float32", "bfloat16"), {"bfloat16"}))
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


@pytest.mark.parametrize("name", long_unless(("token_logits", "block_logits", "greedy_logits"), {"block_logits"}))
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
    "name",
    [
        pytest.param(f"{algorithm}_{bug}", marks=() if algorithm == "block" else pytest.mark.long)
        for algorithm in ("token", "block", "greedy")
        for bug in ("next_row", "row_before", "noise", "without_survival", "coins")
        if (algorithm, bug) not in {("token", "without_survival"), ("token", "coins")}
    ],
)
def test_a_planted_bug_changes_the_law(exact, name):
    assert not equal_in_law(exact, name, TELLING)
