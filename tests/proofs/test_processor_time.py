"""The processor time of an audit: what it counts, and that what it does not reach is neither cleared nor refuted."""

import itertools
import math
import subprocess
import sys

import pytest

from draftproof.models.battery import drawn, toy
from draftproof.models.errors import RunFailed
from draftproof.proofs import time_limits
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.sandbox import Sandbox
from draftproof.proofs.time_limits import NOT_REACHED, ProcessorTime, TimeLimits, out_of_time
from draftproof.reports.audits.api import audit
from draftproof.reports.audits.functions import exact_laws
from draftproof.reports.audits.functions.session import TOO_LONG
from draftproof.reports.commands.exit_status import INCONCLUSIVE, of_verdict
from draftproof.reports.pages.sarif import sarif
from draftproof.tests.subjects import driven

pytestmark = pytest.mark.interception
RIGHT = "draftproof.verifiers.zoo.controls:gumbel_race"
PROBLEMS = [toy(1), drawn(6, 3, "generic")]


def test_the_time_of_children_counts_while_they_live_and_after():
    time = ProcessorTime(1e6)
    busy = "n = 0\nwhile n < 4_000_000: n += 1\nprint(flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        while_it_lives = time.spent()
        child.communicate(b"\n")
    assert 0.02 < while_it_lives <= time.spent() + 0.02
    assert time.left(0.5) < 5e5 - while_it_lives + 0.02
    assert ProcessorTime().left(0.1) == math.inf
    assert ProcessorTime(1e-9).left() == 0


def test_every_limit_follows_the_option_and_allows_waiting():
    limits = TimeLimits(60.0)
    assert (limits.first_call, limits.call) == (30.0, 10.0)
    assert limits.wall_clock(limits.timeout) == 720.0
    assert limits.within(limits.call, waited=False) == "within 10 s of processor time (--timeout 60)"
    assert limits.within(None, waited=True) == "within 60 s of wall-clock time (--timeout 60)"


def test_what_is_not_counted_is_no_part_of_it(monkeypatch):
    used = itertools.count(10.0)
    monkeypatch.setattr(time_limits, "_used", lambda: next(used))
    time = ProcessorTime(1e6)
    with time.not_counted():
        next(used)
    assert time.spent() == 2
    next(used)
    assert time.spent() == 4


def test_a_law_is_given_up_after_its_seconds_and_nothing_is_begun_without_any():
    with Sandbox(RIGHT) as box:
        box.start([toy(1)])
        law = measured(PROBLEMS[1], "float64", box.law(PROBLEMS[1], seconds=0.05))
        assert (law.known, law.reason) == (False, NOT_REACHED)
        assert measured(PROBLEMS[0], "float64", box.law(PROBLEMS[0])).known
        box.time.seconds = 1e-9
        with pytest.raises(RunFailed) as failed:
            [*box.law(PROBLEMS[0])]
        assert out_of_time(failed.value)


@pytest.fixture
def only_in_laws(monkeypatch):
    """An audit's own time stands still: what is reached depends on the law's share in the child alone, 0.7 s of 4 s."""
    monkeypatch.setattr(time_limits, "_used", lambda: 0.0)


@pytest.mark.usefixtures("only_in_laws")
def test_where_a_problem_is_not_reached_nothing_is_green():
    report = audit(RIGHT, PROBLEMS, processor_time=4.0)
    assert report.verdict == "inconclusive"
    assert report.reading.startswith("inconclusive: out of time after 7 of 8 problems; a larger --processor-time")
    assert report.reading in str(sarif(report)["runs"][0]["invocations"])
    assert of_verdict(report.verdict, require_decision=True) == INCONCLUSIVE


@pytest.mark.parametrize(("asked", "seconds"), [(None, math.inf), (200.0, 200.0)])
def test_a_quick_audit_has_no_clock_of_its_own_and_obeys_the_one_it_is_given(asked, seconds, monkeypatch):
    seen = []
    monkeypatch.setattr(exact_laws.ExactLaws, "_measure_all", lambda self: seen.append(self.session.time.seconds))
    audit(RIGHT, quick=True, processor_time=asked, explain=False)
    assert seen == [seconds]


@pytest.mark.parametrize("subject", [RIGHT, f"{driven.__file__}:token"])
def test_where_the_time_ends_among_the_calls_in_other_surroundings_the_audit_goes_on_and_nothing_is_cleared(
    subject, monkeypatch
):
    """As on a slow machine: an error, exit status 3, would end the commands that come after it."""
    whole = exact_laws.withdraw_for_state

    def late(session, laws, ahead):
        session.time.seconds = 1e-9
        return whole(session, laws, ahead)

    monkeypatch.setattr(exact_laws, "withdraw_for_state", late)
    report = audit(subject, PROBLEMS[:1], processor_time=1e6, explain=False)
    assert (report.verdict, report.failure) == ("inconclusive", None)
    assert NOT_REACHED in report.findings[TOO_LONG]
    assert not any(e.holds for e in report.evidence)
