"""What a verdict says nothing of, a sentence each: derived from what the run did."""

from collections.abc import Callable, Mapping, Sequence

from ...models.decoding_settings import PLAIN, SETTINGS
from ...models.looking_ahead import AHEAD, LENGTHS
from ...verifiers.adapters.registry import ENGINES
from ...verifiers.details import BettingDetail, TextLawDetail
from ...verifiers.evidence import NO_EVIDENCE, Evidence, without_smallest
from ...verifiers.trees.draft_tree import WAYS
from .scope import ReportScope, Run, counted, ranges, scope, shares
from .scope_table import beside

MOST_NAMES = 5
"""Most problems that a sentence names; the scope of the JSON has all of them."""

DTYPES = ("float64", "float32", "bfloat16", "float16")


def not_examined(report: Run, known: ReportScope | None) -> list[str]:
    """Return the sentences. known: the scope of the report."""
    if known is None:
        return ["anything: there is no evidence"]
    items = [e for e in without_smallest(report.evidence) if e.claim == "lossless"]
    sentences = []
    if known.vocabularies:
        sentences.append(f"vocabularies other than {ranges(known.vocabularies)}")
    if known.gammas:
        sentences.append(f"blocks of other lengths than gamma = {ranges(known.gammas)}")
    if known.quick:
        sentences.append("wide vocabularies and long blocks: the audit was quick")
    sentences += beside(known.table) + _of_trees(known) + _not_decided(known)
    if known.ids:
        most = max(n["drafted"] for n in known.ids.values())
        sentences.append(f"draft rows of more than {most} tokens on wide vocabularies, such as a full softmax")
    if known.smallest_probability:
        sentences.append(f"probabilities below {known.smallest_probability:.2g} that are not 0")
    supports = [e for e in without_smallest(report.evidence) if e.claim == "support"]
    if supports and not any(map(zeros_examined, supports)):
        sentences.append("tokens that the target gives probability 0: no problem has one")
    if known.requests_a_call == [1] and report.server is None:
        sentences.append("several requests in one call")
    others = [dtype for dtype in DTYPES if dtype not in known.numbers]
    if report.server is not None:
        sentences.append("the server's dtype: its answers do not show it")
    elif others and known.numbers != ["exact"]:
        sentences.append(f"rows in {', '.join(others)}")
    if report.end_to_end is None and report.campaign is None and "convention" in report.subject:
        sentences += _of_functions(known, bool(report.subject["convention"].get("program")))
        if {"batch", "vllm"} & {*report.subject["convention"].get("called_by", ())}:
            sentences.append(
                "random numbers that requests of one batch share: each has its own distribution all the same"
            )
    if "key" in report.findings:
        sentences.append("drafts that the key decides too, here drawn without it, and one key in several calls")
    if report.end_to_end:
        sentences.append("other models, prompts, longer outputs, and settings of sampling than those of this run")
    sentences += _of_decoders(items) + _regions(report, bool(known.ids)) + _gaps(items)
    sentences += (report.server or report.steps or report.end_to_end or {}).get("not_examined", [])
    if parts := report.subject.get("not_compared"):
        sentences.append(f"whether {', '.join(parts[:3])} is the same in the child process: it cannot be compared")
    if report.failure:
        sentences.append(f"what comes after the failure: {report.failure['message']}")
    return sentences


def left_out(report: Run) -> list[str]:
    """Return what this run left out and another one can examine, in a few words each."""
    known = scope(report)
    if known is None:
        return ["anything"]
    words = ["long blocks and wide vocabularies (leave out --quick)"] if known.quick else []
    others = [dtype for dtype in DTYPES if dtype not in known.numbers]
    if others and known.numbers and known.numbers != ["exact"]:
        words.append(f"{', '.join(others)} (--dtype)" if "convention" in report.subject else ", ".join(others))
    if known.not_decided:
        words.append(f"{counted(len({p.problem for p in known.not_decided}), 'problem')} that are not decided")
    uncovered = [every - covered for covered, every in shares(report).values()]
    words += [f"up to {max(uncovered)} regions of the rows"] if any(uncovered) else []
    words += ["batches"] if known.requests_a_call == [1] and "convention" in report.subject else []
    words += ["the loop around the function"] if "convention" in report.subject else []
    return words or ["other models, settings and devices"]


def zeros_examined(evidence: Evidence) -> bool:
    """Return whether evidence on support is of a problem whose target gives some token probability 0. Older reports are
    believed."""
    return evidence.law.zeros is not False


def _not_decided(known: ReportScope) -> list[str]:
    """Return the problems that the verdict leaves out, by the reason."""
    by_reason: dict[str, dict[str, None]] = {}
    for one in known.not_decided:
        by_reason.setdefault(one.reason, {})[f"{one.problem} (V = {one.vocabulary}, gamma = {one.gamma})"] = None
    sentences = []
    for reason, names in ((reason, [*names]) for reason, names in by_reason.items()):
        more = f", and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        sentences.append(f"{', '.join(names[:MOST_NAMES])}{more}: not decided, {reason}")
    return sentences


def _of_trees(known: ReportScope) -> list[str]:
    """Return what is left out of draft trees, if there are some."""
    if not known.nodes:
        return []
    others = [way for way in WAYS if way not in known.drafting]
    every = [shape for shapes in known.children.values() for shape in shapes]
    uneven = any("+" in shape for shape in every)
    ragged = "" if uneven else ", those in which nodes of one depth have different numbers of children"
    depth_first = " or depth first" if any("depth-first" in shape for shape in every) else ""
    shapes = "; ".join(f"{', '.join(shapes)} over {v} tokens" for v, shapes in known.children.items())
    return [
        f"trees of more than {known.nodes} nodes{ragged}, and those whose shape depends on what was drawn",
        f"trees over more than {max(known.vocabularies)} tokens, such as a whole vocabulary",
        f"trees whose nodes are given in another order than level by level{depth_first}",
        f"other numbers of children a depth than {shapes}"
        + (" (not each of them drawn in every way)" if len(known.drafting) > 1 else ""),
        *([f"trees drawn {' or '.join(others)}"] if others else []),
        "bugs that act only in some regions of the rows: of draft trees they are not counted",
    ]


def _of_functions(known: ReportScope, program: bool) -> list[str]:
    here = "the program's own" if program else "the processor: the function ran on the CPU"
    return [
        "what changes after more calls than were made" + (f" ({known.calls:,} in one process)" if known.calls else ""),
        f"other devices than {here}",
        "the loop around the function: what is drafted, which rows it is given (draftproof e2e)",
    ]


def _of_decoders(items: Sequence[Evidence]) -> list[str]:
    """Return what is left out of a decoder's requests, if its laws are of texts."""
    asked = [e.detail for e in items if isinstance(e.detail, TextLawDetail)]
    if not asked:
        return []
    lengths = sorted({len(d.settings.get("prompt") or ()) for d in asked})
    names = sorted({name for d in asked for name in d.settings})
    together, caps = max(len(d.settings) for d in asked), {d.tokens for d in asked}
    settings = f"other settings, values and combinations than those asked for ({', '.join(names) or 'none'})"
    return [
        f"outputs of more than {max(caps)} tokens, and other caps than {ranges(caps)}",
        settings + (f": at most {together} together" if together > 1 else "" if names else ": --set, --grid"),
        *_of_settings(asked, names),
        *_given_others(asked),
        *_without_drafts(asked),
        *_of_drafts(asked),
        "bugs that act only in some regions of the rows: of decoders they are not counted; --problem takes rows of "
        "your own",
        f"prompts of other lengths than {ranges(lengths)}, and other prompts of those lengths",
        "mistakes about tokens before the last one, in the cache or in positions: a forged model's row depends on the "
        "last token only (draftproof e2e has models with more)",
        f"several seeds in one call, what one request leaves for another one{_behind(asked)}, and what only the first "
        "call of a process does",
    ]


def _of_settings(asked: Sequence[TextLawDetail], names: Sequence[str]) -> list[str]:
    """Say which settings that were asked for show nothing."""
    judged = [d for d in asked if not d.why] or asked  # of the others it is not known what is without effect
    idle = [n for n in names if all(n in d.without_effect for d in judged if n in d.settings)]
    known = {*SETTINGS, *(name for engine in ENGINES.values() for name in engine.settings or ())}
    strange = [n for n in names if n not in known]
    sentences = [f"what {', '.join(idle)} must do: the distribution is the same without it"] if idle else []
    for name in names:
        values = {repr(d.settings[name]): name in d.without_effect for d in judged if name in d.settings}
        if {*values.values()} == {True, False}:
            idly, moved = (" and ".join(v for v, is_ in values.items() if is_ is so) for so in (True, False))
            sentences.append(f"{name} {idly}, which changes no distribution here: {moved} was asked in its place")
    sentences += dict.fromkeys(f"which tokens a cut-off must keep: {d.why}" for d in asked if d.why)
    untold = dict.fromkeys(name for d in asked for name in d.untold)
    if untold := [name for name in untold if not {*idle} & {*name.split()}]:
        more = f", and {len(untold) - MOST_NAMES} more" if len(untold) > MOST_NAMES else ""
        sentences.append(f"mistakes that change no distribution asked for: {', '.join(untold[:MOST_NAMES])}{more}")
    if strange:
        sentences.append(f"the distribution under {', '.join(strange)}, which draftproof list settings does not have: "
                         "it is judged without it")  # fmt: skip
    return sentences


def _behind(asked: Sequence[TextLawDetail]) -> str:
    """Say after how many sequences of requests another one was made."""
    made = sum("earlier" in d.settings for d in asked)
    return f" (except in {counted(made, 'sequence')} of requests)" if made else ""


def _given_others(asked: Sequence[TextLawDetail]) -> list[str]:
    """Say in how many ways the other requests of a batch drew, where each request has its law given what they drew."""
    drawn = [d.drawn for d in asked if d.drawn]
    if not drawn:
        return []
    return [
        f"what other requests of a call may draw, except {counted(min(drawn), 'way')}: each request's distribution is "
        "known given these; requests that were not seen to depend on one decision were not compared in pairs"
    ]


def _of_drafts(asked: Sequence[TextLawDetail]) -> list[str]:
    """Say that drafts were seen by the outputs alone: an engine shows neither its draft's rows nor those it tests by.

    A draft that is tested by another row than it was drawn from changes the outputs of most rules, and then the claims
    on these are refuted. Where it changes none, nothing here shows it.
    """
    if all(d.sampling == PLAIN for d in asked):
        return []
    return ["which row each draft is drawn from, where outputs do not show it: draftproof steps has the claim drafts"]


def _without_drafts(asked: Sequence[TextLawDetail]) -> list[str]:
    """Say whether nothing shows that tokens were drafted."""
    compared = [d.ways_of_plain for d in asked if d.ways_of_plain is not None]
    if not any(compared):
        return []
    where = "" if all(compared) else f" in {counted(sum(compared), 'request')} of {len(compared)}"
    return [f"speculation{where}: it has as many random numbers as without a draft, as if none was drafted"]


def _regions(report: Run, wide: bool) -> list[str]:
    """Say in which regions of the rows a bug could act unseen (``models.regions``). wide: whether there are wide
    rows."""
    sentences = []
    if left := _left(shares(report), lambda covered, every: every - covered):
        sentences.append(
            "bugs that act only in regions of the rows where no problem leads, or what they change is below rounding: "
            f"{left}; the page (--html) counts them by region"
        )
    if covered := _left(shares(report, AHEAD), lambda covered, every: covered):
        sentences.append(
            "how many tokens are verified, if later rows decide it, outside the regions examined over few tokens "
            f"(gamma = {LENGTHS[0]} to {LENGTHS[-1]}): {covered}"
        )
    if report.regions and wide:
        sentences.append(
            "regions on wide vocabularies (one token with nearly all of a last row, for example): they are counted "
            "only on small problems"
        )
    if report.regions:
        sentences.append(
            "bugs that need several regions at once (a tie at the last position, for example), if no problem has "
            "them together: --problem takes your own rows"
        )
    return sentences


def _left(shares_of: Mapping[str, tuple[int, int]], count: Callable[[int, int], int]) -> str:
    """Return counts of regions in each kind of numbers: "766 of 1820 in float64"; empty if all regions are covered."""
    where = {dtype: "over rationals" if dtype == "exact" else f"in {dtype}" for dtype in shares_of}
    partial = {dtype: counts for dtype, counts in shares_of.items() if counts[0] < counts[1]}
    return ", ".join(f"{count(*counts)} of {counts[1]} {where[dtype]}" for dtype, counts in partial.items())


def _largest_limit(items: Sequence[Evidence]) -> float:
    return max(float(e.limit) for e in items if e.limit is not None)


def _gaps(items: Sequence[Evidence]) -> list[str]:
    """Say which laws are missing, and what of the others is not known."""
    sampled = [e for e in items if e.method.sampled]
    lawless = {e.case for e in items if e.verdict == NO_EVIDENCE}
    sentences = []
    if unsampled := {case for case in lawless if case[:2] not in {e.case for e in sampled}}:
        sentences.append(f"{counted(len(unsampled), 'distribution')} neither computed nor sampled")
    limited = [e for e in sampled if e.bound is not None and e.limit is not None and not e.refuted]
    if others := [e for e in limited if not isinstance(e.detail, BettingDetail)]:
        sentences.append(f"deviations below TV {_largest_limit(others):.2g} where only samples were taken")
    if bets := [e for e in limited if isinstance(e.detail, BettingDetail)]:
        sentences.append(
            f"shifts of probability below {_largest_limit(bets):.2g} in the sets of tokens that are bet on, and any "
            "shift that all of these sets leave as they are"
        )
    if real := [e.law.real_calls for e in items if e.law.real_calls]:
        limit, calls = max(r.limit for r in real), max(r.calls for r in real)
        sentences.append(
            f"hidden randomness (in C code, for example) below TV {limit:.2g}: {calls:,} real calls cannot see it; "
            "draftproof campaign makes more"
        )
    driven = [law for e in items if (law := e.detail.by_calls) and law.confirmations]
    if driven:
        fewest, missed = min(d.confirmations for d in driven), max(d.missed for d in driven)
        sentences.append(
            f"decisions that {fewest:,} random requests a problem did not reach: up to {missed:.2g} of all calls can "
            "be decided differently, and each distribution is allowed that much"
        )
    if hidden := max((e.law.between_levels or 0.0 for e in items), default=0.0):
        sentences.append(
            f"scores of noise between the examined levels: up to {hidden:.2g} of all calls can be decided "
            "differently there"
        )
    wide = [e.detail.wide for e in items if e.detail.wide]
    if not_called := max((d.mass_not_called for d in wide), default=0.0):
        sentences.append(
            f"tokens that were not tried one by one: together up to {not_called:.2g} of the probability; over a small "
            "vocabulary all are"
        )
    if unknown := max((d.mass_unknown or 0.0 for d in wide), default=0.0):
        sentences.append(f"outcomes that are not known: together up to {unknown:.2g} of the probability")
    return sentences
