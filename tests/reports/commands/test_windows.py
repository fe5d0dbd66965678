"""A platform without fork: every command ends with one line, and no traceback."""

import subprocess
import sys

import pytest

AS_ON_WINDOWS = """
import subprocess, click  # which have parts of their own for Windows
import sys
for missing in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[missing] = None
sys.platform = "win32"
"""
LINE = "Windows is not supported: an audit needs fork and resource limits; use WSL 2, or Docker as docs/ci.md shows"


def python(code):
    return subprocess.run([sys.executable, "-c", AS_ON_WINDOWS + code], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("words", [["audit", "mine.py:verify"], ["doctor"], []])
def test_a_command_says_so_in_one_line(words):
    done = python(f"sys.argv = ['draftproof', *{words}]\nfrom draftproof.reports.commands.main import main\nmain()")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"draftproof: {LINE}\n")


def test_a_function_says_so_and_what_needs_no_fork_is_imported():
    done = python("import draftproof, draftproof.reports.testing.plugin\nfrom draftproof import audit")
    assert done.returncode == 1 and done.stderr.endswith(f"InputError: {LINE}\n")
