"""Every kind of report as comparable items: what is known of each, how strongly, and down to which limit."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any

from ....models.errors import InputError, printable_data
from ....models.json_files import parse, text_of
from ....verifiers.claims import PROBABILITY, TOKENS, VARIATION
from ....verifiers.details import CampaignDetail, TextsDetail
from ....verifiers.evidence import (
    ERROR,
    HOLDS,
    NO_EVIDENCE,
    NOT_CLAIMED,
    REFUTED,
    Evidence,
    EvidenceVerdict,
    Strength,
    without_smallest,
)
from ..compliance.evidence_rows import proof_strength
from ..report import EndToEnd, Report

OPEN, SAMPLED, OBSERVED, EXACT = Strength.NONE, Strength.SAMPLED, Strength.OBSERVED, Strength.EXACT

DRAWN = ("samples", "calls", "draws", "tokens", "false_alarm_rate", "miss_rate")
"""Facts of sampled evidence that decide its limit, apart from the draw itself."""

REAL_CALLS = "real calls"
"""Name for the real calls of an audit. Which laws get them depends on how many problems the audit has."""

OWN = "own-"
"""Prefix of the names of problems that an audit draws from its seed."""

NOTICED = "noticed: "
"""Prefix of the names of items that are bad in themselves: findings and failures."""


@dataclass(frozen=True)
class State:
    """A summary of what is known of an item.

    known: refuted, an error, or how much is known.
    limits: what can remain unseen, or is allowed to rounding, by method; None where a method states none.
    deviation: what was measured, of a refutation, in the unit.
    unit: of the deviation.
    above: whether it is refuted on the side that proves bias: more is accepted than by any valid verifier.
    decides: whether the verdict depends on it.
    samples: method -> numbers drawn and error rates, of the limits that samples have.
    drawn: the problem's name with its seed, where an audit drew it.
    """

    known: EvidenceVerdict | Strength
    limits: Mapping[str, float | None] = field(default_factory=dict)
    deviation: float | None = None
    unit: str = VARIATION
    above: bool = False
    decides: bool = True
    samples: Mapping[str, tuple] = field(default_factory=dict)
    drawn: str = ""

    @property
    def refuted(self) -> bool:
        return self.known is REFUTED

    @property
    def rank(self) -> int:
        """Return the place from the worst on: refuted, an error, then by how much is known."""
        return self.known.rank if isinstance(self.known, EvidenceVerdict) else 2 + Strength.NONE.rank - self.known.rank

    @property
    def decided(self) -> bool:
        return self.refuted or (isinstance(self.known, Strength) and self.known.decides)

    @property
    def side(self) -> str:
        """Return the side of the optimum on which a claim is refuted."""
        return "refuted, above the optimum" if self.above else "refuted, below the optimum"

    def __str__(self) -> str:
        return "open" if self.known is OPEN else f"{self.known}"


@dataclass
class States:
    """A report as items.

    kind: of the report. items: (what, problem or "") -> state.
    facts: versions, digests and seeds, by name. sizes: what else was examined, name -> what: less of it is worse.
    fixed: the subject and how it was asked, by name: of another one, what was known is known no more.
    rates: what is better the more it is, by name: an interval.
    unclaimed: items that are not claimed: nothing is known of them, and nothing is missing.
    """

    kind: str
    items: dict[tuple[str, str], State] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, set[str]] = field(default_factory=dict)
    fixed: dict[str, str] = field(default_factory=dict)
    rates: dict[str, tuple[float, float]] = field(default_factory=dict)
    unclaimed: set[tuple[str, str]] = field(default_factory=set)

    def add(self, what: str, problem: str, state: State) -> None:
        """Add an item; of two with one name the worse stays."""
        known = self.items.get((what, problem))
        if known is None or state.rank < known.rank:
            self.items[what, problem] = state


def load(file: str) -> Any:
    """Return the JSON of a report, or of the report in a compliance folder. Raises: InputError."""
    path = Path(file) / "report.json" if Path(file).is_dir() else Path(file)
    return printable_data(parse(text_of(path), str(path)))


def states_of(data: Any, name: str) -> States:
    """Return a report of any kind as items. Raises: InputError for what is no report of draftproof."""
    try:
        for kind, (has, read) in KINDS.items():
            row = data[0] if isinstance(data, list) and data else data
            if isinstance(row, dict) and has <= row.keys() and isinstance(data, list) == kind.startswith("rows"):
                states = States(kind)
                read(states, data)
                return states
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        detail = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        raise InputError(f"{name}: not a whole report of draftproof ({detail})") from None
    raise InputError(f"{name}: not a report of draftproof")


def _report(states: States, data: Mapping[str, Any], before: str = "") -> None:
    report = Report.from_json(data)
    groups: dict[tuple[str, str], list[Evidence]] = {}
    for e in without_smallest(report.evidence):
        key = f"{before}{e.claim}, {e.dtype}", _without_seed(e.problem or "")
        if e.verdict == NOT_CLAIMED:
            states.unclaimed.add(key)
        else:
            groups.setdefault(key, []).append(e)
    for (what, problem), group in groups.items():
        drawn = (group[0].problem or "") if problem.startswith(OWN) else ""
        decides = group[0].claim in report.claims
        states.add(what, problem, replace(_state(group), decides=decides, drawn=drawn))
    if report.failure:
        states.add(f"{before}{NOTICED}failure", "", State(ERROR, {report.failure["message"]: None}))
        states.facts[f"{before}failure"] = report.failure["message"]
    subject = report.subject
    states.fixed[f"{before}subject"] = f"{subject['name']} ({subject['source']})"
    states.sizes[f"{before}claims that decide"] = set(report.claims)
    texts = [e.detail for e in report.evidence if isinstance(e.detail, TextsDetail)]
    states.sizes[f"{before}sampling"] = {detail.sampling for detail in texts if detail.sampling}
    for name, value in [pair for detail in texts for pair in (detail.settings or {}).items()]:
        states.fixed[f"{before}setting {name}"] = json.dumps(value)
    for kind, text in report.findings.items():
        states.add(f"{before}{NOTICED}{kind}", "", State(ERROR, {text: None}))
        states.facts[f"{before}{kind}"] = text  # another text of one kind is said, and not judged
    for part in subject.get("not_compared", ()):
        states.add(f"{before}{NOTICED}not compared: {part}", "", State(ERROR, {part: None}))
    for name, digest in subject.get("problems", {}).items():
        states.fixed[f"{before}problem {name}"] = digest
    if report.end_to_end:
        _loop(states, report.end_to_end, before)
    for e in report.evidence:
        if isinstance(e.detail, CampaignDetail) and e.detail.accepted:
            states.rates[f"{before}accepted draft tokens on {e.problem}"] = _interval(e.detail.accepted["interval"])
    called = {(e.problem, e.dtype) for e in report.evidence if e.law.real_calls}
    states.rates |= {f"{before}laws compared with {REAL_CALLS}": (len(called), len(called))} if called else {}
    scope = report.scope
    for name in ("vocabularies", "gammas", "numbers", "requests_a_call"):
        states.sizes[f"{before}{name.replace('_', ' ')}"] = {str(size) for size in getattr(scope, name, ())}
    fixed = {str(e.detail.vocabulary) for e in report.evidence if not (e.problem or "").startswith(f"{OWN}wide")}
    if any(what.startswith(f"{OWN}wide") for _, what in groups):
        states.sizes[f"{before}vocabularies"] &= fixed
    if scope:
        states.sizes[f"{before}problems"] = set() if scope.quick else {"wide problems"}
        gaps = {
            f"in {d}": float(sum(r["of"] - r["covered"] for r in regions.values()))
            for d, regions in report.regions.items()
        }
        states.add(f"{before}regions of the rows without a problem", "", State(OBSERVED, gaps))
        least = {"probability": scope.smallest_probability}
        # said, and not judged: what of it is better or worse is so problem by problem
        states.facts |= {f"{before}verdict": report.reading, f"{before}speaks of": scope.says}
        states.add(f"{before}the smallest probability", "", State(OBSERVED, least))
    states.facts |= {f"{before}digest": str(report.subject["digest"]), f"{before}seed": str(report.seed)}
    states.facts |= {f"{before}{name}": version for name, version in report.environment.items()}


def _loop(states: States, run: EndToEnd, before: str) -> None:
    """Add what a run of a decoding loop says. Only block efficiency is judged: the speed-up depends on the machine."""
    for name, value in run.setting.items():
        if name not in ("command", "loop", "vocabulary"):
            states.fixed[f"{before}setting {name}"] = json.dumps(value)
    if interval := run.figures.get("block_efficiency_interval"):
        states.rates[f"{before}block efficiency"] = _interval(interval)
    if interval := run.figures.get("wall_clock_speedup_interval"):
        states.facts[f"{before}wall clock speedup"] = f"{interval[0]:.3g} to {interval[1]:.3g}"


def _without_seed(problem: str) -> str:
    """Return a problem's name without what was drawn from a seed: another seed gives the same kind of problem."""
    if not problem.startswith(OWN):
        return problem
    return re.sub(rf"^({OWN}wide)-V\d+", r"\1", re.sub(r"-seed\d+", "", problem))


def _state(group: Sequence[Evidence]) -> State:
    """Return what all methods together know of a claim on a problem: a refutation, an error, else the strongest."""
    stated: dict[str, list[float | None]] = {}
    samples: dict[str, tuple] = {}
    for e in group:
        if not e.refuted:
            texts = e.detail if isinstance(e.detail, TextsDetail) else None
            name = ", ".join(filter(None, (e.method, texts and texts.sampling, texts and texts.together)))
            stated.setdefault(name, []).append(_number(e.limit))
            if e.method.sampled and any(getattr(e.detail, count, None) for count in DRAWN[:4]):
                samples[name] = (*samples.get(name, ()), *(getattr(e.detail, fact, None) for fact in DRAWN))
            for what, number, drawn in _confirmed(e):
                stated.setdefault(f"{name}, {what}", []).append(_number(number))
                samples |= {} if drawn is None else {f"{name}, {what}": (drawn,)}
    limits = {name: _greatest(of) for name, of in stated.items()}
    if refuted := [e for e in group if e.verdict == REFUTED]:
        above = any(e.law.above for e in refuted)
        return State(REFUTED, limits, max(map(_deviation, refuted)), group[0].unit, above, samples=samples)
    if any(e.verdict == ERROR for e in group):
        return State(ERROR, limits, samples=samples)
    return State(min(map(_strength, group), key=lambda strength: strength.rank), limits, samples=samples)


def _interval(ends: Sequence[float]) -> tuple[float, float]:
    low, high = ends
    return low, high


def _deviation(e: Evidence) -> float:
    """Return a total variation, the tokens lost a call, or a probability, by the claim's unit."""
    if e.unit == PROBABILITY and e.witness:
        base, _, power = e.witness.observed.partition("^")
        try:
            return float(Fraction(base)) ** int(power or 1)
        except (ValueError, OverflowError, ZeroDivisionError):
            return 0.0
    return _number(e.law.tokens_per_call_lost if e.unit == TOKENS else e.total_variation) or 0.0


def _confirmed(e: Evidence) -> Iterator[tuple[str, float, int | None]]:
    """Yield what confirmations leave unknown: its name, how much, and from how many samples."""
    if driven := e.detail.by_calls:
        yield "missed", driven.missed, driven.confirmations
    if wide := e.detail.wide:
        yield "mass not called", wide.mass_not_called, None
    if e.law.real_calls:
        yield REAL_CALLS, e.law.real_calls.limit, e.law.real_calls.calls


def _greatest(limits: Sequence[float | None]) -> float | None:
    """Return the greatest limit; None, which states no limit, is greater than any."""
    numbers = [limit for limit in limits if limit is not None]
    return max(numbers) if len(numbers) == len(limits) else None


def _strength(e: Evidence) -> Strength:
    """Return the strength of evidence. Samples without a detection limit show nothing."""
    return OPEN if e.strength is SAMPLED and _number(e.limit) is None else e.strength


def _number(value: Any) -> float | None:
    """Return a limit or a deviation; None for what is no finite number."""
    return None if value is None or not isfinite(value) else float(value)


def _compliance(states: States, data: Mapping[str, Any]) -> None:
    ranks = {"met": EXACT, "sampled only": SAMPLED, "open": OPEN, "refuted": REFUTED}
    for r in data["requirements"]:
        what = f"requirement {r['id']}: {r['statement']}"
        limits = [row["limit"] for row in r["evidence"] if row["counts"] and row["limit"] is not None]
        asked = ", ".join([r["claim"], *(f"{name} {value}" for name, value in sorted(r["scope"].items()))])
        states.add(what, asked, State(ranks[r["verdict"]], {"evidence": max(limits, default=None)}))
        states.add(f"{what}: detection limit", "", State(OBSERVED, {"asked": r["detection_limit"]}))
        states.sizes[f"{what}: parts"] = set(r["parts"])
    for part in data["parts"]:
        before = f"{part['id']}: "
        if part["state"] != "done":
            states.add(f"{before}{NOTICED}failure", "", State(ERROR, {str(part["why"]): None}))
        for key, read in (("report", _report), ("history", _history), ("proofs", _proofs)):
            if key in part:
                read(states, part[key], before)
        if "proofs" in part:
            states.sizes[f"{before}proofs run here"] = set() if part["recorded"] else {"all"}
        states.facts |= {f"{before}{name}": digest for name, digest in part["files"].items()}
        states.facts |= {f"{before}plan, {name}": json.dumps(value) for name, value in part.get("options", {}).items()}
    states.facts |= {name: value for name, value in data["draftproof"].items() if name != "code"}
    states.facts["plan"] = str(data.get("plan", {}).get("sha256"))
    states.facts["draftproof's code"] = data["draftproof"]["code"]


def _history(states: States, data: Mapping[str, Any], before: str = "") -> None:
    ranks = {"quiet": SAMPLED, "watch": OPEN, "alarm": REFUTED}
    for check in data["checks"]:
        if check["current"]:
            limit = check["detects"]["within"][-1]["total_variation"] if check["detects"] else None
            states.add(f"{before}{check['subject']}", check["check"], State(ranks[check["state"]], {"nights": limit}))
            states.facts[f"{before}{check['subject']}"] = str(check["version"])
    for failure in data["failures"]:
        states.add(f"{before}{NOTICED}{failure['subject']}", "", State(ERROR, {failure["message"]: None}))


def _proofs(states: States, data: Sequence[Mapping[str, Any]], before: str = "") -> None:
    words = {REFUTED: REFUTED, ERROR: ERROR, NO_EVIDENCE: OPEN}
    for row in data:
        known = proof_strength(row) if row["verdict"] == HOLDS else words[row["verdict"]]
        states.add(f"{before}{row['claim']} by {row['method']}", f"{row['what']}; {row['size']}", State(known))


def _zoo(states: States, data: Sequence[Mapping[str, Any]]) -> None:
    for row in data:
        states.add(row["name"], "", State(EXACT if row["as_expected"] else REFUTED))


def _vectors(states: States, data: Mapping[str, Any]) -> None:
    ranks = {"failed": REFUTED, "missing": ERROR, "left out": OPEN, "not refuted": SAMPLED, "passed": EXACT}
    for judged in data["judged"]:
        states.add("vectors", judged["id"], State(ranks[judged["status"]]))
    states.facts["program"] = str(data["program"])
    states.fixed |= {name: str(data[name]) for name in ("vectors", "dtype")}


def _tables(states: States, data: Mapping[str, Any]) -> None:
    ranks = {"refuted": REFUTED, "differs": REFUTED, "undecided": OPEN, "not measured": OPEN}
    for row in [*data["orderings"], *data["equalities"]]:
        where = ", ".join(str(row[name]) for name in ("measure", "where") if name in row)
        states.add(row["statement"], where, State(ranks.get(row["verdict"], OBSERVED)))


def _law(states: States, data: Mapping[str, Any]) -> None:
    off = float(Fraction(data["total_variation"]))
    states.add(f"{data['verifier']}: lossless", "", State(EXACT if data["lossless"] else REFUTED, {}, off))
    states.fixed |= {name: str(data[name]) for name in ("vocabulary", "gamma", "iterations", "dtype") if name in data}
    if "expected_tokens" in data:
        tokens = float(Fraction(data["expected_tokens"]))
        states.rates["expected tokens"] = (tokens, tokens)


KINDS: dict[str, Any] = {
    "compliance document": ({"format", "requirements", "parts"}, _compliance),
    "report": ({"schema_version", "subject", "evidence"}, _report),
    "nightly history": ({"checks", "state", "failures"}, _history),
    "tables": ({"orderings", "equalities"}, _tables),
    "vectors": ({"judged", "vectors"}, _vectors),
    "law": ({"verifier", "lossless", "total_variation"}, _law),
    "rows of proofs": ({"claim", "method", "what", "size", "verdict"}, _proofs),
    "rows of the zoo": ({"name", "as_expected"}, _zoo),
}
"""Fields by which each kind of report is recognised, and the function that reads it."""
