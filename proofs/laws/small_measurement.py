"""The measured law of a problem of a small vocabulary, made from the sandbox's answers: paths, or a partition."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ...models.law import Prefix, Table, prefix_of_key
from ...models.problem import Problem
from ...models.rationals import as_float
from ...verifiers.evidence import Strength
from ..field import in_field, rational
from ..interception.outcomes import decoded
from ..rounding.rounding_allowed import (
    EPSILON,
    MOST,
    excused,
    explained_by_its_theorem,
    explained_by_rounding,
    precision,
    resolution_allowed,
    rounding_allowed,
    rows_as_they_are,
    rows_in_use_allowed,
)
from .small_law import Measurement


def measured(problem: Problem, dtype: str, answers: Iterable[Mapping[str, Any]], modifies_target: bool = False,
             own_rule: str | None = None) -> Measurement:  # fmt: skip
    """Return the law that the answers to a request make up, or one without a law and the reason.

    own_rule: as of ``SubjectSpec``; its law is judged by the theorem of that rule alone, other code's by both measures.
    """
    in_use, blocks, findings, asked = in_field(problem), {}, {}, {}
    exactness, reason, paths = Strength.EXACT, None, 0
    resolution = between_levels = sums_off = grain = 0.0
    off: list[dict[Prefix, float]] = [{}, {}]
    arithmetic = None
    for answer in answers:
        if "target" in answer:
            off = [{prefix_of_key(key): by for key, by in rows.items()} for rows in answer["off"]]
            sums_off = max(abs(by) for rows in off for by in rows.values())
            tables = {name: _table(answer[name], name) for name in ("target", "draft")}
            distance = _farthest(problem, tables)
            if distance <= rows_in_use_allowed(dtype):
                in_use = replace(problem, **tables)
            else:
                reason = other_rows(distance)
            continue
        findings |= answer.get("findings") or {}
        arithmetic = answer.get("arithmetic", arithmetic)
        asked |= {name: answer[name] for name in ("missed", "confirmations", "numbers") if name in answer}
        if "never_returned" in answer:
            reason = findings["never-returned"] = never_returned(answer)
        elif "block" in answer:
            paths += answer["paths"]
            exactness = max(exactness, Strength(answer["exactness"]), key=lambda strength: strength.rank)
            if answer["law"] is None:
                reason = reason or answer["reason"]
                continue
            resolution = max(resolution, answer["resolution"])
            between_levels = max(between_levels, answer.get("between_levels", 0.0))
            if bits := answer["coarsest"]:
                grain = max(grain, (problem.tree.nodes + problem.vocabulary) * 2.0**-bits)
                if 2.0 ** (1 - bits) > EPSILON[dtype]:
                    findings["coarse-uniform"] = (
                        f"decides {dtype} rows with a {bits}-bit uniform: that alone moves each decision by up to "
                        f"{2.0**-bits:.1g}; with --uniform-bits {bits} it is judged as such"
                    )
            blocks[tuple(answer["block"])] = {decoded(o): rational(p) for o, p in answer["law"]}
    judged, certain, *_ = precision(dtype, arithmetic)
    if reason is None and resolution > (needed := resolution_allowed(judged)):
        reason = f"its distribution is known only to within {resolution:.1g}, a claim in {judged} needs {needed:.1g}"

    def bounds(kind: str) -> tuple[float, float]:
        if kind != dtype and not (own_rule or modifies_target or not problem.tree.block):
            of_sums = rows_as_they_are(in_use, *off)
            theorem = explained_by_rounding(in_use, kind, problem.vocabulary * EPSILON[kind])  # divided by their sums
            return rounding_allowed(problem.gamma, kind, of_sums, dtype), min(theorem + of_sums, MOST)
        rule = rounding_allowed(problem.tree.nodes, kind, 2 * problem.tree.nodes * sums_off, dtype)
        if own_rule:
            return rule, explained_by_its_theorem(own_rule, in_use, kind, sums_off)
        return rule, explained_by_rounding(in_use, kind, sums_off, modifies_target)

    rule, theorem = bounds(judged)
    least, most = (theorem, theorem) if own_rule else (min(rule, theorem), max(rule, theorem))
    by_theorem: dict[str, Any] = {"theorem_of": own_rule} if own_rule else {}
    return Measurement(
        problem, in_use, blocks, modifies_target, grain, dtype=dtype, exactness=exactness, paths=paths, reason=reason,
        tolerance=excused(least, resolution), explained=excused(most, resolution),
        rounding={"rule": rule, "theorem": theorem, **by_theorem}, arithmetic=judged if judged != dtype else None,
        certain=excused(min(bounds(certain)[own_rule is not None :]), resolution) if certain != judged else math.inf,
        findings=findings, between_levels=between_levels, **(asked if exactness is Strength.DRIVEN else {}),
    )  # fmt: skip


def never_returned(answer: Mapping[str, Any]) -> str:
    """Return the reason why there is no law if a call did not return."""
    return f"on draft block {answer['block']} a call did not return {answer['never_returned']}"


def other_rows(distance: float) -> str:
    """Return the reason why there is no law if a function verifies with other rows than those given."""
    return f"it verifies with rows that are TV {distance:.2g} from those it is given"


def _farthest(problem: Problem, tables: Mapping[str, Table]) -> float:
    """Return the largest total variation between a row as given and the same as it is used."""
    given = {"target": problem.target, "draft": problem.draft}
    pairs = ((given[name].row(prefix), row) for name, table in tables.items() for prefix, row in table.rows.items())
    return max((sum(abs(as_float(p) - as_float(q)) for p, q in zip(a, b)) / 2 for a, b in pairs), default=0.0)


def _table(rows: Mapping[str, list[str]], name: str) -> Table:
    return Table({prefix_of_key(key): tuple(map(rational, row)) for key, row in rows.items()}, name)
