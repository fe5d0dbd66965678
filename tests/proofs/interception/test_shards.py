"""The best of the winners of several races: right samplers over shards have a law, wrong ones another or none."""

import pytest

pytest.importorskip("torch")

from draftproof.proofs.audit_claims import lossless
from draftproof.tests.choices import long_unless
from draftproof.tests.proofs.interception.one_call import measure_one_call
from draftproof.tests.proofs.interception.test_torch_interception import FILE as DRAWS
from draftproof.tests.subjects import shards

pytestmark = [pytest.mark.interception, pytest.mark.engine]
FILE = DRAWS.with_name("shards.py")
ROW = "1/10", "2/5", "1/5", "1/10", "1/5"


def names(group):
    return [name for name, function in vars(shards).items() if function in getattr(shards, group)]


@pytest.fixture
def sandbox(torch_child):
    return torch_child("float64")


def measure(sandbox, name):
    return measure_one_call(sandbox, f"{FILE}:{name}", *ROW)


@pytest.mark.parametrize("name", long_unless(names("RIGHT"), {"in_two_levels"}))
def test_the_best_of_the_winners_is_the_best_of_all(sandbox, name):
    found = measure(sandbox, name)
    assert found.known, found.reason
    assert lossless(found).verdict == "holds"
    assert found.explained < 1e-9


@pytest.mark.parametrize("name", long_unless(names("REFUTED"), {"fresh_noise_for_the_winners"}))
def test_a_wrong_law_is_refuted(sandbox, name):
    assert lossless(measure(sandbox, name)).verdict == "refuted"


@pytest.mark.parametrize("name", long_unless(names("NOT_KNOWN"), {"mass_of_the_shard_on_its_winner", "capped_noise"}))
def test_winners_that_depend_on_their_scores_or_on_each_other_have_no_law(sandbox, name):
    found = measure(sandbox, name)
    assert not found.known
    assert any(why in str(found.reason) for why in ("no closed form", "one random number runs for two contestants"))
