"""The largest deviations that a search finds in float32, rule by rule, by how many additions round the same way.

A sum is worst where one entry is a power of two and each partial sum that joins it is half a step of it, or a little
more or less. In the rows here those half steps stand one behind the other and sums are in order. A row whose half
steps stand at ``places`` has the same sum in pairs, or in torch's cascade (a test compares them).
"""

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from draftproof.corpus.site.rounding_search import VOCABULARY, Add, Level, Row, in_order, in_pairs, kept_lengths
from draftproof.verifiers.trees import k_seq, list_gumbel

ONE = np.float32(1)
RARE = 1e-3
"""Probability up to which what a place emits is one token's."""

LANES, LEVEL = 32, 16
"""Numbers of torch's vectorised sums: 8 lanes by 4, and additions in a row before a sum is passed on."""


def cascade(row: Row) -> np.float32:
    """Return the sum of a row by short sums in four levels, lane by lane, and the lanes in pairs."""
    part = row.reshape(-1, 1)
    width = LANES
    while len(part) > 1:
        short = -len(part) % (width * (LEVEL if width == 1 else 1))
        part = np.concatenate([part, np.zeros((short, part.shape[1]), np.float32)])
        if width > 1:
            part, width = part.reshape(-1, width), 1
        else:
            part = part.reshape(-1, LEVEL, part.shape[1]).cumsum(axis=1, dtype=np.float32)[:, -1]
    return in_pairs(part[0])


def places(add: Add) -> list[int]:
    """Return where the entries stand whose partial sums are added to that of the first entry, one by one."""
    powers = [2**k for k in range(VOCABULARY.bit_length())]
    if add is in_order:
        return [*range(1, VOCABULARY)]
    if add is in_pairs:
        return [k for k in powers if k < VOCABULARY]
    short = [LANES * LEVEL**level * k for level in range(4) for k in range(1, LEVEL)]
    return [k for k in short if k < VOCABULARY] + [k for k in powers if k < LANES]


def half_steps(power: int, up: bool, steps: int) -> Row:
    """Return a power of two, and so many half steps of it."""
    row = np.full(steps + 1, math.ldexp(1 + (1 if up else -1) * 2.0**-11, power - 24), np.float32)
    row[0] = math.ldexp(1 + 2.0**-22, power)
    return row


def share(part: Any, whole: Any) -> float:
    """Return a quotient, at most 1; 1 for what is divided by 0."""
    return min(float(part / whole), 1.0) if whole > 0 else 1.0


# ---------------------------------------------------------------- a path: block verification, hierarchical decoding


class Place(NamedTuple):
    """A place of a path: the drafted token's probability under both models, and how the other tokens' sum rounds."""

    target: np.float32
    draft: np.float32
    steps: int
    up: bool


def drawn_path(gamma: int, steps: int, seed: int) -> list[Place]:
    """Return a path whose survivals round one way, each place the best of sixty that are drawn."""
    draw = np.random.default_rng(seed)
    sign, keep, drafted = draw.choice([-1, 1]), 1 - 10 ** draw.uniform(-3, -0.3), 1 - 10 ** draw.uniform(-4, -0.3)
    path, survival = [], ONE
    for _ in range(gamma):
        q = (1 - (1 - drafted) * draw.uniform(0.3, 1.7, 60)).clip(1e-3, 1).astype(np.float32)
        p = (q * (1 - (1 - keep) * draw.uniform(0.3, 1.7, 60)).clip(1e-3, 1)).astype(np.float32)
        made = survival * (p / q)
        k = int((sign * (made / (survival * (p.astype(float) / q)) - 1)).argmax())
        path.append(Place(p[k], q[k], steps * int(draw.random() < 0.5), bool(draw.random() < 0.5)))
        survival = np.minimum(made[k], ONE)
    return path


class Emitting(NamedTuple):
    """A path by what it emits: of each place the probability that the text ends there, sums that round one way.

    kept: about the drafted token's probability under the draft. up: whether what is computed is more. seed: of the
    numbers near these.
    """

    kept: float
    ends: tuple[float, ...]
    up: bool
    seed: int


def emitting_path(path: Emitting, steps: int) -> list[Place]:
    """Return the path's places, each the one of 200 near it whose survival rounds the most that way."""
    draw, survival, made = np.random.default_rng(path.seed), ONE, list[Place]()
    for ends in path.ends:
        some = ends * (1 + 10 ** draw.uniform(-6, -3, 200))
        q = (1 - (1 - path.kept) * draw.uniform(0.3, 1.7, 200)).astype(np.float32)
        p = ((1 - np.minimum(some / float(survival), 1 - 1e-6)) * q).astype(np.float32)
        after = survival * (p / q)
        off = after / (survival * (p.astype(float) / q)) - 1
        k = int((off if path.up else -off).argmax())
        made.append(Place(p[k], q[k], steps * (ends > RARE), path.up))
        survival = np.minimum(after[k], ONE)
    return made


def place_rows(place: Place, survival: np.float32) -> tuple[Row, Row]:
    """Return the target's and the draft's row: other tokens, the drafted one, one the target lacks, and the rest."""
    left = 1 - float(place.target)
    others = half_steps(math.frexp(float(survival) * left)[1] - 1, place.up, place.steps) / survival
    if not place.steps or others.sum(dtype=float) > left:
        others = np.array([left], np.float32)
    some = np.float32(left - others.sum(dtype=float))
    rest = left - others.sum(dtype=float) - float(some)
    target = np.concatenate([others, np.array([place.target, 0, some, rest], np.float32)])
    draft = np.zeros_like(target)
    draft[-4:-2] = place.draft, ONE - place.draft
    return target, draft


class Survival(NamedTuple):
    """What is computed along a path: the joint ratio, the largest of them so far, and their quotient."""

    joint: Any
    largest: Any
    capped: Any

    def after(self, target: Any, draft: Any, hierarchical: bool) -> "Survival":
        if not hierarchical:
            made = min(self.capped * (target / draft), ONE)
            return Survival(made, ONE, made)
        joint = self.joint * (target / draft)
        largest = self.largest + max(joint - self.largest, joint * 0)
        return Survival(joint, largest, joint / largest)


def coin(weights: Row, lacking: Row, survival: Any, add: Callable[[Row], Any], hierarchical: bool) -> float:
    """Return the probability with which a prefix is kept."""
    total = add(weights)
    if not hierarchical:
        return share(total, (total + ONE) - survival)
    below = add(lacking)
    return share(total, below + max(total - below, total * 0))


def path_deviation(path: list[Place], hierarchical: bool = False) -> float:
    """Return the total variation by which block verification, or hierarchical decoding, is off on a path."""
    kinds = (np.float32, in_order), (np.float64, lambda row: math.fsum(row.tolist()))
    rows, survival = [], Survival(ONE, ONE, ONE)
    for place in path:
        rows.append(place_rows(place, survival.capped))
        survival = survival.after(place.target, place.draft, hierarchical)
    laws = []
    for kind, add in kinds:
        at, coins, lasts = Survival(kind(1), kind(1), kind(1)), list[float](), list[Row]()
        for i, (row, place) in enumerate(zip(rows, path)):
            target, draft = (part.astype(kind) for part in row)
            weights = np.maximum(at.capped * target - draft, kind(0))
            if i:
                coins.append(
                    coin(weights, np.maximum(draft - at.capped * target, kind(0)), at.capped, add, hierarchical)
                )
            lasts.append(weights / max(weights.sum(dtype=float), 1e-300))
            at = at.after(kind(place.target), kind(place.draft), hierarchical)
        coins.append(float(at.capped))
        laws.append((coins, lasts))
    off, reached, kept = 0.0, 1.0, np.zeros((2, len(path) + 1))
    for i, place in enumerate(path):  # the draft may leave the path: then the coins so far decide
        for law, (coins, _) in zip(kept, laws):
            law[: i + 1] += reached * (1 - float(place.draft)) * kept_lengths(coins[:i])
        reached *= float(place.draft)
    for law, (coins, _) in zip(kept, laws):
        law += reached * kept_lengths(coins)
    for i in range(len(path)):
        off += np.abs(kept[0, i] * laws[0][1][i] - kept[1, i] * laws[1][1][i]).sum()
    return float(off + abs(kept[0, -1] - kept[1, -1])) / 2


# ---------------------------------------------------------------- siblings: the rules for trees


class Siblings(NamedTuple):
    """What two rows are made of.

    power, up: of the half steps. first: the first drafted token's share of what the target has left.
    shared: the power of two by which the draft has the half steps too; None: it has none. drafted: as ``first``, of the
    draft.
    """

    power: int
    up: bool
    first: float
    shared: int | None
    drafted: float


def sibling_rows(made: Siblings, steps: int) -> tuple[Row, Row]:
    """Return rows whose entries sum to 1 exactly: half steps, two drafted tokens, and what is left."""
    others = half_steps(made.power, made.up, steps)
    target, draft = np.zeros((2, steps + 4), np.float32)
    target[:-3] = others
    if made.shared is not None:
        draft[:-3] = others * np.float32(2.0**made.shared)
    for row, part in ((target, made.first), (draft, made.drafted)):
        left = 1 - row.sum(dtype=float)
        row[-3] = math.floor(part * left * 2**22) / 2**22
        row[-2] = math.floor((left - float(row[-3])) * 2**22) / 2**22
        row[-1] = left - float(row[-3]) - float(row[-2])
    return target, draft


def by_k_seq(target: Row, draft: Row, siblings: int) -> Level:
    """Return what k-SEQ makes of siblings."""
    p, q = tuple(target), tuple(draft)
    rho = k_seq.smallest_rho(p, q, siblings)
    coins = np.array([min(b / (rho * s), ONE) if s else 0.0 for b, s in zip(p, q)], float)
    missed = 1 - float((draft * coins).sum())
    taken = np.array(k_seq.shares(p, q, rho))
    beta = in_order(taken)
    given = ONE - np.prod(np.full(siblings, ONE - beta), dtype=np.float32)
    rest = np.maximum(target - taken * given / beta, np.float32(0)).astype(float) if beta else target.astype(float)
    tried = sum(missed**k for k in range(siblings))
    return Level(draft * coins * tried, missed**siblings * rest / max(rest.sum(), 1e-300))


def by_list_matching(target: Row, draft: Row, siblings: int) -> Level:
    """Return what list matching makes of siblings, by the tokens that are likely to be drafted."""
    accepted, rest = np.zeros((2, len(target)))
    likely = [int(x) for x in np.flatnonzero(draft > 2.0**-20)]
    for tokens in itertools.combinations_with_replacement(likely, siblings):
        ways = math.factorial(siblings) / math.prod(math.factorial(tokens.count(x)) for x in likely)
        law = np.array(list_gumbel.given_drafts(tuple(target), tuple(draft), tokens), float)
        law *= ways * math.prod(float(draft[x]) for x in tokens) / law.sum()
        inside = np.isin(np.arange(len(target)), tokens)
        accepted, rest = accepted + law * inside, rest + law * ~inside
    missing = 1 - (accepted + rest).sum()
    return Level(accepted, rest + missing * target)
