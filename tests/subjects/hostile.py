"""Functions that do what no verifier should, by mistake: each is loaded, called and judged, and the audit stands."""

import ctypes
import gc
import os
import signal
import sys
import threading
import time
from fractions import Fraction

import numpy as np


class Odd:
    """An object that raises, or does not end, in one of its methods."""

    def __init__(self, **methods):
        self.__class__ = type("Odd", (), {**methods})


def _raises(*_):
    raise ValueError("odd")


def _endless(*_):
    while True:
        yield 0


def _itself():
    inside: list = []
    inside.append(inside)
    return inside


def _text_of_itself(*_):
    raise RuntimeError("no text")


class NoText(Exception):
    __str__ = __repr__ = _text_of_itself


def _raise(error):
    raise error


def _interrupt():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs the tests may ignore it
    signal.raise_signal(signal.SIGINT)


def _deep(n=0):
    return _deep(n + 1)


def _threads():
    for _ in range(20):
        threading.Thread(target=lambda: time.sleep(600), daemon=True).start()


def _listens():
    gc.disable()
    signal.alarm(1)
    sys.settrace(lambda *_: None)


RETURNS = {
    "bytes": lambda: b"01", "a dict": lambda: {0: 1}, "a set": lambda: {0, 1}, "half a token": lambda: [0.5],
    "a fraction": lambda: [Fraction(1, 2)], "a function": lambda: _deep,
    "an exception": lambda: [ValueError("odd")], "a list of None": lambda: [None],
    "a list in itself": _itself, "an endless iterator": lambda: _endless(), "two rows": lambda: np.zeros((2, 2)),
    "nan": lambda: [float("nan")], "infinity": lambda: np.array([np.inf]),
    "a billion tokens": lambda: range(10**9),
    "an odd length": lambda: Odd(__len__=lambda self: -1, __iter__=_endless),
    "an odd iterator": lambda: Odd(__iter__=_raises),
    "an odd number": lambda: [Odd(__int__=_raises, __index__=_raises)],
}  # fmt: skip
"""What is returned in place of tokens."""

RAISES = {
    "no text": lambda: _raise(NoText()), "a long text": lambda: _raise(ValueError("x" * 10**5)),
    "control characters": lambda: _raise(ValueError("\x1b[2J\r\n\x00\u202e")),
    "half a character": lambda: _raise(ValueError("\ud800")), "an interrupt": lambda: _raise(KeyboardInterrupt()),
    "an exit": lambda: sys.exit("bye"), "the end of a generator": lambda: _raise(GeneratorExit()),
    "the end of an iterator": lambda: _raise(StopIteration()), "no memory": lambda: _raise(MemoryError()),
    "too deep": _deep, "an error of its own": lambda: _raise(type("Own", (BaseException,), {})("odd")),
    "an assertion": lambda: _raise(AssertionError()), "a caught signal": _interrupt,
}  # fmt: skip
"""What is raised."""

ENDS = {
    "leaves": lambda: os._exit(3), "aborts": os.abort, "is killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "is terminated": lambda: os.kill(os.getpid(), signal.SIGTERM), "reads no memory": lambda: ctypes.string_at(1),
    "closes everything": lambda: os.closerange(0, 256),
    "runs another program": lambda: os.execv("/bin/false", ["false"]),
}  # fmt: skip
"""How a process ends."""


STAYS = {
    "floods its errors": lambda: os.write(2, b"x" * 65536), "prints": lambda: print("y" * 65536),
    "closes its output": lambda: os.close(1), "takes its output away": lambda: setattr(sys, "stdout", None),
    "starts threads": _threads, "forks": lambda: os.fork(), "clears its surroundings": lambda: os.environ.clear(),
    "goes elsewhere": lambda: os.chdir("/"),
    "forgets a module": lambda: sys.modules.pop("json"), "limits its depth": lambda: sys.setrecursionlimit(60),
    "listens": _listens,
}  # fmt: skip
"""What is done besides a right answer."""


def _one(actions, name):
    def verify(target_probs, draft_probs, draft_tokens, rng):
        result = actions[name]()
        if actions is STAYS:
            return [rng.choice(len(target_probs[0]), p=target_probs[0])]
        return result

    return verify


for _kind, _actions in (("returns", RETURNS), ("raises", RAISES), ("ends", ENDS), ("stays", STAYS)):
    for _name in _actions:
        globals()[f"{_kind} {_name}".replace(" ", "_")] = _one(_actions, _name)
