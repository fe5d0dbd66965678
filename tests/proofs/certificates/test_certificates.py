"""Optimality certificates: exactly tight over the battery, and rejected when anything in them is changed."""

import json
from fractions import Fraction as F

import pytest

from draftproof.models.battery import drawn, toy
from draftproof.models.errors import InputError
from draftproof.models.law import ContextFree
from draftproof.models.problem import Problem, as_json
from draftproof.proofs.certificates import check_coupling, make_coupling
from draftproof.proofs.certificates.check import Rejected, check
from draftproof.proofs.certificates.make import Potential, block_kernel, certificate
from draftproof.proofs.field import in_field
from draftproof.verifiers.registry import reference

pytestmark = pytest.mark.certificate


def text(data):
    return json.dumps(data)


def test_the_paper_example_is_certified_at_eleven_ninths():
    made = certificate(toy(2))
    assert made["expected_accepted"] == "11/9"
    assert check(text(made), as_json(toy(2).tabulated())) == F(11, 9)


def test_a_file_that_was_cut_short_is_rejected():
    whole = text(certificate(toy(2)))
    with pytest.raises(Rejected, match="cut short"):
        check(whole[: len(whole) // 2])


@pytest.mark.parametrize(
    ("said", "instead", "reason"),
    [
        ('"expected_accepted":', '"expected_accepted": "2", "expected_accepted":', "'expected_accepted' comes twice"),
        ('"0,0": "', '"+0,0": "1", "0,0": "', "is not a sequence of tokens"),
        ('"0,0": "', '"٠,0": "1", "0,0": "', "is not a sequence of tokens"),
        ('"gamma": 2', '"gamma": ' + "9" * 5000, "is too long"),
        ('"gamma": 2', '"gamma": 990', "gamma is 990, expected at most 200"),
        ('"gamma": 2', '"gamma": NaN', "NaN is a float"),
        ('"expected_accepted": "11/9"', '"expected_accepted": "' + "9" * 5000 + '"', "claimed"),
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


def test_an_honest_certificate_of_very_long_numbers_passes():
    tiny = F(1, 10**600)
    row, other = (tiny, 1 - tiny), (F(1, 2), F(1, 2))
    problem = Problem(2, 6, ContextFree(row), ContextFree(other), "tiny")
    value = check(text(certificate(problem)))
    assert 0 < value < 6


def test_what_is_too_large_to_be_certified_is_said_at_once():
    for certify in (certificate, make_coupling.certificate):
        with pytest.raises(InputError, match="are too many for a c"):
            certify(toy(20))


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


@pytest.mark.parametrize("problem", [toy(2), drawn(2, 3, "zeros"), drawn(3, 2, "mixed")], ids=lambda p: p.name)
def test_the_bound_on_each_prefix_holds_for_every_verifier_by_multipliers(problem):
    """The checker's argument for Lemma 4, spelled out: [tau >= i, X^i = x] <= slack(X^gamma) + martingale(o), with
    slack = M_b(x | x^j) on blocks that begin with x^j and a martingale that is zero until an output passes x^j."""
    exact = in_field(problem)
    potential = Potential(exact)

    def given(prefix, x):
        """M_b(x | prefix): 1 where the prefix goes beyond x, 0 where it leaves it."""
        mass = exact.target.row(())[0] * 0 + 1
        if prefix[: len(x)] != x[: len(prefix)]:
            return mass * 0
        for n in range(len(prefix), len(x)):
            mass *= exact.target.row(x[:n])[x[n]]
        return mass

    for x in (x for n in range(1, exact.gamma + 1) for x in exact.prefixes(n)):
        j = potential.last_capped(x)

        def martingale(o, x=x, j=j):
            return given(o, x) - given(x[:j], x) if len(o) > j and o[:j] == x[:j] else 0

        for prefix in (o for n in range(exact.gamma + 1) for o in exact.prefixes(n)):
            row = exact.target.row(prefix)
            assert sum(p * martingale((*prefix, t)) for t, p in enumerate(row)) == martingale(prefix)
        for block in block_kernel(exact):
            slack = given(x[:j], x) if block[:j] == x[:j] else 0
            for tau in range(exact.gamma + 1):
                for token in range(exact.vocabulary):
                    kept = tau >= len(x) and block[: len(x)] == x
                    assert int(kept) <= slack + martingale((*block[:tau], token))


def test_the_paper_example_is_coupled_at_four_thirds():
    assert check_coupling.check(text(make_coupling.certificate(toy(2))), as_json(toy(2).tabulated())) == F(4, 3)


def test_a_coupling_that_forgets_the_modified_target_is_no_coupling(monkeypatch):
    """Greedy block verification completed by the target itself (the bias of Appendix C's example)."""
    monkeypatch.setattr(make_coupling, "starts_in_force", lambda *arguments: ())
    with pytest.raises(Rejected, match="its coupling gives the target block"):
        check_coupling.check(text(make_coupling.certificate(toy(2))))
