"""The loops of speculative decoding, as programs over chance: Algorithm 3 and Algorithm 6.

One iteration is a function from a state to a state, so that it can be sampled, or enumerated with equal states merged.
"""

from typing import Any, NamedTuple

from ..verifiers.arithmetic import Row, positive_part
from ..verifiers.chance import Chance
from ..verifiers.draft_block import Block
from ..verifiers.registry import Reference
from ..verifiers.trees.registry import TreeReference
from .law import Model, Prefix
from .problem import Problem


class Modified(NamedTuple):
    """A modified target: M_new after an iteration that began behind ``start`` tokens and stopped early.

    For prefixes shorter than start + gamma: M_new(x | prefix) is proportional to max(M_b(y, x | c) - M_s(y, x | c), 0),
    c = the first ``start`` tokens, y = the tokens since, both probabilities joint over y and x; M_b from there on.
    target: may itself be a Modified model, the nesting of footnote 6. Where no token has positive weight the prefix
    cannot occur after the iteration; the target's own row stands there, so that the loop can go on from any prefix.
    Source: Sun et al. 2025, Appendix C, Algorithm 5, Eq. (31), and footnote 6.
    """

    target: Model
    draft: Model
    start: int
    gamma: int

    def row(self, prefix: Prefix) -> Row:
        row = self.target.row(prefix)
        if not self.start <= len(prefix) < self.start + self.gamma:
            return row
        target = draft = 1
        for n in range(self.start, len(prefix)):
            target = target * self.target.row(prefix[:n])[prefix[n]]
            draft = draft * self.draft.row(prefix[:n])[prefix[n]]
        weights = [positive_part(target * p - draft * q) for p, q in zip(row, self.draft.row(prefix), strict=True)]
        total = sum(weights)
        return [w / total for w in weights] if total != 0 else row

    def state(self, prefix: Prefix) -> Any:
        if len(prefix) >= self.start + self.gamma:
            return self.target.state(prefix)
        return (prefix, self.start)


def modified(target: Model, draft: Model, starts: tuple[int, ...], gamma: int) -> Model:
    """Return the target with the modifications of the given iterations, oldest first, each nested in the next."""
    for start in starts:
        target = Modified(target, draft, start, gamma)
    return target


class Decoded(NamedTuple):
    """A text so far, and where the iterations began whose modification of the target is still in force."""

    tokens: Prefix = ()
    starts: tuple[int, ...] = ()


def draft_block(target: Model, draft: Model, gamma: int, context: Prefix, chance: Chance) -> Block:
    """Draw X^gamma from the draft model and collect the rows of both models (lines 2 and 3 of Algorithm 3)."""
    text, rows = context, []
    for _ in range(gamma):
        rows.append(draft.row(text))
        text = (*text, chance.draw(rows[-1]))
    tokens = text[len(context) :]
    return Block([target.row(context + tokens[:i]) for i in range(gamma + 1)], rows, tokens)


def iteration(problem: Problem, verifier: Reference, decoded: Decoded, chance: Chance) -> Decoded:
    """Run one pass of the loop: draft, verify, append. For Algorithm 6 also note the modified target.

    Guarantee: repeated, the text follows M_b for a valid verifier under Algorithm 3 (Definition 1), and for greedy
    block verification under Algorithm 6 (Lemma 8). Source: Sun et al. 2025, Algorithms 3 and 6.
    """
    target = modified(problem.target, problem.draft, decoded.starts, problem.gamma)
    block = draft_block(target, problem.draft, problem.gamma, decoded.tokens, chance)
    tokens = decoded.tokens + verifier.verify(block, chance).tokens(block)
    return Decoded(tokens, starts_in_force(problem, verifier, decoded, tokens))


def starts_in_force(
    problem: Problem, verifier: Reference | TreeReference, decoded: Decoded, tokens: Prefix
) -> tuple[int, ...]:
    """Return the modifications that still matter after ``tokens``, oldest first.

    One that began at s changes the rows up to s + gamma. It matters while the text is shorter than that, and
    also while a later one matters that began before s + gamma: the later one's joint law runs over those rows.
    """
    if not verifier.modifies_target:
        return ()
    matter: tuple[int, ...] = ()
    for start in reversed((*decoded.starts, len(decoded.tokens))):
        end = start + problem.gamma
        if end > len(tokens) or any(later < end for later in matter):
            matter = (start, *matter)
    return matter


def decode(problem: Problem, verifier: Reference, length: int, chance: Chance, end: int | None = None) -> Prefix:
    """Decode at least ``length`` tokens (up to gamma more), or up to and with the token ``end``.

    Source: Sun et al. 2025, Algorithm 3 (the loop's E.O.S. test) and Algorithm 6.
    """
    decoded = Decoded()
    while len(decoded.tokens) < length:
        before = len(decoded.tokens)
        decoded = iteration(problem, verifier, decoded, chance)
        if end is not None and end in decoded.tokens[before:]:
            return decoded.tokens[: decoded.tokens.index(end, before) + 1]
    return decoded.tokens
