"""Exit statuses of every command, and how a command ends before its work is done."""

from typing import NoReturn

import click

from ...verifiers.verdicts import ReportVerdict

OK, REFUTED, WRONG_USE, NOT_AUDITED, INCONCLUSIVE = 0, 1, 2, 3, 4
"""Nothing refuted; refuted; wrong use or bad input; could not be audited; something undecided (with
--require-decision)."""

INTERRUPTED = 130
"""After Ctrl-C, as shells have it."""


def of_verdict(verdict: str, require_decision: bool = False, left_out: bool = False) -> int:
    """The exit status of a report's verdict; one that decides nothing is INCONCLUSIVE only where that was asked for.

    left_out: whether something was tried on which nothing is decided, where it was asked for INCONCLUSIVE too.
    """
    status = ReportVerdict(verdict).exit_status
    return INCONCLUSIVE if require_decision and status == OK and (left_out or verdict == "inconclusive") else status


def stop(reason: str, status: int) -> NoReturn:
    """End the command with one line on standard error."""
    click.echo(f"draftproof: {reason}", err=True)
    raise SystemExit(status)
