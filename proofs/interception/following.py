"""One call of a third-party function with a tracer in force."""

import sys
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from typing import Any

from ...models.errors import RunFailed
from . import hook_numpy
from .outcomes import Outcome, Raised
from .tracer import NotInterceptable, PathLeft, Tracer, in_force

LEFT_PATH = "otherwise"
"""Error of an outcome: the replay left its path."""


def _of_torch(name: str) -> Any:
    """Return the module of this room that looks after torch, by its name; None where torch is not imported.

    It is asked for in every call: an import statement would take ten times as long.
    """
    if not hasattr(sys.modules.get("torch"), "Tensor"):
        return None
    name = f"{__package__}.{name}"
    return sys.modules.get(name) or import_module(name)


def _states() -> tuple[Any, Any]:
    """Return the states of the global generators of NumPy and torch."""
    generators = _of_torch("torch_generators")
    return hook_numpy.untraced_state(), generators and generators.states()


def _moved(before: tuple[Any, Any]) -> bool:
    """Check whether a state changed, or torch was imported meanwhile, whose draws were not traced."""
    numpys, torchs = _states()
    if torchs is None or before[1] is None:
        return numpys != before[0] or torchs is not before[1]
    return numpys != before[0] or not all(map(_of_torch("torch_generators").same_state, torchs, before[1]))


def following_once(tracer: Tracer, call: Callable[[], Outcome]) -> Outcome:
    """Make one call with the tracer in force, and return its outcome."""
    before, hooks = _states(), _of_torch("hook_torch")
    with in_force(tracer), hooks.mode_of(tracer) if hooks else nullcontext():
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
