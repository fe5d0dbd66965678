"""The exact law of one call of a foreign function: every way its random numbers can fall."""

import sys
from collections.abc import Callable, Hashable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from . import hook_numpy, hook_random, numbers
from .tracer import ACTIVE, STATE, NotInterceptable, Tracer


def install() -> None:
    """Put the hooks in place. To be called before the foreign code is imported, in a process made for it."""
    hook_random.install()
    hook_numpy.install()
    numbers.follow_math()


def install_torch() -> None:
    from . import hook_torch

    hook_torch.install()


UNTOUCHED_BY_CHANCE = 8
"""How often a path without any random number is repeated: it may draw from a source that is not followed."""


class Raised(NamedTuple):
    """The outcome of a path on which the foreign function raised."""

    error: str
    message: str


@dataclass
class Explored:
    """law: outcome -> probability (or None with the reason why it is not known); what was noticed on the way."""

    law: dict[Hashable, Any] | None
    exactness: str
    resolution: float = 0.0
    paths: int = 0
    reason: str | None = None
    findings: dict[str, str] = field(default_factory=dict)


def _fingerprint():
    torch = sys.modules.get("torch")
    prints = [hook_numpy.untraced_state()]
    if torch is not None and hasattr(torch, "default_generator"):
        prints.append(hash(bytes(torch.default_generator.get_state().numpy())))
    return prints


@contextmanager
def _following(tracer: Tracer):
    with ExitStack() as stack:
        torch = sys.modules.get("torch")
        if torch is not None and hasattr(torch, "Tensor"):
            from .hook_torch import Following

            stack.enter_context(Following(tracer))
        ACTIVE.append(tracer)
        try:
            yield
        finally:
            ACTIVE.pop()


def explore(call: Callable[[Tracer], Hashable]) -> Explored:
    """The law of ``call``'s outcome over all ways its random numbers can fall.

    call: runs the foreign function once on fresh inputs and returns what came out, hashable. It is called twice
    for each path, the second time with plain numbers.
    Guarantee: exact in the sense that ``exactness`` names, if ``law`` is not None.
    """
    tracer = Tracer()
    law: dict[Hashable, Any] = {}
    try:
        while tracer.begin():
            outcome = _once(tracer, call)
            if len(tracer.path) < len(tracer.script):
                tracer.notice("state", STATE)
                tracer.give_up("it does not repeat itself when its random numbers are repeated")
            law[outcome] = law.get(outcome, 0) + tracer.probability
            for _ in range(1 if tracer.path else UNTOUCHED_BY_CHANCE):
                _rehearse(tracer, call, outcome)
    except NotInterceptable as stopped:
        return Explored(None, "not interceptable", 0.0, tracer.paths, stopped.reason, tracer.findings)
    return Explored(law, tracer.exactness, tracer.resolution, tracer.paths, None, tracer.findings)


def _rehearse(tracer: Tracer, call: Callable[[Tracer], Hashable], outcome: Hashable) -> None:
    """Walk the path once more with plain numbers that lie on it: it must end the same.

    This is what makes the law one of the unmodified function: where the stand-ins were treated otherwise than the
    numbers they stand for, or the function remembers earlier calls, the law is withdrawn.
    """
    script, path, probability = tracer.script, tracer.path, tracer.probability
    tracer.rehearse()
    with_plain_numbers = _once(tracer, call)
    if _kind(with_plain_numbers) != _kind(outcome):
        for _ in range(3):
            tracer.rehearse_again()
            if _kind(_once(tracer, call)) == _kind(with_plain_numbers):
                continue
            tracer.notice("state", STATE)
            tracer.give_up("it does not repeat itself when its random numbers are repeated")
        tracer.give_up(
            f"with plain random numbers in place of followed ones it returns {_told(with_plain_numbers)} "
            f"and not {_told(outcome)}"
        )
    tracer.script, tracer.path, tracer.probability, tracer.rehearsal = script, path, probability, None


def _kind(outcome: Hashable) -> Hashable:
    return outcome.error if isinstance(outcome, Raised) else outcome


def _told(outcome: Hashable) -> str:
    return f"{outcome.error}: {outcome.message}" if isinstance(outcome, Raised) else str(outcome)


def _once(tracer: Tracer, call: Callable[[Tracer], Hashable]) -> Hashable:
    before = _fingerprint()
    with _following(tracer):
        try:
            outcome = call(tracer)
        except Exception as error:
            outcome = Raised(type(error).__name__, str(error))
    if tracer.failure is not None:  # a bare "except:" of the foreign code may have swallowed it
        raise tracer.failure
    if _fingerprint() != before and "reseeds" not in tracer.findings:
        raise NotInterceptable("it draws from a global generator in a way that is not followed")
    return outcome
