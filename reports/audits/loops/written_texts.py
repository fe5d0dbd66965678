"""Texts that the loop wrote, token by token against the target's rows of a forward pass over the finished text."""

from abc import ABC, abstractmethod
from math import log
from typing import Any

import numpy as np
from torch import Tensor

from ....models.errors import RunFailed
from ....models.generating.result import Generated, block_efficiency, block_places
from ....proofs.closed_forms import lenience_bias
from ....proofs.laws import verdict_rule
from ....stattests.arguments import BETA
from ....stattests.betting import bets_on, bets_on_sets
from ....verifiers.details import ArgmaxDetail, BiasDetail, EndsDetail
from ....verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED, Evidence, Method, Witness
from ..positions import ranges
from .drift import DriftMeasurement, TokenBets
from .forged_law import EnumeratedLaw
from .forward_passes import full_pass
from .session import LoopSession, seen

WRITTEN_TEXTS = 64
"""Texts, where the command does not say."""

TEXTS_SHARE = 0.75
"""Share of the run's time after which no further batch of texts is begun."""

FAVOURITE, NEIGHBOUR, BONUS = "draft's favourite", "the row beside", "bonus"
EVERY_TOKEN = "argmax", "tail", "draft above target"
"""Families of sets that every token is bet on with."""

LIMITED_BY = "argmax", "draft above target"
"""Families whose limits are the bound of a pass; the others often have nothing to bet on."""


class WrittenTexts(ABC):
    """An examination of texts after the prompts.

    copies: how often each prompt is decoded in a batch.
    """

    copies = 1

    def __init__(self, session: LoopSession, drift: DriftMeasurement):
        self.session, self.drift = session, drift
        self.runs: list[Generated] = []
        self.count = self.tokens = 0
        self.wrong_ends: list[Witness] = []
        self.samples = session.options.samples if session.start is None and session.options.samples else WRITTEN_TEXTS
        self.problem = f"outputs of {session.options.new_tokens} tokens"

    def run(self) -> None:
        session, rows, turn = self.session, min(self.session.batch_size, self.samples), 0
        copies = self.copies if rows > 1 else 1
        for seed in session.seeds("texts"):
            if self.count and (self.count >= self.samples or session.past(TEXTS_SHARE)):
                return
            session.step("texts", self.count, self.samples)
            taken = [session.prompts[(turn + k) % len(session.prompts)] for k in range(-(-rows // copies))]
            turn += len(taken)
            prompts = [list(prompt) for prompt in taken for _ in range(copies)][:rows]
            try:
                run = session.decode(prompts, session.options.new_tokens, seed)
            except RunFailed:
                if not self.count or not session.past(1.0):
                    raise
                return
            self.runs.append(run)
            for row, prompt in enumerate(prompts):
                self.take(prompt, run, row, run.tokens[row - 1] if row % copies else [])

    def take(self, prompt: list[int], run: Generated, row: int, neighbour: list[int]) -> None:
        """Take one finished text. neighbour: the text after the same prompt in the row before."""
        tokens = run.tokens[row]
        self.check_end(prompt, tokens)
        self.examine(prompt, run, row, neighbour)
        self.count += 1
        self.tokens += len(tokens)

    @abstractmethod
    def examine(self, prompt: list[int], run: Generated, row: int, neighbour: list[int]) -> None:
        """Compare one finished text with the rows of the models."""

    @abstractmethod
    def law_evidence(self) -> list[Evidence]:
        """Return what the texts show of the law of their tokens."""

    def evidence(self, complete: bool) -> list[Evidence]:
        return [*self.ends_evidence(), *self.law_evidence()] if self.count else []

    def notices(self) -> dict[str, str]:
        """Return a notice if the time was up before all texts were written."""
        if not 0 < self.count < self.samples:
            return {}
        done = f"{self.count} of {self.samples} outputs, {self.tokens} tokens"
        limit = f"--timeout {self.session.options.timeout:g}"
        return {"fewer texts": f"{done}, in the time given ({limit}), so limits are wider"}

    def not_examined(self) -> list[str]:
        """Return what the texts say nothing of, a sentence each."""
        return []

    def logits(self, model: Any, prompt: list[int], tokens: list[int]) -> Tensor:
        """Return the logits before each token of a text."""
        return full_pass(model, prompt + tokens, self.session.pair.vocabulary)[len(prompt) - 1 : -1]

    def check_end(self, prompt: list[int], tokens: list[int]) -> None:
        """Check that a text ends with its first end token, or has all the tokens that were asked for."""
        ends = self.session.settings.end_tokens
        length = next((at + 1 for at, token in enumerate(tokens) if token in ends), self.session.options.new_tokens)
        if len(tokens) != length:
            place = min(length, len(tokens)) - 1
            self.wrong_ends.append(self.witness(prompt, place, "tokens of the output", str(length), str(len(tokens))))

    def ends_evidence(self) -> list[Evidence]:
        """Return the evidence of texts that end wrongly, if there are any."""
        if not self.wrong_ends:
            return []
        detail = EndsDetail(**self.detail(), wrong_ends=len(self.wrong_ends))
        return [self.session.finding("lossless", Method.ENDS, REFUTED, self.problem, detail, self.wrong_ends[0])]

    def detail(self) -> dict[str, Any]:
        """Return the fields of ``WrittenDetail``."""
        return {"texts": self.count, "tokens": self.tokens, "block_efficiency": block_efficiency(self.runs)}

    def witness(self, prompt: list[int], place: int, sequence: str, expected: str, observed: str) -> Witness:
        return seen({"prompt": prompt, "position": len(prompt) + place}, sequence, expected, observed)


class GreedyTexts(WrittenTexts):
    """An examination of texts at temperature 0, where every token has to be the target's most probable one.

    Each prompt is decoded once; copies only fill up a batch, and the same text counts once.
    """

    def __init__(self, session: LoopSession, drift: DriftMeasurement, enumerated: EnumeratedLaw | None = None):
        super().__init__(session, drift)
        self.samples = min(self.samples, max(len(session.prompts), session.batch_size))
        self.enumerated_law = enumerated
        self.ties: list[float] = []
        self.wrong: list[Witness] = []
        self.distinct: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}

    def examine(self, prompt: list[int], run: Generated, row: int, neighbour: list[int]) -> None:
        tokens = run.tokens[row]
        text = tuple(prompt), tuple(tokens)
        if text not in self.distinct:
            self.compare(prompt, tokens, self.logits(self.session.pair.target, prompt, tokens))
        self.distinct[text] = len(tokens)

    def compare(self, prompt: list[int], tokens: list[int], logits: Tensor) -> None:
        """Compare tokens with the argmax. A smaller gap than passes of different shapes make is a tie."""
        for at, token in enumerate(tokens):
            best = int(logits[at].argmax())
            if best == token:
                continue
            gap = float(logits[at, best] - logits[at, token])
            if gap <= self.drift.tie:
                self.ties.append(gap)
            else:
                self.wrong.append(self.witness(prompt, at, f"token {at + 1} after the prompt", str(best), str(token)))

    @property
    def enumerated(self) -> bool:
        """True if the exact law of texts as long as these was enumerated and is the target's."""
        law = self.enumerated_law
        return law is not None and law.holds and law.length >= self.session.options.new_tokens

    @property
    def unverified(self) -> str:
        """Say what no text shows of verification: a draft token kept, or rejected; empty if both."""
        kept, rejected = block_places(self.runs)
        lacking = [word for word, places in (("rejected", rejected), ("kept", kept)) if not places]
        return f"no draft token was {' or '.join(lacking)}" if lacking else ""

    def not_examined(self) -> list[str]:
        """Return the places of a block at which no draft token was kept, and those at which none was rejected."""
        every, places = set(range(1, self.session.settings.longest_gamma + 1)), block_places(self.runs)
        none = {"kept": every - places.kept, "rejected": every - places.rejected} if self.runs else {}
        return [
            f"draft tokens that are {word} at place {ranges(lacking)} of a block: there was none at temperature 0"
            for word, lacking in none.items()
            if lacking
        ]

    def law_evidence(self) -> list[Evidence]:
        """Return the evidence: it holds if the exact law of such texts was enumerated and no tie was excused.

        A loop that keeps every draft token, or none, agrees where the draft's tokens are the target's, or never are.
        Agreement alone is no proof: a loop that is off at a random share f of the tokens agrees on n of them with
        probability (1 - f)^n.
        """
        refuted, n, ties = bool(self.wrong), sum(self.distinct.values()), len(self.ties)
        unverified = "" if refuted else self.unverified
        holds = not refuted and not ties and not unverified and self.enumerated
        bound = None if refuted or holds else min(1.0, ties / n + log(1 / BETA) / max(1, n - ties))
        detail = ArgmaxDetail(
            **self.detail(), distinct_texts=len(self.distinct), distinct_tokens=n, disagreements=len(self.wrong),
            ties_excused=ties, share_excused=ties / n, miss_rate=BETA,
            largest_gap_excused=max(self.ties, default=0.0), tie_below=self.drift.tie, reason=unverified or None,
        )  # fmt: skip
        verdict, witness = REFUTED if refuted else HOLDS if holds else NO_EVIDENCE, next(iter(self.wrong), None)
        return [self.session.finding("lossless", Method.ARGMAX, verdict, self.problem, detail, witness, bound=bound)]

    def notices(self) -> dict[str, str]:
        """Return how far agreement at temperature 0 reaches."""
        if not self.distinct or self.wrong:
            return super().notices()
        tokens, reach = sum(self.distinct.values()) - len(self.ties), "other outputs were not examined"
        if self.unverified:
            reach = f"{self.unverified}, so these outputs do not show how it verifies"
        elif (law := self.enumerated_law) and self.enumerated and not self.ties:
            length = self.session.options.new_tokens
            most, ended = ("at most ", f", which ended after {law.longest}") if law.longest < length else ("", "")
            enumerated = f"for outputs of {most}{length} tokens after the start token{ended}"
            reach = f"the exact distribution was enumerated {enumerated}"
        agreed = f"agrees with the target's argmax on {tokens:,} tokens of {len(self.distinct):,} outputs"
        return super().notices() | {"reach": f"at temperature 0 the loop {agreed}; {reach}"}


class SampledTexts(WrittenTexts):
    """An examination that bets on every token of the texts.

    Each prompt is twice in a batch, so that a row can bet on its neighbour's.
    """

    copies = 2

    def __init__(self, session: LoopSession, drift: DriftMeasurement, alpha: float):
        super().__init__(session, drift)
        families = [*EVERY_TOKEN, FAVOURITE, NEIGHBOUR] + ([] if session.verifier.modifies_target else [BONUS])
        self.bets = TokenBets(families, alpha, drift)
        self.refuting: tuple[list[int], int] | None = None
        self.biases: list[tuple[float, list[int]]] = []

    def examine(self, prompt: list[int], run: Generated, row: int, neighbour: list[int]) -> None:
        tokens, warp = run.tokens[row], self.session.warp
        logits = (self.logits(model, prompt, tokens) for model in self.session.models.values())
        rows = tuple(warp(part).double().softmax(-1).cpu().numpy() for part in logits)
        self.bet(prompt, tokens, rows, bonus_places(run, row), neighbour)

    def bet(
        self, prompt: list[int], tokens: list[int], rows: tuple[np.ndarray, ...], bonus: list[int], neighbour: list[int]
    ) -> None:
        """Settle the bets on one text. rows: of target and draft, [len(tokens), V]. bonus: places of bonus tokens."""
        target, draft = rows
        drawn, beside = np.array(tokens), np.full(len(tokens), -1)
        same = next(
            (k for k, (a, b) in enumerate(zip(tokens, neighbour)) if a != b), min(len(tokens), len(neighbour)) - 1
        )
        beside[: same + 1] = neighbour[: same + 1]
        bets = bets_on(target, drawn, draft, proposed=beside, bonus=np.isin(np.arange(len(tokens)), bonus))
        bets[NEIGHBOUR] = bets.pop("proposed")
        favourite = np.zeros(target.shape, dtype=bool)
        favourite[np.arange(len(tokens)), draft.argmax(1)] = True
        bets[FAVOURITE] = bets_on_sets(target, drawn, favourite)
        self.bets.observe({name: bets[name] for name in self.bets.betting.families})
        fortune = self.bets.fortune
        if fortune.refuted_at is not None and self.refuting is None:
            self.refuting = prompt, fortune.refuted_at - (fortune.steps - len(tokens))
        lenience = self.session.verifier.lenience
        if lenience is not None:
            self.biases.append((lenience_bias(target[0].tolist(), draft[0].tolist(), lenience), prompt))

    def law_evidence(self) -> list[Evidence]:
        return [self.bets_evidence(), *([self.lenience_evidence()] if self.biases else [])]

    def bets_evidence(self) -> Evidence:
        bets, fortune = self.bets, self.bets.fortune
        prompt, place = self.refuting or ([], 0)
        where = {"prompt": prompt, "position": len(prompt) + place}
        families = {n: {"expected": bets.expected[n], "observed": bets.observed[n]} for n in bets.betting.families}
        won = {"log_evidence": fortune.log_evidence, "families": families, "refuted_at_token": fortune.refuted_at}
        return bets.evidence("lossless", self.problem, LIMITED_BY, where, "tokens", **self.detail(), **won)

    def lenience_evidence(self) -> Evidence:
        """Return the bias of a verifier that is lossy by name, in closed form: it is not measured."""
        worst, prompt = max(self.biases)
        verdict = verdict_rule.decide(worst, verdict_rule.NEVER, self.drift.slack)
        witness = self.witness(prompt, 0, "bias of the first token, in total variation", "0", f"{worst:.6g}")
        mean = float(np.mean([bias for bias, _ in self.biases]))
        detail = BiasDetail(**self.detail(), lossy=self.session.verifier.lossy, bias_of_first_tokens=mean)
        about = Method.CLOSED_FORM, verdict, self.problem, detail, witness
        return self.session.finding("lossless", *about, total_variation=min(1.0, worst))


def bonus_places(run: Generated, row: int) -> list[int]:
    """Return the places, from the prompt's end, of tokens after a block that was accepted in full."""
    taus, lengths = run.accepted(row), run.lengths(row)
    gammas = [each.gamma for each in run.iterations if row in each.rows]
    return [start + tau for start, tau, gamma in zip(lengths, taus, gammas) if tau == gamma]
