"""What changed from one report to the next: better, worse, newly known, or known no more."""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import NamedTuple

from ....models.errors import InputError
from ....verifiers.claims import TOKENS
from ....verifiers.evidence import EvidenceVerdict
from .states import NOTICED, REAL_CALLS, Rate, State, States

BETTER, WORSE, KNOWN, UNKNOWN = "better", "worse", "known", "unknown"

WHERE_ALL_HOLDS = ("not-wide", "too-long")
"""Findings that an audit makes only if nothing is refuted."""

WHERE_NOT_QUICK = (*WHERE_ALL_HOLDS, "relation", "scaling")
"""Findings that an audit makes only if it is not quick."""


class Change(NamedTuple):
    """A change.

    kind: better, worse (less is known, too, of what held), known (decided now, and not looked at or not decided before)
        or unknown (refuted before, and now not decided).
    what, problem: of the item, as in ``States``; before, after: what was known of it.
    """

    kind: str
    what: str
    problem: str
    before: str
    after: str


def changes(old: States, new: States) -> list[Change]:
    """Return every change of an item, of what was examined, and of limits. Raises: InputError for reports of two kinds.

    Guarantee: each of these is in the list as worse or unknown: a claim, a problem or a kind of sampling that is gone;
    another subject or setting; an exact law that gave way to samples; a limit that grew or is no number any more; a new
    refutation of a claim that decides or was decided before. What is equal as printed, or moves with the draw of a
    sample alone, is no change.
    """
    if old.kind != new.kind:
        raise InputError(f"a {old.kind} cannot be compared with a {new.kind}")
    now_alone = _looked_for_now(old, new)
    made = [change for key in {**old.items, **new.items} for change in _changes(old, new, key, now_alone)]
    for name, before, after in _differing(old.fixed, new.fixed):
        made.append(Change(WORSE, name, "", before, after))
    for name in {**old.rates, **new.rates}:
        made += _of_rates(name, old.rates.get(name), new.rates.get(name))
    for name in {**old.sizes, **new.sizes}:
        before, after = old.sizes.get(name, set()), new.sizes.get(name, set())
        made += [Change(WORSE, name, "", _listed(before - after), "no longer examined")] if before - after else []
        made += [Change(BETTER, name, "", "not examined", _listed(after - before))] if after - before else []
    return made


def _listed(sizes: set[str]) -> str:
    return ", ".join(sorted(sizes, key=lambda size: (len(size), size)))


def _differing(old: Mapping[str, str], new: Mapping[str, str]) -> list[tuple[str, str, str]]:
    pairs = [(name, old.get(name, "none"), new.get(name, "none")) for name in {**old, **new}]
    return [(name, before, after) for name, before, after in pairs if before != after]


def _of_rates(name: str, before: Rate | None, after: Rate | None) -> Iterator[Change]:
    """Yield the change of a rate that is better or worse: its intervals are disjoint, and differ as printed."""
    shown = [" to ".join(dict.fromkeys(f"{end:.4g}" for end in rate)) if rate else "none" for rate in (before, after)]
    if not after or (before and after[1] < before[0] and shown[0] != shown[1]):
        yield Change(WORSE, name, "", *shown)
    elif not before or (after[0] > before[1] and shown[0] != shown[1]):
        yield Change(BETTER, name, "", *shown)


def got_worse(made: list[Change]) -> bool:
    """Return whether anything is worse, or known no more."""
    return any(change.kind in (WORSE, UNKNOWN) for change in made)


def versions_changed(old: States, new: States) -> list[tuple[str, str, str]]:
    """Return (name, before, after) of versions, digests and seeds that differ."""
    return _differing(old.facts, new.facts)


def _looked_for_now(old: States, new: States) -> tuple[str, ...]:
    """Return findings that only the new audit could make: the old one was quick, or refuted what now holds."""
    if not old.sizes.get("problems", True) and new.sizes.get("problems"):
        return WHERE_NOT_QUICK
    refuted = [key for key, state in old.items.items() if state.refuted and state.decides]
    now = [new.items.get(key) for key in refuted]
    clean = not any(state.refuted and state.decides for state in new.items.values())
    return WHERE_ALL_HOLDS if refuted and clean and all(state and state.decided for state in now) else ()


def _changes(old: States, new: States, key: tuple[str, str], now_alone: tuple[str, ...]) -> Iterator[Change]:
    before, after = old.items.get(key), new.items.get(key)
    what, problem = key
    if NOTICED in what:
        if (before is None) != (after is None):
            kind = BETTER if after is None else KNOWN if what.removeprefix(NOTICED) in now_alone else WORSE
            yield Change(
                kind, what, "", *("; ".join(state.limits) if state else "nothing" for state in (before, after))
            )
    elif before and after:
        yield from _between(what, problem, before, after)
    elif after:
        bad = isinstance(after.known, EvidenceVerdict) and (after.decides or not after.refuted)
        absent = "not claimed" if key in old.unclaimed else "not examined"
        yield Change(WORSE if bad else KNOWN if after.decided else BETTER, what, problem, absent, str(after))
    elif before:
        yield Change(UNKNOWN if before.refuted else WORSE, what, problem, str(before), "no longer examined")


def _between(what: str, problem: str, before: State, after: State) -> Iterator[Change]:
    if before.known != after.known:
        if after.refuted:
            kind = WORSE
        elif before.refuted and not after.decided:
            kind = UNKNOWN
        elif after.decided and not before.decided:
            kind = KNOWN
        else:
            kind = BETTER if after.rank > before.rank else WORSE
        yield Change(kind, what, problem, str(before), str(after))
    elif before.above != after.above:
        yield Change(WORSE if after.above else BETTER, what, problem, before.side, after.side)
    elif before.refuted and before.drawn == after.drawn and None not in (before.deviation, after.deviation):
        name = "lost tokens a call" if after.unit == TOKENS else "off by TV"
        yield from _numbers(what, problem, name, before.deviation, after.deviation)
    another = before.drawn != after.drawn
    for method, limit in before.limits.items():
        if now := after.limits.get(method):
            if not limit.value or not now.value or not (another or limit.moves_with_the_draw_to(now)):
                yield from _numbers(what, problem, f"{method}: limit", limit.value, now.value)
        elif before.known == after.known and not before.refuted and not method.endswith(REAL_CALLS):
            yield Change(WORSE, what, problem, f"{method}: stated", f"{method}: no longer")


def _numbers(what: str, problem: str, name: str, before: float | None, after: float | None) -> Iterator[Change]:
    before, after = (n if n is not None and isfinite(n) else None for n in (before, after))
    shown = [f"no {name}" if n is None else f"{name} {n:.3g}" for n in (before, after)]
    if shown[0] != shown[1]:
        worse = after is None or (before is not None and after > before)
        yield Change(WORSE if worse else BETTER, what, problem, *shown)
