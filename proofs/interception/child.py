"""The child process in which a foreign function runs: requests in, JSON lines out, limits on time and memory."""

import itertools
import json
import os
import resource
import sys

from .outcomes import encoded


def main(load=None, sample=None) -> None:
    """Serve requests until the parent closes the pipe. The foreign code gets no way to write into the answers.

    load, sample: what "load" and "sample" do, where it is not the audit's.
    """
    load, sample = load or _load, sample or _sample
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)  # what the foreign code prints goes where its errors go
    settings = json.loads(requests.readline())
    _limit(settings["memory"])

    from . import explore, harness

    explore.install()
    harness.interrupt_long_calls()
    harness.LONGEST_CALL = settings["longest_call"]

    mine, count = os.getpid(), itertools.count()

    def answer(**fields):
        if os.getpid() != mine:
            os._exit(0)  # a fork of the foreign code that came back here
        answers.write(json.dumps({"number": next(count), **fields}) + "\n")

    subject = None
    for line in requests:
        request = json.loads(line)
        try:
            if request["do"] == "load":
                subject = load(harness, request)
                answer(ok=True, **subject.description)
            elif request["do"] == "law":
                _law(harness, subject, request, answer)
            elif request["do"] == "sample":
                sample(harness, subject, request, answer)
        except harness.NotASubject as error:
            answer(error=str(error))
        except harness.NeverReturned:
            answer(error=f"a call did not return within {harness.LONGEST_CALL:g} s", kind="timeout")
        except MemoryError:
            answer(error=f"it needs more than {settings['memory']:g} GiB of memory", kind="memory")


def _limit(memory: float) -> None:
    gib = int(memory * 2**30)
    for what, most in ((resource.RLIMIT_AS, gib), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 2**26)):
        _, hard = resource.getrlimit(what)
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _problem(data):
    from ...models.problem import problem_from

    return problem_from(data)


def _load(harness, request):
    if request["array"] == "torch" or request["torch"]:
        import torch  # noqa: F401  # before the foreign module, so that its "from torch import ..." is followed
    from .digests import digest_of

    subject = harness.Subject(request["subject"], request["array"], request["dtype"])
    digest = digest_of(subject.function)  # before a call changes what it keeps
    how = subject.probe([_problem(p) for p in request["probe"]])
    subject.description = {
        "digest": digest,
        "convention": how,
        "findings": subject.findings,
        "versions": _versions(),
    }
    return subject


def _versions() -> dict[str, str]:
    from ...models.environment import versions

    return versions(*(name for name in ("torch", "transformers", "numpy") if name in sys.modules))


def _law(harness, subject, request, answer) -> None:
    from ...models.law import prefix_key

    problem = _problem(request["problem"])
    target, draft = harness.RowsInUse(problem, subject).in_use()
    answer(
        target={prefix_key(x): list(map(str, row)) for x, row in target.items()},
        draft={prefix_key(x): list(map(str, row)) for x, row in draft.items()},
    )
    for block, explored in harness.laws(subject, problem):
        if explored is None:
            answer(block=list(block), never_returned=harness.LONGEST_CALL)
            break
        answer(
            block=list(block),
            law=explored.law and [[encoded(o), str(p)] for o, p in explored.law.items()],
            exactness=explored.exactness,
            resolution=explored.resolution,
            coarsest=explored.coarsest,
            paths=explored.paths,
            reason=explored.reason,
            findings=explored.findings,
        )
        if explored.law is None:
            break
    answer(done=True, findings=subject.findings)


def _sample(harness, subject, request, answer) -> None:
    problem = _problem(request["problem"])
    left, chunk, part = request["count"], 2000, 0
    while left > 0:
        now = min(left, chunk)
        counts = harness.samples(subject, problem, now, [request["seed"], part])
        answer(counts=[[encoded(outcome), n] for outcome, n in counts.items()])
        left, part = left - now, part + 1
    answer(done=True, findings=subject.findings)
