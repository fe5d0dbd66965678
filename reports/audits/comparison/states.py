"""Every kind of report as comparable items: what is known of each, how strongly, and down to which limit."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from ....models.errors import InputError, of_kind, printable_data
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
from ..report import Report
from ..scope import ReportScope

OPEN, SAMPLED, OBSERVED, EXACT = Strength.NONE, Strength.SAMPLED, Strength.OBSERVED, Strength.EXACT

DRAWN = ("samples", "calls", "draws", "tokens", "false_alarm_rate", "miss_rate")
"""Facts of sampled evidence that decide its limit, apart from the draw itself."""

REAL_CALLS = "real calls"
"""Name for the real calls of an audit. Which laws get them depends on how many problems the audit has."""

OWN = "own-"
"""Prefix of the names of problems that an audit draws from its seed."""

NOTICED = "noticed: "
"""Prefix of the names of items that are bad in themselves: findings and failures."""


MOVED = 1.5
"""Factor by which the limit of a sample may move with the draw alone."""

NO_SETTING = ("command", "loop", "vocabulary", "figures", "drift")
"""Fields of a run of a loop that are no settings of it."""

Rate = tuple[float, ...]
"""An interval of what is better the more it is."""


class Limit(NamedTuple):
    """The limit of a method.

    value: what can remain unseen, or is allowed to rounding; None if the method states none.
    drawn: numbers drawn and error rates, of a limit that samples have.
    """

    value: float | None
    drawn: tuple[Any, ...] = ()

    def moves_with_the_draw_to(self, other: "Limit") -> bool:
        """Return whether as many samples, at the same rates, may give the other limit by their draw alone."""
        low, high = sorted((self.value or 0, other.value or 0))
        return bool(self.drawn) and self.drawn == other.drawn and high <= MOVED * low


@dataclass(frozen=True)
class State:
    """A summary of what is known of an item.

    known: refuted, an error, or how much is known.
    limits: by method.
    deviation: what was measured, of a refutation, in the unit.
    unit: of the deviation.
    above: whether it is refuted on the side that proves bias: more is accepted than by any valid verifier.
    decides: whether the verdict depends on it.
    drawn: the problem's name with its seed, where an audit drew it.
    """

    known: EvidenceVerdict | Strength
    limits: Mapping[str, Limit] = field(default_factory=dict)
    deviation: float | None = None
    unit: str = VARIATION
    above: bool = False
    decides: bool = True
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
    rates: dict[str, Rate] = field(default_factory=dict)
    unclaimed: set[tuple[str, str]] = field(default_factory=set)

    def add(self, what: str, problem: str, state: State) -> None:
        """Add an item; of two with one name the worse stays."""
        known = self.items.get((what, problem))
        if known is None or state.rank < known.rank:
            self.items[what, problem] = state

    def notice(self, what: str, text: str) -> None:
        """Add a finding or a failure. Another text of one kind is said, and not judged."""
        self.add(f"{NOTICED}{what}", "", State(ERROR, {text: Limit(None)}))

    def include(self, other: "States", before: str) -> None:
        """Add all of a part, whose names then begin with it."""
        for (what, problem), state in other.items.items():
            self.add(before + what, problem, state)
        self.unclaimed |= {(before + what, problem) for what, problem in other.unclaimed}
        for mine in ("facts", "sizes", "fixed", "rates"):
            getattr(self, mine).update((before + name, value) for name, value in getattr(other, mine).items())


def load(file: str) -> Any:
    """Return the JSON of a report, or of the report in a compliance folder. Raises: InputError."""
    path = Path(file) / "report.json" if Path(file).is_dir() else Path(file)
    return printable_data(parse(text_of(path), str(path)))


@of_kind("DP208")
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


def _report(states: States, data: Mapping[str, Any]) -> None:
    report = Report.from_json(data)
    groups: dict[tuple[str, str], list[Evidence]] = {}
    for e in without_smallest(report.evidence):
        key = f"{e.claim}, {e.dtype}", _without_seed(e.problem or "")
        if e.verdict == NOT_CLAIMED:
            states.unclaimed.add(key)
        else:
            groups.setdefault(key, []).append(e)
    for (what, problem), group in groups.items():
        drawn = (group[0].problem or "") if problem.startswith(OWN) else ""
        decides = group[0].claim in report.claims
        states.add(what, problem, replace(_state(group), decides=decides, drawn=drawn))
    noticed = report.findings | ({"failure": report.failure["message"]} if report.failure else {})
    for kind, text in noticed.items():
        states.notice(kind, text)
    for part in report.subject.get("not_compared", ()):
        states.notice(f"not compared: {part}", part)
    subject, texts = report.subject, [e.detail for e in report.evidence if isinstance(e.detail, TextsDetail)]
    settings = [pair for detail in texts for pair in (detail.settings or {}).items()]
    states.fixed |= {"subject": f"{subject['name']} ({subject['source']})"}
    states.fixed |= {f"setting {name}": json.dumps(value) for name, value in settings}
    states.fixed |= {f"problem {name}": digest for name, digest in subject.get("problems", {}).items()}
    states.sizes["claims that decide"] = set(report.claims)
    states.sizes["sampling"] = {detail.sampling for detail in texts if detail.sampling}
    states.facts |= noticed | {"digest": str(subject["digest"]), "seed": str(report.seed)} | report.environment
    if report.end_to_end:
        _loop(states, report.end_to_end)
    for e in report.evidence:
        if isinstance(e.detail, CampaignDetail) and e.detail.accepted:
            states.rates[f"accepted draft tokens on {e.problem}"] = (*e.detail.accepted["interval"],)
    if called := len({(e.problem, e.dtype) for e in report.evidence if e.law.real_calls}):
        states.rates[f"distributions compared with {REAL_CALLS}"] = (called, called)
    if report.scope:
        _scope(states, report, report.scope)


def _scope(states: States, report: Report, scope: ReportScope) -> None:
    """Add what a report speaks of. It is said, and not judged: what is better or worse is so problem by problem."""
    for name in ("vocabularies", "gammas", "numbers", "requests_a_call"):
        states.sizes[name.replace("_", " ")] = {str(size) for size in getattr(scope, name)}
    wide = [e for e in report.evidence if (e.problem or "").startswith(f"{OWN}wide")]
    if wide:  # their vocabularies depend on the seed
        states.sizes["vocabularies"] &= {str(e.detail.vocabulary) for e in report.evidence if e not in wide}
    states.sizes["problems"] = set() if scope.quick else {"wide problems"}
    gaps = {
        f"in {dtype}": Limit(float(sum(r["of"] - r["covered"] for r in regions.values())))
        for dtype, regions in report.regions.items()
    }
    states.add("regions of the rows without a problem", "", State(OBSERVED, gaps))
    least = {"probability": Limit(scope.smallest_probability)}
    states.add("the smallest probability", "", State(OBSERVED, least))
    states.facts |= {"verdict": report.reading, "speaks of": scope.says}


def _loop(states: States, run: Mapping[str, Any]) -> None:
    """Add what a run of a decoding loop says. Only block efficiency is judged: the speed-up depends on the machine."""
    settings = {name: value for name, value in run.items() if name not in NO_SETTING}
    states.fixed |= {f"setting {name}": json.dumps(value) for name, value in settings.items()}
    if interval := run["figures"].get("block_efficiency_interval"):
        states.rates["block efficiency"] = (*interval,)
    if interval := run["figures"].get("wall_clock_speedup_interval"):
        states.facts["wall clock speedup"] = f"{interval[0]:.3g} to {interval[1]:.3g}"


def _without_seed(problem: str) -> str:
    """Return a problem's name without what was drawn from a seed: another seed gives the same kind of problem."""
    if not problem.startswith(OWN):
        return problem
    return re.sub(rf"^({OWN}wide)-V\d+", r"\1", re.sub(r"-seed\d+", "", problem))


def _state(group: Sequence[Evidence]) -> State:
    """Return what all methods together know of a claim on a problem: a refutation, an error, else the strongest."""
    stated: dict[str, list[Limit]] = {}
    for e in group:
        if not e.refuted:
            for name, limit in _limits(e):
                stated.setdefault(name, []).append(limit)
    limits = {name: _greatest(some) for name, some in stated.items()}
    if refuted := [e for e in group if e.verdict == REFUTED]:
        above = any(e.law.above for e in refuted)
        return State(REFUTED, limits, max(map(_deviation, refuted)), group[0].unit, above)
    if any(e.verdict == ERROR for e in group):
        return State(ERROR, limits)
    return State(min(map(_strength, group), key=lambda strength: strength.rank), limits)


def _limits(e: Evidence) -> Iterator[tuple[str, Limit]]:
    """Yield what evidence leaves unknown: its own limit, and those of its confirmations."""
    texts = e.detail if isinstance(e.detail, TextsDetail) else None
    name = ", ".join(filter(None, (e.method, texts and texts.sampling, texts and texts.together)))
    counted = e.method.sampled and any(getattr(e.detail, count, None) for count in DRAWN[:4])
    drawn = tuple(getattr(e.detail, fact, None) for fact in DRAWN) if counted else ()
    yield name, Limit(_number(e.limit), drawn)
    if driven := e.detail.by_calls:
        yield f"{name}, missed", Limit(_number(driven.missed), (driven.confirmations,))
    if wide := e.detail.wide:
        yield f"{name}, mass not called", Limit(_number(wide.mass_not_called))
    if real := e.law.real_calls:
        yield f"{name}, {REAL_CALLS}", Limit(_number(real.limit), (real.calls,))


def _greatest(limits: Sequence[Limit]) -> Limit:
    """Return the greatest limit; None, which states no limit, is greater than any."""
    drawn = tuple(number for limit in limits for number in limit.drawn)
    numbers = [limit.value for limit in limits if limit.value is not None]
    return Limit(max(numbers) if len(numbers) == len(limits) else None, drawn)


def _deviation(e: Evidence) -> float:
    """Return a total variation, the tokens lost a call, or a probability, by the claim's unit."""
    if e.unit == PROBABILITY and e.witness:
        base, _, power = e.witness.observed.partition("^")
        try:
            return float(Fraction(base)) ** int(power or 1)
        except (ValueError, OverflowError, ZeroDivisionError):
            return 0.0
    return _number(e.law.tokens_per_call_lost if e.unit == TOKENS else e.total_variation) or 0.0


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
        states.add(what, asked, State(ranks[r["verdict"]], {"evidence": Limit(max(limits, default=None))}))
        states.add(f"{what}: detection limit", "", State(OBSERVED, {"asked": Limit(r["detection_limit"])}))
        states.sizes[f"{what}: parts"] = set(r["parts"])
    for part in data["parts"]:
        mine = States("part")
        if part["state"] != "done":
            mine.notice("failure", str(part["why"]))
        for key, read in (("report", _report), ("history", _history), ("proofs", _proofs)):
            if key in part:
                read(mine, part[key])
        if "proofs" in part:
            mine.sizes["proofs run here"] = set() if part["recorded"] else {"all"}
        mine.facts |= part["files"] | {f"plan, {name}": json.dumps(value) for name, value in part["options"].items()}
        states.include(mine, f"{part['id']}: ")
    own = dict(data["draftproof"])
    states.facts |= {"plan": data["plan"]["sha256"], "draftproof's code": own.pop("code"), **own}


def _history(states: States, data: Mapping[str, Any]) -> None:
    ranks = {"quiet": SAMPLED, "watch": OPEN, "alarm": REFUTED}
    for check in data["checks"]:
        if check["current"]:
            limit = check["detects"]["within"][-1]["total_variation"] if check["detects"] else None
            states.add(check["subject"], check["check"], State(ranks[check["state"]], {"nights": Limit(limit)}))
            states.facts[check["subject"]] = str(check["version"])
    for failure in data["failures"]:
        states.notice(failure["subject"], failure["message"])


def _proofs(states: States, data: Sequence[Mapping[str, Any]]) -> None:
    words = {REFUTED: REFUTED, ERROR: ERROR, NO_EVIDENCE: OPEN}
    for row in data:
        known = proof_strength(row) if row["verdict"] == HOLDS else words[row["verdict"]]
        states.add(f"{row['claim']} by {row['method']}", f"{row['what']}; {row['size']}", State(known))


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
}
"""Fields by which each kind of report is recognised, and the function that reads it."""
