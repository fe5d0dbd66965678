"""The template's side of ``templates``: it has imported what a child process needs, and is forked for each."""

import fcntl
import gc
import importlib
import json
import os
import socket
import sys
import time
from collections.abc import Sequence
from typing import Any

from ..templates import MOST_ENDS
from . import child  # noqa: F401  # what is imported here is not imported by each child
from .serving import WHILE_IMPORTING, why_not_forked


def main() -> None:
    """Serve requests until the parent closes the socket; in each fork, run the module that it is for.

    Arguments: the socket's file descriptor, and modules that are imported first.
    """
    gc.set_threshold(WHILE_IMPORTING)
    for name in sys.argv[2:]:
        importlib.import_module(name)
    connection = socket.socket(fileno=int(sys.argv[1]))
    gc.collect()
    gc.freeze()
    if module := _forked(connection):
        importlib.import_module(module).main()


def _forked(connection: socket.socket) -> str | None:
    """Serve requests, and return the name of a module in each fork; None when the parent ends."""
    requests = connection.makefile("rb", buffering=0)
    while True:
        word, ends, *_ = socket.recv_fds(connection, 1, MOST_ENDS)
        if not word:
            return None
        request = json.loads(requests.readline())
        if "reap" in request:
            pid, status = os.waitpid(request["reap"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        elif why_not_forked():
            answer = None
        else:
            ready, done = os.pipe()
            if not (answer := os.fork()):
                _become(request, ends, done)
                return request["module"]
            os.close(done)
            if not os.read(ready, 1):  # it could not become what was asked for
                os.waitpid(answer, 0)
                answer = None
            os.close(ready)
        for end in ends:
            os.close(end)
        connection.sendall(json.dumps(answer).encode() + b"\n")


def _become(request: dict[str, Any], ends: Sequence[int], done: int) -> None:
    """Take on the session, folder, variables, arguments and files of a child process; end where that fails."""
    try:
        os.setsid()
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        time.tzset()
        sys.argv = ["-c", *request["arguments"]]
        above = max(map(int, [*os.listdir("/proc/self/fd"), *request["ends"]])) + 1
        *held, done = (fcntl.fcntl(end, fcntl.F_DUPFD, above) for end in (*ends, done))
        os.closerange(3, above)  # the socket, and the ends under their old numbers
        for end, number in zip(held, request["ends"]):
            os.dup2(end, number)
            os.close(end)
        importlib.invalidate_caches()
        if numpy_random := sys.modules.get("numpy.random"):
            numpy_random.seed()
        os.write(done, b"\n")
        os.close(done)
    except OSError:
        os._exit(1)
