"""The page of histories: for each verifier, which releases were right, which were not, and with what.

``python -m draftproof.corpus.site.histories_page`` writes history.md here from the kept histories.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from draftproof_engines.releases import HISTORIES
from draftproof_engines.releases_audit import ExaminedHistory
from draftproof_engines.releases_page import sentence

FOLDER = Path(__file__).with_name("history")
PAGE = FOLDER.with_suffix(".md")
KNOWN = FOLDER / "known.json"
"""Public issues about a verifier, by its name: what they say and where; of those that no release shows, why."""

HEAD = """\
# Engines, release by release

The verifier of every release, as the package index has it. Releases whose verifier has the same text (without
comments) are audited once and share its verdict; one with a damaged file, or with wheels that differ in the verifier,
is not examined, and says so. What is audited is the function alone, in float32, on a CPU, with few problems: the
paper's example at gamma 2 and 3 (where rules for blocks begin to differ) and rows with zeros; the shorter of them under
Triton's interpreter. *Not refuted* speaks of these problems, up to what float32 can round; it is no
proof, and says nothing of the scheduler, samplers and settings around the function. Written by
`draftproof history NAME --json corpus/site/history/NAME.json` and `python -m draftproof.corpus.site.histories_page`;
`draftproof history NAME --diff` shows how the text changed where the verdict did. Several texts are audited at a time
(`--workers`), or on a cluster (`--cluster dask://HOST:PORT`), whose workers are sent the files.

`draftproof bisect NAME OLD NEW` names the release that changed the verdict between two, and
`draftproof bisect NAME OLD NEW --repository DIR` the commit of a git repository, along first parents: it halves the
different texts, so that some 2 + log2 of them are audited, and says which were not looked at, where the verdict may
have changed and changed back. A text that cannot be audited is passed over. Both commands share one store.
"""


def kept() -> list[ExaminedHistory]:
    """Return the histories beside the page, in the order of HISTORIES."""
    files = [FOLDER / f"{name}.json" for name in HISTORIES]
    return [msgspec.json.decode(file.read_bytes(), type=ExaminedHistory) for file in files if file.is_file()]


def markdown(histories: Sequence[ExaminedHistory]) -> str:
    """Return the page."""
    known = json.loads(KNOWN.read_text(encoding="utf-8"))
    releases = sum(bool(row.text) for found in histories for row in found.releases)
    texts = sum(len(found.texts) for found in histories)
    parts = [HEAD, f"{len(histories)} verifiers, {releases} releases of them, {texts} different texts.\n"]
    for found in histories:
        history = HISTORIES[found.name]
        parts.append(f"## {found.name}\n\n{history.says} (package `{history.package}`; examined {found.day}).\n")
        parts.append("| first release | last | releases | day of the first | verdict |\n|---|---|---|---|---|")
        parts += [
            f"| {first.version} | {last.version} | {number} | {first.day} | {sentence(verdict, first.why)} |"
            for first, last, number, verdict in found.spells()
        ]
        yanked = [row.version for row in found.releases if row.yanked]
        parts += ["", f"Yanked: {', '.join(yanked)}."] if yanked else []
        bugs = known.get(found.name, [])
        parts += ["", "Known in public:\n"] if bugs else []
        parts += [*(f"- {what}: {where}" for what, where in bugs), ""]
    return "\n".join(parts).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(markdown(kept()), encoding="utf-8")
    print(PAGE)
