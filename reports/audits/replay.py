"""The command that shows a refutation again."""

import json
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...verifiers.evidence import Evidence
from .settings import AuditSettings


def audit_words(
    subject: Sequence[str], problems: Iterable[Mapping[str, Any]], folders: Sequence[str] = ()
) -> list[str]:
    """The words of the command that audits a subject on these problems, in their JSON form.

    subject: its words on the command line.
    folders: that have to be searched for its modules.
    """
    words = ["env", "PYTHONPATH=" + os.pathsep.join(folders)] if folders else []
    words += ["draftproof", "audit", *subject]
    for problem in problems:
        words += ["--problem", json.dumps(problem, separators=(",", ":"))]
    return words


def with_replay(
    evidence: Evidence,
    subject: Sequence[str],
    settings: AuditSettings,
    dtypes: tuple[str, ...] = ("exact",),
    array: str | None = None,
    folders: Sequence[str] = (),
) -> Evidence:
    """The evidence with its replay command, if it has a witness.

    subject, dtypes, array: as on the command line; no dtypes of a program that says its own.
    folders: as in ``audit_words``.
    """
    if not (evidence.refuted and evidence.witness):
        return evidence
    words = audit_words(subject, [evidence.witness.problem], folders)
    if evidence.claim != "lossless":
        words += ["--claims", evidence.claim]
    if dtypes and evidence.dtype != "exact" and (evidence.dtype != "float64" or len(dtypes) > 1):
        words += ["--dtype", evidence.dtype]
    if settings.uniform_bits:
        words += ["--uniform-bits", str(settings.uniform_bits)]
    if array:
        words += ["--array", array]
    if evidence.method == "chi-square":
        words += ["--level", "statistical", "--seed", str(settings.seed), "--samples", str(settings.samples)]
    return replace(evidence, replay=shlex.join(words))
