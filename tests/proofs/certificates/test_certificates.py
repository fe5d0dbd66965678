"""Optimality certificates: exactly tight over the battery, and rejected when anything in them is changed."""

import json
from fractions import Fraction as F

import pytest

from draftproof.models.battery import toy
from draftproof.models.problem import as_json
from draftproof.proofs.certificates import check_coupling, make_coupling
from draftproof.proofs.certificates.check import Rejected, check
from draftproof.proofs.certificates.make import certificate
from draftproof.proofs.field import in_field
from draftproof.verifiers.registry import reference

pytestmark = pytest.mark.certificate


def text(data):
    return json.dumps(data)


def test_the_paper_example_is_certified_at_eleven_ninths():
    made = certificate(toy(2))
    assert made["expected_accepted"] == "11/9"
    assert check(text(made), as_json(toy(2).tabulated())) == F(11, 9)


@pytest.mark.parametrize(
    ("said", "instead", "reason"),
    [
        ('"expected_accepted":', '"expected_accepted": "2", "expected_accepted":', "'expected_accepted' comes twice"),
        ('"0,0": "', '"+0,0": "1", "0,0": "', "is not a sequence of tokens"),
        ('"gamma": 2', '"gamma": ' + "9" * 5000, "is too long"),
        ('"0,0": "', '"' + "9" * 5000 + '": "1", "0,0": "', "a token of more than 18 digits"),
        ('"gamma": 2', '"gamma": NaN', "NaN is a float"),
        ('"gamma": 2', '"gamma": ', "cut short"),
        ('"expected_accepted": "11/9"', '"expected_accepted": ' + "[" * 100_000, "nested too deeply"),
        ('"": ["1/3", "2/3"]', '"": {"1/3": 0, "2/3": 0}', "is not a table of rows"),
    ],
)  # fmt: skip
def test_a_file_that_shows_a_reader_something_else_or_is_out_of_all_size_is_rejected(said, instead, reason):
    whole = text(certificate(toy(2)))
    assert said in whole
    with pytest.raises(Rejected) as caught:
        check(whole.replace(said, instead, 1))
    assert reason in str(caught.value)


def test_a_rule_that_accepts_less_cannot_be_certified():
    """The verifier in the file replaced by token verification: valid, but its value is not the bound's."""
    from draftproof.proofs.enumeration import law_of

    problem, data = in_field(toy(2)), certificate(toy(2))
    for key in data["verifier"]:
        block = problem.block(tuple(map(int, key.split(","))))
        mass = sum(map(F, data["verifier"][key].values()))
        law = law_of(lambda chance, b=block: reference("token").verify(b, chance).tokens(b))
        data["verifier"][key] = {",".join(map(str, o)): str(mass * F(str(p))) for o, p in law.items()}
    data["expected_accepted"] = "10/9"
    with pytest.raises(Rejected, match="its bound is 11/9, not the 10/9 claimed"):
        check(text(data))


def test_the_paper_example_is_coupled_at_four_thirds():
    assert check_coupling.check(text(make_coupling.certificate(toy(2))), as_json(toy(2).tabulated())) == F(4, 3)


def test_a_coupling_that_forgets_the_modified_target_is_no_coupling(monkeypatch):
    """Greedy block verification completed by the target itself (the bias of Appendix C's example)."""
    monkeypatch.setattr(make_coupling, "starts_in_force", lambda *arguments: ())
    with pytest.raises(Rejected, match="its coupling gives the target block"):
        check_coupling.check(text(make_coupling.certificate(toy(2))))
