"""The adapters by name: ours, and those that other distributions ship as entry points."""

import os
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

import msgspec

ENTRY_POINTS = "draftproof.adapters"
"""The group of entry points; the value of each is what an audit names, module:attribute (see ``protocol``)."""


def not_installed(packages: Sequence[str]) -> list[str]:
    """Those of the packages that cannot be imported."""
    return [package for package in packages if find_spec(package) is None]


def engine_folder(engine: str) -> Path:
    """Where an engine is unpacked: in $DRAFTPROOF_ENGINES, by default .venv-engines in the current folder."""
    return Path(os.environ.get("DRAFTPROOF_ENGINES") or ".venv-engines").absolute() / engine


def decoder_python(engine: str) -> Path:
    """The interpreter of a decoder's environment: in $DRAFTPROOF_DECODERS, by default .venv-decoders."""
    return Path(os.environ.get("DRAFTPROOF_DECODERS") or ".venv-decoders").absolute() / engine / "bin" / "python"


def in_a_clone_alone(module: str) -> list[str]:
    """What a module of ``unpacked`` needs where that folder is not, which is no part of the wheel."""
    package = f"{__package__}.unpacked"
    return ["a clone of draftproof"] if module.startswith(f"{package}.") and find_spec(package) is None else []


class Adapter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A third-party verifier, adapted to the plain calling convention or driven (see ``protocol``).

    target: "module:function" of the adapted function.
    packages: what must be importable.
    extra: the extra of draftproof that installs them.
    source: what is audited.
    modifies_target: True if what it emits has to be followed by the modified target of Algorithm 5.
    engines: folders that ``make engines`` makes (see ``lifted``).
    dtypes: of the rows, as the engine has them.
    array: what the rows arrive as; None to find out.
    randomness: how random numbers arrive. bonus, draft: where the bonus token is drawn, and which form of q it wants.
    claims: what the engine says of itself. tried: the versions this was written for.
    """

    name: str
    target: str
    packages: tuple[str, ...]
    extra: str
    source: str
    modifies_target: bool = False
    engines: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ("float64", "float32", "bfloat16")
    array: str | None = "torch"
    randomness: str = ""
    bonus: str = ""
    draft: str = ""
    claims: str = ""
    tried: str = ""

    def missing(self) -> list[str]:
        return not_installed(self.packages) + self.missing_engines()

    def missing_engines(self) -> list[str]:
        """Those of the engines that are not unpacked, and the clone where this adapter is in no wheel."""
        absent = [engine for engine in self.engines if not engine_folder(engine).is_dir()]
        return absent + in_a_clone_alone(self.target)


OURS = msgspec.json.decode(Path(__file__).with_name("adapters.json").read_bytes(), type=tuple[Adapter, ...])


def _shipped(entry: EntryPoint) -> Adapter:
    """An adapter of another distribution: by its metadata alone; what it names is loaded in the child process."""
    by = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an entry point"
    return Adapter(entry.name, entry.value, (), "", f"{entry.value}, shipped by {by}", dtypes=("float64",), array=None)


ADAPTERS = {adapter.name: adapter for adapter in [*map(_shipped, entry_points(group=ENTRY_POINTS)), *OURS]}
