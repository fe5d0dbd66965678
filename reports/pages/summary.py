"""A report in a few rows: what the terminal and the page both show, derived from the evidence."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...verifiers.evidence import NO_EVIDENCE, NOT_CLAIMED, REFUTED, Evidence, merge_verdicts
from ..audits.functions.exact_laws import NOT_ASKED
from ..audits.report import EndToEnd, Report
from ..audits.scope import HOW, WIDE_ROUNDING

EXACTNESS = HOW | {"not interceptable": "not interceptable"}
"""How exact a law is, from the most exact on, in words."""

TOO_WIDE = "drift too wide to judge"


class Summary(NamedTuple):
    """All evidence on one claim, in one dtype, by one method.

    claim, dtype: of the evidence.
    verdict: the worst.
    problems: how many have that verdict, of how many.
    how: the method, and on how much.
    worst: the largest deviation.
    limit: the deviation that is allowed, or that could remain unseen.
    """

    claim: str
    dtype: str
    verdict: str
    problems: str
    how: str
    worst: str
    limit: str


def summaries(report: Report) -> list[Summary]:
    """One row for each claim, dtype and method; the smallest witness is shown apart."""
    groups: dict[tuple[str, str, str], list[Evidence]] = {}
    for evidence in report.evidence:
        if not (evidence.witness and evidence.witness.smallest):
            groups.setdefault((evidence.claim, evidence.dtype, evidence.method), []).append(evidence)
    return [_summary(group) for group in groups.values()]


def _summary(group: Sequence[Evidence]) -> Summary:
    first, verdict = group[0], merge_verdicts(e.verdict for e in group)
    worst = [e for e in group if e.verdict == verdict]
    how, deviation, limit = _columns(group, max(worst, key=lambda e: e.total_variation or 0))
    return Summary(first.claim, first.dtype, verdict, f"{len(worst)} of {len(group)}", how, deviation, limit)


Columns = tuple[str, str, str]
"""how, worst and limit."""


def _columns(group: Sequence[Evidence], worst: Evidence) -> Columns:
    if worst.method in BY_METHOD and "exactness" not in worst.detail:
        return BY_METHOD[worst.method](worst)
    if worst.method == "chi-square":
        return _by_samples(group)
    by_claim = {"optimal": _optimal, "support": _support}
    return by_claim.get(worst.claim, _lossless)(group)


def _variation(number: float | None) -> str:
    return "" if number is None else f"TV {float(number):.2g}"


def _by_samples(group: Sequence[Evidence]) -> Columns:
    if "law" in group[0].detail:  # texts of a decoding loop
        e = group[0]
        return f"chi-square, {e.detail['samples']:,} texts", f"p = {e.detail['p_value']:.1g}", _variation(e.bound)
    p_values = [e.detail["p_value"] for e in group if e.refuted]
    deviations = [float(e.total_variation) for e in group if e.total_variation is not None]
    worst = f"p = {min(p_values):.1g}" if p_values else _variation(max(deviations, default=None))
    pooled = [
        e for e in group if str(e.detail.get("sampling", "")).startswith("pooled")
    ]  # a server's, of several kinds
    each, together = (
        _variation(max((float(e.bound) for e in some if e.bound is not None), default=None))
        for some in ([e for e in group if e not in pooled] or group, pooled)
    )
    limit = f"{each} each, {together} together" if each and together else each or together
    return f"chi-square, {group[0].detail['samples']:,} samples each", worst, limit


def _exact_how(group: Sequence[Evidence]) -> str:
    """The least exact of the laws that are known."""
    kinds = {str(e.detail.get("exactness", "")) for e in group if e.verdict != NO_EVIDENCE}
    if not kinds:
        reasons = {e.detail.get("reason") for e in group}
        unknown = "driven, no law" if group[0].method == "driving" else "not interceptable"
        return "not asked for" if reasons == {NOT_ASKED} else unknown
    kind = next((k for k in reversed(EXACTNESS) if k in kinds), "")
    return EXACTNESS.get(kind, group[0].method)


def _lossless(group: Sequence[Evidence]) -> Columns:
    deviations = [float(e.total_variation) for e in group if e.total_variation is not None]
    bounds = [float(e.bound) for e in group if e.bound is not None]
    return _exact_how(group), _variation(max(deviations, default=None)), _variation(max(bounds, default=None))


def _support(group: Sequence[Evidence]) -> Columns:
    leak = next((f"Pr {e.witness.observed}" for e in group if e.witness), "")
    return _exact_how(group), leak, ""


def _optimal(group: Sequence[Evidence]) -> Columns:
    claimed = merge_verdicts(e.verdict for e in group) != NOT_CLAIMED
    lost = [e.detail["tokens_per_call_lost"] for e in group if "tokens_per_call_lost" in e.detail]
    worst = max(lost, default=0)
    bound = max((float(e.bound) for e in group if e.bound is not None), default=0.0)
    shown = f"-{worst:.3g} tokens/call" if worst and claimed else ""
    return _exact_how(group), shown, f"{bound:.2g} tokens" if bound else ""


# ---------------------------------------------------------------- end-to-end runs


def _enumeration(e: Evidence) -> Columns:
    return f"exact law of {e.detail['tokens']} tokens", _variation(e.total_variation), _variation(e.bound)


def _mean(e: Evidence) -> Columns:
    expected, mean = e.detail["expected_accepted"], e.detail["mean_accepted"]
    worst = f"{mean:.4g}, not {expected:.4g}" if e.refuted else f"{mean:.4g} ({expected:.4g})"
    return f"mean of {e.detail['calls']:,} calls", worst, f"{e.detail['detection_limit']:.2g} tokens"


def _argmax(e: Evidence) -> Columns:
    tokens, ties = e.detail["distinct_tokens"], e.detail["ties_excused"]
    how = f"argmax, {tokens:,} tokens of {e.detail['distinct_texts']:,} texts"
    agreed = f"agrees on {tokens - ties:,} tokens, {ties} ties excused ({e.detail['share_excused']:.1%})"
    worst = f"{e.detail['disagreements']} differ" if e.refuted else agreed
    return how, worst, "" if e.bound is None else f"{e.bound:.2g} of the tokens"


def _betting(e: Evidence) -> Columns:
    limit = TOO_WIDE if e.detail["too_wide"] else _variation(e.bound)
    return f"betting, {e.detail['tokens']:,} tokens", f"p = {e.detail['p_value']:.1g}", limit


def _rows(e: Evidence) -> Columns:
    how = "own passes" if e.method == "forward-pass" else "warp"
    limit = TOO_WIDE if e.detail["too_wide"] else _variation(e.bound)
    return f"{how}, {e.detail['rows']:,} rows", _variation(e.total_variation), limit


def _listening(e: Evidence) -> Columns:
    heard, drafted = e.detail["draft_numbers_heard"], e.detail["draft_tokens"]
    how = f"{e.detail['numbers']:,} numbers, {heard:,} for {drafted:,} draft tokens"
    return how, f"{e.detail['used_twice']} used twice", ""


def _campaign(e: Evidence) -> Columns:
    return f"{e.detail['samples']:,} samples", _variation(e.total_variation), _variation(e.detail["detection_limit"])


BY_METHOD: dict[str, Callable[[Evidence], Columns]] = {
    "enumeration": _enumeration,
    "mean": _mean,
    "argmax": _argmax,
    "betting": _betting,
    "ends": lambda e: (f"ends of {e.detail['texts']:,} texts", f"{e.detail['wrong_ends']} wrong", ""),
    "closed-form": lambda e: ("closed form", f"TV {e.total_variation:.3g}", "lossy by name"),
    "reading": lambda e: (f"read, {e.detail['passes']:,} rows", f"{e.detail['misread']} misread", ""),
    "forward-pass": _rows,
    "warp": _rows,
    "listening": _listening,
    "sampling campaign": _campaign,
}
"""The methods of end-to-end runs and campaigns; enumeration is one of audits too, where the law has an exactness."""


# ---------------------------------------------------------------- sentences


def price(report: Report) -> str:
    """E[tau] against the optimum in one sentence, from the problems where both are known."""
    known = [e for e in report.evidence if e.claim == "optimal" and "optimum" in e.detail and e.verdict != NOT_CLAIMED]
    known = [e for e in known if e.dtype == known[0].dtype]
    if not known:
        return ""
    above = [e for e in known if "above" in e.detail]
    if above:
        return (
            f"above the optimum on {len(above)} of {len(known)} problems (E[tau] {above[0].detail['expected_accepted']} "
            f"where {above[0].detail['optimum']} is the most that any valid verifier accepts): that alone proves bias"
        )
    if any(e.claim == "lossless" and e.refuted for e in report.evidence):
        return ""  # the optimum is that of valid verifiers
    lost = [e for e in known if e.refuted]
    if not lost:
        whose = (
            "the bound of all valid rules"
            if any("transport_bound" in e.detail for e in known)
            else "block verification's, the optimum,"
        )
        return f"E[tau] equals {whose} on all {len(known)} problems"
    worst = max(lost, key=lambda e: e.detail["tokens_per_call_lost"])
    return _first_step(known) + (
        f"below the optimum on {len(lost)} of {len(known)} problems, by {worst.detail['tokens_per_call_lost']:.3g} tokens "
        f"a call at most (E[tau] {worst.detail['expected_accepted']} against {worst.detail['optimum']} on {worst.problem})"
    )


def _first_step(known: Sequence[Evidence]) -> str:
    """How far the first token of a tree is from the most that any valid rule accepts; empty where no trees were drawn."""
    trees = [e.detail for e in known if "transport_bound" in e.detail]
    if not trees:
        return ""
    worst = max(trees, key=lambda d: d["transport_bound"] - d["first_accepted"])
    return (
        f"a first token is accepted with probability {worst['first_accepted']:.4g} where {worst['transport_bound']:.4g} is the most "
        "that any valid rule reaches, at worst; "
    )


def allowance(report: Report) -> str:
    """What a clean verdict leaves open because rounding is allowed as much."""
    held = [e for e in report.evidence if e.claim == "lossless" and e.holds and e.bound is not None]
    widest: dict[str, float] = {}
    for e in held:
        widest[e.dtype] = max(float(e.bound) - e.detail.get("missed", 0.0), widest.get(e.dtype, 0.0))
    open_ = [f"in {dtype} a bias below TV {most:.2g}" for dtype, most in widest.items() if most > WIDE_ROUNDING]
    return f"{', '.join(open_)} cannot be told from rounding" if open_ and report.verdict == "lossless" else ""


def reasons(report: Report) -> list[str]:
    """Why there is no exact law, each reason once, with the number of problems."""
    lawless = [e for e in report.evidence if e.claim == "lossless" and e.verdict == NO_EVIDENCE]
    counts = Counter(e.detail["reason"] for e in lawless if e.detail.get("reason") not in (None, "", NOT_ASKED))
    return [f"{reason} ({n} problem{'s' if n > 1 else ''})" for reason, n in counts.most_common(4)]


def regions(report: Report) -> list[tuple[str, list[dict[str, int]]]]:
    """(region of the rows, cells covered and all, by dtype): what ``models.regions`` counts."""
    names = dict.fromkeys(name for counts in report.regions.values() for name in counts)
    nothing = {"covered": 0, "of": 0}
    return [(name, [counts.get(name, nothing) for counts in report.regions.values()]) for name in names]


NOT_RECORDED = "not recorded in a report of this version"


def speaks_of(report: Report) -> str:
    """What the verdict speaks of: sizes, numbers, requests a call, how the laws are known."""
    known = report.scope
    return known["says"] if known else "nothing was examined" if report.scoped else NOT_RECORDED


def also_refuted(report: Report) -> list[Evidence]:
    """For each refuted claim that does not decide the verdict, one witness."""
    first: dict[str, Evidence] = {}
    for evidence in report.evidence:
        if evidence.claim not in report.claims and evidence.verdict == REFUTED and evidence.witness:
            first.setdefault(evidence.claim, evidence)
    return list(first.values())


def run_lines(report: Report) -> list[tuple[str, str]]:
    """What a run has to show beside claims, as (name, text): the setting and the performance, or the samples."""
    if report.campaign is not None and report.evidence:
        return _campaign_lines(report.campaign, report.evidence[0], report.seed)
    if report.server is not None:
        return server_lines(report.server)
    return _loop_lines(report.end_to_end) if report.end_to_end else []


def _campaign_lines(campaign: Mapping[str, Any], evidence: Evidence, seed: int) -> list[tuple[str, str]]:
    detail, rate, resumed = evidence.detail, campaign["samples_per_second"], campaign["resumed"]
    speed = f", {rate:,.0f} a second" if rate else ""
    before = f" ({resumed:,} from the checkpoint)" if resumed else ""
    lines = [
        ("samples", f"{campaign['samples']:,}{before}{speed}"),
        ("counts", f"sha256 {campaign['counts_digest'][:16]}, seed {seed}, chunks of {campaign['chunk']:,}"),
        ("goodness", f"p = {detail['p_value']:.3g} ({detail['p_value_by']}), {detail['cells']} cells"),
        ("TV", f"{evidence.total_variation:.3g} in the sample; at most {evidence.bound:.3g} at 1 - {detail['false_alarm_rate']:g}"),
        ("detection", f"a TV of {detail['detection_limit']:.3g} is missed with probability {detail['miss_rate']:g}"),
    ]  # fmt: skip
    if tau := detail["accepted"]:
        low, high = tau["interval"]
        text = f"{tau['mean']:.6g} in [{low:.6g}, {high:.6g}]; optimum {tau['optimum']:.6g}, cap {tau['cap']:.6g}"
        lines.append(("E[tau]", text))
    malformed = detail["strange"].items()
    return lines + [("strange", f"{kind}: {times:,} times, for example {one}") for kind, (times, one) in malformed]


def server_lines(server: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a server says of itself, and what became of the requests, as (name, text)."""
    names = [server["header"], *(f"model {name}" for name in server["answered_as"]), *server["fingerprints"]]
    kinds, drafts, seeds = server["kinds"].items(), server["speculation"], server.get("same_seed")
    counted = ", ".join(f"{name} {kind['counted']:,} of {kind['asked']:,}" for name, kind in kinds)
    resumed = f"; the run went on {server['resumed']} times" if server["resumed"] else ""
    figures = {"drafted": "tokens drafted", "accepted": "accepted", "tokens_per_event": "tokens an event"}
    seen = ", ".join(f"{drafts[key]:,} {unit}" for key, unit in figures.items() if key in drafts)
    lines = [
        ("says it is", ", ".join(filter(None, names)) or "nothing"),
        ("texts", f"{counted}; {server['at_once']} at once{resumed}"),
        ("drafts seen", f"{seen} ({drafts['seen']})" if seen else drafts["seen"]),
    ]
    if pair := server["together_against_alone"]:
        lines.append(("together", f"against alone p = {pair['p_value']:.2g}, detection limit TV {pair['limit']:.2g}"))
    return lines + ([("same seed", f"{seeds['same']} of {seeds['asked']} give the same text")] if seeds else [])


def _loop_lines(run: EndToEnd) -> list[tuple[str, str]]:
    setting, figures = run.setting, run.figures
    lines = [
        ("pair", f"{setting['target']}, {setting['draft']}"),
        ("on", f"{setting['device']}, {setting['dtype']}"),
        ("loop", setting["loop"]),
    ]
    units = {"block_efficiency": "tokens a target call", "wall_clock_speedup": "times as fast as plain decoding"}
    for key, unit in units.items():
        if key in figures:
            low, high = figures[f"{key}_interval"] or (None, None)
            between = "" if low is None else f", {figures['confidence']:.0%} interval {low:.3g} to {high:.3g}"
            lines.append((key.replace("_", " "), f"{figures[key]:.3g} {unit}{between}"))
    for model, shapes in run.drift.items():
        for each in shapes:
            lines.append((f"drift of the {model}", f"{each['shape']}: TV up to {each['total_variation']['max']:.2g}, "
                          f"|log p| median {each['log_p']['median']:.2g}, at most {each['log_p']['max']:.2g}"))  # fmt: skip
    return lines
