"""Influence of a batch's rows on one another: each has to emit what it emits alone."""

from collections.abc import Sequence
from typing import Any

from ....models.battery import drawn
from ....models.problem import Problem
from ....models.tree_battery import drawing
from ....verifiers.details import Detail
from ....verifiers.evidence import REFUTED, Evidence, Method, Witness
from ....verifiers.zoo.catalogue import BATCH_MUTANTS, ZooEntry
from .session import FunctionSession

PROBLEMS = tuple(drawn(3, gamma, "generic") for gamma in (1, 2, 3))
"""Rows of one vocabulary and of several lengths."""

TREES = ((2,), (1, 1), (2, 1), (1, 1, 1, 1))
"""Numbers of children: of 2 and of 4 nodes, two shapes each."""

NOT_TRIED = "not tried: it does not say that it takes them"


class BatchInfluence:
    """A part of an audit that refutes, or says what was tried. No influence seen is no proof of none."""

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
        """Return a mutant that explains what every row emitted, among others, exactly."""
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
