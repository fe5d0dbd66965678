"""What a verdict speaks of: computed from the evidence, and shown wherever a verdict is."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from ...models.wide import LEAST_EXCHANGED
from ...proofs.time_limits import NOT_REACHED
from ...verifiers.details import Detail, TextLawDetail
from ...verifiers.evidence import HOLDS, NO_EVIDENCE, Evidence, Strength, without_smallest
from .drafts import by_plain_alone, compared_with_itself, drafts_seen, nothing_drafted, of_levels
from .positions import counted, decided_positions, ranges
from .scope_table import ScopeRow, scope_rows


class Run(Protocol):
    """A report, as far as it is read here; fields as there."""

    subject: dict[str, Any]
    claims: Sequence[str]
    evidence: list[Evidence]
    findings: dict[str, str]
    failure: dict[str, str] | None
    end_to_end: Any
    campaign: dict[str, Any] | None
    server: dict[str, Any] | None
    steps: dict[str, Any] | None
    regions: dict[str, dict[str, dict[str, int]]]

    @property
    def verdict(self) -> str: ...


WIDE_ROUNDING = 1e-4
"""Total variation allowed to rounding from which on a clean verdict mentions it."""


class NotDecided(Struct, frozen=True, kw_only=True):
    """A problem of which a verdict does not speak: undecided for its time, its number of ways or the style of the code.

    problem: its name. dtype: of the rows. vocabulary, gamma: its V and gamma. reason: why.
    """

    problem: str
    dtype: str
    vocabulary: int
    gamma: int
    reason: str


class ReportScope(Struct, frozen=True, kw_only=True):
    """A scope of a report: how many problems of which sizes, in which numbers, how exactly.

    Sizes of a loop are the pair's.

    problems: how many. requests, tokens: of decoders, settings and ways of drafting with which they were asked, and the
        cap of the longest text. vocabularies, gammas: every V and gamma, if known.
    positions: gamma -> sets of positions of a block that problems decide together, whose laws are known.
    ids: every V from LEAST_EXCHANGED on -> how many different ids were "drafted" in one problem, and "emitted" by its
        calls.
    smallest_probability: of all rows, that is not 0.
    drafting: how trees were drawn; nodes: of the largest; children: V
        -> numbers of children a depth, "2x1" for two at the first and one at the second.
    asked: the laws that problems declare, in words; "the target's" among them where others declare none.
    numbers: of the rows. requests_a_call: texts that one call verified.
    laws: how many laws, of a problem in one kind of numbers, are known in which way.
    resolution: the largest total variation of a law known to a resolution.
    sampled_vocabularies: every V at which samples stand in place of a law; detection_limit: the largest of those
        samples.
    lawless_vocabularies: every V at which there is neither a law nor samples.
    paths: ways the random numbers can fall, along which laws were followed. calls: of the function, in one process; 0
        where none was called. Before ``paths`` was there, what it is.
    rounding: of draft trees: by what measures a deviation is rounding.
    quick: whether wide problems were left out.
    not_decided: problems that were tried or left for want of time, and are no part of the above but of ``laws``.
    table: the sizes, with what was decided at each.
    says: the above in words. reading: the verdict in words that say no more than the evidence.
    """

    problems: int
    requests: int = 0
    tokens: int | None = None
    vocabularies: list[int]
    gammas: list[int]
    positions: dict[str, list[list[int]]] = {}
    ids: dict[str, dict[str, int]] = {}
    smallest_probability: float | None
    drafting: list[str] = []
    nodes: int | None = None
    children: dict[str, list[str]] = {}
    asked: list[str] = []
    numbers: list[str]
    requests_a_call: list[int]
    laws: dict[Strength, int]
    resolution: float | None
    sampled_vocabularies: list[int] = []
    detection_limit: float | None = None
    lawless_vocabularies: list[int] = []
    paths: int = 0
    calls: int
    rounding: str = ""
    quick: bool = False
    not_decided: list[NotDecided] = []
    table: list[ScopeRow] = []
    says: str = ""
    reading: str = ""


def scope(report: Run) -> ReportScope | None:
    """Return what was examined; None without evidence."""
    every = without_smallest(report.evidence)
    if not every:
        return None
    items = [e for e in every if not e.out_of_scope] or every
    run = report.end_to_end or {}
    sizes = [e.detail for e in items if e.detail.vocabulary] + _of_pair(run)
    batch = run.get("batch") or (report.campaign or {}).get("source", {}).get("batch", 1)
    requests = {int(e.detail.requests_a_call or batch) for e in items}
    if most := report.subject.get("requests_a_call"):
        requests.add(int(most))
    laws = {} if run else _known(every)  # each examination of a loop has a row of its own
    lossless = [e for e in items if e.claim == "lossless"]
    closed = (Strength.RESOLUTION, Strength.BY_CALLS, Strength.DRIVEN)
    bounds = [
        max(float(e.bound), e.law.between_levels or 0.0)
        for e in lossless
        if e.law.exactness in closed and e.bound is not None
    ]
    sampled, lawless = (
        [e for kind, e in laws.values() if kind is wanted and e.detail.vocabulary]
        for wanted in (Strength.SAMPLED, Strength.NONE)
    )
    texts = [e for e in items if isinstance(e.detail, TextLawDetail)]
    known = ReportScope(
        problems=len({e.problem for e in items}),
        requests=len({e.case for e in texts}),
        tokens=max((e.detail.tokens for e in texts), default=None),  # type: ignore[union-attr]
        vocabularies=sorted({d.vocabulary for d in sizes if d.vocabulary}),
        gammas=sorted({d.gamma for d in sizes if d.gamma}),
        positions=decided_positions(items),
        ids=(ids := _ids(items)),
        smallest_probability=min((d.smallest_probability for d in sizes if d.smallest_probability), default=None),
        drafting=list(dict.fromkeys(d.drafting for d in sizes if d.drafting)),
        nodes=max((d.nodes for d in sizes if d.nodes), default=None),
        children=_children(sizes),
        asked=_asked(sizes),
        numbers=[] if report.server else list(dict.fromkeys(e.dtype for e in items)),
        requests_a_call=sorted(requests),
        laws=_counts(kind for kind, _ in laws.values()),
        resolution=max(bounds, default=None),
        sampled_vocabularies=sorted({e.detail.vocabulary for e in sampled if e.detail.vocabulary}),
        detection_limit=max((float(e.limit) for e in sampled if e.limit is not None and not e.refuted), default=None),
        lawless_vocabularies=sorted({e.detail.vocabulary for e in lawless if e.detail.vocabulary}),
        paths=sum(e.law.paths or 0 for e in lossless),
        calls=int(report.subject.get("calls", 0)),
        rounding=_rounding_on_trees(items),
        quick=bool(report.subject.get("quick")),
        not_decided=_not_decided(every),
        table=scope_rows(items, ids),
    )
    says = _says("one pair of models" if run else counted(known.problems, "problem"), known) + _covered(report)
    return replace(known, says=says, reading=_reading(report, every, known))


def _not_decided(items: Iterable[Evidence]) -> list[NotDecided]:
    """Return the problems that are out of the scope, each once in each precision, with the reason of the law."""
    by_law: dict[tuple[str | None, str], NotDecided] = {}
    refuted = {(e.problem, e.dtype) for e in items if e.refuted}
    for e in (e for e in items if e.out_of_scope and not e.method.sampled and (e.problem, e.dtype) not in refuted):
        size = {"vocabulary": e.detail.vocabulary or 0, "gamma": e.detail.gamma or 0}
        one = NotDecided(problem=e.problem or "", dtype=e.dtype, **size, reason=e.detail.reason or "")
        by_law.setdefault((e.problem, e.dtype), one)
    return [*by_law.values()]


def on_what_not(not_decided: Sequence[NotDecided]) -> str:
    """Say how many problems are not decided, at which V: "3 (V = 32,000: ...)"; empty where there are none."""
    if not not_decided:
        return ""
    vocabularies, reasons = sorted({p.vocabulary for p in not_decided}), dict.fromkeys(p.reason for p in not_decided)
    first, *others = reasons
    more = f", and {counted(len(others), 'other reason')}" if others else ""
    return f"{len({p.problem for p in not_decided})} (V = {', '.join(f'{v:,}' for v in vocabularies)}: {first}{more})"


def _of_pair(run: Mapping[str, Any]) -> list[Detail]:
    """Return the sizes of an end-to-end run."""
    if "vocabulary" not in run:
        return []
    names = ("vocabulary", "smallest_probability", "nodes", "drafting")
    gamma = int(run["gamma"]) if str(run.get("gamma")).isdigit() else None
    children = [*map(str, run["children"])] if "children" in run else None
    return [Detail(**{name: run.get(name) for name in names}, gamma=gamma, children=children)]


def _children(sizes: Iterable[Detail]) -> dict[str, list[str]]:
    """Return V -> numbers of children a depth: "2x1+0" for two of the context, one of the first and none of the
    second."""
    every = {(d.vocabulary or 0, tuple(d.children)) for d in sizes if d.children}
    shapes = sorted(every, key=lambda s: (s[0], len(s[1]), s))
    return {str(v): ["x".join(c) for w, c in shapes if w == v] for v in sorted({v for v, _ in shapes})}


def _asked(sizes: Iterable[Detail]) -> list[str]:
    """Return which laws texts were asked to follow, if any is declared."""
    asked = dict.fromkeys(d.law or "the target's" for d in sizes)
    return [*asked] if asked.keys() - {"the target's"} else []


def _rounding_on_trees(items: Iterable[Evidence]) -> str:
    """Say by what a deviation on draft trees is rounding: our own rules have a theorem, other code two measures."""
    measures = [(e.detail.drafting, e.law.rounding) for e in items if e.claim == "lossless" and e.law.rounding]
    ours = dict.fromkeys(measure.theorem_of for drafting, measure in measures if drafting or measure.theorem_of)
    others = "one epsilon a decision and recursive rejection's theorem"
    return ", ".join(f"rounding by {f'the theorem on {rule}' if rule else others}" for rule in ours)


def _known(items: Iterable[Evidence]) -> dict[tuple[str, ...], tuple[Strength, Evidence]]:
    """Return ``Evidence.case`` -> how its law is known, and the evidence."""
    known: dict[tuple[str, ...], tuple[Strength, Evidence]] = {}
    for e in items:
        if e.claim == "lossless":
            kind = Strength.SAMPLED if e.method.sampled else e.law.exactness or Strength.EXACT
            known[e.case] = kind if e.method.sampled or e.verdict != NO_EVIDENCE else Strength.NONE, e
    return known


def _counts(kinds: Iterable[Strength]) -> dict[Strength, int]:
    counts = Counter(kinds)
    return {kind: counts[kind] for kind in Strength if counts[kind]}


def _says(over: str, known: ReportScope) -> str:
    sizes = [over]
    if known.vocabularies:
        sizes += [f"V = {ranges(known.vocabularies)}"]
    if known.gammas:
        sizes += [f"gamma = {ranges(known.gammas)}"]
    if known.nodes:
        sizes += [f"trees of up to {known.nodes} nodes drawn {', '.join(known.drafting)}"]
    if known.asked:
        sizes += [f"asked for the distribution: {'; '.join(known.asked)}"]
    if known.tokens:
        sizes += [f"outputs of at most {counted(known.tokens, 'token')}"]
        sizes[0] = f"{counted(known.requests, 'request')} of {sizes[0]}"
    if known.smallest_probability:
        sizes += [f"probabilities from {known.smallest_probability:.2g}"]
    numbers = ", ".join(known.numbers) or "numbers of the server's own"
    requests = known.requests_a_call
    at_once = f"up to {requests[-1]}" if requests[0] == 1 else ranges(requests)
    parts = [
        ", ".join(sizes),
        "over rationals" if known.numbers == ["exact"] else f"in {numbers}",
        "one request a call" if requests == [1] else f"{at_once} requests a call",
    ]
    if known.laws:
        kinds = ", ".join(f"{n} {kind.law}{_on_which(kind, known)}" for kind, n in known.laws.items())
        parts.append(f"distributions: {kinds}")
    if known.not_decided:
        parts.append(f"not decided on {on_what_not(known.not_decided)}")
    if known.rounding:
        parts.append(known.rounding)
    if known.quick:
        parts.append("quick: no wide problem")
    return "; ".join(parts)


def _ids(items: Iterable[Evidence]) -> dict[str, dict[str, int]]:
    most: dict[str, dict[str, int]] = {}
    for e in sorted(items, key=lambda e: e.detail.vocabulary or 0):
        detail = e.detail.wide
        if detail and e.holds and (detail.vocabulary or 0) >= LEAST_EXCHANGED:
            known = most.setdefault(str(detail.vocabulary), {"drafted": 0, "emitted": 0})
            known["drafted"] = max(known["drafted"], detail.ids_drafted or 0)
            known["emitted"] = max(known["emitted"], detail.ids_emitted or 0)
    return most


def _on_which(kind: Strength, known: ReportScope) -> str:
    """Say at which V there is no law, and what samples can show there."""
    at = {Strength.SAMPLED: known.sampled_vocabularies, Strength.NONE: known.lawless_vocabularies}.get(kind)
    if not at:
        return ""
    limit = known.detection_limit if kind is Strength.SAMPLED else None
    return f" (V = {ranges(at)}{f'; detection limit TV {limit:.2g}' if limit else ''})"


def _reading(report: Run, items: list[Evidence], known: ReportScope) -> str:
    """Return the verdict in words that say no more than the evidence."""
    if report.steps:
        return _of_steps(report.verdict, report.steps, items)
    if report.verdict == "holds":
        if known.numbers == ["exact"]:
            how = "exactly, over rationals"
        elif known.resolution is not None:
            how = f"to a resolution of TV {known.resolution:.2g}"
        else:
            unknown = {Strength.SAMPLED, Strength.NONE} if known.not_decided else set()
            how = "exactly" if known.laws.keys() - unknown <= {Strength.EXACT, Strength.LATTICE} else "in this run"
        left = f"; not decided on {on_what_not(known.not_decided)}" if known.not_decided else ""
        bits = report.subject.get("uniform_bits")
        lattice = f", up to the lattice of {bits}-bit uniforms" if bits else ""
        but = f"{_rounding(items)}{lattice}{_if_it_computes(items)}{left}{drafts_seen(report.evidence, report.server)}"
        return f"{report.verdict}: {not_refuted(known)}, {how}{but}{by_plain_alone(items)}"
    if report.server and report.server.get("levels") and report.verdict != "error":
        return of_levels(report.verdict, report.server)
    deciding = [e for e in items if e.claim in report.claims]
    if report.verdict == "refuted":
        if known.requests:
            return f"refuted on {len({e.case for e in deciding if e.refuted})} of {counted(known.requests, 'request')}"
        return f"refuted on {len({e.problem for e in deciding if e.refuted})} of {known.problems}"
    every = {(e.claim, e.case) for e in deciding}
    held = {(e.claim, e.case) for e in deciding if e.verdict == HOLDS}
    if report.verdict == "inconclusive":
        late = {(e.claim, e.case) for e in deciding if e.why_undecided == NOT_REACHED} - held
        if late and every - held <= late:
            names, late_names = ({case[0] for _, case in some} for some in (every, late))
            done = f"{len(names - late_names)} of {counted(len(names), 'problem')}"
            return f"inconclusive: out of time after {done}; a larger --processor-time decides the rest"
        if compared_with_itself(report.evidence) and not any(e.verdict == NO_EVIDENCE for e in deciding):
            return f"inconclusive: {not_refuted(known)}, but by same-as-plain alone"
        if nothing_drafted(report.evidence):
            return f"inconclusive: {not_refuted(known)}, but nothing shows that tokens were drafted"
        if deciding and all(e.method.sampled for e in deciding):
            return f"inconclusive: {not_refuted(known)}, by samples alone{drafts_seen(report.evidence, report.server)}"
        return f"inconclusive: nothing decided on {len(every - held)} of {len(every)}"
    return "error: it could not be audited to the end"


def _of_steps(verdict: str, steps: Mapping[str, Any], items: list[Evidence]) -> str:
    """Return the verdict on recorded steps in words."""
    number = max(steps["judged"]["steps"], steps["judged"]["greedy"]) or steps["counts"].get("recorded", 0)
    if verdict == "refuted":
        like = f"; behaves like: {steps['behaves_like'][0]['title']}" if steps["behaves_like"] else ""
        at, seen = steps["refuted_at"], next((e for e in items if e.claim == "rows" and e.refuted), None)
        if at is None and seen and seen.witness:
            return f"refuted: {seen.witness.observed} are not those of their settings: {seen.witness.why}"
        if at is None:
            claims = ", ".join(dict.fromkeys(e.claim for e in items if e.refuted))
            return f"refuted: {claims}, in {number:,} steps{like}"
        return f"refuted by step {at + 1:,} of {number:,}{like}"
    shown = sorted(n for n in steps["limits"].values() if n is not None and n <= steps["judged"]["steps"])
    would = f"; {len(shown)} of {len(steps['limits'])} faults would have shown" if steps["limits"] else ""
    return f"{verdict}: not refuted in {number:,} recorded steps{would}"


def not_refuted(known: ReportScope) -> str:
    """Say that nothing was refuted, and on how much: what can be said of third-party code."""
    widest = f" (V to {max(known.vocabularies)})" if known.vocabularies else ""
    requests = f"{counted(known.requests, 'request')} of " if known.requests else ""
    return f"not refuted on {requests}{counted(known.problems, 'problem')}{widest}"


def _rounding(items: list[Evidence]) -> str:
    """Say how much rounding is allowed, if it is enough to hide what matters."""
    held = [e for e in items if e.claim == "lossless" and e.holds and e.bound is not None and not e.detail.by_calls]
    widest = max(held, key=lambda e: float(e.bound), default=None)
    if widest is None or float(widest.bound) < WIDE_ROUNDING:
        return ""
    return f", up to rounding (TV {float(widest.bound):.2g} in {widest.dtype})"


def _if_it_computes(items: list[Evidence]) -> str:
    """Say in which dtypes a function has to compute for the verdict, if not all of its arithmetic was seen."""
    types = dict.fromkeys(e.law.if_it_computes_in for e in items if e.holds and e.law.if_it_computes_in)
    return f", if it computes in {' and '.join(map(str, types))}" if types else ""


def shares(report: Run, beginning: str = "") -> dict[str, tuple[int, int]]:
    """Return dtype -> (regions that are covered, all of them), of those whose names begin so."""
    return {
        dtype: (sum(r["covered"] for r in some), sum(r["of"] for r in some))
        for dtype, regions in report.regions.items()
        if (some := [r for name, r in regions.items() if name.startswith(beginning)])
    }


def regions_covered(report: Run) -> str:
    """Say how many regions the small problems cover, by dtype: "932 of 1820 in float32"; empty without any."""
    return ", ".join(
        f"{covered} of {every}" + (f" in {dtype}" if len(report.regions) > 1 else "")
        for dtype, (covered, every) in shares(report).items()
    )


def _covered(report: Run) -> str:
    said = regions_covered(report)
    return f"; input regions covered: {said}" if said else ""
