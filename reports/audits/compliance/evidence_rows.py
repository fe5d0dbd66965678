"""The evidence that a part gives for a requirement, in rows: how strong each is, and whether it counts."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan
from typing import Any

import msgspec
from msgspec.structs import replace

from ....models.battery import audit_battery, own_problems
from ....models.json_files import plain
from ....proofs.interception.digests import UNKNOWN
from ....verifiers.adapters.registry import ENGINES
from ....verifiers.claims import BATCH, LOOP, VARIATION, claims_of
from ....verifiers.details import TextsDetail
from ....verifiers.evidence import (
    ERROR,
    NO_EVIDENCE,
    NOT_CLAIMED,
    REFUTED,
    Evidence,
    EvidenceVerdict,
    Method,
    Strength,
    merge_verdicts,
    without_smallest,
)
from ....verifiers.registry import REFERENCES
from ..not_examined import zeros_examined
from ..report import Report
from .plan import FAILED, AtLeast0, Collected, Requirement


class EvidenceRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of what a part shows of a requirement, in one dtype, in one way.

    part, dtype: where it comes from, and the numbers it speaks of.
    strength: how much it shows.
    verdict: of the worst piece, in the words of evidence.
    on: how many pieces have that verdict, of how many, and of what.
    limit: what can remain unseen: a total variation, where ``unit`` says so; None if there is no such limit.
    unit: of the limit.
    shown: how the part's verdict reads, or what a proof speaks of.
    counts: whether it speaks of what the requirement is about.
    why: why it does not count, or could not be had.
    unplaced: whether it does not count only because what it speaks of is not recorded.
    witness, replay: of a refutation.
    """

    part: str
    dtype: str
    strength: Strength
    verdict: EvidenceVerdict
    on: str
    limit: AtLeast0 | None = None
    unit: str = "total variation"
    shown: str = ""
    counts: bool = True
    why: str | None = None
    unplaced: bool = False
    witness: str | None = None
    replay: str | None = None


def evidence_rows(requirement: Requirement, got: Collected) -> list[EvidenceRow]:
    """Return what a part says of a requirement's claim: at least one row, with the reason where nothing counts."""
    if got.report is not None:
        rows = _of_report(requirement, got, Report.from_json(got.report))
    elif got.history is not None:
        rows = _of_history(requirement, got)
    elif got.rows is not None:
        rows = _of_proofs(requirement, got)
    else:
        rows = []
    if got.state == FAILED:
        rows.append(_nothing(got, f"the part could not be run to its end: {got.why}", ERROR, counts=True))
    return rows or [_nothing(got, f"it has no evidence on {requirement.claim}", NO_EVIDENCE)]


def _nothing(got: Collected, why: str, verdict: EvidenceVerdict, counts: bool = False) -> EvidenceRow:
    return EvidenceRow(got.part.id, "", Strength.NONE, verdict, "", counts=counts, why=why)


# ---------------------------------------------------------------- reports


def _of_report(requirement: Requirement, got: Collected, report: Report) -> list[EvidenceRow]:
    claimed = [e for e in without_smallest(report.evidence) if e.claim == requirement.claim]
    groups: dict[tuple[str, Strength], list[Evidence]] = {}
    sampled = {
        (e.problem, _dtype(e, report)) for e in claimed if e.strength is Strength.SAMPLED and _limit(e) is not None
    }
    for e in claimed:
        strength, dtype = e.strength, _dtype(e, report)
        if strength is Strength.NONE and (e.problem, dtype) in sampled:
            continue  # there is no law, and samples in its place
        groups.setdefault((dtype, strength), []).append(e)
    about, rows = _facts(report), []
    for (dtype, strength), group in groups.items():
        row = _row(got.part.id, dtype, strength, group, report)
        why = _why_not(row, group, requirement, report)
        placed = _placed(row, requirement, {**about, "dtype": dtype or None})
        rows.append(replace(row, counts=False, why=why) if why else placed)
    return rows + (_beneath(requirement, got, report) if requirement.claim == "lossless" else [])


def _why_not(row: EvidenceRow, group: Sequence[Evidence], requirement: Requirement, report: Report) -> str | None:
    """Return why evidence does not count, whatever the requirement's scope; a refutation always does."""
    if row.verdict == NOT_CLAIMED:
        return group[0].detail.why or "the subject does not claim it"
    if row.verdict == REFUTED:
        return None
    if requirement.claim == "support" and not any(map(zeros_examined, group)):
        return "no problem of it has a token that the target gives probability 0"
    if any(isinstance(e.detail, TextsDetail) and e.detail.sampling == "plain" for e in group):
        return "it was sampled without a draft: that is no speculation"
    return report.findings.get("another-model")


def _beneath(requirement: Requirement, got: Collected, report: Report) -> list[EvidenceRow]:
    """Return refuted claims that losslessness rests on. Those of a batch refute it; those of a loop leave it open."""
    rows = []
    for claim, about in claims_of(BATCH, LOOP).items():
        if claim == "lossless":
            continue
        group = [e for e in report.evidence if e.refuted and e.claim == claim and claim in report.claims]
        for dtype in dict.fromkeys(_dtype(e, report) for e in group):
            mine = [e for e in group if _dtype(e, report) == dtype]
            row = replace(
                _row(got.part.id, dtype, mine[0].strength, mine, report), why=f"not so: {about.statement} ({claim})"
            )
            row = _placed(row, requirement, {**_facts(report), "dtype": dtype or None})
            rows.append(replace(row, counts=False, unplaced=True) if row.counts and LOOP in about.runs else row)
    return rows


def _placed(row: EvidenceRow, requirement: Requirement, facts: Mapping[str, Any]) -> EvidenceRow:
    """Return the row, not counting if evidence with these facts does not speak of what is required."""
    other, unrecorded = scope_mismatch(requirement.scope, facts)
    if not other and not unrecorded:
        return row
    return replace(row, counts=False, why="; ".join([*other, *unrecorded]), unplaced=not other)


def _dtype(e: Evidence, report: Report) -> str:
    """Return the dtype of evidence; empty where it is not recorded, as of a server, which chooses its own."""
    if report.server is not None:
        return ""
    texts = e.detail if isinstance(e.detail, TextsDetail) else None
    if texts and texts.sampling and (report.subject["name"] not in ENGINES or texts.settings):
        return ""  # an engine unknown to draftproof, or with other settings, may compute in any dtype
    dtypes = report.subject["dtypes"]
    return e.detail.dtype or (dtypes[0] if len(dtypes) == 1 else "")


def _limit(e: Evidence) -> float | None:
    """Return what samples may leave unseen; None if their limit means nothing."""
    number = e.limit
    if number is None or isnan(number) or e.detail.too_wide:
        return None
    if _unit(e) == VARIATION and float(number) >= 1:
        return None
    return float(number)


def _unit(e: Evidence) -> str:
    return {Method.MEAN: "tokens a call", Method.ARGMAX: "of the tokens"}.get(e.method, e.unit)


def _row(part: str, dtype: str, strength: Strength, group: Sequence[Evidence], report: Report) -> EvidenceRow:
    verdict = merge_verdicts(e.verdict for e in group)
    worst = [e for e in group if e.verdict == verdict]
    limits = [_limit(e) for e in group if not e.refuted]
    if strength is Strength.SAMPLED:
        limit = None if None in limits else max(filter(None, limits), default=None)
    else:
        bounds = [float(e.bound) for e in group if e.bound is not None]
        whole = len(bounds) == len(group) or not strength.decides
        limit = max(bounds, default=None) if whole else None
    units = {_unit(e) for e in group}
    first = next((e for e in worst if e.refuted and e.witness), None)
    reasons = {e.detail.reason for e in worst if e.detail.reason} if verdict == NO_EVIDENCE else ()
    decides = group[0].claim in report.claims  # else the reading is of another claim
    shown = [report.reading] * decides + ([report.scope.says] if report.scope else [])
    return EvidenceRow(
        part, dtype, strength, verdict, f"{len(worst)} of {len(group)}", limit, " and ".join(sorted(units)),
        "; ".join(shown),
        why="; ".join(sorted(reasons)) or None,
        witness=f"{first.problem}: {first.witness}" if first else None, replay=first.replay if first else None,
    )  # fmt: skip


def _facts(report: Report) -> dict[str, Any]:
    """Return what a report says of its subject and of how it was run; what it does not say is absent.

    The versions are those of the machine of the audit: of a server nothing but its answers is known.
    """
    facts = {"subject": report.subject["name"]}
    if report.subject["digest"] != UNKNOWN:
        facts["digest"] = report.subject["digest"]
    if report.server is None:
        facts["versions"] = report.environment
    if report.end_to_end:
        setting = report.end_to_end.setting
        return facts | {name: setting[name] for name in ("device", "temperature", *UNRESTRICTED) if name in setting}
    texts = [e.detail for e in report.evidence if isinstance(e.detail, TextsDetail)]
    settings = [detail.settings for detail in texts if detail.settings is not None]
    for name in ("temperature", *UNRESTRICTED):
        values = list(dict.fromkeys(_shown(s[name]) for s in settings if s.get(name) is not None))
        if values:
            facts[name] = next(s[name] for s in settings if s.get(name) is not None) if len(values) == 1 else values
    convention = report.subject.get("convention")
    here = convention is not None and not convention.get("program")  # which may use others
    return facts | ({"device": "cpu"} if here else {})


UNRESTRICTED = {"top_k": 0, "top_p": 1, "min_p": 0}
"""Settings that leave the target's law as it is. Evidence with others counts only where the requirement names them."""


def scope_mismatch(asked: Mapping[str, Any], facts: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return why evidence with these facts does not match what is asked: what differs, and what is not recorded.

    What is not recorded does not match; where both lists are empty, the evidence speaks of what is asked.
    """
    other = [
        f"its {name} is {_shown(facts[name])}, and none is asked for"
        for name, neutral in UNRESTRICTED.items()
        if name not in asked and facts.get(name) not in (None, neutral)
    ]
    unrecorded = []
    for name, value in asked.items():
        if name == "versions":
            versions = facts.get("versions") or {}
            triples = [(package, wanted, versions.get(package)) for package, wanted in value.items()]
        else:
            triples = [(name, value, facts.get(name))]
        for what, wanted, known in triples:
            if known is None:
                unrecorded.append(f"it does not record its {what}, asked is {_shown(wanted)}")
            elif known != wanted:
                other.append(f"its {what} is {_shown(known)}, asked is {_shown(wanted)}")
    return other, unrecorded


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


# ---------------------------------------------------------------- histories and proofs


def _of_history(requirement: Requirement, got: Collected) -> list[EvidenceRow]:
    """Return a row for each current version of a subject that was drawn from."""
    history = got.history or {}
    current = [check for check in history["checks"] if check["current"]] if requirement.claim == "lossless" else []
    rows = []
    for subject, version in dict.fromkeys((check["subject"], check["version"]) for check in current):
        checks = [c for c in current if (c["subject"], c["version"]) == (subject, version)]
        alarms = [c for c in checks if c["state"] == "alarm"]
        watch = sum(c["state"] == "watch" for c in checks)
        last = max((night["night"] for c in checks for night in c.get("nights", ())), default="none")
        limits = [c["detects"]["within"][-1] if c["detects"] else None for c in checks]
        known = [limit["total_variation"] for limit in limits if limit and limit["total_variation"] < 1]
        nights = max((limit["nights"] for limit in limits if limit), default=0)
        first = alarms[0] if alarms else None
        row = EvidenceRow(
            got.part.id, "", Strength.SAMPLED, REFUTED if alarms else NO_EVIDENCE,
            f"{len(alarms) or len(checks)} of {len(checks)}", max(known) if len(known) == len(checks) else None,
            shown=f"{subject} {version}: nightly draws, {len(alarms)} in alarm, {watch} in watch; last night {last}; "
            f"within {nights} nights; {history.get('scope')}",
            witness=f"{first['check']}: {_nightly_witness(first)}" if first else None,
            replay=(first["witness"] or {}).get("replay") if first else None,
        )  # fmt: skip
        rows.append(_placed(row, requirement, {"subject": subject, "digest": version, "device": "cpu"}))
    failures = [f for f in history["failures"] if f["subject"] == requirement.scope.get("subject", f["subject"])]
    return rows + [
        _nothing(got, f"{f['subject']} could not be drawn from: {f['message']}", ERROR, True) for f in failures
    ]


def _nightly_witness(check: Mapping[str, Any]) -> str:
    shown = check["witness"]
    return (
        f"{shown['sequence']}: expected {shown['expected']}, observed {shown['observed']}"
        if shown
        else "no witness yet"
    )


def _of_proofs(requirement: Requirement, got: Collected) -> list[EvidenceRow]:
    """Return a row for each method; a proof that was not decided does not count."""
    mine = [row for row in got.rows or () if row["claim"] == requirement.claim]
    rows = []
    for method in dict.fromkeys(row["method"] for row in mine):
        rows += _by_method(requirement, got, method, [row for row in mine if row["method"] == method])
    return rows


def _by_method(
    requirement: Requirement, got: Collected, method: str, every: Sequence[Mapping[str, Any]]
) -> Iterable[EvidenceRow]:
    place = "on record in this version, not run here" if got.recorded else "run here"
    kinds = [((row["verdict"] == NO_EVIDENCE), proof_strength(row)) for row in every]
    for undecided, strength in sorted(set(kinds)):
        rows = [row for row, kind in zip(every, kinds, strict=True) if kind == (undecided, strength)]
        verdict = merge_verdicts(row["verdict"] for row in rows)
        same = [row for row in rows if row["verdict"] == verdict]
        what = "; ".join(dict.fromkeys(f"{row['what']}: {row['size']}" for row in same))
        row = EvidenceRow(
            got.part.id, "exact", strength, verdict, f"{len(same)} of {len(rows)}",
            shown=f"{method}, {place}: {what}", counts=not undecided, why="not decided" if undecided else None,
            witness=str(same[0]["detail"]) if verdict in (REFUTED, ERROR) else None,
        )  # fmt: skip
        yield _placed(row, requirement, {"dtype": "exact"})


PROOF_STRENGTH = {
    "coq": Strength.PROOF,
    "z3": Strength.SYMBOLIC,
    "sympy": Strength.SYMBOLIC,
    "certificate": Strength.CERTIFICATE,
    "enumeration": Strength.EXACT,
}

EVERY_SIZE = ("every V, gamma, models with zeros, real field", "any finitely many real values")
"""Sizes for which Coq's proofs cover the whole claim; others cover a part of it, or need assumptions."""


def untrue(said: Mapping[str, Any], report: Report, fields: Iterable[str]) -> Iterator[str]:
    """Say what a report's JSON form states that its own evidence does not give. report: read from it."""
    gives = plain(report.as_json())
    for field in fields:
        if field in said and json.dumps(said[field], sort_keys=True) != json.dumps(gives.get(field), sort_keys=True):
            stated = f": it says {said[field]}, and its evidence says {gives[field]}" if field == "verdict" else ""
            yield f"{field} is not what its evidence gives{stated}"
    for e in report.evidence:
        beyond = e.total_variation is not None and e.bound is not None and e.total_variation > e.bound
        if e.claim == "lossless" and e.holds and e.strength.decides and (beyond or e.witness):
            yield f"holds on {e.problem}, and deviates by more than it allows"


def proof_strength(row: Mapping[str, Any]) -> Strength:
    """Return the strength of a row of proofs. Coq's are proofs only if they cover every size without conditions."""
    if row["method"] == "coq" and row["size"] not in EVERY_SIZE:
        return Strength.PARTIAL
    return PROOF_STRENGTH[row["method"]]


def left_out(part: Mapping[str, Any]) -> list[str]:
    """Return the problems on which a finished audit says nothing of losslessness in one of its dtypes.

    Guarantee: of the problems that the plan names, and of those of every audit without any; not of restated and wide
    ones, nor of rules for draft trees.
    """
    if part["kind"] != "audit" or part["state"] != "done" or "report" not in part:
        return []
    report, given = Report.from_json(part["report"]), part["options"].get("problems", ())
    if report.scope and report.scope.drafting:
        return []
    names = set(report.subject.get("problems", ()))
    if not given:
        names = {problem.name for problem in [*audit_battery(), *own_problems(report.seed)]}
    elif part["options"].get("subject") not in REFERENCES and len(names) != len(given):
        return ["one that the plan names"]
    absent: set[str] = set()
    for dtype in report.subject["dtypes"]:
        absent |= names - {e.problem for e in report.evidence if e.claim == "lossless" and e.dtype == dtype}
    return sorted(absent)
