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

pytestmark = [pytest.mark.interception, pytest.mark.engine]
FILE = Path(__file__).parents[1] / "subjects" / "batched.py"
NAMES = "batched-token", "batched-block", "batched-greedy-block"
TELLING = [toy(2), drawn(3, 1, "disjoint")]
SEEN, SEEN_OF_THREE = drawn(2, 2, "generic"), drawn(3, 1, "generic")


def verdicts(report, claim):
    return {e.verdict for e in report.evidence if e.claim == claim}


def judged(name, modifies_target, **settings):
    """The report on a subject of the tests, judged as a valid verifier or as one that modifies the target."""
    spec = subject_from(f"{FILE}:{name}", "torch", ("float64",))._replace(modifies_target=modifies_target)
    problem = SEEN_OF_THREE if "noise" in name else SEEN
    return run_audit(spec, AuditSettings(problems=[problem], explain=False, **settings))


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "problems"),
    [("batched-block", TELLING[:1]), *(pytest.param(name, TELLING, marks=pytest.mark.long) for name in NAMES)],
)
def test_the_audit_finds_them_lossless_in_every_precision(name, problems):
    report = audit(name, problems, claims=("lossless", "support"), explain=False)
    assert report.subject["dtypes"] == ["float64", "float32", "bfloat16"]
    assert report.verdict == "holds", report.failure
    assert {e.detail.dtype for e in report.evidence} == set(report.subject["dtypes"])
    assert {e.detail.exactness for e in report.evidence} <= {"exact", "lattice"}
    expected = {"token": {"holds", "refuted"}, "block": {"holds"}, "greedy-block": {"not-claimed"}}
    assert verdicts(report, "optimal") == expected[name.removeprefix("batched-")]


@pytest.mark.parametrize(
    "name",
    [
        "block_coins",
        *(pytest.param(x, marks=pytest.mark.long) for x in ("token_next_row", "block_noise", "block_next_row")),
    ],
)
def test_a_planted_bug_is_refuted(name):
    assert judged(name, modifies_target=False).verdict == "refuted"


@pytest.mark.parametrize(
    "name",
    ["greedy_coins", "block", *(pytest.param(f"greedy_{x}", marks=pytest.mark.long) for x in ("next_row", "noise"))],
)
def test_so_it_is_where_the_target_is_modified_and_a_verifier_that_must_not_be_followed_by_it_is_too(name):
    assert judged(name, modifies_target=True).verdict == "refuted"


@pytest.mark.long
def test_where_the_target_is_modified_greedy_block_verification_is_lossless():
    assert judged("greedy", modifies_target=True).verdict == "holds"


def test_greedy_block_verification_whose_modification_is_forgotten_is_refuted_on_the_papers_example_by_a_ninth():
    report = audit(f"{FILE}:greedy", [toy(2)], explain=False)
    (found,) = (e for e in report.evidence if e.claim == "lossless")
    assert report.verdict == found.verdict == "refuted"
    assert found.total_variation == pytest.approx(1 / 9, abs=1e-12)


@pytest.mark.parametrize("modifies_target", [pytest.param(True, marks=pytest.mark.long), False])
def test_samples_of_it_are_completed_by_the_modified_target_too(modifies_target):
    report = judged("greedy", modifies_target, levels=("statistical",), samples=5_000)
    assert (report.verdict == "refuted") == (not modifies_target), report.failure
    assert {e.method for e in report.evidence if e.claim == "lossless" and e.witness} <= {"chi-square"}


@pytest.mark.parametrize("name", [*(f"{name}-together" for name in NAMES), f"{FILE}:block_of_the_first_row"])
def test_many_requests_in_one_call_do_not_influence_each_other_and_if_they_do_it_is_seen(name, monkeypatch):
    monkeypatch.setattr(batches, "ROUNDS", 3)
    subject = DrivenObject(load(subject_from(name).target), name, "torch", "float32", TimeLimits(60.0))
    answer = batches.influences(subject, PROBLEMS, seed=0)
    right = name in ADAPTERS
    assert bool(answer["influenced"]) != right
    assert not right or [*answer["tried"].values()] == [3] * 4


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_with_many_requests_in_one_call_the_law_is_lossless(name):
    spec = subject_from(f"{name}-together")._replace(dtypes=("float32",))
    report = run_audit(spec, AuditSettings(problems=[toy(2)], explain=False))
    assert report.verdict == "holds", report.failure
    assert report.subject["batches"]["others of other lengths"] == "32 batches of 8"
    assert verdicts(report, "optimal") == {"token": {"refuted"}, "block": {"holds"}}.get(name[8:], {"not-claimed"})


def test_a_night_knows_that_it_modifies_the_target():
    from draftproof.reports.audits.nightly.sources import source_of

    for name in NAMES[1:]:
        source = source_of(subject_from(name), "float64", 60.0, 8.0)
        try:
            assert source.modifies_target == (name == "batched-greedy-block")
            counts = source.draw(toy(2), 200, 1)
        finally:
            source.close()
        assert sum(counts.values()) == 200
        assert all(isinstance(tokens, tuple) and 1 <= len(tokens) <= 3 for tokens in counts)


def test_what_is_not_installed_is_named_and_what_no_adapter_is_called_is_told():
    assert not_installed(["json", "no_such_package", "re"]) == ["no_such_package"]
    assert replace(ADAPTERS["batched-block"], packages=("no_such_package",)).missing() == ["no_such_package"]
    with pytest.raises(InputError, match=r"did you mean batched-block\?"):
        subject_from("batched-blok")
