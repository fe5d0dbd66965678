"""Texts that the loop wrote, token by token against the target's rows by a forward pass over the finished text."""

from math import log
from typing import Any

import numpy as np

from ....models.generating.efficiency import block_efficiency
from ....models.generating.result import Generated
from ....proofs.closed_forms import lenience_bias
from ....stattests.betting import Fortune, SetBetting, bets_on, bets_on_sets
from ....stattests.sequence_design import detectable_shift
from ....verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED, Evidence, Witness
from ..error_rates import BETA
from .drift import Drifts
from .exact import ExactLaw
from .forward_passes import one_shot
from .session import LoopSession

SAMPLES = 64
"""Texts, where the command does not say."""

FAVOURITE, TWIN, BONUS = "draft's favourite", "the row beside", "bonus"
EVERY_TOKEN = "argmax", "tail", "draft above target"

TOLD = "argmax", "draft above target"
"""Families whose limits are the bound of a pass; the others often have nothing to bet on."""


class Texts:
    """Texts behind the prompts, each prompt twice in a batch, so that a row can bet on what the row beside it took.

    At temperature 0 there is nothing to bet on: every token has to be the target's most probable one. Each prompt is then
    decoded once, copies only fill up a batch, and the same text counts once.
    """

    name = "texts"

    def __init__(self, session: LoopSession, drifts: Drifts, alpha: float, exact: ExactLaw | None = None):
        self.session, self.drifts, self.alpha, self.exact = session, drifts, alpha, exact
        self.greedy = session.settings["temperature"] == 0
        families = [*EVERY_TOKEN, FAVOURITE, TWIN] + ([] if session.modifies_target else [BONUS])
        self.betting = SetBetting(families, alpha, drifts.slack)
        self.sums = {name: [0.0, 0] for name in families}
        self.probabilities: dict[str, list[np.ndarray]] = {name: [] for name in families}
        self.state: Fortune | None = None
        self.refuting: tuple[list[int], int] | None = None
        self.runs: list[Generated] = []
        self.count = self.tokens = 0
        self.ties: list[float] = []
        self.wrong: list[Witness] = []
        self.unended: list[Witness] = []
        self.samples = session.options.samples if session.start is None and session.options.samples else SAMPLES
        if self.greedy:
            self.samples = min(self.samples, max(len(session.prompts), session.rows))
        self.distinct: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        self.bias: list[tuple[float, list[int]]] = []

    def run(self) -> None:
        rows, turn = min(self.session.rows, self.samples), 0
        for seed in self.session.seeds(2):
            self.session.step("texts", self.count, self.samples)
            if self.count >= self.samples:
                return
            each = 2 if rows > 1 and not self.greedy else 1
            taken = [self.session.prompts[(turn + k) % len(self.session.prompts)] for k in range(-(-rows // each))]
            turn += len(taken)
            texts = [list(prompt) for prompt in taken for _ in range(each)][:rows]
            found = self.session.generated(texts, seed, self.session.options.new_tokens)
            self.runs.append(found)
            before: tuple[list[int], list[int]] | None = None
            for row, (prompt, tokens) in enumerate(zip(texts, found.tokens, strict=True)):
                twin = before[1] if each == 2 and row % 2 and before and before[0] == prompt else []
                self.take(prompt, tokens, found, row, twin)
                before = prompt, tokens

    def take(self, prompt: list[int], tokens: list[int], found: Generated, row: int, twin: list[int]) -> None:
        """One finished text."""
        self.ended(prompt, tokens)
        text = tuple(prompt), tuple(tokens)
        if not self.greedy or text not in self.distinct:
            self.examine(prompt, tokens, found, row, twin)
        if self.greedy:
            self.distinct[text] = len(tokens)
        self.count += 1
        self.tokens += len(tokens)

    def examine(self, prompt: list[int], tokens: list[int], found: Generated, row: int, twin: list[int]) -> None:
        """One text against the rows of both models."""
        place = slice(len(prompt) - 1, len(prompt) - 1 + len(tokens))
        pair = self.session.pair
        logits = {
            name: one_shot(model, prompt + tokens, pair.vocabulary)[place]
            for name, model in (("target", pair.target), ("draft", pair.draft))
        }
        if self.greedy:
            self.agree(prompt, tokens, logits["target"])
        else:
            rows = {name: self.session.warp(found).double().softmax(-1).cpu().numpy() for name, found in logits.items()}
            self.settle(prompt, tokens, rows, bonus_places(found, row), twin)

    def ended(self, prompt: list[int], tokens: list[int]) -> None:
        """A text ends with its first end token, or has all the tokens that were asked for."""
        eos = self.session.settings["eos"]
        ends = {eos} if isinstance(eos, int) else set(eos)
        first = next((at + 1 for at, token in enumerate(tokens) if token in ends), self.session.options.new_tokens)
        if len(tokens) != first:
            self.unended.append(
                self.witness(prompt, min(first, len(tokens)) - 1, "tokens of the text", str(first), str(len(tokens)))
            )

    def agree(self, prompt: list[int], tokens: list[int], logits: Any) -> None:
        """Temperature 0. A smaller gap than passes of different shapes make is a tie."""
        for at, token in enumerate(tokens):
            best = int(logits[at].argmax())
            if best == token:
                continue
            gap = float(logits[at, best] - logits[at, token])
            if gap <= self.drifts.tie:
                self.ties.append(gap)
            else:
                self.wrong.append(self.witness(prompt, at, f"token {at + 1} behind the prompt", str(best), str(token)))

    def settle(self, prompt: list[int], tokens: list[int], rows: dict, bonus: list[int], twin: list[int]) -> None:
        """The bets on one text."""
        target, draft, drawn = rows["target"], rows["draft"], np.array(tokens)
        at_bonus = np.isin(np.arange(len(tokens)), bonus)
        beside = np.full(len(tokens), -1)
        same = next((k for k, (a, b) in enumerate(zip(tokens, twin)) if a != b), min(len(tokens), len(twin)) - 1)
        beside[: same + 1] = twin[: same + 1]
        bets = bets_on(target, drawn, draft, proposed=beside, bonus=at_bonus)
        bets[TWIN] = bets.pop("proposed")
        favourite = np.zeros(target.shape, dtype=bool)
        favourite[np.arange(len(tokens)), draft.argmax(1)] = True
        bets[FAVOURITE] = bets_on_sets(target, drawn, favourite)
        bets = {name: bets[name] for name in self.betting.families}
        for name, bet in bets.items():
            self.sums[name][0] += float(bet.probability.sum())
            self.sums[name][1] += int(bet.hit.sum())
            self.probabilities[name].append(bet.probability)
        if self.session.lenience is not None:
            self.bias.append((lenience_bias(target[0].tolist(), draft[0].tolist(), self.session.lenience), prompt))
        self.state = self.betting.observe(bets)
        if self.state.refuted_at is not None and self.refuting is None:
            self.refuting = prompt, self.state.refuted_at - (self.state.steps - len(tokens))

    def evidence(self, complete: bool) -> list[Evidence]:
        if not self.count:
            return []
        found = [self.of_ends()] if self.unended else []
        found.append(self.of_argmax() if self.greedy else self.of_bets())
        if self.bias:
            found.append(self.of_lenience())
        return found

    @property
    def enumerated(self) -> bool:
        """Whether the exact law of texts as long as these was found to be the target's."""
        return self.exact is not None and self.exact.holds and self.exact.length >= self.session.options.new_tokens

    def of_argmax(self) -> Evidence:
        """What agreed is no proof: a loop that is off at the share f of the tokens, at random, agrees on n of them with
        probability (1 - f)^n. It holds where the exact law of such texts was enumerated and no tie was excused."""
        refuted, n, ties = bool(self.wrong), sum(self.distinct.values()), len(self.ties)
        holds = not refuted and not ties and self.enumerated
        bound = None if refuted or holds else min(1.0, ties / n + log(1 / BETA) / max(1, n - ties))
        return Evidence(
            claim="lossless",
            method="argmax",
            verdict=REFUTED if refuted else HOLDS if holds else NO_EVIDENCE,
            problem=self.what(),
            bound=bound,
            witness=self.wrong[0] if refuted else None,
            detail={
                **self.common(), "distinct_texts": len(self.distinct), "distinct_tokens": n,
                "disagreements": len(self.wrong), "ties_excused": ties, "share_excused": ties / n, "miss_rate": BETA,
                "largest_gap_excused": max(self.ties, default=0.0), "tie_below": self.drifts.tie,
            },
        )  # fmt: skip

    def reach(self) -> dict[str, str]:
        """A notice of how far agreement at temperature 0 reaches."""
        if not self.greedy or not self.distinct or self.wrong:
            return {}
        n = sum(self.distinct.values()) - len(self.ties)
        told = (
            f"at temperature 0 the loop agrees with the target's argmax on {n:,} tokens of {len(self.distinct):,} texts"
        )
        if self.enumerated and not self.ties:
            length = self.session.options.new_tokens
            return {
                "reach": f"{told}; the exact law was enumerated for texts of {length} tokens behind the start token"
            }
        return {"reach": f"{told}; other texts were not examined"}

    def of_bets(self) -> Evidence:
        state = self.state
        families = {
            name: {"expected": self.sums[name][0], "observed": self.sums[name][1]} for name in self.betting.families
        }
        limits = {
            name: detectable_shift(np.concatenate(parts), self.alpha, BETA, self.drifts.slack, len(families))
            for name, parts in self.probabilities.items()
        }
        bound = max(limits[name] for name in TOLD)
        wide = self.drifts.wide
        bound = 1.0 if wide else bound
        refuted = self.refuting is not None and not wide
        witness = None
        if refuted:
            seen = families[state.family]
            witness = self.witness(
                *self.refuting, f"tokens in the set {state.family!r}, of {self.tokens:,}",
                f"{seen['expected']:.1f}", str(seen["observed"]),
            )  # fmt: skip
        return Evidence(
            claim="lossless",
            method="betting",
            verdict=REFUTED if refuted else NO_EVIDENCE,
            problem=self.what(),
            bound=None if refuted else bound,
            witness=witness,
            detail={
                **self.common(), "log_evidence": state.log_evidence, "p_value": state.p_value, "families": families,
                "limits": limits, "slack": self.drifts.slack, "false_alarm_rate": self.alpha, "miss_rate": BETA,
                "refuted_at_token": state.refuted_at, "too_wide": wide,
            },
        )  # fmt: skip

    def of_ends(self) -> Evidence:
        return Evidence(
            claim="lossless",
            method="ends",
            verdict=REFUTED,
            problem=self.what(),
            witness=self.unended[0],
            detail={**self.common(), "wrong_ends": len(self.unended)},
        )

    def of_lenience(self) -> Evidence:
        """The bias of a verifier that is lossy by name, in closed form: not measured, and no accusation."""
        worst, at = max(self.bias)
        lossy = worst > self.drifts.slack
        witness = self.witness(at, 0, "bias of the first token, in total variation", "0", f"{worst:.6g}")
        return Evidence(
            claim="lossless",
            method="closed-form",
            verdict=REFUTED if lossy else NO_EVIDENCE,
            problem=self.what(),
            total_variation=min(1.0, worst),
            witness=witness if lossy else None,
            detail={
                **self.common(), "lossy": self.session.rule.lossy,
                "bias_of_first_tokens": float(np.mean([bias for bias, _ in self.bias])),
            },
        )  # fmt: skip

    def what(self) -> str:
        return f"texts of {self.session.options.new_tokens} tokens"

    def common(self) -> dict[str, Any]:
        return {"dtype": self.session.pair.dtype, "texts": self.count, "tokens": self.tokens,
                "block_efficiency": block_efficiency(self.runs)}  # fmt: skip

    def witness(self, prompt: list[int], place: int, sequence: str, expected: str, observed: str) -> Witness:
        problem = {"prompt": prompt, "position": len(prompt) + place}
        return Witness(problem=problem, sequence=sequence, expected=expected, observed=observed)


def bonus_places(found: Generated, row: int) -> list[int]:
    """Where a text has the token behind a block that was accepted in full, counted from the prompt's end."""
    taus, lengths = found.accepted(row), found.lengths(row)
    gammas = [each.gamma for each in found.iterations if row in each.rows]
    return [start + tau for start, tau, gamma in zip(lengths, taus, gammas) if tau == gamma]
