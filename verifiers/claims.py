"""The claims that runs examine: one entry each, which every surface reads."""

from dataclasses import dataclass

FUNCTION, BATCH, LOOP, DECODER, STEPS = "function", "batch", "loop", "decoder", "steps"
"""Runs: an audit of a function, of the same in batches, of a decoding loop, of a decoder under settings, of recorded
steps. Other runs examine claims of functions."""

VARIATION, PROBABILITY, TOKENS = "total variation", "of probability", "tokens"
"""Units of deviations and limits."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim.

    statement: what is claimed, as the papers say it.
    refuted: what it means that it is refuted, for a reader who has never heard of it.
    glossary: the claim in one sentence.
    runs: the runs that examine it.
    unit: of its deviations and limits.
    level: of its refutation in SARIF: error, or note where it is no fault of the emitted text.
    fault: the title of an issue about its refutation; empty where that is no bug.
    everyday: whether its name is a word of everyday use, which needs to be marked as a claim.
    """

    statement: str
    refuted: str
    glossary: str
    runs: tuple[str, ...]
    unit: str = VARIATION
    level: str = "error"
    fault: str = ""
    everyday: bool = False


UNSAID = "It does not do what the claim says: see the witness."


def _of_loops(statement: str) -> Claim:
    sentence = f"{statement[0].upper()}{statement[1:]}."
    return Claim(statement=statement, refuted=UNSAID, glossary=sentence, runs=(LOOP,), everyday=True)


CLAIMS = {
    "lossless": Claim(
        statement="X^tau, Y, completed by the target, follows the target's distribution (Sun et al. 2025, Eq. 7)",
        refuted="It changes the output: some outputs are more frequent, and others less frequent, than from the large "
        "model alone.",
        glossary="The output follows the target's distribution exactly, as if the target had written it alone.",
        runs=(FUNCTION, LOOP, DECODER),
        fault="sampled output does not follow the target model's distribution",
    ),
    "lossless-over-keys": Claim(
        statement="of a watermark: X^tau, Y, completed by the target, follows its distribution, averaged over the keys",
        refuted="The watermark changes the output: averaged over its keys, some outputs are more frequent, and others "
        "less frequent, than from the large model alone.",
        glossary="The claim that watermarked output follows the target's distribution, averaged over its keys.",
        runs=(FUNCTION,),
        fault="watermarked output does not follow the target model's distribution, averaged over keys",
    ),
    "support": Claim(
        statement="a token that the target gives probability 0 is never emitted, not even at u = 0",
        refuted="It can write a token that the large model rules out.",
        glossary="The claim that a token which the target gives probability 0 is never emitted.",
        runs=(FUNCTION, DECODER),
        unit=PROBABILITY,
        fault="a token to which the target gives probability 0 can be emitted",
    ),
    "optimal": Claim(
        statement="E[tau] equals block verification's, the largest of all valid verifiers (Theorem 2); of a draft "
        "tree, their bound",
        refuted="It does not accept as many drafted tokens as the best rule does: slower than it could be, or not "
        "lossless.",
        glossary="The claim that as many drafted tokens are accepted, in expectation, as any valid verifier can "
        "accept.",
        runs=(FUNCTION,),
        unit=TOKENS,
        level="note",
    ),
    "batch": Claim(
        statement="a row of a batch emits what it emits alone",
        refuted="Requests that are verified together influence each other: an output depends on which others are in "
        "its batch.",
        glossary="A row of a batch emits what it emits alone.",
        runs=(BATCH, DECODER),
        fault="what a request emits depends on the other requests of its batch",
        everyday=True,
    ),
    "same-as-plain": Claim(
        statement="the output follows the distribution of the engine's own decoding without speculation, same settings",
        refuted="Switching speculation on changes the output: some outputs are more frequent, and others less "
        "frequent, than without it.",
        glossary="The claim that output has the same distribution with speculation and without it, same settings.",
        runs=(DECODER,),
        fault="output with speculation does not follow the distribution of the same engine's output without it",
    ),
    "logprobs": Claim(
        statement="each reported logprob is the logarithm of its token's probability",
        refuted="The probabilities that it reports for its tokens are not those that the tokens have.",
        glossary="The claim that each reported logprob is its token's.",
        runs=(DECODER,),
        unit="of a logprob",
        fault="reported logprobs are not those of the emitted tokens",
        everyday=True,
    ),
    "rows": _of_loops(
        "each block is verified with both models' rows after its own context, under the settings asked for"
    ),
    "drafts": _of_loops("draft tokens are drawn from the draft's rows after their own context"),
    "noise": _of_loops("no random number is used twice: by two rows, streams or purposes"),
    "follows-rule": Claim(
        statement="given the drafted tokens and the rows, the emitted tokens follow the claimed rule's distribution",
        refuted="The engine does not verify as it says: given the drafted tokens, some outcomes are more frequent, and "
        "others less frequent, than under its rule.",
        glossary="The claim that each recorded step emits what its rule gives, on its rows and drafted tokens.",
        runs=(STEPS,),
        fault="recorded steps do not follow the verification rule that the engine claims",
    ),
    "acceptance": _of_loops("E[tau] of the first iteration is the verifier's own on this pair"),
}
"""The claims by name. To add one: an entry here, one in ``proofs.laws.law.JUDGES`` if laws decide it, and a test."""


def claims_of(*runs: str) -> dict[str, Claim]:
    """Return the claims that these runs examine, in the order of the table."""
    return {name: claim for name, claim in CLAIMS.items() if any(run in claim.runs for run in runs)}
