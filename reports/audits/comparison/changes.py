"""What changed from one report to the next: better, worse, known that was not, unknown that was known."""

from collections.abc import Iterator
from math import isfinite
from typing import NamedTuple

from ....models.errors import InputError
from ....verifiers.claims import TOKENS
from ....verifiers.evidence import EvidenceVerdict
from .states import NOTICED, State, States

BETTER, WORSE, KNOWN, UNKNOWN = "better", "worse", "known", "unknown"

SLACK = 1e-9
"""By which part a limit or a deviation may grow before it is said to: the last digits of sums in another order."""


class Change(NamedTuple):
    """A change.

    kind: better, worse (less is known, too, of what held), known (decided now, and not before) or unknown (refuted
        before, and now not decided).
    what, problem: of the item, as in ``States``; before, after: what was known of it.
    """

    kind: str
    what: str
    problem: str
    before: str
    after: str


def changes(old: States, new: States) -> list[Change]:
    """Every change of an item, of what was examined, and of limits. Raises: InputError for reports of two kinds.

    Guarantee: a claim, a problem or a kind of sampling that is there no more, another subject or setting, an exact law
    that gave way to samples, a limit that grew or is no number any more, is in the list as worse or unknown.
    """
    if old.kind != new.kind:
        raise InputError(f"a {old.kind} cannot be compared with a {new.kind}")
    made = [change for key in {**old.items, **new.items} for change in _changes(old, new, key)]
    for name in {**old.fixed, **new.fixed}:
        before, after = old.fixed.get(name, "none"), new.fixed.get(name, "none")
        made += [Change(WORSE, name, "", before, after)] if before != after else []
    for name in {**old.rates, **new.rates}:
        made += _of_rates(name, old.rates.get(name), new.rates.get(name))
    for name in {**old.sizes, **new.sizes}:
        before, after = old.sizes.get(name, set()), new.sizes.get(name, set())
        made += [Change(WORSE, name, "", size, "examined no more") for size in sorted(before - after)]
        made += [Change(BETTER, name, "", "not examined", size) for size in sorted(after - before)]
    return made


def _of_rates(name: str, before: tuple[float, float] | None, after: tuple[float, float] | None) -> list[Change]:
    """Better or worse where the intervals have nothing in common, but for rounding."""
    shown = [
        "none" if rate is None else " to ".join(f"{end:.4g}" for end in dict.fromkeys(rate)) for rate in (before, after)
    ]
    if before is None or after is None:
        return [Change(WORSE if after is None else BETTER, name, "", *shown)]
    slack = SLACK * max(map(abs, (*before, *after)))
    if after[1] < before[0] - slack:
        return [Change(WORSE, name, "", *shown)]
    return [Change(BETTER, name, "", *shown)] if after[0] > before[1] + slack else []


def got_worse(made: list[Change]) -> bool:
    """Whether anything is worse, or is not known any more."""
    return any(change.kind in (WORSE, UNKNOWN) for change in made)


def versions_changed(old: States, new: States) -> list[tuple[str, str, str]]:
    """(name, before, after) of versions, digests and seeds that differ."""
    names = {**old.facts, **new.facts}
    pairs = [(name, old.facts.get(name, "none"), new.facts.get(name, "none")) for name in names]
    return [(name, before, after) for name, before, after in pairs if before != after]


def _changes(old: States, new: States, key: tuple[str, str]) -> Iterator[Change]:
    before, after = old.items.get(key), new.items.get(key)
    what, problem = key
    if NOTICED in what:
        if (before is None) != (after is None):
            yield Change(WORSE if before is None else BETTER, what, "", _noticed(before), _noticed(after))
    elif before is None and after is not None:
        kind = WORSE if isinstance(after.known, EvidenceVerdict) else KNOWN if after.decided else BETTER
        yield Change(kind, what, problem, "not examined", str(after))
    elif after is None and before is not None:
        yield Change(UNKNOWN if before.refuted else WORSE, what, problem, str(before), "examined no more")
    elif before is not None and after is not None:
        yield from _between(what, problem, before, after)


def _noticed(state: State | None) -> str:
    return "nothing" if state is None else "; ".join(state.limits)


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
    if before.refuted and after.refuted and before.deviation is not None and after.deviation is not None:
        name = "lost tokens a call" if after.unit == TOKENS else "off by TV"
        yield from _numbers(what, problem, name, before.deviation, after.deviation)
    for method, limit in before.limits.items():
        if method in after.limits:
            yield from _numbers(what, problem, f"{method}: limit", limit, after.limits[method])
        elif before.known == after.known and not before.refuted:
            yield Change(WORSE, what, problem, f"{method}: stated", f"{method}: not any more")


def _numbers(what: str, problem: str, name: str, before: float | None, after: float | None) -> Iterator[Change]:
    before, after = (n if n is not None and isfinite(n) else None for n in (before, after))
    if before is None and after is None:
        return
    if before is None or after is None:
        shown = [f"no {name}" if n is None else f"{name} {n:.3g}" for n in (before, after)]
        yield Change(WORSE if after is None else BETTER, what, problem, *shown)
    elif abs(after - before) > SLACK * max(abs(before), abs(after)):
        yield Change(WORSE if after > before else BETTER, what, problem, f"{name} {before:.3g}", f"{name} {after:.3g}")
