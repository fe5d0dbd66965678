"""Failures that are known: a TOML file with an entry for each, and what is out of date in it."""

from collections.abc import Collection, Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ...models.errors import InputError
from ...models.files import load_toml

FIELDS = {"id": str, "reason": str, "link": str, "expires": date}


class Known(NamedTuple):
    """One known failure.

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
        """What an id names before the test: its file, or "draftproof::SUBJECT"."""
        parts = self.id.split("::")
        return "::".join(parts[:2] if parts[0] == "draftproof" else parts[:1])

    def gone(self, root: Path) -> bool:
        """Whether the file of its test, or of its subject, is not there; of a subject that is no file this is not
        known."""
        subject = self.file.removeprefix("draftproof::")
        if subject != self.file:
            file = subject.rpartition(":")[0]
            return file.endswith(".py") and not (root / file).exists() and not Path(file).exists()
        return not (root / self.file).exists()


def load_known(file: Path) -> list[Known]:
    """The entries of a file, each a table of [[known]] with id, reason, link and expires.

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
    """What is out of date, a line each. An entry whose test passes is not seen here: that test fails, since xfail is
    strict.

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
