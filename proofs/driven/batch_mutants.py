"""Whose rows are mixed up in the same way? What a subject emits in batches, compared with the zoo's mutants of batches.

A mutant says of which parts of a batch a row is answered. It explains a row if the subject emits among others what it
emits
alone on those parts; so the subject's own rule is not compared, and need not be the mutants'.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ...verifiers.adapters.protocol import PLACEHOLDER, Row
from ...verifiers.zoo.catalogue import BATCH_MUTANTS

Emitted = Callable[[list[Row]], Sequence[Any]]
"""What each row of one call comes to."""


def explained(random: Sequence[Mapping[str, Any]], batches: Iterable[list[Row]], emitted: Emitted) -> list[str]:
    """The mutants that explain every row of all batches, and at least one that is not what it is alone.

    random: the numbers that the subject takes; without one for each draft token and one more, no mutant is named.
    batches: rows without any draft token are not compared.
    """
    accept = [number["name"] for number in random if "gamma" in number.get("shape", ())]
    noise = [number["name"] for number in random if "gamma" not in number.get("shape", ())]
    if len(accept) != 1 or len(noise) != 1:
        return []
    names = {"accept": accept[0], "noise": noise[0]}
    mixes = {
        name: getattr(import_module(e.target.split(":")[0]), e.target.split(":")[1]).mix
        for name, e in BATCH_MUTANTS.items()
    }
    shown = dict.fromkeys(mixes, 0)
    for rows in batches:
        among, alone = emitted(rows), [emitted([row])[0] for row in rows]
        plain = [
            row._replace(random={role: np.asarray(row.random[name]) for role, name in names.items()}) for row in rows
        ]
        for mutant, mix in [*mixes.items()]:
            for k, row in enumerate(rows):
                if row.tokens[0] == PLACEHOLDER:
                    continue
                given = emitted([_handed_in(mix(plain, k), row, names)])[0]
                if given != among[k]:
                    del mixes[mutant]
                    break
                shown[mutant] += given != alone[k]
    return [mutant for mutant in mixes if shown[mutant]]


def _handed_in(mixed: Row, row: Row, names: Mapping[str, str]) -> Row:
    """A row of the subject's own kind, with nothing behind its last draft token."""
    tokens = [int(x) for x in mixed.tokens]
    drafted = tokens.index(PLACEHOLDER) if PLACEHOLDER in tokens else len(tokens)
    random = {name: _like(row.random[name], mixed.random[role]) for role, name in names.items()}
    random[names["accept"]] = random[names["accept"]][:drafted]
    return mixed._replace(
        target=_like(row.target, mixed.target)[: drafted + 1], draft=_like(row.draft, mixed.draft)[:drafted],
        tokens=_like(row.tokens, mixed.tokens)[:drafted], random=random,
    )  # fmt: skip


def _like(given: Any, value: Any) -> Any:
    """A value as an array of the same library."""
    return given.new_tensor(np.asarray(value)) if hasattr(given, "new_tensor") else np.asarray(value)
