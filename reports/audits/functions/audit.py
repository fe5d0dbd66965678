"""The audit of a verifier given as a function: problems, an audit in each dtype or of a reference, one report."""

from ....models.errors import RunFailed
from ....models.regions import covered
from ....proofs.time_limits import ProcessorTime
from ..report import Report
from ..runner import examine
from ..sandboxed import sandbox_of, with_stated_numbers
from ..settings import AuditSettings
from ..subject import SubjectSpec
from .batch_influence import BatchInfluence
from .exact_laws import ExactLaws
from .explanation import Explanation
from .hints import precision_hint
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
        for dtype in subject.dtypes:
            if not audit_in_dtype(subject, dtype, problems, settings, report):
                break
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


def audit_in_dtype(
    subject: SubjectSpec, dtype: str, problems: AuditProblems, settings: AuditSettings, report: Report
) -> bool:
    """Audit a function on rows of one dtype; False if no other dtype is worth trying."""
    time = ProcessorTime()
    limits = {"timeout": settings.timeout, "memory": settings.memory, "time": time}
    with sandbox_of(subject, dtype, handed_over=subject.handed_over, **limits) as sandbox:
        session = FunctionSession(subject, dtype, [*problems.small], settings, report, sandbox, time=time)
        parts = [
            ExactLaws(session),
            BatchInfluence(session),
            Samples(session),
            Relations(session, problems.related),
            WithoutGenerator(session),
            WideLaws(session, problems.wide, problems.long_blocks),
            Explanation(session),
        ]
        if examine(report, parts):
            settings.progress("done", len(problems.small), len(problems.small))
        report.subject["calls"] = max(report.subject.get("calls", 0), sandbox.calls)
        report.notice(sandbox.side_effects())
    if not session.trees:  # regions are those of blocks
        report.regions[dtype] = covered((m.problem, m.tolerance) for m in session.laws if m.known)
    report.notice(precision_hint(report.evidence))
    _fail_if_nothing_was_examined(session)
    return not (report.interrupted or (report.failure and not any(e.holds for e in report.evidence)))


def _fail_if_nothing_was_examined(session: FunctionSession) -> None:
    """Report a time-out as the failure of an audit that examined nothing to its end.

    Laws that there was no time to check for state were examined, and are withheld.
    """
    report = session.report
    late, examined = report.findings.get(TOO_LONG), any(e.holds or e.method.sampled for e in report.evidence)
    if late and not examined and not (session.withheld and not session.time.left()):
        report.fail("timeout", late)
