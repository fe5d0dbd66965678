"""Copies of the Triton kernels with a change in their text, under names of their own, as driven subjects."""

import inspect
import linecache
import sys
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from draftproof.verifiers.adapters.triton_kernels import Kernels

PACKAGE = "draftproof.verifiers.triton_kernels"
FILES = "parts", "token_verification", "block_verification", "launching"


class Change(NamedTuple):
    """Text of one of FILES that is replaced, everywhere in it."""

    file: str
    old: str
    new: str


def changed(name: str, *changes: Change) -> dict[str, ModuleType]:
    """Fresh modules of the kernels with these changes, by file."""
    package = f"draftproof.verifiers.{name}"
    sys.modules[package], modules = ModuleType(package), {}
    sys.modules[f"{package}.runtime"] = import_module(f"{PACKAGE}.runtime")
    for file in FILES:
        text = inspect.getsource(import_module(f"{PACKAGE}.{file}"))
        for change in changes:
            assert change.file != file or change.old in text, change
            text = text.replace(change.old, change.new) if change.file == file else text
        place = f"<{name}: {file}>"
        linecache.cache[place] = len(text), None, text.splitlines(keepends=True), place  # Triton reads sources there
        modules[file] = sys.modules[f"{package}.{file}"] = ModuleType(f"{package}.{file}")
        modules[file].__package__ = package
        setattr(sys.modules[package], file, modules[file])
        exec(compile(text, place, "exec"), vars(modules[file]))
    return modules


MUTANTS = {
    # the last tile of the vocabulary is left out
    "tile_dropped": [Change("launching", "tiles = -(-vocabulary // tile)",
    "tiles = max(vocabulary // tile, 1)")],
    # two programs write their partial sums to one place: that of the first is lost
    "partial_sums_lost": [
        Change("launching", "torch.empty(sums", "torch.zeros(sums"),
        Change("token_verification", "sums + b * TILES + k,", "sums + b * TILES + k // 2 * 2,"),
        Change("block_verification", "* TILES + k, tl.sum", "* TILES + k // 2 * 2, tl.sum"),
    ],
    "sums_in_half_precision": [
        Change(file, "tl.sum(left, 1)", "tl.sum(left, 1).to(tl.float16).to(tl.float32)")
        for file in ("token_verification", "block_verification")
    ],
    # coins have the places of the last token's numbers
    "numbers_repeat": [Change("parts", "tl.constexpr(keyed_uniforms.FIRST_COIN)", "tl.constexpr(0)")],
    "seed_of_the_slot": [Change("parts", "keyed_uniform(tl.load(seeds + 2 * b)",
    "keyed_uniform(b + tl.load(seeds + 2 * b)")],
    # a placeholder is looked up as token 0
    "placeholder_ignored": [
        Change("parts", "token = tl.load(tokens + b * GAMMA + i)",
               "token = tl.maximum(tl.load(tokens + b * GAMMA + i), 0)"),
        Change("parts", "(tl.load(tokens + b * GAMMA + tl.minimum(at, GAMMA - 1)) >= 0)", "(tokens is not None)"),
    ],
    # the draft's logits are taken as they are
    "temperature_of_the_target_alone": [
        Change("launching", "_scales(draft, temperature", "_scales(draft, torch.ones_like(temperature)"),
        Change("parts", "(draft, draft_scales, heat, b", "(draft, draft_scales, heat * 0 + 1, b"),
        Change("parts", "(draft, draft_scales, hot,", "(draft, draft_scales, hot * 0 + 1,"),
    ],
    "residual_of_the_next_row": [Change("parts", "place = tl.minimum(at, GAMMA - 1)",
    "place = tl.minimum(at + 1, GAMMA - 1)")],
}  # fmt: skip
"""Named after what is wrong in them."""


def mutant(name: str, algorithm: str, form: str = "") -> Kernels:
    """The kernels with the bug of that name."""
    modules = changed(f"kernels_{name}", *MUTANTS[name])
    modules["launching"].TILE = modules["launching"].WIDE_TILE = 2
    return Kernels(algorithm, form, modules["launching"], modules["parts"])
