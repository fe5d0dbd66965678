"""Regions in which a bug can hide, and which of them a problem makes visible.

A *cell* is a tuple (region, coordinates...): the verifier is wrong there and right elsewhere. A problem covers it if
that mistake alone, in token verification and in block verification, moves the law of what is emitted by more than
``VISIBLE``:

| mistake | in token verification | in block verification (Lemma 3) |
|---|---|---|
| accept: token t after x kept though its coin said no | A(x) (q - p)+ | D(xt) (1 - p_i) (1 - r(t)) h(x) |
| reject: thrown away though its coin said yes | A(x) min(p, q) (1 - r(t)) | D(xt) S(xt) (1 - r(t)) h(x) |
| other: thrown away for a token that no residual gives | A(x) min(p, q) | D(xt) S(xt) |
| replace: another token y drawn in place of a rejected one | A(x) S(x) r(y) | D(x) S(x) r(y) |
| bonus: another token y drawn after a whole accepted block | A(x) p(y) | D(x) p_gamma p(y) |

with p, q the rows after x, D(x) = product of the draft's probabilities along x, A(x) that of min(p, q), p_i the
surviving probability, S = sum (p_i p - q)+ (p_gamma after a whole block; of token verification with p_i = 1), r = (p_i
p - q)+ / S, h = S / (S + 1 - p_i). Each is a lower bound of the total variation: the mass that the mistake moves from
or to texts that begin with xt.
Source: Sun et al. 2025, Algorithms 1 and 2, Eq. (3) to (5).
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import msgspec

from ..verifiers.arithmetic import residual
from ..verifiers.block_verification import accept, survive
from .battery import audit_battery
from .law import Prefix
from .looking_ahead import AHEAD, looking_ahead
from .looking_ahead import cells as cells_ahead
from .path_rows import path_battery
from .problem import Problem
from .rationals import as_fraction

Cell = tuple[Any, ...]

_EFFECTS: dict[str, tuple[Problem, dict[Cell, float]]] = {}
"""The problems whose effects were computed, by their names: an audit needs them once for each dtype."""

KEPT = Path(__file__).with_name("coverage.json")
"""The effects on the problems of every audit, computed beforehand: that takes as long as some of their laws."""

VISIBLE = 1e-12
"""The total variation above which a deviation is no rounding in float64, whatever gamma (``proofs.rounding``)."""

TINY = (Fraction(1, 10**8), Fraction(1, 10**5), Fraction(1, 100), Fraction(1, 10))
LEVELS = (*TINY, Fraction(1, 2), *(1 - e for e in reversed(TINY)))
"""Inner borders of the intervals of probabilities, both ends in log-odds; 0 and 1 are intervals of their own."""

NEAR = (Fraction(1, 10**6), Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2))
RATIOS = (*NEAR, *(1 - e for e in reversed(NEAR[:3])))
"""Inner borders of the intervals of min(p/q, q/p)."""


def level(p: Fraction, borders: tuple[Fraction, ...] = LEVELS) -> str:
    """Return the interval that a probability lies in: "0", "1" or its two borders."""
    if p in (0, 1):
        return str(int(p))
    k = bisect_right(borders, p)
    return f"{_border(k and borders[k - 1])}..{_border(borders[k] if k < len(borders) else 1)}"


def _border(p: Fraction | int) -> str:
    return f"1-{float(1 - p):g}" if 0.9 < p < 1 else f"{float(p):g}"


@dataclass(frozen=True)
class Context:
    """A prefix that a draft block passes through.

    drafted: D(x). kept: A(x). survival: p_i. target, draft: the rows after it; draft is zero after a whole block.
    """

    prefix: Prefix
    drafted: Fraction
    kept: Fraction
    survival: Fraction
    target: tuple[Fraction, ...]
    draft: tuple[Fraction, ...]

    @cached_property
    def rest(self) -> list[Fraction]:
        """Return the residual of token verification, Eq. (3)."""
        return residual(self.target, self.draft)

    @cached_property
    def left(self) -> list[Fraction]:
        """Return the residual of block verification, Eq. (4)."""
        return residual(self.target, self.draft, self.survival)

    @cached_property
    def coin(self) -> Fraction:
        """Return h_i; 1 at the root."""
        return accept(self.survival, sum(self.left), self.target, self.draft) if self.prefix else Fraction(1)

    def lost(self, token: int, rest: list[Fraction]) -> Fraction:
        """Return the probability that a rejected token does not come back from the residual; the target if it is
        empty.
        """
        row = rest if sum(rest) else self.target
        return 1 - row[token] / sum(row)


def contexts(problem: Problem) -> Iterator[tuple[Context | None, Context]]:
    """Yield (the context one token before, a context), for every prefix of every draft block that can be drafted."""
    zero = (Fraction(0),) * problem.vocabulary

    def below(parent: Context | None, prefix: Prefix, drafted: Fraction, kept: Fraction, survival: Fraction):
        whole = len(prefix) == problem.gamma
        target = tuple(map(as_fraction, problem.target.row(prefix)))
        draft = zero if whole else tuple(map(as_fraction, problem.draft.row(prefix)))
        here = Context(prefix, drafted, kept, survival, target, draft)
        yield parent, here
        for t, q in enumerate(draft):
            if q:
                p = target[t]
                yield from below(here, (*prefix, t), drafted * q, kept * min(p, q), survive(survival, p, q))

    yield from below(None, (), Fraction(1), Fraction(1), Fraction(1))


def coverage(problem: Problem, visible: float = VISIBLE) -> dict[Cell, float]:
    """Return each region that a problem covers, with its effect: of the rows, and of decisions that look ahead."""
    of, effects = _EFFECTS.get(problem.name, (None, {}))
    if of is not problem and of != problem:  # rows in a dict have no hash
        effects = _kept_of(problem) or effects_on(problem)
        _EFFECTS[problem.name] = problem, effects
    return {cell: effect for cell, effect in effects.items() if effect > visible}


def effects_on(problem: Problem) -> dict[Cell, float]:
    """Compute the effect in each region on a problem."""
    return _of_rows(problem) | looking_ahead(problem)


class Kept(msgspec.Struct):
    """Effects that were computed beforehand. cells: the regions. effects: problem -> number of a region -> effect.

    Effects have three digits and are rounded down.
    """

    cells: list[tuple[Any, ...]]
    effects: dict[str, dict[int, float]]


def kept_problems() -> list[Problem]:
    """Return the problems of which effects are kept."""
    return [*audit_battery(), *path_battery()]


@cache
def _named(battery: Callable[[], list[Problem]]) -> dict[str, Problem]:
    return {problem.name: problem for problem in battery()}


@cache
def _kept() -> Kept:
    return msgspec.json.decode(KEPT.read_bytes(), type=Kept)


def _kept_of(problem: Problem) -> dict[Cell, float] | None:
    """Return the effects that are kept of a problem; None of another one, which may have the same name."""
    found = _kept().effects.get(problem.name)
    if found is None:
        return None
    same = _named(audit_battery).get(problem.name) or _named(path_battery)[problem.name]  # those take longer to make
    if same is not problem and same != problem:
        return None
    return {_kept().cells[k]: effect for k, effect in found.items()}


def _of_rows(problem: Problem) -> dict[Cell, float]:
    """Return, for each cell, the smaller of the two bounds above for the mistake in it, if both are visible."""
    found: dict[Cell, float] = {}
    for cells, token, block in _mistakes(problem):
        effect = float(min(token, block))
        if effect > VISIBLE:
            for cell in cells:
                found[cell] = max(found.get(cell, 0.0), effect)
    return found


@cache
def cells() -> frozenset[Cell]:
    """Return all regions in which a mistake can be visible on a vocabulary of 2 to 5 and a gamma of 1 to 5, and those
    of decisions that look along the drafted path.

    The battery was chosen so that it covers all the former (``benchmarks/choose_battery.py`` lists them), and the
    problems of ``path_rows`` so that together with it they cover the latter.
    """
    rows = (cell for problem in audit_battery() for cell in coverage(problem) if not cell[0].startswith(AHEAD))
    return frozenset(cells_ahead()).union(rows)


def covered(problems: Iterable[tuple[Problem, float]]) -> dict[str, dict[str, int]]:
    """Return region -> {"covered": cells that the problems cover, "of": all}. Each problem comes with its rounding."""
    found: set[Cell] = set()
    for problem, rounding in sorted(problems, key=lambda pair: pair[0].name not in _kept().effects):
        if found >= cells():
            break  # other problems, whose effects take long to compute, add none
        found |= coverage(problem, max(VISIBLE, rounding)).keys()
    every, seen = Counter(cell[0] for cell in cells()), Counter(cell[0] for cell in found & cells())
    return {region: {"covered": seen[region], "of": every[region]} for region in sorted(every)}


EVERYTHING = Fraction(1)
"""The effect in an algorithm that does not know the region."""


def _mistakes(problem: Problem) -> Iterator[tuple[Iterable[Cell], Fraction, Fraction]]:
    """Yield (cells, effect in token verification, effect in block verification) of each mistake at each place."""
    patterns = _blocks_of(problem)
    for parent, here in contexts(problem):
        if parent is not None:
            yield from _decisions(problem, parent, here, patterns)
        yield from _draws(problem, here)


def moved(x: Context, y: Context) -> dict[str, tuple[Fraction, Fraction]]:
    """Return the least mass that each mistake with the coin of y's last token moves, in token and block
    verification.
    """
    t = y.prefix[-1]
    p, q, surplus = x.target[t], x.draft[t], sum(y.left)
    gone, rejected = x.lost(t, x.left) * x.coin, y.drafted * (1 - y.survival)
    masses = {
        "accept": (x.kept * max(q - p, Fraction(0)), rejected * gone),
        "reject": (x.kept * min(p, q) * x.lost(t, x.rest), y.drafted * surplus * gone),
    }
    return masses if p < q else masses | {"other": (x.kept * q, y.drafted * surplus)}


def _decisions(problem: Problem, x: Context, y: Context, patterns: dict) -> Iterator[Any]:
    t, i = y.prefix[-1], len(y.prefix)
    p, q = x.target[t], x.draft[t]
    order = "<=>"[(p >= q) + (p > q)]
    where = "last" if i == problem.gamma else "first" if i == 1 else "middle"
    ratio, how = level(min(p, q) / max(p, q), RATIOS), _step(x.survival, y.survival)
    for mistake, (token, block) in moved(x, y).items():
        yield [("p and q", level(p), level(q), order, mistake)], token, block
        if mistake == "other":
            continue
        ties: list[Cell] = [("ties", tie, mistake) for tie in _ties(x, y, t)]
        where_drafted: list[Cell] = [
            ("position", problem.gamma, i, mistake),
            ("drafted token", problem.vocabulary, t, mistake),
        ]
        yield [("p / q", order, ratio, mistake), *where_drafted, *ties], token, block
        survival = ("surviving probability", where, level(y.survival), mistake)
        yield [survival, ("step of the surviving probability", how, mistake)], EVERYTHING, block
        for pattern, share in patterns.get(y.prefix, {}).items():
            yield [("repeats", pattern, i, mistake)], share * token, share * block


def _step(before: Fraction, after: Fraction) -> str:
    if after == 1:
        return "stays 1" if before == 1 else "back to 1"
    return "falls" if after < before else "stays" if after == before else "rises"


def _blocks_of(problem: Problem) -> dict[Prefix, dict[str, Fraction]]:
    """Return prefix -> pattern of repeats in a draft block ("aba") -> its probability; for 2 or 3 tokens."""
    found: dict[Prefix, dict[str, Fraction]] = {}
    if problem.gamma not in (2, 3):
        return found
    for block in problem.prefixes(problem.gamma):
        names: dict[int, str] = {}
        pattern = "".join(names.setdefault(t, "abc"[len(names)]) for t in block)
        chance = Fraction(1)
        for i in range(problem.gamma, 0, -1):
            shares = found.setdefault(block[:i], {})
            shares[pattern] = shares.get(pattern, Fraction(0)) + chance
            chance *= as_fraction(problem.draft.row(block[: i - 1])[block[i - 1]])
    return found


def _ties(x: Context, y: Context, t: int) -> Iterator[str]:
    """Return what coincides if token t was drafted after x."""
    for name, row in (("target", x.target), ("draft", x.draft)):
        if row.count(row[t]) > 1:
            yield f"in the {name}'s row" + (", the largest" if row[t] == max(row) else "")
    if x.target == x.draft:
        yield "equal rows"
    elif x.target[t] == x.draft[t]:
        yield "p = q, the rows differ"
    if x.target == y.target:
        yield "the target's next row is the same"
    if x.draft == y.draft:
        yield "the draft's next row is the same"


def _draws(problem: Problem, x: Context) -> Iterator[Any]:
    """Yield mistakes with the token that is drawn after x: a replacement, or after a whole block the bonus token."""
    size, i = problem.vocabulary, len(x.prefix)
    if i == problem.gamma:
        for y, p in enumerate(x.target):
            cells = [("bonus probability", level(p)), ("bonus token", size, y)]
            yield [*cells, *([("bonus position", i)] if p < 1 else [])], x.kept * p, x.drafted * x.survival * p
        return
    place = "first" if i == 0 else "later"
    for rule, rest, reached in (("token", x.rest, x.kept), ("block", x.left, x.drafted)):
        mass, count = sum(rest), sum(w > 0 for w in rest)
        if not mass:
            continue
        from_target = sum(abs(w / mass - p) for w, p in zip(rest, x.target)) / 2 if mass < 1 else Fraction(1)
        cells: list[Cell] = [("residual mass", rule, place, level(mass))]
        yield cells, reached * mass * from_target, EVERYTHING
        largest = max(rest)
        for w in filter(None, rest):
            cells = [("residual tokens", rule, count), ("residual share", rule, level(w / mass))]
            if rest.count(w) > 1:
                cells.append(("residual ties", rule, "the largest" if w == largest else "smaller"))
            yield cells, reached * w, EVERYTHING
    for y, (w, left) in enumerate(zip(x.rest, x.left)):
        before = "the token before" if x.prefix and x.prefix[-1] == y else "no token before"
        several = "several" if w < sum(x.rest) and left < sum(x.left) else "one"
        cells = [
            ("replacement's p and q", level(x.target[y]), level(x.draft[y])), ("replacement token", size, y),
            ("replacement position", problem.gamma, i + 1, several), ("replacement repeats", before),
        ]  # fmt: skip
        yield cells, x.kept * w, x.drafted * left
