"""What an audit of a function examines and how long it may take."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...models.problem import AnyProblem
from ...models.wide import WideProblem
from ...proofs.sandbox import MEMORY

QUICK, QUICK_SLOW = 13.0, 27.0
"""Seconds of processor time with ``quick``; of tensors, draft trees, and where random numbers are inputs. With what a
command takes to start, 15 and 30."""

QUICK_REQUESTS = 60_000
"""Requests to a subject whose random numbers are inputs, with ``quick``: what is left of them bounds the confirmations
of a law, of which there are 400 at least."""

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many steps are done, and of how many."""


def silent(stage: str, done: int, total: int) -> None:
    """Progress that is not shown."""


@dataclass(frozen=True)
class AuditSettings:
    """What an audit examines and how long it may take.

    problems: the audit battery, six drawn from the seed, and the wide problems, if none are given.
    wide: the wide problems then; None: the wide battery, and one drawn from the seed.
    quick: without them.
    levels: "exact" and "statistical": the second where the first has no law, or alone for all problems.
    claims: those that decide the verdict.
    drafting: how trees are drawn, of those ways that the function is meant for; all of them if none is named.
    uniform_bits: of the uniforms that decide, where they have fewer than the rows' precision needs: what that lattice
      moves a law by is allowed then, and the verdict says so.
    seed: of the statistical route, and of the problems that an audit draws for itself.
    processor_time: seconds of processor time for all but loading the subject, whatever it does; None: no limit, but
      QUICK with ``quick``. What is not reached is no part of the verdict.
    timeout: limit for one problem, in seconds (see ``proofs.sandbox``).
    memory: of the child process, in GiB.
    samples: of a problem on the statistical route.
    stop_at_first: whether the first refutation ends the audit.
    explain: whether to look for the smallest witness and for mutants that behave in the same way.
    progress: called with the stage, the steps done, and their number.
    announce: called, of a subject whose random numbers are inputs, with how many requests it will be asked and how long
      that takes, before it is.
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
    stop_at_first: bool = False
    explain: bool = True
    progress: Progress = silent
    announce: Callable[[str], None] = lambda text: None
