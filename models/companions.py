"""Companions of a problem that declares a law: rows on both sides of where the law changes, and on that line itself.

A cascade defers or does not, a truncation keeps a token or does not. Two such laws can agree on a problem, and on all
that lie near it, and differ elsewhere: so the rows of companions are looked for where the declared one changes. A mask
rules out the largest token there, and a mixture is of rows that have little in common.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, islice, product

from msgspec.structs import replace as with_fields

from .battery import drawn, normalised
from .declared import DeclaredLaw, DeclaredModel
from .errors import InputError
from .law import ContextFree, Prefix, Table, prefix_of_key
from .problem import Problem
from .rationals import as_fraction

Row = tuple[Fraction, ...]
Pair = tuple[Row, Row]

GRIDS = 8, 16
"""Denominators of the rows that are gone through for a pair on the line."""

HAIR = Fraction(1, 2**40)
"""A threshold moved by so much decides otherwise on a tie alone, of the rows of those grids."""

SINGLE = 24
"""Bits of the significand of float32."""

MOST_CROSSINGS, MOST_ABOUT_A_TIE, MOST_LOOKED_AT = 3, 2, 600

OTHERS = ("generic", 0), ("generic", 1), ("generic", 2), ("zeros", 0), ("disjoint", 0)
"""Kinds of rows that are there whatever the law is, and their seeds."""


def companions(problem: Problem, bits: int = SINGLE) -> list[Problem]:
    """Problems of the same size and declared law, each with one of the pairs of rows first and the others behind it.

    bits: of the coarsest significand in which rows are handed over: no pair stands nearer to a threshold than that
    tells apart, but for exact ties whose arithmetic has no rounding in any type of so many.
    """
    law = problem.law
    if law is None or problem.vocabulary < 2:
        return []
    ties, others = pairs(with_fields(law, grammar=None), problem.vocabulary, bits)
    named = [*(("tie", pair) for pair in ties), *(("beside", pair) for pair in others)]
    found = []
    for k, (kind, _) in enumerate(named):
        turned = [pair for _, pair in (*named[k:], *named[:k])]
        made = replace(_with_pairs(problem, turned, k % 2), name=f"{problem.name}-{kind}-{k + 1}")
        if _means_a_law(made):
            found.append(made)
    return found


def on_a_tie(problem: Problem) -> bool:
    """Whether some row of the declared law is decided by so little that arithmetic may decide it otherwise."""
    if problem.law is None:
        return False
    law = with_fields(problem.law, grammar=None)
    return any(not _clear(law, pair, _coarsest(SINGLE)) for pair in set(_pairs_of(problem)))


def _pairs_of(problem: Problem) -> Iterator[Pair]:
    for prefix in (x for n in range(problem.gamma) for x in problem.prefixes(n)):
        p, q = (tuple(map(as_fraction, model.row(prefix))) for model in (problem.target, problem.draft))
        yield p, q


def _means_a_law(problem: Problem) -> bool:
    """Whether something may follow every text."""
    try:
        for prefix in (x for n in range(problem.gamma + 1) for x in problem.prefixes(n)):
            problem.asked.row(prefix)
    except InputError:
        return False
    return True


def _with_pairs(problem: Problem, known: list[Pair], side: int) -> Problem:
    """The n-th text is followed by the n-th pair, the largest token of its target or draft ruled out by the grammar."""
    law, every = problem.law, range(problem.vocabulary)
    assert law
    allowed = {prefix_of_key(key): tokens for key, tokens in law.grammar.allowed.items()} if law.grammar else {}
    unmasked, spare = with_fields(law, grammar=None), _drawn(problem.vocabulary, "generic")
    tables: tuple[dict[Prefix, Row], dict[Prefix, Row]] = ({}, {})
    for n, text in enumerate(x for length in range(problem.gamma + 1) for x in problem.prefixes(length)):
        may, pair = allowed.get(text, every), known[n % len(known)]
        banned = [t for t in every if t not in may]
        if banned:
            there = banned[n % len(banned)]
            choice = (*(_exchanged(each, each[side].index(max(each[side])), there) for each in (pair, spare)), spare)
            row_of = _row if len(text) < problem.gamma else _cut
            pair = next((each for each in choice if any(row_of(unmasked, each)[t] for t in may)), pair)
        for table, row in zip(tables, pair):
            table[text] = row
    draft = {text: row for text, row in tables[1].items() if len(text) < problem.gamma}
    return replace(problem, target=Table(tables[0], "target"), draft=Table(draft, "draft"))


def _exchanged(pair: Pair, one: int, other: int) -> Pair:
    """Both rows with two tokens in each other's place."""
    places = {one: other, other: one}
    p, q = (tuple(row[places.get(t, t)] for t in range(len(row))) for row in pair)
    return p, q


def _drawn(vocabulary: int, kind: str, seed: int = 0) -> Pair:
    problem = drawn(vocabulary, 1, kind, seed)
    return tuple(problem.target.row(())), tuple(problem.draft.row(()))


@lru_cache(maxsize=16)
def _laws_beside(law: DeclaredLaw, by: Fraction) -> tuple[DeclaredLaw, DeclaredLaw]:
    """The law with its thresholds a little lower and a little higher."""

    def moved(step: Fraction) -> DeclaredLaw:
        cascade = law.cascade and with_fields(law.cascade, alpha=Fraction(law.cascade.alpha) + step)
        top_p = None if law.top_p is None else Fraction(law.top_p) + step
        return with_fields(law, cascade=cascade, top_p=top_p)

    return moved(-by), moved(by)


def _row(law: DeclaredLaw, pair: Pair) -> Row:
    """The law's row of a pair."""
    model = DeclaredModel(law, ContextFree(pair[0]), ContextFree(pair[1]), 1)
    return tuple(model.row(()))


def _clear(law: DeclaredLaw, pair: Pair, margin: Fraction) -> bool:
    """Whether thresholds that are off by the margin decide the same."""
    return all(_decided(moved, pair) == _decided(law, pair) for moved in _laws_beside(law, margin))


def _decided(law: DeclaredLaw, pair: Pair) -> tuple[int, bool]:
    """What a threshold decides: how many tokens are kept, and whether the row is the draft's."""
    deferred = law.cascade is not None and _row(law, pair) != pair[1]
    return sum(p != 0 for p in _cut(law, pair)), deferred


def _cut(law: DeclaredLaw, pair: Pair) -> Row:
    """The target's row after temperature and truncation."""
    return _row(DeclaredLaw(law.temperature or "1", law.top_k, law.top_p), pair)


def _coarsest(bits: int) -> Fraction:
    """How near to a threshold rows of so many bits may come."""
    return Fraction(1, 2 ** (bits - 5)) if bits >= SINGLE else Fraction(1, 64)


def _tied(law: DeclaredLaw, pair: Pair, bits: int) -> bool:
    """Whether the pair is on the line, and its arithmetic exact in types of so many bits and of float64."""
    if law.temperature is not None or _clear(law, pair, HAIR):  # powers round
        return False
    cut = _cut(law, pair)
    numbers, threshold = {*cut, *pair[0], *pair[1]}, Fraction(law.cascade.alpha if law.cascade else law.top_p)
    apart = _apart((cut, pair[1])) if law.cascade and law.cascade.defer == "optimal" else 1
    return all(
        all(rounded(x, n) == x for x in numbers) and rounded(rounded(threshold, n) * apart, n) == threshold * apart
        for n in (53, bits)
    )


def rounded(x: Fraction, bits: int) -> Fraction:
    """The nearest number of so many significant bits, ties to even."""
    if x == 0:
        return x
    scale = Fraction(2) ** (bits - abs(x.numerator).bit_length() + x.denominator.bit_length())
    while abs(x) * scale >= 2**bits:
        scale /= 2
    return round(x * scale) / scale


def pairs(law: DeclaredLaw, vocabulary: int, bits: int = SINGLE) -> tuple[list[Pair], list[Pair]]:
    """Pairs of rows on a threshold of the law, and others: on both sides of each, rows apart, drawn ones."""
    has_threshold = law.cascade is not None or law.top_p is not None
    ties = _ties(law, vocabulary, bits) if has_threshold else []
    others = [*_crossings(law, vocabulary, bits, ties)] if has_threshold else []
    if law.top_k is not None or law.top_p is not None:
        others += _at_the_cut(min(law.top_k or 1, vocabulary), vocabulary)
    others += [_drawn(vocabulary, *kind) for kind in OTHERS]
    kept = dict.fromkeys(pair for pair in others if _clear(law, pair, _coarsest(bits)))
    return ties, list(kept)


def _grid(vocabulary: int, parts: int) -> list[Row]:
    """The even row, and those of multiples of 1 / parts: of three tokens; where these are few, of four as well."""
    rows = [(Fraction(1, vocabulary),) * vocabulary]
    for count in (3, 4)[: 1 + (parts == GRIDS[0])]:
        places = sorted({k * (vocabulary - 1) // (count - 1) for k in range(count)})
        shares = combinations_with_replacement(range(parts + 1), len(places) - 1)
        for cuts in shares if count == 3 else (cuts for cuts in shares if len({0, *cuts, parts}) == count + 1):
            row = dict(zip(places, (Fraction(b - a, parts) for a, b in zip((0, *cuts), (*cuts, parts)))))
            rows.append(tuple(row.get(t, Fraction(0)) for t in range(vocabulary)))
    return rows


def _apart(pair: Pair) -> Fraction:
    return sum((abs(p - q) for p, q in zip(*pair)), Fraction(0)) / 2


def _on_grid(law: DeclaredLaw, vocabulary: int, parts: int) -> list[Pair]:
    """Pairs of such rows that differ, all for a cascade; the furthest apart first, by more than in a single token."""

    def told(pair: Pair) -> tuple[Fraction, Fraction]:
        apart = _apart(pair)
        return apart - max(abs(p - q) for p, q in zip(*pair)), apart

    rows = _grid(vocabulary, parts)
    made = product(rows, rows) if law.cascade else zip(rows, [*rows[1:], rows[0]])
    return sorted((pair for pair in made if pair[0] != pair[1]), key=told, reverse=True)


def _ties(law: DeclaredLaw, vocabulary: int, bits: int) -> list[Pair]:
    """Up to two pairs on the line, of the coarsest grid that has any; none where no binary fraction meets it."""
    steps = [Fraction(law.cascade.alpha)] if law.cascade and law.cascade.defer != "optimal" else []
    steps += [Fraction(law.top_p)] if law.top_p is not None and not law.cascade else []
    share = Fraction(law.cascade.alpha) if law.cascade and law.cascade.defer == "optimal" else Fraction(0)
    share = share if law.top_k is law.top_p is None else Fraction(0)  # else the rows that are compared are others
    for parts in GRIDS:
        if any((step * parts).denominator != 1 for step in steps):
            continue
        can = [pair for pair in _on_grid(law, vocabulary, parts) if (share * _apart(pair) * parts).denominator == 1]
        near = [pair for pair in reversed(can) if _apart(pair) * 2 > 1]
        found = [next((pair for pair in way if _tied(law, pair, bits)), None) for way in (can, near)]
        if found[0]:
            return list(dict.fromkeys(pair for pair in found if pair))
    return []


def _crossings(law: DeclaredLaw, vocabulary: int, bits: int, ties: list[Pair]) -> Iterator[Pair]:
    """Pairs on both sides of a threshold, as near to it as the types tell apart."""
    grid = _on_grid(law, vocabulary, GRIDS[0])
    sides: dict[tuple, list[Pair]] = {}
    for pair in grid[:: max(1, len(grid) // MOST_LOOKED_AT)]:
        sides.setdefault(_decided(law, pair), []).append(pair)
    ends = [(first[0], second[k]) for first, second in combinations(sides.values(), 2)
            for k in (0, len(second) // 2)][:MOST_CROSSINGS]  # fmt: skip
    for tie in ties:
        there = _decided(law, tie)
        others = [min(members, key=lambda pair: _distance(pair, tie)) for d, members in sides.items() if d != there]
        ends += [(near, tie) for near in sorted(others, key=lambda pair: _distance(pair, tie))[:MOST_ABOUT_A_TIE]]
    step = 2**12 if bits >= SINGLE else 2**2
    for one, other in ends:
        yield from _nearest(law, _between(one, other, step), step, _coarsest(bits))


def _distance(one: Pair, other: Pair) -> Fraction:
    return sum((_apart(rows) for rows in zip(one, other)), Fraction(0))


def _between(one: Pair, other: Pair, steps: int) -> Callable[[int], Pair]:
    """The pair that has gone t of so many steps from one to the other."""

    def at(t: int) -> Pair:
        share = Fraction(t, steps)
        p, q = (tuple(a + share * (b - a) for a, b in zip(*rows)) for rows in zip(one, other))
        return p, q

    return at


def _nearest(law: DeclaredLaw, at: Callable[[int], Pair], steps: int, margin: Fraction) -> Iterator[Pair]:
    """The last pair that decides as the first does and the first that does not, each as far off as the margin asks."""
    low, high, here = 0, steps, _decided(law, at(0))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _decided(law, at(middle)) == here else (low, middle)
    for way in (range(low, -1, -1), range(high, steps + 1)):
        yield from islice((at(t) for t in way if _clear(law, at(t), margin)), 1)


def _at_the_cut(count: int, vocabulary: int) -> list[Pair]:
    """Rows that tie at the cut, with larger tokens before it and without, and rows that nearly do."""
    falling = normalised(list(range(vocabulary, 0, -1)))
    late = [vocabulary - 1 - t for t in range(count - 1)]
    weights = [
        [1] * vocabulary,
        [2 if t in late else 1 for t in range(vocabulary)],
        [65 if t == vocabulary - 1 else 64 for t in range(vocabulary)],
        [*range(1, vocabulary + 1)],
    ]
    return [(normalised(row), falling) for row in weights]
