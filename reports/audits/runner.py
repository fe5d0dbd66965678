"""The anatomy of every run: examinations in turn. What was measured before one fails is in the report."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from ...models.errors import RunFailed
from ...models.libraries import means_no_memory, reason
from ...proofs.time_limits import out_of_time
from ...verifiers.evidence import Evidence
from .report import Report

INTERRUPTED = "interrupted; what was measured before is in the report"
"""Message of a run that the user ended."""


class Examination(Protocol):
    """A part of a run: it measures, and says what the measurements are evidence of."""

    def run(self) -> None:
        """Measure. Raises: RunFailed, MemoryError or KeyboardInterrupt; what was measured before stays."""
        ...

    def evidence(self, complete: bool) -> Sequence[Evidence]:
        """Return what was measured as evidence. complete: whether ``run`` came to its end."""
        ...


def examine(report: Report, examinations: Iterable[Examination], memory_hint: str = "") -> bool:
    """Run the examinations in turn, up to the first that fails, and add their evidence to the report.

    Guarantee: evidence of what was measured before a failure, an interruption or a lack of memory is in the report, and
    so is the reason. Returns whether all were completed.
    memory_hint: what helps where memory runs out.
    """
    return all(_examined(report, examination, memory_hint) for examination in examinations)


def explain(report: Report, explanation: Callable[[], None]) -> None:
    """Run what explains a verdict. The verdict stands whatever this raises, which is a finding.

    Raises: RunFailed and KeyboardInterrupt, which ``examine`` reports.
    """
    try:
        explanation()
    except RunFailed:
        raise
    except Exception as error:
        report.notice(
            {"not-explained": f"the verdict stands, its explanation failed: {type(error).__name__}: {reason(error)}"}
        )


def _examined(report: Report, examination: Examination, memory_hint: str) -> bool:
    complete = _completed(report, examination, memory_hint)
    report.add(examination.evidence(complete))
    return complete or not report.failure


def _completed(report: Report, examination: Examination, memory_hint: str) -> bool:
    """Run one examination; whether it came to its end. If not, the report has the reason, unless it is the time of the
    audit: the others have none either."""
    try:
        examination.run()
    except RunFailed as failure:
        if not out_of_time(failure):
            report.fail(failure.kind, str(failure))
    except KeyboardInterrupt:
        report.fail("interrupted", INTERRUPTED)
    except Exception as error:
        if not means_no_memory(error):
            raise
        report.fail("memory", f"{reason(error)}{memory_hint}")
    else:
        return True
    return False
