"""The inputs of the deterministic vectors: blocks that can show a bug, and random numbers that lead to every outcome.

Uniforms stay so far from every threshold that rounding in float32 cannot decide, except where the rule says which side they
are on: u = 0 never passes h = 0, the largest u passes h = 1. At u = h itself, 0 < h < 1, ``<`` and ``<=`` give the
same law up to one step of the lattice: no vector stands there.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from ....verifiers.arithmetic import residual
from ....verifiers.draft_block import Block
from .answers import RULES, Numbers, answer, survival, thresholds
from .forms import float32

ZERO, ONE = Fraction(0), Fraction(1)
BITS = 24
"""Of the uniforms of most vectors, so that float32 holds them."""


class Case(NamedTuple):
    """One deterministic vector's input.

    rule: one of ``RULES``.
    block: rows and tokens; gamma may be 0.
    numbers: what decides.
    flags: classes of bug that it is made to catch.
    comment: what it is, in a few words.
    bits: of the uniforms' lattice.
    batch: name of the batch that it stands in, its place there and the batch's gamma; None for a request alone.
    """

    rule: str
    block: Block
    numbers: Numbers
    flags: tuple[str, ...]
    comment: str
    bits: int = BITS
    batch: tuple[str, int, int] | None = None


class Inputs(NamedTuple):
    """A block under a name, with what it is made to show."""

    name: str
    block: Block
    flags: tuple[str, ...] = ()


def _inputs(
    name: str, target: Sequence[Sequence[int]], draft: Sequence[Sequence[int]], tokens: Sequence[int], *flags: str
) -> Inputs:
    """Rows given by whole weights."""
    target_rows, draft_rows = ([[Fraction(w, sum(row)) for w in row] for row in rows] for rows in (target, draft))
    return Inputs(name, Block(target_rows, draft_rows, tuple(tokens)), flags)


def _peak(vocabulary: int, **weights: int) -> list[int]:
    """Weight 1 everywhere, and others at the tokens named ``at_TOKEN``."""
    row = [1] * vocabulary
    for name, weight in weights.items():
        row[int(name.removeprefix("at_"))] = weight
    return row


GENERIC = _inputs(
    "three tokens over three, rows that differ", [[1, 3, 5], [4, 1, 2], [2, 3, 1], [5, 1, 6]],
    [[4, 2, 3], [1, 4, 3], [3, 1, 5]], [0, 1, 2], "Acceptance", "Residual")  # fmt: skip

INPUTS = (
    GENERIC,
    _inputs("one draft token", [[2, 7, 3], [1, 1, 5]], [[5, 3, 4]], [0], "Acceptance", "Residual"),
    _inputs("two draft tokens", [[1, 2], [5, 2], [1, 4]], [[2, 1], [3, 4]], [0, 1], "Acceptance"),
    _inputs("four draft tokens over four", [[1, 4, 2, 3], [6, 1, 1, 4], [2, 2, 5, 3], [3, 1, 7, 2], [1, 5, 2, 9]],
            [[4, 3, 2, 1], [2, 3, 3, 4], [1, 1, 2, 6], [5, 2, 1, 2]], [0, 2, 3, 0], "Acceptance", "Residual"),
    _inputs("ratios above 1, then below", [[6, 1, 1], [1, 5, 2], [2, 1, 4], [1, 2, 3]],
            [[2, 3, 3], [4, 3, 1], [5, 2, 1]], [0, 0, 0], "LargeRatio", "Residual"),
    _inputs("a ratio below 1, then above", [[1, 4, 3], [5, 1, 2], [3, 4, 1]], [[4, 2, 2], [2, 3, 3]], [0, 0],
            "LargeRatio", "Residual"),
    _inputs("the target excludes drafted tokens", [[1, 0, 3], [0, 4, 4], [2, 5, 1]], [[2, 1, 1], [1, 1, 2]], [0, 0], "ZeroTarget"),
    _inputs("the draft excludes tokens", [[2, 5, 1], [1, 3, 4], [5, 1, 2]], [[3, 0, 1], [0, 2, 6]], [0, 2], "ZeroDraft", "Residual"),
    _inputs("both exclude a token", [[0, 5, 1, 2], [0, 1, 3, 4], [0, 3, 4, 1]], [[0, 2, 3, 3], [0, 5, 2, 1]], [2, 1], "BothZero"),
    _inputs("a one-hot draft", [[3, 4, 1], [2, 1, 5], [1, 2, 1]], [[0, 1, 0], [1, 0, 0]], [1, 0], "OneHot", "ZeroDraft"),
    _inputs("a one-hot target", [[0, 0, 1], [1, 0, 0], [0, 1, 0]], [[1, 2, 5], [2, 1, 1]], [2, 1], "OneHot", "ZeroTarget"),
    _inputs("equal rows", [[1, 2, 5], [4, 1, 3], [2, 5, 1]], [[1, 2, 5], [4, 1, 3]], [1, 0], "EqualRows"),
    _inputs("equal rows, then others", [[1, 2, 5], [4, 1, 3], [2, 5, 1]], [[1, 2, 5], [1, 5, 2]], [2, 1], "EqualRows"),
    _inputs("ties in every row", [[1, 1, 2, 4], [2, 2, 2, 2], [4, 2, 1, 1]], [[4, 2, 1, 1], [4, 1, 1, 2]], [0, 0], "Ties", "Residual"),
    _inputs("one token in all", [[1], [1], [1]], [[1], [1]], [0, 0], "OneToken"),
    _inputs("300 tokens", [_peak(300, at_299=40, at_7=90), _peak(300, at_256=70, at_2=30), _peak(300, at_258=99, at_1=50)],
            [_peak(300, at_299=140, at_270=33), _peak(300, at_256=170, at_290=20)], [299, 256], "WideVocabulary"),
    _inputs("1,025 tokens", [_peak(1025, at_1024=500, at_0=700), _peak(1025, at_1023=999)], [_peak(1025, at_1024=2000, at_3=50)],
            [1024], "WideVocabulary"),
    _inputs("what float16 rounds to 0", [[1, 2**30, 2**29], [1, 2**31, 2**30], [1, 3, 4]],
            [[16, 2**29, 2**30], [16, 2**30, 2**31]], [0, 0], "Underflow16"),
    _inputs("rows that bfloat16 rounds", [[2049, 1534, 513], [1023, 2050, 1023]], [[2563, 1020, 513]], [0], "Precision"),
    _inputs("eight draft tokens", [[3 + i % 3, 5 - i % 4, 2] for i in range(9)], [[4 - i % 2, 4, 3 + i % 3] for i in range(8)],
            [0, 1, 1, 0, 2, 0, 1, 0], "LongBlock"),
)  # fmt: skip

MISLEADING = {"token": "FirstRejection", "block": "LongestSubBlock", "greedy-block": "LongestSubBlock"}
"""The flag of vectors in which uniforms that do not decide would lead elsewhere."""

NEAR = (Fraction(1, 16), Fraction(1, 64), Fraction(1, 256))
CLOSEST = Fraction(1, 1024)
"""How near uniforms are to the threshold that they are held against, as a share of its distance from 0 or 1."""


def cases() -> Iterator[Case]:
    """All deterministic vectors' inputs, in the order of the file."""
    for rule in RULES:
        for given in INPUTS:
            yield from _every_outcome(rule, given)
        yield from _ends_of_the_uniform(rule)
        yield from _batch(rule)


def _every_outcome(rule: str, given: Inputs) -> Iterator[Case]:
    """For each tau that can be: uniforms near the thresholds on the sides that lead there, misleading elsewhere."""
    block, known = given.block, thresholds(rule, given.block)
    for tau in range(block.gamma + 1):
        near = CLOSEST if "Precision" in given.flags else NEAR[tau % len(NEAR)]
        accept = _leading_to(rule, tau, known, near)
        if accept is None:
            continue
        flags = {*given.flags}
        if tau == block.gamma:
            flags = flags - {"Residual"} | {"Bonus"}
        if rule != "token" and "Acceptance" in flags:
            flags.add("BlockAcceptance")
        if block.gamma - tau > 1 if rule == "token" else tau > 1:
            flags |= {MISLEADING[rule], "IndependentUniforms"}
        comment = f"{given.name}: {tau} of {block.gamma} accepted"
        case = Case(rule, block, _numbers(rule, block, accept, tau), tuple(sorted(flags)), comment)
        yield case
        yield from _against_wrong_weights(case)


def _leading_to(rule: str, tau: int, known: Sequence[Fraction | None], near: Fraction) -> tuple[Fraction, ...] | None:
    """Uniforms that lead to tau, each by the share ``near`` away from its threshold; None if it cannot be."""
    gamma, accept = len(known), []
    for i, h in enumerate(known, 1):
        threshold = ONE if h is None else h
        below, above = _on_lattice(threshold * (1 - near)), _on_lattice(threshold + (1 - threshold) * near)
        passes = i <= tau if rule == "token" else i == tau
        decides = i <= tau + 1 if rule == "token" else i >= tau
        if not decides:  # the other way than the test that decides: a later pass, an earlier failure, must not count
            passes = rule == "token" or i % 2 == 0
        if decides and (threshold == 0 if passes else threshold == 1):
            return None
        accept.append(below if passes or threshold == 1 else above)
    return tuple(accept) if gamma else ()


def _on_lattice(number: Fraction, bits: int = BITS) -> Fraction:
    return min(Fraction(round(number * 2**bits), 2**bits), 1 - Fraction(1, 2**bits))


def _numbers(rule: str, block: Block, accept: tuple[Fraction, ...], which: int) -> Numbers:
    """Numbers with these uniforms; the others choose tokens near an end of their interval, by turns over the likely ones."""
    weights = answer(rule, block, Numbers(accept, ZERO, (ONE,) * len(block.target[0]))).weights
    likely = [y for y, w in enumerate(weights) if w > Fraction(1, 64)]
    by_sum, by_race = likely[which % len(likely)], likely[(which + 1) % len(likely)]
    inside = Fraction(1, 16) if which % 2 else Fraction(15, 16)
    look_up = sum(weights[:by_sum], ZERO) + weights[by_sum] * inside
    return Numbers(accept, _on_lattice(look_up), _noise(weights, by_race))


def _against_wrong_weights(case: Case) -> Iterator[Case]:
    """The case with a last uniform at which the residual of a token, or the target, would give another token than the rule."""
    given, block = answer(case.rule, case.block, case.numbers), case.block
    if given.accepted == block.gamma or len(given.weights) > 100:
        return
    target, draft = block.target[given.accepted], block.draft[given.accepted]
    scaled = survival(case.rule, block, given.accepted) != 1
    uniform = _telling(given.weights, residual(target, draft) if scaled else target)
    if uniform is not None:
        numbers = case.numbers._replace(last=_on_lattice(uniform))
        instead = "the residual without p_i" if scaled else "the target"
        flags = tuple(sorted({*case.flags, "Residual"}))
        yield case._replace(numbers=numbers, flags=flags, comment=f"{case.comment}; {instead} would give another token")


def _telling(weights: Sequence[Fraction], wrong: Sequence[Fraction]) -> Fraction | None:
    """The uniform that tells weights from wrong ones best: in the middle between ends of an entry's interval; None if there is none."""
    total = sum(wrong, ZERO)
    if not total:
        return None
    ends = zip(accumulate(weights), accumulate(w / total for w in wrong))
    widest = max(ends, key=lambda pair: abs(pair[0] - pair[1]))
    return (widest[0] + widest[1]) / 2 if abs(widest[0] - widest[1]) > Fraction(1, 64) else None


def _noise(weights: Sequence[Fraction], winner: int) -> tuple[Fraction, ...]:
    """Noise by which the winner's score is 9/8 of every other's; tokens without weight get little, so that they would win."""
    noise = [w * (1 if y == winner else Fraction(9, 8)) if w else Fraction(1, 2**10) for y, w in enumerate(weights)]
    return tuple(Fraction(float32(w)) for w in noise)


def _ends_of_the_uniform(rule: str) -> Iterator[Case]:
    """All uniforms 0, and all the largest of a lattice. The rows are exact in binary, so that h = 0 and h = 1 are too."""
    excluded = _inputs("", [[0, 4, 4], [0, 2, 6], [0, 1, 7]], [[4, 2, 2], [4, 2, 2]], [0, 1])
    first = _inputs("", [[0, 0, 8], [8, 0, 0], [0, 6, 2]], [[0, 4, 4], [2, 4, 2]], [2, 1])
    bonus = _inputs("", [[4, 4, 0], [0, 4, 4]], [[2, 4, 2]], [0])
    trailing = _inputs("", [[1, 3, 4, 0], [5, 3, 0, 0]], [[2, 4, 1, 1]], [1])
    certain = _inputs("", [[4, 4, 0], [6, 2, 0], [3, 5, 0]], [[4, 2, 2], [2, 4, 2]], [0, 0])
    for given, what in ((excluded, "the first token"), (first, "the second token"), (bonus, "no token")):
        comment = f"every uniform is 0; the target excludes {what} of the draft and the first of the vocabulary"
        yield _at_an_end(rule, given.block, ZERO, BITS, ("ZeroUniform", "ZeroTarget"), comment)
    for bits in (24, 32, 53):
        largest = 1 - Fraction(1, 2**bits)
        for given, what in ((trailing, "rejected"), (certain, "accepted for certain")):
            comment = f"every uniform is 1 - 2^-{bits}: {what}; the last entries of the vocabulary have no weight"
            yield _at_an_end(rule, given.block, largest, bits, ("LargestUniform",), comment)


def _at_an_end(rule: str, block: Block, uniform: Fraction, bits: int, flags: tuple[str, ...], comment: str) -> Case:
    accept = (uniform,) * block.gamma
    return Case(rule, block, _numbers(rule, block, accept, 0)._replace(last=uniform), flags, comment, bits)


def _batch(rule: str) -> Iterator[Case]:
    """One batch of requests of 3, 1, 0, 2 and 2 tokens, filled up with -1 and rows of 0 to the longest."""
    lengths = (3, 1, 0, 2, 2)
    for place, length in enumerate(lengths):
        target, draft, tokens = GENERIC.block
        turned = Block(_turned(target[: length + 1], place), _turned(draft[:length], place),
                       tuple((x + place) % 3 for x in tokens[:length]))  # fmt: skip
        known = thresholds(rule, turned)
        # the last is accepted whole: its token can be each of three, so that a neighbour's noise shows
        wanted = (length, length // 2, 0) if place == len(lengths) - 1 else (length // 2, length, 0)
        reachable = ((tau, _leading_to(rule, tau, known, Fraction(1, 16))) for tau in wanted)
        tau, accept = next((tau, found) for tau, found in reachable if found is not None)
        flags = (
            "RaggedBatch",
            *(("Placeholder",) if length < max(lengths) else ()),
            *(() if length else ("NothingDrafted",)),
        )
        yield Case(rule, turned, _numbers(rule, turned, accept, place + (place == len(lengths) - 1)), flags,
                   f"request {place} of a batch: {tau} of {length} accepted",
                   batch=(f"{rule}-batch", place, max(lengths)))  # fmt: skip


def _turned(rows: Sequence[Sequence[Fraction]], places: int) -> list[list[Fraction]]:
    """The rows with every token's id moved on, around the end of the vocabulary."""
    return [[row[(x - places) % len(row)] for x in range(len(row))] for row in rows]


def separation(case: Case) -> tuple[Fraction, Fraction]:
    """How far the uniforms are from deciding otherwise: from every threshold that is not 0 or 1, and in the last look-up."""
    known, given = thresholds(case.rule, case.block), answer(case.rule, case.block, case.numbers)
    gaps = (abs(u - h) for u, h in zip(case.numbers.accept, known) if h is not None and 0 < h < 1)
    edges = (edge for edge in accumulate(given.weights) if 0 < edge < 1)
    return min(gaps, default=ONE), min((abs(case.numbers.last - edge) for edge in edges), default=ONE)
