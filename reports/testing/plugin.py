"""The pytest plugin of draftproof: loaded in every run of pytest where draftproof is installed, so it imports little.

--draftproof-subject SUBJECT         tests of a verifier, one a check, without a test file (may be repeated)
--draftproof-report DIR              the JSON report and the page of every audit of the run
--draftproof-known-failures FILE     failures that are known (TOML; in pytest's settings draftproof_known_failures)
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Collection, Generator, Iterator, Sequence
from datetime import date, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from ...models.errors import InputError
from ...models.files import load_toml

FIELDS = {"id": str, "reason": str, "link": str, "expires": date}


class Known(NamedTuple):
    """A known failure.

    id: the test's node id.
    reason: what is wrong, in words.
    link: to the issue about it.
    expires: the last day on which the entry counts.
    """

    id: str
    reason: str
    link: str
    expires: date

    @property
    def expired(self) -> bool:
        return date.today() > self.expires

    @property
    def file(self) -> str:
        """Return what an id names before the test: its file, or "draftproof::SUBJECT"."""
        parts = self.id.split("::")
        return "::".join(parts[:2] if parts[0] == "draftproof" else parts[:1])

    def gone(self, root: Path) -> bool:
        """Return whether the file of its test or subject is missing; False for a subject that is no file."""
        subject = self.file.removeprefix("draftproof::")
        if subject != self.file:
            file = subject.rpartition(":")[0]
            return file.endswith(".py") and not (root / file).exists() and not Path(file).exists()
        return not (root / self.file).exists()


def load_known(file: Path) -> list[Known]:
    """Return the entries of a file, each a table of [[known]] with id, reason, link and expires.

    Raises: InputError that names the entry and what was expected.
    """
    data = load_toml(file)
    entries = data.get("known", [])
    if set(data) - {"known"} or not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise InputError(f"{file}: expected tables [[known]] and nothing else")
    known = [_entry(entry, f"{file}: entry {k}") for k, entry in enumerate(entries, 1)]
    ids = [entry.id for entry in known]
    if len(set(ids)) < len(ids):
        raise InputError(f"{file}: {next(i for i in ids if ids.count(i) > 1)} has two entries")
    return known


def _entry(entry: dict[str, Any], where: str) -> Known:
    if entry.keys() != FIELDS.keys():
        raise InputError(f"{where}: has {', '.join(sorted(entry)) or 'nothing'}; expected {', '.join(FIELDS)}")
    for name, kind in FIELDS.items():
        value = entry[name]
        if not isinstance(value, kind) or isinstance(value, datetime) or not value:
            raise InputError(
                f"{where}: {name} is {value!r}, expected {'a date such as 2027-01-31' if kind is date else 'text'}"
            )
    return Known(**entry)


def out_of_date(
    known: Sequence[Known], collected: Collection[str], checks: Collection[str], whole: bool, root: Path
) -> Iterator[str]:
    """Yield a line for each entry that is out of date. An entry whose test passes is not seen here: that test fails,
    since xfail is strict.

    collected: the ids of all tests of the run.
    checks: of those that check a verifier.
    whole: whether files were collected as a whole; else a test that is missing may only not have been asked for.
    root: of the ids' files.
    """
    files = {Known(test, "", "", date.max).file for test in collected}
    for entry in known:
        said = f"{entry.id} ({entry.link})"
        if entry.expired:
            yield f"expired on {entry.expires}: {said}"
        if entry.id in collected:
            if entry.id not in checks:
                yield f"no check of a verifier: {said}"
        elif (whole and entry.file in files) or entry.gone(root):
            yield f"no such test: {said}"


if TYPE_CHECKING:
    from ..audits.report import Report
    from .checks import Check

CHECK_NAMES = ("subject", "check", "verdict", "scope")
"""Properties of a test in JUnit's XML, each with "draftproof." before it."""

CHECKS_MODULE = "draftproof.reports.testing.checks"
"""Module of the checks: imported by whoever has some."""

OUT_OF_DATE = pytest.StashKey[list[str]]()
WRITTEN = pytest.StashKey[dict[str, "list[Report]"]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("draftproof", "audits of draft verifiers")
    group.addoption("--draftproof-subject", action="append", default=[], metavar="SUBJECT",
                    help="test this verifier, named as for draftproof audit (may be repeated)")  # fmt: skip
    group.addoption("--draftproof-report", metavar="DIR", help="write the JSON report and the page of every audit")
    known = "TOML file of known failures: id, reason, link, expires"
    group.addoption("--draftproof-known-failures", metavar="FILE", help=known)
    parser.addini("draftproof_known_failures", known, default="")
    parser.addini("draftproof_array", "what verifiers are given: numpy, rows, list or torch", default="")
    parser.addini("draftproof_dtypes", "precisions of the rows", type="args", default=[])
    parser.addini("draftproof_conventions", "how verifiers are called, if not plainly", type="args", default=[])
    parser.addini("draftproof_processor_time", "seconds of processor time for each audit", default="")
    stop = "whether the first refutation of a subject ends its audit"
    parser.addini("draftproof_stop_at_first", stop, type="bool", default=True)


class CheckItem(pytest.Item):
    """A test of one check of a subject that was named on the command line."""

    def __init__(self, *, check: Check, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.check = check

    def runtest(self) -> None:
        self.check()

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.nodeid


class OutOfDate(pytest.Item):
    """A test that fails because the file of known failures is out of date."""

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.nodeid

    def runtest(self) -> None:
        pytest.fail("known failures out of date:\n" + "\n".join(self.config.stash[OUT_OF_DATE]), pytrace=False)


def pytest_configure(config: pytest.Config) -> None:
    """Check names and files before anything is collected."""
    config.stash[WRITTEN], config.stash[OUT_OF_DATE] = {}, []
    config.pluginmanager.register(_AfterSelection(), "draftproof-after-selection")
    if config.option.draftproof_report:
        try:
            Path(config.option.draftproof_report).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise pytest.UsageError(
                f"--draftproof-report {config.option.draftproof_report}: {error.strerror}"
            ) from None
    if options := _in_settings(config):
        from .checks import IN_SETTINGS

        IN_SETTINGS.update(options)
    if config.option.draftproof_subject:
        from ..audits.subject import subject_from

        for name in config.option.draftproof_subject:
            try:
                subject_from(name)
            except InputError as error:
                raise pytest.UsageError(f"--draftproof-subject: {error}") from None


def _in_settings(config: pytest.Config) -> dict[str, Any]:
    """Return the options of audits in pytest's settings. Raises: pytest.UsageError for a time that is none."""
    names = ("array", "dtypes", "conventions", "processor_time")
    given = {name: value for name in names if (value := config.getini(f"draftproof_{name}"))}
    if "processor_time" in given:
        try:
            given["processor_time"] = float(given["processor_time"])
        except ValueError:
            time = given["processor_time"]
            raise pytest.UsageError(f"draftproof_processor_time: {time!r}; expected seconds") from None
    return given if config.getini("draftproof_stop_at_first") else given | {"stop_at_first": False}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the checks of the subjects, and expect the failures that are known."""
    for name in dict.fromkeys(config.option.draftproof_subject):
        from .checks import checks_of

        for check in checks_of(name):
            named = f"{name}::{check.name}"
            place: Any = {"name": named, "nodeid": f"draftproof::{named}", "path": config.rootpath}
            items.append(CheckItem.from_parent(session, check=check, **place))
    file = config.option.draftproof_known_failures or config.getini("draftproof_known_failures")
    if file:
        _expect_known(config, items, config.rootpath / file)


def _expect_known(config: pytest.Config, items: list[pytest.Item], file: Path) -> None:
    from .checks import CheckFailed

    try:
        known = load_known(file)
    except InputError as error:
        raise pytest.UsageError(str(error)) from None
    checks = {item.nodeid: item for item in items if _check_of(item)}
    for entry in known:
        if entry.id in checks and not entry.expired:
            if check := _check_of(checks[entry.id]):  # a failure that is expected must not keep others from being made
                check.audits.options["stop_at_first"] = False
            reason = f"{entry.reason} ({entry.link}, until {entry.expires})"
            checks[entry.id].add_marker(pytest.mark.xfail(reason=reason, raises=CheckFailed, strict=True))
    whole = not any("::" in str(argument) for argument in config.args)
    collected = {item.nodeid for item in items}
    config.stash[OUT_OF_DATE] = list(out_of_date(known, collected, checks, whole, config.rootpath))


class _AfterSelection:
    """A hook that comes after -k and -m, which must not remove the test that says what is out of date."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        if config.stash[OUT_OF_DATE]:
            item = OutOfDate.from_parent(
                session, name="known-failures", nodeid="draftproof::known-failures", path=config.rootpath
            )
            items.append(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Try what refuted last time first. Then add what was audited to the test's properties, and write its report."""
    check, cache = _check_of(item), getattr(item.config, "cache", None)
    if check and cache:
        check.first = cache.get(_key(item), None)
    try:
        return (yield)
    finally:
        report = check.made if check else None
        if check and report:
            if cache:
                _remember(check, cache, _key(item))
            scope = report.scope.says if report.scope else ""
            values = (check.subject, check.name, str(report.verdict), scope)  # plain text: xdist sends nothing else
            item.user_properties += [(f"draftproof.{name}", value) for name, value in zip(CHECK_NAMES, values)]
            if item.config.option.draftproof_report:
                _write(report, item.config)


def _key(item: pytest.Item) -> str:
    """Return where pytest's cache has the problem that refuted a test the last time."""
    return f"draftproof/{sha256(item.nodeid.encode()).hexdigest()[:16]}"


def _remember(check: Check, cache: pytest.Cache, key: str) -> None:
    """Keep the problem that refutes, and forget one that does not any more. A cache that is read-only stays."""
    from .checks import shown_for

    shown = check.made and shown_for(check.made, check.name)
    problem = shown.witness.problem if shown and shown.witness else None
    same = problem and isinstance(check.first, dict) and {**problem, "name": ""} == {**check.first, "name": ""}
    if problem != check.first and not same:  # else each run would add to its name that it was made smaller
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pytest warns of its own files there
            cache.set(key, problem)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Show of a check that fails its message alone: the source of the test says nothing of the verifier."""
    report = yield
    checks = sys.modules.get(CHECKS_MODULE)
    if checks and call.excinfo and report.failed and call.excinfo.errisinstance(checks.CheckError):
        report.longrepr = str(call.excinfo.value)
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what the passed checks speak of, a line a subject: a pass says no more than that."""
    passed = [dict(report.user_properties) for report in terminalreporter.stats.get("passed", ())]
    names = [f"draftproof.{name}" for name in ("subject", "scope")]
    lines = dict.fromkeys(": ".join(known[name] for name in names) for known in passed if names[0] in known)
    if lines:
        terminalreporter.section("draftproof: what the passed checks speak of")
    for line in lines:
        terminalreporter.write_line(line)


def _check_of(item: pytest.Item) -> Check | None:
    """Return the check that a test runs, if it runs one."""
    if isinstance(item, CheckItem):
        return item.check
    checks = sys.modules.get(CHECKS_MODULE)  # without it nothing is a check
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return next((value for value in parameters.values() if checks and isinstance(value, checks.Check)), None)


def _write(report: Report, config: pytest.Config) -> None:
    """Write a report once; another one on the same subject gets a number."""
    written = config.stash[WRITTEN].setdefault(report.subject["name"], [])
    if any(report is other for other in written):
        return
    written.append(report)
    from ...models.files import file_name, write_atomically
    from ..pages.page import page

    name = report.subject["name"]
    stem = file_name(name)
    stem += f"-{len(written)}" if len(written) > 1 else ""
    stem += f"-{worker}" if (worker := os.environ.get("PYTEST_XDIST_WORKER")) else ""  # each has audits of its own
    folder = Path(config.option.draftproof_report)
    write_atomically(folder / f"{stem}.json", report.text())
    write_atomically(folder / f"{stem}.html", page(report))
