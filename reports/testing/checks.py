"""One generator of checks for two front ends: ``check_verifier`` and ``parametrize_with_checks``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import SkipTest

from ...models.errors import InputError
from ...models.libraries import require
from ...verifiers.claims import CLAIMS, FUNCTION, claims_of

if TYPE_CHECKING:
    import pytest

    from ...models.problem import AnyProblem
    from ...verifiers.evidence import Evidence
    from ..audits.report import Report

CHECKS = {
    **{name: claim.statement for name, claim in claims_of(FUNCTION).items()},
    "pure": "the function writes to no input, keeps no state between calls, reseeds nothing, and returns",
}
IMPURE = ("inputs-written", "result-overwritten", "state", "reseeds", "never-returned")
HINTS = ("outside-vocabulary", "padding", "precision", "drafting")
DEFAULT = ("lossless", "support", "pure")
"""Checks made without being asked for. Optimality is a price, not a fault, and is checked on request."""


class CheckError(AssertionError):
    """A failure of a check."""


class CheckFailed(CheckError):
    """A failure of a check because the verifier is refuted, not because nothing is known of it."""


OPTIONS = ("array", "dtypes", "conventions", "processor_time", "timeout", "samples", "stop_at_first", "seed")
"""Options of ``audit`` that checks take too."""

IN_SETTINGS: dict[str, Any] = {}
"""Options set in pytest's configuration, for checks that set none of that name."""


class Audits:
    """The audits of one subject, which its checks share.

    subject, options: as of ``audit``.
    failed: the check that was the first to fail on this subject, and the report that it failed on.
    """

    def __init__(self, subject: str | Callable, options: dict[str, Any]):
        self.subject, self.options = subject, options
        self.failed: tuple[str, Report] | None = None
        self._made: dict[bool, Report] = {}

    def report(self, check: str, first: Any) -> Report:
        """Return the report by which a check is judged.

        An audit that stopped at a refutation decides the checks that it refutes, and no other. If one of them has
        failed, the run fails, and the others are skipped. Else the whole audit is made for them.
        first: the problem that refuted the last time, in its JSON form. It is tried before all others, and can only
          refute.

        Raises: unittest.SkipTest.
        """
        if (tried := self._again(check, first)) or not self._stops:
            return tried or self._audited(stop=False)
        name, report = self.failed or ("", None)
        report = report or self._audited(stop=True)
        if report.verdict != "refuted" or fails(report, check):
            return report
        if name:
            raise SkipTest(f"{check} is not decided: {name} is refuted, and the audit stopped there")
        return self._audited(stop=False)

    @property
    def _stops(self) -> bool:
        return {"stop_at_first": True, **IN_SETTINGS, **self.options}["stop_at_first"] and False not in self._made

    def _audited(self, stop: bool) -> Report:
        if stop not in self._made:
            self._made[stop] = self._audit(stop_at_first=stop)
        return self._made[stop]

    def _again(self, check: str, first: Any) -> Report | None:
        """Return the report on the problem that refuted the last time, if it still refutes the check."""
        if first is None or check not in CLAIMS:
            return None
        from ...models.problem import any_problem_from

        try:
            report = self._audit([any_problem_from(first)], claims=(check,), quick=False, stop_at_first=True)
        except InputError:
            return None
        return report if fails(report, check) else None

    def _audit(self, problems: Sequence[AnyProblem] = (), **options: Any) -> Report:
        from ..audits.api import audit

        return audit(self.subject, problems, **{**IN_SETTINGS, **self.options, **options})


@dataclass
class Check:
    """A check of one subject, to be called without arguments.

    subject: its name.
    name: a key of ``CHECKS``.
    audits: of the subject, made when they are first asked for.
    made: the report by which it was judged, once the check has run.
    first: the problem to try before all others (see ``Audits.report``).
    """

    subject: str
    name: str
    audits: Audits = field(repr=False)
    made: Report | None = field(default=None, init=False, repr=False)
    first: Any = field(default=None, init=False, repr=False)

    def __call__(self) -> None:
        __tracebackhide__ = True
        self.made = self.audits.report(self.name, self.first)
        try:
            run_check(self.made, self.name)
        except CheckFailed:
            self.audits.failed = self.audits.failed or (self.name, self.made)
            raise


@lru_cache(maxsize=64)
def _audits_of(name: str, options: tuple[tuple[str, Any], ...]) -> Audits:
    return Audits(name, dict(options))


def _audits(subject: str | Callable, options: dict[str, Any]) -> Audits:
    """Return the audits of a subject, those of a name for everyone who gives the same options."""
    if not isinstance(subject, str):
        return Audits(subject, options)
    plain = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    return _audits_of(subject, tuple(sorted(plain.items())))


def _short(name: str) -> str:
    """Return a subject's name without the folders of its file: mine.verify of /where/it/is/mine.py:verify."""
    place, colon, attribute = name.rpartition(":")
    return f"{place.rpartition('/')[2].removesuffix('.py')}.{attribute}" if colon else name


def shown_for(report: Report, check: str) -> Evidence | None:
    """Return the refutation of a claim to show first; None if it is not refuted."""
    refuted = [e for e in report.evidence if e.claim == check and e.refuted]
    return next((e for e in refuted if e.witness and e.witness.smallest), refuted[0] if refuted else None)


def fails(report: Report, check: str) -> bool:
    """Return whether a report refutes what is checked."""
    return bool(shown_for(report, check) or (check == "pure" and _impure(report)))


def _impure(report: Report) -> list[str]:
    from ..audits.report import FINDINGS

    return [f"{FINDINGS[kind]}: {report.findings[kind]}" for kind in IMPURE if kind in report.findings]


def run_check(report: Report, check: str) -> None:
    """Run one check on the report of an audit.

    Raises: CheckFailed with the smallest witness, the replay command and the mutants that behave as the subject;
        AssertionError with the reason why there is no evidence.
    """
    __tracebackhide__ = True
    from ..audits.report import deciding
    from ..pages.terminal import refutation

    name = report.subject["name"].removeprefix(f"{Path.cwd()}{os.sep}")
    if report.failure:
        raise CheckError(f"{name} could not be audited: {report.failure['message']}")
    if check == "pure":
        if found := _impure(report):
            raise CheckFailed(f"{name} {'; '.join(found)}{_examined(report)}")
        return
    if shown := shown_for(report, check):
        raise CheckFailed(f"{name}: {check} is refuted\n\n{refutation(report, shown)}{_hints(report)}")
    evidence = [e for e in report.evidence if e.claim == check]
    counting = deciding(evidence, [check])
    if not any(e.holds for e in counting) or not all(e.holds for e in counting):
        reasons = {e.why_undecided for e in evidence if not e.holds}
        why = "; ".join(sorted(filter(None, reasons)))
        raise CheckError(f"{name}: no proof of {check} ({why}){_examined(report)}")


def _hints(report: Report) -> str:
    return "".join(f"\n  hint: {report.findings[kind]}" for kind in HINTS if kind in report.findings)


def _examined(report: Report) -> str:
    """Return hints, and what a verdict speaks of, for the end of a message."""
    return _hints(report) + (f"\n  examined: {report.scope.says}" if report.scope else "")


def checks_of(
    subject: str | Callable, checks: Sequence[str] = DEFAULT, *, quick: bool = True, **options: Any
) -> Iterator[Check]:
    """Yield the checks of a subject; one audit serves them all.

    quick: whether to leave out the wide problems, as ``draftproof audit --quick`` does; what passes says nothing of
        them.
    options: of ``audit``, those in OPTIONS.

    Raises: InputError for an object that has no name in a module; TypeError for other options.
    """
    from ..audits.functions.handed_over import name_of

    if unknown := [name for name in options if name not in OPTIONS]:
        raise TypeError(f"checks take no option {unknown[0]!r}; expected some of {', '.join(OPTIONS)}")
    name = subject if isinstance(subject, str) else name_of(subject)
    audits = _audits(subject, {"quick": quick, **options})
    for check in checks:
        if check not in CHECKS:
            raise ValueError(f"no check {check!r}; known: {', '.join(CHECKS)}")
        yield Check(name, check, audits)


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
