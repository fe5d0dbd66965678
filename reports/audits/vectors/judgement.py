"""Compares a program's answers with the vectors: what passed, failed or is missing, for each class of bug."""

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from ....models.law import Prefix, prefix_key, prefix_of_key
from ....models.rationals import as_float
from ....proofs.field import in_field, rational
from ....proofs.laws import verdict_rule
from ....proofs.laws.reference_laws import completed, total_variation
from ....stattests.arguments import ALPHA, BETA
from ....stattests.rounding import deviation
from ....verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED
from ..completed_law import Outcome, completed_law, verdict_of_counts
from .law_vectors import LawCase, law_cases
from .results import FIELDS, LARGEST_NUMBER, Results, number
from .suite import FLAGS, conventions_of, suite

PASSED, FAILED, MISSING, LEFT_OUT, NOT_REFUTED = "passed", "failed", "missing", "left out", "not refuted"
"""Statuses of a vector. Missing: promised and not given. Left out: the program does not claim its rule, answer or
lattice. Not refuted: counts that do not contradict a law, or a deviation that only one of rule and theorem explains.
"""

STATUSES = {HOLDS: PASSED, REFUTED: FAILED, NO_EVIDENCE: NOT_REFUTED}

ORDER = (FAILED, MISSING, NOT_REFUTED, PASSED, LEFT_OUT)


class JudgedVector(NamedTuple):
    """A vector with its status.

    vector: its id.
    flags: that it has.
    fields: answer -> one of PASSED, FAILED, MISSING, LEFT_OUT, NOT_REFUTED.
    why: of a failure: what was expected and what was given, with tolerance; of what is not refuted: the detection
        limit, or both bounds.
    """

    vector: str
    flags: tuple[str, ...]
    fields: Mapping[str, str]
    why: str = ""

    @property
    def status(self) -> str:
        return next((status for status in ORDER if status in self.fields.values()), LEFT_OUT)

    def of_flag(self, flag: str) -> str:
        """Return the status as far as this flag's bug would show: left out if no answer could show it."""
        seen = {self.fields.get(field, LEFT_OUT) for field in FLAGS[flag].needs}
        return FAILED if self.status == FAILED else next((status for status in ORDER if status in seen), LEFT_OUT)


class Judgement(NamedTuple):
    """The judgement of all vectors, in the order of the file."""

    results: Results
    vectors: tuple[JudgedVector, ...]

    def statuses(self) -> Counter[str]:
        return Counter(judged.status for judged in self.vectors)

    def by_flag(self) -> dict[str, Counter[str]]:
        """Return flag -> status -> number of vectors."""
        return {flag: Counter(j.of_flag(flag) for j in self.vectors if flag in j.flags) for flag in FLAGS}

    @property
    def verdict(self) -> str:
        """Return refuted; error if something promised is missing; inconclusive if something is left out; else holds."""
        counts = self.statuses()
        if counts[FAILED]:
            return "refuted"
        if counts[MISSING] or not counts[PASSED] + counts[NOT_REFUTED]:
            return "error"
        left = counts[LEFT_OUT] or counts[NOT_REFUTED] or any(flag[LEFT_OUT] for flag in self.by_flag().values())
        return "inconclusive" if left else "holds"

    def code(self) -> str:
        """Return Python that shows the smallest vector of a block that failed; "" if none did."""
        failed = {judged.vector for judged in self.vectors if judged.status == FAILED}
        blocks = [vector for vector in suite()["vectors"] if vector["id"] in failed]
        return code_of(min(blocks, key=lambda v: (v["gamma"] + 1) * v["vocabulary"])) if blocks else ""

    def as_json(self) -> dict[str, Any]:
        given = self.results
        return {
            "program": given.program, "vectors": given.vectors, "dtype": given.dtype, "bits": given.bits,
            "open": given.open, "rules": list(given.rules), "gives": list(given.gives), "verdict": self.verdict,
            "counts": dict(self.statuses()),
            "flags": {flag: dict(counts) for flag, counts in self.by_flag().items()},
            "judged": [
                {"id": j.vector, "status": j.status, "fields": dict(j.fields), "why": j.why} for j in self.vectors
            ],
            "code": self.code(),
        }  # fmt: skip


def judge(results: Results) -> Judgement:
    """Compare the answers with all vectors."""
    laws = {vector["id"]: case for vector, case in zip(suite()["laws"], law_cases(), strict=True)}
    vectors = (*suite()["vectors"], *suite()["laws"])
    return Judgement(results, tuple(_judged(vector, laws.get(vector["id"]), results) for vector in vectors))


def _promised(vector: Mapping[str, Any], results: Results, fields: tuple[str, ...]) -> list[str]:
    """Return the answers that the program claims to give for a vector; none for uniforms that it never gets."""
    if vector["rule"] not in results.rules:
        return []
    if "random" in vector:
        without = (*results.without, *(["half-open"] if results.open == "left" else []))
        if vector["random"]["bits"] > results.bits or {*without} & {*conventions_of(vector)}:
            return []
    return [field for field in fields if field in results.gives]


def _judged(vector: Mapping[str, Any], law: LawCase | None, results: Results) -> JudgedVector:
    """Judge one vector. law: the case of a law vector."""
    possible = ("law",) if law else FIELDS[:-1]
    promised, given = _promised(vector, results, possible), results.answers.get(vector["id"], {})
    fields: dict[str, str] = dict.fromkeys(possible, LEFT_OUT)
    reasons: list[str] = []
    if promised and "error" in given:
        fields |= dict.fromkeys(promised, FAILED)
        return JudgedVector(vector["id"], tuple(vector["flags"]), fields, f"error: {given['error']}")
    for field in promised:
        if law and "counts" in given and "law" not in given:
            fields[field], why = _counted(law, given["counts"], results.dtype)
        elif field not in given:
            fields[field], why = MISSING, ""
        elif law:
            fields[field], why = _exact_law(law, given[field], results.dtype)
        else:
            why = _wrong(vector, field, given[field], results.dtype)
            fields[field], why = (FAILED, f"{field}: {why}") if why else (PASSED, "")
        reasons += [why] if why else []
    return JudgedVector(vector["id"], tuple(vector["flags"]), fields, "; ".join(reasons))


def _wrong(vector: Mapping[str, Any], field: str, given: Any, dtype: str) -> str:
    """Say what is wrong with one answer; empty if it is right."""
    expected = vector["expected"][field]
    if field not in vector["tolerance"]:
        same = given == expected and type(given) is type(expected) and _whole(given)
        return "" if same else f"expected {expected}, got {given}"
    right = [None if h is None else Fraction(h) for h in expected["exact"]]
    if not isinstance(given, list) or len(given) != len(right):
        return f"expected {len(right)} numbers, got {len(given) if isinstance(given, list) else repr(given)}"
    values = [number(value) for value in given]
    if field == "weights":
        total = sum(v for v in values if v is not None)
        values = [v / total if v is not None and total > 0 else None for v in values]
    allowed = vector["tolerance"][field][dtype]
    target_row = (
        vector["target"]["numbers"][vector["expected"]["accepted"]] if field == "weights" else [1.0] * len(right)
    )
    for i, (value, wanted, possible) in enumerate(zip(values, right, target_row)):
        if wanted is not None and (value is None or _off(value - wanted, allowed * bool(possible))):
            as_given = value is None or field != "weights" or abs(value) > LARGEST_NUMBER  # a sum near 0 divides
            got = given[i] if as_given else f"{as_float(value):.9g} (normalised)"
            within = f"within {allowed:.2g}" if possible else "exactly, the target excludes it"
            return f"entry {i}: expected {wanted} {within}, got {got}"
    return ""


def code_of(vector: Mapping[str, Any]) -> str:
    """Return Python that calls ``verify`` on the numbers of a block's vector, with what it should give."""
    n, random = vector["drafted"], vector["random"]
    given = {
        "target": vector["target"]["numbers"][: n + 1], "draft": vector["draft"]["numbers"][:n],
        "tokens": vector["tokens"][:n], "accept": random["accept"]["numbers"][:n],
        "last": random["last"]["numbers"], "noise": random["noise"]["numbers"],
    }  # fmt: skip
    expected = {name: vector["expected"][name] for name in ("accepted", "emitted", "raced")}
    lines = [f"# {vector['id']}: {vector['comment']}", *(f"{name} = {value}" for name, value in given.items())]
    return "\n".join([*lines, f"print(verify({', '.join(given)}))  # expected {expected}"])


def _off(difference: Any, allowed: float) -> bool:
    return verdict_rule.decide(abs(difference), allowed, allowed) == REFUTED


def _whole(given: Any) -> bool:
    return all(type(x) is int for x in (given if isinstance(given, list) else [given]))


def _entries(case: LawCase, given: Any) -> Iterator[tuple[Prefix, Any]]:
    """Return the entries of a law or of counts. Raises: ValueError for one that no verifier may emit."""
    if not isinstance(given, dict) or not given:
        raise ValueError("expected an object: tokens joined by commas -> number")
    longest, vocabulary = case.problem.gamma + 1, range(case.problem.vocabulary)
    for key, value in given.items():
        try:
            tokens = prefix_of_key(key)
        except ValueError:
            tokens = ()
        if not 1 <= len(tokens) <= longest or any(x not in vocabulary for x in tokens):
            raise ValueError(f"{key!r} is not 1 to {longest} tokens of the vocabulary")
        yield tokens, value


def _exact_law(case: LawCase, given: Any, dtype: str) -> tuple[str, str]:
    """Return the status of a law, and why."""
    law: dict[Prefix, Any] = {}
    try:
        for tokens, value in _entries(case, given):
            p = number(value)
            if p is None or p < 0:
                raise ValueError(f"the probability of {tokens} is {value!r}")
            law[tokens] = law.get(tokens, 0) + rational(p)
    except ValueError as error:
        return FAILED, str(error)
    target, allowed = in_field(case.problem).target, case.tolerances()[dtype]
    if case.any_valid:
        law = completed(law, target, case.problem.gamma + 1)
    for tokens, p in law.items():
        if p and any(target.row(tokens[:i])[x] == 0 for i, x in enumerate(tokens)):
            return FAILED, f"{prefix_key(tokens)}: the target gives it probability 0, got {as_float(p):.3g}"
    distance, theorem = as_float(total_variation(law, case.expected())), case.theorem(dtype)
    status = STATUSES[verdict_rule.decide(distance, min(allowed, theorem), max(allowed, theorem))]
    why = f"total variation {distance:.3g}, allowed {allowed:.2g}, by the theorem on rounding at most {theorem:.2g}"
    return status, "" if status == PASSED else why


def _counted(case: LawCase, given: Any, dtype: str) -> tuple[str, str]:
    """Return the status of counts, and why. All law vectors together fail a right program with probability ALPHA at
    most."""
    try:
        counts: dict[Outcome, int] = dict(_entries(case, given))
        if not all(type(n) is int and n >= 0 for n in counts.values()) or not any(counts.values()):
            raise ValueError("expected whole numbers of 0 or more, not all 0")
    except ValueError as error:
        return FAILED, str(error)
    alpha, n = ALPHA / len(law_cases()), sum(counts.values())
    slack = max(case.tolerances()[dtype], case.theorem(dtype)) if dtype != "float64" else 0.0
    if case.any_valid:
        law = completed_law(case.problem)
        found = law.deviation(*law.completed(counts, 0), slack, alpha)
    else:
        expected = {tokens: as_float(p) for tokens, p in case.expected().items()}
        found = deviation(counts, {**dict.fromkeys(counts, 0.0), **expected}, slack, alpha, BETA)
    status = STATUSES[verdict_of_counts(found, slack)]
    if status == FAILED:
        apart = f"p = {found.p_value:.2g}, total variation at least {found.distance.lower:.3g}"
        return FAILED, f"{n:,} counts do not follow the distribution: {apart}"
    return status, f"a total variation below {found.limit:.2g} can remain unseen in {n:,} counts"
