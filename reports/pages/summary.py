"""A report in a few rows, derived from the evidence: what the terminal and the page both show."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Any, NamedTuple

from ...proofs.time_limits import NOT_REACHED
from ...verifiers.claims import PROBABILITY, TOKENS
from ...verifiers.details import (
    ArgmaxDetail,
    BettingDetail,
    BiasDetail,
    CampaignDetail,
    EndsDetail,
    ListeningDetail,
    LoopLawDetail,
    MeanDetail,
    ReadingDetail,
    ReportedDetail,
    RowsDetail,
    SamplesDetail,
    TextsDetail,
)
from ...verifiers.evidence import (
    HOLDS,
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
from ..audits.functions.session import NOT_ASKED
from ..audits.report import Report
from ..audits.scope import WIDE_ROUNDING, counted, not_refuted, regions_covered, shares

TOO_WIDE = "drift too wide to judge"


class Summary(NamedTuple):
    """A row for all evidence on one claim, in one dtype, by one method.

    claim, dtype: of the evidence.
    verdict: the worst.
    problems: how many have that verdict, of how many.
    how: the method, and on how much.
    worst: the largest deviation.
    limit: the deviation that is allowed, or that could remain unseen.
    """

    claim: str
    dtype: str
    verdict: EvidenceVerdict
    problems: str
    how: str
    worst: str
    limit: str


def summaries(report: Report) -> list[Summary]:
    """Return a row for each claim, dtype and method, and one for what is out of the scope. The smallest witness is
    shown elsewhere."""
    groups: dict[tuple[str, str, Method, bool, bool], list[Evidence]] = {}
    for e in without_smallest(report.evidence):
        groups.setdefault((e.claim, e.dtype, e.method, e.out_of_scope, e.own_alone), []).append(e)
    return [_summary(group) for group in groups.values()]


def _summary(group: Sequence[Evidence]) -> Summary:
    first, verdict = group[0], merge_verdicts(e.verdict for e in group)
    worst = [e for e in group if e.verdict == verdict]
    how, deviation, limit = _columns(group, max(worst, key=lambda e: e.total_variation or 0))
    return Summary(first.claim, first.dtype, verdict, f"{len(worst)} of {len(group)}", how, deviation, limit)


Columns = tuple[str, str, str]
"""The columns how, worst and limit."""


def _columns(group: Sequence[Evidence], worst: Evidence) -> Columns:
    """Return the columns by the type of the detail if each piece stands alone, else by the claim's unit."""
    if alone := _alone(worst, _variation(worst.total_variation), _variation(worst.bound)):
        return alone
    if isinstance(worst.detail, SamplesDetail):
        return _by_samples(group)
    return {TOKENS: _tokens, PROBABILITY: _probability}.get(worst.unit, _deviation)(group)


def _alone(e: Evidence, deviation: str, bound: str) -> Columns | None:
    """Return the columns of a piece of an end-to-end run, a server or a campaign, which stands alone."""
    judged = TOO_WIDE if e.detail.too_wide else bound
    match e.detail:
        case LoopLawDetail() as d:
            return f"exact distribution of {d.tokens} tokens", deviation, bound
        case MeanDetail() as d:
            worst = "{:.4g}, not {:.4g}" if e.refuted else "{:.4g} ({:.4g})"
            limit = f"{d.detection_limit or 0:.2g} tokens"
            return f"mean of {d.calls:,} calls", worst.format(d.mean_accepted, d.expected_accepted), limit
        case ArgmaxDetail() as d:
            agreed = f"agrees on {d.distinct_tokens - d.ties_excused:,} tokens, {d.ties_excused} ties excused "
            worst = f"{d.disagreements} differ" if e.refuted else f"{agreed}({d.share_excused:.1%})"
            how = f"argmax, {d.distinct_tokens:,} tokens of {d.distinct_texts:,} outputs"
            return how, worst, "" if e.bound is None else f"{e.bound:.2g} of the tokens"
        case BettingDetail() as d:
            shift = f"a shift of a set of tokens by {e.bound:.2g}" if (e.bound or 1) < 1 else ""
            return f"betting, {d.tokens:,} tokens", f"p = {d.p_value:.1g}", TOO_WIDE if d.too_wide else shift
        case EndsDetail() as d:
            return f"ends of {d.texts:,} outputs", f"{d.wrong_ends} wrong", ""
        case BiasDetail():
            return "closed form", f"TV {e.total_variation:.3g}", "lossy by name"
        case ReportedDetail() as d:
            worst = f"{d.off:,} off, up to {e.total_variation:.2g}" if d.logprobs else ""
            how = f"{d.logprobs:,} reported" if d.logprobs else "none reported"
            return how, worst, "" if e.bound is None else f"{e.bound:.1g}"
        case ReadingDetail() as d:
            return f"read, {d.passes:,} rows", f"{d.misread} misread", ""
        case RowsDetail() as d:
            how = "own passes" if e.method is Method.FORWARD_PASS else "warp"
            return f"{how}, {d.rows:,} rows", deviation, judged
        case ListeningDetail() as d:
            how = f"{d.numbers:,} numbers, {d.draft_numbers_heard:,} for {d.draft_tokens:,} draft tokens"
            return how, f"{d.used_twice} used twice", ""
        case CampaignDetail() as d:
            return f"{d.samples:,} samples", deviation, _variation(e.limit)
    return None


def _variation(number: float | None) -> str:
    return "" if number is None else f"TV {float(number):.2g}"


def _largest(numbers: Iterable[float | None]) -> float | None:
    return max((float(number) for number in numbers if number is not None), default=None)


def _by_samples(group: Sequence[Evidence]) -> Columns:
    details = [e.detail for e in group if isinstance(e.detail, SamplesDetail)]
    first = details[0]
    if isinstance(first, TextsDetail) and first.law:  # texts of a decoding loop
        return f"chi-square, {first.samples:,} outputs", f"p = {first.p_value:.1g}", _variation(group[0].bound)
    p_values = [d.p_value for d, e in zip(details, group) if e.refuted]
    worst = f"p = {min(p_values):.1g}" if p_values else _variation(_largest(e.total_variation for e in group))
    pooled = [e for e in group if isinstance(e.detail, TextsDetail) and (e.detail.sampling or "").startswith("pooled")]
    alone = [e for e in group if e not in pooled] or group
    each, together = (_variation(_largest(e.bound for e in some)) for some in (alone, pooled))
    limit = f"{each} each, {together} together" if each and together else each or together
    return f"chi-square, {first.samples:,} samples each", worst, limit


def _how(group: Sequence[Evidence]) -> str:
    """Return the least exact way in which a law is known."""
    known = [e.law.exactness for e in group if e.verdict != NO_EVIDENCE]
    if known:
        least = max((kind for kind in known if kind), key=lambda kind: kind.rank, default=None)
        return "not interceptable" if least is Strength.NONE else least.law if least else group[0].method
    if {e.detail.reason for e in group} == {NOT_ASKED}:
        return "not asked for"
    if {e.detail.reason for e in group} == {NOT_REACHED}:
        return "not reached in time"
    return "driven, no distribution" if group[0].method is Method.DRIVING else "not interceptable"


def _deviation(group: Sequence[Evidence]) -> Columns:
    largest = _largest(e.total_variation for e in group)
    return _how(group), _variation(largest), _variation(_largest(e.bound for e in group))


def _probability(group: Sequence[Evidence]) -> Columns:
    return _how(group), next((f"Pr {e.witness.observed}" for e in group if e.witness), ""), ""


def _tokens(group: Sequence[Evidence]) -> Columns:
    claimed = merge_verdicts(e.verdict for e in group) != NOT_CLAIMED
    worst, bound = _largest(e.law.tokens_per_call_lost for e in group), _largest(e.bound for e in group)
    lost = f"-{worst:.3g} tokens/call" if worst and claimed else ""
    return _how(group), lost, f"{bound:.2g} tokens" if bound else ""


# ---------------------------------------------------------------- sentences


def price(report: Report) -> str:
    """Compare E[tau] with the optimum in one sentence, from the problems where both are known."""
    optimal = [e for e in report.evidence if e.claim == "optimal" and e.verdict != NOT_CLAIMED]
    known = [e for e in optimal if e.law.optimum is not None]
    known = [e for e in known if e.dtype == known[0].dtype]
    if not known:
        return ""
    if above := [e.law for e in known if e.law.above]:
        return (
            f"above the optimum on {len(above)} of {len(known)} problems (E[tau] {above[0].expected_accepted} "
            f"where {above[0].optimum} is the most that any valid verifier accepts): that alone proves bias"
        )
    if any(e.claim == "lossless" and e.refuted for e in report.evidence):
        return ""  # the optimum is that of valid verifiers
    steps = [(e.law.transport_bound, e.law.first_accepted or 0.0) for e in known if e.law.transport_bound is not None]
    lost = [e for e in known if e.refuted]
    if not lost:
        whose = "the bound of all valid rules" if steps else "block verification's, the optimum,"
        return f"E[tau] equals {whose} on all {len(known)} problems"
    worst, first = max(lost, key=lambda e: e.law.tokens_per_call_lost or 0), ""
    if steps:
        most, accepted = max(steps, key=lambda step: step[0] - step[1])
        first = (
            f"a first token is accepted with probability {accepted:.4g} where {most:.4g} is the most "
            "that any valid rule reaches, at worst; "
        )
    return (
        f"{first}below the optimum on {len(lost)} of {len(known)} problems, by {worst.law.tokens_per_call_lost:.3g} "
        f"tokens a call at most (E[tau] {worst.law.expected_accepted} against {worst.law.optimum} on {worst.problem})"
    )


def acceptance(report: Report) -> str:
    """Compare E[tau] with the optimum in a few words; empty where it is not known or ``lossless`` is refuted."""
    optimal = [e for e in report.evidence if e.claim == "optimal" and e.verdict in (HOLDS, REFUTED)]
    if any(e.law.above for e in optimal):
        return price(report)
    if not optimal or any(e.claim == "lossless" and e.refuted for e in report.evidence):
        return ""
    lost = max((e.law.tokens_per_call_lost or 0.0 for e in optimal if e.refuted), default=0.0)
    best = "the best valid rule" if any(e.law.transport_bound is not None for e in optimal) else "block verification"
    return f"up to {lost:.3g} tokens a call fewer than {best}" if lost else "as many tokens as any valid rule can"


def examined(report: Report) -> str:
    """Say on which sizes and numbers something was decided, in one line; empty if that is not known."""
    known = report.scope
    if known is None or not known.vocabularies:
        return ""
    sizes = [known.vocabularies, known.gammas]
    least_most = [f"{min(n):,}" if len(n) == 1 else f"{min(n):,} to {max(n):,}" for n in sizes if n]
    said = [f"{name} = {size}" for name, size in zip(("V", "gamma"), least_most)]
    if known.nodes:
        said.append(f"trees of up to {known.nodes} nodes")
    said += [", ".join(known.numbers)] if known.numbers else []
    if any(covered for covered, _ in shares(report).values()):
        said.append(f"regions: {regions_covered(report)}")
    return "; ".join(said)


def allowance(report: Report) -> str:
    """Say what a clean verdict leaves open because it is allowed to rounding."""
    widest: dict[str, float] = {}
    for e in report.evidence:
        if e.claim == "lossless" and e.holds and e.bound is not None:
            missed = e.detail.by_calls.missed if e.detail.by_calls else 0.0
            widest[e.dtype] = max(float(e.bound) - missed, widest.get(e.dtype, 0.0))
    open_ = [f"in {dtype} a bias below TV {most:.2g}" for dtype, most in widest.items() if most > WIDE_ROUNDING]
    return f"{', '.join(open_)} cannot be distinguished from rounding" if open_ and report.verdict == HOLDS else ""


def reasons(report: Report) -> list[str]:
    """Return why there is no exact law, each reason once, with the number of problems."""
    lawless = [e.detail.reason for e in report.evidence if e.claim == "lossless" and e.verdict == NO_EVIDENCE]
    counts = Counter(reason for reason in lawless if reason and reason != NOT_ASKED)
    return [f"{reason} ({counted(n, 'problem')})" for reason, n in counts.most_common(4)]


def regions(report: Report) -> list[tuple[str, list[dict[str, int]]]]:
    """Return (region of the rows, cells covered and all, by dtype), as ``models.regions`` counts them."""
    names = dict.fromkeys(name for counts in report.regions.values() for name in counts)
    nothing = {"covered": 0, "of": 0}
    return [(name, [counts.get(name, nothing) for counts in report.regions.values()]) for name in names]


def speaks_of(report: Report) -> str:
    """Say what the verdict speaks of: sizes, numbers, requests a call, how the laws are known."""
    return report.scope.says if report.scope else "nothing was examined"


def in_brief(report: Report) -> str:
    """Return the verdict; if it holds, on what, and on how many problems nothing is decided."""
    known = report.scope
    if not known or report.verdict != HOLDS:
        return report.verdict
    left_out = len({p.problem for p in known.not_decided})
    return not_refuted(known) + (f"; {left_out} not decided" if left_out else "")


def of_whole_battery(report: Report) -> bool:
    """Return whether the verdict covers all problems of an audit: not quick, none given by hand, none undecided."""
    partial = (
        report.subject.get("quick") or report.subject.get("problems") or (report.scope and report.scope.not_decided)
    )
    return not partial


def also_refuted(report: Report) -> list[Evidence]:
    """Return one witness for each refuted claim that does not decide the verdict."""
    first: dict[str, Evidence] = {}
    for evidence in report.evidence:
        if evidence.claim not in report.claims and evidence.verdict == REFUTED and evidence.witness:
            first.setdefault(evidence.claim, evidence)
    return list(first.values())


def run_lines(report: Report) -> list[tuple[str, str]]:
    """Return what a run shows in addition to claims, as (name, text): the setting and the performance, or the
    samples."""
    if report.campaign is not None and report.evidence:
        return _campaign_lines(report.campaign, report.evidence[0], report.seed)
    if report.server is not None:
        return server_lines(report.server)
    if report.steps is not None:
        from .steps import steps_lines

        return steps_lines(report.steps)
    return _loop_lines(report.end_to_end) if report.end_to_end else []


def _campaign_lines(campaign: Mapping[str, Any], evidence: Evidence, seed: int) -> list[tuple[str, str]]:
    detail, rate, resumed = evidence.detail, campaign["samples_per_second"], campaign["resumed"]
    assert isinstance(detail, CampaignDetail), evidence.method
    speed = f", {rate:,.0f} a second" if rate else ""
    before = f" ({resumed:,} from the checkpoint)" if resumed else ""
    lines = [
        ("samples", f"{campaign['samples']:,}{before}{speed}"),
        ("counts", f"sha256 {campaign['counts_digest'][:16]}, seed {seed}, chunks of {campaign['chunk']:,}"),
        ("goodness", f"p = {detail.p_value:.3g} ({detail.p_value_by}), {detail.cells} cells"),
        ("TV", f"{evidence.total_variation:.3g} in the sample; "
         f"at most {evidence.bound:.3g} at 1 - {detail.false_alarm_rate:g}"),
        ("detection", f"a TV of {detail.detection_limit:.3g} is missed with probability {detail.miss_rate:g}"),
    ]  # fmt: skip
    if tau := detail.accepted:
        low, high = tau["interval"]
        text = f"{tau['mean']:.6g} in [{low:.6g}, {high:.6g}]; optimum {tau['optimum']:.6g}, cap {tau['cap']:.6g}"
        lines.append(("E[tau]", text))
    malformed = detail.strange.items()
    return lines + [("strange", f"{kind}: {times:,} times, for example {one}") for kind, (times, one) in malformed]


def server_lines(server: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what a server says of itself, and what became of the requests, as (name, text)."""
    names = [server["header"], *(f"model {name}" for name in server["answered_as"]), *server["fingerprints"]]
    kinds, drafts, seeds = server["kinds"].items(), server["speculation"], server.get("same_seed")
    each = ", ".join(f"{name} {kind['counted']:,} of {kind['asked']:,}" for name, kind in kinds)
    levels = server.get("levels", ())
    at_once = f"up to {server['at_once']}" if levels else server["at_once"]
    each = f"{sum(level['texts'] for level in levels):,}" if levels else each
    resumed = f"; resumed {server['resumed']} times" if server["resumed"] else ""
    figures = {"drafted": "tokens drafted", "accepted": "accepted", "tokens_per_event": "tokens an event"}
    seen = ", ".join(f"{drafts[key]:,} {unit}" for key, unit in figures.items() if key in drafts)
    lines = [
        ("says it is", ", ".join(filter(None, names)) or "nothing"),
        ("texts", f"{each}; {at_once} at once{resumed}"),
        ("drafts seen", f"{seen} ({drafts['seen']})" if seen else drafts["seen"]),
    ]
    return lines + ([("same seed", f"{seeds['same']} of {seeds['asked']} give the same output")] if seeds else [])


def level_lines(server: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return what each level of a sweep showed: its evidence, and tokens drafted and kept a step."""
    return [(f"{level['in_flight']} in flight", _of_level(level)) for level in (server or {}).get("levels", ())]


def _of_level(level: Mapping[str, Any]) -> str:
    if level["verdict"] != REFUTED and level["missed"]:
        return f"undecided, {counted(level['missed'], 'answer')} lost or requested again"
    evidence, alarm = (level[name] / log(10) for name in ("log_e", "alarm"))
    why = f"log10 E {evidence:.1f}, alarm at {alarm:.1f}"
    why = f"{counted(level['impossible'], 'impossible output')}" if level.get("impossible") else why
    steps = level["tokens"] - (level.get("kept") or 0)
    drafts = "no drafts shown"
    if level.get("drafted") is not None and steps:
        drafts = f"{level['drafted'] / steps:.2f} drafted, {level['kept'] / steps:.2f} kept a step"
    return f"{REFUTED if level['verdict'] == REFUTED else 'not refuted'}, {why}; {drafts}"


UNITS = {"block_efficiency": "tokens a target call", "wall_clock_speedup": "times as fast as plain decoding"}


def _loop_lines(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    figures = run["figures"]
    lines = [
        ("pair", f"{run['target']}, {run['draft']}"),
        ("on", f"{run['device']}, {run['dtype']}"),
        ("loop", run["loop"]),
    ]
    for key, unit in UNITS.items():
        if figures.get(key) is not None:
            low, high = figures.get(f"{key}_interval") or (None, None)
            confidence = f"{figures['confidence']:.0%} " if figures.get("confidence") is not None else ""
            between = "" if low is None else f", {confidence}interval {low:.3g} to {high:.3g}"
            lines.append((key.replace("_", " "), f"{figures[key]:.3g} {unit}{between}"))
    for model, shapes in run["drift"].items():
        for each in shapes:
            log_p = "|log p| median {median:.2g}, at most {max:.2g}".format(**each["log_p"])
            off = f"TV up to {each['total_variation']['max']:.2g}"
            lines.append((f"drift of the {model}", f"{each['shape']}: {off}, {log_p}"))
    return lines
