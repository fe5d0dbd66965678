"""The page of histories: for each verifier, which releases were right, which were not, and with what.

``python -m draftproof.reports.pages.history`` writes reports/history.md from the histories that are kept beside it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from ...verifiers.adapters.releases import HISTORIES
from ..audits.engines.history import ExaminedHistory, TextVerdict

FOLDER = Path(__file__).parents[1] / "history"
PAGE = FOLDER.with_suffix(".md")

HEAD = """\
# Engines, release by release

The verifier of every release, as the package index has it. Releases whose verifier has the same text (without
comments) are audited once and share its verdict; one with a damaged file, or with wheels that differ in the verifier,
is not examined, and says so. What is audited is the function alone, in float32, on a CPU, with few problems: the
paper's example at gamma 2 and 3 (where rules for blocks begin to differ) and rows with zeros; the shorter of them under
Triton's interpreter. *Not refuted* speaks of these problems, up to what float32 can round; it is no
proof, and says nothing of the scheduler, samplers and settings around the function. Written by
`draftproof history NAME --json reports/history/NAME.json` and `python -m draftproof.reports.pages.history`;
`draftproof history NAME --diff` shows how the text changed where the verdict did.
"""


def kept() -> list[ExaminedHistory]:
    """The histories beside the page, in the order of HISTORIES."""
    files = [FOLDER / f"{name}.json" for name in HISTORIES]
    return [msgspec.json.decode(file.read_bytes(), type=ExaminedHistory) for file in files if file.is_file()]


def sentence(verdict: TextVerdict | None, why: str = "") -> str:
    """What became of a text, in words. why: there is none."""
    if verdict is None:
        return f"not examined: {why}" if why else "no such verifier"
    if verdict.verdict == "refuted":
        worst = [
            f"{f.claim} on `{f.problem}`" + (f" (TV {f.deviation:.2g})" if f.deviation is not None else "")
            for f in verdict.findings
        ]
        return "**refuted**: " + "; ".join(worst)
    if verdict.verdict == "error":
        return f"could not be audited: {verdict.why}"
    off = "" if verdict.deviation is None else f" (deviates by at most {verdict.deviation:.1g})"
    also = "; ".join(f"{f.claim} refuted on `{f.problem}`" for f in verdict.findings)
    what = "not refuted" if verdict.verdict == "holds" else "not decided"
    return f"{what} on {verdict.problems} problems{off}" + (f"; {also}" if also else "")


def lines_of(found: ExaminedHistory) -> Iterator[str]:
    """A verifier's history, one line for each row of releases with the same verdict."""
    for first, last, number, verdict in found.spells():
        which = first.version if number == 1 else f"{first.version} to {last.version} ({number} releases)"
        yield f"{first.day}  {which}: {sentence(verdict, first.why)}"
    if yanked := [row.version for row in found.releases if row.yanked]:
        yield f"yanked: {', '.join(yanked)}"


def markdown(histories: Sequence[ExaminedHistory]) -> str:
    """The page."""
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
        parts += ["", "Known in public:\n"] if history.known else []
        parts += [*(f"- {what}: {where}" for what, where in history.known), ""]
    return "\n".join(parts).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(markdown(kept()), encoding="utf-8")
    print(PAGE)
