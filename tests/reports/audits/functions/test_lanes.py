"""Wide problems side by side: the report is the same however many lanes run, and what one does is its own."""

import os
import signal
import threading
from contextlib import closing

import psutil
import pytest

from draftproof.models.battery import toy
from draftproof.models.wide import WideProblem, exchanged, own_wide_problem, wide, wide_battery
from draftproof.proofs.sandbox import Sandbox
from draftproof.reports.audits.functions.audit import run_audit
from draftproof.reports.audits.functions.lanes import MOST_LANES, Lanes, lanes_of
from draftproof.reports.audits.sandboxed import probe_problems
from draftproof.reports.audits.settings import AuditSettings
from draftproof.reports.audits.subject import subject_from
from draftproof.tests.choices import long_unless
from draftproof.tests.reports.audited import audited, written
from draftproof.tests.subjects import wide as subjects

RIGHT = f"{subjects.__name__}:by_search"
PROBLEMS = [toy(1), wide(9, 2), wide(70, 2), wide(129, 1), wide(257, 1)]

VERIFY = """
import os, signal, sys, threading, time
from draftproof.tests.subjects.wide import by_search

def verify(target_probs, draft_probs, draft_tokens, rng):
    V = len(target_probs[0])
    {}
    return by_search(target_probs, draft_probs, draft_tokens, rng)
"""

PASSES, PRINTS, COUNTS, ASKS, RAISES = (
    VERIFY.format(line)
    for line in (
        "pass",
        "print(V, flush=True)",
        "sys.made = getattr(sys, 'made', 0) + 1; V == 257 and print(sys.made, flush=True)",
        "V in (70, 129) and time.time()",
        "V == 129 and open('/nowhere')",
    )
)
THREAD = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n" + VERIFY.format(
    "pass"
)


@pytest.fixture
def sandbox():
    with Sandbox(RIGHT, copies=2) as box:
        box.start(probe_problems([]))
        yield box


def test_each_problem_is_in_one_lane_and_a_vocabulary_is_not_divided():
    problems = [*wide_battery(), own_wide_problem(0), exchanged(own_wide_problem(0))]
    lanes = lanes_of(problems)
    assert len(lanes) == MOST_LANES and sorted(p.name for lane in lanes for p in lane) == sorted(
        p.name for p in problems
    )
    assert all(lane == [p for p in problems if p in lane] for lane in lanes)
    of = [{p.vocabulary for p in lane} for lane in lanes]
    assert sum(map(len, of)) == len(set().union(*of))
    assert lanes_of([]) == [] and lanes_of(PROBLEMS[1:2]) == [PROBLEMS[1:2]]


@pytest.mark.parametrize(
    "source", long_unless((PASSES, PRINTS, COUNTS, ASKS, RAISES, THREAD), {COUNTS, RAISES, THREAD})
)
def test_the_report_does_not_depend_on_the_number_of_jobs(source):
    one, two = (audited(written(source), PROBLEMS, jobs=jobs, explain=False, samples=500) for jobs in (1, 2))
    assert one.text() == two.text()


@pytest.mark.parametrize("vocabulary", long_unless((9, 70, 129, 257), {9, 257}))
def test_a_mistake_in_any_lane_refutes(vocabulary):
    wrong = written(VERIFY.format(f"if V == {vocabulary}: return [*draft_tokens, 0]"))
    reports = [audited(wrong, PROBLEMS, jobs=jobs, explain=False, samples=500) for jobs in (1, 3)]
    assert [r.verdict for r in reports] == ["refuted"] * 2
    shown = [r.shown_refutation() for r in reports]
    assert [e and e.detail.vocabulary for e in shown] == [vocabulary] * 2


def test_a_subject_with_threads_is_audited_in_one_process():
    report, copied = (audited(written(source), PROBLEMS, jobs=2, explain=False) for source in (THREAD, PASSES))
    assert report.verdict == copied.verdict == "holds" and report.subject["calls"] > copied.subject["calls"]


def test_a_process_that_hangs_loses_its_piece_alone():
    hangs = written(VERIFY.format("while V == 70: pass"))
    report = audited(hangs, PROBLEMS, jobs=2, timeout=1.5)
    known = {e.problem: e.verdict for e in report.evidence if e.claim == "lossless"}
    assert known.pop("wide-dense-V70-gamma2") == "no-evidence" and {*known.values()} == {"holds"}


def test_ctrl_c_ends_all_copies_and_keeps_what_was_measured():
    def progress(stage, done, total):
        if stage == PROBLEMS[2].name:
            raise KeyboardInterrupt

    before = {*psutil.Process().children(recursive=True)}
    settings = AuditSettings(problems=PROBLEMS, jobs=2, progress=progress)
    report = run_audit(subject_from(RIGHT, None, ("float64",)), settings)
    assert report.interrupted and any(e.holds for e in report.evidence)
    assert {*psutil.Process().children(recursive=True)} == before


def killed(box, problem):
    os.kill(box._child._process.pid, signal.SIGKILL)
    with pytest.raises(Exception, match="killed by SIGKILL"):
        list(box.law(problem))


def test_a_copy_is_of_the_process_that_loaded_the_subject_and_each_ends_without_the_others(sandbox):
    problem = PROBLEMS[1]
    wanted = repr([*sandbox.law(problem)])
    one, other = sandbox.split()
    assert repr([*one.law(problem)]) == wanted and other.calls == 0 < one.calls == sandbox.calls
    killed(one, problem)
    assert one.ended and not other.ended and not sandbox.ended
    killed(sandbox, problem)
    assert sandbox.ended and not other.ended
    sandbox.start(probe_problems([]))
    assert repr([*sandbox.law(problem)]) == repr([*other.law(problem)]) == wanted
    sandbox.take_in(other)
    assert other.ended and not sandbox.ended and repr([*sandbox.law(problem)]) == wanted
    assert sandbox.split() == [], "the pipes to copies are made once"


def test_lanes_run_beside_what_is_examined_first_and_wait_once_that_refutes(sandbox):
    begun, go_on = threading.Semaphore(0), threading.Event()

    def piece(part):
        begun.release()
        return go_on.wait(60)

    running = Lanes(sandbox, [[piece] * 2, [piece]], [[1, 1], [1]], [0, 1, 0], 2, lambda: None)
    with closing(running):
        assert begun.acquire(timeout=60), "before any result is asked for"
        running.pause()
        go_on.set()
        assert not begun.acquire(timeout=0.3)
        assert running.next(0) and running.next(1) and running.next(0)


def test_time_of_copies_counts(sandbox):
    sandbox.time.seconds = 1e6
    before = sandbox.time.spent()
    copy, _ = sandbox.split()
    list(copy.law(WideProblem(1003, 1, "dense", ((0, 1002),))))
    during = sandbox.time.spent()
    used = psutil.Process(copy._child._process.pid).cpu_times().user
    sandbox.take_in(copy)
    assert during - before >= used > 0.02 and sandbox.time.spent() >= during


def test_what_a_piece_raises_is_raised_where_it_is_waited_for(sandbox):
    def fails(part):
        raise ZeroDivisionError

    for jobs in (1, 2):
        pieces = [[lambda part: 1, fails], [lambda part: 2]]
        with closing(Lanes(sandbox, pieces, [[1, 1], [1]], [0, 1, 0], jobs, lambda: None)) as lanes:
            assert (lanes.next(0), lanes.next(1)) == (1, 2)
            with pytest.raises(ZeroDivisionError):
                lanes.next(0)
        with Sandbox(RIGHT, copies=2) as sandbox:
            sandbox.start(probe_problems([]))


@pytest.mark.parametrize("jobs", [1, 2])
def test_pieces_begin_in_the_order_in_which_they_are_asked_for(jobs):
    begun = []

    def piece(lane):
        return lambda part: begun.append(lane)

    lanes = [[piece(0)] * 20, [piece(1)] * 20, [piece(2)]]
    asked = [2, *[0, 1] * 20]  # as many lanes as jobs, each to its end, would begin this piece last
    with Sandbox(RIGHT, copies=3) as sandbox:
        sandbox.start(probe_problems([]))
        work = [[1] * len(lane) for lane in lanes]
        with closing(Lanes(sandbox, lanes, work, asked, jobs, lambda: None)) as running:
            for lane in asked:
                running.next(lane)
    assert sorted(begun) == sorted(asked) and begun.index(2) < jobs


def test_a_lane_longer_than_all_others_begins_at_once():
    begun = []

    def piece(lane):
        return lambda part: begun.append(lane)

    lanes, asked = [[piece(0)] * 10, [piece(1)] * 10, [piece(2)] * 5], [*[0] * 10, *[1] * 10, *[2] * 5]
    with Sandbox(RIGHT, copies=3) as sandbox:
        sandbox.start(probe_problems([]))
        with closing(Lanes(sandbox, lanes, [[1] * 10, [1] * 10, [9] * 5], asked, 2, lambda: None)) as running:
            for lane in asked:
                running.next(lane)
    assert sorted(begun) == sorted(asked) and begun[0] == 2
