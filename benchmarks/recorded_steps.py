"""Recorded steps a second and core, and the memory that judging them takes, at V = 151,936, gamma 4, 256 entries a row.

The same shards are read alone in the same run: the ratio depends less on the machine than the rate does. Limits: 1,000
steps a second of processor time, 500 MB resident in a process that judges.
"""

import os
import resource
import tempfile
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

from draftproof.models.recorded_steps import Recording, parts  # noqa: E402
from draftproof.recording import Recorder  # noqa: E402
from draftproof.reports.audits.steps.judge import RecordingJudge  # noqa: E402
from draftproof.reports.audits.steps.progress import judge_all  # noqa: E402

V, GAMMA, SHARD, COPIES, DIFFERENT = 151_936, 4, 512, 8, 64
LEAST, MOST_MB = 1_000, 500


def rows(rng, count):
    """Rows of both models, steep as those of language models are."""
    logits = rng.normal(size=(count, V)) * 2.5
    both = []
    for values in (logits, logits + rng.normal(size=(count, V)) * 0.5):
        weights = np.exp(values - values.max(-1, keepdims=True))
        both.append(weights / weights.sum(-1, keepdims=True))
    return both


def record(folder):
    """Record one shard by the recorder, with rows of a small pool, and copy it: the judge does not see that."""
    rng = np.random.default_rng(0)
    target, draft = rows(rng, DIFFERENT)
    sums = np.cumsum(draft, axis=1)
    with Recorder(folder, V, rule="token", shard_steps=SHARD) as recorder:
        for number in range(SHARD):
            which = rng.integers(DIFFERENT, size=GAMMA + 1)
            drafts = [min(int(np.searchsorted(sums[k], rng.random())), V - 1) for k in which[:-1]]
            p, q = target[which], draft[which[:-1]]
            while recorder._queue.qsize() > 8:
                time.sleep(0.001)
            recorder.step(p, drafts, token(p, q, drafts, rng), q, request=number // 50, place=number, slot=number % 4)
    shard = Path(folder) / "steps-000000.safetensors"
    for copy in range(1, COPIES):
        os.link(shard, shard.with_name(f"steps-{copy:06}.safetensors"))


def token(p, q, drafts, rng):
    """Token verification."""
    for i, x in enumerate(drafts):
        if rng.random() >= p[i][x] / q[i][x]:
            rest = np.cumsum(np.maximum(p[i] - q[i], 0))
            return [*drafts[:i], int(np.searchsorted(rest, rng.random() * rest[-1]))]
    return [*drafts, min(int(np.searchsorted(np.cumsum(p[-1]), rng.random())), V - 1)]


def measured(work):
    """Seconds of processor time."""
    before = time.process_time()
    work()
    return time.process_time() - before


def judge_in_child(folder):
    """Seconds of processor time for judging and for reading alone, and the most memory in MB, of a process that judges
    alone."""
    parent, child = os.pipe()
    if not (number := os.fork()):
        recording = Recording.open(folder)
        judged = measured(lambda: judge_all(RecordingJudge(recording)))
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        read = measured(lambda: [part for path in recording.shards
                                 for part in parts(recording.read(path), recording.header) if not part])  # fmt: skip
        os.write(child, f"{judged} {read} {most}".encode())
        os._exit(0)
    os.waitpid(number, 0)
    return map(float, os.read(parent, 200).decode().split())


def main():
    with tempfile.TemporaryDirectory() as folder:
        if not (number := os.fork()):  # the recorder's memory is not the judge's
            record(folder)
            os._exit(0)
        os.waitpid(number, 0)
        judged, read, most = judge_in_child(folder)
        size = sum(path.stat().st_size for path in Path(folder).glob("steps-*")) / SHARD / COPIES
    rate = SHARD * COPIES / judged
    print(f"V={V:,}, gamma={GAMMA}, 256 listed entries a row; {SHARD * COPIES:,} steps of {size / 1e3:.1f} KB")
    print(f"judged {rate:,.0f} steps a second of processor time, {judged / read:.1f} times what reading takes")
    print(f"limit {LEAST:,}: {'held' if rate >= LEAST else 'missed'}; {most:.0f} MB resident, limit {MOST_MB}: "
          f"{'held' if most <= MOST_MB else 'missed'}")  # fmt: skip


if __name__ == "__main__":
    main()
