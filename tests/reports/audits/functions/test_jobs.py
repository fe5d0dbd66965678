"""Audits in several dtypes side by side: the same report whatever their number, one that fails, an interruption."""

import os
import signal
import threading
from dataclasses import replace

import pytest

from draftproof.models.battery import drawn, toy
from draftproof.proofs.child_process import RUNNING
from draftproof.proofs.sandbox import Sandbox
from draftproof.reports.audits.functions.audit import run_audit
from draftproof.reports.audits.settings import AuditSettings
from draftproof.reports.audits.subject import subject_from
from draftproof.tests.reports.audited import written
from draftproof.tests.reports.audits.functions.written import TOKEN

pytestmark = pytest.mark.interception
DTYPES = ("float64", "float32")
SETTINGS = AuditSettings(problems=[toy(1), drawn(3, 1, "generic")], explain=False)
ONLY_IN_FLOAT32 = TOKEN.replace(
    "left = np.maximum", "left = target_probs[i] if str(target_probs.dtype).endswith('float32') else np.maximum"
)
CRASHES = TOKEN.replace(
    "    for i, x", "    if str(target_probs.dtype).endswith('float32'):\n        os.abort()\n    for i, x", 1
)


def audited(source, dtypes=DTYPES, **how):
    return run_audit(subject_from(written(source), None, dtypes), replace(SETTINGS, **how))


@pytest.mark.parametrize("source", [TOKEN, ONLY_IN_FLOAT32, "import os\n" + CRASHES])
def test_the_report_is_the_same_whatever_the_number_of_jobs(source):
    one, two = (audited(source, jobs=jobs) for jobs in (1, 2))
    assert one.text() == two.text()
    assert {e.dtype for e in two.evidence if e.holds} >= {"float64"}
    expected = {TOKEN: "holds", ONLY_IN_FLOAT32: "refuted"}.get(source, "error")
    assert two.verdict == expected


def test_the_first_refutation_ends_the_audit_where_that_is_asked_for():
    report = audited(TOKEN.replace("left = np.maximum", "left = target_probs[i] + 0 * np.maximum"), stop_at_first=True)
    assert report.verdict == "refuted" and {e.dtype for e in report.evidence} == {"float64"}


def test_an_audit_that_ends_early_leaves_other_processes_alone():
    with Sandbox(written(TOKEN)) as box:
        box.start([toy(1)])
        wrong = TOKEN.replace("left = np.maximum", "left = target_probs[i] + 0 * np.maximum")
        assert audited(wrong, stop_at_first=True, jobs=2).verdict == "refuted"
        assert [*box.law(toy(1))] and not box.ended


def test_an_interruption_ends_all_children_and_keeps_what_was_measured():
    began, before = threading.Event(), signal.signal(signal.SIGINT, signal.default_int_handler)  # xdist ignores it

    def progress(stage, done, total):
        if done == 4 and not began.is_set():
            began.set()
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(0.5)

    problems = [toy(1), *(drawn(2, 1, kind) for kind in ("generic", "zeros", "equal", "disjoint"))]
    try:
        report = audited(TOKEN, jobs=2, progress=progress, problems=problems)
    finally:
        signal.signal(signal.SIGINT, before)
    assert report.interrupted and report.evidence and report.verdict == "error"
    assert not [process for process in RUNNING if not process.ended and process.thread != threading.get_ident()]
