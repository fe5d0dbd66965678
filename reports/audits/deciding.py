"""The evidence that decides a verdict: what it may leave out, and the least that has to be decided."""

from collections.abc import Collection, Sequence

from ...proofs.processor_time import NOT_REACHED
from ...verifiers.details import WideDetail
from ...verifiers.evidence import NOT_CLAIMED, Evidence


def deciding(evidence: Sequence[Evidence], claims: Collection[str]) -> list[Evidence]:
    """The evidence on these claims by which the verdict is given.

    Wide problems on which nothing is decided for their time, their number of ways or the style of the code are left
    out (``Evidence.out_of_scope``), if everything else holds and a wide problem is among that, in each precision and
    for each claim of theirs; and any problem that was not reached within the time of the audit, if a problem is among
    it. Else nothing is left out.
    """
    every = [e for e in evidence if e.claim in claims and e.verdict != NOT_CLAIMED]
    left_out = [e for e in every if e.out_of_scope]
    rest = [e for e in every if not e.out_of_scope]
    decided = {(e.claim, e.dtype) for e in rest if e.holds}
    wide = {(e.claim, e.dtype) for e in rest if e.holds and isinstance(e.detail, WideDetail)}
    needed = all((e.claim, e.dtype) in (decided if e.why_undecided == NOT_REACHED else wide) for e in left_out)
    return rest if needed and all(e.holds for e in rest) else every
