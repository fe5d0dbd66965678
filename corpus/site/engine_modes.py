"""Modes of engines that have rows of their own on the page, and no name on the command line: they are in a clone alone.

An audit names the module: ``draftproof audit draftproof_engines.adapters.MODULE:ATTRIBUTE``.
"""

from pathlib import Path

import msgspec

from draftproof.verifiers.adapters.registry import Adapter

UNPACKED = "draftproof_engines.adapters"
"""The package whose modules the modes are in."""


class EngineMode(Adapter, frozen=True, kw_only=True):
    """An adapter that is named by its module.

    problems: in place of the survey's: some of toy1, toy2, zeros1; or a tree, or rows under settings that cut.
    lossy: whether its text is known not to follow the target, by design or by a known bug.
    """

    packages: tuple[str, ...] = ("torch",)
    extra: str = "torch"
    dtypes: tuple[str, ...] = ("float32",)
    randomness: str = "torch's global generator"
    bonus: str = "inside"
    draft: str = "probabilities"
    problems: tuple[str, ...] = ()
    lossy: bool = False

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "target", f"{UNPACKED}.{self.target.removeprefix(f'{UNPACKED}.')}")


MODES = {
    mode.name: mode
    for mode in msgspec.json.decode(Path(__file__).with_name("engine_modes.json").read_bytes(), type=list[EngineMode])
}
