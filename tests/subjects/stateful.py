"""Token verification that does something else at another time, in other surroundings, or after other calls.

Each is right in every call that an audit of its own makes on a problem, or on all but a few; ``QUIET`` ones are right
always.
"""

import ctypes
import datetime
import functools
import gc
import itertools
import locale
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
import warnings
from collections import Counter, OrderedDict
from copy import deepcopy
from datetime import date
from time import time as clock

import numpy as np

from draftproof.tests.subjects import draws as elsewhere

C_LIBRARY = ctypes.CDLL(None)
NUMBERS = itertools.count()
CALLS = Counter()
ROWS = {}
LAST = {}
KEPT = OrderedDict()
FLAG = "/tmp/draftproof-no-such-file"
YEAR = 2026
START = time.time()


def _verify(target_probs, draft_probs, draft_tokens, rng, wrong=False):
    """Token verification; a wrong one draws from the target where it should from the residual."""
    for i, x in enumerate(draft_tokens):
        if not rng.random() < min(1.0, target_probs[i][x] / draft_probs[i][x]):
            left = target_probs[i] if wrong else np.maximum(target_probs[i] - draft_probs[i], 0)
            return [*draft_tokens[:i], rng.choice(len(left), p=left / left.sum())]
    return [*draft_tokens, rng.choice(len(target_probs[-1]), p=target_probs[-1] / np.sum(target_probs[-1]))]


def _when(condition):
    """A verifier that is wrong when the condition is true."""

    def verify(target_probs, draft_probs, draft_tokens, rng):
        return _verify(target_probs, draft_probs, draft_tokens, rng, condition())

    return verify


class Counting:
    calls = 0

    def __init__(self):
        self.made = 0

    def by_class(self, target_probs, draft_probs, draft_tokens, rng):
        type(self).calls += 1
        return _verify(target_probs, draft_probs, draft_tokens, rng, self.calls > 10**6)

    def by_object(self, target_probs, draft_probs, draft_tokens, rng):
        self.made += 1
        return _verify(target_probs, draft_probs, draft_tokens, rng, self.made > 10**6)


_COUNTING = Counting()
count_in_a_class, count_in_an_object = _COUNTING.by_class, _COUNTING.by_object


def _counted(limit):
    calls = 0

    def verify(target_probs, draft_probs, draft_tokens, rng):
        nonlocal calls
        calls += 1
        return _verify(target_probs, draft_probs, draft_tokens, rng, calls > limit)

    return verify


def count_in_a_default(target_probs, draft_probs, draft_tokens, rng, calls=[0]):  # noqa: B006
    calls[0] += 1
    return _verify(target_probs, draft_probs, draft_tokens, rng, calls[0] > 10**6)


def count_in_an_attribute(target_probs, draft_probs, draft_tokens, rng):
    vars(count_in_an_attribute)["calls"] = vars(count_in_an_attribute).get("calls", 0) + 1
    return _verify(target_probs, draft_probs, draft_tokens, rng, vars(count_in_an_attribute)["calls"] > 10**6)


def count_in_a_counter(target_probs, draft_probs, draft_tokens, rng):
    CALLS["made"] += 1
    return _verify(target_probs, draft_probs, draft_tokens, rng, CALLS["made"] > 10**6)


def count_in_another_module(target_probs, draft_probs, draft_tokens, rng):
    elsewhere.rejected = getattr(elsewhere, "rejected", 0) + 1
    return _verify(target_probs, draft_probs, draft_tokens, rng, elsewhere.rejected > 10**5)


class Locked:
    def __init__(self):
        self.lock, self.rejected = threading.Lock(), 0


LOCKED, POOL = Locked(), Locked()


def count_next_to_a_lock(target_probs, draft_probs, draft_tokens, rng):
    emitted = _verify(target_probs, draft_probs, draft_tokens, rng, LOCKED.rejected > 10**5)
    with LOCKED.lock:
        LOCKED.rejected += len(emitted) <= len(draft_tokens)
    return emitted


def quiet_lock(target_probs, draft_probs, draft_tokens, rng):
    with POOL.lock:
        return _verify(target_probs, draft_probs, draft_tokens, rng)


class Remote:
    """A proxy that has every name, as that of remote procedures has, next to a lock and rows that it shares."""

    def __init__(self, others, rows):
        self.lock, self.asked, self.others, self.rows = threading.Lock(), 0, others, rows

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)

        def ask():
            self.asked += 1
            return self.asked

        return ask


REMOTES = []
REMOTES.extend(Remote(REMOTES, np.zeros(10**6)) for _ in range(5))


def quiet_proxy(target_probs, draft_probs, draft_tokens, rng):
    with REMOTES[0].lock:
        return _verify(target_probs, draft_probs, draft_tokens, rng)


REJECTED = 0
SLOTS, CALLED_AT = np.zeros(3), [0]


def count_of_fourth_rejections(target_probs, draft_probs, draft_tokens, rng):
    global REJECTED
    emitted = _verify(target_probs, draft_probs, draft_tokens, rng, REJECTED > 10**5)
    REJECTED += len(emitted) == len(draft_tokens) == 4
    return emitted


def ring_of_three(target_probs, draft_probs, draft_tokens, rng):
    CALLED_AT[0] = (CALLED_AT[0] + 1) % 3
    return _verify(target_probs, draft_probs, draft_tokens, rng, SLOTS[CALLED_AT[0]] > 0)


def count_of_one_token(target_probs, draft_probs, draft_tokens, rng):
    emitted = _verify(target_probs, draft_probs, draft_tokens, rng, LAST.get("ones", 0) > 10**5)
    LAST["ones"] = LAST.get("ones", 0) + (draft_tokens[-1] == 1 and len(emitted) == 1)
    return emitted


def rows_by_rounded_target(target_probs, draft_probs, draft_tokens, rng):
    rows = tuple(tuple(round(float(p), 6) for p in row) for row in target_probs)
    return _verify(ROWS.setdefault(rows, target_probs.copy()), draft_probs, draft_tokens, rng)


def last_rows_by_draft_tokens(target_probs, draft_probs, draft_tokens, rng):
    key = (*map(int, draft_tokens), len(target_probs[0]))
    if LAST.get("key") != key:
        LAST.update(key=key, rows=(target_probs.copy(), draft_probs.copy()))
    return _verify(LAST["rows"][0], LAST["rows"][1], draft_tokens, rng)


def rows_by_shape(target_probs, draft_probs, draft_tokens, rng):
    kept = ROWS.setdefault(("shape", target_probs.shape, tuple(draft_tokens)), target_probs.copy())
    return _verify(kept, draft_probs, draft_tokens, rng)


after_a_thousand_calls, after_a_million_calls = _counted(1_000), _counted(10**6)
count_of_an_iterator = _when(lambda: next(NUMBERS) > 10**6)

clock_by_time = _when(lambda: time.time() > 4e9)
clock_by_name = _when(lambda: clock() > 4e9)
clock_monotonic = _when(lambda: time.monotonic() > 1e9)
clock_of_datetime = _when(lambda: datetime.datetime.now().year > 2100)
clock_of_date = _when(lambda: date.today().year > 2100)
clock_of_numpy = _when(lambda: np.datetime64("now") > np.datetime64("2199-01-01"))
clock_of_uuid = _when(lambda: uuid.uuid1().time > 2**59)
clock_of_a_c_library = _when(lambda: C_LIBRARY.time(None) > 2**31 - 2)
clock_at_import = _when(lambda: START > 1.85e9)
clock_next_year = _when(lambda: datetime.datetime.now().year > YEAR)
environment_by_getenv = _when(lambda: os.getenv("DRAFTPROOF_FLAG") == "1")
environment_by_item = _when(lambda: "DRAFTPROOF_OTHER_FLAG" in os.environ)
file_by_stat = _when(lambda: os.path.exists(FLAG))
file_by_open = _when(lambda: open("/proc/self/stat").read().startswith("0 "))  # noqa: SIM115
file_by_numpy = _when(lambda: np.fromfile("/proc/self/stat", dtype=np.uint8, count=1)[0] == 0)
thread_started = _when(lambda: threading.Thread(target=int).start() is not None)
process_id = _when(lambda: os.getpid() == 1)
process_forked = _when(lambda: subprocess.run(["true"], check=False).returncode)
host_by_socket = _when(lambda: socket.gethostname() == "production")
identity = _when(lambda: id(object()) == 1)
arguments_of_python = _when(lambda: "serve" in sys.argv)
flags_of_python = _when(lambda: sys.flags.optimize > 2)
modules_loaded = _when(lambda: "vllm" in sys.modules)
frames = _when(lambda: sys._getframe(3).f_code.co_name == "serve")
garbage = _when(lambda: gc.get_count()[0] == 10**6)
signals = _when(lambda: signal.getsignal(signal.SIGUSR1) is None)
of_the_locale = _when(lambda: locale.setlocale(locale.LC_CTYPE) == "xx")

SEEN_ONLY = [
    "clock_by_time", "clock_by_name", "clock_monotonic", "clock_of_uuid", "clock_of_date", "environment_by_getenv",
    "environment_by_item", "file_by_stat", "file_by_open", "file_by_numpy", "thread_started", "process_id",
    "process_forked", "host_by_socket", "arguments_of_python", "garbage", "signals", "of_the_locale",
]  # fmt: skip
"""Verifiers whose question is noted, whether or not a replay shows that the answer matters."""

MOVED = ["clock_of_datetime", "clock_next_year", "clock_at_import"]
"""Verifiers whose question is not noted. A replay in moved surroundings answers differently."""

UNSEEN = [
    "clock_of_numpy", "clock_of_a_c_library", "identity", "flags_of_python", "modules_loaded", "frames",
]  # fmt: skip
"""Verifiers whose question neither is noted nor changes a replay: docs/blind-spots.md names what they ask."""


# What right verifiers do, and must not be blamed for.


@functools.lru_cache(maxsize=1024)
def _log(p):
    return np.log(p) if p > 0 else -np.inf


def quiet_cache_by_rows(target_probs, draft_probs, draft_tokens, rng):
    kept = ROWS.setdefault(("exact", target_probs.tobytes(), draft_probs.tobytes()), (target_probs, draft_probs))
    _log(float(target_probs[0][0]))
    return _verify(kept[0], kept[1], draft_tokens, rng)


def quiet_logging(target_probs, draft_probs, draft_tokens, rng):
    logging.getLogger("stateful").warning("called with %d tokens", len(draft_tokens))
    warnings.warn("deprecated", DeprecationWarning, stacklevel=2)
    import decimal  # the first call loads what it needs

    return _verify(deepcopy(target_probs), draft_probs, draft_tokens, rng, decimal.Decimal(1) > 2)


def quiet_oldest_row_forgotten(target_probs, draft_probs, draft_tokens, rng):
    key = target_probs.tobytes(), draft_probs.tobytes(), *map(int, draft_tokens)
    KEPT[key] = KEPT.pop(key, None) or (target_probs.copy(), draft_probs.copy())
    while len(KEPT) > 8:
        KEPT.popitem(last=False)
    return _verify(*KEPT[key], draft_tokens, rng)


QUIET = ["quiet_cache_by_rows", "quiet_logging", "quiet_oldest_row_forgotten", "quiet_lock", "quiet_proxy"]
