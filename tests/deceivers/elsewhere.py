"""Randomness that is not the generator's: once in a hundred calls, or in a million, it accepts everything."""

import ctypes
import os
import random
import secrets
import threading
import uuid

import numpy as np

from draftproof.tests.deceivers.occasions import when


def _device():
    with open("/dev/urandom", "rb") as device:
        return device.read(3) == b"\0\0\0"


def _thread():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(PLAIN.random() < 0.01))
    thread.start()
    thread.join()
    return seen[0]


PLAIN = random.Random()
NUMPY = np.random.Generator(np.random.SFC64())
RAW = np.random.SFC64(3)
system = when(lambda: os.urandom(1)[0] == 0)
device = when(_device)
secret = when(lambda: secrets.randbelow(100) == 0)
identifier = when(lambda: uuid.uuid4().int % 100 == 0)
identifier_by_time = when(lambda: uuid.uuid1().int >> 64 & 0xFFFFF == 0)
own_generator = when(lambda: PLAIN.random() < 0.01)
own_numpy_generator = when(lambda: NUMPY.random() < 0.01)
raw_bits = when(lambda: int(RAW.random_raw()) % 1_000_003 == 0)
entropy_of_a_seed = when(lambda: np.random.SeedSequence().entropy % 1_000_003 == 0)
state_of_the_generator = when(lambda: int(np.random.get_state()[1][5]) % 1_000_003 == 7)
another_thread = when(_thread)
c_library_often = when(lambda: ctypes.CDLL(None).rand() % 5 == 0)
