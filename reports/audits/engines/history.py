"""An engine's verifier through its releases: each distinct text of it is audited once, and releases share its verdict.

The releases, and what became of each text, are kept as JSON; the page is made of them.
"""

import difflib
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from datetime import date
from itertools import groupby, pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ....models.battery import drawn, toy
from ....models.digests import EXAMINING, code_digest
from ....models.errors import InputError, RunFailed
from ....models.problem import Problem
from ....models.store import Key, Store
from ....verifiers.adapters.releases import Release, UnreadableRelease, VerifierHistory, digest, releases, texts, unpack
from ....verifiers.evidence import NO_EVIDENCE
from ..functions.audit import run_audit
from ..settings import AuditSettings
from ..subject import subject_from

Result = TypeVar("Result")


def in_processes(
    function: Callable[..., Result], calls: Iterable[tuple[Any, ...]], workers: int
) -> Iterator[tuple[tuple[Any, ...], Result]]:
    """The arguments and the result of every call, as they become known; here, in order, if there is one worker.

    function: of a module, since new processes import it by name
    Raises: RunFailed if a process ends without a result.
    """
    calls = [*calls]
    if min(workers, len(calls)) <= 1:
        yield from ((call, function(*call)) for call in calls)
        return
    silently = signal.SIGINT, signal.SIG_DFL  # Ctrl-C ends a worker too, without a traceback of its own
    with ProcessPoolExecutor(workers, get_context("spawn"), signal.signal, silently) as pool:
        running = {pool.submit(function, *call): call for call in calls}
        try:
            for future in as_completed(running):
                yield running[future], future.result()
        except BrokenProcessPool as broken:
            raise RunFailed(
                "crash", f"one of {workers} processes ended without a result; --workers 1 makes none"
            ) from broken
        finally:
            pool.shutdown(cancel_futures=True)


def made_rows(
    store: Store, keys: Iterable[Key], make: Callable[..., Any], workers: int = 1
) -> Iterator[tuple[Key, Any]]:
    """The rows for those keys that the store lacks, by ``make(*key)``; each is in the store before it is given out."""
    for key, row in in_processes(make, [key for key in keys if key not in store.rows], workers):
        store.put(key, row)
        yield key, row


TIMEOUT, INTERPRETED = 300.0, 20.0
"""Seconds for a problem, and under Triton's interpreter."""

ROWS, WHAT = "texts.jsonl", "texts of verifiers, release by release"
"""The file of the audits' results, and what its rows are of."""


class RefutedClaim(msgspec.Struct, frozen=True):
    """One refuted claim. deviation: the largest total variation over the problems; witness: where, in words."""

    claim: str
    problem: str
    deviation: float | None
    witness: str


class TextVerdict(msgspec.Struct, frozen=True):
    """What an audit of one text came to.

    verdict: of the report. problems: how many were decided. allowed: the largest deviation that counts as rounding.
    deviation: the largest of those measured. findings: one a refuted claim. why: it could not be audited, or ``""``.
    """

    verdict: str
    problems: int
    deviation: float | None
    allowed: float | None
    findings: tuple[RefutedClaim, ...] = ()
    why: str = ""


class ReleaseRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """text: the digest of its verifier; empty if the release has none. why: it is not known."""

    version: str
    day: str
    text: str
    why: str = ""
    yanked: bool = False


class ExaminedHistory(msgspec.Struct, frozen=True):
    """The history of one verifier, as it is kept.

    day: of the examination. changes: (release before, release) -> diff.
    """

    name: str
    day: str
    releases: tuple[ReleaseRow, ...]
    texts: dict[str, TextVerdict]
    changes: dict[str, str]

    def verdict(self, release: ReleaseRow) -> TextVerdict | None:
        return self.texts.get(release.text)

    def spells(self) -> list[tuple[ReleaseRow, ReleaseRow, int, TextVerdict | None]]:
        """First and last release of each row of them with one verdict and findings, their number, the verdict."""

        def outcome(release: ReleaseRow) -> Any:
            verdict = self.verdict(release)
            return (
                release.why if not verdict else (verdict.verdict, tuple(f.claim for f in verdict.findings), verdict.why)
            )

        rows = [[*group] for _, group in groupby(self.releases, key=outcome)]
        return [(row[0], row[-1], len(row), self.verdict(row[0])) for row in rows]


def problems_of(triton: bool) -> list[Problem]:
    """The paper's example at gamma 2 and 3 and rows with zeros; an interpreter has the shorter ones."""
    few = [toy(2), drawn(3, 1, "zeros")]
    return few if triton else [*few, toy(3), drawn(3, 2, "zeros")]


def audited(verifier: str, triton: bool, root: str, text: str) -> dict[str, Any]:
    """The verdict of the text in one folder of engines, in JSON's form.

    text: its digest, by which what is kept of another one in this folder does not count.
    """
    os.environ["DRAFTPROOF_ENGINES"] = root  # the audit's child process lifts the functions from there
    subject = subject_from(verifier, array="torch", dtypes=("float32",))
    timeout = INTERPRETED if triton else TIMEOUT  # of processor time: fewer calls confirm a law
    report = run_audit(subject, AuditSettings(problems=problems_of(triton), explain=False, timeout=timeout))
    laws = [e for e in report.evidence if e.claim == "lossless"]
    found: dict[str, Any] = {}
    for e in sorted(report.evidence, key=lambda e: -_number(e.total_variation, 0.0)):
        if e.refuted and e.claim != "optimal":
            found.setdefault(e.claim, e)
    findings = [
        RefutedClaim(
            e.claim, e.problem or "", _number(e.total_variation, None), str(e.witness.sequence) if e.witness else ""
        )
        for e in found.values()
    ]
    measured = [_number(e.total_variation, None) for e in laws]
    allowed = [_number(e.bound, None) for e in laws]
    return msgspec.to_builtins(
        TextVerdict(
            report.verdict, len({e.problem for e in laws if e.verdict != NO_EVIDENCE}),
            max((m for m in measured if m is not None), default=None),
            max((a for a in allowed if a is not None), default=None), tuple(findings),
            report.failure["message"] if report.failure else "",
        )
    )  # fmt: skip


def _number(value: Any, missing: Any) -> Any:
    return missing if value is None else float(value)


def history_of(
    history: VerifierHistory,
    folder: Path,
    workers: int = 1,
    progress: Callable[[str, int, int], None] = lambda *_: None,
    only: Callable[[Release], bool] = lambda _: True,
) -> ExaminedHistory:
    """The verifier's history, with its files and results kept in folder, so that the same call goes on.

    Raises: InputError if the index cannot be read, or has no such package.
    """
    rows: list[ReleaseRow] = []
    roots: list[Path | None] = []
    try:
        every = [release for release in releases(history) if only(release)]
        for k, release in enumerate(every):
            progress("reading releases", k, len(every))
            root, text, why = None, "", ""
            try:
                root = unpack(history, release, folder)
                text = digest(history, root) if root else ""
            except UnreadableRelease as unreadable:
                root, why = None, str(unreadable)
            roots.append(root)
            rows.append(ReleaseRow(release.version, release.day, text, why, release.yanked))
    except OSError as error:  # requests' errors are OSErrors
        raise InputError(f"{history.package}: its releases cannot be read ({error}); what was read is kept") from None
    if not any(row.text for row in rows):
        raise InputError(f"{history.package}: none of {len(rows)} releases has {history.files[0].path}")
    first = {row.text: root for row, root in reversed([*zip(rows, roots, strict=True)]) if root}
    found: dict[str, TextVerdict] = {}
    with Store(folder / ROWS, WHAT, valid_for=code_digest(EXAMINING)) as store:
        keys = {(history.verifier, history.triton, str(root), text): text for text, root in first.items()}
        for k, (key, row) in enumerate(_rows(store, keys, workers)):
            progress("auditing texts", k, len(keys))
            found[keys[key]] = msgspec.convert(row, TextVerdict)
    return ExaminedHistory(
        history.name, date.today().isoformat(), tuple(rows), found, dict(_changes(history, rows, roots, found))
    )


def _rows(store: Store, keys: Mapping[Any, str], workers: int) -> Iterator[tuple[Any, Any]]:
    yield from ((key, store.rows[key]) for key in keys if key in store.rows)
    yield from made_rows(store, keys, audited, workers)


def _changes(
    history: VerifierHistory, rows: Sequence[ReleaseRow], roots: Sequence[Path | None], found: Mapping[str, TextVerdict]
) -> Iterator[tuple[str, str]]:
    """The difference of the texts wherever the verdict changes from one release with a verifier to the next."""
    having = [(row, root) for row, root in zip(rows, roots, strict=True) if root]
    for (old, before), (new, after) in pairwise(having):
        if found[old.text].verdict != found[new.text].verdict:
            lines: list[str] = []
            for (path, was), (_, now) in zip(texts(history, before), texts(history, after), strict=True):
                given = was.splitlines(), now.splitlines(), f"{old.version}/{path}", f"{new.version}/{path}"
                lines += difflib.unified_diff(*given, lineterm="", n=2)
            yield f"{old.version}..{new.version}", "\n".join(lines)
