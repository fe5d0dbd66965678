"""Text that every Python installation has, its library's sources and help topics: to train on, and prompts held out."""

import hashlib
import json
import sysconfig
from collections.abc import Iterator, Sequence
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import NamedTuple

from draftproof.models.errors import InputError

EXCLUDED_FOLDERS = {
    "__pycache__", "dist-packages", "distutils", "encodings", "ensurepip", "idlelib", "lib2to3", "pydoc_data",
    "site-packages", "test", "tests", "tkinter", "turtledemo",
}  # fmt: skip
"""Left out: tables of characters, what some installations lack, what is not of the library."""

HELD_OUT = (
    "argparse.py", "bisect.py", "calendar.py", "csv.py", "fractions.py", "heapq.py", "json/decoder.py", "shlex.py",
    "statistics.py", "tarfile.py", "textwrap.py", "unittest/case.py",
)  # fmt: skip
"""On which nothing is trained. Help topics are not held out: they share passages."""

MIN_CHARACTERS = 1_000_000
"""With less text something is missing."""

SHORTEST, LONGEST = 60, 240
"""Characters of a prompt."""


class Document(NamedTuple):
    """A module, named by its path in the standard library, or a help topic, named topics/NAME."""

    name: str
    text: str


class Corpus(NamedTuple):
    """What to train on, and what is held out for prompts and for measuring; each in the order of names."""

    training: tuple[Document, ...]
    held_out: tuple[Document, ...]

    def digest(self) -> str:
        """sha256 of all of it: two installations with the same digest have the same text."""
        digest = hashlib.sha256()
        for documents in self:
            for document in documents:
                digest.update(f"{document.name}\0{document.text}\0".encode())
            digest.update(b"\0")
        return digest.hexdigest()


def corpus() -> Corpus:
    """Return the text of this installation.

    Raises: InputError if the sources are not there (in some installations the library is there in compiled form only).
    """
    folder = Path(sysconfig.get_path("stdlib"))
    documents = [*sorted(_modules(folder)), *_topics()]
    training = tuple(d for d in documents if d.name not in HELD_OUT)
    held_out = tuple(d for d in documents if d.name in HELD_OUT)
    characters = sum(len(d.text) for d in training)
    if characters < MIN_CHARACTERS or not held_out:
        sources = f"has {characters:,} characters of Python sources"
        raise InputError(f"{folder}: {sources}; expected those of the standard library")
    return Corpus(training, held_out)


def _modules(folder: Path) -> Iterator[Document]:
    for path in folder.rglob("*.py"):
        *folders, file = path.relative_to(folder).parts
        excluded = any(name in EXCLUDED_FOLDERS or name.startswith("config-") for name in folders)
        if excluded or file.startswith("_sysconfigdata"):  # the latter differs from machine to machine
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if text.strip():
            yield Document("/".join((*folders, file)), text)


def _topics() -> list[Document]:
    try:
        from pydoc_data.topics import topics
    except ImportError:
        return []
    return [Document(f"topics/{name}", topics[name]) for name in sorted(topics)]


def write_prompts(documents: Sequence[Document], count: int, file: Path) -> int:
    """Write up to ``count`` prompts, a JSON object a line with the fields prompt and source; how many there were.

    Each is the beginning of a paragraph, up to the end of a line; the documents take turns.
    """
    turns = zip_longest(*map(_of_document, documents))
    lines = [json.dumps(given) for given in islice(filter(None, chain.from_iterable(turns)), count)]
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(lines)


def _of_document(document: Document) -> Iterator[dict[str, str]]:
    """Yield every paragraph in turn, but none that begins within the prompt before."""
    at = 0
    while at < len(document.text):
        prompt = document.text[at : at + LONGEST]
        if len(prompt) == LONGEST and "\n" in prompt:
            prompt = prompt[: prompt.rindex("\n") + 1]
        prompt = prompt.rstrip()
        if len(prompt) >= SHORTEST:
            yield {"prompt": prompt, "source": document.name}
        following = document.text.find("\n\n", at + len(prompt))
        if following < 0:
            return
        at = following + 2
