"""Wrong verifiers written to be cleared are not; what no audit can see is, and is documented; odd right ones are
cleared."""

from pathlib import Path

import pytest

import draftproof
from draftproof.models.battery import toy
from draftproof.models.wide import WideProblem, wide
from draftproof.proofs.audit_claims import judge, lossless
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.laws.wide_measurement import measured_wide
from draftproof.proofs.sandbox import Sandbox
from draftproof.reports.audits import api
from draftproof.tests.deceivers import catalogue, problems

pytestmark = pytest.mark.interception
FOLDER = Path(__file__).parent


def audit(name, problems, **settings):
    """Audit in one dtype, without a witness that is smaller."""
    return api.audit(subject(name), problems, dtypes=["float64"], explain=False, **settings)


def subject(name):
    file, _, function = name.partition(":")
    return f"{FOLDER / file}.py:{function}"


def cases(deceivers, long=False):
    """Cases of a test; where they are long, all but the first of each file for ``make deceivers``."""
    seen, found = {"hidden"}, []  # as those of memory
    for one in deceivers:
        file = one.function.partition(":")[0]
        marks = [pytest.mark.deceiver] if one.long or (long and file in seen) else []
        seen.add(file)
        found.append(pytest.param(one, id=one.function, marks=marks))
    return found


def law(sandbox, name, problem):
    """The measured law of a deceiver, and what it says of losslessness."""
    if isinstance(problem, WideProblem):
        sandbox.load(subject(name), [toy(1)])
        measurement = measured_wide(problem, "float64", sandbox.law(problem, every_id=True))
        return measurement, judge(measurement)[0]
    sandbox.load(subject(name), [problem])
    measurement = measured(problem, "float64", sandbox.law(problem))
    return measurement, lossless(measurement)


@pytest.mark.parametrize("deceiver", cases(catalogue.BY_LAW))
def test_a_deceiver_has_no_law_or_one_that_refutes_it_by_as_much_as_it_is_wrong(sandbox, deceiver):
    measurement, evidence = law(sandbox, deceiver.function, deceiver.on)
    if not measurement.known:
        assert deceiver.says == catalogue.NOT_CLEARED, measurement.reason
        return
    assert evidence.refuted
    assert evidence.total_variation == pytest.approx(deceiver.wrong, rel=0.02)


@pytest.mark.parametrize("deceiver", cases(catalogue.BY_AUDIT, long=True))
def test_a_deceiver_is_not_cleared_by_an_audit_unless_no_audit_can_see_it(deceiver):
    report = audit(deceiver.function, [deceiver.on], samples=2000)
    assert report.verdict in deceiver.says, report.failure
    if deceiver.says == catalogue.REFUTED:
        worst = max(e.total_variation for e in report.evidence if e.claim == "lossless" and e.refuted)
        assert worst == pytest.approx(deceiver.wrong, rel=0.02)


def test_the_capped_race_is_not_cleared_in_torch_either(torch_child):
    measurement, evidence = law(torch_child(), "races:capped_in_torch", problems.SIX_FOUR)
    assert not measurement.known or evidence.refuted


QUICK = ("gumbel_with_epsilon", "cache_by_content", "tournament", "logs_by_environment", "counts_its_calls")
"""Odd right verifiers that every run of the tests audits."""


def odd(name, *more):
    return pytest.param(name, *more, marks=[] if name in QUICK else pytest.mark.deceiver)


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("random_by_itself", None),
        odd("needs_one_after_all", "optional-generator"),
        odd("refuses_gaps", None),
        odd("result_in_a_buffer", "result-overwritten"),
    ],
)
def test_a_right_verifier_is_cleared_however_it_is_called_and_what_callers_have_to_know_is_said(name, finding):
    report = audit(f"arguments:{name}", [problems.GENERIC_3_1], samples=2000)
    assert report.verdict == "holds", report.failure
    assert report.findings.keys() == ({finding} if finding else set())
    without = [e for e in report.evidence if e.problem and e.problem.endswith("-no-generator")]
    assert bool(without) == (name == "random_by_itself")


WITHHELD = {
    "logs_by_environment", "counts_its_calls", "rejection_loop", "bits_of_a_double",
}  # fmt: skip
"""What it reads or keeps could decide, for all that is known, or it has no law: never refuted, not called exact."""


@pytest.mark.parametrize("name", [odd(name) for name in catalogue.ODD])
def test_a_right_verifier_that_looks_odd_is_cleared_or_inconclusive_where_it_reads_its_surroundings(name):
    report = audit(f"odd:{name}", [problems.GENERIC_3_1], samples=2000)
    assert report.verdict == ("inconclusive" if name in WITHHELD else "holds"), report.failure
    assert name not in WITHHELD or report.findings.keys() <= {"surroundings", "state"}


NO_LAW = (
    ("odd:bits_of_a_double", problems.GENERIC_3_2, "whole numbers"),
    ("odd:rejection_loop", problems.FOUR, "draws without bound"),
)
"""Right verifiers in styles that no surveyed engine has: they have no law, and the reason says why."""


@pytest.mark.parametrize(("name", "problem", "why"), NO_LAW)
def test_a_right_verifier_in_a_style_that_is_not_followed_has_no_law_and_the_reason(sandbox, name, problem, why):
    measurement, evidence = law(sandbox, name, problem)
    assert (evidence.verdict, measurement.known) == ("no-evidence", False)
    assert why in measurement.reason


def test_paths_on_which_two_numbers_are_at_an_end_of_their_range_are_left_out_of_long_blocks(sandbox):
    """log(u) < 0 is asked at each of twelve positions, and where u is 0 nothing is otherwise: 4,096 paths and more."""
    measurement, evidence = law(sandbox, "odd:log_space", wide(8, 12))
    assert (evidence.verdict, measurement.exactness) == ("holds", "lattice"), measurement.reason
    assert measurement.paths < 120 and 0 < measurement.not_called < 1e-20


def test_arrays_of_a_process_with_other_surroundings_have_gaps_unless_they_are_refused():
    for name, verdict in (("layout_mistaken", "refuted"), ("refuses_gaps", "holds")):
        with Sandbox(subject(f"arguments:{name}"), elsewhere={}) as there:
            there.start([problems.GENERIC_3_1])
            answers = there.law(problems.GENERIC_3_1)
            assert lossless(measured(problems.GENERIC_3_1, "float64", answers)).verdict == verdict


def test_settings_that_are_read_at_import_are_named(sandbox):
    found = sandbox.load(subject("surroundings:with_a_setting"), [toy(1)])["findings"]
    assert "VERIFY_FAST (surroundings.py:" in found["settings"] and found["settings"].count("(") == 1
    assert "settings" not in sandbox.load(subject("odd:log_space"), [toy(1)])["findings"]


def test_what_no_audit_can_see_is_in_the_documentation():
    page = Path(draftproof.__file__).parent / "docs" / "blind-spots.md"
    if not page.exists():
        pytest.skip("the documentation is not in the wheel")
    text = page.read_text(encoding="utf-8")
    unseen = [d.function.partition(":")[2] for d in catalogue.BY_AUDIT if d.says == catalogue.UNSEEN]
    assert [name for name in unseen if f"`{name}`" not in text] == []
