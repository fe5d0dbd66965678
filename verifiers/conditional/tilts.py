"""Alternatives to a rule that no known bug has to explain: coins and replacements that are off by some amount."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from .id_classes import CONTIGUOUS, EIGHTHS, HALVES, REMAINDERS, IdClass
from .laws import Draw, StepLaw, Weights, from_target
from .mutants import LAST_BITS, draft_tempered, target_tempered, tempered, total, with_draft, with_target
from .rules import from_argmax, from_greedy_residual
from .steps import Array, PairRows, Steps

ODDS = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Shifts of the logarithm of a coin's odds, up and down."""

SHARES = (0.01, 0.03, 0.1, 0.3)
"""Shares of coins that come up, or do not, whatever the rows say."""

TEMPERATURES = (0.8, 0.9, 0.95, 1.05, 1.1, 1.25, 1.5)
"""Temperatures of one model's rows over those recorded."""

MIXED = (0.1, 0.5, 0.9)
"""Shares of replacements that are drawn otherwise."""

CONTRASTS = (0.125, 0.5, 2.0)
"""Shifts of the logarithm of a coin's odds, up for a class of tokens and down for all others, or the other way."""

OF_EIGHTHS = 1.0
"""Shift of the logarithm of a coin's odds, up or down, for an eighth of the ids alone."""

LIKELY = 0.1
"""Target's probability from which a drafted token counts as likely."""

MISSING = 0.05
"""Share of its probability that a class of ids keeps which is nearly missing."""


def tilts(law: StepLaw, gamma: int) -> list[StepLaw]:
    """Return alternatives to a rule with up to gamma drafted tokens."""
    return [*_of_coins(law, gamma), *_of_rows(law), *_of_replacements(law), *_of_bonus(law), *_of_classes(law)]


def _with_coins(law: StepLaw, name: str, change: Callable[[Array, Steps], Array]) -> StepLaw:
    return replace(law, name=name, title=name, accept=lambda steps: change(law.coins(steps), steps))


def _shifted(coins: Array, shift: float | Array) -> Array:
    """Return coins whose odds are exp(shift) times as high. One that is sure stays."""
    return np.where((coins > 0) & (coins < 1), expit(logit(coins) + shift), coins)


def _of_coins(law: StepLaw, gamma: int) -> list[StepLaw]:
    changed = partial(_with_coins, law)
    found = []
    for shift in [*ODDS, *(-shift for shift in ODDS)]:
        found.append(changed(
            f"odds of acceptance times {np.exp(shift):.3g}", lambda coins, steps, d=shift: _shifted(coins, d)
        ))  # fmt: skip
    for share in SHARES:
        found.append(changed(
            f"{share:.0%} of rejected tokens accepted", lambda coins, steps, s=share: coins + s * (1 - coins)
        ))  # fmt: skip
        found.append(changed(
            f"{share:.0%} of accepted tokens rejected", lambda coins, steps, s=share: coins * (1 - s)
        ))  # fmt: skip
    for place in range(gamma):
        found.append(changed(
            f"token {place + 1} accepted whatever the rows say",
            lambda coins, steps, i=place: np.where(np.arange(steps.gamma) == i, coins + 0.9 * (1 - coins), coins),
        ))  # fmt: skip
    found.append(changed(
        "the last token accepted whatever the rows say",
        lambda coins, steps: np.where(
            np.arange(steps.gamma) == steps.lengths[:, None] - 1, coins + 0.9 * (1 - coins), coins
        ),
    ))  # fmt: skip
    return found


TokenClass = Callable[[Steps, Array], Array]
"""inside(steps, coins) -> whether each drafted token is in a class, [N, G]. It may not depend on what came out."""


def _by_id(inside: IdClass) -> TokenClass:
    return lambda steps, coins: inside(steps.tokens, steps.vocabulary)


def _depths(steps: Steps) -> Array:
    """Return how many drafted tokens lead to each drafted token, [N, G]."""
    return np.take_along_axis(steps.depth, steps.above, 1)


CLASSES: dict[str, TokenClass] = {
    **{name: _by_id(inside) for name, inside in HALVES.items()},
    "likely tokens": lambda steps, coins: steps.p >= LIKELY - LAST_BITS,
    "coins from 1/2": lambda steps, coins: coins >= 0.5 - LAST_BITS,
    "first tokens": lambda steps, coins: _depths(steps) == 0,
    "tokens at odd places": lambda steps, coins: _depths(steps) % 2 == 0,
}
"""Classes of drafted tokens: if coins are too high for one and too low for the others, it may be nothing in all."""


def _of_classes(law: StepLaw) -> list[StepLaw]:
    """Return alternatives whose coins are too high or too low for a class of tokens, or whose draws are."""
    coins, own = partial(_with_coins, replace(law, of_class=True)), law.replace
    assert own is not None
    found = []
    for name, inside in CLASSES.items():
        for shift in [*CONTRASTS, *(-shift for shift in CONTRASTS)]:
            how = "more, others less" if shift > 0 else "less, others more"
            found.append(coins(
                f"{name} accepted {how}, by odds of {np.exp(abs(shift)):.3g}",
                lambda coins, steps, inside=inside, d=shift: _shifted(coins, np.where(inside(steps, coins), d, -d)),
            ))  # fmt: skip
    for name, inside in EIGHTHS.items():
        for shift in (OF_EIGHTHS, -OF_EIGHTHS):
            found.append(coins(
                f"odds of acceptance times {np.exp(shift):.3g} for {name}",
                lambda coins, steps, inside=inside, d=shift: _shifted(
                    coins, d * inside(steps.tokens, steps.vocabulary)
                ),
            ))  # fmt: skip
    for name, draw in _by_classes(own, "replacements").items():
        found.append(replace(law, name=name, title=name, replace=draw, of_class=True))
    for name, draw in _by_classes(law.bonus, "bonus tokens").items():
        found.append(replace(law, name=name, title=name, bonus=draw, of_class=True))
    return found


def _of_rows(law: StepLaw) -> list[StepLaw]:
    found = []
    for t in TEMPERATURES:
        found.append(replace(
            law, name=f"target at {t:g} times its temperature", title=f"target at {t:g} times its temperature",
            change=lambda steps, t=t: with_target(steps, lambda rows: target_tempered(rows, t), by_entry=True),
        ))  # fmt: skip
        found.append(replace(
            law, name=f"draft at {t:g} times its temperature", title=f"draft at {t:g} times its temperature",
            change=lambda steps, t=t: with_draft(steps, lambda rows: draft_tempered(rows, t), by_entry=True),
        ))  # fmt: skip
    found.append(replace(
        law, name="draft's rows of the place before", title="draft's rows of the place before",
        change=_draft_of_the_place_before, replace=None,
    ))  # fmt: skip
    return found


def _draft_of_the_place_before(steps: Steps) -> Steps:
    """Return steps whose draft has, of the drafted tokens, what it gave them one place before."""
    draft, every = steps.rows.draft.copy(), np.arange(steps.count)
    for i in range(steps.gamma):
        above = steps.above[:, i]
        earlier = steps.above[every, np.maximum(above - 1, 0)]
        same = steps.rows.ids[every, earlier] == steps.tokens[:, i, None]
        before = np.where(same, steps.rows.draft[every, earlier], 0.0).sum(-1)
        n = np.flatnonzero(steps.drafted[:, i] & (above > 0))
        draft[n, above[n], steps.at_token[n, i]] = before[n]
    return replace(steps, rows=steps.rows._replace(draft=draft))


class _Shares(NamedTuple):
    """Weights divided by their sum, and that sum."""

    weights: Weights
    whole: Array


def _once(draw: Draw, steps: Steps, rows: PairRows) -> _Shares:
    """Return the shares of a draw. At tau they are computed once."""
    if rows is steps.end and (draw, "shares") in steps.kept:
        return steps.kept[draw, "shares"]
    weights = draw(steps, rows)
    whole = total(weights)
    found = _Shares(Weights(weights.listed / whole[..., None], weights.rest / whole), whole)
    if rows is steps.end:
        steps.kept[draw, "shares"] = found
    return found


def mixed(first: Draw, second: Draw, share: float) -> Draw:
    """Return a draw that is the second in this share of cases."""

    def draw(steps: Steps, rows: PairRows) -> Weights:
        a, b = (_once(draw, steps, rows).weights for draw in (first, second))
        return Weights(*((1 - share) * x + share * y for x, y in zip(a, b)))

    return draw


def _from_draft(steps: Steps, rows: PairRows) -> Weights:
    return Weights(rows.draft, rows.rest_draft.sum(-1))


def _evenly(steps: Steps, rows: PairRows) -> Weights:
    return Weights((rows.ids >= 0).astype(float), rows.rest_count.astype(float))


def _drafted_again(steps: Steps, rows: PairRows) -> Weights:
    chosen = np.arange(rows.target.shape[-1]) == steps.rejected[:, None]
    return Weights(chosen.astype(float), np.zeros(steps.count))


def _hotter(draw: Draw, temperature: float) -> Draw:
    """Return a draw at another temperature. Of what is not listed, no weight is above all of it, nor above its most
    probable token's: but that of p_i p - q may be, where p_i is above 1."""

    def changed(steps: Steps, rows: PairRows) -> Weights:
        weights, whole = _once(draw, steps, rows)
        highest = weights.rest if draw is from_greedy_residual else rows.highest.max(-1) / whole
        return tempered(*weights, rows.rest_count, highest, temperature)

    return changed


def _less_of(draw: Draw, inside: IdClass, share: float, others: bool = False) -> Draw:
    """Return a draw in which a class of ids, or all others, keep a share of their weights: at most 1, as those that
    are not listed keep theirs.
    """

    def changed(steps: Steps, rows: PairRows) -> Weights:
        weights = _once(draw, steps, rows).weights
        less = inside(rows.ids, steps.vocabulary) != others
        return Weights(np.where(less, share * weights.listed, weights.listed), weights.rest)

    return changed


def _by_classes(draw: Draw, what: str) -> dict[str, Draw]:
    """Return draws in which a class of ids is nearly missing, or half or twice as likely. what: is drawn."""
    found = {f"{what} not from {name}": _less_of(draw, inside, MISSING) for name, inside in REMAINDERS.items()}
    for name, inside in HALVES.items():
        found[f"{what} half as often {name}"] = _less_of(draw, inside, 0.5)
        found[f"{what} twice as often {name}"] = _less_of(draw, inside, 0.5, others=True)
    return found


def _without_parts(draw: Draw, what: str) -> dict[str, Draw]:
    """Return draws in which ids next to each other are nearly missing. what: is drawn."""
    return {f"{what} not from {name}": _less_of(draw, inside, MISSING) for name, inside in CONTIGUOUS.items()}


def _of_replacements(law: StepLaw) -> list[StepLaw]:
    own = law.replace
    assert own is not None
    others = {
        "from the target": from_target, "from the draft": _from_draft, "from all tokens evenly": _evenly,
        "the most probable token": from_argmax, "the rejected token": _drafted_again,
    }  # fmt: skip
    found = {
        f"{share:.0%} of replacements {'' if name.startswith('the') else 'drawn '}{name}": mixed(own, other, share)
        for name, other in others.items() for share in MIXED
    }  # fmt: skip
    found |= {f"replacements at {t:g} times the temperature": _hotter(own, t) for t in (0.5, 0.8, 1.25, 2.0)}
    found |= _without_parts(own, "replacements")
    return [replace(law, name=name, title=name, replace=draw) for name, draw in found.items()]


def _of_bonus(law: StepLaw) -> list[StepLaw]:
    own = law.bonus
    found = {f"bonus token at {t:g} times the temperature": _hotter(own, t) for t in (0.5, 0.8, 0.9, 1.1, 1.25, 2.0)}
    found |= {f"{share:.0%} of bonus tokens the most probable": mixed(own, from_argmax, share) for share in MIXED}
    found |= {f"{share:.0%} of bonus tokens drawn evenly": mixed(own, _evenly, share) for share in MIXED}
    found |= _without_parts(own, "bonus tokens")
    laws = [replace(law, name=name, title=name, bonus=draw) for name, draw in found.items()]
    return [*laws, replace(law, name="bonus token from the row before", title="bonus token from the row before",
                           bonus_row=1)]  # fmt: skip
