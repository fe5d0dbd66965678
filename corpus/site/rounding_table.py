"""What rounding excuses, by the precision of the rows, that of the arithmetic, and the size: a table for readers.

Each cell is the bound of a law of token verification as ``measurement`` and ``wide_measurement`` judge it, with every
operation followed, as torch's are.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from draftproof.corpus.site import rounding_search as search
from draftproof.corpus.site import rounding_search_short as short
from draftproof.models.battery import drawn
from draftproof.models.law import Prefix, prefix_key
from draftproof.models.problem import AnyProblem, Problem
from draftproof.models.wide import WideProblem, wide
from draftproof.proofs.laws.law import Law
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.laws.wide_measurement import measured_wide
from draftproof.proofs.rounding.rounding_allowed import EPSILON, HALF
from draftproof.proofs.rounding.token_and_block import (
    CASCADE,
    IN_ORDER,
    PAIRWISE,
    growth,
    running_sum_bound,
    sum_depth,
)
from draftproof.proofs.rounding.tree_rules import (
    TreeSize,
    hierarchical_bound,
    k_seq_bound,
    list_matching_bound,
    multi_round_bound,
    traversal_bound,
)
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


class SumOrder(NamedTuple):
    """An order in which a row of WORST_VOCABULARY entries is summed. depth: additions that an entry goes through."""

    title: str
    depth: int


WORST_VOCABULARY = search.VOCABULARY
ORDERS = tuple(SumOrder(order, sum_depth(WORST_VOCABULARY, order)) for order in (PAIRWISE, CASCADE, IN_ORDER))
"""What the sums of engines are: in pairs, torch's cascade of short sums, or one entry after the other."""


def block_worst(size: TreeSize) -> float:
    """Return block verification's bound over all problems of a size. Source: Rounding.v, ``block_rounding``.

    A survival's error is emitted once, and that of the sums of weights counts once; each step adds what rounds there.
    """
    gamma, u, g = len(size.levels), size.unit, growth(size.unit, 2)
    weights, of_sum = u * (1 + u), growth(u, size.vocabulary)
    apart, more = weights * (1 + growth(u, size.vocabulary - 1)), 1 + u * (4 + u)
    kept = of_sum * more + u * (3 + u)
    coin = apart * more + weights + 2 * u * u * (2 + u) * (2 + apart + of_sum) + g * (1 + kept)
    step = g + weights + g * (1 + u) + coin
    return (gamma - 1) * step + (kept * (1 + g) if gamma > 1 else 0.0) + g + weights + u


WORST_RULES: Mapping[str, tuple[Callable[[TreeSize], float], tuple[int, ...]]] = {
    "block verification, gamma 1": (block_worst, (1,)),
    "block verification, gamma 4": (block_worst, (1,) * 4),
    "block verification, gamma 8": (block_worst, (1,) * 8),
    "multi-round rejection, 8 levels of 4": (multi_round_bound, (4,) * 8),
    "k-SEQ, 8 levels of 4": (k_seq_bound, (4,) * 8),
    "traversal verification, 60 nodes": (traversal_bound, (60,)),
    "hierarchical decoding, gamma 8": (hierarchical_bound, (1,) * 8),
    "list matching, 8 levels of 4": (list_matching_bound, (4,) * 8),
}
"""A rule -> its bound by the size of the tree, and the nodes at each depth."""


def worst_bound(rule: str, dtype: str, order: SumOrder) -> float:
    """Return the total variation by which rounding can move a rule's law on the worst of all problems of its size.

    Coins and last draws are exact here, and so are rows; a bound depends on the vocabulary by the depth of sums alone.
    """
    bound, levels = WORST_RULES[rule]
    unit = EPSILON[dtype] / 2
    size = TreeSize(order.depth + 1, levels, unit, 0.0, 0.0, 0.0, drawn(2, 1, "generic"))
    try:
        found = bound(size)
    except OverflowError:
        return math.inf
    return found if 0 <= found < math.inf else math.inf


class Found(NamedTuple):
    """A row of the table of what a search finds, all in float32."""

    what: str
    order: str
    bound: float
    found: float


def on_paths(gamma: int, *found: int | short.Emitting, hierarchical: bool = False) -> Callable[[int], float]:
    """Return what a search finds for sums of so many half steps.

    found: seeds of the worst of 8,000 paths, and paths at which a climb from hundreds of such paths ended.
    """

    def deviation(steps: int) -> float:
        paths = [
            short.emitting_path(one, steps) if isinstance(one, short.Emitting) else short.drawn_path(gamma, steps, one)
            for one in found
        ]
        return max(short.path_deviation(path, hierarchical) for path in paths)

    return deviation


def by_rejection(target: search.Row, draft: search.Row, siblings: int) -> search.Level:
    """Return what multi-round rejection makes of siblings by sums in order."""
    return search.by_rejection(target, draft, siblings, search.in_order)


def on_siblings(
    rule: Callable[..., search.Level], levels: int, *made: Any, siblings: int = 4
) -> Callable[[int], float]:
    """Return the same of levels of siblings. made: of the worst rows of a search that began at thousands of rows."""

    def deviation(steps: int) -> float:
        target, draft = short.sibling_rows(short.Siblings(*made), steps)
        return search.level_deviation(target, rule(target, draft, siblings), levels)

    return deviation


SEARCHED: Mapping[str, Callable[[int], float]] = {
    "block verification, gamma 1": on_paths(1, 557),
    "block verification, gamma 4": on_paths(
        4,
        143,
        1580,
        6375,
        short.Emitting(0.9961158858376533, (0.3302308788105352, 0.0625, 0.0625, 0.5), True, 8),
        short.Emitting(0.9978256793567944, (0.3647697769914064, 0.125, 0.25, 0.25), False, 9),
    ),
    "block verification, gamma 8": on_paths(
        8,
        short.Emitting(
            0.9999982877976167, (0.2666614955, 1 / 128, 1 / 8, 1 / 32, 1 / 16, 1 / 8, 1 / 8, 1 / 4), False, 18
        ),
        short.Emitting(
            0.9999753866818265, (0.3103385413, 1 / 32, 1 / 16, 1 / 16, 1 / 8, 1 / 8, 1 / 4, 1 / 32), True, 3
        ),
    ),
    "multi-round rejection, 8 levels of 4": on_siblings(by_rejection, 8, -3, True, 0.03956198, None, 0.5189207),
    "k-SEQ, 8 levels of 4": on_siblings(short.by_k_seq, 8, -1, False, 0.07802068, 0, 6.718e-06),
    "traversal verification, 60 nodes": on_paths(60, 555),
    "hierarchical decoding, gamma 8": on_paths(
        8,
        3430,
        short.Emitting(
            0.9999971084130452, (0.2783994977, 1 / 128, 1 / 64, 1 / 32, 1 / 128, 1 / 4, 1 / 8, 1 / 4), False, 15
        ),
        short.Emitting(
            0.9999817631922116, (0.2019746629, 1 / 32, 1 / 16, 1 / 64, 1 / 64, 1 / 2, 1 / 32, 1 / 16), False, 6
        ),
        hierarchical=True,
    ),
    "list matching, 8 levels of 4": on_siblings(short.by_list_matching, 8, -1, False, 0.9157344, 0, 0.4090939),
}
"""A rule -> the largest total variation that a search finds, by how many additions round the same way. On a path
traversal verification is block verification."""


def found_rows() -> list[Found]:
    """Return the bounds that a search was made for, with the largest deviation that it found."""
    in_order, unit = ORDERS[-1], EPSILON["float32"] / 2
    adds = {PAIRWISE: search.in_pairs, CASCADE: short.cascade, IN_ORDER: search.in_order}
    path, siblings = search.path_rows(search.largest_of_block()), search.siblings_rows()
    longer = {
        "block verification, gamma 8": lambda: search.block_deviation(path, search.in_order),
        "multi-round rejection, 8 levels of 4": lambda: search.multi_round_deviation(*siblings, search.in_order),
    }
    found = []
    for rule, deviation in SEARCHED.items():
        for order in ORDERS:
            if (bound := worst_bound(rule, "float32", order)) < 1:
                other = longer.get(rule) if order is in_order else None
                most = other() if other else deviation(len(short.places(adds[order.title])))
                found.append(Found(rule, order.title, bound, most))
    return [
        *found, Found("relative error of one sum", IN_ORDER, growth(unit, in_order.depth), search.largest_sum()),
        Found("look-up in the running sum", IN_ORDER, running_sum_bound(WORST_VOCABULARY, unit, 0.0),
              search.largest_look_up()),
    ]  # fmt: skip


def worst_table() -> str:
    """Return the bounds over all problems of a size, in Markdown."""
    columns = [("float32", order) for order in ORDERS] + [("float16", ORDERS[0]), ("bfloat16", ORDERS[0])]
    heads = [f"{dtype}, {order.title}" for dtype, order in columns]
    lines = [f"| rule | {' | '.join(heads)} |", "|" + "---|" * (len(heads) + 1)]
    for rule in WORST_RULES:
        bounds = [worst_bound(rule, dtype, order) for dtype, order in columns]
        lines.append(f"| {rule} | {' | '.join('none' if bound >= 1 else f'{bound:.1e}' for bound in bounds)} |")
    lines += ["", "| float32 | sums | bound | found by a search | bound / found |", "|---|---|---|---|---|"]
    for row in found_rows():
        share = f"{row.bound / row.found:.1f}" if row.bound < 9.95 * row.found else f"{row.bound / row.found:.0f}"
        lines.append(f"| {row.what} | {row.order} | {row.bound:.1e} | {row.found:.1e} | {share} |")
    return "\n".join(lines)
