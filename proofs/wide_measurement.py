"""The measured law of what a verifier emits on a wide problem, and its distance from the target.

Shorter outputs are continued by the target (Lemma 2), so all that lies behind a sequence o = (live prefix, any token)
that no output passes through has the same ratio to the target, and the total variation is that of the frontier:
TV = 1/2 sum_o |F(o) - M_b(o)|, F(xy) = F(x) M_b(y | x) + Pr(xy is emitted), F of the prefixes that can be drafted first.
Rows are float64 and sums of them exact or pairwise: the error of the TV is below 1e-14.
"""

import base64
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..models.law import Prefix, prefix_of_key
from ..models.wide import WideProblem
from .interception.outcomes import decoded
from .measurement import EXACTNESS, other_rows
from .rounding_rule import (
    HALF,
    MOST_HALF,
    look_up_allowed,
    look_up_explained,
    rows_in_use_allowed,
    wide_explained,
    wide_resolution_allowed,
    wide_rounding_allowed,
)
from .rounding_theorem import IN_ORDER, PAIRWISE

Row = np.ndarray


@dataclass
class WideMeasurement:
    """What was measured of a verifier on a wide problem.

    problem: the specification.
    target, draft: prefix that can be drafted -> row in use, float64, normalised.
    emitted: prefix -> Pr(prefix y is emitted), [V], over draft blocks and the verifier's own chance.
    malformed: outcome that is no sequence of 1..gamma+1 tokens of the vocabulary -> its probability.
    strays: probability of outputs that leave the draft block before their last token.
    unknown: probability of what the law says nothing of.
    called: calls that confirmed a path's row; least: the fewest of a row.
    not_called: probability of the tokens that no call led to.
    looked_up, looked_up_explained: what look-ups in a running sum may add, by the rule and by the theorem.
    explained, rounding: as in ``Measurement``, and "theorem_pairwise", for sums in pairs: what holds is within that.
    exactness, tolerance, dtype, paths, reason, findings: as in ``Measurement``; the reason, where ``unknown`` is not 0.
    """

    problem: WideProblem
    dtype: str
    target: dict[Prefix, Row] = field(default_factory=dict)
    draft: dict[Prefix, Row] = field(default_factory=dict)
    emitted: dict[Prefix, Row] = field(default_factory=dict)
    malformed: dict[Any, float] = field(default_factory=dict)
    strays: float = 0.0
    unknown: float = 0.0
    called: int = 0
    least: int | None = None
    not_called: float = 0.0
    looked_up: float = 0.0
    looked_up_explained: float = 0.0
    exactness: str = "exact"
    tolerance: float = 0.0
    explained: float = 0.0
    rounding: dict[str, float] = field(default_factory=dict)
    paths: int = 0
    reason: str | None = None
    findings: dict[str, str] = field(default_factory=dict)

    @property
    def known(self) -> bool:
        return self.reason is None

    @cached_property
    def smallest(self) -> float:
        """The smallest positive probability of a target's row."""
        return min(float(row[row > 0].min()) for row in self.target.values())

    def right(self, prefix: Prefix, first: int, size: int) -> Row:
        """The target's probabilities of prefix + (first + k,), k < size; 0 where it is none that can be drafted."""
        masses = np.zeros(size)
        if prefix in self.target:
            reached = math.prod(float(self.target[prefix[:i]][token]) for i, token in enumerate(prefix))
            start, end = max(first, 0), min(first + size, self.problem.vocabulary)
            masses[start - first : end - first] = reached * self.target[prefix][start:end]
        return masses

    def allow(self, sums_off: float, resolution: float) -> None:
        """Set up to what a deviation is rounding, and up to what it may be: by the rule, and by the theorem.

        In which order a function sums is not known: it is cleared within the bound for sums in pairs, and refuted beyond
        that for sums in order.
        """
        problem, dtype = self.problem, self.dtype
        most = MOST_HALF if dtype in HALF else 1.0
        rule = min(wide_rounding_allowed(problem.gamma, dtype, problem.vocabulary, sums_off), most)
        in_order = in_pairs = rule
        if self.target:
            rows = self.target, self.draft, dtype, sums_off
            in_order, in_pairs = (wide_explained(*rows, order) for order in (IN_ORDER, PAIRWISE))
        self.rounding = {"rule": rule, "theorem": in_order, "theorem_pairwise": in_pairs}
        looked_up = self.looked_up, self.looked_up_explained
        self.tolerance = min(min(rule, in_pairs) + min(looked_up), most) + resolution
        self.explained = min(max(rule, in_order) + max(looked_up), most) + resolution

    def withdraw(self) -> None:
        """Nothing that was measured is to be believed."""
        self.emitted, self.malformed, self.unknown = {}, {}, 1.0
        for name in ("frontier", "total_variation"):
            vars(self).pop(name, None)

    def put(self, prefix: Prefix, first: int, masses: Row) -> None:
        """Add the probabilities that prefix + (first + k,) is emitted."""
        row = self.emitted.setdefault(prefix, np.zeros(self.problem.vocabulary))
        start, end = max(first, 0), min(first + len(masses), len(row))
        row[start:end] += masses[start - first : end - first]
        for k in np.flatnonzero(masses):
            if not start <= first + k < end:
                self._malformed((*prefix, first + int(k)), float(masses[k]))

    def put_outcome(self, block: Prefix, outcome: Any, mass: float) -> None:
        """Add the probability of one outcome. A stray is cut where it leaves the prefixes that can be drafted."""
        sequence = self.cut(outcome)
        if sequence is None:
            self._malformed(outcome, mass)
            return
        if outcome[:-1] != block[: len(outcome) - 1]:
            self.strays += mass
        self.put(sequence[:-1], sequence[-1], np.array([mass]))

    def cut(self, outcome: Any) -> Prefix | None:
        """An output up to where it leaves the prefixes that can be drafted; None if it is no 1..gamma+1 tokens."""
        in_range = isinstance(outcome, tuple) and all(0 <= x < self.problem.vocabulary for x in outcome)
        if not in_range or not 1 <= len(outcome) <= self.problem.gamma + 1:
            return None
        return outcome[: next(n for n in range(len(outcome), 0, -1) if outcome[: n - 1] in self.target)]

    def _malformed(self, outcome: Any, mass: float) -> None:
        self.malformed[outcome] = self.malformed.get(outcome, 0.0) + mass

    @cached_property
    def frontier(self) -> dict[Prefix, tuple[Row, Row]]:
        """Prefix that can be drafted -> (F, M_b) of its continuations by one token that cannot be drafted; else 0."""
        found: dict[Prefix, tuple[Row, Row]] = {}
        reached: dict[Prefix, tuple[float, float]] = {(): (0.0, 1.0)}
        for prefix in sorted(self.target, key=len):
            flow, mass = reached[prefix]
            row = self.target[prefix]
            here, right = flow * row, mass * row
            if prefix in self.emitted:
                here = here + self.emitted[prefix]
            if len(prefix) < self.problem.gamma:
                for token in self.problem.live[len(prefix)]:
                    reached[(*prefix, token)] = (float(here[token]), float(right[token]))
                    here[token] = right[token] = 0.0
            found[prefix] = here, right
        return found

    @cached_property
    def total_variation(self) -> float:
        """The total variation from the target; where part of the law is unknown, a lower bound of it."""
        if self.unknown or self.strays:
            return math.fsum(float(np.maximum(f - t, 0.0).sum()) for f, t in self.frontier.values())
        apart = math.fsum(float(np.abs(f - t).sum()) for f, t in self.frontier.values())
        return (apart + math.fsum(self.malformed.values())) / 2

    def expected_accepted(self) -> float:
        return math.fsum(len(prefix) * float(row.sum()) for prefix, row in self.emitted.items())

    def optimum(self) -> float:
        """Block verification's E[tau] = sum over live x of M_s(x) p(x), p as in Eq. (9). Source: Lemma 3."""
        total = 0.0
        reached: dict[Prefix, tuple[float, float]] = {(): (1.0, 1.0)}
        for prefix in sorted(self.draft, key=len):
            mass, survived = reached.pop(prefix, (0.0, 0.0))
            for token in self.problem.live[len(prefix)]:
                q = float(self.draft[prefix][token])
                if q and mass:
                    here = min(survived * float(self.target[prefix][token]) / q, 1.0)
                    total += mass * q * here
                    reached[(*prefix, token)] = mass * q, here
        return total


def measured_wide(problem: WideProblem, dtype: str, answers: Iterable[Mapping[str, Any]]) -> WideMeasurement:
    """A measurement from the answers of the sandbox."""
    measurement, resolution, left, sums_off = WideMeasurement(problem, dtype), 0.0, 1.0, 0.0
    rows: list[Row] = []
    for answer in answers:
        if "data" in answer:
            rows.append(np.frombuffer(base64.b64decode(answer["data"]), dtype="<f8"))
        elif "target" in answer:
            for name in ("target", "draft"):
                sums = {at: math.fsum(rows[at]) for at in answer[name].values()}
                sums_off = max(sums_off, *(abs(total - 1) for total in sums.values()))
                table = {prefix_of_key(key): rows[at] / sums[at] for key, at in answer[name].items()}
                given = {prefix: getattr(problem, f"{name}_row")(prefix) for prefix in table}
                given = {prefix: row / math.fsum(row) for prefix, row in given.items()}
                off = max(float(np.abs(table[prefix] - row).sum()) / 2 for prefix, row in given.items())
                if off > rows_in_use_allowed(dtype):
                    table, measurement.reason = given, other_rows(off)
                setattr(measurement, name, table)
        measurement.findings |= answer.get("findings") or {}
        if "block" not in answer:
            continue
        block = tuple(answer["block"])
        drafted = math.prod(float(measurement.draft[block[:i]][token]) for i, token in enumerate(block))
        if "never_returned" in answer:
            measurement.reason = f"on draft block {answer['block']} a call did not return {answer['never_returned']}"
            measurement.findings["never-returned"] = measurement.reason
            continue
        measurement.reason = measurement.reason or answer["reason"]
        measurement.paths += answer["paths"]
        measurement.exactness = max(measurement.exactness, answer["exactness"], key=EXACTNESS.index)
        if answer["law"] is None:
            continue
        left -= drafted
        resolution = max(resolution, answer["resolution"])
        _put_block(measurement, block, drafted, answer, rows)
    measurement.unknown += left if measurement.reason and left > 1e-12 else 0.0
    measurement.allow(sums_off, resolution)
    if resolution > wide_resolution_allowed(dtype):
        measurement.reason = measurement.reason or f"its law is known only to within {resolution:.1g}"
    if measurement.strays and measurement.reason is None and measurement.total_variation <= measurement.explained:
        measurement.reason = "it emits tokens that were not drafted before its last: their law is not compared here"
    return measurement


def _put_block(
    measurement: WideMeasurement, block: Prefix, drafted: float, answer: Mapping[str, Any], rows: list[Row]
) -> None:
    for outcome, probability in answer["law"]:
        measurement.put_outcome(block, decoded(outcome), drafted * probability)
    if answer["coarsest"] and answer["law"]:
        points = np.array([probability for _, probability in answer["law"]])
        of_points = points, measurement.dtype, answer["coarsest"]
        measurement.looked_up += drafted * 2 * look_up_allowed(*of_points)
        measurement.looked_up_explained += drafted * look_up_explained(*of_points, anywhere=True)
    for law in answer["rows"]:
        weights, prefix = rows[law["weights"]], tuple(law["prefix"])
        reached = drafted * law["probability"] / law["part"] if law["look_up"] else 0.0
        if reached:
            bits, summed = law["look_up"]
            masses = weights * (law["part"] / math.fsum(weights))
            with np.errstate(over="ignore"):  # a text of 1e-310: infinitely much, no bound of an entry
                most = measurement.right(prefix, law["first"], len(masses)) / reached
            of_row = masses, summed or measurement.dtype, bits, most
            measurement.looked_up += reached * look_up_allowed(*of_row)
            measurement.looked_up_explained += reached * look_up_explained(*of_row)
        masses = weights * (drafted * law["probability"] / math.fsum(weights))
        measurement.called += law["called"]
        measurement.least = min(law["called"], measurement.least or law["called"])
        if prefix == block[: len(prefix)] and len(prefix) <= measurement.problem.gamma:
            measurement.put(prefix, law["first"], masses)
        else:
            for k in np.flatnonzero(masses):
                measurement.put_outcome(block, (*prefix, law["first"] + int(k)), float(masses[k]))
    measurement.unknown += drafted * answer["unknown"]
    measurement.not_called += drafted * answer["not_called"]
