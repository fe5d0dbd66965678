"""Drift between passes of different shapes, and what it allows: measured first, and apart from the loop under test."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....models.generating.caches import CachedModel
from ....stattests.arguments import BETA
from ....stattests.betting import Bets, Fortune, SetBetting
from ....stattests.sequence_design import detectable_shift
from ....verifiers.details import BettingDetail
from ....verifiers.evidence import NO_EVIDENCE, REFUTED, Evidence, Method
from .forward_passes import Drift, measure_drift
from .session import LoopSession, seen

DRIFT_TEXTS = 4
"""Texts that are read in every shape, written by plain decoding."""

FEWEST_DRIFT_TEXTS = 2
"""Texts that are read in any case."""

DRIFT_SHARE = 0.25
"""Share of the run's time that reading further texts may take."""

MIN_DRIFT_TOKENS = 32
"""Tokens of these texts at least, and three blocks: what is read in one chunk does not drift."""

ROW_MARGIN = 4.0
"""Multiple of the largest measured drift that a row or gap may be off, and of the mean drift for the mean row."""

BET_MARGIN = 2.0
"""The same for the probability of a set that is bet on. It is smaller: every token pays for it."""

SOFTMAX_ROUNDING = 64 * 2.0**-23
"""Total variation that is allowed in any case, for the rounding of a softmax in float32."""

LOGIT_ULPS = 2.0
"""Units in the last place of the largest logit that each logit may be off by in any case. If d is what they make,
a gap may be off by 2 d, and total variation by tanh(d / 2) <= d / 2."""

MAX_DRIFT = 0.25
"""Total variation of drift, with its margin, above which rows are not judged."""


class DriftMeasurement:
    """A measurement of the drift of each shape of pass, on texts that plain decoding writes.

    It is no part of the verdict.
    """

    def __init__(self, session: LoopSession):
        self.session = session
        self.drifts: dict[str, list[Drift]] = {}

    def run(self) -> None:
        session = self.session
        session.step("drift", 0, 1)
        block, batched, seeds = session.settings.longest_gamma + 1, session.batch_size > 1, session.seeds("drift")
        prompts = session.batch(DRIFT_TEXTS)
        length = self.length(max(map(len, prompts)), block, batched)
        texts, started = [], session.spent
        for batch in [prompts] if batched else [[prompt] for prompt in prompts]:
            written = session.decode_plainly(batch, length, next(seeds), eos=())
            texts += [prompt + tokens for prompt, tokens in zip(batch, written.tokens, strict=True)]
        texts = texts[: self.affordable(len(texts), session.spent - started, batched)]
        for name, model in session.models.items():
            self.drifts[name] = measure_drift(
                model, texts, block, session.pair.vocabulary, session.warp, batched, session.check_time
            )

    def affordable(self, texts: int, seconds: float, batched: bool) -> int:
        """Return how many texts there is time to read token by token with both models.

        seconds: time in which all of them were written.
        """
        each = 2 * seconds / (1 if batched else texts)
        return max(FEWEST_DRIFT_TEXTS, min(texts, int(DRIFT_SHARE * self.session.options.timeout / max(each, 1e-9))))

    def length(self, prompt: int, block: int, batched: bool) -> int:
        """Return the tokens to write: at least as many as the loop; more only as far as the context allows."""
        context = self.session.pair.context or 2**62
        if batched:
            context = min(context, CachedModel(self.session.pair.target, 1).window)
        return max(self.session.options.new_tokens, min(max(MIN_DRIFT_TOKENS, 3 * block), context - prompt))

    def allowed(self, model: str) -> tuple[float, float]:
        """Return the total variation that a row of this model, and the rows' mean, may be off by."""
        drifts = self.drifts[model]
        measured = ([each.total_variation[name] for each in drifts] for name in ("max", "mean"))
        most, mean = (_limit(ROW_MARGIN, values, LOGIT_ULPS / 2, drifts) for values in measured)
        return most, mean

    @property
    def set_drift(self) -> float:
        """Return the distance that the probability of a set, as sampled, may be off by."""
        drifts = [each for part in self.drifts.values() for each in part]
        return _limit(BET_MARGIN, [each.warped["max"] for each in drifts], LOGIT_ULPS / 2, drifts)

    @property
    def slack(self) -> float:
        """Return the probability that bets pay for drift."""
        return min(MAX_DRIFT, self.set_drift)

    @property
    def too_wide(self) -> bool:
        """Return whether drift is too wide for bets to be evidence."""
        return self.set_drift > MAX_DRIFT

    @property
    def tie(self) -> float:
        """Return the gap of two logits of the target below which they are a tie."""
        drifts = self.drifts["target"]
        return _limit(ROW_MARGIN, [each.gap for each in drifts], 2 * LOGIT_ULPS, drifts)

    def evidence(self, complete: bool) -> list[Evidence]:
        return []

    def as_json(self) -> dict[str, list[dict[str, Any]]]:
        return {name: [each._asdict() for each in part] for name, part in self.drifts.items()}


def _limit(margin: float, measured: Sequence[float], ulps: float, drifts: Sequence[Drift]) -> float:
    """Return a multiple of the largest measured value, and at least so many units in the last place."""
    return max(margin * max(measured) + SOFTMAX_ROUNDING, ulps * max(each.rounding for each in drifts))


class TokenBets:
    """A run of bets on several families of sets, which pay for the drift of the rows.

    fortune: the fortune that they have won.
    expected, observed: tokens of each family that should have been in the sets, and that were.
    """

    def __init__(self, families: Sequence[str], alpha: float, drift: DriftMeasurement):
        self.betting, self.drift = SetBetting(families, alpha, drift.slack), drift
        self.expected, self.observed = dict.fromkeys(families, 0.0), dict.fromkeys(families, 0)
        self.probabilities: dict[str, list[np.ndarray]] = {name: [] for name in families}
        self.fortune = Fortune(0.0, 0.0, None, None, 0)

    def observe(self, bets: Mapping[str, Bets]) -> None:
        """Settle the bets of further tokens."""
        for name, bet in bets.items():
            self.expected[name] += float(bet.probability.sum())
            self.observed[name] += int(bet.hit.sum())
            self.probabilities[name].append(bet.probability)
        self.fortune = self.betting.observe(bets)

    def evidence(
        self, claim: str, problem: str, limited_by: Sequence[str], place: dict[str, Any], what: str, **detail: Any
    ) -> Evidence:
        """Return the evidence: refuted if the bets have won, unless drift is too wide.

        limited_by: the families whose largest detection limit is the bound.
        place, what: of a witness: where the bets had won, and what they are on.
        detail: fields of ``BettingDetail``.
        """
        fortune, too_wide, families = self.fortune, self.drift.too_wide, self.betting.families
        limits = {
            name: detectable_shift(np.concatenate(parts), self.betting.alpha, BETA, self.drift.slack, len(families))
            for name, parts in self.probabilities.items()
        }
        refuted, shown = fortune.refuted_at is not None and not too_wide, None
        if refuted and fortune.family:
            expected, observed = self.expected[fortune.family], self.observed[fortune.family]
            sequence = f"{what} in the set {fortune.family!r}, of {fortune.steps:,}"
            shown = seen(place, sequence, f"{expected:.1f}", str(observed))
        bound = None if refuted else 1.0 if too_wide else max(limits[name] for name in limited_by)
        known = BettingDetail(
            **detail, p_value=fortune.p_value, limits=limits, slack=self.drift.slack,
            false_alarm_rate=self.betting.alpha, miss_rate=BETA, too_wide=too_wide,
        )  # fmt: skip
        verdict = REFUTED if refuted else NO_EVIDENCE
        return self.drift.session.finding(claim, Method.BETTING, verdict, problem, known, shown, bound=bound)
