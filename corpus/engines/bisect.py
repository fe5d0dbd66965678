"""The release, or the commit, that changed the verdict of an engine's verifier: found by halving its texts."""

from datetime import date
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import msgspec

from draftproof.models.errors import RunFailed

from .releases_audit import Progress, ReadReleases, ReleaseRow, TextVerdict, outcome, silent, verdicts


class Bisection(msgspec.Struct, frozen=True):
    """The change between two releases, or commits, that made the newest one's verdict.

    releases: all that were read, the two at the ends. texts: of the verdicts that were looked at, by digest.
    before, after: the last release that is known to have another verdict than the newest, and the first one since that
    has its verdict; "" where both ends have one verdict. difference: of the text between the two.
    """

    name: str
    day: str
    releases: tuple[ReleaseRow, ...]
    texts: dict[str, TextVerdict]
    before: str
    after: str
    difference: str

    def seen(self, row: ReleaseRow) -> bool:
        """Return whether it is known what became of a release: it has no such verifier, or one that was looked at."""
        return not row.why and (not row.text or row.text in self.texts)

    def changes(self) -> list[tuple[ReleaseRow, ReleaseRow]]:
        """Releases next to each other of those that were looked at, where the outcome differs."""
        known = [row for row in self.releases if self.seen(row)]
        return [pair for pair in pairwise(known) if len({outcome(row, self.texts.get(row.text)) for row in pair}) > 1]


def bisected(found: ReadReleases, folder: Path, workers: int = 1, progress: Progress = silent) -> Bisection:
    """Halve the texts between the first and the last release: at most 2 + log2(texts) audits.

    A text that cannot be audited is passed over. Between releases that were looked at verdicts may change and change
    back unseen.
    Raises: RunFailed if one of the two ends cannot be audited.
    """
    rows, known = found.rows, dict[str, TextVerdict]()

    def outcomes(*places: int) -> list[tuple[Any, ...]]:
        wanted = [rows[k].text for k in places if rows[k].text]
        known.update(verdicts(found, wanted, folder, workers, progress=progress))
        return [outcome(rows[k], known.get(rows[k].text)) for k in places]

    spells = [
        [*spell] for _, spell in groupby((k for k in range(len(rows)) if not rows[k].why), lambda k: rows[k].text)
    ]
    low, high = 0, len(spells) - 1
    for end in (rows[0], rows[-1]):
        if end.why:
            raise RunFailed("load", f"{end.version}: not examined: {end.why}")
    old, new = outcomes(0, len(rows) - 1)
    for end, what in ((rows[0], old), (rows[-1], new)):
        if what[0] == "error":
            raise RunFailed("load", f"{end.version}: {what[-1]}")
    between = [*range(1, high)]
    while old != new and (inner := [k for k in between if low < k < high]):
        middle = inner[len(inner) // 2]
        (seen,) = outcomes(spells[middle][0])
        if seen[0] == "error":
            between.remove(middle)
        elif seen == new:
            high = middle
        else:
            low = middle
    before, after = spells[low][-1], spells[high][0]
    ends = ("", "", "") if old == new else (rows[before].version, rows[after].version, found.difference(before, after))
    return Bisection(found.history.name, date.today().isoformat(), tuple(rows), known, *ends)
