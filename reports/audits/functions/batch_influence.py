"""Rows of a batch, of verifiers that take many requests in one call: each has to emit what it emits alone."""

from collections.abc import Sequence

from ....models.battery import drawn
from ....verifiers.evidence import REFUTED, Evidence, Witness
from .session import FunctionSession

PROBLEMS = tuple(drawn(3, gamma, "generic") for gamma in (1, 2, 3))
"""Rows of one vocabulary and of several lengths."""


class BatchInfluence:
    """Refutes, or says what was tried: that no row was influenced is no proof that none can be."""

    def __init__(self, session: FunctionSession):
        self.session = session
        self.influenced: list[dict] = []

    def run(self) -> None:
        session = self.session
        convention = session.report.subject.get("convention", {})
        if not session.driven or not convention.get("together") or session.sandbox.ended:
            return
        session.settings.progress("calling it with batches", 0, 1)
        answer = session.sandbox.batches(PROBLEMS, session.settings.seed)
        self.influenced = answer["influenced"]
        session.report.subject["batches"] = {
            way: f"{n} batches of {answer['rows']}" for way, n in answer["tried"].items()
        }

    def evidence(self, complete: bool) -> Sequence[Evidence]:
        if self.influenced:
            self.session.report.claims = (*self.session.report.claims, "batch")
        return [
            Evidence(
                claim="batch", method="rows alone and together", verdict=REFUTED, problem=one["way"],
                witness=Witness(
                    sequence=",".join(map(str, one["tokens"])), expected=one["alone"], observed=one["among"],
                    why=f"place {one['place']} of {one['rows']} rows, {one['way']}",
                ),
                detail={"dtype": self.session.dtype},
                replay=self.session.replay_of(PROBLEMS[:1], "--seed", str(self.session.settings.seed)),
            )
            for one in self.influenced
        ]  # fmt: skip
