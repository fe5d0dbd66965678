"""The child process in which an engine samples: jobs in, counts of what it emitted out, as lines of JSON."""

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ....models.environment import versions
from ....proofs.interception.digests import digest_of
from ....proofs.interception.harness import NotASubject, load, readable

ENDED = -1
"""Stands where an engine ended its text before the length that was asked for."""

OFTEN = 1.0
"""Seconds between two answers."""


def main() -> None:
    """Serve the request on standard input. What the engine prints goes where its errors go."""
    request = json.load(os.fdopen(os.dup(0), encoding="utf-8"))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)

    def answer(**fields: Any) -> None:
        answers.write(json.dumps(fields) + "\n")

    try:
        sample = load(request["sample"])
    except NotASubject as error:
        answer(failure="load", why=str(error))
        return
    for number, job in enumerate(request["jobs"]):
        _run(sample, job, request["settings"], lambda number=number, **fields: answer(job=number, **fields))
    answer(
        digest=digest_of(sample),
        versions={name.replace("_", "-"): v for name, v in versions(*request["packages"]).items()},
    )


def _run(sample: Callable, job: dict[str, Any], settings: dict[str, Any], answer: Callable) -> None:
    counts: Counter = Counter()

    def tell(**fields: Any) -> None:
        answer(counts=[[list(text), n] for text, n in counts.items()], **fields)
        counts.clear()

    length, taken, since = job["tokens"], 0, time.monotonic()
    folders = (Path(job["target"]), job["draft"] and Path(job["draft"]))
    try:
        for text in sample(*folders, job["start"], length, job["gamma"], job["seeds"], **settings):
            counts[(*map(int, text[:length]), *[ENDED] * (length - len(text)))] += 1
            taken += 1
            if time.monotonic() - since > OFTEN:
                tell()
                since = time.monotonic()
    except Exception as error:
        tell(failure="crash", why=f"{type(error).__name__}: {readable(error) or 'no message'}")
        return
    if taken == len(job["seeds"]):
        tell(done=True)
    else:
        tell(failure="crash", why=f"it gave {taken} texts for {len(job['seeds'])} seeds")
