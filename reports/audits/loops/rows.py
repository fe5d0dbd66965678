"""The rows that the verifier is given: read from the right text, of the models' own law, warped as asked for."""

import numpy as np

from ....stattests.betting import SetBetting, bets_on
from ....stattests.sequence_design import detectable_shift
from ....verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED, Evidence, Witness
from ..error_rates import BETA
from .drift import WIDEST, Drifts
from .session import LoopSession
from .watching import Notes, RowSeen, watched

FAMILIES = "argmax", "tail"

SAME = 1e-6
"""Total variation of two computations of the same softmax."""


class Rows:
    """A watched run of one batch of prompts of several lengths."""

    name = "rows"

    def __init__(self, session: LoopSession, drifts: Drifts, alpha: float):
        self.session, self.drifts, self.alpha = session, drifts, alpha
        self.notes = Notes(self.drafted, warp=session.warp)
        self.betting = SetBetting(FAMILIES, alpha, drifts.slack)
        self.state, self.probabilities = None, {name: [] for name in FAMILIES}
        self.sums = {name: [0.0, 0] for name in FAMILIES}

    def run(self) -> None:
        self.session.step("rows", 0, 1)
        prompts = self.session.batch(min(self.session.rows, 8))
        self.session.generated(
            prompts,
            next(self.session.seeds(4)),
            self.session.options.new_tokens,
            watched(self.session.loop, self.notes),
        )

    def drafted(self, law, tokens) -> None:
        """Bets on the draft tokens of a block; at temperature 0 there is nothing to bet on."""
        if self.session.settings["temperature"] == 0:
            return
        bets = bets_on(law.double().cpu().numpy(), tokens.cpu().numpy())
        for name, bet in bets.items():
            self.probabilities[name].append(bet.probability)
            self.sums[name][0] += float(bet.probability.sum())
            self.sums[name][1] += int(bet.hit.sum())
        self.state = self.betting.observe(bets)

    def left_out(self) -> dict[str, str]:
        """Notices of what could not be examined."""
        return {f"left out: {what}": why for what, why in self.notes.left_out.items()}

    def evidence(self, complete: bool) -> list[Evidence]:
        found = []
        if self.notes.read:
            found.append(self.of_reading())
        for model in ("target", "draft"):
            for kind, seen in (("forward-pass", self.notes.rows), ("warp", self.notes.scores)):
                mine = [row for row in seen if row.model == model]
                if mine:
                    found.append(self.of_rows(model, kind, mine))
        if self.state is not None:
            found.append(self.of_drafts())
        if self.notes.noise.count:
            found.append(self.of_noise())
        return found

    def of_reading(self) -> Evidence:
        notes, wrong = self.notes, None
        if notes.misread:
            first = notes.misread[0]
            wrong = Witness(
                problem={"prompt": first.prompt, "iteration": first.iteration, "position": first.position},
                sequence=f"{first.what} that the {first.model} read in iteration {first.iteration}, prompt {first.prompt}",
                expected=",".join(map(str, first.expected)),
                observed=",".join(map(str, first.got)),
            )
        return Evidence(
            claim="rows",
            method="reading",
            verdict=REFUTED if wrong else HOLDS,
            problem=self.what(),
            witness=wrong,
            detail={"dtype": self.session.pair.dtype, "passes": notes.read, "misread": len(notes.misread)},
        )

    def of_rows(self, model: str, kind: str, rows: list[RowSeen]) -> Evidence:
        """Single rows beyond the largest drift, or the mean beyond the mean drift; no evidence where that is too wide."""
        most, mean = self.drifts.allowed(model) if kind == "forward-pass" else (SAME, SAME)
        worst = max(rows, key=lambda row: row.distance)
        average = float(np.mean([row.distance for row in rows]))
        wide = most > WIDEST
        refuted = not wide and (worst.distance > most or average > mean)
        over = next((row for row in rows if row.distance > most), worst)
        what = f"the {model}'s row" + (" as sampled" if kind == "warp" else "")
        witness = Witness(
            problem={"prompt": over.prompt, "iteration": over.iteration, "position": over.position},
            sequence=f"{what} at position {over.position}, iteration {over.iteration}, prompt {over.prompt}",
            expected=f"TV up to {most:.2g}",
            observed=f"TV {over.distance:.2g}",
        )
        return Evidence(
            claim="rows",
            method=kind,
            verdict=NO_EVIDENCE if wide else REFUTED if refuted else HOLDS,
            problem=f"{model} rows",
            total_variation=min(1.0, worst.distance),
            bound=1.0 if wide else most,
            witness=witness if refuted else None,
            detail={
                "dtype": self.session.pair.dtype, "model": model, "rows": len(rows), "mean": average, "mean_allowed": mean,
                "too_wide": wide,
            },
        )  # fmt: skip

    def of_drafts(self) -> Evidence:
        state, parts = self.state, {name: np.concatenate(found) for name, found in self.probabilities.items()}
        limits = {
            name: detectable_shift(p, self.alpha, BETA, self.drifts.slack, len(FAMILIES)) for name, p in parts.items()
        }
        wide = self.drifts.wide
        refuted, witness = state.refuted_at is not None and not wide, None
        if refuted:
            expected, observed = self.sums[state.family]
            witness = Witness(
                problem={"draft token": state.refuted_at},
                sequence=f"draft tokens in the set {state.family!r}, of {state.steps:,}",
                expected=f"{expected:.1f}",
                observed=str(observed),
            )
        return Evidence(
            claim="drafts",
            method="betting",
            verdict=REFUTED if refuted else NO_EVIDENCE,
            problem=self.what(),
            bound=None if refuted else 1.0 if wide else max(limits.values()),
            witness=witness,
            detail={
                "dtype": self.session.pair.dtype, "tokens": state.steps, "p_value": state.p_value, "limits": limits,
                "slack": self.drifts.slack, "false_alarm_rate": self.alpha, "miss_rate": BETA, "too_wide": wide,
            },
        )  # fmt: skip

    def of_noise(self) -> Evidence:
        noise, drafts, wrong = self.notes.noise, self.notes.draft_tokens, None
        heard = noise.heard["drafts"]
        if noise.twice:
            number, before, after = noise.twice[0]
            wrong = Witness(
                problem={"number": number},
                sequence=f"the random number {number!r}",
                expected=f"{before}",
                observed=f"{before}, and {after}",
            )
        return Evidence(
            claim="noise",
            method="listening",
            verdict=REFUTED if wrong else HOLDS if heard >= drafts else NO_EVIDENCE,
            problem=self.what(),
            witness=wrong,
            detail={
                "dtype": self.session.pair.dtype, "numbers": noise.count, "used_twice": len(noise.twice),
                "by_chance": noise.count**2 / 2**54, "draft_tokens": drafts, "draft_numbers_heard": heard,
            },
        )  # fmt: skip

    def what(self) -> str:
        return "a batch of several lengths" if self.session.rows > 1 else "one text"
