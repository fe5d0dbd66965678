"""Proofs for every vocabulary and every gamma, checked by Coq; and that its definitions are the Python code's."""

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from draftproof.corpus import coq
from draftproof.corpus.coq.agreement import compare
from draftproof.models.battery import drawn, drawn_markov, toy
from draftproof.models.problem import Problem
from draftproof.proofs.proving import Proof, ProofResult, size_of
from draftproof.verifiers.evidence import HOLDS, NO_EVIDENCE

EVERY = "every V, gamma, models with zeros, real field"
"""The models that a proof speaks of, where it says nothing else."""

_CLAIMS = json.loads(Path(__file__).with_name("theorems.json").read_text(encoding="utf-8"))
THEOREMS = {claim: tuple(said["theorems"]) for claim, said in _CLAIMS.items()}
"""The theorems of proofs/mechanized that a claim rests on."""

SIZES = {claim: said.get("size", "EVERY").replace("EVERY", EVERY) for claim, said in _CLAIMS.items()}
"""The models that the proof of a claim speaks of."""


class Compiling:
    """The folder in which the files of some theorems are compiled when the first of them is asked about.

    It is kept as long as there are proofs that use it. options: of ``coq.Build``.
    """

    def __init__(self, theorems: Sequence[str], **options: Any):
        self._theorems, self._options = theorems, options
        self._folder: TemporaryDirectory[str] | None = None

    @cached_property
    def build(self) -> coq.Build:
        self._folder = TemporaryDirectory(prefix="draftproof-coq-")
        with coq.workplace(Path(self._folder.name)) as place:
            return coq.Build(place, **self._options)

    @cached_property
    def checks(self) -> dict[str, coq.TheoremCheck]:
        """What Coq says of each theorem: asked together, because each question loads all files anew."""
        return {row.theorem: row for row in self.build.check(self._theorems)}

    def closed(self, theorems: tuple[str, ...]) -> ProofResult:
        """Return whether the theorems are proved and rest on nothing."""
        if reason := coq.missing():
            return ProofResult(NO_EVIDENCE, reason)
        rows = [self.checks[theorem] for theorem in theorems]
        wrong = next((row for row in rows if row.verdict != HOLDS), None)
        seconds = sum(row.seconds for row in rows)
        if wrong:
            return ProofResult(wrong.verdict, f"{wrong.theorem}: {wrong.detail}", seconds)
        return ProofResult(HOLDS, seconds=seconds)

    def tied(self, problems: Sequence[Problem], iterations: int) -> ProofResult:
        """Return whether Coq's definitions give the same numbers as the Python code."""
        if reason := coq.missing():
            return ProofResult(NO_EVIDENCE, reason)
        self.build.compile(["Law"])
        with self.build.turns:
            rows = compare(problems, iterations, self.build.place)
        wrong = next((row for row in rows if row.verdict != HOLDS), None)
        seconds = coq.seconds_of(self.build.place / "Tie.log")
        if wrong:
            return ProofResult(wrong.verdict, f"{wrong.definition} on {wrong.problem}: {wrong.detail}", seconds)
        return ProofResult(HOLDS, f"{sum(row.compared for row in rows)} numbers compared", seconds)


def proofs(claims: Sequence[str] = tuple(THEOREMS), **options: Any) -> Iterator[Proof]:
    """Yield one proof for each claim; if Coq is missing, each says so. claims: those that theorems are checked for.

    options: of ``coq.Build``.
    """
    compiling = Compiling([name for claim in claims for name in THEOREMS.get(claim, ())], **options)
    for claim in (claim for claim in THEOREMS if claim in claims):
        theorems = THEOREMS[claim]
        yield Proof(
            claim, "coq", ", ".join(theorems), SIZES[claim], lambda theorems=theorems: compiling.closed(theorems)
        )
    kinds = ("generic", "zeros", "one-hot-draft", "equal")
    single = [toy(2), *(drawn(3, 2, kind) for kind in kinds), drawn(2, 3, "mixed")]
    for problems, iterations in ((single, 1), ([drawn_markov(2, 1, "mixed"), drawn_markov(2, 2), toy(2)], 2)):
        size = size_of(problems) + (f", {iterations} iterations" if iterations > 1 else "")
        yield Proof("same-definitions", "coq", "token, block, greedy-block against the Python code", size,
                    lambda problems=problems, i=iterations: compiling.tied(problems, i))  # fmt: skip
