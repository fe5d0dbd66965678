"""What an audit of a function examines and how long it may take."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...models.problem import AnyProblem
from ...models.wide import WideProblem
from ...proofs.sandbox import MEMORY
from ...verifiers.evidence import Evidence

QUICK_REQUESTS = 60_000
"""Requests with ``quick`` to a subject whose random numbers are inputs. The rest confirms laws, 400 at least."""

Progress = Callable[[str, int, int], None]
"""Function that is called with the stage, the steps that are done, and their number."""


def silent(stage: str, done: int, total: int) -> None:
    """Show no progress."""


def unseen(refutation: Evidence) -> None:
    """Show no first refutation."""


@dataclass(frozen=True)
class AuditSettings:
    """A choice of what an audit examines and how long it may take.

    problems: the audit battery, six drawn from the seed, and the wide problems, if none are given.
    wide: the wide problems in that case; None for the wide battery, and one drawn from the seed.
    quick: whether to leave out wide problems and long blocks.
    levels: "exact" and "statistical": the second if the first has no law, or alone for all problems.
    claims: those that decide the verdict.
    drafting: ways to draw trees, of those that the function is meant for; all of them if none is named.
    uniform_bits: bits of the uniforms that decide, if they have fewer than the rows' precision needs. What that lattice
      moves a law by is then allowed, and the verdict says so.
    seed: for samples, and for the problems that an audit draws for itself.
    processor_time: seconds of processor time for everything except loading the subject; None means no limit. Where a
      problem is not reached the audit is inconclusive.
    timeout: seconds for one problem (see ``proofs.sandbox``).
    memory: GiB of each child process.
    samples: of a problem without an exact law.
    jobs: dtypes at a time and, if fewer are audited, parts of each; None: as many as there are cores.
    stop_at_first: whether the first refutation ends the audit.
    explain: whether to look for the smallest witness and for mutants that behave in the same way.
    progress: called with the stage, the steps done, and their number.
    refuted: called with the first refutation of each dtype, as soon as real calls confirm it. The audit goes on.
    """

    problems: Sequence[AnyProblem] = ()
    wide: Sequence[WideProblem] | None = None
    quick: bool = False
    levels: tuple[str, ...] = ("exact", "statistical")
    claims: tuple[str, ...] = ("lossless",)
    drafting: tuple[str, ...] = ()
    uniform_bits: int | None = None
    seed: int = 0
    processor_time: float | None = None
    timeout: float = 60.0
    memory: float = MEMORY
    samples: int = 20_000
    jobs: int | None = None
    stop_at_first: bool = False
    explain: bool = True
    progress: Progress = silent
    refuted: Callable[[Evidence], None] = unseen
