"""What tests of the laws of a step share."""

import pytest

from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.sandbox import Sandbox


@pytest.fixture(scope="module")
def emitted_by():
    """The law of what a verifier of the zoo emits, given each draft block or tree."""
    with Sandbox("", dtype="float64", array="numpy") as sandbox:

        def laws(subject, problem):
            sandbox.load(subject, [problem])
            return measured(problem, "float64", sandbox.law(problem)).blocks

        yield laws
