"""The measured law of a wide problem, made from the sandbox's answers."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...models.law import Prefix, prefix_of_key
from ...models.wide import WideProblem
from ...models.wide_rows import row_sum
from ...verifiers.evidence import Strength
from ..interception.called_ids import INSIDE
from ..interception.outcomes import decoded
from ..rounding.rounding_allowed import (
    Precision,
    look_up_allowed,
    look_up_entries,
    look_up_explained,
    precision,
    rows_in_use_allowed,
    wide_resolution_allowed,
)
from .small_measurement import never_returned, other_rows
from .wide_frontier import Row, cut
from .wide_law import WideMeasurement

STRAYS = "it emitted undrafted tokens before the last one; their distribution is not compared"
"""Reason why a law with such outputs is not known."""


def measured_wide(problem: WideProblem, dtype: str, answers: Iterable[Mapping[str, Any]]) -> WideMeasurement:
    """Return the law that the answers to a request make up, as far as it is known, and why the rest is not."""
    tables: dict[str, dict[Prefix, Row]] = {"target": {}, "draft": {}}
    findings, exactness, reason, paths, neutral = {}, Strength.EXACT, None, 0, False
    resolution, between_levels, left, sums_off = 0.0, 0.0, 1.0, 0.0
    rows, kept = _taken(answers)
    used = precision(dtype, next((answer["arithmetic"] for answer in kept if "arithmetic" in answer), None))
    blocks = _Blocks(problem, used, tables)
    for answer in kept:
        if "target" in answer:
            for name, table in tables.items():
                sums = {at: row_sum(rows[at]) for at in answer[name].values()}
                sums_off = max(sums_off, *(abs(one - 1) for one in sums.values()))
                normalised = {at: rows[at] / total for at, total in sums.items()}
                table |= {prefix_of_key(key): normalised[at] for key, at in answer[name].items()}
                if (off := answer["off"][name]) > rows_in_use_allowed(dtype):
                    reason = other_rows(off)
                    given = {prefix: getattr(problem, f"{name}_row")(prefix) for prefix in table}
                    table |= {prefix: row / row_sum(row) for prefix, row in given.items()}
        findings |= answer.get("findings") or {}
        if "never_returned" in answer:
            reason, neutral = never_returned(answer), False
            findings["never-returned"] = reason
        elif "block" in answer:
            neutral = answer["neutral"] if reason is None else neutral and answer["neutral"]
            reason = reason or answer["reason"]
            paths += answer["paths"]
            exactness = max(exactness, Strength(answer["exactness"]), key=lambda strength: strength.rank)
            if answer["law"] is not None:
                resolution = max(resolution, answer["resolution"])
                between_levels = max(between_levels, answer.get("between_levels", 0.0))
                left -= blocks.add(answer, rows)
    blocks.unknown += left if reason and left > 1e-12 else 0.0
    if resolution > wide_resolution_allowed(used.judged, problem.vocabulary):
        reason = reason or f"its distribution is known only to within {resolution:.1g}"
    law = blocks.law(
        dtype=dtype, exactness=exactness, reason=reason, out_of_scope=neutral, paths=paths, findings=findings
    )
    law = replace(law.allowing(sums_off, resolution, used), between_levels=between_levels)
    return replace(law, reason=STRAYS) if law.strays and law.known and not law.lossless.refutes else law


def _taken(answers: Iterable[Mapping[str, Any]]) -> tuple[list[Row], list[Mapping[str, Any]]]:
    """Return the rows of all answers, and the other answers, which refer to them."""
    rows: list[Row] = []
    kept = []
    for answer in answers:
        if "data" in answer:
            rows.append(np.frombuffer(answer["data"], dtype="<f8"))
        else:
            kept.append(answer)
    return rows, kept


class _Blocks:
    """A sum over draft blocks. used: the types that judge. tables: the rows in use, filled before the first block."""

    def __init__(self, problem: WideProblem, used: Precision, tables: Mapping[str, dict[Prefix, Row]]):
        self.problem, self.used = problem, used
        self.target, self.draft = tables["target"], tables["draft"]
        self.emitted: dict[Prefix, Row] = {}
        self.malformed: dict[Any, float] = {}
        self.strays = self.unknown = self.not_called = self.missed = 0.0
        self.looked_up = self.looked_up_explained = self.looked_up_certain = 0.0
        self.entries: dict[Prefix, Row] = {}
        self.called, self.least = 0, None
        self.ids: set[int] = set()

    def law(self, **about: Any) -> WideMeasurement:
        """Return the law of all blocks."""
        known = {name: value for name, value in vars(self).items() if name not in ("used", "entries")}
        confirmations = INSIDE if self.missed else 0
        return WideMeasurement(**known, looked_up_entries=self.entries, confirmations=confirmations, **about)

    def add(self, answer: Mapping[str, Any], rows: list[Row]) -> float:
        """Add the law given one draft block; returns the probability with which that is drafted."""
        block = tuple(answer["block"])
        drafted = math.prod(float(self.draft[block[:i]][token]) for i, token in enumerate(block))
        for outcome, probability in answer["law"]:
            self._put_outcome(block, decoded(outcome), drafted * probability)
        if answer["coarsest"] and answer["law"]:
            points = np.array([probability for _, probability in answer["law"]])
            of_points = points, self.used.judged, answer["coarsest"]
            allowed = self._look_up_allowed(points, None, answer["coarsest"])
            self.looked_up += drafted * 2 * allowed[0]
            self.looked_up_certain += drafted * 2 * allowed[1]
            self.looked_up_explained += drafted * look_up_explained(*of_points, anywhere=True)
            for (outcome, _), most in zip(answer["law"], look_up_entries(*of_points), strict=True):
                if (sequence := cut(decoded(outcome), self.problem, self.target)) is not None:
                    self._add_entries(sequence[:-1], sequence[-1], np.array([drafted * most]))
        for law in answer["rows"]:
            weights, prefix = rows[law["weights"]], tuple(law["prefix"])
            total, taken = row_sum(weights), drafted * law["probability"]
            if law["look_up"] and (reached := taken / law["part"]):
                bits, summed = law["look_up"]
                masses = weights * (law["part"] / total)
                with np.errstate(over="ignore"):  # a text of 1e-310: infinitely much, no bound of an entry
                    most = self._right(prefix, law["first"], len(masses)) / reached
                of_row = masses, summed or self.used.judged, bits, most
                allowed = self._look_up_allowed(masses, summed, bits, most)
                self.looked_up += reached * allowed[0]
                self.looked_up_certain += reached * allowed[1]
                self.looked_up_explained += reached * look_up_explained(*of_row)
                self._add_entries(prefix, law["first"], reached * look_up_entries(*of_row))
            masses = weights * (taken / total)
            self.called += law["called"]
            self.least = min(law["called"], self.least or law["called"])
            if prefix == block[: len(prefix)] and len(prefix) <= self.problem.gamma:
                self._put(prefix, law["first"], masses)
            else:
                for k in np.flatnonzero(masses):
                    self._put_outcome(block, (*prefix, law["first"] + int(k)), float(masses[k]))
        self.ids |= {i for i in answer["ids"] if 0 <= i < self.problem.vocabulary}
        self.unknown += drafted * answer["unknown"]
        self.not_called += drafted * answer["not_called"]
        self.missed += drafted * answer.get("missed", 0.0)
        return drafted

    def _look_up_allowed(
        self, masses: Row, summed: str | None, bits: float, most: Row | None = None
    ) -> tuple[float, float]:
        """Return ``look_up_allowed`` in the type that judges, and in the one that was seen for certain.

        summed: the type of the sum, if it is known.
        """
        judged, certain = (summed or dtype for dtype in (self.used.judged, self.used.certain))
        allowed = look_up_allowed(masses, judged, bits, most)
        return allowed, allowed if certain == judged else look_up_allowed(masses, certain, bits, most)

    def _right(self, prefix: Prefix, first: int, size: int) -> Row:
        """Return the target's probabilities of prefix + (first + k,), k < size; 0 if the prefix cannot be drafted."""
        masses = np.zeros(size)
        if prefix in self.target:
            reached = math.prod(float(self.target[prefix[:i]][token]) for i, token in enumerate(prefix))
            start, end = max(first, 0), min(first + size, self.problem.vocabulary)
            masses[start - first : end - first] = reached * self.target[prefix][start:end]
        return masses

    def _add_entries(self, prefix: Prefix, first: int, most: Row) -> None:
        """Add what look-ups may move the entries prefix + (first + k,) by."""
        if prefix in self.target:
            row = self._row(self.entries, prefix)
            start, end = max(first, 0), min(first + len(most), len(row))
            row[start:end] += most[start - first : end - first]

    def _row(self, rows: dict[Prefix, Row], prefix: Prefix) -> Row:
        if prefix not in rows:
            rows[prefix] = np.zeros(self.problem.vocabulary)
        return rows[prefix]

    def _put(self, prefix: Prefix, first: int, masses: Row) -> None:
        """Add the probabilities that prefix + (first + k,) is emitted."""
        row = self._row(self.emitted, prefix)
        start, end = max(first, 0), min(first + len(masses), len(row))
        row[start:end] += masses[start - first : end - first]
        for k in {*range(start - first), *range(end - first, len(masses))}:
            if masses[k]:
                self._put_malformed((*prefix, first + k), float(masses[k]))

    def _put_outcome(self, block: Prefix, outcome: Any, mass: float) -> None:
        """Add the probability of one outcome. A stray is cut where it leaves the prefixes that can be drafted."""
        sequence = cut(outcome, self.problem, self.target)
        if sequence is None:
            self._put_malformed(outcome, mass)
            return
        if outcome[:-1] != block[: len(outcome) - 1]:
            self.strays += mass
        self._put(sequence[:-1], sequence[-1], np.array([mass]))

    def _put_malformed(self, outcome: Any, mass: float) -> None:
        self.malformed[outcome] = self.malformed.get(outcome, 0.0) + mass
