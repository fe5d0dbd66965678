"""The history of an engine's verifier in words: what became of each release."""

from collections.abc import Iterator

from ..audits.engines.history import ExaminedHistory, TextVerdict


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
