"""Companions of a problem that declares a law: rows on both sides of where the law changes, and on that line itself.

A cascade defers or does not, a truncation keeps a token or does not. Two such laws can agree on a problem, and on all
problems near it, and differ elsewhere. So the companions have rows at the declared law's threshold, made by hand for
each rule. A mask rules out the largest token there, and a mixture is of rows that have little in common.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import frexp

from msgspec.structs import replace as with_fields

from .battery import drawn, normalised
from .declared import DeclaredLaw, DeclaredModel
from .errors import InputError
from .law import ContextFree, Prefix, Table, prefix_of_key
from .problem import Problem
from .rationals import as_fraction

Row = tuple[Fraction, ...]
Pair = tuple[Row, Row]

LARGEST = Fraction(7, 8), Fraction(1, 2), Fraction(1)
"""Largest entries of the target's row where a cascade compares the draft's largest entry with it."""

PARTS = 16
"""Denominator of the total variations for which the cascade ``optimal`` has rows on its line: 1 / PARTS in float."""

HAIR = Fraction(1, 2**40)
"""Step of a threshold that changes the decision on a tie alone, of rows with small denominators."""

SINGLE = 24
"""Bits of the significand of float32."""

MOST_TIES = 2
"""Companions whose first row is a tie."""

OTHERS = ("generic", 0), ("generic", 1), ("generic", 2), ("zeros", 0), ("disjoint", 0)
"""Kinds of rows that are there whatever the law is, and their seeds."""


def companions(problem: Problem, bits: int = SINGLE) -> list[Problem]:
    """Return problems of the same size and declared law, each with another of the pairs of rows first.

    bits: of the coarsest significand in which rows are handed over. No pair is nearer to a threshold than that
    significand tells apart, but for ties whose arithmetic has no rounding in any type of so many bits.
    """
    law = problem.law
    if law is None or problem.vocabulary < 2:
        return []
    ties, others = pairs(with_fields(law, grammar=None), problem.vocabulary, bits)
    named = [*(("tie", pair) for pair in ties), *(("near", pair) for pair in others)]
    found = []
    for k, (kind, _) in enumerate(named):
        turned = [pair for _, pair in (*named[k:], *named[:k])]
        made = replace(_with_pairs(problem, turned, k % 2), name=f"{problem.name}-{kind}-{k + 1}")
        if _means_a_law(made):
            found.append(made)
    return found


def on_a_tie(problem: Problem) -> bool:
    """Return whether some row of the declared law is so near to a threshold that rounding may decide it."""
    if problem.law is None:
        return False
    law = with_fields(problem.law, grammar=None)
    return any(not _clear(law, pair, _coarsest(SINGLE)) for pair in set(_pairs_of(problem)))


def _pairs_of(problem: Problem) -> Iterator[Pair]:
    for prefix in (x for n in range(problem.gamma) for x in problem.prefixes(n)):
        p, q = (tuple(map(as_fraction, model.row(prefix))) for model in (problem.target, problem.draft))
        yield p, q


def _means_a_law(problem: Problem) -> bool:
    """Return whether some token may follow every text."""
    try:
        for prefix in (x for n in range(problem.gamma + 1) for x in problem.prefixes(n)):
            problem.asked.row(prefix)
    except InputError:
        return False
    return True


def _with_pairs(problem: Problem, known: list[Pair], side: int) -> Problem:
    """Return the problem with the n-th pair after the n-th text.

    If the grammar rules tokens out there, one of them takes the place of the largest token of the target or draft.
    """
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
    """Exchange two tokens in both rows."""
    places = {one: other, other: one}
    p, q = (tuple(row[places.get(t, t)] for t in range(len(row))) for row in pair)
    return p, q


def _drawn(vocabulary: int, kind: str, seed: int = 0) -> Pair:
    problem = drawn(vocabulary, 1, kind, seed)
    return tuple(problem.target.row(())), tuple(problem.draft.row(()))


@lru_cache(maxsize=16)
def _laws_near(law: DeclaredLaw, by: Fraction) -> tuple[DeclaredLaw, DeclaredLaw]:
    """Return the law with its thresholds lower and higher by so much."""

    def moved(step: Fraction) -> DeclaredLaw:
        cascade = law.cascade and with_fields(law.cascade, alpha=Fraction(law.cascade.alpha) + step)
        top_p = None if law.top_p is None else Fraction(law.top_p) + step
        return with_fields(law, cascade=cascade, top_p=top_p)

    return moved(-by), moved(by)


def _row(law: DeclaredLaw, pair: Pair) -> Row:
    """Return the law's row of a pair."""
    model = DeclaredModel(law, ContextFree(pair[0]), ContextFree(pair[1]), 1)
    return tuple(model.row(()))


def _clear(law: DeclaredLaw, pair: Pair, margin: Fraction) -> bool:
    """Return whether thresholds that are off by the margin decide the same."""
    return all(_decided(moved, pair) == _decided(law, pair) for moved in _laws_near(law, margin))


def _decided(law: DeclaredLaw, pair: Pair) -> tuple[int, bool]:
    """Return what the thresholds decide: how many tokens are kept, and whether the cascade defers."""
    deferred = law.cascade is not None and _row(law, pair) != pair[1]
    return sum(p != 0 for p in _cut(law, pair)), deferred


def _cut(law: DeclaredLaw, pair: Pair) -> Row:
    """Return the target's row after temperature and truncation."""
    return _row(DeclaredLaw(law.temperature or "1", law.top_k, law.top_p), pair)


def _coarsest(bits: int) -> Fraction:
    """Return how near to a threshold rows of so many bits may come."""
    return Fraction(1, 2 ** (bits - 5)) if bits >= SINGLE else Fraction(1, 64)


def _tied(law: DeclaredLaw, pair: Pair, bits: int) -> bool:
    """Return whether the pair is on the line, and its arithmetic exact in types of so many bits and in float64."""
    if law.temperature is not None or _clear(law, pair, HAIR):  # powers round
        return False
    cut = _cut(law, pair)
    numbers, threshold = {*cut, *pair[0], *pair[1]}, Fraction(law.cascade.alpha if law.cascade else law.top_p)
    apart = total_variation(cut, pair[1]) if law.cascade and law.cascade.defer == "optimal" else 1
    return all(
        all(rounded(x, n) == x for x in numbers) and rounded(rounded(threshold, n) * apart, n) == threshold * apart
        for n in (53, bits)
    )


def rounded(x: Fraction, bits: int) -> Fraction:
    """Return the nearest number of so many significant bits, ties to even."""
    scale = Fraction(2) ** (bits - frexp(x)[1])
    return round(x * scale) / scale


def total_variation(p: Row, q: Row) -> Fraction:
    """Return half of the sum of |p - q|."""
    return sum((abs(a - b) for a, b in zip(p, q, strict=True)), Fraction(0)) / 2


def pairs(law: DeclaredLaw, vocabulary: int, bits: int = SINGLE) -> tuple[list[Pair], list[Pair]]:
    """Return pairs of rows on a threshold of the law, and others: on both sides of it, rows apart, drawn ones."""
    ties = [pair for pair in dict.fromkeys(_on_the_line(law, vocabulary)) if _tied(law, pair, bits)][:MOST_TIES]
    margin = _coarsest(bits)
    others = [pair for moved in _laws_near(law, 2 * margin) for pair in _on_the_line(moved, vocabulary)]
    if law.top_k is not None or law.top_p is not None:
        others += _at_the_cut(law, vocabulary)
    others += [_drawn(vocabulary, *kind) for kind in OTHERS]
    return ties, [pair for pair in dict.fromkeys(others) if _clear(law, pair, margin)]


def _on_the_line(law: DeclaredLaw, vocabulary: int) -> list[Pair]:
    """Return pairs of different rows whose difference, or sum, is the law's threshold.

    If the law has a temperature, the target's rows meet the threshold after it, but for float64's rounding.
    """
    if law.cascade and law.cascade.defer == "optimal":
        made = _optimal_line(Fraction(law.cascade.alpha), vocabulary)
    elif law.cascade:
        of_draft = ((1 if law.cascade.defer == "chow" else p) - Fraction(law.cascade.alpha) for p in LARGEST)
        made = [(_filled(p, vocabulary), _filled(q, vocabulary)[::-1]) for p, q in zip(LARGEST, of_draft, strict=True)]
    elif law.top_p is not None:
        rows = [_filled(Fraction(law.top_p) / count, vocabulary) for count in (1, 2)]
        made = [(row, row[1:] + row[:1]) for row in rows]
    else:
        return []
    made = [(_before_temperature(law, p), q) for p, q in made if p and q]
    return [pair for pair in made if pair[0] != pair[1]]


def _before_temperature(law: DeclaredLaw, row: Row) -> Row:
    """Return a row that the law's temperature makes the one given, but for rounding."""
    power = float(Fraction(law.temperature or 1))
    return row if power == 1 else normalised([Fraction(float(p) ** power).limit_denominator(2**SINGLE) for p in row])


def _filled(largest: Fraction, vocabulary: int) -> Row:
    """Return a row of entries as large as the largest one as far as they go, or () where there is none."""
    row, left = [], Fraction(1)
    for _ in range(vocabulary):
        row.append(min(largest, left))
        left -= row[-1]
    return tuple(row) if left == 0 and min(row) >= 0 else ()


def _optimal_line(alpha: Fraction, vocabulary: int) -> list[Pair]:
    """Return pairs with max p - max q = alpha TV(p, q): mass goes from one token to another, or from two to two.

    Of the first kind there are two: one whose numbers are binary fractions, and one whose target has one token.
    """
    found: list[Pair] = []
    binary = [Fraction(k * alpha.denominator, PARTS) for k in range(PARTS, 0, -1)]
    for tokens, choices in ((1, binary), (1, [1 / (1 + abs(alpha))]), (2, [*binary, Fraction(1, 2)])):
        for t in (t for t in choices if t <= 1 and 2 * tokens <= vocabulary):
            top, rest = ((1 + t) / tokens + alpha * t) / 2, ((1 - t) / tokens - alpha * t) / 2
            entries = top, rest, top - t / tokens, rest + t / tokens
            if min(entries) >= 0:
                between = (Fraction(0),) * (vocabulary - 2 * tokens)
                p, q = ((a,) * tokens + between + (b,) * tokens for a, b in (entries[:2], entries[2:]))
                found.append((p, q))
                break
    return found


def _at_the_cut(law: DeclaredLaw, vocabulary: int) -> list[Pair]:
    """Return rows that tie at the cut, with larger tokens before it and without, and rows that nearly do."""
    falling, count = normalised(list(range(vocabulary, 0, -1))), min(law.top_k or 1, vocabulary)
    late = [vocabulary - 1 - t for t in range(count - 1)]
    weights = [
        [1] * vocabulary,
        [2 if t in late else 1 for t in range(vocabulary)],
        [65 if t == vocabulary - 1 else 64 for t in range(vocabulary)],
        [*range(1, vocabulary + 1)],
    ]
    rows = [normalised(row) for row in weights]
    if law.top_p is not None and vocabulary > 2:  # one token, then equal ones: the first of these passes the limit
        equal = (1 - Fraction(law.top_p)) / (vocabulary - Fraction(3, 2))
        cut = (Fraction(law.top_p) - equal / 2,) + (equal,) * (vocabulary - 1)
        rows += [_before_temperature(law, cut)] if cut[0] > 0 else []
    return [(row, falling) for row in rows]
