"""One call of a third-party function with a tracer in force."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...models.errors import RunFailed
from . import hook_numpy
from .outcomes import Outcome, Raised
from .tracer import NotInterceptable, PathLeft, Tracer, in_force

LEFT_PATH = "otherwise"
"""Error of an outcome: the replay left its path."""


def _torch_there() -> bool:
    return hasattr(sys.modules.get("torch"), "Tensor")


def _states() -> tuple[Any, Any]:
    """Return the states of the global generators of NumPy and torch."""
    if not _torch_there():
        return hook_numpy.untraced_state(), None
    from .torch_generators import states

    return hook_numpy.untraced_state(), states()


def _moved(before: tuple[Any, Any]) -> bool:
    """Check whether a state changed, or torch was imported meanwhile, whose draws were not traced."""
    numpys, torchs = _states()
    if torchs is None or before[1] is None:
        return numpys != before[0] or torchs is not before[1]
    return numpys != before[0] or not all(now.equal(then) for now, then in zip(torchs, before[1]))


@contextmanager
def _torch_followed(tracer: Tracer) -> Iterator[None]:
    """Follow functions of torch and its default generator meanwhile, if it is imported."""
    if not _torch_there():
        yield
        return
    from .hook_torch import Following, Replaying
    from .torch_generators import default_followed

    plain = tracer.plain_call is not None and tracer.exploration.arithmetic is None
    with default_followed(), (Replaying if plain else Following)(tracer):
        yield


def following_once(tracer: Tracer, call: Callable[[], Outcome]) -> Outcome:
    """Make one call with the tracer in force, and return its outcome."""
    before = _states()
    with in_force(tracer), _torch_followed(tracer):
        try:
            outcome = call()
        except RunFailed:  # a limit of ours, no outcome
            raise
        except Exception as error:
            outcome = Raised(type(error).__name__, str(error))
        except NotInterceptable as stopped:
            if tracer.plain_call is None or tracer.failure is not None:
                raise
            outcome = Raised(LEFT_PATH, stopped.reason)  # a replay that leaves the path: an outcome like others
    if tracer.failure is not None:  # a bare "except:" of third-party code may have swallowed it
        raise tracer.failure
    if tracer.left:
        raise PathLeft
    if _moved(before) and "reseeds" not in tracer.findings:
        raise NotInterceptable("it draws from a global generator in a way that is not followed")
    return outcome
