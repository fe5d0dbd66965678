"""The command line that shows a result again."""

import json
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...verifiers.evidence import Evidence

if TYPE_CHECKING:
    from .settings import AuditSettings


def command_words(command: str, *arguments: str, **options: Any) -> list[str]:
    """Return the words of a draftproof command.

    options: by name; None and False are left out, True is a flag, a list gives its option once for each value.
    """
    words = ["draftproof", command, *arguments]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(option)
            elif one is not None and one is not False:
                words += [option, str(one)]
    return words


def command_line(command: str, *arguments: str, **options: Any) -> str:
    """Return a draftproof command as a shell reads it; options as in ``command_words``."""
    return shlex.join(command_words(command, *arguments, **options))


def assignments(settings: Mapping[str, Any]) -> list[str]:
    """Return settings as the values of --set: NAME=VALUE, the value in JSON."""
    return [f"{name}={json.dumps(value)}" for name, value in settings.items()]


def compact(problem: Mapping[str, Any]) -> str:
    """Return a problem's JSON form as the value of --problem."""
    return json.dumps(problem, separators=(",", ":"))


def audit_words(
    subject: Sequence[str], problems: Iterable[Mapping[str, Any]], folders: Sequence[str] = (), **options: Any
) -> list[str]:
    """Return the words of the command that audits a subject on these problems, in their JSON form.

    subject: its words on the command line.
    folders: those that have to be searched for its modules.
    options: as in ``command_words``.
    """
    searched = ["env", "PYTHONPATH=" + os.pathsep.join(folders)] if folders else []
    return searched + command_words("audit", *subject, problem=[*map(compact, problems)], **options)


def with_replay(
    evidence: Evidence,
    subject: Sequence[str],
    settings: "AuditSettings",
    dtypes: tuple[str, ...] = ("exact",),
    array: str | None = None,
    folders: Sequence[str] = (),
) -> Evidence:
    """Return the evidence with its replay command, if it has a witness.

    subject, dtypes, array: as on the command line; no dtypes of a program that says its own.
    folders: as in ``audit_words``.
    """
    if not (evidence.refuted and evidence.witness):
        return evidence
    dtype, sampled = evidence.dtype, evidence.method == "chi-square"
    words = audit_words(
        subject, [evidence.witness.problem], folders,
        claims=evidence.claim if evidence.claim != "lossless" else None,
        dtype=dtype if dtypes and dtype != "exact" and (dtype != "float64" or len(dtypes) > 1) else None,
        uniform_bits=settings.uniform_bits, array=array, level="statistical" if sampled else None,
        seed=settings.seed if sampled else None, samples=settings.samples if sampled else None,
    )  # fmt: skip
    return replace(evidence, replay=shlex.join(words))
