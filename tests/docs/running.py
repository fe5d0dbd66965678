"""The blocks of a page in the order in which a reader comes by them: files are written, commands and Python are run.

A block with the caption ``NAME``, or Python that begins with ``# NAME.py``, is a file. A block of the language console
has commands after ``$ `` and what they print; one that fails is followed by ``echo $?``. Comments before a block:
``<!-- long: WHY -->`` leaves it to ``make long``, ``<!-- needs: PACKAGE or program -->`` to machines that have them,
``<!-- not run: WHY -->`` to nobody.
"""

import doctest
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest
from sybil import Document, Example
from sybil.evaluators.doctest import OutputChecker
from sybil.parsers.abstract.codeblock import AbstractCodeBlockParser
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer
from sybil.parsers.myst import PythonCodeBlockParser
from sybil.parsers.myst.lexers import DirectiveLexer

import draftproof
from draftproof.tests.reports.commands.in_process import draftproof as draftproof_here

ROOT = Path(draftproof.__file__).parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MARK = re.compile(r"<!-- (long|needs|not run): (.*?) -->")


def marks(example: Example) -> dict[str, str]:
    """The comments that stand directly before a block."""
    found: dict[str, str] = {}
    for line in reversed(example.document.text[: example.start].rstrip("\n").split("\n")):
        match = MARK.fullmatch(line)
        if match is None:
            break
        found[match[1]] = match[2]
    return found


def missing(names: str) -> str | None:
    """The first of the packages or programs that is not here."""
    return next((n for n in names.split() if not shutil.which(n) and not importlib.util.find_spec(n)), None)


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text.strip("\n") + "\n", encoding="utf-8")


class Files(AbstractCodeBlockParser):
    """Blocks with a caption."""

    def __init__(self):
        super().__init__([DirectiveLexer("code-block", arguments=".+")], language="any")

    def __call__(self, document: Document):
        for region in self.lexers(document):
            region.parsed = region.lexemes["source"]
            region.evaluator = lambda example, name=region.lexemes["options"]["caption"]: write(name, example.parsed)
            yield region


class Python(PythonCodeBlockParser):
    """Python that is a file by its first line, or is run."""

    def __call__(self, document: Document):
        for region in super().__call__(document):
            if "caption" in region.lexemes.get("options", ()):
                continue
            if isinstance(region.parsed, str) and (named := re.match(r"# (\w+\.py)\n", region.parsed)):
                region.evaluator = lambda example, name=named[1]: write(name, example.parsed)
            yield region


class Console(AbstractCodeBlockParser):
    """Commands and what they print."""

    def __init__(self):
        super().__init__([FencedCodeBlockLexer("console", mapping={"source": "source"})], language="console")

    def __call__(self, document: Document):
        for region in self.lexers(document):
            region.parsed, region.evaluator = region.lexemes["source"], run_commands
            yield region


def commands(block: str) -> list[tuple[str, str]]:
    """(command, what it is to print) of a block of the language console."""
    parts = re.split(r"^\$ ", block, flags=re.M)
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts[1:]]


SHELL = frozenset("|<>;&$`*?~")
"""Characters by which a command needs a shell. Others of draftproof's run in this process: to start one takes longer
than most of them."""


def run_commands(example: Example) -> str | None:
    """Run a block; what differs from what stands there, or nothing."""
    status = 0
    for command, expected in commands(example.parsed):
        if command == "echo $?":
            printed, status = f"{status}\n", 0
        elif status:
            return f"exit status {status} is not shown before {command!r}"
        elif command.startswith("draftproof ") and not SHELL.intersection(command):
            with patch.dict(os.environ, surroundings()):
                status, out, err = draftproof_here(*shlex.split(command)[1:], columns=100)
            printed = out + err
        else:
            done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=surroundings())
            printed, status = done.stdout + done.stderr, done.returncode
        if not OutputChecker().check_output(expected or "\n", printed or "\n", FLAGS):
            return f"$ {command}\n{printed}"
    return f"exit status {status} of the last command is not shown" if status else None


def surroundings() -> dict[str, str]:
    """A terminal of 100 columns in which draftproof is on the path."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return os.environ | {"PATH": path, "COLUMNS": "100", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}


def parsed(page: Path) -> Document:
    return Document.parse(str(page), Files(), Python(doctest_optionflags=FLAGS), Console())


def run(page: Path, long: bool) -> None:
    """Run the blocks of a page in the current folder."""
    skipped = ""
    for example in parsed(page):
        marked = marks(example)
        lacking = missing(marked.get("needs", ""))
        if lacking:
            skipped = f"a part of the page needs {lacking}"
        elif "not run" not in marked and (long or "long" not in marked):
            example.evaluate()
    if skipped:
        pytest.skip(skipped)
