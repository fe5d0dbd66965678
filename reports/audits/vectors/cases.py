"""The inputs of the deterministic vectors: blocks that can show a bug, and random numbers for every outcome.

Uniforms stay so far from every threshold that rounding in float32 cannot decide, except where the rule says which side
they are on: u = 0 never passes h = 0, the largest u passes h = 1. At u = h itself, 0 < h < 1, ``<`` and ``<=`` give the
same law up to one step of the lattice: no vector stands there.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from ....models.battery import drawn, toy
from ....models.json_files import read_file
from ....models.law import Prefix
from ....models.problem import Problem
from ....models.tree_battery import drawing, ragged
from ....proofs.field import in_field
from ....proofs.laws.reference_laws import joint_law, output_law
from ....proofs.rounding.greedy_block import greedy_bound
from ....proofs.rounding.rule import LOGARITHMS, explained_by_rounding, rounding_allowed
from ....proofs.rounding.theorem import growth, problem_bound, token_bound
from ....verifiers.arithmetic import residual
from ....verifiers.draft_block import Block
from ....verifiers.registry import REFERENCES
from ....verifiers.trees.draft_tree import IID, TOP, WAYS, WITHOUT_REPLACEMENT
from .answers import EPSILON, GREEDY, RULES, Numbers, answer, float32, survival, thresholds

ZERO, ONE = Fraction(0), Fraction(1)
BITS = 24
"""Bits of the uniforms of most vectors, so that float32 holds them."""

Weights = list[int] | dict[str, int]
"""Weights of a row, token by token; or weight 1 over the vocabulary ``length`` except at the tokens named."""


class Case(NamedTuple):
    """The input of one deterministic vector.

    rule: one of ``RULES``, or GREEDY.
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


class Inputs(Struct, frozen=True):
    """A named block, its rows as whole weights, with the classes of bug that it is made to show."""

    name: str
    target: list[Weights]
    draft: list[Weights]
    tokens: tuple[int, ...]
    flags: tuple[str, ...] = ()

    @property
    def block(self) -> Block:
        return _block(self.target, self.draft, self.tokens)


def _block(target: Sequence[Weights], draft: Sequence[Weights], tokens: Sequence[int]) -> Block:
    """Return a block whose rows are given by whole weights."""
    return Block([*map(_row, target)], [*map(_row, draft)], tuple(tokens))


def _row(weights: Weights) -> list[Fraction]:
    if isinstance(weights, dict):
        weights = [weights.get(str(token), 1) for token in range(weights["length"])]
    return [Fraction(w, sum(weights)) for w in weights]


INPUTS = read_file(tuple[Inputs, ...], Path(__file__).with_name("blocks.json"))

MISLEADING = {"token": "FirstRejection", "block": "LongestSubBlock", "greedy-block": "LongestSubBlock"}
"""The flag of vectors in which uniforms that do not decide would lead elsewhere."""

NEAR = (Fraction(1, 16), Fraction(1, 64), Fraction(1, 256))
CLOSEST = Fraction(1, 1024)
"""How near uniforms are to the threshold that they are compared with, as a share of its distance from 0 or 1."""


def cases() -> Iterator[Case]:
    """Return the inputs of all deterministic vectors, in the order of the file."""
    for rule in RULES:
        for given in INPUTS:
            yield from _every_outcome(rule, given)
        yield from _ends_of_the_uniform(rule)
        yield from _batch(rule)
    yield from _greedy()


def _every_outcome(rule: str, given: Inputs) -> Iterator[Case]:
    """Yield, for each possible tau, uniforms near the thresholds that lead to it and mislead elsewhere."""
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
    """Return uniforms that lead to tau, each the share ``near`` away from its threshold; None if there are none."""
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
    """Return numbers with these uniforms; the others choose the likely tokens in turn, near an end of their
    interval."""
    weights = answer(rule, block, Numbers(accept, ZERO, (ONE,) * len(block.target[0]))).weights
    likely = [y for y, w in enumerate(weights) if w > Fraction(1, 64)]
    by_sum, by_race = likely[which % len(likely)], likely[(which + 1) % len(likely)]
    inside = Fraction(1, 16) if which % 2 else Fraction(15, 16)
    look_up = sum(weights[:by_sum], ZERO) + weights[by_sum] * inside
    return Numbers(accept, _on_lattice(look_up), _noise(weights, by_race))


def _against_wrong_weights(case: Case) -> Iterator[Case]:
    """Yield the case with a last uniform at which a wrong residual, or the target, gives another token."""
    given, block = answer(case.rule, case.block, case.numbers), case.block
    if given.accepted == block.gamma or len(given.weights) > 100:
        return
    target, draft = block.target[given.accepted], block.draft[given.accepted]
    scaled = survival(case.rule, block, given.accepted) != 1
    uniform = _separating(given.weights, residual(target, draft) if scaled else target)
    if uniform is not None:
        instead = "the residual without p_i" if scaled else "the target"
        yield case._replace(
            numbers=case.numbers._replace(last=_on_lattice(uniform)), flags=tuple(sorted({*case.flags, "Residual"})),
            comment=f"{case.comment}; {instead} would give another token",
        )  # fmt: skip


def _separating(weights: Sequence[Fraction], wrong: Sequence[Fraction]) -> Fraction | None:
    """Return the uniform that best separates weights from wrong ones, midway between ends of an interval; or None."""
    total = sum(wrong, ZERO)
    if not total:
        return None
    ends = zip(accumulate(weights), accumulate(w / total for w in wrong))
    widest = max(ends, key=lambda pair: abs(pair[0] - pair[1]))
    return (widest[0] + widest[1]) / 2 if abs(widest[0] - widest[1]) > Fraction(1, 64) else None


def _noise(weights: Sequence[Fraction], winner: int) -> tuple[Fraction, ...]:
    """Return noise by which the winner's score is 9/8 of every other's; little where a token has no weight."""
    noise = [w * (1 if y == winner else Fraction(9, 8)) if w else Fraction(1, 2**10) for y, w in enumerate(weights)]
    return tuple(Fraction(float32(w)) for w in noise)


def _ends_of_the_uniform(rule: str) -> Iterator[Case]:
    """Yield cases with all uniforms 0, and all the largest of a lattice. The rows are exact in binary."""
    excluded = _block([[0, 4, 4], [0, 2, 6], [0, 1, 7]], [[4, 2, 2], [4, 2, 2]], [0, 1])
    first = _block([[0, 0, 8], [8, 0, 0], [0, 6, 2]], [[0, 4, 4], [2, 4, 2]], [2, 1])
    bonus = _block([[4, 4, 0], [0, 4, 4]], [[2, 4, 2]], [0])
    trailing = _block([[1, 3, 4, 0], [5, 3, 0, 0]], [[2, 4, 1, 1]], [1])
    certain = _block([[4, 4, 0], [6, 2, 0], [3, 5, 0]], [[4, 2, 2], [2, 4, 2]], [0, 0])
    for block, what in ((excluded, "the first token"), (first, "the second token"), (bonus, "no token")):
        comment = f"every uniform is 0; the target excludes {what} of the draft and the first of the vocabulary"
        yield _at_an_end(rule, block, ZERO, BITS, ("ZeroUniform", "ZeroTarget"), comment)
    for bits in (24, 32, 53):
        for block, what in ((trailing, "rejected"), (certain, "accepted for certain")):
            comment = f"every uniform is 1 - 2^-{bits}: {what}; the last entries of the vocabulary have no weight"
            yield _at_an_end(rule, block, 1 - Fraction(1, 2**bits), bits, ("LargestUniform",), comment)


def _at_an_end(rule: str, block: Block, uniform: Fraction, bits: int, flags: tuple[str, ...], comment: str) -> Case:
    accept = (uniform,) * block.gamma
    return Case(rule, block, _numbers(rule, block, accept, 0)._replace(last=uniform), flags, comment, bits)


def _batch(rule: str) -> Iterator[Case]:
    """Yield a batch of requests of 3, 1, 0, 2 and 2 tokens, padded with -1 and rows of 0 to the longest."""
    lengths = (3, 1, 0, 2, 2)
    for place, length in enumerate(lengths):
        target, draft, tokens = INPUTS[0].block
        turned = Block(_turned(target[: length + 1], place), _turned(draft[:length], place),
                       tuple((x + place) % 3 for x in tokens[:length]))  # fmt: skip
        known = thresholds(rule, turned)
        # the last is accepted whole: its token can be each of three, so that a neighbour's noise shows
        wanted = (length, length // 2, 0) if place == len(lengths) - 1 else (length // 2, length, 0)
        reachable = ((tau, _leading_to(rule, tau, known, Fraction(1, 16))) for tau in wanted)
        tau, accept = next((tau, found) for tau, found in reachable if found is not None)
        shorter = ("Placeholder",) if length < max(lengths) else ()
        flags = ("RaggedBatch", *shorter, *(() if length else ("NothingDrafted",)))
        yield Case(rule, turned, _numbers(rule, turned, accept, place + (place == len(lengths) - 1)), flags,
                   f"request {place} of a batch: {tau} of {length} accepted",
                   batch=(f"{rule}-batch", place, max(lengths)))  # fmt: skip


def _turned(rows: Sequence[Sequence[Fraction]], places: int) -> list[list[Fraction]]:
    """Return the rows with every token's id moved on, around the end of the vocabulary."""
    return [[row[(x - places) % len(row)] for x in range(len(row))] for row in rows]


def _greedy() -> Iterator[Case]:
    """Yield requests at temperature 0, alone and batched with sampled ones; every number leads a sampler elsewhere."""
    block = INPUTS[0].block
    for tau in range(block.gamma + 1):
        yield _greedy_case(block, tau, f"temperature 0: {tau} of {block.gamma} are the target's argmax")
    for place, (length, tau) in enumerate(((2, 1), (3, 1), (0, 0), (2, 2), (3, 0))):
        turned = Block(_turned(block.target[: length + 1], place), _turned(block.draft[:length], place),
                       tuple((x + place) % 3 for x in block.tokens[:length]))  # fmt: skip
        comment, batch = f"request {place} of a batch of both temperatures", ("mixed-batch", place, 3)
        if place % 2:
            known = thresholds("token", turned)
            led = (_leading_to("token", accepted, known, Fraction(1, 16)) for accepted in (tau, 0, 2))
            numbers = _numbers("token", turned, next(accept for accept in led if accept is not None), place)
            yield Case("token", turned, numbers, ("RaggedBatch",), comment, batch=batch)
        else:
            yield _greedy_case(turned, tau, comment)._replace(batch=batch)


def _greedy_case(block: Block, tau: int, comment: str) -> Case:
    """Return drafts whose first tau tokens are the target's most likely ones, and whose next one is not."""
    best = [max(range(len(row)), key=row.__getitem__) for row in block.target]
    others = [max((q, y) for y, q in enumerate(row) if y != x)[1] for x, row in zip(best, block.draft)]
    tokens = (*best[:tau], *others[tau:])
    accept = tuple(ZERO if i == tau else 1 - Fraction(1, 2**BITS) for i in range(block.gamma))
    row = block.target[tau]
    other = max((x for x in range(len(row)) if x != best[tau]), key=row.__getitem__)
    last = _on_lattice(sum(row[:other], ZERO) + row[other] / 2)
    noise = tuple(Fraction(1, 2**10) if x == other else ONE for x in range(len(row)))
    drafted = Block(block.target, block.draft, tokens)
    return Case(GREEDY, drafted, Numbers(accept, last, noise), ("GreedyRequest",), comment)


LOSSLESS = "lossless"
"""Name that stands for a rule where any valid one will do."""

PROBLEMS = (
    toy(2), drawn(3, 1, "disjoint", 13), drawn(3, 1, "one-hot-draft", 4), drawn(3, 2, "zeros", 2),
    drawn(3, 2, "generic"), drawn(2, 3, "generic"),
)  # fmt: skip

TREE_RULES = tuple(f"trees-{how}" for how in WAYS)
"""Names that stand for any valid rule for draft trees drawn in each way."""

TREES = (
    drawing(drawn(3, 1, "generic"), 2, how=IID), drawing(drawn(3, 2, "generic"), 2, 1, how=IID),
    drawing(drawn(4, 1, "generic"), 3, how=WITHOUT_REPLACEMENT),
    drawing(drawn(3, 2, "zeros"), 2, 1, how=WITHOUT_REPLACEMENT),
    drawing(drawn(3, 2, "generic"), 2, 1, how=TOP), ragged(drawn(3, 2, "generic"), -1, -1, 1, how=TOP),
)  # fmt: skip
"""Problems with trees: siblings of every way of drawing, a third sibling, uneven numbers of children."""

BOUNDS = {"token": token_bound, "block": problem_bound, "greedy-block": greedy_bound}
"""Theorem on rounding of each rule."""


class LawCase(NamedTuple):
    """A law vector.

    rule: one of ``RULES``, LOSSLESS, or one of ``TREE_RULES``.
    problem: the pair of models; the program draws the draft block or tree from the draft's rows itself.
    """

    rule: str
    problem: Problem

    @property
    def any_valid(self) -> bool:
        """Return whether every valid rule has to pass it: what is emitted is completed by the target."""
        return self.rule not in RULES

    @property
    def flags(self) -> tuple[str, ...]:
        rows = (self.problem.target.row(x) for n in range(self.problem.gamma + 1) for x in self.problem.prefixes(n))
        of_trees = ("DraftTree",) if self.rule in TREE_RULES else ()
        support = ("Support",) if any(0 in row for row in rows) else ()
        return ("Lossless" if self.any_valid else "RuleLaw", *of_trees, *support)

    def expected(self) -> dict[Prefix, object]:
        """Return the exact law: of gamma + 1 tokens, completed by the target (Lemma 2); or of X^tau, Y under the
        rule."""
        exact = in_field(self.problem)
        if self.any_valid:
            return joint_law(exact.target, exact.gamma + 1)
        return output_law(exact, REFERENCES[self.rule])

    def tolerances(self) -> dict[str, float]:
        """Return the total variation allowed, 4 (gamma + 1)(epsilon + 2^-46); for a tree by its nodes. ``theorem``
        bounds it too.

        Once for the decisions, as an audit allows, and as much again for each of: the target's rows, the draft's rows,
        the sums of probabilities that make up the law, all rounded by the program.
        """
        return {dtype: 4 * rounding_allowed(self.problem.tree.nodes, dtype) for dtype in EPSILON}

    def theorem(self, dtype: str) -> float:
        """Return the total variation that rounding can cause by the theorem: the rule's bound, and the sums of the law.

        Of a LOSSLESS vector block or token verification's, whichever is more; of trees recursive rejection's. The
        program rounds the rows (epsilon / 2) or has them by way of logarithms; an entry of its law is a sum over draft
        blocks of products of 2 gamma + 2 numbers. Other formulas are not covered.
        """
        epsilon, problem = EPSILON[dtype], in_field(self.problem)
        sums = growth(epsilon / 2, 2 * problem.tree.nodes + 2 + problem.drafts)
        if self.rule in TREE_RULES:
            return explained_by_rounding(problem, dtype, epsilon / 2) + sums
        rules = ("token", "block") if self.rule == LOSSLESS else (self.rule,)
        return max(BOUNDS[rule](problem, epsilon, 0.0, epsilon / 2 + LOGARITHMS) for rule in rules) + sums


def law_cases() -> list[LawCase]:
    """Return all law vectors, in the order of the file."""
    trees = [LawCase(f"trees-{problem.tree.how}", problem) for problem in TREES]
    return [*(LawCase(rule, problem) for rule in (LOSSLESS, *RULES) for problem in PROBLEMS), *trees]
