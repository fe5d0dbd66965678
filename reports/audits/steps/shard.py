"""One shard of recorded steps, judged: the bets on its steps and tokens, and what else it shows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ....models.recorded_steps import ROW_OFF, Chains, Header, Recording, Shard, chains, row_sums
from ....verifiers.conditional.form import DRAFT_ROW, UNKNOWN, joined
from ....verifiers.conditional.laws import StepLaw
from ....verifiers.conditional.rules import RULES, expected_accepted
from ....verifiers.conditional.steps import Steps
from .bets import ON_TOKENS, LogBets, bets_on_steps, bets_on_tokens, hypotheses, transforms
from .settings_of_rows import RowsSeen, rows_against_settings

Array = np.ndarray

TIE = 8
"""Roundings within which two probabilities are a tie: either may be the most probable token."""


class Place(NamedTuple):
    """A place in a recording. shard: name of the file. step: its number there."""

    shard: str
    step: int

    def __str__(self) -> str:
        return f"{self.shard}, step {self.step}"


class Shown(NamedTuple):
    """A step that cannot be, or speaks most against the rule. why: in words. gain: logarithm of its best bet."""

    place: Place
    why: str
    gain: float


@dataclass
class Found:
    """What a shard shows. Arrays are of the steps that were judged, or of tokens, in the order of the recording.

    digest: of the file.
    failure: why the first step was not recorded that could not be.
    left_out: why a step was not judged -> how many.
    steps: the bets on steps under the rule that is claimed. slot, length: [T], of those steps.
    texts, drafts: the bets on emitted and on drafted tokens; with the transform of each.
    accepted: [S], drafted tokens that were kept, of every chain. expected: rule -> [S]. drafted, request: [S].
    best: [S, G], Pr(tau >= i) under block verification.
    shown: steps that cannot be, and the one that speaks most against the rule.
    rows: what settings say of recorded rows.
    uniforms: [U], numbers that drafted tokens were tested with. replayed: steps replayed; differences: of them.
    logprobs: [L], reported logprobs less the row's.
    """

    name: str
    counts: dict[str, int] = field(default_factory=dict)
    digest: str = ""
    failure: str = ""
    left_out: Counter = field(default_factory=Counter)
    steps: LogBets = field(default_factory=lambda: LogBets.joined([], 0))
    slot: Array = field(default_factory=lambda: np.zeros(0, dtype=int))
    length: Array = field(default_factory=lambda: np.zeros(0, dtype=int))
    texts: LogBets = field(default_factory=lambda: LogBets.joined([], len(ON_TOKENS)))
    text_transform: Array = field(default_factory=lambda: np.zeros(0))
    drafts: LogBets = field(default_factory=lambda: LogBets.joined([], len(ON_TOKENS)))
    draft_transform: Array = field(default_factory=lambda: np.zeros(0))
    accepted: Array = field(default_factory=lambda: np.zeros(0))
    drafted: Array = field(default_factory=lambda: np.zeros(0))
    request: Array = field(default_factory=lambda: np.zeros(0, dtype=int))
    expected: dict[str, Array] = field(default_factory=dict)
    best: Array = field(default_factory=lambda: np.zeros((0, 0)))
    shown: list[Shown] = field(default_factory=list)
    rows: RowsSeen = field(default_factory=RowsSeen)
    uniforms: Array = field(default_factory=lambda: np.zeros(0))
    replayed: int = 0
    differences: list[Shown] = field(default_factory=list)
    logprobs: Array = field(default_factory=lambda: np.zeros(0))
    greedy: int = 0
    errors: list[str] = field(default_factory=list)


def judged(recording: Recording, path: Path, rule: str, seed: int) -> Found:
    """Judge a shard. rule: the one that is claimed, or unknown. Raises: InputError if it cannot be read."""
    shard, header = recording.read(path), recording.header
    found = Found(shard.name, shard.counts, failure=shard.error)
    law = RULES.get(rule)
    against = hypotheses(rule, recording.sequential) if law else []
    sums = _sums_off(shard, header, found)
    generator = np.random.default_rng([seed, int("".join(filter(str.isdigit, path.stem)) or 0)])
    emitted = np.diff(shard.arrays["emitted_offsets"])
    found.left_out["nothing emitted"] = int((emitted == 0).sum())
    parts: dict[str, list[Any]] = {"steps": [], "texts": [], "drafts": [], "u": [], "v": [], "slot": [], "length": []}
    more: dict[str, list[Array]] = {"accepted": [], "drafted": [], "request": []}
    expected: dict[str, list[Array]] = {name: [] for name in RULES}
    best, chained = list[Array](), 0
    longest = int(np.diff(shard.arrays["draft_offsets"]).max(initial=0))
    for part in chains(shard, header):
        chained += len(part.places)
        part = _usable(part, sums, shard, found)
        if not len(part.places):
            continue
        greedy = _greedy(shard, header, part.places) | (rule == "greedy")
        _judge_greedy(shard, header, part, greedy, found)
        known = _draft_known(shard, part)
        sampled = ~greedy & known
        steps = part.steps.part(sampled)
        found.left_out["the draft's row is not known"] += int((~greedy & ~known).sum()) if law else 0
        if law and steps.count:
            bets = bets_on_steps(law, against, steps, header.epsilon)
            parts["steps"].append(bets)
            parts["slot"].append(shard.arrays["slot"][part.places[sampled]])
            parts["length"].append(steps.lengths)
            _show(bets, against, steps, part.places[sampled], shard.name, found)
            _replay(law, steps, shard, part.places[sampled], header, found)
        if steps.count:
            for name, other in RULES.items():
                expected[name].append(expected_accepted(other, steps))
            reached = RULES["block"].stops(steps)[:, ::-1].cumsum(1)[:, ::-1][:, 1:]
            best.append(np.pad(reached, ((0, 0), (0, max(0, longest - steps.gamma)))))
            more["accepted"].append(steps.emitted)
            more["drafted"].append(steps.lengths)
            more["request"].append(shard.arrays["request"][part.places[sampled]])
        _bet_on_tokens(part, ~greedy, rule != "greedy-block", shard, header, generator, parts)
        _logprobs(shard, part, found)
    found.left_out["a tree"] = int((emitted > 0).sum()) - chained
    found.left_out = +found.left_out
    found.steps = LogBets.joined(parts["steps"], len(against))
    found.slot, found.length = (joined(parts[name], int) for name in ("slot", "length"))
    found.texts, found.drafts = (LogBets.joined(parts[name], len(ON_TOKENS)) for name in ("texts", "drafts"))
    found.text_transform, found.draft_transform = joined(parts["u"], float), joined(parts["v"], float)
    found.accepted, found.drafted = (joined(more[name], float) for name in ("accepted", "drafted"))
    found.request = joined(more["request"], int)
    found.best = np.concatenate([np.zeros((0, longest)), *best])
    found.expected = {name: joined(values, float) for name, values in expected.items()}
    found.rows = rows_against_settings(shard, header)
    return found


def _sums_off(shard: Shard, header: Header, found: Found) -> Array:
    """Return which steps have a row whose sum is off, [steps], and note the first."""
    sums, arrays = row_sums(shard), shard.arrays
    drafted = arrays["draft_known"] == DRAFT_ROW
    off = ~(np.abs(sums - 1) <= ROW_OFF[header.dtype])
    off[:, 1] &= drafted
    step_of = np.repeat(np.arange(shard.steps), np.diff(arrays["draft_offsets"]) + 1)
    wrong = np.flatnonzero(off.any(1))
    if len(wrong):
        row = wrong[0]
        which = "target" if off[row, 0] else "draft"
        total = sums[row, int(which == "draft")]
        found.errors.append(f"{Place(shard.name, int(step_of[row]))}: a row of the {which} sums to {total:.6g}")
    return np.isin(np.arange(shard.steps), step_of[wrong])


def _usable(part: Chains, sums_off: Array, shard: Shard, found: Found) -> Chains:
    """Leave out steps with rows that are none. Of those that emitted another path than was drafted, say so: it cannot
    be."""
    off = sums_off[part.places]
    found.left_out["a row that does not sum to 1"] += int(off.sum())
    impossible = {
        "kept tokens that were not drafted": ~part.matches,
        "emitted an id outside the vocabulary": ~part.inside,
    }
    for why, which in impossible.items():
        for k in np.flatnonzero(which & ~off):
            found.shown.append(Shown(Place(shard.name, int(part.places[k])), why, np.inf))
    keep = part.matches & part.inside & ~off
    return Chains(part.places[keep], part.steps.part(keep), part.matches[keep], part.inside[keep])


def _greedy(shard: Shard, header: Header, index: Array) -> Array:
    """Return which steps belong to requests at temperature 0, [N]."""
    zero = [s.get("temperature") == 0 for s in ({}, *shard.settings)]
    default = header.settings.get("temperature") == 0
    which = shard.arrays["settings"][index]
    own = np.array([z if "temperature" in s else default for z, s in zip(zero, ({}, *shard.settings))])
    return own[which + 1]


def _draft_known(shard: Shard, part: Chains) -> Array:
    """Return in which steps the draft is known wherever a token was drafted, [N]."""
    first = shard.arrays["draft_offsets"][part.places] + part.places
    known = np.ones(len(part.places), dtype=bool)
    for place in range(part.steps.gamma):
        inside = place < part.steps.lengths
        known &= ~inside | (shard.arrays["draft_known"][np.where(inside, first + place, 0)] != UNKNOWN)
    return known


def _judge_greedy(shard: Shard, header: Header, part: Chains, greedy: Array, found: Found) -> None:
    """Show greedy steps that emitted a token that is not the most probable one."""
    steps = part.steps
    found.greedy += int(greedy.sum())
    top = np.maximum(steps.rows.target.max(-1), steps.rows.highest[..., 0])
    least = top * (1 - TIE * header.epsilon)
    kept = np.arange(steps.gamma) < steps.emitted[:, None]
    wrong = (kept & (steps.p < least[:, :-1])).any(1)
    every = np.arange(steps.count)
    y = steps.end.target[every, steps.at_last[every, steps.emitted]]
    wrong |= y < least[every, steps.emitted]
    for k in np.flatnonzero(wrong & greedy):
        why = "a greedy request emitted a token that is not the most probable one"
        found.shown.append(Shown(Place(shard.name, int(part.places[k])), why, np.inf))


def _show(bets: LogBets, against: Sequence[StepLaw], steps: Steps, index: Array, name: str, found: Found) -> None:
    """Note the steps that cannot be, and the one with the largest bet."""
    for k in np.flatnonzero(~bets.possible)[:3]:
        why = f"kept {steps.emitted[k]} of {steps.lengths[k]} drafted tokens, then {steps.last[k]}: it cannot do that"
        found.shown.append(Shown(Place(name, int(index[k])), why, np.inf))
    best = np.where(bets.possible, bets.logs.max(0, initial=-np.inf), -np.inf)
    if len(best) and best.max() > 0:
        k = int(best.argmax())
        law = against[int(bets.logs[:, k].argmax())]
        why = f"{np.exp(min(best[k], 700)):.3g} times as likely if: {law.title}"
        found.shown.append(Shown(Place(name, int(index[k])), why, float(best[k])))


def _replay(law: StepLaw, steps: Steps, shard: Shard, index: Array, header: Header, found: Found) -> None:
    """Test again with the uniforms that were recorded. One that lies within rounding of its coin decides nothing."""
    if "uniforms" not in shard.arrays:
        return
    starts = shard.arrays["draft_offsets"][index]
    places = np.arange(steps.gamma)
    values = np.full((steps.count, steps.gamma), np.nan)
    values[steps.drafted] = shard.arrays["uniforms"][(starts[:, None] + places)[steps.drafted]]
    known = ~np.isnan(values)
    found.uniforms = np.concatenate([found.uniforms, values[known]])
    coins = law.coins(steps)
    near = np.abs(values - coins) <= 4 * header.epsilon * max(1, steps.gamma if law.longest else 1)
    up = values < coins
    if law.longest:
        needed = places >= steps.emitted[:, None] - 1
        expected = np.where(up, places + 1, 0).max(1, initial=0)
    else:
        needed = places <= steps.emitted[:, None]
        expected = np.cumprod(np.where(steps.drafted, up, False), axis=1).sum(1)
    decided = ((known & ~near) | ~needed | ~steps.drafted).all(1)
    found.replayed += int(decided.sum())
    for k in np.flatnonzero(decided & (expected != steps.emitted)):
        why = f"its uniforms accept {expected[k]} drafted tokens, and it kept {steps.emitted[k]}"
        found.differences.append(Shown(Place(shard.name, int(index[k])), why, np.inf))


def _bet_on_tokens(
    part: Chains, sampled: Array, texts: bool, shard: Shard, header: Header, generator: Any, parts: dict
) -> None:
    """Bet on every emitted token under the target's rows, and on every drafted one under the draft's.

    texts: whether emitted tokens follow the rows of their step: those of greedy block verification do not.
    """
    steps, first = part.steps, shard.arrays["draft_offsets"][part.places] + part.places
    known = shard.arrays["draft_known"]
    both = np.concatenate([steps.tokens, np.full((steps.count, 1), -1)], axis=1)
    places = np.arange(steps.gamma + 1)
    at = np.concatenate([steps.at_token, steps.at_last[:, -1:]], axis=1)
    every = np.arange(steps.count)
    at[every, steps.emitted] = steps.at_last[every, steps.emitted]
    both[every, steps.emitted] = steps.last
    emitted = (places <= steps.emitted[:, None]) & sampled[:, None] & texts
    drafted = np.zeros_like(emitted)
    number = np.minimum(first[:, None] + places, len(known) - 1)
    drafted[:, :-1] = steps.drafted & (known[number[:, :-1]] == DRAFT_ROW) & sampled[:, None]
    own = np.pad(steps.tokens, ((0, 0), (0, 1)))
    for mine, chosen, tokens, out, transform in (
        ("target", emitted, both, "texts", "u"), ("draft", drafted, own, "drafts", "v"),
    ):  # fmt: skip
        n, i = np.nonzero(chosen)
        if not len(n):
            continue
        where = at[n, i] if mine == "target" else steps.at_token[n, i]
        rows = type(steps.rows)(*(values[n, i] for values in steps.rows))
        theirs = "draft" if mine == "target" else "target"
        other = getattr(rows, theirs)[np.arange(len(n)), where]
        other = np.where(known[number[n, i]] == DRAFT_ROW, other, np.nan)
        earlier = np.where(i > 0, i - 1, 0)
        ids = steps.rows.ids[n, earlier]
        same = ids == tokens[n, i][:, None]
        values = np.where(same, getattr(steps.rows, mine)[n, earlier], 0.0).sum(-1)
        before = np.where((i > 0) & same.any(-1), values, np.nan)
        parts[out].append(bets_on_tokens(rows, mine, where, other, before, header.epsilon))
        parts[transform].append(transforms(rows, mine, where, generator.random(len(n))))


def _logprobs(shard: Shard, part: Chains, found: Found) -> None:
    """Compare reported logprobs with the target's rows."""
    if "logprobs" not in shard.arrays:
        return
    steps = part.steps
    starts = shard.arrays["emitted_offsets"][part.places]
    differences = []
    for i in range(steps.gamma + 1):
        here = steps.emitted >= i
        token_at = np.where(
            steps.emitted == i, steps.at_last[:, i], steps.at_token[:, min(i, steps.gamma - 1)] if steps.gamma else 0
        )
        p = steps.rows.target[np.arange(steps.count), i, token_at]
        reported = shard.arrays["logprobs"][(starts + i)[here]]
        with np.errstate(divide="ignore"):
            differences.append(reported - np.log(p[here]))
    found.logprobs = np.concatenate([found.logprobs, *(d[~np.isnan(d)] for d in differences)])
