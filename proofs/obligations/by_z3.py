"""Statements about all models of a size, proved by z3: single steps, which cover every gamma, and rules for trees."""

from collections.abc import Iterator

from ...verifiers.evidence import NO_EVIDENCE
from ..proving import Proof, ProofResult
from ..symbolic.single_steps import LEMMAS, STEP_TIME_LIMIT, SolverAnswer, ask
from ..symbolic.tree_rules import RULE_TIME_LIMIT, TREE_CLAIMS

VOCABULARIES = (2, 8)

ONE_TOKEN = ("block: token", "block: dominance over token", "greedy: token")
"""Lemmas that hold token by token, whatever the vocabulary."""


def _found(answer: SolverAnswer, limit: float = RULE_TIME_LIMIT) -> ProofResult:
    if answer.verdict == NO_EVIDENCE:
        return ProofResult(NO_EVIDENCE, f"time-out: not decided within {limit:g} s of processor time")
    return ProofResult(answer.verdict, None if answer.model is None else f"counterexample: {answer.model}")


def proofs() -> Iterator[Proof]:
    """One entry a statement and size."""
    for lemma in LEMMAS:
        for size in VOCABULARIES:
            if lemma.name in ONE_TOKEN and size > VOCABULARIES[0]:
                continue
            rows = "one token, any V" if lemma.name in ONE_TOKEN else f"all rows, V {size}"
            yield Proof(lemma.claim, "z3", lemma.name, f"one step, every p_i, {rows}",
                        lambda x=lemma, v=size: _found(ask(x.query(x.rule, v)), STEP_TIME_LIMIT))  # fmt: skip
    for rule in TREE_CLAIMS:
        for v, children in rule.sizes:
            drawn = f"{' x '.join(map(str, children))} children, {rule.how}"
            yield Proof("several-drafts", "z3", rule.name, f"all models, V {v}, {drawn}",
                        lambda r=rule, v=v, c=children: _found(r.decide(v, c)))  # fmt: skip
