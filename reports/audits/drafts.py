"""What an audit of an engine or a server saw of its drafts: was anything drafted and kept?"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...models.decoding_settings import PLAIN
from ...verifiers.details import TextLawDetail
from ...verifiers.evidence import Evidence, without_smallest
from .positions import counted


def nothing_drafted(evidence: Sequence[Evidence]) -> bool:
    """Check whether requests with speculation were compared with those without, and none had other random numbers."""
    compared = [drafted for drafted in _drafted(evidence) if drafted is not None]
    return bool(compared) and not any(compared)


def compared_with_itself(evidence: Sequence[Evidence]) -> bool:
    """Check whether a decoder was compared with its own law without speculation alone, as where engines may differ."""
    of_law = [e for e in evidence if e.claim == "lossless"]
    return bool(of_law) and all(e.own_alone for e in of_law)


def by_plain_alone(evidence: Sequence[Evidence]) -> str:
    """Say of how many requests only the claim same-as-plain is judged, behind a verdict; empty if of none."""
    of_law = [e for e in evidence if e.claim == "lossless" and isinstance(e.detail, TextLawDetail) and e.detail.why]
    own = sum(e.own_alone for e in of_law)
    calls = len(of_law) - own
    said = [counted(own, "request")] if own else []
    said += [f"part of {counted(calls, 'call')}"] if calls else []
    return f"; {' and '.join(said)} by same-as-plain alone" if said else ""


def drafts_seen(evidence: Sequence[Evidence], server: Mapping[str, Any] | None) -> str:
    """Say whether drafts were seen, behind a verdict; empty where nothing was compared.

    server: the report's section on a server, if there is one.
    """
    if (seen := (server or {}).get("speculation")) is not None:
        if "drafted" in seen:
            return f"; {seen['drafted']:,} tokens drafted, {seen['accepted']:,} kept"
        if "tokens_per_event" in seen:
            return "; drafts seen in the stream"
        return "; its answers show no drafts" if seen["seen"].startswith("nowhere") else ""
    drafted = _drafted(evidence)
    if all(one is None for one in drafted):
        return ""
    return f"; drafts seen on {drafted.count(True)} of {len(drafted)} requests"


def of_levels(verdict: str, server: Mapping[str, Any]) -> str:
    """Return the verdict on a sweep in words: with how many requests in flight, and whether tokens were drafted."""
    levels = server["levels"]

    def with_(chosen: Callable[[Mapping[str, Any]], Any]) -> str:
        return ", ".join(str(level["in_flight"]) for level in levels if chosen(level))

    refuted = with_(lambda level: level["verdict"] == "refuted")
    held = with_(lambda level: level["verdict"] != "refuted" and not level["missed"])
    open_ = with_(lambda level: level["verdict"] != "refuted" and level["missed"])
    late = f"; undecided with {open_}" if open_ else ""
    if verdict == "refuted":
        return f"refuted: with {refuted} requests in flight{f', not with {held}' if held else ''}{late}"
    if not any(level.get("drafted") for level in levels):
        drafts = ", but nothing shows that tokens were drafted"
    else:
        none = with_(lambda level: not level.get("drafted"))
        drafts = drafts_seen((), server) + (f"; none drafted with {none}" if none else "")
    known = f"not refuted with {held} requests in flight" if held else "nothing decided"
    return f"inconclusive: {known}, by samples alone{late}{drafts}"


def _drafted(evidence: Sequence[Evidence]) -> list[bool | None]:
    """Return for each request with speculation to a decoder whether it had other random numbers than without.

    None: it was not compared.
    """
    details = [e.detail for e in without_smallest(evidence) if e.claim == "lossless"]
    texts = [d for d in details if isinstance(d, TextLawDetail) and d.sampling != PLAIN]
    return [None if d.ways_of_plain is None else not d.ways_of_plain for d in texts]
