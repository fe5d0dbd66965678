"""Workers that draw the chunks of a campaign: processes on this machine or a Dask cluster, always through joblib."""

import contextlib
import logging
import os
import re
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from ...models.errors import InputError
from ...models.libraries import require

CONNECT_SECONDS = 10
"""Seconds to wait for the scheduler, and for its first worker."""

CLUSTER_PACKAGES = ("joblib", "concurrent", "asyncio", "distributed", "tornado")
"""Packages whose exceptions mean that workers were lost."""

Run = Callable[[Iterable], Iterator]


class WorkersLost(Exception):
    """An error of the workers: they ended, or cannot be reached any more."""


def check_cluster(cluster: str | None) -> None:
    """Check the form of a cluster's address; None is this machine. Raises: InputError for another form."""
    if cluster is not None and not re.fullmatch(r"dask://[^/]+:[0-9]+", cluster):
        raise InputError(f"cluster {cluster!r} is not known; expected dask://HOST:PORT")


@contextlib.contextmanager
def parallel(workers: int | None, cluster: str | None, shared: Any, most: int) -> Iterator[Run]:
    """Give a function run(tasks), which yields the results of tasks (function, argument, ...) in any order.

    workers: processes on this machine, each with one thread; all processors that this process may use if not given
    cluster: dask://HOST:PORT, whose size decides instead
    shared: an argument of every task, sent to a cluster only once
    most: the largest number of tasks
    Raises: InputError if the cluster is unknown, not installed or does not answer, or workers is less than 1;
    WorkersLost (run); what the tasks raise.
    """
    check_cluster(cluster)
    require("joblib", extra="campaign")
    import joblib

    if cluster is not None and workers is not None:
        raise InputError("give workers or a cluster, not both")
    if workers is not None and workers < 1:
        raise InputError(f"workers: expected at least 1, got {workers}")
    home = None if cluster else os.getpid()
    jobs = -1 if cluster else min(workers or joblib.cpu_count(), most)

    def run(tasks: Iterable) -> Iterator:
        calls = ((_call, (home, *task), {}) for task in tasks)
        unordered: Any = {"return_as": "generator_unordered", "pre_dispatch": "2*n_jobs", "batch_size": 1}
        try:
            with _closing(joblib.Parallel(n_jobs=jobs, **unordered)(calls)) as results:
                for result in results:  # noqa: UP028 "yield from" would hand the end of this generator on to joblib's
                    yield result
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in CLUSTER_PACKAGES:
                raise
            message = (str(error).strip().splitlines() or [""])[0][:160]
            raise WorkersLost(f"the workers were lost ({type(error).__name__}: {message})") from None

    if cluster is None:
        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            yield run
    else:
        with _dask(cluster) as client:
            options = {"client": client, "scatter": [shared], "wait_for_workers_timeout": CONNECT_SECONDS}
            with joblib.parallel_config(backend="dask", **options):
                yield run


@contextlib.contextmanager
def _closing(results: Any) -> Iterator[Any]:
    """Give up what was not drawn yet, without joblib's advice on how to avoid that: it is what Ctrl-C asks for."""
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def _call(home: int | None, function: Callable, *arguments: Any) -> Any:
    """Run one task, in whatever process. home: the process that hands out the tasks, if it is on this machine."""
    if home is not None and os.getpid() != home:
        _belong_to(home)
    return function(*arguments)


@cache
def _belong_to(home: int) -> None:
    """Leave Ctrl-C to the process that hands out the tasks, and do not outlive it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == home:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _dask(cluster: str) -> Iterator[Any]:
    require("distributed", extra="campaign")
    import distributed

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # a lost scheduler is reported in one line here
    try:
        client = distributed.Client(cluster.replace("dask:", "tcp:"), timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(f"{cluster}: no scheduler answers there ({type(error).__name__})") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError:
            raise InputError(f"{cluster}: the scheduler has no workers after {CONNECT_SECONDS} s") from None
        yield client
