"""Proofs by z3: single steps of block verification's formulas on all rows of a size, which cover every gamma."""

from collections.abc import Iterator

from ...verifiers.evidence import NO_EVIDENCE
from ..proving import Proof, ProofResult
from ..symbolic.single_steps import LEMMAS, STEP_TIME_LIMIT, SolverAnswer, ask

VOCABULARIES = (2, 8)

ONE_TOKEN = ("block: token", "block: dominance over token", "greedy: token")
"""Lemmas that hold token by token, whatever the vocabulary."""


def _found(answer: SolverAnswer) -> ProofResult:
    if answer.verdict == NO_EVIDENCE:
        return ProofResult(NO_EVIDENCE, f"time-out: not decided within {STEP_TIME_LIMIT:g} s of processor time")
    return ProofResult(answer.verdict, None if answer.model is None else f"counterexample: {answer.model}")


def proofs() -> Iterator[Proof]:
    """Return one proof for each statement and size."""
    for lemma in LEMMAS:
        for size in VOCABULARIES:
            if lemma.name in ONE_TOKEN and size > VOCABULARIES[0]:
                continue
            rows = "one token, any V" if lemma.name in ONE_TOKEN else f"all rows, V {size}"
            yield Proof(lemma.claim, "z3", lemma.name, f"one step, every p_i, {rows}",
                        lambda x=lemma, v=size: _found(ask(x.query(x.rule, v))))  # fmt: skip
