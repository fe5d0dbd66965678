"""Defects drawn at random (``tests/models/defects.py``) in NumPy code, as an audit gets it.

``drawn.py:d17`` has the defect of seed 17; the benchmark counts how many of them an audit refutes.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from draftproof.tests.models.defects import Drawn, Place, drawn_defect
from draftproof.verifiers.zoo.building_blocks import answer, draw, excess, ratio, share, survivals


def _without_smallest(row: np.ndarray) -> np.ndarray:
    smallest = row[row > 0].min()
    return np.where(row == smallest, 0.0, row) if (row > smallest).any() else row


ROWS: dict[str, Callable[[Place, np.ndarray], np.ndarray]] = {
    "target": lambda place, row: place.target,
    "draft": lambda place, row: place.draft if place.drafted else row,
    "largest": lambda place, row: np.where(np.arange(len(row)) == row.argmax(), 1.0, 0.0),
    "smallest dropped": lambda place, row: _without_smallest(row),
    "flat": lambda place, row: (row > 0).astype(float),
}
"""What is drawn from instead, as ``defects.DRAWS`` for arrays."""


def verifier(drawn: Drawn) -> Callable[..., list[int]]:
    """Token or block verification with the defect."""
    size = 1.0 / drawn.one_in
    defect = replace(drawn.defect, share=size)  # a float, as coins are here

    def verify(target: Any, draft: Any, tokens: Any, rng: Any) -> list[int]:
        gamma = len(tokens)
        block = SimpleNamespace(tokens=tuple(map(int, tokens)), gamma=gamma)

        def emitted(i: int, rest: np.ndarray, survival: float) -> list[int]:
            row = rest if rest.sum() > 0 else target[i]
            place = Place(block, i, None, survival, target[i], draft[i] if i < gamma else None)
            if defect.mistake in ROWS and defect.where(place) and (size == 1 or rng.random() < size):
                row = ROWS[defect.mistake](place, row)
            return answer(tokens[:i], draw(rng, row, target[i]))

        def kept(i: int, survival: float, coin: float) -> bool:
            place = Place(block, i + 1, block.tokens[i], survival, target[i], draft[i])
            return rng.random() < float(defect.coin(place, coin))

        if drawn.algorithm == "token":
            for i, x in enumerate(block.tokens):
                coin = min(ratio(target[i][x], draft[i][x]), 1.0)
                if not kept(i, coin, coin):
                    return emitted(i, excess(target[i], draft[i]), 1.0)
            return emitted(gamma, target[-1], 1.0)
        p = survivals(target, draft, tokens)
        for i in range(gamma, 0, -1):
            rest = excess(target[i], draft[i], p[i]) if i < gamma else target[-1]
            if kept(i - 1, p[i], share(rest.sum(), 1.0 - p[i]) if i < gamma else p[i]):
                return emitted(i, rest, p[i])
        return emitted(0, excess(target[0], draft[0]), 1.0)

    return verify


@cache
def __getattr__(name: str) -> Callable[..., list[int]]:
    if name.startswith("d") and name[1:].isdigit():
        return verifier(drawn_defect(int(name[1:]), wide=True))
    raise AttributeError(name)
