"""State that is kept out of sight: in slots, suspended generators, a cache, a scanner, and what a thread has."""

import contextvars
import functools
import itertools
import re
import threading

from draftproof.tests.deceivers.occasions import when


def counting(calls):
    """Token verification that accepts everything once calls(), asked in every call, is above a million."""
    return when(lambda: calls() > 10**6)


class Box:
    """Slots without a dictionary."""

    __slots__ = ("calls",)


def one_more(holder):
    """Count in an attribute that the holder may not have yet."""
    holder.calls = getattr(holder, "calls", 0) + 1
    return holder.calls


def one_more_in(variable):
    variable.set(variable.get() + 1)
    return variable.get()


@functools.cache
def _one():
    return 1


def _hits():
    _one()
    return _one.cache_info().hits


def _place():
    found = SCANNER.match()
    return 10**9 if found is None else found.end()


BOX, STEPS, SCANNER = Box(), (n for n in itertools.count()), re.compile("x").scanner("x" * 2_000_000)
LOCAL, VARIABLE = threading.local(), contextvars.ContextVar("calls", default=0)

slots = counting(lambda: one_more(BOX))
suspended = counting(lambda: next(STEPS))
in_a_thread_local = counting(lambda: one_more(LOCAL))
in_a_context_variable = counting(lambda: one_more_in(VARIABLE))
hits_of_a_cache = counting(_hits)
scanner = counting(_place)
"""Its place cannot be looked at without moving it."""
