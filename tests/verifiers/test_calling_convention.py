"""Calls of third-party functions: what they leave behind ends."""

import subprocess
import sys

FORKS = """
import os, sys
from draftproof.verifiers.adapters.calling_convention import call, plan_call

def f(target_probs, draft_probs, draft_tokens):
    os.fork()
    return [0]

def raises(target_probs, draft_probs, draft_tokens):
    os.fork()
    raise ValueError

first = os.getpid()
for k in range(40):  # 2^40 processes if each came back
    function = (f, raises)[k % 2]
    try:
        call(function, plan_call(function, "f"), ([], [], []), None)
    except ValueError:
        pass
    assert os.getpid() == first
print("done", end="")
"""


def test_forks_that_come_back_from_a_call_do_not_multiply():
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout, done.returncode) == ("done", 0), done.stderr
