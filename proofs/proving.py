"""Running the proofs of the papers' statements.

Enumeration shows single problems, certificates optimality on single problems, z3 and sympy all models of a size, Coq
all vocabularies and all gamma. A proof that could not be decided says so; it never counts as one.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from ..models.digests import code_digest, coq_sources
from ..models.problem import Problem
from ..models.store import Store
from ..verifiers.evidence import ERROR, HOLDS, REFUTED
from .statements import METHODS, PROVABLE_CLAIMS


class ProofResult(NamedTuple):
    """A result of a proof.

    verdict: holds, refuted, no-evidence (a time-out, a missing tool) or error. detail: the witness, or the reason.

    seconds: where the time of the call is not the proof's own (Coq compiles the theorems of all claims at once).
    """

    verdict: str
    detail: str | None = None
    seconds: float | None = None


class Proof(NamedTuple):
    """A proof that can be run.

    claim: a key of ``statements.PROVABLE_CLAIMS``. what: the object of the statement. size: how far it reaches.
    """

    claim: str
    method: str
    what: str
    size: str
    run: Callable[[], ProofResult]


class ProofRow(NamedTuple):
    """A proof that was run, with its seconds of processor time."""

    claim: str
    method: str
    what: str
    size: str
    verdict: str
    seconds: float
    detail: str | None = None


def size_of(problems: Sequence[Problem]) -> str:
    """Return the span of some problems in words."""
    vocabularies, gammas = sorted({p.vocabulary for p in problems}), sorted({p.gamma for p in problems})
    spans = [str(s[0]) if len(s) == 1 else f"{s[0]}..{s[-1]}" for s in (vocabularies, gammas)]
    return f"{len(problems)} problems, V {spans[0]}, gamma {spans[1]}"


def on_each(problems: Iterable[Problem], wrong: Callable[[Any], object]) -> Callable[[], ProofResult]:
    """Return a proof that nothing is wrong on any problem. wrong: function that says what is wrong on one, or None."""

    def run_all() -> ProofResult:
        for problem in problems:
            if found := wrong(problem):
                return ProofResult(REFUTED, f"on {problem.name}: {found}")
        return ProofResult(HOLDS)

    return run_all


def run(proofs: Iterable[Proof]) -> Iterator[ProofRow]:
    """Run the proofs one after the other; a row for each as soon as it is there.

    One that breaks down ends as an error with its reason, and the others go on.
    """
    for proof in proofs:
        start = time.process_time()
        try:
            result = proof.run()
        except Exception as error:
            result = ProofResult(ERROR, f"{type(error).__name__}: {error}")
        seconds = time.process_time() - start if result.seconds is None else result.seconds
        yield ProofRow(*proof[:4], result.verdict, round(seconds, 3), result.detail)


def all_proofs(chosen: Iterable[str] = (), methods: Iterable[str] = METHODS, **for_coq: Any) -> list[Proof]:
    """Return the proofs of the claims chosen (all of them if none is named) by the methods named, claim by claim.

    for_coq: ``kept``, ``progress`` and ``turns`` of ``coq.Build``.
    """
    order = [claim for claim in PROVABLE_CLAIMS if not chosen or claim in chosen]
    given = {"coq": {"claims": order, **for_coq}}
    proofs = [
        proof
        for method in METHODS
        if method in methods
        for proof in import_module(f"{__package__}.obligations.by_{method}").proofs(**given.get(method, {}))
    ]
    return sorted((proof for proof in proofs if proof.claim in order), key=lambda proof: order.index(proof.claim))


PROOF_CODE = ("models/*.py", "verifiers/**/*.py", "proofs/**/*.py", "corpus/coq/*.py")
"""The sources of draftproof that the outcome of a proof depends on, with those of Coq."""


def proof_checkpoint(file: str) -> Store:
    """Return the rows of a file; only those that the same code decided, in the same versions, count.

    Raises: InputError if the file is there and no such file.
    """
    return Store(file, "proofs", valid_for=code_digest(PROOF_CODE, coq_sources()))


def resumed(
    proofs: Sequence[Proof], store: Store, run: Callable[[Sequence[Proof]], Iterable[ProofRow]] = run
) -> Iterator[ProofRow]:
    """Yield the rows of the proofs that were decided, then those of the others.

    run: what runs these. Each new row is stored before it is yielded.
    """
    decided = {proof[:4] for proof in proofs if store.rows.get(proof[:4], (None,))[0] in (HOLDS, REFUTED)}
    for proof in proofs:
        if proof[:4] in decided:
            yield ProofRow(*proof[:4], *store.rows[proof[:4]])
    for row in run([proof for proof in proofs if proof[:4] not in decided]):
        store.put(row[:4], row[4:])
        yield row
