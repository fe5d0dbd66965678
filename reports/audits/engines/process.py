"""The parent's side of an engine: a child process that may crash, hang or print what it likes."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ....models.errors import RunFailed
from ....proofs.child_process import ChildProcess
from ....proofs.time_limits import TimeLimits

LAST_SECONDS = 5.0
"""For a child that has answered everything to end by itself."""

ENGINE_MEMORY = 32.0
"""GiB of address space. On forged checkpoints transformers maps 1.1, openvino-genai 2.0; a real model has to fit too."""


class Sampled(NamedTuple):
    """What an engine emitted for one job.

    counts: emitted tokens -> times.
    failure: [its kind, why] if not all samples were taken.
    """

    counts: Counter
    failure: list[str] | None


def sampled(
    request: dict[str, Any], timeout: float, progress: Callable[[int], None], memory: float = ENGINE_MEMORY
) -> tuple[Sequence[Sampled], dict[str, Any]]:
    """For each of the request's jobs what the engine emitted, and what is known of it: digest, versions of packages.

    What was counted before a failure is returned with it.
    timeout: seconds of wall-clock time for all jobs.
    progress: called with the number of samples so far.
    memory: GiB of address space of the child.
    """
    counts = [Counter() for _ in request["jobs"]]
    ended: dict[int, list[str] | None] = {}
    about: dict[str, Any] = {}
    failure = ["crash", "it ended too early"]
    child = ChildProcess("draftproof.reports.audits.engines.child", memory=memory, limits=TimeLimits(timeout))
    try:
        child.send(**request)
        child.expect("sampling", None)
        while "job" in (answer := child.receive()):
            for text, n in answer["counts"]:
                counts[answer["job"]][tuple(text)] += n
            if "ended" in answer:
                ended[answer["job"]] = answer["ended"]
            progress(sum(sum(texts.values()) for texts in counts))
        about, failure = answer, answer.pop("failure", failure)
        child.end(LAST_SECONDS)
    except RunFailed as error:
        failure = [error.kind, error.message]
    except KeyboardInterrupt:
        failure = ["interrupted", "interrupted; what was counted before is in the report"]
    finally:
        child.end()
    return [Sampled(texts, ended.get(job, failure)) for job, texts in enumerate(counts)], about
