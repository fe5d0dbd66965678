"""Where the chunks of a campaign are drawn: here, on a Dask cluster or on Ray, always through joblib."""

import contextlib
import importlib
import itertools
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

CONNECT_SECONDS = 10
"""Seconds to wait for the scheduler, and for its first worker."""

RAY_CHUNKS_PER_WORKER = 4
"""Chunks that each worker of a Ray cluster is given at a time."""

CLUSTER_PACKAGES = ("joblib", "concurrent", "asyncio", "distributed", "tornado", "ray")
"""Packages whose exceptions mean that workers were lost."""

Run = Callable[[Iterable], Iterator]


class WorkersLost(Exception):
    """The workers ended, or cannot be reached any more."""


def scheme_of(cluster: str | None) -> str:
    """ "dask", "ray", or "" for this machine. Raises: InputError for what is neither."""
    if cluster is not None and not re.fullmatch(r"dask://[^/]+:[0-9]+|ray|ray://.+", cluster):
        raise InputError(f"cluster {cluster!r} is not known; expected dask://HOST:PORT, ray or ray://HOST:PORT")
    return (cluster or "").partition(":")[0]


@contextlib.contextmanager
def parallel(workers: int | None, cluster: str | None, shared: Any, most: int) -> Iterator[Run]:
    """run(tasks) yields the results of tasks (function, argument, ...) as they are finished, in any order.

    workers: processes on this machine (all processors this process may use if not given), each with one thread
    cluster: the address, whose size decides instead
    shared: an argument of every task, sent to a cluster only once
    most: the largest number of tasks
    Raises: InputError if the cluster is unknown, not installed or does not answer, or workers is less than 1;
    WorkersLost (run); what the tasks raise.
    """
    scheme = scheme_of(cluster)
    joblib = installed("joblib", "draftproof[campaign]", "a campaign")
    if cluster is not None and workers is not None:
        raise InputError("either workers, or a cluster, whose size decides how many there are")
    if workers is not None and workers < 1:
        raise InputError(f"workers: expected at least 1, got {workers}")

    def run(tasks: Iterable) -> Iterator:
        calls = ((_call, (None if cluster else os.getpid(), *task), {}) for task in tasks)
        jobs = -1 if cluster else min(workers or joblib.cpu_count(), most)
        try:
            if scheme == "ray":  # joblib cannot hand over Ray's results one by one
                with joblib.Parallel(n_jobs=jobs, batch_size=1) as draw:
                    while some := list(itertools.islice(calls, RAY_CHUNKS_PER_WORKER * joblib.effective_n_jobs(jobs))):
                        yield from draw(some)
            else:
                unordered = {"return_as": "generator_unordered", "pre_dispatch": "2*n_jobs"}
                with _closing(joblib.Parallel(n_jobs=jobs, batch_size=1, **unordered)(calls)) as results:
                    for result in results:  # noqa: UP028 "yield from" would hand the end of this generator on to joblib's
                        yield result
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in CLUSTER_PACKAGES:
                raise
            message = (str(error).strip().splitlines() or [""])[0][:160]
            raise WorkersLost(f"the workers were lost ({type(error).__name__}: {message})") from None

    if scheme == "dask":
        with _dask(cluster or "") as client:
            options = {"client": client, "scatter": [shared], "wait_for_workers_timeout": CONNECT_SECONDS}
            with joblib.parallel_config(backend="dask", **options):
                yield run
    elif scheme == "ray":
        with _ray(cluster or ""), joblib.parallel_config(backend="ray"):
            yield run
    else:
        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
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
    """One task, in whatever process. home: the one that hands out the tasks, if that is on this machine."""
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
    distributed = installed("distributed", "draftproof[campaign]", "a Dask cluster")
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


@contextlib.contextmanager
def _ray(cluster: str) -> Iterator[None]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = installed("ray", "ray", "--cluster ray")
    importlib.import_module("ray.util.joblib").register_ray()
    ours = not ray.is_initialized()
    if ours:
        try:
            ray.init(address=None if cluster == "ray" else cluster, log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, ValueError, RuntimeError) as error:
            message = " ".join(str(error).split())[:160]
            raise InputError(f"{cluster}: no cluster answers there ({message})") from None
    try:
        yield
    finally:
        if ours:
            ray.shutdown()


def installed(package: str, install: str, what: str) -> Any:
    """Raises: InputError that says what to install."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError:
        raise InputError(f"{what} needs {package}; install {install}") from None
