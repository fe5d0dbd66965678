"""What can be proved, by which methods, and for what each claim was shown in one recorded run of all proofs."""

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

PROVABLE_CLAIMS = {
    "lemma-1": "on the paper's example block verification accepts 11/9 tokens, token verification 10/9",
    "lemma-2": "a verifier with Eq. (7) makes the whole loop lossless, for any number of iterations",
    "theorem-1": "block (and token) verification is valid: X^tau, Y, completed by the target, follows M_b^{gamma+1}",
    "acceptance": "0 <= h_i <= 1 wherever a coin is flipped, and an empty residual is never drawn from",
    "lemma-3": "block verification keeps a prefix with Pr(tau >= i | X^i) = p_i(X^i)",
    "lemma-4": "no valid verifier keeps any prefix more often than block verification",
    "theorem-2": "one iteration: no valid verifier accepts more tokens in expectation than block verification",
    "theorem-2-iterations": "block verification decodes at least as many tokens as token verification in any number "
    "of iterations; as any valid verifier for gamma = 1, for gamma = 2 in two, and on models that do not look at "
    "the context",
    "theorem-2-fails": "several iterations: some valid verifier decodes more than block verification, against the "
    "paper",
    "theorem-2-calls": "block verification needs the fewest expected target calls to finish any text, among all "
    "valid verifiers",
    "reaches": "the reaches r(x) = Pr(X^i = x, tau >= i) of valid verifiers are exactly 0 <= r(xy) <= min(r(x) "
    "M_b(y | x), M_s(xy)), which gives the optimum of all strategies in several iterations",
    "lemma-8": "greedy block verification with the modified target is lossless on the next gamma tokens",
    "lemma-9": "greedy block verification has Pr(X^l = x, tau >= l) = min(M_b(x), M_s(x))",
    "lemma-10": "no coupling of draft and target agrees on more tokens than sum_l sum_x min(M_b(x^l), M_s(x^l))",
    "lemma-7": "what dominates in law has the larger mean of every increasing function",
    "theorem-3": "in one iteration greedy block verification accepts at least as many tokens as block verification",
    "remark-c1": "on the example greedy block verification is biased in the plain loop, its modified target after "
    "AA is a point mass, and it decodes more than block verification in one iteration and less in three",
    "several-drafts": "each lossless rule for several drafts keeps the target's law: its output, completed, follows "
    "M_b^{gamma+1}",
    "transport": "no valid rule accepts a draft of the first step more often than optimal transport does",
    "composition": "block verification stays lossless with any maps of rows, with drafts that end by a rule that "
    "sees the draft alone (not one that looks at its coins), with sure drafts and the one-hot rule, and in batches",
    "lattice": "uniforms k / N move the law by at most gamma / N + V / (2 N); <= lets a token of probability 0 "
    "through once in N, < never",
    "rounding": "block, token and greedy block verification and recursive rejection in floating point are within a "
    "bound in u, in total variation: block verification's in gamma and the depth of the sums, and each one's on a "
    "problem, prefix by prefix; block verification as a stream within one in u, gamma and the depth of the sums",
    "rounding-trees": "on draft trees, in floating point: multi-round rejection, equal siblings together or without "
    "replacement, and traversal verification are within a bound in u that counts each node once; k-SEQ within one in "
    "u, the depth of its sum and the number of siblings; a transport by a plan within one in u and the augmentations; "
    "Global Resolution, whatever its solver returned, within one in u and the number of sets of drafts; scaled "
    "transport within one that counts each depth once; greedy multi-path within block verification's on its rows; "
    "naive sampling, chosen tokens, hierarchical decoding, list matching, Tree Monte Carlo within theirs; lossy rules "
    "within one of their exact laws",
    "same-definitions": "the Coq definitions and the Python code give the same laws, entry by entry, on the "
    "problems compared",
    "tokens-per-iteration": "token verification decodes (1 - a^{gamma+1}) / (1 - a) tokens an iteration at "
    "acceptance rate a",
    "wall-time": "the wall-time factor, when speculation pays, and the best gamma",
    "lenience": "the bias of accepting with min(1, p / (l q)), as a function of l",
}
"""Claims that can be proved, by their name on the command line."""

METHODS = ("enumeration", "certificate", "sympy", "z3", "coq")
"""Methods of proof: single problems exactly, optimality on them, identities, all models of a size, all sizes."""


def standing() -> list[dict[str, Any]]:
    """Return the rows of the recorded run, claim by claim."""
    return json.loads((files("draftproof.proofs") / "standing.json").read_text())


def summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one line for each claim: what it says, and what each method showed it for."""
    lines = []
    for claim, says in PROVABLE_CLAIMS.items():
        shown = {}
        for method in METHODS:
            sizes: dict[str, list[str]] = {}
            for row in rows:
                if (row["claim"], row["method"]) == (claim, method):
                    unless = "" if row["verdict"] == "holds" else f" [{row['verdict']}]"
                    sizes.setdefault(row["what"], []).append(row["size"] + unless)
            if sizes:
                shown[method] = [f"{what}: {_together(each)}" for what, each in sizes.items()]
        lines.append({"claim": claim, "says": says, "shown": shown})
    return lines


def _together(sizes: list[str]) -> str:
    """Return sizes that begin alike as one text, with the beginning said once."""
    parts = [size.split(", ") for size in sizes]
    alike = next((k for k, words in enumerate(zip(*parts)) if len(set(words)) > 1), len(parts[0]))
    rest = [" ".join(words[alike:]) for words in parts]
    return ", ".join([*parts[0][:alike], "; ".join(rest)] if any(rest) else parts[0])
