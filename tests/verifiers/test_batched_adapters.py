"""The batched verifiers as installed adapters: audited by name, greedy block verification as Lemma 8 states it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from draftproof.models.battery import drawn, toy
from draftproof.models.errors import InputError
from draftproof.proofs.driven import batches
from draftproof.proofs.driven.subjects import DrivenObject
from draftproof.proofs.interception.loading import load
from draftproof.proofs.time_limits import TimeLimits
from draftproof.reports.audits.api import audit
from draftproof.reports.audits.functions.audit import run_audit
from draftproof.reports.audits.functions.batch_influence import PROBLEMS
from draftproof.reports.audits.settings import AuditSettings
from draftproof.reports.audits.subject import subject_from
from draftproof.verifiers.adapters.registry import ADAPTERS, not_installed

pytestmark = [pytest.mark.interception, pytest.mark.engine, pytest.mark.usefixtures("brief_audits")]
FILE = Path(__file__).parents[1] / "subjects" / "batched.py"
NAMES = "batched-token", "batched-block", "batched-greedy-block"
TELLING = [toy(2), drawn(3, 1, "disjoint")]


def verdicts(report, claim):
    return {e.verdict for e in report.evidence if e.claim == claim}


def judged(name, modifies_target, **settings):
    """The report on a subject of the tests, judged as a valid verifier or as one that modifies the target."""
    spec = subject_from(f"{FILE}:{name}", "torch", ("float64",))._replace(modifies_target=modifies_target)
    return run_audit(spec, AuditSettings(problems=[drawn(2, 2, "generic")], explain=False, **settings))


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_the_audit_finds_them_lossless_in_every_precision(name):
    report = audit(name, TELLING, claims=("lossless", "support"), explain=False)
    assert report.verdict == "holds", report.failure
    assert {e.detail.dtype for e in report.evidence} == {"float64", "float32", "bfloat16"}
    assert {e.detail.exactness for e in report.evidence} <= {"exact", "lattice"}
    expected = {"token": {"holds", "refuted"}, "block": {"holds"}, "greedy-block": {"not-claimed"}}
    assert verdicts(report, "optimal") == expected[name.removeprefix("batched-")]


@pytest.mark.parametrize(
    ("name", "modifies_target", "verdict"),
    [
        pytest.param("block_coins", False, "refuted", marks=pytest.mark.long),
        ("greedy_coins", True, "refuted"),
        ("block", True, "refuted"),  # that must not be followed by the modified target
        pytest.param("greedy_next_row", True, "refuted", marks=pytest.mark.long),
        pytest.param("greedy", True, "holds", marks=pytest.mark.long),
    ],
)
def test_a_planted_bug_is_refuted_where_the_target_is_modified_too(name, modifies_target, verdict):
    assert judged(name, modifies_target).verdict == verdict


def test_greedy_block_verification_whose_modification_is_forgotten_is_refuted_on_the_papers_example_by_a_ninth():
    report = audit(f"{FILE}:greedy", [toy(2)], dtypes=["float64"], explain=False)
    (found,) = (e for e in report.evidence if e.claim == "lossless")
    assert report.verdict == found.verdict == "refuted"
    assert found.total_variation == pytest.approx(1 / 9, abs=1e-12)


def test_many_requests_in_one_call_do_not_influence_each_other(monkeypatch):
    name = "batched-block-together"
    monkeypatch.setattr(batches, "ROUNDS", 1)
    subject = DrivenObject(load(subject_from(name).target), name, "torch", "float32", TimeLimits(60.0))
    answer = batches.influences(subject, PROBLEMS, seed=0)
    assert not answer["influenced"] and [*answer["tried"].values()] == [1] * 5


def test_a_night_knows_that_it_modifies_the_target():
    from draftproof.reports.audits.nightly.sources import source_of

    for name in NAMES[1:]:
        source = source_of(subject_from(name), "float64", 60.0, 8.0)
        try:
            assert source.modifies_target == (name == "batched-greedy-block")
            assert sum(source.draw(toy(2), 200, 1).values()) == 200
        finally:
            source.close()


def test_what_is_not_installed_is_named_and_what_no_adapter_is_called_is_told():
    assert not_installed(["json", "no_such_package", "re"]) == ["no_such_package"]
    assert replace(ADAPTERS["batched-block"], packages=("no_such_package",)).missing() == ["no_such_package"]
    with pytest.raises(InputError, match=r"did you mean batched-block\?"):
        subject_from("batched-blok")
