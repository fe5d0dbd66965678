"""What the verifier is given, examined on one batch.

The rows have to be read from the right text, follow the models' own law and be warped as asked for. Draft tokens have
to be drawn from the draft's rows, and random numbers used once.
"""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from ....proofs.laws import verdict_rule
from ....stattests.betting import bets_on
from ....verifiers.details import ListeningDetail, ReadingDetail, RowsDetail
from ....verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED, Evidence, Method
from .drift import MAX_DRIFT, DriftMeasurement, TokenBets
from .model_inputs import PURPOSES
from .observed_loop import Observations, RowDistance, observed
from .session import LoopSession, seen

BET_FAMILIES = "argmax", "tail"
"""Sets of tokens that drafts are bet on."""

MAX_OBSERVED_ROWS = 8
"""Rows of the batch that is observed."""

SOFTMAX_TOLERANCE = 1e-6
"""Total variation allowed between two computations of the same softmax."""


class BlockInputs:
    """A batch of prompts of several lengths, decoded by the observed loop."""

    def __init__(self, session: LoopSession, drift: DriftMeasurement, alpha: float):
        self.session, self.drift = session, drift
        self.observations = Observations(self.bet, warp=session.warp)
        self.bets = TokenBets(BET_FAMILIES, alpha, drift)
        self.problem = "a batch of several lengths" if session.batch_size > 1 else "one output"

    def run(self) -> None:
        session = self.session
        session.step("rows", 0, 1)
        prompts = session.batch(min(session.batch_size, MAX_OBSERVED_ROWS))
        loop, seed = observed(session.loop, self.observations), next(session.seeds("rows"))
        session.decode(prompts, session.options.new_tokens, seed, loop=loop)
        if not self.observations.passes:
            self.observations.unobserved["rows"] = "no forward pass for a verified block was recorded"
        if self.unheard:
            self.observations.unobserved["noise"] = self.unheard

    def bet(self, law: Tensor, tokens: Tensor) -> None:
        """Bet on the draft tokens of a block. At temperature 0 there is nothing to bet on."""
        if not self.session.settings.greedy:
            self.bets.observe(bets_on(law.double().cpu().numpy(), tokens.cpu().numpy()))

    def notices(self) -> dict[str, str]:
        """Return what could not be examined."""
        return {f"left out: {part}": why for part, why in self.observations.unobserved.items()}

    def evidence(self, complete: bool) -> list[Evidence]:
        observations = self.observations
        evidence = [self.reading_evidence()] if observations.passes or "rows" in observations.unobserved else []
        for model in self.session.models:
            for method, distances in ((Method.FORWARD_PASS, observations.rows), (Method.WARP, observations.laws)):
                of_model = [row for row in distances if row.place.model == model]
                if of_model:
                    evidence.append(self.rows_evidence(model, method, of_model))
        if self.bets.fortune.steps:
            evidence.append(self.drafts_evidence())
        if observations.numbers.uses or "noise" in observations.unobserved:
            evidence.append(self.noise_evidence())
        return evidence

    def reading_evidence(self) -> Evidence:
        misread, unread, witness = self.observations.misread, self.observations.unobserved.get("rows"), None
        if misread:
            place, part, *differing = misread[0]
            both = (",".join(map(str, tokens)) for tokens in differing)
            witness = seen(place.as_json(), f"{part} that the {place.model} read in {place.in_words}", *both)
        detail = ReadingDetail(passes=self.observations.passes, misread=len(misread), reason=unread)
        verdict = REFUTED if misread else NO_EVIDENCE if unread else HOLDS
        return self.session.finding("rows", Method.READING, verdict, self.problem, detail, witness)

    def rows_evidence(self, model: str, method: Method, rows: Sequence[RowDistance]) -> Evidence:
        """Compare rows: one beyond the largest drift refutes, or a mean beyond the mean drift."""
        warped = method is Method.WARP
        most, mean = (SOFTMAX_TOLERANCE,) * 2 if warped else self.drift.allowed(model)
        worst = max(rows, key=lambda row: row.distance)
        average = float(np.mean([row.distance for row in rows]))
        too_wide = most > MAX_DRIFT
        verdicts = [verdict_rule.decide(far, limit, limit) for far, limit in ((worst.distance, most), (average, mean))]
        place, distance = next((row for row in rows if row.distance > most), worst)
        where = f"the {model}'s row{' as sampled' if warped else ''} at position {place.position}, {place.in_words}"
        witness = seen(place.as_json(), where, f"TV up to {most:.2g}", f"TV {distance:.2g}")
        detail = RowsDetail(model=model, rows=len(rows), mean=average, mean_allowed=mean, too_wide=too_wide)
        verdict = NO_EVIDENCE if too_wide else REFUTED if REFUTED in verdicts else HOLDS
        measured = {"total_variation": min(1.0, worst.distance), "bound": 1.0 if too_wide else most}
        return self.session.finding("rows", method, verdict, f"{model} rows", detail, witness, **measured)

    def drafts_evidence(self) -> Evidence:
        fortune = self.bets.fortune
        place = {"draft token": fortune.refuted_at}
        return self.bets.evidence("drafts", self.problem, BET_FAMILIES, place, "draft tokens", tokens=fortune.steps)

    @property
    def unheard(self) -> str:
        """Say which random numbers were not heard of all blocks; empty if each kind was.

        Every verifier draws the last token of a block. Only a batched one has a coin for each draft token.
        """
        observations, batched = self.observations, self.session.verifier.batched
        if not observations.draft_tokens:
            return "no token was drafted"
        needed = {"drafts": observations.draft_tokens, "residual": observations.verified}
        needed |= {"acceptance": observations.verified} if batched else {}
        for purpose, least in needed.items():
            if (heard := observations.numbers.by_purpose[purpose]) < least:
                return f"{heard:,} random numbers were recorded for {PURPOSES[purpose]}; expected {least:,} or more"
        return ""

    def noise_evidence(self) -> Evidence:
        numbers, unheard, witness = self.observations.numbers, self.unheard, None
        count, logged = numbers.by_purpose.total(), numbers.by_purpose["drafts"]
        if numbers.reused:
            number, before, after = numbers.reused[0]
            witness = seen({"number": number}, f"the random number {number!r}", before, f"{before}, and {after}")
        detail = ListeningDetail(
            numbers=count, used_twice=len(numbers.reused), by_chance=count**2 / 2**54,
            draft_tokens=self.observations.draft_tokens, draft_numbers_heard=logged,
            reason=None if witness else unheard or None,
        )  # fmt: skip
        verdict = REFUTED if witness else NO_EVIDENCE if unheard else HOLDS
        return self.session.finding("noise", Method.LISTENING, verdict, self.problem, detail, witness)
