"""Proofs by z3: single steps of block verification's formulas on all rows of a size, which cover every gamma."""

from collections.abc import Iterator

from ..proving import Proof
from ..symbolic.single_steps import LEMMAS, ask

VOCABULARIES = (2, 8)

ONE_TOKEN = ("block: token", "block: dominance over token", "greedy: token")
"""Lemmas that hold token by token, whatever the vocabulary."""


def proofs() -> Iterator[Proof]:
    """Return one proof for each statement and size."""
    for lemma in LEMMAS:
        for size in VOCABULARIES[: 1 if lemma.name in ONE_TOKEN else None]:
            rows = "one token, any V" if lemma.name in ONE_TOKEN else f"all rows, V {size}"
            yield Proof(lemma.claim, "z3", lemma.name, f"one step, every p_i, {rows}",
                        lambda x=lemma, v=size: ask(x.query(x.rule, v)))  # fmt: skip
