"""What must not matter: names of tokens, a wider vocabulary, rows that are not normalised. Findings, not refutations.
And the other rows of a batch, of verifiers that take many requests in one call: each has to emit what it emits alone.

Each problem restated is audited as a problem of its own, so a wrong law there refutes. Here the laws are held
against each other: law(restated) = law(original) renamed, up to the rounding of both. And one problem is
verified with rows that do not sum to 1, which no claim speaks of: does the verifier normalise them?
"""

from collections.abc import Sequence
from typing import Any

from ....models.battery import drawn
from ....models.errors import RunFailed
from ....models.problem import Problem
from ....models.rationals import as_float
from ....models.related import relatives
from ....models.tree_battery import drawing
from ....proofs.laws import verdict_rule
from ....proofs.laws.reference_laws import total_variation
from ....proofs.laws.small_law import Measurement
from ....proofs.laws.small_measurement import measured
from ....verifiers.details import Detail
from ....verifiers.evidence import HOLDS, REFUTED, Evidence, Method, Witness
from ....verifiers.zoo.catalogue import BATCH_MUTANTS, ZooEntry
from .session import FunctionSession

ORIGINALS = (drawn(3, 1, "generic"), drawn(3, 2, "generic"))
"""Problems that are restated."""

SCALES = ((0.9, 0.9), (1 + 1e-7, 1.0), (1.0, 1 - 1e-7))
"""What the target's and the draft's rows are multiplied by."""


def restated_problems() -> list[Problem]:
    """The originals, and what they are in other words."""
    return [problem for original in ORIGINALS for problem in (original, *(r.problem for r in relatives(original)))]


class Relations:
    """Laws of problems that are the same but for names; rows that do not sum to 1."""

    def __init__(self, session: FunctionSession, wanted: bool):
        self.session, self.wanted = session, wanted

    def run(self) -> None:
        session = self.session
        known = {m.problem.name: m for m in session.laws if m.known}
        if not self.wanted or session.trees or session.sandbox.ended:
            return
        for original in (p for p in ORIGINALS if p.name in known):
            for relative in relatives(original):
                restated = known.get(relative.problem.name)
                if restated and (gap := other_law(known[original.name], restated, relative.ids)):
                    text = f"{original.name} with {relative.how} has another law of what is emitted, by TV {gap:.2g}"
                    session.report.notice({"relation": text})
        if known and session.dtype == session.subject.dtypes[0]:
            try:
                restated = [self._scaled(target, draft) for target, draft in SCALES]
            except RunFailed as failure:
                session.failed(failure, "on rows that do not sum to 1")
                return
            session.report.notice({"scaling": f"rows that do not sum to 1: {'; '.join(restated)}"})

    def evidence(self, complete: bool) -> Sequence[Evidence]:
        return []

    def _scaled(self, target: float, draft: float) -> str:
        problem, session = ORIGINALS[0], self.session
        answers = session.sandbox.law(problem, scales=(target, draft))
        law = measured(problem, session.dtype, answers, session.subject.modifies_target, session.subject.own_rule)
        how = f"target x {target:.8g}, draft x {draft:.8g}"
        if not law.known:
            return f"{how}: no law ({law.reason})"
        raised = next((o for o in law.outcomes() if isinstance(o, str)), None)
        if raised:
            return f"{how}: {raised}"
        found = law.lossless
        return f"{how}: no matter" if found.verdict == HOLDS else f"{how}: TV {found.size:.2g}"


def other_law(original: Measurement, restated: Measurement, ids: Sequence[int] | None) -> float | None:
    """The total variation between the two laws, ids renamed, if rounding does not explain it; None if it does."""
    if not ids:
        return None
    back = {there: here for here, there in enumerate(ids)}
    renamed = {
        tuple(back.get(t, -1) for t in outcome) if isinstance(outcome, tuple) else outcome: p
        for outcome, p in restated.outcomes().items()
    }
    gap = as_float(total_variation(renamed, original.outcomes()))
    allowed = original.tolerance + restated.tolerance, original.explained + restated.explained
    return gap if verdict_rule.decide(gap, *allowed) == REFUTED else None


PROBLEMS = tuple(drawn(3, gamma, "generic") for gamma in (1, 2, 3))
"""Rows of one vocabulary and of several lengths."""

TREES = ((2,), (1, 1), (2, 1), (1, 1, 1, 1))
"""Numbers of children: of 2 and of 4 nodes, two shapes each."""

NOT_TRIED = "not tried: it does not say that it takes them"


class BatchInfluence:
    """Refutes, or says what was tried: that no row was influenced is no proof that none can be."""

    def __init__(self, session: FunctionSession):
        self.session = session
        self.influenced: list[dict] = []

    @property
    def problems(self) -> Sequence[Problem]:
        """Blocks, or trees of several shapes, drawn in each way that the subject is judged by."""
        shapes = [(how, children) for how in self.session.trees for children in TREES]
        trees = [drawing(drawn(3, len(children), "generic"), *children, how=how) for how, children in shapes]
        return trees or PROBLEMS

    def run(self) -> None:
        session = self.session
        convention = session.report.subject.get("convention", {})
        if not session.driven or not convention.get("together") or session.sandbox.ended:
            return
        session.settings.progress("calling it with batches", 0, 1)
        answer = session.sandbox.batches(self.problems, session.settings.seed)
        self.influenced = answer["influenced"]
        if session.settings.explain:
            session.report.diagnosis += [self._named(BATCH_MUTANTS[name]) for name in answer["explained"]]
        session.report.subject["batches"] = {
            way: f"{n} batches of {answer['rows']}" for way, n in answer["tried"].items()
        } | dict.fromkeys(answer["not_tried"], NOT_TRIED)
        known = session.report.subject.get("requests_a_call", answer["largest"])
        session.report.subject["requests_a_call"] = min(known, answer["largest"])

    def _named(self, entry: ZooEntry) -> dict[str, Any]:
        """A mutant that explains what every row emitted, among others, exactly."""
        about = {"mutant": entry.name, "title": entry.title, "ancestor": entry.ancestor, "link": entry.link}
        return about | {"problems": [p.name for p in self.problems], "distance": 0.0, "claim": "batch"}

    def evidence(self, complete: bool) -> Sequence[Evidence]:
        if self.influenced:
            self.session.report.claims = (*self.session.report.claims, "batch")
        settings = self.session.settings
        drafting = ",".join(settings.drafting or ()) or None
        replay = self.session.replay_of(self.problems[:1], drafting=drafting, seed=settings.seed)
        return [
            Evidence(
                claim="batch", method=Method.BATCH, verdict=REFUTED, problem=one["way"],
                witness=Witness(
                    sequence=",".join(map(str, one["tokens"])), expected=one["alone"], observed=one["among"],
                    why=f"place {one['place']} of {one['rows']} rows, {one['way']}",
                    parents=",".join(map(str, one["parents"])) or None,
                ),
                detail=Detail(dtype=self.session.dtype),
                replay=replay,
            )
            for one in self.influenced
        ]  # fmt: skip
