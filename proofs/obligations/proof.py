"""An entry of the list of proofs, and what it came to."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...models.problem import Problem


class ProofResult(NamedTuple):
    """verdict: holds, refuted, no-evidence (a time-out, a missing tool) or error; detail: the witness, or why.

    seconds: where the time of the call is not the proof's own (Coq compiles the theorems of all claims at once).
    """

    verdict: str
    detail: str | None = None
    seconds: float | None = None


class Proof(NamedTuple):
    """claim: a key of ``statements.PROVABLE_CLAIMS``; what: the object of the statement; size: how far it reaches."""

    claim: str
    method: str
    what: str
    size: str
    run: Callable[[], ProofResult]


def size_of(problems: Sequence[Problem]) -> str:
    """The span of some problems, in words."""
    vocabularies, gammas = sorted({p.vocabulary for p in problems}), sorted({p.gamma for p in problems})
    spans = [str(s[0]) if len(s) == 1 else f"{s[0]}..{s[-1]}" for s in (vocabularies, gammas)]
    return f"{len(problems)} problems, V {spans[0]}, gamma {spans[1]}"
