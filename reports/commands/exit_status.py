"""Exit statuses of every command, and how a command ends before its work is done."""

from typing import NoReturn

import click

from ...verifiers.verdicts import ReportVerdict

OK, REFUTED, WRONG_USE, NOT_AUDITED, INCONCLUSIVE = 0, 1, 2, 3, 4
"""Exit statuses of every command. The last one is for something undecided, with --require-decision."""

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


def of_verdict(verdict: str, require_decision: bool = False, left_out: bool = False) -> int:
    """Return the exit status of a report's verdict.

    require_decision: whether a verdict that decides nothing is INCONCLUSIVE.
    left_out: whether nothing is decided on something that was tried; that is then INCONCLUSIVE, too.
    """
    status = ReportVerdict(verdict).exit_status
    return INCONCLUSIVE if require_decision and status == OK and (left_out or verdict == "inconclusive") else status


def stop(reason: str, status: int) -> NoReturn:
    """End the command with one line on standard error."""
    click.echo(f"draftproof: {reason}", err=True)
    raise SystemExit(status)
