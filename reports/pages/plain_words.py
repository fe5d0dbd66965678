"""A report in plain sentences, for readers who have never heard of speculative decoding, and the field's glossary."""

from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from ...verifiers.claims import CLAIMS, UNSAID
from ...verifiers.details import SamplesDetail
from ...verifiers.evidence import Evidence
from ..audits.report import Report

MOST_ROWS, MOST_ENTRIES = 8, 8
"""Most rows, and most entries of a row, of a problem that is shown row by row."""

NO_PROOF = "This speaks of the problems examined, in the precisions named below; it is no proof for all."

STATES = {
    "quiet": "Nothing was noticed so far. That is no proof: a deviation below the detection limit may have been "
    "missed.",
    "watch": "Something looks unusual, and is not decided: right code comes here now and then.",
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
            f"No difference was found: on every problem examined, each text comes out as often as if the large model "
            f"had written alone{how}. {_left_out(report)}{NO_PROOF}"
        )
    undecided = "Whether the text follows the large model is not decided here."
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
    return rows if len(rows) <= MOST_ROWS and all(len(row) <= MOST_ENTRIES for _, _, row in rows) else []


def _rows(model: str, data: Any) -> Iterator[tuple[str, str, list[str]]]:
    if isinstance(data, list):
        yield model, "always", [str(entry) for entry in data]
    elif isinstance(data, Mapping):
        after = data.get("after")
        tables = {"": data["start"], **after} if isinstance(after, Mapping) else data
        for prefix, row in tables.items():
            if isinstance(row, list):
                yield model, f"after {prefix}" if prefix else "at the start", [str(entry) for entry in row]


GLOSSARY = {
    "speculative decoding": "A small model drafts several tokens, and the large one checks them all in one pass: the "
    "same text as from the large model alone, in fewer passes.",
    "target": "The large model, whose law the emitted text is to follow.",
    "draft": "The small model, or the tokens that it proposes.",
    "verifier": "The rule that decides how many of the drafted tokens are accepted, and which token follows them.",
    "gamma": "The number of tokens that are drafted at a time: the length of a block.",
    "vocabulary": "The tokens that the models know; V is their number.",
    "valid verifier": "A verifier whose output, completed by the target, has the target's law for all models.",
    "law": "The probability of each outcome: what would be counted in infinitely many calls.",
    "total variation": "The largest difference between the probabilities that two laws give to the same event, in "
    "short TV: 0 for equal laws, 1 for laws that share no outcome.",
    "refuted": "Shown to be false, by a witness that anyone can check.",
    "inconclusive": "Nothing was refuted, and something has no exact law: samples alone never prove.",
    "holds": "Not contradicted on the problems examined, by an exact law up to the stated limit; no proof for all "
    "problems.",
    "no-evidence": "Nothing was measured that decides; a sample without a deviation counts as this, with its "
    "detection limit.",
    "not-claimed": "The claim does not apply here, for example optimality of a verifier that is not lossless.",
    "witness": "One problem and one outcome on which what was expected and what was observed differ.",
    "problem": "A small pair of target and draft given as exact numbers, on which a verifier is run.",
    "detection limit": "The smallest total variation that a statistical test would have shown, but for the stated "
    "rate of misses.",
    "rounding": "What the number type alone may move a law by; a deviation below this limit is no evidence against the "
    "verifier.",
    "exact": "Every way the random numbers can fall was followed, and the law is a sum of exact weights.",
    "lattice": "The grid k / 2^53, 2^24, .. of the uniform random numbers that a generator really draws.",
    "closed law of noise": "A law computed by a formula for a race of random noise, to a stated resolution.",
    "not interceptable": "The random numbers of this code could not be followed, so that it has no exact law here.",
    "not reached in time": "The audit had used up its processor time before these; --processor-time gives more.",
    "driven": "The verifier takes its random numbers as inputs, and its law is found by choosing them.",
    "acceptance": "The probability that at least i drafted tokens are accepted, for i = 0 to gamma.",
    "tau": "The number of drafted tokens that are accepted in one call; E[tau] is its expectation.",
    "block efficiency": "The number of tokens decoded for each pass of the target, in expectation or as measured.",
    "token verification": "The usual rule: each drafted token is accepted with probability min(p/q, 1) until one is "
    "rejected.",
    "block verification": "The rule of Sun et al. 2025 that judges the block as a whole; no valid verifier accepts "
    "more.",
    "residual distribution": "What is left of the target once the draft's share is taken out; the token after a "
    "rejection is drawn from it.",
    "mutant": "A verifier with a known bug planted on purpose, which every check must reject.",
    "control": "An unusual but right verifier, which no check may reject.",
    "engine": "A program that emits text with a target and a draft, audited from outside by its texts.",
    "adapter": "What calls a function of an engine in the plain convention, so that it is audited as a verifier.",
    "diagnosis": "The mutants whose law is the same as the measured one on all problems compared.",
    "region": "A part of the rows, such as a range of p/q or a position, in which a bug can act alone.",
    "scope": "The sizes, precisions and problems that a verdict speaks of.",
    "replay": "The command that shows a refutation again.",
    "seed": "The number from which everything random in a run was derived.",
    "digest": "The SHA-256 of the code that was audited.",
    "e-process": "Evidence that may be looked at every night: it reaches a level E with probability at most 1/E while "
    "the verifier is right.",
    "drift": "How far the rows of the same text differ between passes of different shapes, by rounding alone.",
    "certificate": "A file with which anyone can check, in exact arithmetic, that no valid verifier accepts more.",
    "forged pair": "Two checkpoints written so that their law is exactly that of a problem.",
}
"""Words of the field, a sentence each; those of claims are in their table."""


def glossary() -> dict[str, str]:
    """Return every word with its sentence, claims included."""
    return GLOSSARY | {claim_term(name): claim.glossary for name, claim in CLAIMS.items()}


def claim_term(claim: str) -> str:
    """Return the word under which a claim stands: its name, marked if it is a word of everyday use."""
    return f"{claim} (claim)" if CLAIMS[claim].everyday else claim


class Links:
    """The links of one page to the words that it explains at its end."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def term(self, word: str, text: str | None = None) -> Markup:
        """Return the word as a link to its sentence. Raises: KeyError for a word that the glossary does not have."""
        glossary()[word]
        self.used.add(word)
        return Markup('<a class="term" href="#{}">{}</a>').format(_anchor(word), text or word)

    def known(self, word: str, text: str | None = None) -> Markup:
        """Return the word as a link, or the word alone if the glossary does not have it."""
        return self.term(word, text) if word in glossary() else Markup("{}").format(text or word)

    def claim(self, claim: str) -> Markup:
        """Return the name of a claim as a link."""
        return self.known(claim_term(claim) if claim in CLAIMS else claim, claim)

    def glossary(self) -> Markup:
        """Return the sentences of the words used so far, in alphabetical order."""
        entry = Markup('<dt id="{}">{}</dt><dd>{}</dd>')
        words, sentences = sorted(self.used, key=str.lower), glossary()
        return Markup("\n").join(entry.format(_anchor(word), word, sentences[word]) for word in words)


def _anchor(word: str) -> str:
    return "term-" + word.translate({ord(" "): "-", ord("("): None, ord(")"): None})
