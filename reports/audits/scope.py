"""What a verdict speaks of, and what the run did not examine: computed from the evidence, shown wherever a verdict is.

Keys of ``Evidence.detail`` that are read here, each where a method has it:
    vocabulary, gamma, smallest_probability: of the problem (``models.problem.size_of``).
    nodes, drafting: of a problem that draws trees: the most nodes of one, and how its siblings are drawn.
    dtype, exactness, paths: of a law, as in ``proofs.measurement``; paths are the ways along which it was followed.
    requests_a_call: how many texts one call verifies; 1 if absent.
    reason, why_not_exact: why there is no law.
    ids_called, mass_not_called, mass_unknown: of a wide problem: calls that confirmed that tokens are treated alike, the
        mass of tokens without such a call, and the mass whose outcome is not known.
    missed, confirmations: of a driven subject: mass that random requests to confirm its law may not have met; their number.
    real_calls: {"calls", "limit"}: calls with real random numbers, and the total variation that they would have shown.
And of ``Report.subject``: calls, of the function in one process; requests_a_call, the most; quick, where wide problems were left out.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from ...verifiers.evidence import HOLDS, NO_EVIDENCE, Evidence, without_smallest
from ...verifiers.trees.draft_tree import WAYS


class Run(Protocol):
    """What is read of a report; the fields as there."""

    subject: dict[str, Any]
    claims: Sequence[str]
    evidence: list[Evidence]
    failure: dict[str, str] | None
    end_to_end: Any
    campaign: dict[str, Any] | None
    server: dict[str, Any] | None
    regions: dict[str, dict[str, dict[str, int]]]

    @property
    def verdict(self) -> str: ...


LAWS = {
    "exact": "exact", "lattice": "exact on the lattice", "resolution": "to a stated resolution",
    "driven": "driven, on the lattice", "sampled": "sampled", "none": "none",
}  # fmt: skip
"""How a law is known, in words, from the most exact on."""

HOW = {
    "exact": "exact", "lattice": "exact, on the lattice", "resolution": "closed law of noise",
    "driven": "driven, on the lattice",
}  # fmt: skip
"""How a law was had, in a table, from the most exact on."""

SAMPLED = ("chi-square", "betting", "sampling campaign", "argmax", "ends")
"""Methods that look at samples."""

WIDE_ROUNDING = 1e-4
"""Total variation allowed to rounding from which on a clean verdict says it in words."""

DTYPES = ("float64", "float32", "bfloat16", "float16")


def scope(report: Run) -> dict[str, Any] | None:
    """What was examined: how many problems of which sizes, in which numbers, how exactly; None without evidence.

    Of end-to-end runs the sizes are those of the pair.
    """
    items = without_smallest(report.evidence)
    if not items:
        return None
    run = report.end_to_end.setting if report.end_to_end else {}
    sizes = [e.detail for e in items if "vocabulary" in e.detail] + ([run] if "vocabulary" in run else [])
    probabilities = [d["smallest_probability"] for d in sizes if d.get("smallest_probability")]
    requests = {int(e.detail.get("requests_a_call") or run.get("batch") or _batch(report)) for e in items}
    if most := report.subject.get("requests_a_call"):
        requests.add(int(most))
    gammas = {int(d["gamma"]) for d in sizes if str(d.get("gamma")).isdigit()}
    laws = _laws(items) if not run else {}  # each examination of a loop has a row of its own
    closed = [e for e in items if e.claim == "lossless" and e.detail.get("exactness") in ("resolution", "driven")]
    bounds = [float(e.bound) for e in closed if e.bound is not None]
    facts = {
        "problems": len({e.problem for e in items}),
        "vocabularies": sorted({d["vocabulary"] for d in sizes}),
        "gammas": sorted(gammas),
        "smallest_probability": min(probabilities, default=None),
        "drafting": list(dict.fromkeys(d["drafting"] for d in sizes if "drafting" in d)),
        "nodes": max((d["nodes"] for d in sizes if "nodes" in d), default=None),
        "largest_trees": _largest_trees(sizes),
        "children": _children(sizes),
        "numbers": [] if report.server else list(dict.fromkeys(e.dtype for e in items)),
        "requests_a_call": sorted(requests),
        "laws": dict(laws),
        "resolution": max(bounds, default=None),
        **_without_law(items if not run else []),
        "paths": sum(int(e.detail.get("paths", 0)) for e in items if e.claim == "lossless"),
        "calls": int(report.subject.get("calls", 0)),
        "quick": bool(report.subject.get("quick")),
    }
    over = "one pair of models" if run else counted(facts["problems"], "problem")
    return facts | {"says": _says(over, facts) + _covered(report), "reading": _reading(report, items, facts)}


def _largest_trees(sizes: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How trees were drawn -> nodes of the largest that was drawn so."""
    largest: dict[str, int] = {}
    for d in sizes:
        if "drafting" in d and "nodes" in d:
            largest[d["drafting"]] = max(d["nodes"], largest.get(d["drafting"], 0))
    return largest


def _by_drafting(facts: Mapping[str, Any]) -> str:
    """How large trees are that were drawn in each way, where that is not the same."""
    largest = facts["largest_trees"]
    return f" ({', '.join(f'{how} {n}' for how, n in largest.items())})" if len({*largest.values()}) > 1 else ""


def _children(sizes: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """V -> numbers of children a depth, of trees: "2x1" for two at the first and one at the second, "2x1+0" for one and none."""
    every = {(d["vocabulary"], tuple(map(str, d["children"]))) for d in sizes if "children" in d}
    shapes = sorted(every, key=lambda s: (s[0], len(s[1]), s))
    return {str(v): ["x".join(c) for w, c in shapes if w == v] for v in sorted({v for v, _ in shapes})}


def _batch(report: Run) -> int:
    return int((report.campaign or {}).get("source", {}).get("batch", 1))


def _known(items: Iterable[Evidence]) -> dict[tuple[str | None, str], tuple[str, Evidence]]:
    """(Problem, dtype) -> how its law is known, a key of LAWS, and the evidence."""
    known: dict[tuple[str | None, str], tuple[str, Evidence]] = {}
    for e in items:
        if e.claim == "lossless":
            sampled = e.method in SAMPLED
            kind = "sampled" if sampled else str(e.detail.get("exactness", "exact"))
            known[e.problem, e.dtype] = kind if sampled or e.verdict != NO_EVIDENCE else "none", e
    return known


def _laws(items: Iterable[Evidence]) -> Counter[str]:
    """How many laws (of a problem, in a dtype) are known in which way."""
    counts = Counter(kind for kind, _ in _known(items).values())
    return Counter({kind: counts[kind] for kind in LAWS if counts[kind]})


def _without_law(items: Iterable[Evidence]) -> dict[str, Any]:
    """On which vocabularies samples stand in place of a law, and what they can show; on which there are not even samples."""
    known = [*_known(items).values()]
    sampled, unknown = (
        [e for kind, e in known if kind == wanted and "vocabulary" in e.detail] for wanted in ("sampled", "none")
    )
    limits = [_limit(e) for e in sampled if e.bound is not None and not e.refuted]
    return {
        "sampled_vocabularies": sorted({e.detail["vocabulary"] for e in sampled}),
        "detection_limit": max(limits, default=None),
        "lawless_vocabularies": sorted({e.detail["vocabulary"] for e in unknown}),
    }


def _limit(sampled: Evidence) -> float:
    return float(sampled.detail.get("detection_limit", sampled.bound))


def _says(over: str, facts: Mapping[str, Any]) -> str:
    sizes = [over]
    if facts["vocabularies"]:
        sizes += [f"V = {ranges(facts['vocabularies'])}"]
    if facts["gammas"]:
        sizes += [f"gamma = {ranges(facts['gammas'])}"]
    if facts["nodes"]:
        sizes += [f"trees of up to {facts['nodes']} nodes drawn {', '.join(facts['drafting'])}{_by_drafting(facts)}"]
    if facts["smallest_probability"]:
        sizes += [f"probabilities from {facts['smallest_probability']:.2g}"]
    numbers = ", ".join(facts["numbers"]) or "numbers of the server's own"
    exact = facts["numbers"] == ["exact"]
    parts = [", ".join(sizes), "over rationals" if exact else f"in {numbers}", _requests(facts["requests_a_call"])]
    if facts["laws"]:
        laws = [f"{n} {LAWS[kind]}{_of_which(kind, facts)}" for kind, n in facts["laws"].items()]
        parts.append(f"laws: {', '.join(laws)}")
    if facts["quick"]:
        parts.append("quick: no wide problem")
    return "; ".join(parts)


def _of_which(kind: str, facts: Mapping[str, Any]) -> str:
    """At which V there is no law, and what samples can show there."""
    sizes = facts.get({"sampled": "sampled_vocabularies", "none": "lawless_vocabularies"}.get(kind, ""))
    if not sizes:
        return ""
    limit = facts["detection_limit"] if kind == "sampled" else None
    return f" (V = {ranges(sizes)}{f'; detection limit TV {limit:.2g}' if limit else ''})"


def _requests(sizes: list[int]) -> str:
    if sizes == [1]:
        return "one request a call"
    return f"{f'up to {sizes[-1]}' if sizes[0] == 1 else ranges(sizes)} requests a call"


def _reading(report: Run, items: list[Evidence], facts: Mapping[str, Any]) -> str:
    """The verdict in words that say no more than the evidence."""
    where = "on this problem" if facts["problems"] == 1 else "on these problems"
    if report.verdict in ("lossless", "holds"):
        if facts["numbers"] == ["exact"]:
            how = "exactly, over rationals"
        elif facts["resolution"] is not None:
            how = f"to a resolution of TV {facts['resolution']:.2g}"
        else:
            how = "exactly" if not facts["laws"].keys() - {"exact", "lattice"} else "in this run"
        return f"{report.verdict}: refuted by nothing, {how}{_rounding(items)}, {where}"
    deciding = [e for e in items if e.claim in report.claims]
    if report.verdict == "refuted":
        refuted = {e.problem for e in deciding if e.refuted}
        return f"refuted on {len(refuted)} of {facts['problems']}"
    held = {(e.claim, e.problem, e.dtype) for e in deciding if e.verdict == HOLDS}
    every = {(e.claim, e.problem, e.dtype) for e in deciding}
    if report.verdict == "inconclusive":
        return f"inconclusive: nothing decided on {len(every - held)} of {len(every)}"
    return "error: it could not be audited to the end"


def _rounding(items: list[Evidence]) -> str:
    """The rounding that is allowed, where it is wide enough to hide what matters."""
    held = [e for e in items if e.claim == "lossless" and e.holds and e.bound is not None and "missed" not in e.detail]
    widest = max(held, key=lambda e: float(e.bound), default=None)
    if widest is None or float(widest.bound) < WIDE_ROUNDING:
        return ""
    return f", up to rounding (TV {float(widest.bound):.2g} in {widest.dtype})"


def zeros_examined(evidence: Evidence) -> bool:
    """Whether evidence on support is of a problem whose target gives some token probability 0; of older reports it is believed."""
    return bool(evidence.detail.get("zeros", True))


def not_examined(report: Run, facts: Mapping[str, Any] | None) -> list[str]:
    """What the verdict says nothing of, a sentence each: from what the run did, not from what it might have done.

    facts: the scope of the report.
    """
    if facts is None:
        return ["anything: there is no evidence"]
    items = [e for e in without_smallest(report.evidence) if e.claim == "lossless"]
    sentences = []
    if facts["vocabularies"]:
        sentences.append(f"vocabularies other than {ranges(facts['vocabularies'])}")
    if facts["gammas"]:
        sentences.append(f"blocks of other lengths than gamma = {ranges(facts['gammas'])}")
    if facts["quick"]:
        sentences.append("wide vocabularies and long blocks: the audit was quick")
    sentences += _together(report) + _of_trees(facts)
    if facts["smallest_probability"]:
        sentences.append(f"probabilities below {facts['smallest_probability']:.2g} that are not 0")
    supports = [e for e in without_smallest(report.evidence) if e.claim == "support"]
    if supports and not any(zeros_examined(e) for e in supports):
        sentences.append("tokens that the target gives probability 0: no problem has one")
    if facts["requests_a_call"] == [1]:
        sentences.append("several requests in one call")
    others = [dtype for dtype in DTYPES if dtype not in facts["numbers"]]
    if report.server is not None:
        sentences.append("in which numbers the server computes: its answers do not show it")
    elif others and facts["numbers"] != ["exact"]:
        sentences.append(f"rows in {', '.join(others)}")
    sentences += _of_functions(facts, bool(report.subject["convention"].get("program"))) if _is_function(report) else []
    if report.end_to_end:
        sentences.append("other models, prompts, longer texts, and settings of sampling than those of this run")
    sentences += _regions(report) + _gaps(items)
    sentences += (report.server or {}).get("not_examined", [])
    if parts := report.subject.get("not_compared"):
        sentences.append(f"whether {', '.join(parts[:3])} is the same in the child process: it cannot be compared")
    if report.failure:
        sentences.append(f"what comes after the failure: {report.failure['message']}")
    return sentences


def _of_trees(facts: Mapping[str, Any]) -> list[str]:
    """What is left out of draft trees, where there are some."""
    if not facts["nodes"]:
        return []
    others = [way for way in WAYS if way not in facts["drafting"]]
    every = [shape for shapes in facts["children"].values() for shape in shapes]
    uneven = any("+" in shape for shape in every)
    orders = "level by level" + (" or depth first" if any("depth-first" in shape for shape in every) else "")
    ragged = "" if uneven else ", those in which nodes of one depth have different numbers of children"
    return [
        f"trees of more than {facts['nodes']} nodes{_by_drafting(facts)}{ragged}, and those whose shape depends on what was drawn",
        f"trees over more than {max(facts['vocabularies'])} tokens, a whole vocabulary say",
        f"trees whose nodes are given in another order than {orders}",
        "other numbers of children a depth than "
        + "; ".join(f"{', '.join(shapes)} over {v} tokens" for v, shapes in facts["children"].items())
        + (" (not each of them drawn in every way)" if len(facts["drafting"]) > 1 else ""),
        *([f"trees drawn {' or '.join(others)}"] if others else []),
        "bugs that act only in some regions of the rows: of draft trees they are not counted",
    ]


def _together(report: Run) -> list[str]:
    """Where no problem is large in both ways."""
    sizes = {
        (e.detail["vocabulary"], e.detail["gamma"])
        for e in report.evidence
        if {"vocabulary", "gamma"} <= e.detail.keys()
    }
    if not sizes:
        return []
    widest, longest = max(v for v, _ in sizes), max(g for _, g in sizes)
    gamma, vocabulary = max(g for v, g in sizes if v == widest), max(v for v, g in sizes if g == longest)
    if (gamma, vocabulary) == (longest, widest):
        return []
    return [
        f"long blocks over large vocabularies: gamma is at most {gamma} at V = {widest}, V at most {vocabulary} at gamma = {longest}"
    ]


def _is_function(report: Run) -> bool:
    return report.end_to_end is None and report.campaign is None and "convention" in report.subject


def _of_functions(facts: Mapping[str, Any], program: bool) -> list[str]:
    return [
        "what changes after more calls than were made"
        + (f" ({facts['calls']:,} in one process)" if facts["calls"] else ""),
        "other devices than the program's own"
        if program
        else "other devices than the processor: the function ran on the CPU",
        "the loop around the function: what is drafted, which rows it is given (draftproof e2e)",
    ]


def _shares(report: Run) -> dict[str, tuple[int, int]]:
    """dtype -> (regions of the rows that are covered, all of them)."""
    return {
        dtype: (sum(r["covered"] for r in regions.values()), sum(r["of"] for r in regions.values()))
        for dtype, regions in report.regions.items()
    }


def _covered(report: Run) -> str:
    """How many regions of the rows the small problems cover, by dtype."""
    shares = []
    for dtype, (covered, every) in _shares(report).items():
        shares.append(f"{covered} of {every}" + (f" in {dtype}" if len(report.regions) > 1 else ""))
    return f"; regions of the rows: {', '.join(shares)}" if shares else ""


def _regions(report: Run) -> list[str]:
    """Regions of the rows in which a bug could act unseen (``models.regions``)."""
    sentences = []
    for dtype, (covered, every) in _shares(report).items():
        if covered < every:
            where = "over rationals" if dtype == "exact" else f"in {dtype}"
            sentences.append(
                f"bugs that act only in {every - covered} of {every} regions of the rows, {where}: no problem leads there, "
                "or what they change is below rounding"
            )
    return sentences + (
        ["bugs that act only where several regions of the rows meet that no problem combines"] if report.regions else []
    )


def _gaps(items: list[Evidence]) -> list[str]:
    """Of the laws: which are missing, and what of them is not known."""
    lawless = {(e.problem, e.dtype) for e in items if e.verdict == NO_EVIDENCE}
    sampled = [e for e in items if e.method in SAMPLED]
    sentences = []
    if unsampled := lawless - {(e.problem, e.dtype) for e in sampled}:
        sentences.append(f"{counted(len(unsampled), 'law')} without computation and without samples")
    limits = [_limit(e) for e in sampled if e.bound is not None and not e.refuted]
    if limits:
        sentences.append(f"deviations below TV {max(limits):.2g} where there are samples in place of a law")
    real = [e.detail["real_calls"] for e in items if isinstance(e.detail.get("real_calls"), Mapping)]
    if real:
        limit, calls = max(r["limit"] for r in real), max(r["calls"] for r in real)
        sentences.append(
            f"randomness that was not followed, if it moves a law by less than TV {limit:.2g} ({calls:,} real calls)"
        )
    missed = [(float(e.detail["missed"]), int(e.detail["confirmations"])) for e in items if "missed" in e.detail]
    if missed:
        sentences.append(
            f"decisions that {min(n for _, n in missed):,} random requests a problem did not meet: a mass of up to "
            f"{max(m for m, _ in missed):.2g} of a law"
        )
    for key, what in (
        ("mass_not_called", "tokens that were not called one by one"),
        ("mass_unknown", "outcomes unknown"),
    ):
        masses = [float(e.detail[key]) for e in items if e.detail.get(key)]
        if masses:
            sentences.append(f"{what}: a mass of up to {max(masses):.2g} of a law")
    return sentences


def counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def ranges(sizes: Iterable[int]) -> str:
    """Whole numbers as ranges: 2 to 5, 8, 127 to 129."""
    runs: list[list[int]] = []
    for size in sorted(sizes):
        if runs and size == runs[-1][-1] + 1:
            runs[-1].append(size)
        else:
            runs.append([size])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
