"""The checks of recorded steps in a history: what each gambler bets on, and what a shard is for it."""

import hashlib
import json
from collections.abc import Mapping
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ....models.recorded_steps import Recording
from ....stattests.betting import LOG_ODDS, log_gains
from ....stattests.eprocess import BettingNights
from ....stattests.tilts import SETS, bets_on_transform
from ..steps.bets import ON_TOKENS, Against, LogBets
from ..steps.purses import set_off
from ..steps.shard import Found
from .tables import BetState

FOLLOWS_RULE, LOSSLESS, DRAFTS = "follows-rule", "lossless", "drafts"


class StepsCounts(NamedTuple):
    """What the steps of a shard are for a check.

    counts: [H], log of what each gambler's fortune is multiplied by. draws: steps or tokens bet on.
    impossible: the first that cannot be, and how many cannot.
    """

    counts: np.ndarray
    draws: int
    impossible: tuple[str, int] | None

    def add_to(self, process: BettingNights) -> None:
        """Settle the bets in an e-process."""
        process.add(self.counts, self.impossible[1] if self.impossible else 0)


class StepsCheck(NamedTuple):
    """A check of recorded steps.

    name: the claim. gamblers: what each bets on. shares: of the purse, [H]. off: as of ``TokenPurse``.
    """

    name: str
    gamblers: list[str]
    shares: np.ndarray
    parameters: str
    off: float

    state_type = BetState

    def process(self, state: Mapping[str, Any] | None = None) -> BettingNights:
        """Return the e-process of a kept state; a new one without."""
        return BettingNights(self.shares) if state is None else BettingNights.from_json(self.shares, state)

    def counts(self, found: Found) -> StepsCounts:
        """Return what a shard is for this check."""
        if self.name == FOLLOWS_RULE:
            wrong = [*(shown for shown in found.shown if shown.gain == inf), *found.differences]
            first = (f"{wrong[0].place}: {wrong[0].why}", len(wrong)) if wrong else None
            return StepsCounts(_gains(found.steps), len(found.steps.possible) + found.greedy, first)
        texts = self.name == LOSSLESS
        bets, transform = (found.texts, found.text_transform) if texts else (found.drafts, found.draft_transform)
        sets = bets_on_transform(transform).values()
        probability, hit = (np.array([getattr(b, name) for b in sets]) for name in ("probability", "hit"))
        on_sets = log_gains(probability, hit, self.off).sum(-1)
        wrong = int((~bets.possible).sum())
        first = (f"{found.name}: a token that the row excludes", wrong) if wrong else None
        return StepsCounts(np.concatenate([_gains(bets), on_sets.ravel()]), len(transform), first)


def _gains(bets: LogBets) -> np.ndarray:
    return np.where(bets.possible, bets.logs, 0.0).sum(-1)


def steps_checks(recording: Recording) -> list[StepsCheck]:
    """Return the checks of a recording: whether it follows the rule that it claims, if it claims one, and its tokens.

    The text of greedy block verification does not follow the rows of its step.
    """
    rule, found = recording.header.rule, []
    if against := Against.of(rule, recording.header.siblings).by_name:
        names = [law.title for law in against.values()]
        found.append(_check(recording, FOLLOWS_RULE, names, np.full(len(names), 1 / len(names))))
    on_sets = [name for name in SETS for _ in LOG_ODDS]
    shares = np.repeat([0.5 / len(ON_TOKENS), 0.5 / len(on_sets)], [len(ON_TOKENS), len(on_sets)])
    for claim in (LOSSLESS, DRAFTS)[rule == "greedy-block" :]:
        found.append(_check(recording, claim, [*ON_TOKENS, *on_sets], shares))
    return found


def _check(recording: Recording, claim: str, gamblers: list[str], shares: np.ndarray) -> StepsCheck:
    digest = hashlib.sha256("\n".join(gamblers).encode()).hexdigest()[:16]
    parameters = {"recorded": claim, "rule": recording.header.rule, "header": recording.digest, "gamblers": digest}
    return StepsCheck(claim, gamblers, shares, json.dumps(parameters, sort_keys=True), set_off(recording))
