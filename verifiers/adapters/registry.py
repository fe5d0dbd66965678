"""The adapters and the engines by name: ours, and adapters that other distributions ship as entry points."""

import os
import warnings
from collections.abc import Sequence
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

import msgspec

ENTRY_POINTS = "draftproof.adapters"
"""The group of entry points. A value ``module:attribute`` is what an audit names (see ``protocol``); a value without
colon is a package that holds a catalogue: ``adapters.json``, ``engines.json``, with the fields below."""

Row = TypeVar("Row")


def not_installed(packages: Sequence[str]) -> list[str]:
    """Return the packages that cannot be imported."""
    return [package for package in packages if find_spec(package) is None]


def engine_folder(engine: str) -> Path:
    """Return where an engine is unpacked: in $DRAFTPROOF_ENGINES, by default .venv-engines in the current folder."""
    return Path(os.environ.get("DRAFTPROOF_ENGINES") or ".venv-engines").absolute() / engine


def decoder_python(engine: str) -> Path:
    """Return the interpreter of a decoder's environment: in $DRAFTPROOF_DECODERS, by default .venv-decoders."""
    return Path(os.environ.get("DRAFTPROOF_DECODERS") or ".venv-decoders").absolute() / engine / "bin" / "python"


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
        """Return those of the engines that are not unpacked."""
        return [engine for engine in self.engines if not engine_folder(engine).is_dir()]


HERE = "draftproof.verifiers.adapters"
"""The package that holds draftproof's own catalogue."""


def catalogue(package: str, kind: str, row: type[Row]) -> list[Row]:
    """Return the rows of a package's ``adapters.json`` or ``engines.json``; none where it has no such file.

    The package is not imported: what its rows name is loaded in the child process.
    """
    spec = find_spec(package)
    for folder in spec.submodule_search_locations or () if spec else ():
        file = Path(folder) / f"{kind}.json"
        if file.is_file():
            try:
                return [msgspec.convert(one, row) for one in msgspec.json.decode(file.read_bytes())]
            except msgspec.DecodeError as error:  # of another distribution: no reason to end every command
                warnings.warn(f"{file}: {error}; its entries are skipped", stacklevel=2)
    return []


def _shipped() -> tuple[list[Adapter], list[str]]:
    """Return the adapters of other distributions, and the packages of those that ship a catalogue."""
    adapters, packages = [], []
    for entry in entry_points(group=ENTRY_POINTS):
        if ":" not in entry.value:
            packages.append(entry.value)
            continue
        by = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an entry point"
        source = f"{entry.value}, shipped by {by}"
        adapters.append(Adapter(entry.name, entry.value, (), "", source, dtypes=("float64",), array=None))
    return adapters, packages


SHIPPED, CATALOGUES = _shipped()
"""Adapters that other distributions name one by one; packages of theirs with a catalogue."""

ADAPTERS: dict[str, Adapter] = {}
for _row in [*(row for p in (HERE, *CATALOGUES) for row in catalogue(p, "adapters", Adapter)), *SHIPPED]:
    ADAPTERS.setdefault(_row.name, _row)  # nobody takes a name of draftproof's own


TOKENS = 3
"""Tokens of a text whose law is asked for, unless the engine says how many."""


class Engine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program that generates text with a target and a draft.

    source: what is audited.
    sample: "module:function" or "file.py:function" of sample(target, draft, start, tokens, gamma, seeds, **settings),
        which yields, for each seed, the ``tokens`` ids that the engine emits after the prompt [start]; target and draft
        are folders with Llama checkpoints, draft is None for plain sampling, gamma is the length of a draft block.
    packages: what must be importable.
    extra: the extra of draftproof that installs them.
    samples: how many an audit takes of each problem.
    unpacked: whether its packages may also lie in the folder of its name that ``make engines`` makes.
    follows: whether its random numbers can be followed, so that the law of its texts is known.
    settings: those of ``models.decoding_settings`` that it has, and ways of drafting of its own; None if not known.
    order: of its processors, a key of ``decoding_settings.ORDERS``.
    logprobs: what those that it reports are of: the law under the "settings", or the "model"; empty if there are none.
    forged: whether it reads checkpoints; the models here read the problem in the same folder.
    modes: ways of drafting: "draft" from the draft model, "lookup" from the text itself.
    driver: of an engine in an environment of its own whose random numbers are handed in: the module that starts it.
    tokens: of a text whose law is asked for.
    """

    name: str
    source: str
    sample: str = ""
    packages: tuple[str, ...] = ()
    extra: str = ""
    samples: int = 2_000
    unpacked: bool = False
    follows: bool = False
    settings: tuple[str, ...] | None = None
    order: str = "draftproof-reference"
    logprobs: str = ""
    forged: bool = True
    modes: tuple[str, ...] = ("draft",)
    driver: str = ""
    tokens: int = TOKENS

    @property
    def exact(self) -> bool:
        """Return whether the law of its texts can be known."""
        return self.follows or bool(self.driver)

    def missing(self) -> list[str]:
        if self.driver:
            made = decoder_python(self.name)
            return [] if made.is_file() else [f"its environment {made.parents[1]} (make decoders)"]
        absent = not_installed(self.packages)
        return [p for p in absent if not (self.unpacked and (engine_folder(self.name) / p).is_dir())]


ENGINES: dict[str, Engine] = {}
for _row in (row for p in (HERE, *CATALOGUES) for row in catalogue(p, "engines", Engine)):
    ENGINES.setdefault(_row.name, _row)
