"""A sampling campaign: chunks of samples, drawn in parallel, counted, and saved in a checkpoint.

Chunk k of a campaign draws from SeedSequence(seed, spawn_key=(k,)) and from nothing else, so the counts are the same
to the last one for any number of workers, on any cluster, and after any number of interruptions.
"""

import contextlib
import time
from collections.abc import Callable, Generator
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...models.errors import InputError, RunFailed
from ...models.store import Store
from .clusters import WorkersLost, parallel
from .tally import Outcomes, Tally, tally_from


class FinishedChunks(NamedTuple):
    """A record of which chunks are done: all below a number, and a few that ran ahead."""

    below: int = 0
    ahead: frozenset[int] = frozenset()

    def with_chunk(self, chunk: int) -> "FinishedChunks":
        below, ahead = self.below, self.ahead | {chunk}
        while below in ahead:
            ahead -= {below}
            below += 1
        return FinishedChunks(below, ahead)


WHAT = "a sampling campaign"
"""Name that the file of a checkpoint gives to what it holds."""


def kept(store: Store, outcomes: Outcomes) -> tuple[FinishedChunks, Tally]:
    """Return the chunks done and their counts; nothing done if the file is new. Raises: InputError for other counts."""
    if () not in store.rows:
        return FinishedChunks(), Tally(outcomes)
    state = store.rows[()]
    try:
        return FinishedChunks(state["below"], frozenset(state["ahead"])), tally_from(state["tally"], outcomes)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{store.path}: has no counts of this campaign; it was not changed", "DP209") from None


def keep(store: Store, done: FinishedChunks, tally: Tally) -> None:
    """Replace what is kept; whatever happens meanwhile, the old or the new is there. Raises: InputError."""
    store.put((), {"below": done.below, "ahead": sorted(done.ahead), "tally": tally.as_json()})


OVERHEAD_SHARE = 0.05
"""The part of the time that may go into writing checkpoints and computing bounds."""


class SampleSource(Protocol):
    """A source that a campaign samples. It is sent to the workers, so it can be pickled.

    identity: texts that distinguish it from other sources (checkpoints of other sources are refused)
    outcomes: what it may emit
    chunk: samples a chunk, by default; a chunk should take about a second
    """

    identity: dict[str, str]
    outcomes: Outcomes
    chunk: int

    def sample(self, seed: np.random.SeedSequence, n: int) -> Tally:
        """Draw n samples. The same seed gives the same counts. Raises: RunFailed if it cannot go on."""
        ...


class CampaignPlan(NamedTuple):
    """A plan of a campaign. samples: in all; chunk: samples at a time; seed: of the whole campaign."""

    samples: int
    chunk: int
    seed: int

    @property
    def chunks(self) -> int:
        return -(-self.samples // self.chunk)

    def size(self, chunk: int) -> int:
        return min(self.chunk, self.samples - chunk * self.chunk)


def plan(source: SampleSource, samples: int, seed: int = 0, chunk: int | None = None) -> CampaignPlan:
    """Return the chunks of a campaign. Raises: InputError if there is nothing to draw."""
    if samples < 1:
        raise InputError(f"no samples to draw (n = {samples}); expected at least 1")
    if seed < 0 or (chunk is not None and chunk < 1):
        raise InputError(f"seed {seed}, chunk {chunk}: expected a seed of at least 0 and a chunk of at least 1")
    return CampaignPlan(samples, min(chunk or source.chunk, samples), seed)


class CampaignCounts(NamedTuple):
    """A campaign's counts. tally: the counts so far; resumed: samples of them from the checkpoint; seconds: for the
    others.
    """

    tally: Tally
    resumed: int = 0
    seconds: float = 0.0


def run_campaign(
    source: SampleSource,
    planned: CampaignPlan,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    checkpoint: str | None = None,
    bound: Callable[[Tally], float] | None = None,
    progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> CampaignCounts:
    """Draw and count the samples of a plan that the checkpoint does not have yet.

    workers: processes on this machine, all processors that this process may use if not given
    cluster: dask://HOST:PORT instead
    checkpoint: file, or None
    bound: tally -> the total variation that the counts leave open, part of the stage reported
    progress: called with stage, samples done, samples in all
    Guarantee: the counts depend on the source, the plan, and nothing else; memory depends on neither the samples nor
    the chunks; what is killed at any moment goes on from the last checkpoint, written after every chunk unless
    writing takes more than a twentieth of the time.
    Raises: InputError (checkpoint, cluster), RunFailed; the chunks done until then are in the checkpoint.
    """
    store = Store(checkpoint, WHAT, {**source.identity, **planned._asdict()})
    done, tally = kept(store, source.outcomes)
    resumed = tally.n
    if resumed != sum(map(planned.size, done.ahead)) + min(done.below * planned.chunk, planned.samples):
        raise InputError(
            f"{checkpoint}: the checkpoint holds other counts than its chunks; it was not changed", "DP209"
        )
    state = done, tally
    save, bounded = RateLimited(lambda: keep(store, *state)), RateLimited(lambda: bound(state[1]) if bound else None)
    start = time.monotonic()
    progress("sampling", resumed, planned.samples)
    try:
        with contextlib.closing(_chunks(source, planned, done, workers, cluster)) as results:
            for chunk, counts in results:
                # One assignment: whatever interrupts it, counts and chunks go together.
                state = (state[0].with_chunk(chunk), state[1] + counts)
                save()
                bounded()
                stage = "sampling" if bounded.value is None else f"sampling, TV <= {bounded.value:.2g}"
                progress(stage, state[1].n, planned.samples)
    except BaseException:  # an interruption may come between a chunk and what is said of it
        progress("sampling", state[1].n, planned.samples)
        raise
    finally:
        save.now()
        store.close()
    return CampaignCounts(state[1], resumed, time.monotonic() - start)


def _chunks(
    source: SampleSource, planned: CampaignPlan, done: FinishedChunks, workers: int | None, cluster: str | None
) -> Generator[tuple[int, Tally], None, None]:
    """Return the chunks not done yet, as they are finished, in any order."""
    left = (k for k in range(done.below, planned.chunks) if k not in done.ahead)
    first = next(left, None)
    if first is None:
        return
    tasks = ((sample_chunk, source, planned, k) for ks in ((first,), left) for k in ks)
    with parallel(workers, cluster, source, planned.chunks) as run:
        try:
            yield from run(tasks)
        except WorkersLost as lost:
            raise RunFailed("crash", str(lost)) from None


def sample_chunk(source: SampleSource, planned: CampaignPlan, chunk: int) -> tuple[int, Tally]:
    """Sample one chunk, in whatever process.

    Raises: RunFailed if the source does, or emitted another number of samples than it was asked for.
    """
    n = planned.size(chunk)
    tally = source.sample(np.random.SeedSequence(planned.seed, spawn_key=(chunk,)), n)
    if tally.n != n:
        raise RunFailed("crash", f"asked for {n} samples, it gave {tally.n}")
    return chunk, tally


class RateLimited:
    """A piece of work that is done again only if it will not take more than its share of the time."""

    def __init__(self, work: Callable[[], Any]):
        self._work, self._stale, self._due = work, False, 0.0
        self.value: Any = None

    def __call__(self) -> None:
        self._stale = True
        if time.monotonic() >= self._due:
            self.now()

    def now(self) -> None:
        """Run it now, if anything has happened since."""
        if self._stale:
            start = time.monotonic()
            self.value, self._stale = self._work(), False
            end = time.monotonic()
            self._due = end + (end - start) / OVERHEAD_SHARE
