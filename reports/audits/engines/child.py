"""The child process in which an engine samples: jobs in, counts of what it emitted out."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ....models.digests import versions
from ....proofs.interception.digests import digest_of
from ....proofs.interception.loading import load
from ....proofs.interception.outcomes import readable
from ....proofs.interception.serving import Server
from ....verifiers.adapters.calling_convention import NotASubject
from ....verifiers.adapters.copies import COPIES

ENDED = -1
"""Stands in a text after its end, up to the length that was asked for."""

SECONDS_BETWEEN_ANSWERS = 1.0
"""Seconds of wall-clock time between two answers with counts."""


def main() -> None:
    """Run the jobs of one request, the last answer being what is known of the engine."""
    server = Server()
    request = next(server.requests())
    try:
        sample = load(request["sample"])
        server.imported()
    except NotASubject as error:
        server.answer(failure=["load", str(error)])
        return
    for number, job in enumerate(request["jobs"]):
        _run(sample, job, request["settings"], number, server)
    packages = {name.replace("_", "-"): v for name, v in versions(*request["packages"]).items()}
    server.answer(digest=digest_of(sample), versions=packages)


def _run(sample: Callable, job: dict[str, Any], settings: dict[str, Any], number: int, server: Server) -> None:
    """Answer with counts now and then, the last time with how the job ended: null, or [kind of failure, why]."""
    counts: Counter = Counter()

    def send_counts(**fields: Any) -> None:
        server.answer(job=number, counts=[[list(text), n] for text, n in counts.items()], **fields)
        counts.clear()

    length, taken, since, failure = job["tokens"], 0, time.monotonic(), None
    folders = (Path(job["target"]), job["draft"] and Path(job["draft"]))
    try:
        for text in sample(*folders, job["start"], length, job["gamma"], job["seeds"], **settings):
            COPIES.settle()
            counts[(*map(int, text[:length]), *[ENDED] * (length - len(text)))] += 1
            taken += 1
            if time.monotonic() - since > SECONDS_BETWEEN_ANSWERS:
                send_counts()
                since = time.monotonic()
        if taken != len(job["seeds"]):
            failure = "crash", f"it gave {taken} outputs for {len(job['seeds'])} seeds"
    except MemoryError:
        failure = "memory", "it needs more memory than its limit (--memory)"
    except Exception as error:
        failure = "crash", f"{type(error).__name__}: {readable(error) or 'no message'}"
    send_counts(ended=failure)
