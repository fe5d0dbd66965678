"""Stand-ins for the libraries' generators: whose numbers they hand out, and what seeding one means."""

from collections.abc import Callable
from typing import Any

from .places import place
from .tracer import Tracer, active, refuse


def guarded(function: Callable, before: Callable[[], None]) -> Callable:
    """Return the function with something done before each call."""

    def guard(*arguments: Any, **options: Any) -> Any:
        before()
        return function(*arguments, **options)

    guard.__name__ = function.__name__
    return guard


class Followed:
    """What the traced generators share: the tracer that they draw from, and whether this call has seeded them."""

    _plain_in_run: object = None
    _watched = False  # whether its kind has a global generator whose state is looked at (``following``)
    _stream: str = ""  # the same for generators that a seed gives the same numbers
    _plain: Any = None  # the class that the traced one replaces

    def _tracer(self) -> Tracer | None:
        """Return the tracer, or None if this generator was seeded during the present call: then its numbers are no
        chance."""
        tracer = active()
        return None if tracer is None or self._plain_in_run is tracer.run else tracer

    def _seeded(self, how: str, seed: Any = None) -> bool:
        """Check whether a generator seeded now is chance: with the call's own seed, as the first of its kind."""
        tracer = active()
        if tracer is None:
            return False
        if (own := tracer.exploration.seed) is None or seed is None:
            if own is None:
                tracer.notice("reseeds", f"{how} at {place()}: every call sees the same random numbers")
            self._plain_in_run = tracer.run
            return False
        if type(seed) is not int or seed != own:
            tracer.give_up(f"{how} at {place()}, and not with the seed that the call was given")
        if tracer.seeded.get(self._stream) is tracer.run:
            tracer.give_up(f"{how} at {place()}, as another generator was: both have the same random numbers")
        tracer.seeded[self._stream] = tracer.run
        self._plain_in_run = None
        return True

    def __reduce__(self):
        refuse(f"a {type(self).__name__} is copied at {place()}")
        return super().__reduce__()


def named_as(plain: type) -> Callable[[type], type]:
    """Return a class decorator that gives the name of the replaced class, for code that asks for it."""

    def rename(kind: type) -> type:
        kind.__name__, kind.__qualname__, kind.__module__ = plain.__name__, plain.__qualname__, plain.__module__
        kind._renamed = True  # type: ignore[attr-defined]  # digests pass over it as over all classes of this package
        return kind

    return rename


def followed(method: Callable) -> Any:
    """Return a method of a traced generator that gets its tracer first; without one the plain method is called."""
    name = method.__name__

    def choose(self: Any, *arguments: Any, **options: Any) -> Any:
        tracer = self._tracer()
        if tracer is None:
            return getattr(self._plain, name)(self, *arguments, **options)
        return method(self, tracer, *arguments, **options)

    choose.__name__ = name
    return choose


def seeding(plain: Callable, seed: str, how: str) -> Any:
    """Return a method of a traced generator that seeds it, if its argument named ``seed`` is given.

    If it is chance all the same, a global generator stays as it is, so that draws past the hooks are noticed.
    """

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        given = arguments[0] if arguments else options.get(seed)
        chance = given is not None and self._seeded(how, given)
        if chance and self._watched and plain.__name__ == "seed":
            return None
        return plain(self, *arguments, **options)

    return method
