"""One look at what code keeps: digests that tell each value from what it was at an earlier look in this process.

What cannot be pickled is written by its attributes: an engine has its counts next to its locks, threads and files.
"""

import copyreg
import inspect
import io
import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .digests import ATOMS, Content, Undigestible, attributes_of, name_of, parts_of, sha256

# What several objects share is written for each: 10,000 locks take two seconds, nine engines that know each other 120.
MOST_UNPICKLED = 10_000
"""Largest number of objects in one look that are written by their attributes because they cannot be pickled."""

LARGE = 2**16
"""Bytes of an array from which on it is written by their digest, once for all objects that share it."""


class Look:
    """One look at many values.

    It takes a tenth of the time of ``content_digest``: what it has seen of a class or a function it does not write
    again.
    """

    def __init__(self) -> None:
        self.seen: dict[int, tuple[Any, str]] = {}
        self.large: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        self.unpickled = 0

    def digest(self, value: Any) -> str:
        """Return the digest of one value. Raises: what a third-party object raises while it is pickled."""
        try:
            return _Glance(self).digest(value)
        except (ValueError, RecursionError):  # it contains itself
            return self.whole(value)

    def whole(self, value: Any) -> str:
        """Return the digest of a value that may contain itself, or objects that cannot be pickled."""
        content = _Whole(self)
        content.dump(value)
        return sha256(content.written.getvalue())

    def code(self, value: Any) -> str:
        """Return the digest of a class or a function, which is written once."""
        key = id(value)
        if key not in self.seen:
            self.seen[key] = value, "within itself"
            try:
                self.seen[key] = value, self.digest(self.reduced(value) or self.visible(value))
            except BaseException:
                del self.seen[key]
                raise
        return self.seen[key][1]

    def reduced(self, value: Any) -> Any:
        """Return how a value is written, as in other digests or as it is pickled; None if it cannot be."""
        if id(value) in self.large:
            return tuple, self.large[id(value)][1]
        try:
            parts = parts_of(value, self.whole)
            if parts is not None and any(type(part) is bytes and len(part) > LARGE for part in parts):
                parts = tuple(sha256(part) if type(part) is bytes else part for part in parts)
                self.large[id(value)] = value, parts
            if parts is not None:
                return tuple, parts
            reduce: Callable = copyreg.dispatch_table.get(type(value), lambda one: one.__reduce_ex__(4))
            return reduce(value)
        except RecursionError:
            raise
        except Exception:  # a lock, a thread, a file, or an object that refuses
            return None

    def visible(self, value: Any) -> tuple[Any, ...]:
        """Return what can be seen of an object that cannot be pickled: its attributes, and how much a queue holds.

        Raises: Undigestible after MOST_UNPICKLED of them.
        """
        self.unpickled += 1
        if self.unpickled > MOST_UNPICKLED:
            raise Undigestible
        held = None
        with suppress(Exception):
            held = value.qsize() if hasattr(type(value), "qsize") else len(value)
        return name_of(type(value)), held, *attributes_of(value)


def _is_code(value: Any) -> bool:
    return inspect.isclass(value) or inspect.isfunction(value)


class _Whole(Content):
    """A pickler that notices what contains itself. It is slower than ``_Glance``."""

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) in ATOMS or type(obj) in (tuple, list, dict) or obj is str or obj is tuple:
            return NotImplemented
        if _is_code(obj):
            return str, (self._look.code(obj),)
        return self._look.reduced(obj) or (tuple, self._look.visible(obj))


class _Glance(pickle.Pickler):
    def __init__(self, look: Look) -> None:
        self.out, self._look = io.BytesIO(), look
        super().__init__(self.out, 4)
        self.fast = True

    def digest(self, value: Any) -> str:
        self.dump(value)
        return sha256(self.out.getvalue())

    def persistent_id(self, obj: Any) -> Any:
        # Of sets reducer_override is not asked, and their order may be that of addresses.
        return parts_of(obj, self._look.whole) if type(obj) is set or type(obj) is frozenset else None

    def reducer_override(self, obj: Any) -> Any:
        if obj is str or obj is tuple:  # by which the others are written
            return NotImplemented
        if _is_code(obj):
            return str, (self._look.code(obj),)
        return self._look.reduced(obj) or (str, (self._look.whole(obj),))
