"""Influence of a batch's rows on one another: each has to emit what it emits alone."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ....models.battery import drawn
from ....models.errors import RunFailed
from ....models.problem import Problem
from ....models.tree_battery import drawing
from ....proofs.audit_claims import judge_claim, refuted
from ....proofs.laws.small_law import Measurement
from ....verifiers.adapters.convention_names import SLOTS, named, split
from ....verifiers.adapters.conventions import OTHER_IS_WRONG
from ....verifiers.details import Detail
from ....verifiers.evidence import REFUTED, Evidence, Method, Witness
from ....verifiers.zoo.catalogue import BATCH_MUTANTS, ZooEntry
from ..sandboxed import probe_problems, sandbox_of
from .session import FunctionSession
from .withdrawal import confirmed_by_real_calls

PROBLEMS = tuple(drawn(3, gamma, "generic") for gamma in (1, 2, 3))
"""Rows of one vocabulary and of several lengths."""

TREES = ((2,), (1, 1), (2, 1), (1, 1, 1, 1))
"""Numbers of children: of 2 and of 4 nodes, two shapes each."""

OF_THREE = "different requests in one call"

REQUESTS = 3
"""Requests of such a batch."""

WRONG_OTHER = re.compile(OTHER_IS_WRONG.format(r"(\d+)", r"(\[.*?\])", r"(\[.*?\])"))
"""What a call raises in which another request does not emit what is certain."""

REAL_CALLS = 1000
"""Real calls that the law of a request in a slot has to survive."""

NOT_TRIED = "not tried: it does not say that it takes them"


class BatchInfluence:
    """A part of an audit that refutes, or says what was tried. No influence seen is no proof of none."""

    def __init__(self, session: FunctionSession):
        self.session = session
        self.influenced: list[dict] = []
        self.in_slots: list[Evidence] = []

    @property
    def problems(self) -> Sequence[Problem]:
        """Blocks, or trees of several shapes, drawn in each way that the subject is judged by."""
        shapes = [(how, children) for how in self.session.trees for children in TREES]
        trees = [drawing(drawn(3, len(children), "generic"), *children, how=how) for how, children in shapes]
        return trees or PROBLEMS

    def run(self) -> None:
        session = self.session
        convention = session.report.subject.get("convention", {})
        if {"batch", "vllm"} & {*convention.get("called_by", ())}:
            self._in_slots()
        if not session.driven or not convention.get("together") or session.sandbox.ended:
            return
        session.settings.progress("calling it with batches", 0, 1)
        answer = session.sandbox.batches(self.problems, session.settings.seed)
        self.influenced = answer["influenced"]
        if session.settings.explain:
            session.report.diagnosis += [self._named(BATCH_MUTANTS[name]) for name in answer["explained"]]
        session.report.subject["batches"] = {
            way: f"{n} batches of {answer['rows'][way]}" for way, n in answer["tried"].items()
        } | dict.fromkeys(answer["not_tried"], NOT_TRIED)
        known = session.report.subject.get("requests_a_call", answer["largest"])
        session.report.subject["requests_a_call"] = min(known, answer["largest"])

    def _in_slots(self) -> None:
        """Measure the law of a request in each slot of a batch of three, where its law alone is the target's."""
        session = self.session
        if session.withheld or session.sandbox.ended or session.decided(*session.laws):
            return
        session.settings.progress("calling it with batches", 0, 1)
        tried_first = [*session.settings.problems[:1], *PROBLEMS][:2]
        small = [problem for problem in tried_first if isinstance(problem, Problem)]
        right = [p for p in small if (law := session.measure(p)).known and not refuted(law, "lossless")]
        name, conventions = split(session.subject.target)
        limits = {"timeout": session.settings.timeout, "memory": session.settings.memory, "time": session.time}
        tried = 0
        for slot in SLOTS if right else ():
            spec = session.subject._replace(target=named(name, [*conventions, slot]))
            with sandbox_of(spec, session.dtype, handed_over=session.subject.handed_over, **limits) as sandbox:
                inside = replace(session, sandbox=sandbox)
                try:
                    sandbox.start(probe_problems([]))
                    laws = [*map(inside.measure, right)]
                    laws = confirmed_by_real_calls(inside, laws, laws[:1], REAL_CALLS)
                except RunFailed as failure:
                    if wrong := WRONG_OTHER.search(str(failure)):
                        self.in_slots.append(self._of_other(slot, wrong, right[0]))
                        continue
                    session.report.subject["batches"] = {OF_THREE: f"not tried: {failure}"}
                    return
            tried += all(law.known for law in laws)
            self.in_slots += [self._of_slot(slot, law) for law in laws if refuted(law, "lossless")]
        if tried:
            session.report.subject["batches"] = {
                OF_THREE: f"{tried} of {len(SLOTS)} batches of three, on {len(right)} problems"
            }
            session.report.subject["requests_a_call"] = REQUESTS if tried == len(SLOTS) else 1

    def _of_slot(self, slot: str, law: Measurement) -> Evidence:
        found = judge_claim(law, "lossless")
        witness = found.witness and replace(found.witness, why=f"as the {SLOTS[slot].words}; right alone")
        return replace(found, claim="batch", witness=witness, replay=self.session.replay_of([law.problem]))

    def _of_other(self, slot: str, wrong: re.Match[str], problem: Problem) -> Evidence:
        """Return the refutation by another request, which is wrong in every call."""
        place, emitted, certain = wrong.groups()
        why = f"request {place} of a batch, beside the {SLOTS[slot].words}"
        return Evidence(
            claim="batch", method=Method.BATCH, verdict=REFUTED, problem=OF_THREE,
            witness=Witness(sequence=certain.strip("[]"), expected=certain, observed=emitted, why=why),
            detail=Detail(dtype=self.session.dtype), replay=self.session.replay_of([problem]),
        )  # fmt: skip

    def _named(self, entry: ZooEntry) -> dict[str, Any]:
        """Return a mutant that explains what every row emitted, among others, exactly."""
        about = {"mutant": entry.name, "title": entry.title, "ancestor": entry.ancestor, "link": entry.link}
        return about | {"problems": [p.name for p in self.problems], "distance": 0.0, "claim": "batch"}

    def evidence(self, complete: bool) -> Sequence[Evidence]:
        if self.influenced or self.in_slots:
            self.session.report.claims = (*self.session.report.claims, "batch")
        settings = self.session.settings
        drafting = ",".join(settings.drafting or ()) or None
        replay = self.session.replay_of(self.problems[:1], drafting=drafting, seed=settings.seed)
        return self.in_slots + [
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
