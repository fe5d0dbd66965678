"""The kinds of errors that end a command: what is wrong, an example, and what to do."""

from functools import cache
from pathlib import Path

import msgspec

from ...models.json_files import read_file

OF_KIND = {
    "load": "DP102",
    "convention": "DP103",
    "raises": "DP104",
    "crash": "DP105",
    "timeout": "DP106",
    "memory": "DP107",
}
"""Codes of failures of a run, by ``RunFailed.kind``. Other kinds have none."""


class ErrorPage(msgspec.Struct, forbid_unknown_fields=True):
    """A page on one kind of error.

    title: the kind in a few words.
    wrong: what is wrong. fix: what to do.
    command: one that ends with it, in a folder with these files, after the command ``before``. without: a package that
      is not installed.
    message: the beginning or end of what it says.
    page: of the documentation that has more.
    """

    title: str
    wrong: str
    command: str
    message: str
    fix: str
    page: str
    files: dict[str, str] = {}
    before: str = ""
    without: str = ""

    @property
    def example(self) -> str:
        """Return the files, the command and its message as a reader would see them."""
        files = [f"$ cat {name}\n{text.rstrip()}" for name, text in self.files.items()]
        said = self.message if self.message.startswith("draftproof: ") else f"... {self.message}"
        said += "" if said.endswith(")") else "..."
        return "\n".join([*files, *([f"$ {self.before}"] if self.before else []), f"$ {self.command}", said])


@cache
def error_pages() -> dict[str, ErrorPage]:
    """Return the pages by code."""
    return read_file(dict[str, ErrorPage], Path(__file__).with_name("errors.json"))
