"""A report in a few rows: what the terminal and the page both show."""

from typing import NamedTuple

from ...verifiers.evidence import HOLDS, NO_EVIDENCE, NOT_CLAIMED, REFUTED, Evidence
from ..audits.report import Report

HOW = {
    "exact": "exact",
    "lattice": "exact, on the lattice",
    "resolution": "closed law of noise",
    "not interceptable": "not interceptable",
}


NOT_ASKED = "the exact route was not asked for"


class Row(NamedTuple):
    claim: str
    numbers: str
    verdict: str
    problems: str
    how: str
    deviation: str
    bound: str


def rows(report: Report) -> list[Row]:
    """One row for each claim, kind of numbers and method."""
    groups: dict[tuple[str, str, str], list[Evidence]] = {}
    for evidence in report.evidence:
        if evidence is report.smallest or (evidence.problem or "").startswith("smallest-of-"):
            continue
        key = (evidence.claim, str(evidence.detail.get("dtype", "exact")), evidence.method)
        groups.setdefault(key, []).append(evidence)
    return [_row(key, group) for key, group in groups.items()]


def _row(key: tuple[str, str, str], group: list[Evidence]) -> Row:
    claim, numbers, method = key
    counts = {
        verdict: sum(e.verdict == verdict for e in group) for verdict in (REFUTED, NO_EVIDENCE, NOT_CLAIMED, HOLDS)
    }
    verdict = next(v for v in (REFUTED, NO_EVIDENCE, NOT_CLAIMED, HOLDS) if counts[v])
    problems = f"{counts[verdict]} of {len(group)}"
    if "how" in group[0].detail:  # said by the run itself
        told = max((e for e in group if e.verdict == verdict), key=lambda e: e.total_variation or 0).detail
        return Row(claim, numbers, verdict, problems, told["how"], told["worst"], told["limit"])
    known = [e for e in group if e.verdict != NO_EVIDENCE or method == "chi-square"]
    kinds = {str(e.detail.get("exactness", "")) for e in known}
    worst_kind = next((k for k in reversed(HOW) if k in kinds), "")
    how = (
        f"chi-square, {group[0].detail['samples']:,} samples each"
        if method == "chi-square"
        else HOW.get(worst_kind, method)
    )
    if not known:
        how = "not asked for" if {e.detail.get("reason") for e in group} == {NOT_ASKED} else "not interceptable"
    deviations = [e.total_variation for e in group if e.total_variation is not None]
    bounds = [float(e.bound) for e in group if e.bound is not None]
    if claim == "optimal":
        lost = [e.detail["tokens_per_call_lost"] for e in known if "tokens_per_call_lost" in e.detail]
        worst = f"-{max(lost):.3g} tokens/call" if lost and max(lost) and verdict != NOT_CLAIMED else ""
        allowed = f"{max(bounds):.2g} tokens" if bounds and max(bounds) else ""
        return Row(claim, numbers, verdict, problems, how, worst, allowed)
    if claim == "support":
        seen = [e.witness["observed"] for e in group if e.witness]
        return Row(claim, numbers, verdict, problems, how, f"Pr {seen[0]}" if seen else "", "")
    worst = f"TV {float(max(deviations)):.2g}" if deviations else ""
    if method == "chi-square" and counts[REFUTED]:
        worst = f"p = {min(e.detail['p_value'] for e in group):.1g}"
    return Row(claim, numbers, verdict, problems, how, worst, f"TV {max(bounds):.2g}" if bounds else "")


def price(report: Report) -> str:
    """E[tau] against the optimum in one sentence, from the problems where both are known."""
    known = [e for e in report.evidence if e.claim == "optimal" and "optimum" in e.detail and e.verdict != NOT_CLAIMED]
    known = [e for e in known if e.detail["dtype"] == known[0].detail["dtype"]]
    if not known:
        return ""
    above = [e for e in known if "above" in e.detail]
    if above:
        return (
            f"above the optimum on {len(above)} of {len(known)} problems (E[tau] {above[0].detail['expected_accepted']} "
            f"where {above[0].detail['optimum']} is the most that any valid verifier accepts): that alone proves bias"
        )
    if any(e.claim == "lossless" and e.verdict == REFUTED for e in report.evidence):
        return ""  # the optimum is that of valid verifiers
    lost = [e for e in known if e.verdict == REFUTED]
    if not lost:
        return f"E[tau] equals block verification's, the optimum, on all {len(known)} problems"
    worst = max(lost, key=lambda e: e.detail["tokens_per_call_lost"])
    return (
        f"below the optimum on {len(lost)} of {len(known)} problems, by {worst.detail['tokens_per_call_lost']:.3g} tokens "
        f"a call at most (E[tau] {worst.detail['expected_accepted']} against {worst.detail['optimum']} on {worst.problem})"
    )


def allowance(report: Report) -> str:
    """What a clean verdict in half precision leaves open."""
    half = [e for e in report.evidence if e.claim == "lossless" and e.holds and e.bound is not None]
    half = [e for e in half if "16" in str(e.detail.get("dtype"))]
    if not half or report.verdict != "lossless":
        return ""
    widest = max(float(e.bound) for e in half)
    return f"in {half[0].detail['dtype']} a bias below TV {widest:.2g} cannot be told from rounding"


def reasons(report: Report) -> list[str]:
    """Why laws could not be had, each reason once, with the number of problems."""
    counts: dict[str, int] = {}
    for evidence in report.evidence:
        reason = evidence.detail.get("reason")
        if evidence.claim == "lossless" and evidence.verdict == NO_EVIDENCE and reason and reason != NOT_ASKED:
            counts[reason] = counts.get(reason, 0) + 1
    return [
        f"{reason} ({n} problem{'s' if n > 1 else ''})" for reason, n in sorted(counts.items(), key=lambda c: -c[1])
    ][:4]


def also_refuted(report: Report) -> list[Evidence]:
    """For each refuted claim that does not decide the verdict, one witness."""
    found: dict[str, Evidence] = {}
    for evidence in report.evidence:
        if evidence.claim not in report.claims and evidence.verdict == REFUTED and evidence.witness:
            found.setdefault(evidence.claim, evidence)
    return list(found.values())
