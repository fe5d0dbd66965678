"""The decoders by name: mutants with a known bug, and unusual but right ones. What is known of each: catalogue.json."""

from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from ..decoding_settings import DRAFT
from .reference import Decoder, decoder_of


class DecoderEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decoder.

    name: X01.. for mutants, R01.. for right ones. decoder: "module:class" in this package. title: in a few words.
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
        """The class."""
        module, _, name = self.decoder.partition(":")
        return getattr(import_module(f"{__package__}.{module}"), name)


DECODERS: dict[str, dict[str, DecoderEntry]] = {
    kind: {entry.name: entry for entry in entries}
    for kind, entries in msgspec.json.decode(
        Path(__file__).with_suffix(".json").read_bytes(), type=dict[str, tuple[DecoderEntry, ...]]
    ).items()
}

WRONG_DECODERS, RIGHT_DECODERS = DECODERS["WRONG"], DECODERS["RIGHT"]


def __getattr__(name: str) -> Any:
    """Each as a decoder of the calling convention, by its name."""
    for entries in DECODERS.values():
        if name in entries:
            return decoder_of(entries[name].kind)
    raise AttributeError(name)
