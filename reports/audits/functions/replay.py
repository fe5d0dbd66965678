"""The command that shows a refutation again."""

import json
import os
import shlex
from collections.abc import Sequence
from dataclasses import replace

from ....verifiers.evidence import Evidence
from .settings import AuditSettings


def with_replay(
    evidence: Evidence,
    name: str,
    settings: AuditSettings,
    dtypes: tuple[str, ...] = ("exact",),
    array: str | None = None,
    folders: Sequence[str] = (),
) -> Evidence:
    """The evidence with its replay command, if it has a witness.

    name, dtypes, array: of the subject, as on the command line.
    folders: that have to be searched for its modules.
    """
    if not (evidence.refuted and evidence.witness):
        return evidence
    words = ["env", "PYTHONPATH=" + os.pathsep.join(folders)] if folders else []
    words += ["draftproof", "audit", name, "--problem", json.dumps(evidence.witness.problem, separators=(",", ":"))]
    if evidence.claim != "lossless":
        words += ["--claims", evidence.claim]
    if evidence.dtype != "exact" and (evidence.dtype != "float64" or len(dtypes) > 1):
        words += ["--dtype", evidence.dtype]
    if array:
        words += ["--array", array]
    if evidence.method == "chi-square":
        words += ["--level", "statistical", "--seed", str(settings.seed), "--samples", str(settings.samples)]
    return replace(evidence, replay=shlex.join(words))
