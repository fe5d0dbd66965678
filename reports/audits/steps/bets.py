"""Bets on recorded steps: likelihood ratios of what came out, under known bugs and under the rule that is claimed."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ....stattests.tilts import DRAFT_SHARES, NUCLEI, NUCLEUS_SHARE, TEMPERATURES
from ....verifiers.conditional.id_classes import EIGHTHS, HALVES
from ....verifiers.conditional.laws import StepLaw, stops_of
from ....verifiers.conditional.mutants import BLOCK_MUTANTS, TOKEN_MUTANTS, tempered
from ....verifiers.conditional.rules import RULES, at_most, coin_bounds
from ....verifiers.conditional.steps import PairRows, Steps
from ....verifiers.conditional.tilts import tilts
from ....verifiers.conditional.tree_rules import (
    TREE_RULES,
    on_chains,
    on_trees,
    same_law,
    tree_bounds,
    tree_mutants,
)
from ....verifiers.conditional.tree_steps import TreeSteps

Array = np.ndarray

MOST_DRAFTED = 16
"""Places whose token may be accepted whatever the rows say, each a bet of its own."""


IMPOSSIBLE = 1e-12
"""Likelihood that stands for 0 where hypotheses are compared with each other."""


class LogBets(NamedTuple):
    """Bets of T steps or tokens.

    logs: [H, T], logarithm of each hypothesis' likelihood over the most that the null hypothesis allows; where that is
        0, over IMPOSSIBLE, which says what explains it best
    possible: [T], whether the null hypothesis allows what came out.
    """

    logs: Array
    possible: Array

    @classmethod
    def joined(cls, parts: Sequence["LogBets"], hypotheses: int) -> "LogBets":
        """Return the bets of several parts in turn."""
        empty = cls(np.zeros((hypotheses, 0)), np.zeros(0, dtype=bool))
        return cls(*(np.concatenate(arrays, axis=-1) for arrays in zip(empty, *parts)))


def hypotheses(rule: str, sequential: bool = False) -> list[StepLaw]:
    """Return what a rule for chains is tested against: its known bugs, those of the other rules, and its tilts.

    sequential: leave out what depends on rows behind the first rejection, which a dump may lack.
    """
    law = RULES[rule]
    others = [other for name, other in RULES.items() if name != rule]
    bugs = (*TOKEN_MUTANTS, *BLOCK_MUTANTS) if rule in ("token", "block") else ()
    same = {"token": "M42", "greedy-block": "M40"}.get(rule)
    every = [*others, *(bug for bug in bugs if bug.name != same), *tilts(law, MOST_DRAFTED)]
    return [one for one in every if not (sequential and (one.longest or one.row or one.name.startswith("the last")))]


def tree_hypotheses(rule: str, siblings: str) -> list[StepLaw]:
    """Return the same of a rule for trees whose siblings are drawn so."""
    same = same_law(rule, siblings)
    others = [law for name, law in TREE_RULES.items() if name not in same]
    return [*others, *tree_mutants(siblings), *tilts(TREE_RULES[rule], MOST_DRAFTED)]


class Against(NamedTuple):
    """What a claimed rule is tested against on chains and on trees. A hypothesis of both has one name.

    rule: that is claimed, or unknown.
    """

    rule: str
    on_chains: Sequence[StepLaw]
    on_trees: Sequence[StepLaw]

    @classmethod
    def of(cls, rule: str, siblings: str, sequential: bool = False) -> "Against":
        """Return the hypotheses against a rule.

        siblings: how they are drawn; "" if that is not said, or all are chains. sequential: as of ``hypotheses``.
        """
        chain, tree = on_chains(rule), on_trees(rule)
        return cls(rule, hypotheses(chain, sequential) if chain in RULES else [],
                   tree_hypotheses(tree, siblings) if tree and siblings else [])  # fmt: skip

    @property
    def by_name(self) -> dict[str, StepLaw]:
        """Return the hypotheses by name, in the order of bets."""
        return {law.name: law for law in (*self.on_chains, *self.on_trees)}

    @property
    def names(self) -> list[str]:
        return list(self.by_name)

    @property
    def faults(self) -> list[str]:
        """Return the hypotheses that are known faults."""
        return [name for name, law in self.by_name.items() if not law.of_class]

    def laws(self, tree: bool) -> Sequence[StepLaw]:
        """Return the hypotheses on trees or on chains."""
        return self.on_trees if tree else self.on_chains

    def law(self, tree: bool) -> StepLaw | None:
        """Return the rule on trees or on chains; None if it has no law there."""
        if tree:
            return TREE_RULES.get(on_trees(self.rule) or "")
        return RULES.get(on_chains(self.rule))

    def placed(self, bets: "LogBets", tree: bool) -> "LogBets":
        """Return bets on trees or on chains among those of all names: those of others do not bet on these steps."""
        names = self.names
        logs = np.zeros((len(names), len(bets.possible)))
        logs[[names.index(law.name) for law in self.laws(tree)]] = bets.logs
        return LogBets(logs, bets.possible)


def bets_on_steps(law: StepLaw, against: Sequence[StepLaw], steps: Steps, epsilon: float) -> LogBets:
    """Return the bets of hypotheses against a rule, one a step.

    Guarantee: under the rule, with rows and operations rounded by epsilon, the mean of exp(logs) is at most 1 for each
    hypothesis, given the rows, the drafted tokens and everything before.
    """
    on_tree = isinstance(steps, TreeSteps)
    stops, tokens = tree_bounds(law, steps, epsilon) if on_tree else at_most(law, steps, epsilon)
    possible = (stops > -np.inf) & (tokens > -np.inf)
    stops, tokens = np.maximum(stops, np.log(IMPOSSIBLE)), np.maximum(tokens, np.log(IMPOSSIBLE))
    logs = np.empty((len(against), steps.count))
    # Where equal siblings may go on together or not, the bound is that of (place, Y): a place alone bets on nothing.
    alone = (steps.apart == steps.parents).all(1) if isinstance(steps, TreeSteps) else True
    for k, other in enumerate(against):
        own, token = other.log_likelihood(steps)
        logs[k] = np.where(alone, own - stops, 0.0) if token is None else own + token - stops - tokens
    if steps.cut is not None and steps.cut.any():
        kept = _bets_on_kept(law, against, steps.part(steps.cut), epsilon)
        logs[:, steps.cut] = np.minimum(np.where(possible, logs, np.inf)[:, steps.cut], kept)
        possible |= steps.cut
    return LogBets(logs, possible)


def _bets_on_kept(law: StepLaw, against: Sequence[StepLaw], steps: Steps, epsilon: float) -> Array:
    """Return bets on Y as a drafted token that was kept, where the request may have ended with it, [H, N].

    The lesser of this and of the bet on Y as drawn is fair whether the request has ended there or not.
    """

    def kept(stops: Array) -> Array:
        return np.log(np.where(np.arange(steps.gamma + 1) > steps.emitted[:, None], stops, 0.0).sum(1))

    _, high = coin_bounds(law, steps, epsilon)
    with np.errstate(divide="ignore"):
        most = np.maximum(kept(stops_of(high, steps, law.longest)), np.log(IMPOSSIBLE))
        return np.stack([kept(other.stops(other.seen(steps))) - most for other in against])


ON_IDS = (
    *((name, inside, (0.8, 1.25)) for name, inside in HALVES.items()),
    *((name, inside, (0.25, 2.0)) for name, inside in EIGHTHS.items()),
)
"""Classes of ids that may be less or more likely than their row says: their names, and by which factors."""

OTHER_SHARES = tuple(f"{share:.0%} of the other model's row" for share in DRAFT_SHARES)

ON_TOKENS = (
    *(f"temperature {t:g} times that of the row" for t in TEMPERATURES),
    *(f"top-p {mass:g}" for mass in NUCLEI),
    *OTHER_SHARES,
    "half from the row before",
    "siblings drawn without replacement",
    *(f"{name} {factor:g} times as likely" for name, _, factors in ON_IDS for factor in factors),
)
"""Hypotheses on tokens that a row is said to have drawn, in the order of ``bets_on_tokens``."""


def bets_on_tokens(
    rows: PairRows, mine: str, at: Array, other: Array, before: Array, epsilon: float, vocabulary: int,
    elders: Array | None = None,
) -> LogBets:  # fmt: skip
    """Return bets on tokens that are said to be drawn from rows, one a token.

    rows: [T, ...]. mine: "target" or "draft", whose rows they are. at: [T], places of the tokens in the lists.
    other: [T], probability of each token under the other model; NaN where that is not known.
    before: [T], under the row of the place before; NaN where there is none.
    elders: [T], the row's mass of its elder siblings' tokens; infinite for one of those; None without siblings.
    Guarantee: if each token follows its row given everything before, entries rounded by epsilon of themselves, the mean
    of exp(logs) is at most 1 for each hypothesis.
    """
    values, every = getattr(rows, mine), np.arange(len(at))
    rest = getattr(rows, f"rest_{mine}").sum(-1)
    own = values[every, at]
    possible = own > 0
    logs = np.zeros((len(ON_TOKENS), len(at)))
    with np.errstate(divide="ignore", invalid="ignore"):
        for k, t in enumerate(TEMPERATURES):
            weights = tempered(values, rest, rows.rest_count, rows.highest[:, 0 if mine == "target" else 1], t)
            logs[k] = (1 / t - 1) * np.log(own) - np.log(weights.listed.sum(-1) + weights.rest)
    k = len(TEMPERATURES)
    for inside, mass in _nuclei(rows, values, at):
        share = np.divide(NUCLEUS_SHARE * inside, mass, out=np.full(len(at), NUCLEUS_SHARE), where=mass > 0)
        logs[k] = np.log(1 - NUCLEUS_SHARE + share)
        k += 1
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(possible, other / own, 1.0)
        for share in DRAFT_SHARES:
            logs[k] = np.where(np.isnan(ratio), 0.0, np.log1p(share * (ratio - 1)))
            k += 1
        ratio = np.where(possible, before / own, 1.0)
        logs[k] = np.where(np.isnan(ratio), 0.0, np.log1p(0.5 * (ratio - 1)))
        if elders is not None:
            logs[k + 1] = np.where(elders < np.inf, -np.log(np.maximum(1 - elders, IMPOSSIBLE)), np.log(IMPOSSIBLE))
    on_ids = _on_ids(rows, values, at, vocabulary)
    logs[-len(on_ids) :] = on_ids
    return LogBets(np.where(possible, logs - np.log1p(4 * epsilon + rows.off), 0.0), possible)


def _on_ids(rows: PairRows, values: Array, at: Array, vocabulary: int) -> Array:
    """Return the bets on classes of ids, in the order of ON_TOKENS.

    A token that is not listed for its probability is in no class: to which the others of its row belong is not known.
    """
    natural, every = np.arange(values.shape[-1]) < rows.natural[:, None], np.arange(len(at))
    logs = list[Array]()
    for _, inside, factors in ON_IDS:
        chosen = natural & inside(rows.ids, vocabulary)
        mass, mine = np.where(chosen, values, 0.0).sum(-1), chosen[every, at]
        logs += [np.where(mine, np.log(factor), 0.0) - np.log1p((factor - 1) * mass) for factor in factors]
    return np.stack(logs)


def _nuclei(rows: PairRows, values: Array, at: Array) -> list[tuple[Array, Array]]:
    """Return for each mass of NUCLEI whether each token is in the nucleus, and the nucleus' mass; 0 where it is longer
    than what is listed for its probability."""
    natural = np.arange(values.shape[-1]) < rows.natural[:, None]
    listed = np.where(natural, values, 0.0)
    sums = np.cumsum(-np.sort(-listed, axis=-1), axis=-1)
    mine = _rank(listed, natural, at)
    found = []
    for mass in NUCLEI:
        size = np.minimum((sums < mass).sum(-1) + 1, sums.shape[-1])
        reached = np.take_along_axis(sums, size[:, None] - 1, -1)[:, 0]
        found.append((mine < size, np.where(reached >= mass, reached, 0.0)))
    return found


def _rank(listed: Array, natural: Array, at: Array) -> Array:
    """Return how many tokens come before each in its row, the most probable first, equals in the order listed, [T]."""
    own = listed[np.arange(len(at)), at][:, None]
    earlier = np.arange(listed.shape[-1]) < at[:, None]
    rank = (listed > own).sum(-1) + ((listed == own) & natural & earlier).sum(-1)
    return np.where(at < natural.sum(-1), rank, listed.shape[-1])


def transforms(rows: PairRows, mine: str, at: Array, uniforms: Array) -> Array:
    """Return the probability integral transform of each token, [T]: uniform on 0..1 if the rows drew them.

    A token that is not among those listed for their probability is anywhere among all that are not.
    uniforms: [T], the auditor's own.
    """
    values, every = getattr(rows, mine), np.arange(len(at))
    natural = np.arange(values.shape[-1]) < rows.natural[:, None]
    listed = np.where(natural, values, 0.0)
    own = listed[every, at]
    above = np.where(listed > own[:, None], listed, 0.0).sum(-1)
    ties = (listed == own[:, None]) & natural & (np.arange(values.shape[-1]) < at[:, None])
    above += np.where(ties, listed, 0.0).sum(-1)
    unlisted = at >= rows.natural
    whole = listed.sum(-1)
    return np.clip(np.where(unlisted, whole + uniforms * np.maximum(1 - whole, 0.0), above + uniforms * own), 0.0, 1.0)
