"""A machine with more to do than it has processors."""

import os
import subprocess
import sys

import pytest


@pytest.fixture
def busy_machine():
    """Two endless loops a processor, until the test is over."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()
