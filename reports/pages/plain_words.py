"""A report in plain sentences, for readers who have never heard of speculative decoding."""

from collections.abc import Iterator, Mapping
from typing import Any

from ...verifiers.claims import CLAIMS, UNSAID
from ...verifiers.details import SamplesDetail
from ...verifiers.evidence import Evidence
from ..audits.report import Report

MOST_ROWS = 8
"""Most rows of a problem that is shown row by row, and most entries of a row."""

NO_PROOF = "This speaks of the problems examined, in the precisions named below; it is no proof for all."

STATES = {
    "quiet": "Nothing was noticed so far. That is no proof: a deviation below the detection limit may have been "
    "missed.",
    "watch": "Something looks unusual, and is not decided: correct code gets here occasionally.",
    "alarm": "Something is wrong: right code looks like this with a probability that is at most the error rate below, "
    "in the whole life of this history.",
}  # fmt: skip
"""Plain sentences for a nightly's states."""

NO_DRAWS = "No sample was drawn so far, so nothing is known."


def plain_sentence(report: Report) -> str:
    """Return the verdict in plain sentences, no stronger than the evidence."""
    if report.verdict == "refuted":
        return _refuted(report.shown_refutation())
    if report.verdict == "error":
        return "Nothing is known: the examination could not be completed, for the reason below."
    if report.verdict == "inconclusive":
        return (
            "Undecided: nothing was shown to be wrong, and samples alone never show that something is right. A "
            "difference below the detection limit would not have been seen."
        )
    if "lossless" in report.claims:
        how = "" if {e.dtype for e in report.evidence} == {"exact"} else ", up to rounding"
        return (
            f"No difference was found: on every problem examined, each output is as frequent as from the large model "
            f"alone{how}. {_left_out(report)}{NO_PROOF}"
        )
    undecided = "Whether the output follows the large model is not decided here."
    return f"What was asked holds on every problem examined. {_left_out(report)}{NO_PROOF} {undecided}"


def _left_out(report: Report) -> str:
    """Say on how many problems nothing is decided; empty where the verdict leaves none out."""
    left_out = report.scope.not_decided if report.scope else ()
    if not left_out:
        return ""
    problems, widest = len({p.problem for p in left_out}), max(p.vocabulary for p in left_out)
    return f"On {problems} more of up to {widest:,} tokens nothing is decided, for the reasons below. "


def _refuted(first: Evidence | None) -> str:
    said = CLAIMS[first.claim].refuted if first and first.claim in CLAIMS else UNSAID
    certain = first is None or (isinstance(first.detail, SamplesDetail) and first.detail.p_value_by == "certain")
    sampled = first is not None and first.method.sampled and not certain
    return f"{said} This was seen in samples; how rarely right code looks like this is stated." if sampled else said


def problem_rows(problem: Mapping[str, Any]) -> list[tuple[str, str, list[str]]]:
    """Return (model, prefix, row) of a small problem in its JSON form; empty for a large one or another form."""
    rows = [row for model in ("target", "draft") for row in _rows(model, problem.get(model))]
    return rows if len(rows) <= MOST_ROWS and all(len(row) <= MOST_ROWS for _, _, row in rows) else []


def _rows(model: str, data: Any) -> Iterator[tuple[str, str, list[str]]]:
    if isinstance(data, list):
        yield model, "always", [str(entry) for entry in data]
    elif isinstance(data, Mapping):
        after = data.get("after")
        tables = {"": data["start"], **after} if isinstance(after, Mapping) else data
        for prefix, row in tables.items():
            if isinstance(row, list):
                yield model, f"after {prefix}" if prefix else "at the start", [str(entry) for entry in row]
