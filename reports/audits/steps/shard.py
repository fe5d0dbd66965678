"""One shard of recorded steps, judged: the bets on its steps and tokens, and what else it shows."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ....models.recorded_steps import ROW_OFF, Header, Recording, Shard, StepsPart, parts, row_sums
from ....verifiers.conditional.form import DRAFT_ROW, NO_DRAFT_ROW, POINT_MASS, UNKNOWN, joined
from ....verifiers.conditional.laws import StepLaw
from ....verifiers.conditional.rules import coin_bounds
from ....verifiers.conditional.steps import Steps
from ....verifiers.conditional.tree_steps import TreeSteps
from .acceptance import Accepted, acceptance_of
from .bets import ON_TOKENS, Against, LogBets, bets_on_steps
from .same_text import two_rows
from .settings_of_rows import RowsSeen, rows_against_settings
from .tokens import BetsOnTokens, bet_on_drafts, bet_on_texts, emitted_tokens, excluded, joined_bets, logprobs_off

Array = np.ndarray

TIE = 8
"""Roundings within which two probabilities are a tie: either may be the most probable token."""


NO_ROW = "a row that does not sum to 1; their other rows are judged"
"""Why a step is not judged by its rule that has a row which is none."""

TWO_ROWS = "two rows behind one text; their other rows are judged"
"""Why a step is not judged by its rule in which drafted tokens are one text, and the rows behind them differ."""

NOTHING_EMITTED = "nothing emitted"
"""Why there is nothing to judge in a step that emitted nothing."""


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
    chains, on_trees: what was accepted of chains and of trees. trees: how many steps are trees.
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
    chains: Accepted = field(default_factory=lambda: Accepted.joined([]))
    on_trees: Accepted = field(default_factory=lambda: Accepted.joined([]))
    trees: int = 0
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
    against = Against.of(rule, header.siblings, recording.sequential)
    off = rows_off(shard, header, found)
    generator = np.random.default_rng([seed, int("".join(filter(str.isdigit, path.stem)) or 0)])
    found.left_out[NOTHING_EMITTED] = int((np.diff(shard.arrays["emitted_offsets"]) == 0).sum())
    bets, of_bets, texts, drafts = list[LogBets](), list[Array](), list[BetsOnTokens](), list[BetsOnTokens]()
    accepted = {False: [], True: []}
    for part in parts(shard, header):
        part = _possible(part, found)
        if not len(part.places):
            continue
        tree = isinstance(part.steps, TreeSteps)
        good, known, greedy, whole = kinds_of(part, shard, header, rule, off.rows)
        for why, steps in ((NO_ROW, ~off.twice[part.places]), (TWO_ROWS, off.twice[part.places])):
            found.left_out[why] += int((~whole & steps).sum())
        found.trees += len(part.places) if tree else 0
        _judge_greedy(part, greedy & whole, header, found)
        for bet, out, on in ((bet_on_texts, texts, rule != "greedy-block"), (bet_on_drafts, drafts, True)):
            out.append(bet(part, ~greedy & on, good, known == DRAFT_ROW, header, generator))
        found.logprobs = np.concatenate([found.logprobs, logprobs_off(shard, part, good)])
        sampled = _with_law(part, ~greedy & whole, known, header, found)
        steps, places = part.steps.part(sampled), part.places[sampled]
        if steps.count:
            accepted[tree].append(acceptance_of(steps, shard.arrays["request"][places]))
        law = against.law(tree)
        if against.names and law is None:
            found.left_out[f"their rule: {rule} has no distribution for trees"] += steps.count
        elif isinstance(steps, TreeSteps) and law is not None and law.longest and steps.twice.any():
            found.left_out["their rule: siblings with one token"] += int(steps.twice.sum())
            steps, places = steps.part(~steps.twice), places[~steps.twice]
        if law is None or not steps.count:
            continue
        bets.append(against.placed(bets_on_steps(law, against.laws(tree), steps, header.epsilon), tree))
        of_bets.append(np.stack([places, shard.arrays["slot"][places], steps.lengths]))
        _show(bets[-1], against, steps, places, shard.name, found)
        _replay(law, steps, shard, places, header, found)
    if not against.names:
        del found.left_out["the draft's row is not known"]
    found.left_out = +found.left_out
    order = np.argsort(np.concatenate([np.zeros(0, int), *(part[0] for part in of_bets)]), kind="stable")
    every = LogBets.joined(bets, len(against.names))
    found.steps = LogBets(every.logs[:, order], every.possible[order])
    found.slot, found.length = (joined([part[i] for part in of_bets], int)[order] for i in (1, 2))
    found.texts, found.text_transform = joined_bets(texts, len(ON_TOKENS))
    found.drafts, found.draft_transform = joined_bets(drafts, len(ON_TOKENS))
    found.chains, found.on_trees = (Accepted.joined(accepted[tree]) for tree in (False, True))
    found.rows = rows_against_settings(shard, header)
    return found


class Kinds(NamedTuple):
    """What is known of N steps of at most G drafted tokens.

    good, known: [N, G + 1], whether the rows of each place sum to 1, and what is known of the draft there.
    greedy, whole: [N], whether a step is judged by the most probable token, and whether all its rows sum to 1.
    """

    good: Array
    known: Array
    greedy: Array
    whole: Array


def kinds_of(part: StepsPart, shard: Shard, header: Header, rule: str, off: Array) -> Kinds:
    """Return what is known of steps. rule: the one that is claimed. off: of ``rows_off``."""
    first = shard.arrays["draft_offsets"][part.places] + part.places
    number = np.minimum(first[:, None] + np.arange(part.steps.gamma + 1), len(off) - 1)
    inside = np.arange(part.steps.gamma + 1) <= part.steps.lengths[:, None]
    good, greedy = ~off[number] & inside, _greedy(shard, header, part.places) | (rule == "greedy")
    return Kinds(good, shard.arrays["draft_known"][number], greedy, np.all(good | ~inside, axis=1))


def steps_with_law(shard: Shard, header: Header, against: Against, at_once: int, one_of: int) -> Iterator[Steps]:
    """Yield the steps of a shard on which a rule is bet on: one in so many, so many at a time."""
    unsaid = Found(shard.name)
    off = rows_off(shard, header, unsaid).rows
    for part in parts(shard, header, at_once, one_of):
        part = _possible(part, unsaid)
        law = against.law(isinstance(part.steps, TreeSteps))
        if law is not None and len(part.places):
            kinds = kinds_of(part, shard, header, against.rule, off)
            steps = part.steps.part(_with_law(part, ~kinds.greedy & kinds.whole, kinds.known, header, unsaid))
            yield steps.part(~steps.twice) if isinstance(steps, TreeSteps) and law.longest else steps


def _with_law(part: StepsPart, wanted: Array, known: Array, header: Header, found: Found) -> Array:
    """Return which of the steps that are wanted are judged by their rule, [N], and note why others are not."""
    steps, every = part.steps, np.arange(part.steps.count)[:, None]
    unknown = (steps.drafted & np.isin(known[every, steps.above], (UNKNOWN, NO_DRAFT_ROW))).any(1)
    found.left_out["the draft's row is not known"] += int((wanted & unknown).sum())
    drafted = wanted & ~unknown
    if isinstance(steps, TreeSteps) and not header.siblings:
        found.left_out["their rule: a tree, and the header does not say how siblings are drawn"] += int(drafted.sum())
        return np.zeros_like(drafted)
    wrong = drafted & excluded(steps, known == DRAFT_ROW)
    found.left_out["their rule: a drafted token that the draft's row cannot draw"] += int(wrong.sum())
    return drafted & ~wrong


class RowsOff(NamedTuple):
    """Which rows are not judged, [rows], and which steps have two rows behind one text, [N]."""

    rows: Array
    twice: Array


def rows_off(shard: Shard, header: Header, found: Found) -> RowsOff:
    """Return which rows are not judged, and note the first of each kind."""
    rows, twice = _sums_off(shard, header, found), np.zeros(shard.steps, dtype=bool)
    differing = list(two_rows(shard, header))
    for one in differing:
        first = shard.arrays["draft_offsets"][one.step] + one.step + 1
        rows[[first + one.first, first + one.second]] = twice[one.step] = True
    found.errors += [f"{Place(shard.name, one.step)}: {one}" for one in differing[:1]]
    return RowsOff(rows, twice)


def _sums_off(shard: Shard, header: Header, found: Found) -> Array:
    """Return of which rows the sum is off, [rows], and note the first.

    The row of a certain draft has 1 for each sibling. One that nothing is drafted from may have any sum.
    """
    sums, arrays = row_sums(shard), shard.arrays
    allowed, known, drafts = ROW_OFF[header.dtype], arrays["draft_known"], sums[:, 1]
    off = ~(np.abs(sums - 1) <= allowed)
    sure = (known == POINT_MASS) & (drafts > 1) & (drafts < np.inf)
    off[:, 1] &= ~sure & (known != UNKNOWN) & ((known != NO_DRAFT_ROW) | np.isnan(drafts))
    step_of = np.repeat(np.arange(shard.steps), np.diff(arrays["draft_offsets"]) + 1)
    wrong = np.flatnonzero(off.any(1))
    if len(wrong):
        row = wrong[0]
        which = "target" if off[row, 0] else "draft"
        total = sums[row, int(which == "draft")]
        found.errors.append(f"{Place(shard.name, int(step_of[row]))}: a row of the {which} sums to {total:.6g}")
    return np.any(off, axis=1)


def _possible(part: StepsPart, found: Found) -> StepsPart:
    """Leave out steps that emitted another path than was drafted, and say so: it cannot be."""
    impossible = {
        "kept tokens that were not drafted": ~part.matches,
        "emitted an id outside the vocabulary": ~part.inside,
    }
    for why, which in impossible.items():
        for k in np.flatnonzero(which):
            found.shown.append(Shown(Place(found.name, int(part.places[k])), why, np.inf))
    keep = part.matches & part.inside
    return StepsPart(part.places[keep], part.steps.part(keep), part.matches[keep], part.inside[keep])


def _greedy(shard: Shard, header: Header, index: Array) -> Array:
    """Return which steps belong to requests at temperature 0, [N]."""
    zero = [s.get("temperature") == 0 for s in ({}, *shard.settings)]
    default = header.settings.get("temperature") == 0
    which = shard.arrays["settings"][index]
    own = np.array([z if "temperature" in s else default for z, s in zip(zero, ({}, *shard.settings))])
    return own[which + 1]


def _judge_greedy(part: StepsPart, greedy: Array, header: Header, found: Found) -> None:
    """Show greedy steps that emitted a token that is not the most probable one."""
    steps = part.steps
    found.greedy += int(greedy.sum())
    top = np.maximum(steps.rows.target.max(-1), steps.rows.highest[..., 0])
    n, place, at = emitted_tokens(steps)
    low = steps.rows.target[n, place, at] < top[n, place] * (1 - TIE * header.epsilon)
    for k in np.flatnonzero(np.bincount(n[low], minlength=steps.count).astype(bool) & greedy):
        why = "a greedy request emitted a token that is not the most probable one"
        found.shown.append(Shown(Place(found.name, int(part.places[k])), why, np.inf))


def _show(bets: LogBets, against: Against, steps: Steps, index: Array, name: str, found: Found) -> None:
    """Note the steps that cannot be, and the one with the largest bet."""
    for k in np.flatnonzero(~bets.possible)[:3]:
        kept = steps.depth[k, steps.emitted[k]]
        why = f"kept {kept} of {steps.lengths[k]} drafted tokens, then {steps.last[k]}: it cannot do that"
        found.shown.append(Shown(Place(name, int(index[k])), why, np.inf))
    best = np.where(bets.possible, bets.logs.max(0, initial=-np.inf), -np.inf)
    if len(best) and best.max() > 0:
        k = int(best.argmax())
        title = [*against.by_name.values()][int(bets.logs[:, k].argmax())].title
        why = f"{np.exp(min(best[k], 700)):.3g} times as likely if: {title}"
        found.shown.append(Shown(Place(name, int(index[k])), why, float(best[k])))


def _replay(law: StepLaw, steps: Steps, shard: Shard, index: Array, header: Header, found: Found) -> None:
    """Test again with the uniforms that were recorded. One that lies within rounding of its coin decides nothing."""
    if "uniforms" not in shard.arrays:
        return
    starts = shard.arrays["draft_offsets"][index]
    places, every = np.arange(steps.gamma), np.arange(steps.count)
    values = np.full((steps.count, steps.gamma), np.nan)
    values[steps.drafted] = shard.arrays["uniforms"][(starts[:, None] + places)[steps.drafted]]
    known = ~np.isnan(values)
    found.uniforms = np.concatenate([found.uniforms, values[known]])
    if law.longest and isinstance(steps, TreeSteps):
        return
    low, high = coin_bounds(law, steps, header.epsilon)
    near = (values >= low) & (values <= high)
    up = (values < law.coins(steps)) & steps.drafted
    if law.longest:
        needed = places >= steps.emitted[:, None] - 1
        expected = np.where(up, places + 1, 0).max(1, initial=0)
    else:
        expected, at, needed = np.zeros_like(steps.emitted), np.zeros_like(steps.emitted), np.zeros_like(up)
        for k in range(steps.gamma):  # a token is tested where its elder siblings were rejected
            needed[:, k] = steps.above[:, k] == at
            at = np.where(steps.path[:, k], k + 1, at)
            expected = np.where((steps.above[:, k] == expected) & up[:, k], k + 1, expected)
    decided = ((known & ~near) | ~needed | ~steps.drafted).all(1)
    found.replayed += int(decided.sum())
    depths = steps.depth[every, expected], steps.depth[every, steps.emitted]
    differs = expected != steps.emitted
    if steps.cut is not None:
        differs &= ~steps.cut | (expected < steps.emitted)
    for k in np.flatnonzero(decided & differs):
        why = f"its uniforms accept {depths[0][k]} drafted tokens, and it kept {depths[1][k]}"
        found.differences.append(Shown(Place(shard.name, int(index[k])), why, np.inf))
