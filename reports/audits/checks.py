"""One generator of checks for two front ends: ``check_verifier`` and ``parametrize_with_checks``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any

from ...models.libraries import require
from ...verifiers.claims import FUNCTION, claims_of

if TYPE_CHECKING:
    import pytest

    from .report import Report

CHECKS = {
    **{name: claim.statement for name, claim in claims_of(FUNCTION).items()},
    "pure": "the function writes to no input, keeps no state between calls, reseeds nothing, and returns",
}
IMPURE = ("inputs-written", "result-overwritten", "state", "reseeds", "never-returned")
HINTS = ("outside-vocabulary", "padding", "precision", "drafting")
DEFAULT = ("lossless", "support", "pure")
"""Checks made without being asked for. Optimality is a price, not a fault, and is checked on request."""


class CheckFailed(AssertionError):
    """A failure of a check because the verifier is refuted, not because nothing is known of it."""


@dataclass
class Check:
    """A check of one subject, to be called without arguments.

    subject: its name.
    name: a key of ``CHECKS``.
    report: the report on the subject, made when it is first asked for.
    made: that report, once the check has run.
    """

    subject: str
    name: str
    report: Callable[[], Report] = field(repr=False)
    made: Report | None = field(default=None, init=False, repr=False)

    def __call__(self) -> None:
        __tracebackhide__ = True
        self.made = self.report()
        run_check(self.made, self.name)


OPTIONS = ("array", "dtypes", "conventions", "processor_time", "timeout", "samples", "stop_at_first", "seed")
"""Options of ``audit`` that checks take too."""

IN_SETTINGS: dict[str, Any] = {}
"""Options set in pytest's configuration, for checks that set none of that name."""


@lru_cache(maxsize=64)
def _report_on(name: str, options: tuple[tuple[str, Any], ...]) -> Report:
    from .api import audit

    return audit(name, **{**IN_SETTINGS, **dict(options)})


def _reports(subject: str | Callable, options: dict[str, Any]) -> Callable[[], Report]:
    """Return a function that audits the subject when first called: by then its module has been imported to its end."""
    if isinstance(subject, str):
        plain = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
        return partial(_report_on, subject, tuple(sorted(plain.items())))
    from .api import audit

    return cache(lambda: audit(subject, **{**IN_SETTINGS, **options}))


def _short(name: str) -> str:
    """Return a subject's name without the folders of its file: mine.verify of /where/it/is/mine.py:verify."""
    place, colon, attribute = name.rpartition(":")
    return f"{place.rpartition('/')[2].removesuffix('.py')}.{attribute}" if colon else name


def run_check(report: Report, check: str) -> None:
    """Run one check on the report of an audit.

    Raises: CheckFailed with the smallest witness, the replay command and the mutants that behave as the subject;
        AssertionError with the reason why there is no evidence.
    """
    __tracebackhide__ = True
    from .report import FINDINGS, deciding

    name = report.subject["name"]
    if report.failure:
        raise AssertionError(f"{name} could not be audited: {report.failure['message']}")
    if check == "pure":
        found = [f"{FINDINGS[kind]}: {report.findings[kind]}" for kind in IMPURE if kind in report.findings]
        if found:
            raise CheckFailed(f"{name} {'; '.join(found)}{_examined(report)}")
        return
    evidence = [e for e in report.evidence if e.claim == check]
    if refuted := [e for e in evidence if e.refuted]:
        item = next((e for e in refuted if e.witness and e.witness.smallest), refuted[0])
        said = f"{check} is refuted on {item.problem}: {item.witness}"
        named = "".join(f"\n  diagnosis: {words} {link}".rstrip() for words, link in report.behaves_as)
        place = [item.witness.where, item.witness.line] if item.witness else []
        where = "".join(f"\n  where: {one}" for one in place if one)
        raise CheckFailed(f"{name}: {said}{named}{where}{_examined(report)}\n  replay: {item.replay}")
    counting = deciding(evidence, [check])
    if not any(e.holds for e in counting) or not all(e.holds for e in counting):
        reasons = {e.why_undecided for e in evidence if not e.holds}
        why = "; ".join(sorted(filter(None, reasons)))
        raise AssertionError(f"{name}: no proof of {check} ({why}){_examined(report)}")


def _examined(report: Report) -> str:
    """Return what a verdict speaks of, and hints, for the end of a message."""
    hints = "".join(f"\n  hint: {report.findings[kind]}" for kind in HINTS if kind in report.findings)
    return hints + (f"\n  examined: {report.scope.says}" if report.scope else "")


def checks_of(
    subject: str | Callable, checks: Sequence[str] = DEFAULT, *, quick: bool = True, **options: Any
) -> Iterator[Check]:
    """Yield the checks of a subject; one audit serves them all.

    quick: whether to leave out the wide problems, as ``draftproof audit --quick`` does; what passes says nothing of
        them.
    options: of ``audit``, those in OPTIONS.

    Raises: InputError for an object that has no name in a module; TypeError for other options.
    """
    from .functions.handed_over import name_of

    if unknown := [name for name in options if name not in OPTIONS]:
        raise TypeError(f"checks take no option {unknown[0]!r}; expected some of {', '.join(OPTIONS)}")
    name = subject if isinstance(subject, str) else name_of(subject)
    made = _reports(subject, {"quick": quick, **options})
    for check in checks:
        if check not in CHECKS:
            raise ValueError(f"no check {check!r}; known: {', '.join(CHECKS)}")
        yield Check(name, check, made)


def check_verifier(
    subject: str | Callable, checks: Sequence[str] = DEFAULT, *, quick: bool = True, **options: Any
) -> None:
    """Run the checks on a verifier.

    quick, options: as in ``checks_of``.

    Raises: AssertionError at the first that fails, with its witness and the command that replays it.
    """
    __tracebackhide__ = True
    for check in checks_of(subject, checks, quick=quick, **options):
        check()


def parametrize_with_checks(
    subjects: Sequence[str | Callable], checks: Sequence[str] = DEFAULT, *, quick: bool = True, **options: Any
) -> pytest.MarkDecorator:
    """Return a pytest decorator: one test for each subject and check.

    @parametrize_with_checks([my_verifier])
    def test_my_verifier(check):
        check()

    quick, options: as in ``checks_of``.
    Raises: InputError if pytest is not installed.
    """
    require("pytest", extra="test")
    import pytest

    cases = [
        pytest.param(check, id=f"{_short(check.subject)}-{check.name}")
        for subject in subjects
        for check in checks_of(subject, checks, quick=quick, **options)
    ]
    return pytest.mark.parametrize("check", cases)
