"""The zoo by name."""

from . import accept, block, control_randomness, controls, draft_side, floats, index, randomness, residual, target_side
from .catalogue import ZooEntry

KINDS_OF_MUTANT = (accept, residual, draft_side, target_side, randomness, index, block, floats)

MUTANTS: dict[str, ZooEntry] = {entry.name: entry for module in KINDS_OF_MUTANT for entry in module.MUTANTS}
CONTROLS: dict[str, ZooEntry] = {
    entry.name: entry for module in (controls, control_randomness) for entry in module.CONTROLS
}
ENTRIES: dict[str, ZooEntry] = {**MUTANTS, **CONTROLS}
