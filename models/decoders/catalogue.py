"""Decoders with a known bug, by name. What is known of each: catalogue.json."""

from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from ..decoding_settings import DRAFT
from .reference import Decoder, decoder_of


class DecoderEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decoder.

    name: X01... decoder: "module:class" in this package. title: in a few words.
    ancestor, link: the public bug that a mutant descends from; empty where there is none on record.
    settings, sampling, tokens: of a request that shows the bug. refutes: the claims that an audit refutes there.
    followed: whether its law needs its real numbers and memory, and is no program over chance.
    """

    name: str
    decoder: str
    title: str
    ancestor: str = ""
    link: str = ""
    settings: dict[str, Any] = {}
    sampling: str = DRAFT
    tokens: int = 3
    refutes: tuple[str, ...] = ("lossless", "same-as-plain")
    followed: bool = False

    @property
    def kind(self) -> type[Decoder]:
        """Return the mutant's class."""
        module, _, name = self.decoder.partition(":")
        return getattr(import_module(f"{__package__}.{module}"), name)


WRONG_DECODERS = {
    entry.name: entry
    for entry in msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=tuple[DecoderEntry, ...])
}


def __getattr__(name: str) -> Any:
    """Return the decoder of this name by the calling convention."""
    if name in WRONG_DECODERS:
        return decoder_of(WRONG_DECODERS[name].kind)
    raise AttributeError(name)
