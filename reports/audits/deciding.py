"""The evidence that decides a verdict: what it may leave out, and the least that has to be decided."""

from collections.abc import Collection, Sequence

from ...verifiers.details import WideDetail
from ...verifiers.evidence import NOT_CLAIMED, Evidence


def deciding(evidence: Sequence[Evidence], claims: Collection[str]) -> list[Evidence]:
    """The evidence on these claims by which the verdict is given.

    Wide problems on which nothing is decided for their time, their number of ways or the style of the code are left
    out (``Evidence.out_of_scope``), if everything else holds and a wide problem is among that, in each precision and
    for each claim of theirs. Else nothing is left out.
    """
    every = [e for e in evidence if e.claim in claims and e.verdict != NOT_CLAIMED]
    left_out = [e for e in every if e.out_of_scope]
    rest = [e for e in every if not e.out_of_scope]
    decided = {(e.claim, e.dtype) for e in rest if e.holds and isinstance(e.detail, WideDetail)}
    enough = all(e.holds for e in rest) and {(e.claim, e.dtype) for e in left_out} <= decided
    return rest if enough else every
