"""The generators of torch that third-party code gets: they know whether the call seeded them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from .generators import Followed, guarded, named_as, seeding
from .given_again import same_memory
from .places import place
from .tracer import refuse

MERSENNE = "mt19937"
"""Algorithm of torch's generators, and of NumPy's RandomState."""


PlainGenerator: Any = torch.Generator


@named_as(PlainGenerator)
class TracedTorchGenerator(Followed, PlainGenerator):
    """A torch.Generator that knows whether it was made or seeded during the call that draws from it.

    One that is made anew and not seeded by ``seed()`` starts from a constant.
    """

    _stream = MERSENNE

    def __init__(self, device: Any = "cpu"):
        self._seeded("a new torch.Generator, which starts from a fixed seed, is made")

    manual_seed = seeding(PlainGenerator.manual_seed, "seed", "torch.Generator.manual_seed is called")
    set_state = seeding(PlainGenerator.set_state, "new_state", "torch.Generator.set_state is called")

    def seed(self) -> int:
        self._plain_in_run = None
        return super().seed()


PLAIN_DEFAULT: Any = torch.default_generator


@named_as(PlainGenerator)
class _Default(TracedTorchGenerator):
    """torch's default generator as calls get it that are followed: what is no chance reaches the real one, too."""

    def manual_seed(self, seed: int) -> Any:
        if not self._seeded("torch.default_generator.manual_seed is called", seed):
            PLAIN_DEFAULT.manual_seed(seed)
            PlainGenerator.manual_seed(self, seed)
        return self

    def set_state(self, new_state: Any) -> Any:
        self._seeded("torch.default_generator.set_state is called", new_state)
        PLAIN_DEFAULT.set_state(new_state)
        PlainGenerator.set_state(self, new_state)
        return self

    def initial_seed(self) -> int:
        return PLAIN_DEFAULT.initial_seed()

    def get_state(self) -> Any:
        _state_taken("torch.default_generator.get_state")
        return PLAIN_DEFAULT.get_state()


GLOBAL = _Default()
"""Stand-in for torch's default generator."""


def put_default(generator: Any) -> None:
    """Put a generator in the place of torch's default one. Calls with real random numbers get that one."""
    for module in (torch, torch.random):
        setattr(module, "default_generator", generator)  # noqa: B010  # torch.random does not export it


def states() -> tuple[torch.Tensor, torch.Tensor]:
    """Return the states of the default generator and of its stand-in, which draws past the hooks move."""
    return PLAIN_DEFAULT.get_state(), PlainGenerator.get_state(GLOBAL)


def same_state(now: torch.Tensor, then: torch.Tensor) -> bool:
    """Check whether two states are the same, byte for byte."""
    return same_memory(now.data_ptr(), then.data_ptr(), now.numel())


def _state_taken(how: str) -> None:
    refuse(f"{how} at {place()}: the state of a followed generator says nothing")


def scratch() -> torch.Generator:
    """Return a generator whose numbers are never used: it only lets torch check the arguments."""
    return _Scratch.generator.manual_seed(0)


class _Scratch:
    generator = PlainGenerator().manual_seed(0)


def install() -> None:
    """Replace torch's generator and seeding functions."""

    def guard(name: str, before: Callable[[Callable, str], Callable]) -> None:
        setattr(torch, name, before(getattr(torch, name), f"torch.{name}"))
        setattr(torch.random, name, getattr(torch, name))

    def seeds(function: Callable, called: str) -> Callable:
        def seed(*given: Any, **named: Any) -> Any:
            chance = GLOBAL._seeded(f"{called} is called", *given, *named.values())
            return torch.default_generator if chance else function(*given, **named)

        return seed

    torch.Generator = TracedTorchGenerator
    for name in ("manual_seed", "set_rng_state"):
        guard(name, seeds)
    guard("get_rng_state", lambda function, called: guarded(function, lambda: _state_taken(called)))
    for name in {"get_state", "clone_state"} & set(dir(PlainGenerator)):
        before = partial(_state_taken, f"torch.Generator.{name}")
        setattr(TracedTorchGenerator, name, guarded(getattr(PlainGenerator, name), before))
