"""The problems of an audit of a function: chosen once, before anything is called."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ....models.battery import audit_battery, drawn, own_problems
from ....models.companions import SINGLE, companions
from ....models.errors import InputError
from ....models.path_rows import path_battery
from ....models.problem import AnyProblem, Problem, digest_of
from ....models.related import relatives
from ....models.tree_battery import own_tree_problems, tree_audit_battery
from ....models.wide import WideProblem, backwards, exchanged, own_wide_problem, wide_battery
from ....proofs.driven.declared import SIGNIFICAND
from ....verifiers.adapters.calling_convention import PARENTS
from ....verifiers.trees.draft_tree import EVERY_WAY, TOP
from ..settings import AuditSettings
from ..subject import SubjectSpec

MOST_BLOCKS = 5_000
"""Draft blocks of a problem that an audit runs a verifier on, each for every way its chance can fall."""

ORIGINALS = (drawn(3, 1, "generic"), drawn(3, 2, "generic"))
"""Problems that are restated."""


def restated_problems() -> list[Problem]:
    """Return the originals, and the problems that are the same but for names."""
    return [problem for original in ORIGINALS for problem in (original, *(r.problem for r in relatives(original)))]


class AuditProblems(NamedTuple):
    """A choice of problems for one audit, each with a name of its own.

    small, wide: by the kind of their laws. given: those that the user gave. long_blocks: whether blocks of many
    positions are examined. related: whether problems that are the same but for names are compared.
    """

    small: list[Problem]
    wide: Sequence[WideProblem]
    given: list[AnyProblem]
    long_blocks: bool
    related: bool

    def digests(self) -> dict[str, str]:
        """Return a digest of each given problem by its name, which another problem may have elsewhere."""
        return {p.name: digest_of(p) for p in self.given}


def problems_for(subject: SubjectSpec, settings: AuditSettings) -> AuditProblems:
    """Choose the problems of an audit: the given ones, or those of the battery.

    Raises: InputError for a problem that is too large, or that the subject is not made for.
    """
    given = _distinctly_named(settings.problems)
    small = [p for p in given if isinstance(p, Problem)]
    wide: Sequence[WideProblem] = [p for p in given if isinstance(p, WideProblem)]
    whole = not given and not settings.quick
    if not given:
        small = [*audit_battery(), *own_problems(settings.seed), *(path_battery() if whole else ())]
    _refuse(subject, settings, small, given)
    related = whole and subject.reference is None
    if related:
        names = {p.name for p in small}
        small += [p for p in restated_problems() if p.name not in names]
    if whole:
        own = own_wide_problem(settings.seed)
        wide = settings.wide if settings.wide is not None else [*wide_battery(), own, backwards(own), exchanged(own)]
    bits = SINGLE if subject.reference else min(SINGLE, *(SIGNIFICAND[dtype] for dtype in subject.dtypes))
    small += [companion for problem in small for companion in companions(problem, bits)]
    return AuditProblems(small, wide, given, whole and settings.wide is None, related)


def _refuse(
    subject: SubjectSpec, settings: AuditSettings, small: Sequence[Problem], given: Sequence[AnyProblem]
) -> None:
    """Raise InputError for problems that the subject is not made for."""
    if subject.modifies_target and (asking := next((p for p in small if p.law), None)):
        raise InputError(
            f'{asking.name}: it declares a "law", and {subject.name} modifies the target; expected none here'
        )
    wanted = ways_asked_for(settings)
    if subject.reference is None:
        return
    if given and not small:
        raise InputError(
            f"{given[0].name}: the distributions of reference verifiers are exact; wide problems have rows of floats"
        )
    if wanted:
        raise InputError(f"{subject.name} verifies blocks, and no trees are drawn for it; expected no drafting")
    if tree := next((p for p in small if not p.tree.block), None):
        raise InputError(f"{tree.name}: it draws {tree.tree.drawn}; expected a problem of a single path")


def _distinctly_named(problems: Sequence[AnyProblem]) -> list[AnyProblem]:
    """Return the problems, each with a name of its own: evidence refers to them by name.

    Raises: InputError for one that is too large.
    """
    named: list[AnyProblem] = []
    for problem in problems:
        if isinstance(problem, Problem) and problem.drafts > MOST_BLOCKS:
            what = f"{problem.vocabulary}^{problem.gamma} draft blocks"
            what = what if problem.tree.chain else f"{problem.drafts:,} draft trees"
            most = f"expected at most {MOST_BLOCKS:,}"
            raise InputError(f"{problem.name}: {what} are too many for an audit; {most}", "DP204")
        taken = {p.name for p in named}
        names = (problem.name if k == 1 else f"{problem.name}-{k}" for k in itertools.count(1))
        named.append(replace(problem, name=next(name for name in names if name not in taken)))
    return named


def ways_of(subject: SubjectSpec, meant_for: tuple[str, ...], settings: AuditSettings) -> tuple[str, ...]:
    """Return the ways of drawing trees that a subject is judged by; none for one that verifies blocks.

    meant_for: the ways that it says. Raises: InputError where it is asked for others.
    """
    wanted = ways_asked_for(settings)
    ways = tuple(way for way in meant_for if not wanted or way in wanted)
    if meant_for and not ways:
        raise InputError(f"{subject.name} says that its trees are drawn {' or '.join(meant_for)}; none was asked for")
    if wanted and not meant_for:
        raise InputError(f"{subject.name} takes no {PARENTS!r}: it verifies blocks, and no trees are drawn for it")
    return ways


def drawn_for(
    subject: SubjectSpec, ways: tuple[str, ...], problems: list[Problem], settings: AuditSettings
) -> list[Problem]:
    """Return the problems for a subject that verifies trees drawn in these ways, or blocks if there are none.

    Raises: InputError for a given problem whose tree is drawn in another way.
    """
    if not ways:
        if tree := next((p for p in problems if not p.tree.block), None):
            raise InputError(
                f"{tree.name}: it draws {tree.tree.drawn}, and {subject.name} takes no {PARENTS!r}; "
                "expected a problem of a single path"
            )
        return problems
    if not settings.problems:
        return [*tree_audit_battery(ways), *own_tree_problems(settings.seed, ways)]
    wanted = ways_asked_for(settings)
    other = next((p for p in problems if p.tree.how not in wanted and not _drawn_alike(p, wanted)), None)
    if wanted and other:
        raise InputError(f"{other.name}: its trees are drawn {other.tree.how}; asked for: {', '.join(wanted)}")
    return problems


def _drawn_alike(problem: Problem, ways: Sequence[str]) -> bool:
    """Check whether a single path is drawn as in one of these ways: it has no siblings."""
    return problem.tree.block and any(way != TOP for way in ways)


def ways_asked_for(settings: AuditSettings) -> tuple[str, ...]:
    """Return the ways of drawing trees that were asked for. Raises: InputError for anything but some of them."""
    ways = settings.drafting
    if not isinstance(ways, (list, tuple)) or any(type(way) is not str or way not in EVERY_WAY for way in ways):
        raise InputError(f"drafting is {ways!r}; expected a list or tuple of some of {', '.join(EVERY_WAY)}")
    return tuple(ways)
