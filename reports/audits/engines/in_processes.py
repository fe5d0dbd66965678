"""Rows of long work, each made in a process of its own and kept as it comes."""

import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, TypeVar

from ....models.errors import RunFailed
from ....models.store import Key, Store

Result = TypeVar("Result")


def in_processes(
    function: Callable[..., Result], calls: Iterable[tuple[Any, ...]], workers: int
) -> Iterator[tuple[tuple[Any, ...], Result]]:
    """The arguments and the result of every call, as they become known; here, in order, if there is one worker.

    function: of a module, since new processes import it by name
    Raises: RunFailed if a process ends without a result.
    """
    calls = [*calls]
    if min(workers, len(calls)) <= 1:
        yield from ((call, function(*call)) for call in calls)
        return
    silently = signal.SIGINT, signal.SIG_DFL  # Ctrl-C ends a worker too, without a traceback of its own
    with ProcessPoolExecutor(workers, get_context("spawn"), signal.signal, silently) as pool:
        running = {pool.submit(function, *call): call for call in calls}
        try:
            for future in as_completed(running):
                yield running[future], future.result()
        except BrokenProcessPool as broken:
            raise RunFailed(
                "crash", f"one of {workers} processes ended without a result; --workers 1 makes none"
            ) from broken
        finally:
            pool.shutdown(cancel_futures=True)


def made_rows(
    store: Store, keys: Iterable[Key], make: Callable[..., Any], workers: int = 1
) -> Iterator[tuple[Key, Any]]:
    """The rows for those keys that the store lacks, by ``make(*key)``; each is in the store before it is given out."""
    for key, row in in_processes(make, [key for key in keys if key not in store.rows], workers):
        store.put(key, row)
        yield key, row
