"""Proofs side by side: the same rows whatever the number of jobs; a process that is killed loses its proof alone."""

import os
import signal
import subprocess
import threading
import time
from multiprocessing import get_context

import psutil
import pytest

from draftproof.proofs.proving import Proof, ProofResult
from draftproof.proofs.side_by_side import CAN_FORK, Stopped, Turns, side_by_side
from draftproof.verifiers.evidence import ERROR, HOLDS

pytestmark = [
    pytest.mark.certificate,
    pytest.mark.skipif(not CAN_FORK, reason="copies of a process are made on Linux alone"),
]


def proof(what, run, method="enumeration"):
    return Proof("lemma-1", method, what, "all", run)


def in_jobs(proofs, jobs):
    return side_by_side(proofs, jobs, Turns(jobs))


def test_as_many_as_there_are_jobs_run_at_a_time_and_no_more_coq_among_them():
    turns, running, most = Turns(2), get_context("fork").Value("i", 0), get_context("fork").Value("i", 0)

    def counted():
        with running:
            running.value += 1
            most.value = max(most.value, running.value)
        time.sleep(0.1)
        with running:
            running.value -= 1
        return ProofResult(HOLDS)

    def by_coq():
        with turns:
            return counted()

    proofs = [proof(f"{k}", counted) for k in range(6)] + [proof("c", by_coq, "coq"), proof("d", by_coq, "coq")]
    assert [row.verdict for row in side_by_side(proofs, 2, turns)] == [HOLDS] * 8
    assert most.value == 2


def test_a_process_that_is_killed_loses_its_proof_alone():
    def killed():
        os.kill(os.getpid(), signal.SIGKILL)

    proofs = [proof("killed", killed), *(proof(f"{k}", lambda: ProofResult(HOLDS)) for k in range(4))]
    rows = {row.what: row for row in in_jobs(proofs, 2)}
    assert rows.pop("killed")[4::2] == (ERROR, "its process ended with exit status -9")
    assert {row.verdict for row in rows.values()} == {HOLDS} and len(rows) == 4


def test_nothing_is_left_when_the_user_ends_it():
    proofs = [proof("short", lambda: ProofResult(HOLDS)), *(proof(f"{k}", lambda: time.sleep(600)) for k in range(3))]
    before = {child.pid for child in psutil.Process().children()}
    rows = in_jobs(proofs, 2)
    assert next(rows).what == "short"
    rows.close()
    assert {child.pid for child in psutil.Process().children()} <= before


def test_after_the_end_what_runs_in_a_turn_is_ended_and_no_other_begins():
    turns = Turns(1)

    def refused():
        with pytest.raises(Stopped), turns:
            pass

    with turns, subprocess.Popen(["sleep", "600"], start_new_session=True) as running:
        turns.groups.add(running.pid)
        waiting = threading.Thread(target=refused)
        waiting.start()
        turns.stop()
        assert running.wait(10) == -signal.SIGKILL
    waiting.join(10)
    assert not waiting.is_alive()


def test_coq_takes_the_next_free_core_before_the_others():
    turns, order = Turns(1), []

    def coq():
        with turns:
            order.append("coq")

    def other():
        with turns.when_none_waits():
            order.append("other")

    threads = [threading.Thread(target=other), threading.Thread(target=coq)]
    with turns:
        for thread in threads:
            thread.start()
        while not turns.waiting:
            time.sleep(0.01)
    for thread in threads:
        thread.join(10)
    assert order == ["coq", "other"]
