"""An engine's verifier through its releases: each distinct text of it is audited once, and releases share its verdict.

The releases, and what became of each text, are kept as JSON; the page is made of them.
"""

import difflib
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from datetime import date
from itertools import groupby, pairwise
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import msgspec

from draftproof.models.battery import drawn, toy
from draftproof.models.digests import EXAMINING, code_digest
from draftproof.models.errors import InputError, RunFailed
from draftproof.models.problem import Problem
from draftproof.models.store import Store
from draftproof.reports.audits.functions.audit import run_audit
from draftproof.reports.audits.settings import AuditSettings
from draftproof.reports.audits.subject import subject_from
from draftproof.stattests.campaign.clusters import WorkersLost, parallel
from draftproof.verifiers.evidence import NO_EVIDENCE
from draftproof_engines.releases import Release, UnreadableRelease, VerifierHistory, digest, releases, texts, unpack

Result = TypeVar("Result")


def in_processes(
    function: Callable[..., Result], calls: Iterable[tuple[Any, ...]], workers: int, cluster: str | None = None
) -> Iterator[tuple[tuple[Any, ...], Result]]:
    """Yield the arguments and the result of every call, as they become known; here, in order, if there is one worker.

    function: of a module, since new processes import it by name
    cluster: dask://HOST:PORT, as of a campaign, in place of this machine
    Raises: RunFailed if a process ends without a result; InputError for a cluster that does not answer.
    """
    calls = [*calls]
    if cluster and calls:
        try:
            with parallel(None, cluster, function, len(calls)) as run:
                yield from run((_with_call, function, *call) for call in calls)
        except WorkersLost as lost:
            raise RunFailed("crash", f"{lost}; what was made is kept") from lost
        return
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


def _with_call(function: Callable[..., Result], *call: Any) -> tuple[tuple[Any, ...], Result]:
    return call, function(*call)


TIMEOUT, INTERPRETED = 300.0, 20.0
"""Seconds for a problem, and under Triton's interpreter."""

ROWS, WHAT = "texts.jsonl", "texts of verifiers, release by release"
"""The file of the audits' results, and what its rows are of."""


Progress = Callable[[str, int, int], None]


def silent(*_: Any) -> None:
    """No progress is shown."""


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


def outcome(release: ReleaseRow, verdict: TextVerdict | None) -> tuple[Any, ...]:
    """Return what releases of one spell have in common: verdict and refuted claims, or why there is none."""
    return (verdict.verdict, *(f.claim for f in verdict.findings), verdict.why) if verdict else (release.why,)


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

        rows = [[*group] for _, group in groupby(self.releases, key=lambda row: outcome(row, self.verdict(row)))]
        return [(row[0], row[-1], len(row), self.verdict(row[0])) for row in rows]


def problems_of(triton: bool) -> list[Problem]:
    """Return the paper's example at gamma 2 and 3 and rows with zeros; an interpreter has the shorter ones."""
    few = [toy(2), drawn(3, 1, "zeros")]
    return few if triton else [*few, toy(3), drawn(3, 2, "zeros")]


ONE_AT_A_TIME = Lock()
"""A worker of a cluster may have threads; where engines lie is a variable of the whole process."""


def audited(verifier: str, triton: bool, text: str, engine: str, files: Mapping[str, bytes]) -> dict[str, Any]:
    """The verdict of the text in these files of an engine, in JSON's form, wherever this is run. text: its digest."""
    with ONE_AT_A_TIME, TemporaryDirectory() as root:
        for path, content in files.items():
            (made := Path(root, engine, path)).parent.mkdir(parents=True, exist_ok=True)
            made.write_bytes(content)
        os.environ["DRAFTPROOF_ENGINES"] = root  # the audit's child process lifts the functions from there
        return msgspec.to_builtins(_audited(verifier, triton))


def _audited(verifier: str, triton: bool) -> TextVerdict:
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
    return TextVerdict(
        report.verdict, len({e.problem for e in laws if e.verdict != NO_EVIDENCE}),
        max((m for m in measured if m is not None), default=None),
        max((a for a in allowed if a is not None), default=None), tuple(findings),
        report.failure["message"] if report.failure else "",
    )  # fmt: skip


def _number(value: Any, missing: Any) -> Any:
    return missing if value is None else float(value)


class ReadReleases(NamedTuple):
    """The releases of a verifier, oldest first: rows, and of each the folder of engines, None if it has none."""

    history: VerifierHistory
    rows: list[ReleaseRow]
    roots: list[Path | None]

    def call(self, text: str) -> tuple[Any, ...]:
        """Return what ``audited`` is given for a text; the first three are what its verdict is kept by."""
        history = self.history
        root = next(root for row, root in zip(self.rows, self.roots, strict=True) if row.text == text and root)
        files = {
            path: file.read_bytes()
            for path in ("PKG-INFO", *(file.path for file in history.files))
            if (file := root / history.engine / path).is_file()
        }
        return history.verifier, history.triton, text, history.engine, files

    def difference(self, old: int, new: int) -> str:
        """Return how the text changed between two releases, by their places, as a unified diff; "" if one has none."""
        before, after, lines = self.roots[old], self.roots[new], list[str]()
        for (path, was), (_, now) in (
            zip(*(texts(self.history, r) for r in (before, after))) if before and after else ()
        ):
            given = f"{self.rows[old].version}/{path}", f"{self.rows[new].version}/{path}"
            lines += difflib.unified_diff(was.splitlines(), now.splitlines(), *given, lineterm="", n=2)
        return "\n".join(lines)


def read(
    history: VerifierHistory, listed: Callable[[], Iterable[Release]], folder: Path, progress: Progress = silent
) -> ReadReleases:
    """Return the releases that are listed, with their files kept in folder.

    Raises: InputError if they cannot be read, or none has the verifier.
    """
    found = ReadReleases(history, [], [])
    try:
        every = [*listed()]
        for k, release in enumerate(every):
            progress("reading releases", k, len(every))
            root, text, why = None, "", ""
            try:
                root = unpack(history, release, folder)
                text = digest(history, root) if root else ""
            except UnreadableRelease as unreadable:
                root, why = None, str(unreadable)
            found.roots.append(root)
            found.rows.append(ReleaseRow(release.version, release.day, text, why, release.yanked))
    except OSError as error:  # requests' errors are OSErrors
        raise InputError(f"{history.package}: its releases cannot be read ({error}); what was read is kept") from None
    if not any(row.text for row in found.rows):
        raise InputError(f"{history.package}: none of {len(found.rows)} releases has {history.files[0].path}")
    return found


def verdicts(
    found: ReadReleases, wanted: Iterable[str], folder: Path, workers: int = 1, cluster: str | None = None,
    progress: Progress = silent,
) -> dict[str, TextVerdict]:  # fmt: skip
    """Return the verdict of each text, which is kept in folder as it comes.

    cluster: dask://HOST:PORT, whose workers audit in place of this machine's processes
    """
    with Store(folder / ROWS, WHAT, valid_for=code_digest(EXAMINING)) as store:
        calls = {call[:3]: call for text in dict.fromkeys(wanted) for call in [found.call(text)]}
        missing = [call for key, call in calls.items() if key not in store.rows]
        progress("auditing texts", done := len(calls) - len(missing), len(calls))
        for k, (call, row) in enumerate(in_processes(audited, missing, workers, cluster), done + 1):
            store.put(call[:3], row)
            progress("auditing texts", k, len(calls))
        return {key[2]: msgspec.convert(store.rows[key], TextVerdict) for key in calls}


def history_of(
    history: VerifierHistory,
    folder: Path,
    workers: int = 1,
    progress: Progress = silent,
    only: Callable[[Release], bool] = lambda _: True,
    cluster: str | None = None,
) -> ExaminedHistory:
    """Return the verifier's history, with its files and results kept in folder, so that the same call goes on.

    cluster: as of ``verdicts``.
    Raises: InputError if the index cannot be read, or has no such package, or no cluster answers; RunFailed.
    """
    read_ones = read(history, lambda: filter(only, releases(history)), folder, progress)
    rows = read_ones.rows
    found = verdicts(read_ones, filter(None, (row.text for row in rows)), folder, workers, cluster, progress)
    having = [k for k, row in enumerate(rows) if row.text]
    changes = {
        f"{rows[old].version}..{rows[new].version}": read_ones.difference(old, new)
        for old, new in pairwise(having)
        if found[rows[old].text].verdict != found[rows[new].text].verdict
    }
    return ExaminedHistory(history.name, date.today().isoformat(), tuple(rows), found, changes)
