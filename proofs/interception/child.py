"""The child process in which a third-party function is traced or sampled: what it does for each request."""

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from ...models.digests import versions
from ...models.errors import RunFailed
from ...models.problem import AnyProblem, any_problem_from
from ...verifiers.adapters.convention_names import split
from ...verifiers.adapters.conventions import adapted, completed
from ...verifiers.adapters.copies import COPIES
from ..driven import answers as driven_answers
from ..driven.batches import influences
from ..driven.programs import DrivenProgram
from ..driven.subjects import DrivenObject, DrivenSubject, is_driven
from . import answers, explore, harness, loading, reads
from .answers import again, kept, surroundings
from .by_value import received
from .digests import digest_of
from .outcomes import encoded
from .serving import Server
from .surroundings import ELSEWHERE, let_time_pass, move

SAMPLES_PER_ANSWER = 2000

FEWEST_THREADS = 5
"""Further threads from which on they are reported: libraries keep a few."""

FILES = {1: "its standard output", 2: "its standard error"}


class ProcessBefore:
    """The state of the process when this was made, to find what calls change in it."""

    def __init__(self) -> None:
        self._depth, self._threads = sys.getrecursionlimit(), threading.active_count()
        self._output = {name: getattr(sys, name, None) for name in ("stdout", "stderr")}
        self._modules = [*sys.modules]
        self.moved()

    def moved(self) -> None:
        """Take the outputs as they are now for those before."""
        self._files = {file: _identity(file) for file in FILES}

    def changes(self) -> list[str]:
        """Return what has changed by now, in words."""
        changed = []
        if (depth := sys.getrecursionlimit()) != self._depth:
            changed.append(f"the recursion limit is {depth}, it was {self._depth}")
        changed += [f"sys.{n} was replaced" for n, o in self._output.items() if getattr(sys, n, None) is not o]
        changed += [f"{FILES[f]} was closed, or is another file" for f, i in self._files.items() if _identity(f) != i]
        changed += [
            f"the module {name} is removed from sys.modules" for name in self._modules if name not in sys.modules
        ]
        if (more := threading.active_count() - self._threads) >= FEWEST_THREADS:
            changed.append(f"{more:,} more threads run")
        return changed


def _identity(file: int) -> tuple[int, int] | None:
    """Return which file a descriptor stands for; None for a closed one."""
    try:
        about = os.fstat(file)
    except OSError:
        return None
    return about.st_dev, about.st_ino


def _load(server: Server, request: dict[str, Any]) -> harness.Subject | DrivenSubject:
    if request["program"]:
        return _load_program(server, request)
    if request["array"] == "torch" or request["torch"]:
        import torch  # noqa: F401  # before the third-party module, so that its "from torch import ..." is followed

        reads.install()
    name = request["subject"]
    server.begin(f"importing {name}", server.limits.timeout)
    new = loading.search(request["folders"])
    handed_over = request["handed_over"]
    at_import: reads.Reads = {}
    name, conventions = split(name)
    with reads.noting(at_import):
        function = received(handed_over["content"]) if handed_over else loading.load(name)
    given = name, request["array"], request["dtype"], server.limits
    driven = is_driven(function)
    asked, conventions = conventions, conventions if driven else completed(function, conventions)
    published, function = function, adapted(function, conventions) if conventions else function
    offers_on = [] if asked or driven else request["problems"]
    try:
        subject = DrivenObject(function, *given) if driven else harness.Subject(function, *given)
    except harness.NotASubject as refused:
        raise _offering(refused, published, conventions, given, offers_on) from None
    if conventions:
        subject.findings["convention"] = f"is called by the convention {' and '.join(conventions)}, not the plain one"
    reads.install()  # torch may have come
    settings = {r.key: r.place for r in at_import.values() if r.of == reads.ENVIRONMENT and r.key and not r.installed}
    if settings:
        lines = ", ".join(f"{variable} ({place})" for variable, place in sorted(settings.items())[:5])
        text = (
            f"when it is imported it reads of the environment {lines}: the verdict speaks of what they are set to here"
        )
        subject.findings["settings"] = text
    digest = handed_over["digest"] if handed_over else digest_of(function)  # before a call changes what it remembers
    origin = {"folders": loading.used(new, name, handed_over["modules"] if handed_over else ())}
    server.begin(f"the first calls of {name}", server.limits.timeout)
    try:
        convention = subject.probe(request["problems"]) | dict(getattr(function, "origin", {}))
    except harness.NotASubject as refused:
        raise _offering(refused, published, conventions, given, offers_on) from None
    if sys.argv[-1] == ELSEWHERE and isinstance(subject, harness.Subject):
        subject.mind_layout(request["problems"])
        let_time_pass()
        subject.exploration.replays = len(explore.ENDS)  # those are compared with the walks of the audit's process
    packages = versions(*(name for name in ("torch", "transformers", "numpy") if name in sys.modules))
    convention |= {"called_by": conventions} if conventions else {}
    _describe(subject, digest, convention, origin, packages)
    return subject


def _offering(
    refused: harness.NotASubject, function: Any, tried: list[str], given: Any, problems: list[Any]
) -> harness.NotASubject:
    """Return the refusal with the convention by which the function returns tokens, if one is found."""
    offered = harness.offered(function, tried, given, problems) if problems and callable(function) else ""
    return harness.NotASubject(f"{refused}{offered}", "convention" if offered else refused.kind)


def _load_program(server: Server, request: dict[str, Any]) -> DrivenSubject:
    server.begin("the program's first line and first answers", server.limits.timeout)
    subject = DrivenProgram(request["subject"], server.limits, server.memory)
    convention = subject.probe(request["problems"])
    _describe(subject, subject.digest, convention, {"folders": []}, {})
    return subject


def _describe(
    subject: harness.Subject | DrivenSubject, digest: str, convention: dict[str, Any], origin: dict[str, Any],
    packages: dict[str, Any],
) -> None:  # fmt: skip
    """Say what was loaded, for the answer to "load"."""
    subject.description = {
        "digest": digest, "convention": convention, "origin": origin, "findings": subject.findings,
        "versions": packages,
    }  # fmt: skip


def _answers(subject: harness.Subject | DrivenSubject) -> Any:
    """Return the module that answers about such a subject."""
    return driven_answers if subject.driven else answers


def _law(subject: harness.Subject | DrivenSubject, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    (problem,) = request["problems"]
    yield from _answers(subject).answers(subject, problem, request)


def _sample(subject: harness.Subject | DrivenSubject, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    (problem,), count = request["problems"], request["count"]
    for part, start in enumerate(range(0, count, SAMPLES_PER_ANSWER)):
        now = min(SAMPLES_PER_ANSWER, count - start)
        counts = _answers(subject).samples(subject, problem, now, [request["seed"], part])
        yield {"counts": [[encoded(outcome), n] for outcome, n in counts.items()]}
    yield {"findings": subject.findings}


def _repeated(subject: DrivenSubject, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    outcomes = driven_answers.repeated(subject, request["problems"], request["count"], request["backwards"])
    yield {"outcomes": [[*map(encoded, each)] for each in outcomes], "calls": subject.calls}


def _batches(subject: DrivenSubject, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    assert isinstance(subject, DrivenObject)
    yield influences(subject, request["problems"], request["seed"])


WORK = {
    "batches": (_batches, "calling it with batches"),
    "law": (_law, "measuring its distribution"),
    "repeated": (_repeated, "calling it again"),
    "again": (again, "calling it again"),
    "kept": (kept, "inspecting what it keeps"),
    "surroundings": (surroundings, "inspecting what it read"),
}
"""What is done for a request other than sampling, and its name in messages."""


def _noticed(before: ProcessBefore) -> dict[str, str]:
    """Return what calls have done other than answer, as findings."""
    noticed = {}
    if changes := before.changes():
        noticed["process"] = f"after its calls, {'; '.join(changes[:5])}"
    if COPIES.ended:
        noticed["forks"] = f"{COPIES.ended:,} copies of its process returned from its calls, and were ended"
    return noticed


def main(
    sample: Callable[[Any, dict[str, Any]], Iterator[dict[str, Any]]] = _sample,
) -> None:
    """Serve requests until the parent closes the pipe.

    sample: the answers to a "sample" request.
    """
    server = Server()
    if sys.argv[-1] == ELSEWHERE:
        move()
    reads.install()
    explore.install()
    harness.interrupt_long_calls()
    before = ProcessBefore()
    subject: Any = None
    problems: dict[str, AnyProblem] = {}
    for request in server.requests():
        if request["do"] == "copied":
            before.moved()
            continue
        try:
            problems |= {digest: any_problem_from(data) for digest, data in request.pop("new_problems").items()}
            request["problems"] = [problems[digest] for digest in request["problems"]]
            if request["do"] == "load":
                before, COPIES.ended = ProcessBefore(), 0
                first, subject = subject is None, _load(server, request)
                if first:
                    server.imported()
                server.answer(done=True, **subject.description)
                continue
            work, doing = WORK.get(request["do"], (sample, "sampling it"))
            server.begin(doing, min(server.limits.timeout, request.get("most", math.inf)))
            subject.until(time.process_time() + request.get("seconds", math.inf))
            for answer in work(subject, request):
                server.hold(**answer)
            server.answer(done=True, calls=subject.calls, noticed=_noticed(before))
        except harness.NotASubject as error:
            server.answer(error=str(error), kind=error.kind)
        except harness.NeverReturned as late:
            server.answer(error=f"a call did not return {late}", kind="timeout")
        except RunFailed as failure:
            server.answer(error=str(failure), kind=failure.kind, noticed=_noticed(before))
        except MemoryError:
            server.answer(error=f"it needs more than {server.memory:g} GiB of memory", kind="memory")
