"""Several reports on one subject as one: the same code, in shards of problems, precisions or seeds."""

from collections.abc import Mapping, Sequence
from typing import Any

from ....models.errors import InputError
from ....proofs.interception.digests import UNKNOWN
from ..report import Report

SAME = ("name", "source", "digest")


def merged(reports: Mapping[str, Report]) -> Report:
    """Return one report with the evidence of all, which are given by file name.

    Guarantee: what refutes in one refutes the whole; a failure of one is that of the whole. The rates of false alarms
    of the reports add up.
    Raises: InputError if they are not on the same code, with the same deciding claims and versions, or are runs of a
    loop, of a campaign or of a server.
    """
    if len(reports) < 2:
        raise InputError("expected two reports or more, each another file")
    (first_name, first), *others = reports.items()
    for name, report in reports.items():
        if report.end_to_end or report.campaign or report.server:
            raise InputError(
                f"{name}: a run of a loop, a campaign or a server; expected audits of a function or an engine"
            )
        if not report.evidence and not report.failure:
            raise InputError(f"{name}: nothing was examined")
        if report.subject["digest"] == UNKNOWN:
            raise InputError(f"{name}: the digest of its subject is unknown, so another version could not be noticed")
    for name, report in others:
        for what, a, b in _facts(first, report):
            if a != b:
                raise InputError(f"{name}: its {what} is {b}, that of {first_name} is {a}; expected the same")
    made = Report(_subject([*reports.values()]), first.claims, first.seed, first.environment)
    for report in reports.values():
        made.add(e for e in report.evidence if e not in made.evidence)
        made.curves += [curve for curve in report.curves if curve not in made.curves]
        made.compared = made.compared or report.compared
        made.diagnosis += [same for same in report.diagnosis if same not in made.diagnosis]
        for kind, text in report.findings.items():
            made.notice({kind: text}, **report.shown.get(kind, {}))
            if text not in made.findings[kind]:
                made.findings[kind] += f"; {text}"
        for dtype, regions in report.regions.items():
            known = made.regions.setdefault(dtype, {})
            for region, count in regions.items():  # which cells are covered is not recorded: at least the larger number
                known[region] = max(known.get(region, count), count, key=lambda c: c["covered"])
        if report.failure:
            made.fail(report.failure["kind"], report.failure["message"])
    return made


def _facts(a: Report, b: Report) -> list[tuple[str, Any, Any]]:
    facts = [(what, a.subject[what], b.subject[what]) for what in SAME]
    facts.append(("deciding claims", list(a.claims), list(b.claims)))
    problems = [report.subject.get("problems", {}) for report in (a, b)]
    facts += [(f"problem {name}", problems[0][name], problems[1][name]) for name in problems[0] if name in problems[1]]
    return facts + [
        (name, a.environment.get(name), b.environment.get(name)) for name in {**a.environment, **b.environment}
    ]


def _subject(reports: Sequence[Report]) -> dict[str, Any]:
    """Return the first report's subject with all dtypes; calls: the most in one process; quick: if all are."""
    subject = {name: value for name, value in reports[0].subject.items() if name != "quick"}
    subject["dtypes"] = list(dict.fromkeys(d for report in reports for d in report.subject["dtypes"]))
    calls = [report.subject["calls"] for report in reports if "calls" in report.subject]
    subject |= {"calls": max(calls)} if calls else {}
    parts = dict.fromkeys(part for report in reports for part in report.subject.get("not_compared", ()))
    problems = {name: digest for report in reports for name, digest in report.subject.get("problems", {}).items()}
    subject |= ({"not_compared": [*parts]} if parts else {}) | ({"problems": problems} if problems else {})
    return subject | ({"quick": True} if all(report.subject.get("quick") for report in reports) else {})
