"""The history of an engine's verifier in words: what became of each release."""

from collections.abc import Iterator

from draftproof_engines.bisect import Bisection
from draftproof_engines.releases_audit import ExaminedHistory, TextVerdict


def sentence(verdict: TextVerdict | None, why: str = "") -> str:
    """Return what became of a text, in words. why: there is none."""
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
    """Yield a verifier's history, one line for each row of releases with the same verdict."""
    for first, last, number, verdict in found.spells():
        which = first.version if number == 1 else f"{first.version} to {last.version} ({number} releases)"
        yield f"{first.day}  {which}: {sentence(verdict, first.why)}"
    if yanked := [row.version for row in found.releases if row.yanked]:
        yield f"yanked: {', '.join(yanked)}"


def lines_of_bisection(found: Bisection) -> Iterator[str]:
    """Yield what changed the verdict, what was looked at, and what was not."""
    last, named = found.releases[-1], (found.before, found.after)
    for row in (row for row in found.releases if row.version in (named if found.after else (last.version,))):
        yield f"{row.day}  {row.version}: {sentence(found.texts.get(row.text))}"
    yield f"the verdict of {last.version} came with {found.after}" if found.after else "both ends have this verdict"
    if also := [f"{a.version}..{b.version}" for a, b in found.changes() if (a.version, b.version) != named]:
        yield f"it changed elsewhere too: {', '.join(also)}"
    texts = {row.text for row in found.releases if row.text}
    yield f"looked at {len(found.texts)} of {len(texts)} texts in {len(found.releases)} releases or commits"
    if unseen := [row.version for row in found.releases if not row.why and not found.seen(row)]:
        yield f"not looked at, where it may have changed and changed back: {', '.join(unseen)}"
    for row in found.releases:
        verdict = found.texts.get(row.text)
        if why := row.why or (verdict.why if verdict and verdict.verdict == "error" else ""):
            yield f"{row.version} could not be examined: {why}"
    if found.difference:
        yield f"\n{found.difference}"
