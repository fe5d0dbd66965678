"""What differs between two repetitions of the same calls, and the calls that show it."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ....models.law import Prefix, prefix_key
from ....models.problem import AnyProblem, Problem, as_json
from ....proofs.interception import reads
from ....proofs.interception.outcomes import Walk


class Difference(NamedTuple):
    """A difference that was seen.

    kind: of the finding, none where it is empty. calls: show it. problems: of the command that shows it again.
    """

    reason: str
    kind: str = "state"
    calls: Sequence[dict[str, Any]] = ()
    problems: Sequence[AnyProblem] | None = None


def shown_by(when: str, calls: list[dict[str, Any]], problems: list[Problem]) -> Difference:
    """Return the difference that the last two of these calls show."""
    one, other = calls[-2:]
    what = "emitted" if one["emitted"] != other["emitted"] else "weights"
    reason = (
        f"{when} the same inputs and random numbers give another result: on {one['problem']['name']}, draft block "
        f"{one['draft_block']}, random numbers {one['numbers']}: {what} {one[what]} and {other[what]}"
    )
    return Difference(reason, calls=calls, problems=problems)


def described_call(problem: Problem, block: Prefix, walk: Walk, when: str) -> dict[str, Any]:
    """Return a call as a report shows it: when it was made, on what, with which numbers, and what came out."""
    emitted = prefix_key(walk.outcome) if type(walk.outcome) is tuple else str(walk.outcome)
    return {
        "when": when, "problem": as_json(problem), "draft_block": prefix_key(block), "numbers": walk.numbers,
        "emitted": emitted, "weights": walk.weights,
    }  # fmt: skip


def some_of(texts: Iterable[str]) -> str:
    """Return the first three of some texts, and how many more there are."""
    first, *more = sorted(set(texts))
    return ", ".join([first, *more[:2]]) + (f" and {len(more) - 2} more" if len(more) > 2 else "")


def asked(seen: Sequence[reads.Read]) -> Difference | None:
    """Return what calls have asked of their surroundings as a difference; None if they asked nothing."""
    if not seen:
        return None
    texts = some_of(map(reads.as_text, seen))
    text = f"it reads {texts} during a call, so its distribution may differ on another machine or at another time"
    return Difference(text, "surroundings")
