"""The evidence that a part gives for a requirement, in rows: how strong each is, and whether it counts."""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from ....proofs.interception.digests import UNKNOWN
from ....verifiers.adapters.registry import ENGINES
from ....verifiers.claims import BATCH, LOOP, VARIATION, claims_of
from ....verifiers.details import TextLawDetail, TextsDetail
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
from ..nightly.states import ALARM, WATCH
from ..not_examined import zeros_examined
from ..report import Report
from ..scope import counted
from .plan import FAILED, AtLeast0, Collected, Requirement


class EvidenceRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of what a part shows of a requirement, in one dtype, by one kind of evidence.

    part, dtype: the part's id, and the dtype of the rows; empty if it is not recorded.
    strength: the kind of evidence.
    verdict: that of the worst piece of evidence.
    on: how many pieces have that verdict, of how many.
    limit, unit: what can remain unseen, and its unit; None if there is no limit.
    shown: the part's verdict in words, or what a proof speaks of.
    counts, why: whether it speaks of what is required, and why it does not, or why there is none.
    unplaced: whether it does not count only because the part does not record what it speaks of.
    witness, replay: those of a refutation.
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
    rows: list[EvidenceRow] = []
    if got.report:
        rows = _of_report(requirement, got, Report.from_json(got.report))
    elif got.history:
        rows = _of_history(requirement, got, got.history)
    elif got.proofs:
        rows = _of_proofs(requirement, got, got.proofs)
    if got.state == FAILED:
        rows.append(_nothing(got, f"the part could not be run to its end: {got.why}", ERROR, counts=True))
    return rows or [_nothing(got, f"it has no evidence on {requirement.claim}", NO_EVIDENCE)]


class OfPart(NamedTuple):
    """A subject that a part is evidence of. digest: None if it is not known."""

    name: str
    digest: str | None

    def same(self, other: "OfPart") -> bool:
        """Return whether both are one: by their digests, by their names where one has none."""
        return self.digest == other.digest if self.digest and other.digest else self.name == other.name


def subjects(got: Collected) -> list[OfPart]:
    """Return what a part is evidence of."""
    checks = got.history["checks"] if got.history else ()
    found = [OfPart(check["subject"], _digest_in(check["version"])) for check in checks if check["current"]]
    if got.report:
        digest = got.report["subject"].get("digest", UNKNOWN)
        found.append(OfPart(got.report["subject"]["name"], None if digest == UNKNOWN else digest))
    return found


def _digest_in(version: str) -> str | None:
    """Return the digest that a nightly version has among its words; None if it has none."""
    return next((word for word in version.split() if word.startswith("sha256:")), None)


def _nothing(got: Collected, why: str, verdict: EvidenceVerdict, counts: bool = False) -> EvidenceRow:
    return EvidenceRow(got.id, "", Strength.NONE, verdict, "", counts=counts, why=why)


# ---------------------------------------------------------------- reports


def _of_report(requirement: Requirement, got: Collected, report: Report) -> list[EvidenceRow]:
    claimed = [e for e in without_smallest(report.evidence) if e.claim == requirement.claim]
    groups: dict[tuple[str, Strength, bool], list[Evidence]] = {}
    drawn = [e for e in claimed if e.strength is Strength.SAMPLED and _limit(e) is not None]
    sampled = {(e.problem, _dtype(e, report)) for e in drawn}
    for e in claimed:
        strength, dtype = e.strength, _dtype(e, report)
        if strength is Strength.NONE and (e.problem, dtype) in sampled:
            continue  # there is no law, and samples in its place
        groups.setdefault((dtype, strength, e.own_alone), []).append(e)
    about, rows = _facts(report), []
    for (dtype, strength, _), group in groups.items():
        row = _row(got.id, dtype, strength, group, report)
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
    if any(isinstance(e.detail, (TextsDetail, TextLawDetail)) and e.detail.sampling == "plain" for e in group):
        return "it was examined without a draft: that is no speculation"
    return report.decides_nothing or report.findings.get("another-model")


def _beneath(requirement: Requirement, got: Collected, report: Report) -> list[EvidenceRow]:
    """Return refuted claims that losslessness rests on. Those of a batch refute it; those of a loop leave it open."""
    about, groups, rows = claims_of(BATCH, LOOP), dict[tuple[str, str], list[Evidence]](), []
    for e in report.evidence:
        if e.refuted and e.claim in about and e.claim in report.claims and e.claim != "lossless":
            groups.setdefault((e.claim, _dtype(e, report)), []).append(e)
    for (claim, dtype), group in groups.items():
        row = _row(got.id, dtype, group[0].strength, group, report)
        row = replace(row, why=f"not so: {about[claim].statement} ({claim})")
        row = _placed(row, requirement, {**_facts(report), "dtype": dtype or None})
        rows.append(replace(row, counts=False, unplaced=True) if row.counts and LOOP in about[claim].runs else row)
    return rows


def _placed(row: EvidenceRow, requirement: Requirement, facts: Mapping[str, Any]) -> EvidenceRow:
    """Return the row, not counting if evidence with these facts does not speak of what is required.

    What is not recorded does not match.
    """
    asked = requirement.scope
    other = [
        f"its {name} is {_shown(facts[name])}, and the plan asks for none"
        for name, neutral in UNRESTRICTED.items()
        if name not in asked and facts.get(name) not in (None, neutral)
    ]
    unrecorded = []
    for name, wanted in {**asked.get("versions", {}), **asked}.items():
        known = facts.get(name)
        if name == "versions" or known == wanted:
            continue
        if known is None:
            unrecorded.append(f"it does not record its {name}; the plan asks for {_shown(wanted)}")
        else:
            other.append(f"its {name} is {_shown(known)}; the plan asks for {_shown(wanted)}")
    why = "; ".join([*other, *unrecorded])
    return replace(row, counts=False, why=why, unplaced=not other) if why else row


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
    if _unit(e) in (VARIATION, OTHER_UNITS[Method.BETTING]) and float(number) >= 1:
        return None
    return float(number)


OTHER_UNITS = {Method.MEAN: "tokens a call", Method.ARGMAX: "of the tokens", Method.BETTING: "of a set of tokens"}
"""Units of what samples may leave unseen where that is no total variation: a wrong law may be right on all sets."""


def _unit(e: Evidence) -> str:
    return OTHER_UNITS.get(e.method, e.unit)


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


UNRESTRICTED = {"top_k": 0, "top_p": 1, "min_p": 0}
"""Settings that leave the target's law unchanged. Evidence with others counts only where the requirement names them."""


def _facts(report: Report) -> dict[str, Any]:
    """Return what a report says of its subject, of how it was run, and of versions; what it does not say is absent.

    The versions are those of the machine of the audit: of a server nothing but its answers is known.
    """
    facts = {} if report.server else dict[str, Any](report.environment)
    facts["subject"] = report.subject["name"]
    if report.subject["digest"] != UNKNOWN:
        facts["digest"] = report.subject["digest"]
    if report.end_to_end:
        setting = report.end_to_end
        return facts | {name: setting[name] for name in ("device", "temperature", *UNRESTRICTED) if name in setting}
    texts = [e.detail.settings for e in report.evidence if isinstance(e.detail, TextsDetail) and e.detail.settings]
    for name in ("temperature", *UNRESTRICTED):
        values = [settings[name] for settings in texts if settings.get(name) is not None]
        if shown := list(dict.fromkeys(map(_shown, values))):
            facts[name] = values[0] if len(shown) == 1 else shown
    convention = report.subject.get("convention")
    if convention is not None and not convention.get("program"):  # a program may use any device
        facts["device"] = "cpu"
    return facts


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


# ---------------------------------------------------------------- histories and proofs


def _of_history(requirement: Requirement, got: Collected, history: Mapping[str, Any]) -> list[EvidenceRow]:
    """Return a row for each current version of a subject that was drawn from."""
    versions: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for check in history["checks"] if requirement.claim == "lossless" else ():
        if check["current"]:
            versions.setdefault((check["subject"], check["version"]), []).append(check)
    rows = []
    for (subject, version), checks in versions.items():
        alarms = [check for check in checks if check["state"] == ALARM]
        watch = sum(check["state"] == WATCH for check in checks)
        last = max((night["night"] for check in checks for night in check.get("nights", ())), default="none")
        limits = [limit for check in checks if (limit := _limit_so_far(check))]
        known = [limit["total_variation"] for limit in limits if limit["total_variation"] < 1]
        nights = max((limit["nights"] for limit in limits), default=0)
        shown = alarms[0]["witness"] if alarms else None
        witness = "{sequence}: expected {expected}, observed {observed}".format(**shown) if shown else "no witness yet"
        row = EvidenceRow(
            got.id, "", Strength.SAMPLED, REFUTED if alarms else NO_EVIDENCE,
            f"{len(alarms) or len(checks)} of {len(checks)}", max(known) if len(known) == len(checks) else None,
            shown=f"{subject} {version}: nightly draws, {len(alarms)} in alarm, {watch} in watch; last night {last}; "
            f"within {counted(nights, 'night')}; {history.get('scope')}",
            witness=f"{alarms[0]['check']}: {witness}" if alarms else None,
            replay=shown.get("replay") if shown else None,
        )  # fmt: skip
        rows.append(_placed(row, requirement, {"subject": subject, "digest": version, "device": "cpu"}))
    failures = [f for f in history["failures"] if f["subject"] == requirement.scope.get("subject", f["subject"])]
    return rows + [
        _nothing(got, f"{f['subject']} could not be drawn from: {f['message']}", ERROR, True) for f in failures
    ]


def _limit_so_far(check: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the detection limit of the most nights that are not more than were drawn; None if there is none."""
    within = check["detects"]["within"] if check["detects"] else ()
    drawn = (limit for limit in within if limit["nights"] <= len(check["nights"]))
    return max(drawn, key=lambda limit: limit["nights"], default=None)


def _of_proofs(requirement: Requirement, got: Collected, proofs: Iterable[Mapping[str, Any]]) -> list[EvidenceRow]:
    """Return a row for each method and strength; proofs that were not decided do not count."""
    place, rows = "on record in this version, not run here" if got.recorded else "run here", []
    groups: dict[tuple[str, bool, Strength], list[Mapping[str, Any]]] = {}
    for row in proofs:
        if row["claim"] == requirement.claim:
            kind = row["method"], row["verdict"] == NO_EVIDENCE, proof_strength(row)
            groups.setdefault(kind, []).append(row)
    for (method, undecided, strength), group in groups.items():
        verdict = merge_verdicts(row["verdict"] for row in group)
        same = [row for row in group if row["verdict"] == verdict]
        what = "; ".join(dict.fromkeys(f"{row['what']}: {row['size']}" for row in same))
        made = EvidenceRow(
            got.id, "exact", strength, verdict, f"{len(same)} of {len(group)}",
            shown=f"{method}, {place}: {what}", counts=not undecided, why="not decided" if undecided else None,
            witness=str(same[0]["detail"]) if verdict in (REFUTED, ERROR) else None,
        )  # fmt: skip
        rows.append(_placed(made, requirement, {"dtype": "exact"}))
    return rows


PROOF_STRENGTH = {
    "coq": Strength.PROOF,
    "z3": Strength.SYMBOLIC,
    "sympy": Strength.SYMBOLIC,
    "certificate": Strength.CERTIFICATE,
    "enumeration": Strength.EXACT,
}

EVERY_SIZE = ("every V, gamma, models with zeros, real field", "any finitely many real values")
"""Sizes for which Coq's proofs cover the whole claim; others cover a part of it, or need assumptions."""


def proof_strength(row: Mapping[str, Any]) -> Strength:
    """Return the strength of a row of proofs. Coq's are proofs only if they cover every size without conditions."""
    if row["method"] == "coq" and row["size"] not in EVERY_SIZE:
        return Strength.PARTIAL
    return PROOF_STRENGTH[row["method"]]
