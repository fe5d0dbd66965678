"""Audits that several tests look at: each is run once a session, and its report is kept for all workers of xdist."""

import fcntl
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from draftproof import audit
from draftproof.models.problem import as_json
from draftproof.reports.audits.functions import exact_laws, state
from draftproof.reports.audits.functions.handed_over import name_of
from draftproof.reports.audits.report import Report

FOLDER = Path()
"""The folder that the workers of one session share; ``tests/reports/conftest.py`` says which."""


def written(source: str, function: str = "") -> str:
    """Write a subject's source, and return its name. function: the last one of the source if none is named."""
    folder = FOLDER / hashlib.sha256(source.encode()).hexdigest()[:16]
    folder.mkdir(exist_ok=True)
    file = folder / "subject.py"
    with (FOLDER / "sources.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            file.write_text(source, encoding="utf-8")
    last = re.findall(r"^def (\w+)", source, re.MULTILINE)[-1]
    return f"{file}:{function or last}"


def audited(
    subject: str | Callable, problems: Sequence[Any] = (), dtypes: Sequence[str] = ("float64",), **settings: Any
) -> Report:
    """Return the report of an audit, which the first test that asks for it runs.

    dtypes: one of three if none is named: what most tests look at is the same in all. settings: as of ``audit``.
    It is read from its JSON form each time, so a test may change it. Tests that patch draftproof call ``audit`` itself.
    """
    name = subject if isinstance(subject, str) else name_of(subject)
    replayed = exact_laws.withdraw_for_state is state.withdraw_for_state  # most tests leave the replays out
    key = json.dumps([name, [p if isinstance(p, str | dict) else as_json(p) for p in problems], [*dtypes], settings,
                      replayed],
                     sort_keys=True, default=lambda one: as_json(one))  # fmt: skip
    file = FOLDER / f"{hashlib.sha256(key.encode()).hexdigest()}.json"
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            file.write_text(audit(subject, problems, dtypes=dtypes, **settings).text(), encoding="utf-8")
    return Report.from_json(json.loads(file.read_text(encoding="utf-8")))
