"""The field's glossary, a sentence for each word, and the links of a page to it."""

from markupsafe import Markup

from ...verifiers.claims import CLAIMS

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
