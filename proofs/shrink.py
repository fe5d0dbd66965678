"""A smaller problem on which the same thing goes wrong: what a person can check by hand."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

from ..models.law import ContextFree, Table
from ..models.problem import Problem
from ..verifiers.trees.draft_tree import Drafting, drafting_by_parents


def size(problem: Problem) -> tuple:
    """Return the key that orders problems: drafts, drafted tokens, block length, tokens, rows, plain numbers."""
    rows = _rows(problem)
    numbers = sum(p.denominator + p.numerator for row in rows for p in row)
    return problem.drafts, problem.tree.nodes, problem.gamma, problem.vocabulary, len(set(rows)), numbers


def _rows(problem: Problem) -> list[tuple]:
    target = [tuple(problem.target.row(x)) for n in range(problem.gamma + 1) for x in problem.prefixes(n)]
    draft = [tuple(problem.draft.row(x)) for n in range(problem.gamma) for x in problem.prefixes(n)]
    return target + draft


def shrink(problem: Problem, fails: Callable[[Problem], bool], tries: int = 80) -> Problem:
    """Return the smallest problem found on which ``fails`` still holds, starting from one on which it does.

    fails: asked at most ``tries`` times; never asked of the problem itself.
    """
    smallest, left, improved = problem, tries, True
    while improved and left > 0:
        improved = False
        for candidate in _simpler(smallest):
            if size(candidate) >= size(smallest):
                continue
            left -= 1
            if fails(candidate):
                smallest, improved = candidate, True
                break
            if left <= 0:
                break
    return replace(smallest, name=f"{problem.name}-shrunk")


def _simpler(problem: Problem) -> Iterator[Problem]:
    """Yield simpler problems, the boldest changes first."""
    first_target, first_draft = ContextFree(tuple(problem.target.row(()))), ContextFree(tuple(problem.draft.row(())))
    children, how = problem.tree.children, problem.tree.how
    yield from _with_less_of_a_ragged_tree(problem)
    for shorter in range(1, problem.gamma) if problem.tree.parents is None else ():
        drafting = problem.drafting and Drafting(children[:shorter], how)
        yield replace(problem, gamma=shorter, drafting=drafting)
    for depth, count in enumerate(children) if problem.tree.parents is None else ():
        if count > 1:
            yield replace(problem, drafting=Drafting((*children[:depth], count - 1, *children[depth + 1 :]), how))
    if not (isinstance(problem.target, ContextFree) and isinstance(problem.draft, ContextFree)):
        yield replace(problem, target=first_target, draft=first_draft)
        yield replace(problem, draft=first_draft)
        yield replace(problem, target=first_target)
    if problem.vocabulary > 2 and not problem.law:  # a law may name tokens
        yield from filter(None, (_without(problem, dropped) for dropped in reversed(range(problem.vocabulary))))
    yield from _plainer_rows(problem)


def _with_less_of_a_ragged_tree(problem: Problem) -> Iterator[Problem]:
    """Yield the problem without one of the nodes that have no children."""
    parents = problem.tree.parents or ()
    for leaf in (n for n in reversed(range(len(parents))) if n not in parents):
        left = tuple(p - (p > leaf) for n, p in enumerate(parents) if n != leaf)
        drafting = drafting_by_parents(left, problem.tree.how)
        yield replace(problem, gamma=len(drafting.children), drafting=drafting)


def _without(problem: Problem, dropped: int) -> Problem | None:
    """Return the problem without one token; None if a row had nothing else."""
    remaining = [t for t in range(problem.vocabulary) if t != dropped]

    def table(model, longest, name):
        rows = {}
        for n in range(longest + 1):
            for x in product(range(len(remaining)), repeat=n):
                row = model.row(tuple(remaining[t] for t in x))
                left = [row[t] for t in remaining]
                if sum(left) == 0:
                    return None
                rows[x] = tuple(p / sum(left) for p in left)
        return ContextFree(rows[()]) if len(set(rows.values())) == 1 else Table(rows, name)

    target = table(problem.target, problem.gamma, "target")
    draft = table(problem.draft, problem.gamma - 1, "draft")
    if target is None or draft is None:
        return None
    return replace(problem, vocabulary=len(remaining), target=target, draft=draft)


def _plainer_rows(problem: Problem) -> Iterator[Problem]:
    """Yield the problem with every occurrence of one row replaced by a plainer one."""
    for row in sorted(set(_rows(problem)), key=lambda row: -sum(p.denominator for p in row)):
        for plain in _plain_rows(row):
            target = _replaced(problem, problem.target, problem.gamma, row, plain)
            draft = _replaced(problem, problem.draft, problem.gamma - 1, row, plain)
            yield replace(problem, target=target, draft=draft)


def _replaced(problem: Problem, model, longest: int, row: tuple, plain: tuple):
    if isinstance(model, ContextFree):
        return ContextFree(plain) if model.probabilities == row else model
    rows = {x: tuple(model.row(x)) for n in range(longest + 1) for x in problem.prefixes(n)}
    return Table({x: plain if r == row else r for x, r in rows.items()}, "model")


def _plain_rows(row: tuple) -> Iterator[tuple]:
    """Yield rows near the given one with small denominators."""
    for denominator in (2, 3, 4, 5, 8):
        counts = [int(p * denominator) for p in row]
        short = denominator - sum(counts)
        for t in sorted(range(len(row)), key=lambda t: counts[t] - row[t] * denominator)[:short]:
            counts[t] += 1
        if sum(counts) == denominator:
            yield tuple(Fraction(c, denominator) for c in counts)
