"""The classes of bug that vectors are made to catch (flags.json)."""

from pathlib import Path

from msgspec import Struct

from ....models.json_files import read_file


class Flag(Struct, frozen=True):
    """A class of bug.

    bug: what a program that fails such a vector is likely to do.
    link: to a verifier that did so.
    needs: the answers of which one at least must be given for the bug to show.
    """

    bug: str
    link: str
    needs: list[str]


FLAGS = read_file(dict[str, Flag], Path(__file__).with_name("flags.json"))
