"""Races of one row of noise have the law of one of them, and none where more than one decides what is emitted."""

import pytest

from draftproof.models.battery import drawn
from draftproof.proofs.audit_claims import lossless
from draftproof.proofs.laws.small_measurement import measured
from draftproof.tests.proofs.interception.test_interception import FILE as DRAWS
from draftproof.tests.subjects import shared_noise

pytestmark = pytest.mark.interception
FILE = DRAWS.with_name("shared_noise.py")
SMALL, LARGER = drawn(3, 2, "generic"), drawn(4, 2, "generic")


def names(group):
    return [name for name, function in vars(shared_noise).items() if function in getattr(shared_noise, group)]


def measure(sandbox, name, problem):
    sandbox.load(f"{FILE}:{name}", [problem])
    return measured(problem, "float64", sandbox.law(problem))


@pytest.mark.parametrize(("name", "problem"), [*((name, SMALL) for name in names("RIGHT")), ("all_rows", LARGER)])
def test_the_law_is_that_of_the_race_whose_winner_is_emitted(sandbox, name, problem):
    found = measure(sandbox, name, problem)
    assert found.known, found.reason
    assert lossless(found).verdict == "holds"
    assert found.explained < 1e-9


@pytest.mark.parametrize("name", names("REFUTED"))
def test_a_wrong_law_is_refuted(sandbox, name):
    assert lossless(measure(sandbox, name, SMALL)).verdict == "refuted"


@pytest.mark.parametrize("name", names("SEVERAL"))
def test_where_several_winners_decide_there_is_no_law(sandbox, name):
    found = measure(sandbox, name, LARGER)
    assert not found.known and "one row of noise is used twice" in str(found.reason)
