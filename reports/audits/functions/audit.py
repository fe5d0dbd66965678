"""The audit of a verifier given as a function: problems, an audit in each dtype or of a reference, one report."""

import math
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

from ....models.errors import RunFailed
from ....models.regions import covered
from ....proofs.child_process import kill_started_by
from ....proofs.time_limits import ProcessorTime
from ..report import Report
from ..runner import INTERRUPTED, examine
from ..sandboxed import sandbox_of, with_stated_numbers
from ..settings import AuditSettings
from ..subject import SubjectSpec
from .batch_influence import BatchInfluence
from .exact_laws import ExactLaws
from .explanation import Explanation
from .hints import precision_hint
from .lanes import lanes_of
from .problems import AuditProblems, problems_for
from .reference import audit_reference
from .relations import Relations
from .samples import Samples
from .session import TOO_LONG, FunctionSession
from .wide_laws import WideLaws
from .without_generator import WithoutGenerator


def run_audit(subject: SubjectSpec, settings: AuditSettings | None = None) -> Report:
    """Audit a verifier. Whatever goes wrong with the subject is in the report, not raised.

    Raises: InputError for a problem that is too large.
    """
    settings = settings or AuditSettings()
    limits, failure = {"timeout": settings.timeout, "memory": settings.memory}, None
    if subject.program:
        try:
            subject = with_stated_numbers(subject, **limits)
        except RunFailed as failed:
            failure = failed
    problems = problems_for(subject, settings)
    report = report_of(subject, settings, problems)
    if failure:
        report.fail(failure.kind, str(failure))
    elif subject.reference is not None:
        audit_reference(subject.reference, problems.small, settings, report)
    else:
        for part in parts_of(subject, problems, settings):
            report.take(part.report)
            settings.progress("done", len(problems.small), len(problems.small))
            if part.unexamined and not any(e.holds or e.method.sampled for e in report.evidence):
                report.fail("timeout", part.unexamined)
            failed = report.failure and not any(e.holds for e in report.evidence)
            if (failed and not report.interrupted) or (settings.stop_at_first and report.verdict == "refuted"):
                break
        report.notice(precision_hint(report.evidence))
    return report


def report_of(subject: SubjectSpec, settings: AuditSettings, problems: AuditProblems) -> Report:
    """Begin the report: the subject, and what the audit was asked to do."""
    report = Report.begin(subject.name, subject.source, subject.dtypes, settings.seed, settings.claims)
    if subject.reference is None:
        asked = {
            "quick": settings.quick and not problems.given,
            "uniform_bits": settings.uniform_bits,
            "not_compared": (subject.handed_over or {}).get("by_name"),
            "problems": problems.digests(),
        }
        report.subject |= {name: value for name, value in asked.items() if value}
    return report


class AuditedPart(NamedTuple):
    """An audit in one dtype. unexamined: why nothing was examined to its end for want of time, or None."""

    report: Report
    unexamined: str | None


def parts_of(subject: SubjectSpec, problems: AuditProblems, settings: AuditSettings) -> Iterator[AuditedPart]:
    """Yield an audit for each dtype, in their order. They run side by side, ``settings.jobs`` at a time.

    Guarantee: what is yielded does not depend on the number of jobs. After Ctrl-C all children end, and what was
    measured before is yielded.
    """
    cores = settings.jobs or os.cpu_count() or 1
    jobs = min(cores, len(subject.dtypes))
    settings = replace(settings, jobs=1 if settings.processor_time else cores // jobs)
    if jobs == 1 or settings.processor_time:  # a budget counts all processes: one audit after the other has its share
        for dtype in subject.dtypes:
            yield (part := audit_in_dtype(subject, dtype, problems, settings))
            if part.report.interrupted:
                return
        return
    stopped, threads = threading.Event(), set[int]()

    def progress(stage: str, done: int, total: int) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        settings.progress(stage, done, total)

    with ThreadPoolExecutor(jobs, initializer=lambda: threads.add(threading.get_ident())) as pool:
        own = replace(settings, progress=progress)
        running = [pool.submit(audit_in_dtype, subject, dtype, problems, own) for dtype in subject.dtypes]
        try:
            for part in running:
                try:
                    part.exception()  # waits
                except KeyboardInterrupt:
                    stopped.set()
                while not part.done():
                    kill_started_by(threads)
                    time.sleep(0.05)
                if stopped.is_set():
                    part.result().report.failure = {"kind": "interrupted", "message": INTERRUPTED}
                yield part.result()
        finally:  # also where no more parts are wanted
            stopped.set()
            for part in running:
                part.cancel()
            kill_started_by(threads)


def audit_in_dtype(subject: SubjectSpec, dtype: str, problems: AuditProblems, settings: AuditSettings) -> AuditedPart:
    """Audit a function on rows of one dtype."""
    report = report_of(subject, settings, problems)
    spent = ProcessorTime((settings.processor_time or math.inf) / len(subject.dtypes))
    limits = {"timeout": settings.timeout, "memory": settings.memory, "time": spent}
    lanes = 0 if subject.program else len(lanes_of(problems.wide)) + problems.long_blocks
    limits["copies"] = lanes if lanes > 1 else 0
    with sandbox_of(subject, dtype, handed_over=subject.handed_over, **limits) as sandbox:
        session = FunctionSession(subject, dtype, [*problems.small], settings, report, sandbox, time=spent)
        session.jobs = settings.jobs or 1
        with closing(WideLaws(session, problems.wide, problems.long_blocks)) as wide:
            parts = [
                ExactLaws(session, wide),
                BatchInfluence(session),
                Samples(session),
                Relations(session, problems.related),
                WithoutGenerator(session),
                wide,
                Explanation(session),
            ]
            examine(report, parts)
        report.subject["calls"] = sandbox.calls
        report.notice(sandbox.side_effects())
    ends = settings.stop_at_first and session.decided(*session.laws)
    if not session.trees and not ends:  # regions are those of blocks, and of audits that go on to their end
        report.regions[dtype] = covered((m.problem, m.tolerance) for m in session.laws if m.known)
    late = report.findings.get(TOO_LONG)
    # Laws that there was no time to check for state were examined, and are withheld.
    return AuditedPart(report, None if session.withheld and not session.time.left() else late)
