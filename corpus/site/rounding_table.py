"""What rounding excuses, by the precision of the rows, that of the arithmetic, and the size: a table for readers.

Each cell is the bound of a law of token verification as ``measurement`` and ``wide_measurement`` judge it, with every
operation followed, as torch's are.
"""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from draftproof.models.battery import drawn
from draftproof.models.law import Prefix, prefix_key
from draftproof.models.problem import AnyProblem, Problem
from draftproof.models.wide import WideProblem, wide
from draftproof.proofs.laws.law import Law
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.laws.wide_measurement import measured_wide
from draftproof.proofs.rounding.rule import HALF
from draftproof.verifiers.adapters.calling_convention import rounded

PRECISIONS = (
    ("float64", "float64"), ("float32", "float64"), ("float32", "float32"), ("float16", "float32"),
    ("float16", "float16"), ("bfloat16", "float32"), ("bfloat16", "bfloat16"),
)  # fmt: skip
"""Types of the rows, and of the arithmetic on them. Coarser arithmetic is excused as if it were the rows'."""

BITS = {"float64": 53}
"""Bits of the uniform that is looked up; 24 in the other types."""


class Size(NamedTuple):
    """A column. looked_up: whether the last token is looked up in a running sum, or drawn by its weights."""

    title: str
    problem: AnyProblem
    looked_up: bool = False


def sizes() -> list[Size]:
    """Return the columns."""
    dense = wide(151_936, 1)
    return [
        Size("V = 5, gamma 1", drawn(5, 1, "generic", 0)),
        Size("V = 3, gamma 3", drawn(3, 3, "generic", 0)),
        Size("V = 1,003, gamma 1, by weights", wide(1_003, 1)),
        Size("V = 151,936, gamma 1, by weights", dense),
        Size("the same, looked up", dense, looked_up=True),
    ]


def bounds(size: Size, rows: str, arithmetic: str) -> Law:
    """Return a law with what is cleared (``tolerance``) and beyond what is refuted (``explained``) in one cell."""
    used = {"followed": [arithmetic], "unseen": [], "in_trees": not size.looked_up, "in_order": False}
    if isinstance(size.problem, Problem):
        return measured(size.problem, rows, [_in_use(size.problem, rows), {"arithmetic": used}])
    bits = BITS.get(arithmetic, 24) if size.looked_up else None
    return measured_wide(size.problem, rows, [*_answers(size.problem, rows, bits), {"arithmetic": used}])


def _in_use(problem: Problem, dtype: str) -> dict[str, Any]:
    """Return the rows as they are in this type, normalised, and what each of their sums was more than 1."""
    off, answer = [], {}
    for name, last in (("target", problem.gamma + 1), ("draft", problem.gamma)):
        answer[name] = {}
        off.append({})
        for prefix in (x for n in range(last) for x in problem.prefixes(n)):
            row = np.array([float(p) for p in getattr(problem, name).row(prefix)])
            exact = [Fraction(p) for p in rounded(row.tolist(), dtype)]
            off[-1][prefix_key(prefix)] = float(sum(exact)) - 1
            answer[name][prefix_key(prefix)] = [str(p / sum(exact)) for p in exact]
    return answer | {"off": off}


def _answers(problem: WideProblem, dtype: str, bits: int | None) -> Iterator[Mapping[str, Any]]:
    """Token verification's law on a wide problem of gamma = 1, exact."""
    rows: list[np.ndarray] = []

    def sent(row: np.ndarray) -> dict[str, Any]:
        rows.append(row)
        return {"row": len(rows) - 1, "data": row.astype("<f8").tobytes()}

    def used(name: str, prefix: Prefix) -> np.ndarray:
        return np.array(rounded(getattr(problem, f"{name}_row")(prefix), dtype))

    prefixes = [x for n in range(2) for x in problem.prefixes(n)]
    target, draft = {x: used("target", x) for x in prefixes}, used("draft", ())
    for row in (*target.values(), draft, np.maximum(target[()] - draft, 0)):
        yield sent(row)
    residual = len(rows) - 1
    keys = {prefix_key(x): at for at, x in enumerate(prefixes)}
    yield {"target": keys, "draft": {"": len(prefixes)}, "off": {"target": 0.0, "draft": 0.0}}
    for token in problem.live[0]:
        kept = min(target[()][token] / math.fsum(target[()]) / (draft[token] / math.fsum(draft)), 1.0)
        about = {"first": 0, "called": 1, "look_up": bits and (bits, ""), "part": 1.0, "ends": None, "roundings": None}
        ends = [({"prefix": [token], "weights": keys[prefix_key((token,))]}, kept),
                ({"prefix": [], "weights": residual}, 1 - kept)]  # fmt: skip
        yield {
            "block": [token], "law": [], "reason": None, "neutral": False, "paths": 2, "exactness": "lattice",
            "resolution": 0.0, "coarsest": 0, "unknown": 0.0, "not_called": 0.0, "ids": [],
            "rows": [about | end | {"probability": chance} for end, chance in ends if chance > 0],
        }  # fmt: skip


def table() -> str:
    """Return the table, in Markdown: what is cleared up to, and refuted beyond, as total variations."""
    columns = sizes()
    lines = ["| rows | arithmetic | " + " | ".join(size.title for size in columns) + " |"]
    lines.append("|" + "---|" * (len(columns) + 2))
    for rows, arithmetic in PRECISIONS:
        laws = [bounds(size, rows, arithmetic) if decidable(size, arithmetic) else None for size in columns]
        cells = [f"{law.tolerance:.1e}, {law.explained:.1e}" if law else "-" for law in laws]
        lines.append(f"| {rows} | {arithmetic} | {' | '.join(cells)} |")
    return "\n".join(lines)


def decidable(size: Size, arithmetic: str) -> bool:
    """Return whether right code can hold there: a running sum of a large vocabulary in half precision stands still."""
    return not (size.looked_up and arithmetic in HALF)
