"""A gate for training by rollouts: whether what an engine emits under speculation follows the policy."""

from collections.abc import Iterator
from math import ceil, isnan
from numbers import Real
from pathlib import Path
from typing import NamedTuple

from ....models.errors import InputError
from ....verifiers.details import Detail
from ....verifiers.evidence import HOLDS, REFUTED, Evidence, Method, Witness
from ..report import FINDINGS, Report
from ..settings import Progress, silent
from .importance import SETS
from .judge import UNKNOWN_RULE
from .run import audit_steps, opened
from .shard import NOTHING_EMITTED
from .trainer import DEVIATIONS, ENOUGH, Rollouts, TrainerSeen, check_type, compared

TRAINER = "the trainer's logprobs"
"""Name of what the evidence on a trainer's logprobs is about."""

FAULTS = 0.5
"""Share of the known faults that a recording has to be long enough to show."""


class Gate(NamedTuple):
    """An answer on rollouts.

    report: of the recorded steps. missing: what the answer needs and could not be examined, a sentence each.
    """

    report: Report
    missing: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Return whether everything was examined and nothing is refuted."""
        return not self.missing and self.report.verdict != "refuted"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return why it did not pass, a sentence each."""
        refuted = [e for e in self.report.evidence if e.refuted]
        scored = [e.witness for e in refuted if e.problem == TRAINER and e.witness]
        steps = [self.report.reading] if len(scored) < len(refuted) else []
        off = [f"{TRAINER}: {w.sequence}, {w.observed}, expected {w.expected}" + (f"; {w.why}" if w.why else "")
               for w in scored]  # fmt: skip
        return (*steps, *off, *self.missing)


def gate(
    folder: str | Path, rollouts: Rollouts, *, dtype: str | None = None, rule: str | None = None,
    faults: float = FAULTS, seed: int = 0, jobs: int | None = 1, progress: Progress = silent,
    cluster: str | None = None, checkpoint: str | None = None,
) -> Gate:  # fmt: skip
    """Return whether recorded rollouts follow the policy that a trainer's logprobs are of.

    Emitted tokens have to follow the rows that the engine verified with, by the rule that its speculative configuration
    stands for, which its recorder wrote down; and the trainer's logprobs have to be those of these rows.
    folder: recorded steps. rollouts: request -> the token ids of its text, prompt included, and the trainer's logprob
      of each. A request is the number that was recorded, or the engine's name of it.
    dtype: the coarsest type in which the engine or the trainer computes the model; the recording's if not given.
    faults: share of the known faults that the recording has to be long enough to show.
    rule, seed, jobs, progress, cluster, checkpoint: as of ``audit_steps``.
    Guarantee: that of ``audit_steps``; and right logprobs are refuted with probability at most ALPHA, if rounding moves
    none, the mean square of no request, and no mass by more than it may in the type.
    Raises: InputError as ``audit_steps`` and ``compared``.
    """
    if not (isinstance(faults, Real) and 0 <= faults <= 1):
        raise InputError(f"faults {faults!r}, expected a share from 0 to 1")
    if dtype is not None:
        check_type(dtype)
    report = audit_steps(folder, rule, seed, jobs, progress, cluster, checkpoint)
    recording = opened(folder, rule)
    seen = compared(recording, rollouts, dtype or recording.header.dtype, rule)
    if seen.count or seen.other or seen.above:
        report.add([_evidence(seen, dtype or recording.header.dtype)])
    missing = tuple(_missing(report, seen, faults))
    if report.steps:
        apart = [*missing, *_only_on_one_side(seen), *_within_rounding(seen), *report.steps["not_examined"]]
        report.steps["not_examined"] = [*dict.fromkeys(apart)]
    return Gate(report, missing)


def _evidence(seen: TrainerSeen, dtype: str) -> Evidence:
    """Return the evidence on the trainer's logprobs."""
    weights, witness, worst = seen.weights, None, 1e300 if isnan(seen.worst) else min(abs(seen.worst), 1e300)
    if seen.other:
        witness = Witness(
            sequence=f"{seen.other:,} of {seen.count + seen.other:,} tokens; {seen.other_at}",
            expected="the tokens that were emitted", observed="not what the engine emitted",
        )  # fmt: skip
    elif seen.refuted:
        uncut = seen.uncut == seen.count
        witness = Witness(
            sequence=f"{seen.off:,} of {seen.count:,} tokens; {seen.worst_at}",
            expected=f"within {seen.allowed:g} of the engine's rows, root mean square {seen.allowed / DEVIATIONS:g}",
            observed=f"off by {seen.worst:+.3g} there, root mean square {seen.deviation:.3g}, "
            f"{seen.total / seen.count:+.3g} on average",
            why="they are those of the logits before temperature and cuts" if uncut else None,
        )  # fmt: skip
    elif seen.above:
        witness = Witness(
            sequence=f"{seen.above:,} tokens; {seen.above_at}", expected="a logprob of 0 at most",
            observed="above 0 by more than rounding",
        )  # fmt: skip
    elif (odd := weights.odd_request) is not None:
        witness = Witness(
            sequence=f"the {odd.tokens:,} tokens of request {odd.name!r}",
            expected=f"{weights.deviation:g} at most, as by rounding",
            observed=f"root mean square {odd.deviation:.3g} from the engine's rows",
            why="this request may be of older weights",
        )  # fmt: skip
    elif moved := weights.moved:
        everything = moved.tokens == SETS[0]
        witness = Witness(
            sequence=f"{weights.count:,} sampled tokens, by their importance weights",
            expected=f"within {weights.excused:.2g}",
            observed=f"the trainer's probability of {moved.tokens} is off by {moved.by:+.3g} on average",
            why="all logprobs are too high" if everything and moved.by > 0 else
            "the engine leaves out tokens that the trainer counts, or all logprobs are too low" if everything
            else "another temperature, or other weights",
        )  # fmt: skip
    return Evidence(
        claim="logprobs", method=Method.REPORTED, verdict=REFUTED if witness else HOLDS, problem=TRAINER,
        witness=witness, detail=Detail(dtype=dtype), total_variation=worst, bound=seen.allowed,
    )  # fmt: skip


def _only_on_one_side(seen: TrainerSeen) -> Iterator[str]:
    """Yield which tokens the trainer or the recording does not have."""
    if seen.unscored:
        yield f"{seen.unscored:,} emitted tokens that the trainer has no logprob of"
    if seen.unrecorded:
        yield f"{seen.unrecorded:,} tokens with a logprob of the trainer that no recorded step emitted"
    if seen.requests:
        yield f"{seen.requests:,} requests of the trainer, {seen.of_requests:,} tokens, that have no recorded step"


def _within_rounding(seen: TrainerSeen) -> Iterator[str]:
    """Yield which differences between trainer and engine are taken for rounding."""
    weights = seen.weights
    if seen.count:
        yield f"weights or temperatures that move logprobs by less than {weights.deviation:g}, root mean square"
    if weights.count:
        yield f"cuts and temperatures that move less than {weights.excused:.2g} of the mass"
    elif seen.count:
        yield "whether trainer and engine cut the same tokens: no token is sampled from a whole row, one by one"


def _missing(report: Report, seen: TrainerSeen, faults: float) -> Iterator[str]:
    """Yield what the answer needs and could not be examined."""
    steps, examined = report.steps or {}, {e.claim for e in report.evidence if e.problem != TRAINER}
    limits, judged = steps["limits"], steps["judged"]["steps"]
    shown = sum(n is not None and n <= judged for n in limits.values())
    if steps["rule"] == UNKNOWN_RULE:
        yield "whether the engine follows a lossless rule: its configuration stands for none that is known"
    elif "follows-rule" not in examined:
        yield "whether the engine follows its rule: no step could be judged by it"
    elif report.verdict != "refuted" and shown < max(faults * len(limits), faults):
        yield (f"small faults: {shown} of {len(limits)} known ones would have shown in {judged:,} steps, "
               f"expected {ceil(faults * len(limits))}")  # fmt: skip
    for why, number in steps["left_out"].items():
        if why != NOTHING_EMITTED:
            yield f"{number:,} steps: {why}"
    if "lossless" not in examined:
        yield "whether emitted tokens follow the target's rows: no sampled step could be judged"
    if seen.count + seen.other < ENOUGH:
        yield f"{TRAINER}: {seen.count:,} of the recorded tokens have one, expected {ENOUGH} or more"
    for kind in ("unreadable", "recording-failed", "rule-not-judged", "uniform-reused"):
        if kind in report.findings:
            yield f"{FINDINGS[kind]}: {report.findings[kind]}"
