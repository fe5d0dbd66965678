"""Mutants for the proofs to refute: a query that no mutant can fail proves nothing."""

from collections.abc import Callable
from typing import NamedTuple

from draftproof.proofs.symbolic import derivations
from draftproof.proofs.symbolic import lenience as leniences
from draftproof.proofs.symbolic.single_steps import Query, reals, step_of, total
from draftproof.verifiers import block_verification as block
from draftproof.verifiers import greedy_block_verification as greedy
from draftproof.verifiers.arithmetic import minimum, positive_part, quotient, ratio, residual
from draftproof.verifiers.draft_block import Block, Verdict
from draftproof.verifiers.sub_block import SubBlockRule
from draftproof.verifiers.token_verification import token_verification


def _uncapped_acceptance(p_i, surplus, target, draft):
    return quotient(surplus, sum(positive_part(q - p_i * p) for p, q in zip(target, draft)), 1)


UNCAPPED = block.RULE._replace(survive=greedy.survive)
LOW = block.RULE._replace(survive=lambda p_i, p, q: p_i * block.survive(p_i, p, q))
NO_NORMALISER = block.RULE._replace(accept=lambda p_i, surplus, target, draft: surplus)
GENEROUS = block.RULE._replace(accept=lambda p_i, *rest: block.accept(p_i, *rest) + p_i)

CAPPED = greedy.RULE._replace(survive=lambda p_i, p, q: p_i * minimum(ratio(p, q), 1))
NO_SHORTFALL = greedy.RULE._replace(accept=lambda p_i, surplus, target, draft: minimum(surplus, 1))
NO_CAP = greedy.RULE._replace(accept=_uncapped_acceptance)


def token_mutant(accept=lambda p, q: minimum(ratio(p, q), 1), rest=residual):
    """Token verification with another acceptance probability, or another law of what replaces a rejected token."""

    def verify(block, chance):
        for i, x in enumerate(block.tokens):
            if not chance.flip(accept(block.target[i][x], block.draft[i][x])):
                return Verdict(i, chance.draw(rest(block.target[i], block.draft[i])))
        return Verdict(block.gamma, chance.draw(block.target[block.gamma]))

    return verify


def residual_of_the_lenient_draft(lenience):
    """A mutant: lenience read the other way, the residual is the target less l times the draft."""
    return token_mutant(
        accept=lambda p, q: minimum(ratio(p, lenience * q), 1),
        rest=lambda target, draft: residual(target, [lenience * q for q in draft]),
    )


def residual_is_the_target(lenience):
    """A mutant: rejects as it should, then draws from the target itself."""
    return token_mutant(accept=lambda p, q: minimum(ratio(p, lenience * q), 1), rest=lambda target, draft: target)


def first_draft_token_only(block, chance):
    """A mutant: token verification of one draft token, valid, with fewer tokens."""
    return token_verification(Block(block.target[:2], block.draft[:1], block.tokens[:1]), chance)


def ratio_upside_down(block, chance):
    """A mutant: accepts with min(1, M_s / M_b)."""
    swapped = Block([*block.draft, block.target[-1]], block.target[:-1], block.tokens)
    return token_verification(swapped, chance)


def _forgotten(rule, size):
    """Lemma 8 for one token with M_new = M_b, the target not modified."""
    p, b, m, _, _, given = step_of(rule, size, most=None)
    given += [mx == minimum(p * x, y) for mx, x, y in zip(m, b, reals("s", size))]
    return Query(m[0] + (p - total(m)) * b[0] == p * b[0], given)


class StepMutant(NamedTuple):
    """A rule for which the lemma's query, or ``query``, must have a counterexample."""

    rule: SubBlockRule
    query: Callable | None = None

    def asked(self, lemma, size):
        return (self.query or lemma.query)(self.rule, size)


OF_LEMMAS = {
    "block: token": StepMutant(UNCAPPED),
    "block: bounds": StepMutant(GENEROUS),
    "block: lemma-3": StepMutant(NO_NORMALISER),
    "block: law": StepMutant(NO_NORMALISER),
    "block: extension": StepMutant(NO_NORMALISER),
    "block: dominance over token": StepMutant(LOW),
    "greedy: token": StepMutant(CAPPED),
    "greedy: bounds": StepMutant(NO_CAP),
    "greedy: lemma-9": StepMutant(NO_SHORTFALL),
    "greedy: lemma-8": StepMutant(greedy.RULE, _forgotten),
}
"""For each lemma about one step."""

OF_DERIVATIONS = {
    "acceptance rate = 1 - total variation": lambda: derivations.acceptance_rate_holds(ratio_upside_down),
    "(1 - a^{gamma+1}) / (1 - a) from the code": lambda: derivations.expected_tokens_hold(first_draft_token_only),
    "(1 - a^{gamma+1}) / (1 - a) by recurrence": lambda: derivations.every_gamma_holds(first_draft_token_only),
    "wall-time and operations factors": lambda: derivations.costs_hold(lambda rows: rows),
    "best gamma: the first not improved on": lambda: derivations.stopping_rule_holds(1 + derivations.COST),
    "improvement iff alpha > c, by (1 + a) / (1 + c)": lambda: derivations.least_gain_holds(
        lambda alpha, c: (1 + alpha) / (1 + 2 * c)
    ),
    "bias = what lenience adds to acceptance": lambda: leniences.bias_holds(residual_of_the_lenient_draft),
    "no token above p / l": lambda: leniences.bound_holds(lambda p, _: p),
    "no bias at l = 1, some below if the rows differ": lambda: leniences.strict_is_lossless(residual_is_the_target),
    "bias never falls as l falls": lambda: leniences.monotone(lambda pair: pair[::-1]),
}
"""For each derivation, the same check of something wrong."""
