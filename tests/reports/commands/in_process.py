"""The command line in this process: what a shell would see of it, without starting an interpreter each time."""

import io
import os
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import NamedTuple
from unittest.mock import patch

from draftproof.reports.commands.main import main

PAPER = '{"vocabulary": 2, "gamma": 2, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}'


class Ended(NamedTuple):
    """What a command left."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines on standard error."""
        return self.err.strip().splitlines()


@contextmanager
def _in_folder(folder):
    before = os.getcwd()
    os.chdir(folder or before)
    try:
        yield
    finally:
        os.chdir(before)


def draftproof(*words, cwd=None, columns=160) -> Ended:
    """Run a command in a folder, for a terminal of so many columns."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    argv = ["draftproof", *map(str, words)]
    shell = patch.object(sys, "argv", argv), patch.dict(os.environ, {"COLUMNS": str(columns)})
    with _in_folder(cwd), shell[0], shell[1], redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
    return Ended(status, out.getvalue(), err.getvalue())
