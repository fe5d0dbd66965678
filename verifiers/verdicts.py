"""The words of evidence, each an ordered enumeration: verdicts, methods, and how much a method shows.

A member is its word, so that JSON, a table and a comparison with text need no translation; ``rank`` is its place in the
order, 0 for the first.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Any


class Word(str, Enum):
    """A word with a place in an order, and what else is said of it."""

    rank: int

    def __new__(cls, word: str, *facts: Any) -> "Word":
        member = str.__new__(cls, word)
        member._value_, member.rank = word, len(cls.__members__)
        return member

    __str__ = str.__str__
    __format__ = str.__format__
    __repr__ = str.__repr__


class EvidenceVerdict(Word):
    """A verdict of a piece of evidence on its claim, the worst first: in this order verdicts decide when merged.

    colour: at a terminal. junit: the outcome of a test case.
    """

    REFUTED = "refuted", "red", "failure"
    ERROR = "error", "magenta", "error"
    NO_EVIDENCE = "no-evidence", "yellow", "skipped"
    NOT_CLAIMED = "not-claimed", "dim", "skipped"
    HOLDS = "holds", "green", "passed"

    def __init__(self, _: str, colour: str, junit: str):
        self.colour, self.junit = colour, junit


REFUTED, ERROR, NO_EVIDENCE, NOT_CLAIMED, HOLDS = EvidenceVerdict


class ReportVerdict(Word):
    """A verdict of a whole report, the worst first.

    colour: at a terminal. badge: its colour on a badge. exit_status: of the command.
    """

    REFUTED = "refuted", "red", "#b3261e", 1
    ERROR = "error", "magenta", "#7a2d91", 3
    INCONCLUSIVE = "inconclusive", "yellow", "#8a5600", 0
    HOLDS = "holds", "green", "#1d7a3a", 0

    def __init__(self, _: str, colour: str, badge: str, exit_status: int):
        self.colour, self.badge, self.exit_status = colour, badge, exit_status


class Strength(Word):
    """A strength of evidence: how much is known, the most first.

    law: how a law is known, in words; empty where there is no law. kind: of evidence, in words.
    """

    PROOF = "proof", "", "proof"
    PARTIAL = "partial", "", "proof of the sizes, rules and cases stated"
    SYMBOLIC = "symbolic", "", "proof for all models of a size"
    CERTIFICATE = "certificate", "", "certificate, checked, on single problems"
    EXACT = "exact", "exact", "exact enumeration"
    LATTICE = "lattice", "exact on the lattice", "exact enumeration, on the lattice"
    RESOLUTION = "resolution", "to a stated resolution", "distribution to a stated resolution"
    BY_CALLS = "by-calls", "by calls", "distribution by calls"
    DRIVEN = "driven", "driven on the lattice", "driven on the lattice"
    OBSERVED = "observed", "", "everything compared that this run did"
    SAMPLED = "sampled", "sampled", "sampled, with a detection limit"
    NONE = "none", "none", "none"

    def __init__(self, _: str, law: str, kind: str):
        self.law, self.kind = law, kind

    @property
    def decides(self) -> bool:
        """Return whether it can show that a claim holds; the others can only refute it, or show that nothing did."""
        return self.rank <= Strength.DRIVEN.rank

    @classmethod
    def _missing_(cls, value: object) -> "Strength | None":
        """Return no law: random numbers could not be followed."""
        return cls.NONE if value == "not interceptable" else None


class Basis(Enum):
    """A basis of a method: a law, a formula, samples, or everything that one run did."""

    LAW, FORMULA, SAMPLES, RUN = range(4)


class Method(Word):
    """A method that examined a claim. basis: what the method looks at."""

    ENUMERATION = "enumeration", Basis.LAW
    INTERCEPTION = "interception", Basis.LAW
    DRIVING = "driving", Basis.LAW
    CLOSED_FORM = "closed-form", Basis.FORMULA
    CHI_SQUARE = "chi-square", Basis.SAMPLES
    CAMPAIGN = "sampling campaign", Basis.SAMPLES
    BETTING = "betting", Basis.SAMPLES
    E_PROCESS = "e-process", Basis.SAMPLES
    ARGMAX = "argmax", Basis.SAMPLES
    MEAN = "mean", Basis.SAMPLES
    ENDS = "ends", Basis.RUN
    READING = "reading", Basis.RUN
    FORWARD_PASS = "forward-pass", Basis.RUN
    WARP = "warp", Basis.RUN
    LISTENING = "listening", Basis.RUN
    REPORTED = "reported numbers", Basis.RUN
    BATCH = "rows alone and together", Basis.RUN

    def __init__(self, _: str, basis: Basis):
        self.basis = basis

    @property
    def sampled(self) -> bool:
        """Return whether it looks at samples: what it refutes is refuted at an error rate."""
        return self.basis is Basis.SAMPLES


def merge_verdicts(verdicts: Iterable[str]) -> EvidenceVerdict:
    """Return the verdict on several pieces of evidence together: the worst of them; no-evidence if there is none."""
    return min(map(EvidenceVerdict, verdicts), key=lambda verdict: verdict.rank, default=NO_EVIDENCE)
