"""Drift between passes of different shapes, and what it allows: measured first, and apart from the loop under test."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ....models.generating.caches import CachedModel
from ....stattests.arguments import BETA
from ....stattests.betting import Bets, Fortune, SetBetting
from ....stattests.sequence_design import detectable_shift
from ....verifiers.details import BettingDetail
from ....verifiers.evidence import NO_EVIDENCE, REFUTED, Evidence, Method, Witness
from .forward_passes import Drift, measure_drift
from .session import LoopSession

DRIFT_TEXTS = 4
"""Texts that are read in every shape, written by plain decoding."""

FEWEST_DRIFT_TEXTS, DRIFT_SHARE = 2, 0.25
"""Texts that are read where more would take longer than this share of the run's time."""

MIN_DRIFT_TOKENS = 32
"""Tokens that these texts have at least, and three blocks: what is read in one chunk does not drift."""

ROW_MARGIN = 4.0
"""How many times the largest measured drift a single row or gap may be off, and the mean of all rows the mean drift."""

BET_MARGIN = 2.0
"""The same for the probability of a set that is bet on: every token pays for it, one that is off gains little."""

SOFTMAX_ROUNDING = 64 * 2.0**-23
"""Total variation that the rounding of a softmax in float32 is granted in any case."""

LOGIT_ULPS = 2.0
"""Units in the last place of the largest logit that each logit may be off by in any case: with d of them together, a
gap by 2 d, and total variation by tanh(d / 2) <= d / 2."""

MAX_DRIFT = 0.25
"""Total variation of drift, with its margin, beyond which rows are not judged at all."""


class DriftMeasurement:
    """The drift of each shape on texts of this pair as plain decoding writes them, for target and draft."""

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
        """Texts that there is time to read token by token, by both models. seconds: that writing all of them took."""
        each = 2 * seconds / (1 if batched else texts)
        return max(FEWEST_DRIFT_TEXTS, min(texts, int(DRIFT_SHARE * self.session.options.timeout / max(each, 1e-9))))

    def length(self, prompt: int, block: int, batched: bool) -> int:
        """Tokens to write: as many as the loop, at the least; more than that only as far as the context allows."""
        context = self.session.pair.context or 2**62
        if batched:
            context = min(context, CachedModel(self.session.pair.target, 1).window)
        return max(self.session.options.new_tokens, min(max(MIN_DRIFT_TOKENS, 3 * block), context - prompt))

    def allowed(self, model: str) -> tuple[float, float]:
        """Total variation that a row, and the rows' mean, of this model may be off by; no limit above MAX_DRIFT."""
        drifts = self.drifts[model]
        measured = ([each.total_variation[name] for each in drifts] for name in ("max", "mean"))
        most, mean = (_limit(ROW_MARGIN, values, LOGIT_ULPS / 2, drifts) for values in measured)
        return most, mean

    @property
    def set_drift(self) -> float:
        """What the probability of a set may be off by, as sampled."""
        drifts = [each for part in self.drifts.values() for each in part]
        return _limit(BET_MARGIN, [each.warped["max"] for each in drifts], LOGIT_ULPS / 2, drifts)

    @property
    def slack(self) -> float:
        """What bets pay for drift."""
        return min(MAX_DRIFT, self.set_drift)

    @property
    def too_wide(self) -> bool:
        """Whether drift is too wide for bets to be evidence."""
        return self.set_drift > MAX_DRIFT

    @property
    def tie(self) -> float:
        """Gaps of two logits of the target below this are ties."""
        drifts = self.drifts["target"]
        return _limit(ROW_MARGIN, [each.gap for each in drifts], 2 * LOGIT_ULPS, drifts)

    def evidence(self, complete: bool) -> list[Evidence]:
        """None: drift is not part of the verdict."""
        return []

    def as_json(self) -> dict[str, list[dict[str, Any]]]:
        return {name: [each._asdict() for each in part] for name, part in self.drifts.items()}


def _limit(margin: float, measured: Sequence[float], ulps: float, drifts: Sequence[Drift]) -> float:
    """So many times the largest that was measured, and at least so many units in the last place."""
    return max(margin * max(measured) + SOFTMAX_ROUNDING, ulps * max(each.rounding for each in drifts))


MakeWitness = Callable[[str, str, str], Witness]
"""From a family, and how many tokens were expected in its sets and observed, as text."""


class TokenBets:
    """Bets of several families of sets, which pay for the drift of the rows.

    fortune: what they have come to.
    expected, observed: for each family, how many tokens should have been in the sets, and how many were.
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
        self, claim: str, problem: str, limited_by: Sequence[str], witness: MakeWitness, **detail: Any
    ) -> Evidence:
        """Refuted if the bets have won, unless drift is too wide.

        limited_by: the families whose largest detection limit is the bound. detail: fields of ``BettingDetail``.
        """
        fortune, too_wide, families = self.fortune, self.drift.too_wide, self.betting.families
        limits = {
            name: detectable_shift(np.concatenate(parts), self.betting.alpha, BETA, self.drift.slack, len(families))
            for name, parts in self.probabilities.items()
        }
        refuted, shown = fortune.refuted_at is not None and not too_wide, None
        if refuted and fortune.family:
            expected, observed = self.expected[fortune.family], self.observed[fortune.family]
            shown = witness(fortune.family, f"{expected:.1f}", str(observed))
        bound = None if refuted else 1.0 if too_wide else max(limits[name] for name in limited_by)
        known = BettingDetail(
            **detail, p_value=fortune.p_value, limits=limits, slack=self.drift.slack,
            false_alarm_rate=self.betting.alpha, miss_rate=BETA, too_wide=too_wide,
        )  # fmt: skip
        verdict = REFUTED if refuted else NO_EVIDENCE
        return self.drift.session.finding(claim, Method.BETTING, verdict, problem, known, shown, bound=bound)
