"""Optimality certificates: exactly tight over the battery, and rejected when anything in them is changed."""

import copy
import json
from fractions import Fraction as F

import pytest

from draftproof.models.battery import drawn, exact_battery, toy
from draftproof.models.errors import InputError
from draftproof.models.law import ContextFree
from draftproof.models.problem import Problem, as_json
from draftproof.proofs.certificates import check_coupling, make_coupling
from draftproof.proofs.certificates.check import Rejected, check
from draftproof.proofs.certificates.linear_program import largest_acceptance
from draftproof.proofs.certificates.make import Potential, block_kernel, certificate
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import expected_accepted, output_law
from draftproof.verifiers.registry import reference

pytestmark = pytest.mark.certificate
SMALL = [p for p in exact_battery() if p.vocabulary**p.gamma <= 130]
WELL_SCALED = [
    p for p in SMALL if p.vocabulary**p.gamma <= 32 and not p.name.startswith(("peaked", "mixed", "markov-mixed"))
]


def text(data):
    return json.dumps(data)


@pytest.mark.parametrize("problem", SMALL, ids=lambda p: p.name)
def test_the_certificate_proves_block_verification_optimal(problem):
    value = expected_accepted(output_law(in_field(problem), reference("block")))
    assert str(check(text(certificate(problem)))) == str(value)


@pytest.mark.parametrize("problem", WELL_SCALED, ids=lambda p: p.name)
def test_the_linear_program_over_all_valid_verifiers_has_the_same_optimum(problem):
    """HiGHS knows nothing of block verification. (Peaked rows are beyond its tolerances; the certificate is exact.)"""
    assert largest_acceptance(problem) == pytest.approx(float(check(text(certificate(problem)))), abs=1e-7)


def test_the_paper_example_is_certified_at_eleven_ninths():
    made = certificate(toy(2))
    assert made["expected_accepted"] == "11/9"
    assert check(text(made), as_json(toy(2).tabulated())) == F(11, 9)


def changed(path, value):
    def tamper(data):
        place = data
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value(place[path[-1]]) if callable(value) else value
        return data

    return tamper


def more(text):
    return str(F(text) + F(1, 1000))


def moved_mass(data):
    """Mass moved from rejecting to accepting: claim, kernel and blocks stay consistent, validity does not."""
    law = data["verifier"]["0,0"]
    law["0,0,0"] = str(F(law["0,0,0"]) + F(1, 100))
    law["1"] = str(F(law["1"]) - F(1, 100))
    return data


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        (changed(["expected_accepted"], "12/9"), "accepts 11/9 tokens, not the 4/3 claimed"),
        (changed(["expected_accepted"], more), "not the"),
        (moved_mass, "not lossless"),
        (changed(["slack", "0,0"], lambda s: str(F(s) - F(1, 1000))), "its bound"),
        (changed(["slack", "0,0"], more), "its bound is"),
        (changed(["martingale", "0,1"], more), "its martingale drifts"),
        (changed(["verifier", "0,0", "1"], more), "does not add up"),
        (changed(["verifier", "0,0"], {"1": "5/9", "0,0,0": "-1/9"}), "negative probability"),
        (changed(["verifier", "0,0"], {"1,1": "4/9"}), "emits (1, 1) on block (0, 0)"),
        (changed(["problem", "target", ""], ["1/2", "1/2"]), "its"),
        (changed(["problem", "target", ""], ["1/2", "1/3"]), "is not a probability row"),
        (changed(["problem", "draft"], {}), "does not have exactly the prefixes"),
        (changed(["slack"], {}), "no slack for block"),
        (changed(["survival", "1,1"], 0), "its verifier keeps (1, 1)"),
        (changed(["survival", "0,0"], 3), "is not a length"),
        (changed(["survival"], {}), "its survival is not given"),
        (changed(["problem", "gamma"], 10**9), "expected at most 200"),
        (changed(["problem", "vocabulary"], 10**6), "does not have exactly the prefixes"),
        (changed(["problem", "vocabulary"], "two"), "not positive whole numbers"),
        (changed(["problem", "gamma"], 0), "not positive whole numbers"),
        (changed(["format"], "other"), "not a certificate"),
        (changed(["slack", "0,0"], 0.5), "is a float"),
        (changed(["slack", "0,0"], "0.5"), "is not a rational"),
        (lambda data: {k: v for k, v in data.items() if k != "slack"}, "its fields are"),
        (lambda data: [data], "not a certificate"),
    ],
)  # fmt: skip
def test_a_tampered_certificate_is_rejected_with_the_reason(tamper, reason):
    data = tamper(copy.deepcopy(certificate(toy(2))))
    with pytest.raises(Rejected) as caught:
        check(text(data))
    assert reason in str(caught.value)


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
    problem = Problem(2, 8, ContextFree(row), ContextFree(other), "tiny")
    value = check(text(certificate(problem)))
    assert 0 < value < 8


def test_what_is_too_large_to_be_certified_is_said_at_once():
    for certify in (certificate, make_coupling.certificate):
        with pytest.raises(InputError, match="are too many for a c"):
            certify(toy(20))


def test_a_certificate_of_another_problem_is_rejected():
    with pytest.raises(Rejected, match="another problem"):
        check(text(certificate(toy(2))), as_json(drawn(2, 2, "generic").tabulated()))


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


@pytest.mark.parametrize("problem", SMALL, ids=lambda p: p.name)
def test_no_coupling_agrees_on_more_tokens_than_greedy_block_verification_accepts(problem):
    """Lemma 10, by the coupling that greedy block verification makes and potentials of the same value."""
    value = expected_accepted(output_law(in_field(problem), reference("greedy-block")))
    assert str(check_coupling.check(text(make_coupling.certificate(problem)))) == str(value)


def test_the_paper_example_is_coupled_at_four_thirds():
    assert check_coupling.check(text(make_coupling.certificate(toy(2))), as_json(toy(2).tabulated())) == F(4, 3)


def moved_coupling(data):
    """Mass moved so that the two sides agree more; the target's side is then another law."""
    law = data["coupling"]["0,0"]
    law["0,0"] = str(F(law["0,0"]) + F(1, 100))
    law["1,1"] = str(F(law["1,1"]) - F(1, 100))
    return data


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        (changed(["expected_accepted"], "3/2"), "agrees on 4/3 tokens, not on the 3/2 claimed"),
        (moved_coupling, "its coupling gives the target block"),
        (changed(["coupling", "0,0"], {"0,0": "4/9", "1,1": "-1/9"}), "negative probability"),
        (changed(["coupling", "0,0"], {"0,0,0": "4/9"}), "is not a block of 2 tokens"),
        (changed(["coupling"], []), "coupling is not a table"),
        (changed(["draft_potential", "0,0"], "-1"), "its bound fails on the draft block (0, 0)"),
        (changed(["target_potential", "1,1"], "3"), "its bound is"),
        (changed(["target_potential"], {}), "its potentials are not given"),
        (changed(["problem", "target", "", ], ["1/2", "1/2"]), "its coupling gives the target block"),
        (changed(["format"], "draftproof-certificate/2"), "not a certificate of the form draftproof-coupling/1"),
    ],
)  # fmt: skip
def test_a_tampered_coupling_is_rejected_with_the_reason(tamper, reason):
    data = tamper(copy.deepcopy(make_coupling.certificate(toy(2))))
    with pytest.raises(Rejected) as caught:
        check_coupling.check(text(data))
    assert reason in str(caught.value)


def test_a_coupling_that_forgets_the_modified_target_is_no_coupling(monkeypatch):
    """Greedy block verification completed by the target itself (the bias of Appendix C's example)."""
    monkeypatch.setattr(make_coupling, "starts_in_force", lambda *arguments: ())
    with pytest.raises(Rejected, match="its coupling gives the target block"):
        check_coupling.check(text(make_coupling.certificate(toy(2))))
