"""Judge a recording: shards side by side, their bets settled in the order of the recording."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import expm1, inf, log1p
from typing import Any, NamedTuple

import numpy as np

from ....models.errors import InputError
from ....models.recorded_steps import Recording
from ....verifiers.conditional.laws import StepLaw
from ....verifiers.conditional.mutants import BLOCK_MUTANTS, NOT_COMPARED, TOKEN_MUTANTS
from ....verifiers.conditional.rules import RULES
from ....verifiers.conditional.tree_rules import TREE_NAMES
from .acceptance import Acceptance, rules_on
from .bets import Against
from .limits import limits_of
from .purses import Groups, StepPurse, TokenPurse, set_off
from .settings_of_rows import RowsSeen
from .shard import Found, Place, Shown

UNKNOWN_RULE = "unknown"

RULE_NAMES = (*RULES, *TREE_NAMES, UNKNOWN_RULE)
"""Rules that a recording can claim."""

PLAIN = ("settled", "rows_at", "counts", "errors", "failure", "replayed", "greedy", "shards", "trees")
"""Fields of a judge that JSON has as they are."""

PARTS = ("steps", "groups", "texts", "drafts", "acceptance", "on_trees", "rows")
"""Fields of a judge that have their own form."""

SHOWN = 5
"""Steps that are shown of a kind."""


LOGPROB_OFF = {"float64": 1e-6, "float32": 2e-3, "float16": 0.05, "bfloat16": 0.1}
"""Most that a reported logprob may be from that of its row, by the type of the engine's rows."""


UNIFORM_VALUES = {"float64": 2**24, "float32": 2**24, "float16": 2**11, "bfloat16": 2**8}
"""Values that a uniform of a type has at least."""


@dataclass
class LogprobsSeen:
    """What reported logprobs are off by.

    off: how many by more than LOGPROB_OFF. worst: the largest. total: their sum. absent: tokens without one.
    """

    count: int = 0
    absent: int = 0
    off: int = 0
    worst: float = 0.0
    total: float = 0.0

    def add(self, differences: np.ndarray, allowed: float) -> None:
        """Count further ones; those that were not reported are nan."""
        self.absent += int(np.isnan(differences).sum())
        differences = differences[~np.isnan(differences)]
        self.count += len(differences)
        self.off += int((~(np.abs(differences) <= allowed)).sum())
        self.worst = max(self.worst, float(np.abs(differences).max(initial=0.0)))
        self.total += float(differences.sum())


class RecordingJudge:
    """A recording's findings, shard by shard. rule: that is claimed. seed: of the auditor's own random numbers."""

    def __init__(self, recording: Recording, rule: str | None = None, seed: int = 0):
        self.recording, self.seed = recording, seed
        claimed = rule or recording.header.rule
        if claimed not in RULE_NAMES:
            raise InputError(f"rule {claimed!r}, expected one of {', '.join(RULE_NAMES)}")
        self.rule = claimed
        siblings = recording.header.siblings
        self.against = Against.of(claimed, siblings, recording.sequential)
        names = self.against.names
        self.steps = StepPurse(names) if names else None
        self.groups = Groups(names) if names else None
        self.texts, self.drafts = (TokenPurse(set_off(recording)) for _ in range(2))
        self.acceptance, self.on_trees = (Acceptance(tuple(rules_on(tree, siblings))) for tree in (False, True))
        self.rows, self.rows_at = RowsSeen(), ""
        self.left_out, self.counts = Counter[str](), dict[str, int]()
        self.shown, self.differences, self.errors = list[Shown](), list[Shown](), list[str]()
        self.uniforms, self.failure = list[np.ndarray](), ""
        self.replayed = self.greedy = self.shards = self.trees = 0
        self.logprobs = LogprobsSeen()
        self.settled = list[tuple[str, str]]()
        """Name and digest of each shard, in order, those that cannot be read too."""

    def add(self, found: Found) -> None:
        """Settle the bets of a shard, and keep what else it shows."""
        same = next((name for name, digest in self.settled if digest == found.digest), None)
        self.settled.append((found.name, found.digest))
        self.errors += found.errors
        if not found.counts:
            return
        if same:
            self.errors.append(f"{found.name}: the same file as {same}, which is counted once")
            return
        self.shards += 1
        self.counts = {name: max(self.counts.get(name, 0), n) for name, n in found.counts.items()}
        self.left_out += found.left_out
        self.failure = self.failure or found.failure
        if self.steps and self.groups:
            self.steps.add(found.steps)
            # How many drafted tokens of a dump are judged depends on what came out.
            length = np.full_like(found.length, -1) if self.recording.sequential else found.length
            self.groups.add(found.steps, found.slot, length)
        self.texts.add(found.texts, found.text_transform)
        self.drafts.add(found.drafts, found.draft_transform)
        self.acceptance.add(found.chains)
        self.on_trees.add(found.on_trees)
        self.trees += found.trees
        self.shown = sorted([*self.shown, *found.shown], key=lambda s: -s.gain)[:SHOWN]  # stable: the first stays first
        self.differences = [*self.differences, *found.differences][:SHOWN]
        self.replayed, self.greedy = self.replayed + found.replayed, self.greedy + found.greedy
        self.uniforms.append(found.uniforms)
        self.logprobs.add(found.logprobs, LOGPROB_OFF[self.recording.header.dtype])
        if found.rows.first and not self.rows_at:
            step, place, cause = found.rows.first
            self.rows_at = f"{found.name}, step {step}, row {place}: {cause}"
        self.rows.add(found.rows)

    def as_json(self) -> dict[str, Any]:
        """Return all that is settled, so that another judge of the same recording can go on."""
        parts = {name: getattr(self, name) for name in PARTS}
        return {
            **{name: getattr(self, name) for name in PLAIN},
            **{name: part.as_json() for name, part in parts.items() if part is not None},
            "left_out": dict(self.left_out), "logprobs": asdict(self.logprobs),
            "shown": self.shown, "differences": self.differences,
            "uniforms": [x for part in self.uniforms for x in part.tolist()],
        }  # fmt: skip

    def resume(self, kept: Mapping[str, Any]) -> None:
        """Go on from what ``as_json`` gave."""
        for name in PLAIN:
            setattr(self, name, kept[name])
        for name in PARTS:
            if part := getattr(self, name):
                part.resume(kept[name])
        self.settled = [(name, digest) for name, digest in kept["settled"]]
        self.left_out, self.logprobs = Counter(kept["left_out"]), LogprobsSeen(**kept["logprobs"])
        self.shown, self.differences = ([Shown(Place(*place), why, gain) for place, why, gain in kept[name]]
                                        for name in ("shown", "differences"))  # fmt: skip
        self.uniforms = [np.array(kept["uniforms"], dtype=float)]

    @property
    def impossible(self) -> list[Shown]:
        """Return steps that the rule cannot emit."""
        return [shown for shown in self.shown if shown.gain == inf]

    def likely(self) -> list[StepLaw]:
        """Return the hypotheses that explain the steps best, known bugs and rules first, once the rule is refuted."""
        if not self.steps or self.steps.fortune.refuted_at is None:
            return []
        laws = self.against.by_name
        return sorted((laws[name] for name in self.steps.likely()), key=lambda law: law.name == law.title)

    def limits(self) -> dict[str, int | None]:
        """Return ``limits_of`` the recording and the rule; nothing once the rule is refuted, or not bet on."""
        if not self.steps or self.impossible or self.differences or self.steps.fortune.refuted_at is not None:
            return {}
        if self.groups and self.groups.refuted:
            return {}
        return limits_of(self.recording, self.against, self.seed)


class RepeatedUniforms(NamedTuple):
    """How many uniforms were recorded, how many of them came before, and how many would by chance on their lattice."""

    recorded: int
    twice: int
    chance: float


def repeated_uniforms(judge: RecordingJudge) -> RepeatedUniforms:
    """Return how many recorded uniforms came twice."""
    every = np.concatenate([np.zeros(0), *judge.uniforms])
    count, values = len(every), UNIFORM_VALUES[judge.recording.header.dtype]
    chance = count - values * -expm1(count * log1p(-1 / values))
    return RepeatedUniforms(count, count - len(np.unique(every)), chance)


def known_bugs(rule: str) -> dict[str, int]:
    """Return how many known bugs a rule is compared with, and how many of the zoo have no law of a step."""
    compared = len(TOKEN_MUTANTS) + len(BLOCK_MUTANTS) if rule in ("token", "block") else 0
    return {"compared": compared, "not_compared": len(NOT_COMPARED)}
