"""Work through the shards of a recording: side by side, on a cluster, and on from where an interrupted run ended."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from .... import __version__
from ....models.errors import InputError, RunFailed, of_kind
from ....models.recorded_steps import Recording
from ....models.step_lines import StepLines
from ....models.store import Store
from ....stattests.campaign.clusters import WorkersLost, check_cluster, parallel
from ....stattests.campaign.run import RateLimited
from ..settings import Progress, silent
from .judge import RecordingJudge
from .lines import with_lists
from .shard import Found, judged

WHAT = "judged recorded steps"
"""Name that the file of a checkpoint gives to what it holds."""


def judge_all(
    judge: RecordingJudge, jobs: int | None = 1, cluster: str | None = None, checkpoint: str | None = None,
    progress: Progress = silent,
) -> RecordingJudge:  # fmt: skip
    """Judge every shard. One that cannot be read is named, and left out.

    jobs: shards at a time; None: the cores. cluster: dask://HOST:PORT in place of this machine; its workers read the
    same folder. checkpoint: file that keeps what is settled, or None.
    Guarantee: the result does not depend on jobs, cluster or interruptions.
    Raises: InputError for the cluster, and for a checkpoint of something else or of shards that changed; RunFailed if
    the workers were lost. What was settled until then is in the checkpoint.
    """
    check_cluster(cluster)
    recording, paths = judge.recording, list(judge.recording.shards)
    settings = {"recording": recording.digest, "rule": judge.rule, "seed": judge.seed, "version": __version__}
    with closing(Store(checkpoint, WHAT, settings)) as store:
        _resume(judge, store, paths)
        save, whole = RateLimited(lambda: store.put((), judge.as_json())), True
        try:
            for found in _found(judge, paths[len(judge.settled) :], jobs, cluster):
                whole = False
                judge.add(found)
                whole = True
                if checkpoint:
                    save()
                progress("shards", len(judge.settled), len(paths))
        finally:
            if whole:  # what is settled in part is not kept: its shard is judged again
                save.now()
    return judge


@of_kind("DP209")
def _resume(judge: RecordingJudge, store: Store, paths: Sequence[Path]) -> None:
    """Take up what is settled, if its shards are those of the recording."""
    if () not in store.rows:
        return
    try:
        judge.resume(store.rows[()])
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(f"{store.path}: has nothing of this recording; it was not changed") from None
    names = [path.name for path in paths]
    for number, (name, digest) in enumerate(judge.settled):
        gone = name not in names
        if gone or names[number] != name or digest_of(paths[number]) != digest:
            how = "is gone" if gone else "changed" if names[number] == name else f"now comes after {names[number]}"
            raise InputError(f"{name}: {how} since it was judged; expected the same shards, or not {store.path}")


def digest_of(path: Path) -> str:
    """Return the first 32 digits of sha256 of a file; none if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:32]
    except OSError:
        return ""


def _found(judge: RecordingJudge, paths: Sequence[Path], jobs: int | None, cluster: str | None) -> Iterator[Found]:
    """Yield what each shard shows, in order."""
    recording = judge.recording
    if cluster is None and (jobs == 1 or len(paths) < 2):
        for path in paths:
            yield found_in(recording, judge.rule, judge.seed, path)
        return
    ahead, following = dict[int, Found](), 0
    tasks = ((_numbered, recording, judge.rule, judge.seed, path, k) for k, path in enumerate(paths))
    with parallel(jobs if cluster is None else None, cluster, recording, len(paths)) as run:
        try:
            for number, found in run(tasks):
                ahead[number] = found
                while following in ahead:
                    yield ahead.pop(following)
                    following += 1
        except WorkersLost as lost:
            raise RunFailed("crash", str(lost)) from None


def _numbered(recording: Recording, rule: str, seed: int, path: Path, number: int) -> tuple[int, Found]:
    return number, found_in(recording, rule, seed, path)


def found_in(recording: Recording, rule: str, seed: int, path: Path) -> Found:
    """Return what a shard shows; of one that cannot be read, why."""
    try:
        found = judged(recording, path, rule, seed)
        found = with_lists(found, recording, seed) if isinstance(recording, StepLines) else found
    except InputError as error:
        found = Found(path.name, errors=[str(error)])
    found.digest = digest_of(path)
    return found
