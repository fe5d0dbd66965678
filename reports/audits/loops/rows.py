"""The rows that the verifier is given: read from the right text, of the models' own law, warped as asked for."""

import numpy as np

from ....stattests.betting import SetBetting, bets_on
from ....stattests.betting_limit import detectable_shift
from ....verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED, Evidence
from ..functions.sampling import BETA
from .drift import TOO_WIDE, WIDEST, Drifts
from .session import Session
from .watching import Notes, RowSeen, watched

FAMILIES = "argmax", "tail"

SAME = 1e-6
"""Total variation of two computations of the same softmax."""


class Rows:
    """A watched run of one batch of prompts of several lengths."""

    name = "rows"

    def __init__(self, run: Session, drifts: Drifts, alpha: float):
        self.run, self.drifts, self.alpha = run, drifts, alpha
        self.notes = Notes(self.drafted, warp=run.warp)
        self.betting = SetBetting(FAMILIES, alpha, drifts.slack)
        self.state, self.probabilities = None, {name: [] for name in FAMILIES}
        self.sums = {name: [0.0, 0] for name in FAMILIES}

    def go(self) -> None:
        self.run.step("rows", 0, 1)
        prompts = self.run.batch(min(self.run.rows, 8))
        self.run.generated(
            prompts, next(self.run.seeds(4)), self.run.options.new_tokens, watched(self.run.loop, self.notes)
        )

    def drafted(self, law, tokens) -> None:
        """Bets on the draft tokens of a block; at temperature 0 there is nothing to bet on."""
        if self.run.settings["temperature"] == 0:
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
            wrong = {
                "problem": {"prompt": first.prompt, "iteration": first.iteration, "position": first.position},
                "sequence": f"{first.what} that the {first.model} read in iteration {first.iteration}, prompt {first.prompt}",
                "expected": ",".join(map(str, first.expected)), "observed": ",".join(map(str, first.got)),
            }  # fmt: skip
        return Evidence(
            "rows", "reading", REFUTED if wrong else HOLDS, self.what(), None, None, wrong,
            detail={
                "dtype": self.run.pair.dtype, "passes": notes.read, "misread": len(notes.misread),
                "how": f"read, {notes.read:,} rows", "worst": f"{len(notes.misread)} misread", "limit": "",
            },
        )  # fmt: skip

    def of_rows(self, model: str, kind: str, rows: list[RowSeen]) -> Evidence:
        """Single rows beyond the largest drift, or the mean beyond the mean drift; no evidence where that is too wide."""
        most, mean = self.drifts.allowed(model) if kind == "forward-pass" else (SAME, SAME)
        worst = max(rows, key=lambda row: row.distance)
        average = float(np.mean([row.distance for row in rows]))
        wide = most > WIDEST
        refuted = not wide and (worst.distance > most or average > mean)
        over = next((row for row in rows if row.distance > most), worst)
        what = f"the {model}'s row" + (" as sampled" if kind == "warp" else "")
        witness = {
            "problem": {"prompt": over.prompt, "iteration": over.iteration, "position": over.position},
            "sequence": f"{what} at position {over.position}, iteration {over.iteration}, prompt {over.prompt}",
            "expected": f"TV up to {most:.2g}", "observed": f"TV {over.distance:.2g}",
        } if refuted else None  # fmt: skip
        return Evidence(
            "rows", kind, NO_EVIDENCE if wide else REFUTED if refuted else HOLDS, f"{model} rows",
            min(1.0, worst.distance), 1.0 if wide else most, witness,
            detail={
                "dtype": self.run.pair.dtype, "model": model, "rows": len(rows), "mean": average, "mean_allowed": mean,
                "how": ("own passes" if kind == "forward-pass" else "warp") + f", {len(rows):,} rows",
                "worst": f"TV {worst.distance:.2g}", "limit": TOO_WIDE if wide else f"TV {most:.2g}",
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
            witness = {
                "problem": {"draft token": state.refuted_at},
                "sequence": f"draft tokens in the set {state.family!r}, of {state.steps:,}",
                "expected": f"{expected:.1f}", "observed": str(observed),
            }  # fmt: skip
        bound = None if refuted else 1.0 if wide else max(limits.values())
        return Evidence(
            "drafts", "betting", REFUTED if refuted else NO_EVIDENCE, self.what(), None, bound, witness,
            detail={
                "dtype": self.run.pair.dtype, "tokens": state.steps, "p_value": state.p_value, "limits": limits,
                "slack": self.drifts.slack, "false_alarm_rate": self.alpha, "miss_rate": BETA,
                "how": f"betting, {state.steps:,} tokens", "worst": f"p = {state.p_value:.1g}",
                "limit": TOO_WIDE if wide else "" if bound is None else f"TV {bound:.2g}",
            },
        )  # fmt: skip

    def of_noise(self) -> Evidence:
        noise, drafts, wrong = self.notes.noise, self.notes.draft_tokens, None
        heard = noise.heard["drafts"]
        if noise.twice:
            number, before, after = noise.twice[0]
            wrong = {
                "problem": {"number": number},
                "sequence": f"the random number {number!r}",
                "expected": f"{before}", "observed": f"{before}, and {after}",
            }  # fmt: skip
        return Evidence(
            "noise", "listening", REFUTED if wrong else HOLDS if heard >= drafts else NO_EVIDENCE, self.what(), None, None,
            wrong,
            detail={
                "dtype": self.run.pair.dtype, "numbers": noise.count, "used_twice": len(noise.twice),
                "by_chance": noise.count**2 / 2**54, "draft_tokens": drafts, "draft_numbers_heard": heard,
                "how": f"{noise.count:,} numbers, {heard:,} for {drafts:,} draft tokens",
                "worst": f"{len(noise.twice)} used twice", "limit": "",
            },
        )  # fmt: skip

    def what(self) -> str:
        return "a batch of several lengths" if self.run.rows > 1 else "one text"
