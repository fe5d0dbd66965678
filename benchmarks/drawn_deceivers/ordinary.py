"""Ordinary rows, and how wrong a drawn deceiver is on them at least, computed without following any code.

Rows depend on the position alone. Of token verification what comes out at one position, or at two that share a uniform,
is summed over all ways by which it can come about; that is a lower bound of the total variation. Of block verification
the whole law is summed, over all draft blocks.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

Row = np.ndarray
ROWS = 6
"""Different ordinary rows that a deceiver is held against."""

UNIFORMS = (np.arange(2**15) + 0.5) / 2**15


class Rows(NamedTuple):
    """target: gamma + 1 rows; draft: gamma rows, of which the first m entries of ``live`` are not 0."""

    target: list[Row]
    draft: list[Row]
    live: tuple[int, ...]

    @property
    def gamma(self) -> int:
        return len(self.draft)


def ordinary(vocabulary: int, gamma: int, seed: int, ids: tuple[int, ...] = ()) -> Rows:
    """Softmax of normal logits, flatter or more peaked by the seed, and a draft whose logits are a little off.

    Over more than 16 tokens half the target's mass, and all of the draft's, is on three tokens; ids: are among them.
    """
    draw = np.random.default_rng(seed)
    sharp, off = ((0.7, 0.4), (1.5, 0.7), (3.0, 0.5))[seed % 3]
    wide = vocabulary > 16
    live = tuple(dict.fromkeys([*ids, 1, vocabulary // 3, vocabulary - 2]))[:3] if wide else tuple(range(vocabulary))
    target, draft = [], []
    for _ in range(gamma + 1):
        logits = sharp * draw.standard_normal(len(live))
        row, other = _softmax(logits), _softmax(logits + off * draw.standard_normal(len(live)))
        if wide:
            tail = _softmax(1.5 * draw.standard_normal(vocabulary))
            tail[[*live]] = 0.0
            whole, drafted = tail / tail.sum() / 2, np.zeros(vocabulary)
            whole[[*live]], drafted[[*live]] = row / 2, other
            row, other = whole, drafted
        target.append(row)
        draft.append(other)
    return Rows(target, draft[:-1], live)


def _softmax(logits: Row) -> Row:
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


class Wrong(NamedTuple):
    """What is known of a deceiver here: the rule, the place, the mistake and where it is made; as ``styles.source``.

    ratios_only: whether rows looked up wrongly are used in the test alone, not in the residual.
    lag: of a uniform that is used again, from which position to which; None for other mistakes.
    """

    rule: str
    place: str
    mistake: str
    where: str
    ratios_only: bool = False
    shared: Callable[[int], int] | None = None


def _value(text: str, **names: Any) -> Any:
    return eval(text, {"abs": abs, "min": min}, names)


class Place(NamedTuple):
    """A position at which token x was drafted."""

    wrong: Wrong
    rows: Rows
    i: int
    x: int

    def names(self, target: Row, draft: Row, **more: Any) -> dict[str, Any]:
        """What a text of a mistake may name."""
        given, rows = self.rows, {"target": target, "draft": draft, "t": target, "d": draft}
        i, x = self.i, self.x
        p, q = given.target[i][x], given.draft[i][x] if i < given.gamma else 0.0
        sizes = {"gamma": given.gamma, "V": len(target), "top": given.target[i].max()}
        return {"i": i, "x": x, "p": p, "q": q, **rows, **sizes, "target_probs": given.target, **more}

    @property
    def on(self) -> bool:
        """Whether the mistake is made here."""
        here = self.rows.draft[min(self.i, self.rows.gamma - 1)]
        return not self.wrong.where or bool(_value(self.wrong.where, **self.names(self.rows.target[self.i], here)))

    def at(self, place: str) -> bool:
        return self.wrong.place == place and self.on

    def looked_up(self) -> tuple[Row, Row]:
        """The rows that are used."""
        wrong, rows = self.wrong, [self.rows.target[self.i], self.rows.draft[self.i]]
        for k, name in enumerate(("target_at", "draft_at")):
            if self.at(name):
                rows[k] = (self.rows.target, self.rows.draft)[k][_value(wrong.mistake, i=self.i)]
        return rows[0], rows[1]

    def ratio(self) -> float:
        target, draft = self.looked_up()
        ratio = target[self.x] / draft[self.x] if draft[self.x] > 0 else 1.0
        return _value(self.wrong.mistake, **self.names(target, draft, ratio=ratio)) if self.at("ratio") else ratio

    def kept(self, threshold: float) -> float:
        """With which probability a uniform is below the threshold, or what the mistake makes of it."""
        if self.at("u") and self.wrong.shared is None:
            text = self.wrong.mistake.replace("{floor}", "floor")
            return float((_value(text, u=UNIFORMS, floor=np.floor) < threshold).mean())
        if self.at("accepted"):
            return float(_value(self.wrong.mistake, **self.names(*self.looked_up()), u=0.5, h=threshold))
        return min(threshold, 1.0)

    def replacement(self, target: Row, draft: Row) -> Row:
        """The law of the token in place of x. target, draft: of the residual."""
        rest, ids = np.maximum(target - draft, 0.0), np.arange(len(target))
        if self.at("rest"):
            text = self.wrong.mistake.format(t="target", d="draft", w="rest", y="ids", sum="rest.sum()")
            rest = _value(text, **self.names(target, draft, rest=rest, ids=ids)) * np.ones(len(target))
        return rest / rest.sum() if rest.sum() > 0 else target / target.sum()


def _bonus(wrong: Wrong, rows: Rows) -> Row:
    here = Place(wrong, rows, rows.gamma, 0)
    rest = rows.target[-1]
    if here.at("last"):
        text = wrong.mistake.format(t="target", d="draft", w="rest", y="ids", sum="rest.sum()")
        given = here.names(rest, rows.draft[-1], rest=rest, ids=np.arange(len(rest)), draft_probs=rows.draft)
        rest = _value(text, **given) * np.ones(len(rest))
    return rest / rest.sum()


def _emitted(wrong: Wrong, rows: Rows, law: Row) -> Row:
    """The law of the last token, changed on its way."""
    if wrong.place != "y":
        return law
    out, v = np.zeros(len(law)), len(law)
    for y in np.flatnonzero(law):
        on = _value(wrong.where, y=int(y), V=v, gamma=rows.gamma)
        out[_value(wrong.mistake, y=int(y), V=v) if on else y] += law[y]
    return out


def _position(wrong: Wrong, rows: Rows, i: int) -> tuple[Row, Row]:
    """Of position i: the mass of each token accepted, and of each that replaces one."""
    accepted, replaced = np.zeros(len(rows.target[i])), np.zeros(len(rows.target[i]))
    for x in rows.live:
        here, q = Place(wrong, rows, i, x), rows.draft[i][x]
        a, used = here.kept(here.ratio()), (rows.target[i], rows.draft[i]) if wrong.ratios_only else here.looked_up()
        accepted[x] += q * a
        rest = here.replacement(*used)
        if wrong.place == "v" and here.on:  # the test's uniform is in [a, 1), and points into the running sum
            edges = np.append(0.0, np.cumsum(rest))
            rest = np.diff(np.clip(edges, a, 1.0)) / (1.0 - a) if a < 1 else rest
        replaced += q * (1.0 - a) * rest
    return accepted, _emitted(wrong, rows, replaced)


def _of_tokens(wrong: Wrong, rows: Rows) -> float:
    reached, most = 1.0, 0.0
    for i in range(rows.gamma):
        accepted, replaced = _position(wrong, rows, i)
        most = max(most, reached * float(np.abs(accepted + replaced - rows.target[i]).sum()) / 2)
        reached *= accepted.sum()
    bonus = _emitted(wrong, rows, _bonus(wrong, rows))
    return max(most, reached * float(np.abs(bonus - rows.target[-1]).sum()) / 2)


def _of_shared(wrong: Wrong, rows: Rows) -> float:
    """Two positions, the second with the uniform of the first: their tokens together."""
    right = wrong._replace(place="", shared=None)
    laws = [_position(right, rows, i) for i in range(rows.gamma)]
    reach = [float(accepted.sum()) for accepted, _ in laws]
    most = 0.0
    for j in range(1, rows.gamma):
        assert wrong.shared
        i = wrong.shared(j)
        on = [Place(wrong, rows, j, x).on for x in range(len(rows.target[j]))]
        if not any(on):
            continue
        (kept, replaced), between = laws[i], float(np.prod(reach[i + 1 : j]))
        p, joint = rows.target[j], np.outer(replaced, rows.target[j]) + np.outer(kept, rows.target[j]) * (1 - between)
        rest = Place(right, rows, j, rows.live[0]).replacement(p, rows.draft[j])
        for x, z in product(rows.live, rows.live):
            first, second = (min(Place(right, rows, k, t).ratio(), 1.0) for k, t in ((i, x), (j, z)))
            share = min(first, second) / first if on[z] and first else second
            mass = kept[x] * between * rows.draft[j][z]
            joint[x, z] += mass * share
            joint[x] += mass * (1 - share) * rest
        gap = np.abs(joint - np.outer(rows.target[i], p)).sum() / 2
        most = max(most, float(np.prod(reach[:i])) * float(gap))
    return most


def _of_blocks(wrong: Wrong, rows: Rows) -> float:
    law = np.zeros((len(rows.target[0]),) * (rows.gamma + 1))
    tails: list[Any] = [np.ones(())]  # of the target's law after each number of tokens
    for row in reversed(rows.target):
        tails.insert(0, np.multiply.outer(row, tails[0]))
    for block, drafted, ends in _ends(wrong, rows):
        for n, mass, last in ends:
            tail = tails[n + 1]
            law[block[:n]] += drafted * mass * np.multiply.outer(last, tail)
    return float(np.abs(law - tails[0]).sum()) / 2


def _ends(wrong: Wrong, rows: Rows) -> Iterator[tuple[tuple[int, ...], float, list[tuple[int, float, Row]]]]:
    """Draft block, its probability, and (tokens kept, probability, law of the token after them)."""
    bonus, gamma = _emitted(wrong, rows, _bonus(wrong, rows)), rows.gamma
    for block in product(rows.live, repeat=gamma):
        survival, drafted = [1.0], 1.0
        for i, x in enumerate(block):
            drafted *= rows.draft[i][x]
            survival.append(min(survival[-1] * Place(wrong, rows, i, x).ratio(), 1.0))
        left, ends = 1.0, []
        for n in range(gamma, -1, -1):
            h, weights = survival[n], survival[n] * rows.target[n]
            if n < gamma:
                s = float(np.maximum(weights - rows.draft[n], 0.0).sum())
                h = s / (s + 1.0 - h) if s + 1.0 - h > 0 else 1.0
            keep = Place(wrong, rows, n - 1, block[n - 1]).kept(h) if n else 1.0
            if left * keep > 0:
                last = bonus if n == gamma else None
                if last is None:
                    replaced = Place(wrong, rows, n, block[n]).replacement(weights, rows.draft[n])
                    last = _emitted(wrong, rows, replaced)
                ends.append((n, left * keep, last))
            left *= 1.0 - keep
        yield block, drafted, ends


def at_least(wrong: Wrong, rows: Rows) -> float:
    """A total variation that its law has from the target's at least; of the block rule it is the total variation."""
    if wrong.rule == "block":
        return _of_blocks(wrong, rows)
    return _of_shared(wrong, rows) if wrong.shared else _of_tokens(wrong, rows)


def worst(wrong: Wrong, vocabulary: int, gamma: int, ids: tuple[int, ...] = ()) -> tuple[float, int]:
    """The largest of these over some ordinary rows, and the seed of those."""
    every = ((at_least(wrong, ordinary(vocabulary, gamma, seed, ids)), seed) for seed in range(ROWS))
    return max(every)
