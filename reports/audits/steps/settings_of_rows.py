"""Recorded rows against the logits and settings that they were made from, entry by entry."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from ....models.decoding_settings import CUTS, ENDS, ORDERS
from ....models.recorded_steps import ROW_OFF, Header, Shard

Array = np.ndarray

EXAMINED = (
    "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty",
    "logit_bias",
)  # fmt: skip
"""Settings whose rows are computed here."""

NEEDS_HISTORY = ("repetition_penalty", "presence_penalty", "frequency_penalty")

MOST_UNDECIDED = 0.05
"""Mass of tokens that are not listed which the settings may leave undecided, in a row that is judged."""

USUAL_ORDER = "vllm"
"""The engine whose order of settings is taken where the header's settings name none (``order``)."""


@dataclass
class RowsSeen:
    """What settings say of rows.

    checked: rows that were compared. off: rows that are other than the settings give. worst: the largest total
    variation. first: the first such row, (step, place), and what would give it. causes: what would give them -> how
    many. without_logits: rows whose logits were not recorded. beyond: rows that tokens which are not listed decide.
    rounded: rows that are off by what rounding of scores may explain, and rounding of the row alone does not.
    undecided: the largest total variation that tokens which are not listed leave undecided in a row that was compared.
    left_out: settings that are not examined.
    """

    checked: int = 0
    off: int = 0
    worst: float = 0.0
    first: tuple[int, int, str] | None = None
    causes: Counter = field(default_factory=Counter)
    without_logits: int = 0
    beyond: int = 0
    rounded: int = 0
    undecided: float = 0.0
    left_out: set[str] = field(default_factory=set)

    def add(self, other: "RowsSeen") -> None:
        """Add what another shard shows."""
        self.checked += other.checked
        self.off += other.off
        self.worst = max(self.worst, other.worst)
        self.causes += other.causes
        self.without_logits += other.without_logits
        self.beyond += other.beyond
        self.rounded += other.rounded
        self.undecided = max(self.undecided, other.undecided)
        self.left_out |= other.left_out

    def as_json(self) -> dict[str, Any]:
        return vars(self) | {"causes": dict(self.causes), "left_out": sorted(self.left_out)}

    def resume(self, kept: Mapping[str, Any]) -> None:
        vars(self).update(kept, causes=Counter(kept["causes"]), left_out=set(kept["left_out"]))


def rows_against_settings(shard: Shard, header: Header) -> RowsSeen:
    """Compare every row of which the logits were recorded with what the request's settings give."""
    arrays, seen = shard.arrays, RowsSeen()
    rows = len(arrays["draft_known"])
    if "logits" not in arrays:
        seen.without_logits = rows
        return seen
    row = 0
    for step in range(shard.steps):
        which = arrays["settings"][step]
        given = header.settings | (shard.settings[which] if which >= 0 else {})
        settings = {name: value for name, value in given.items() if value is not None}
        drafts = shard.cut("draft_tokens", step)
        history = shard.cut("history", step) if "history" in arrays else None
        paths = [drafts[:0]]  # tokens drafted before each row: of a chain, the first so many
        for token, parent in zip(drafts, shard.cut("draft_parents", step)):
            paths.append(np.append(paths[parent + 1], token))
        for place, path in enumerate(paths):
            _compare(arrays, row, settings, history, path, (step, place), header, seen)
            row += 1
    return seen


def _compare(
    arrays: Mapping[str, Array], row: int, settings: Mapping[str, Any], history: Array | None, drafts: Array,
    where: tuple[int, int], header: Header, seen: RowsSeen,
) -> None:  # fmt: skip
    entries = slice(arrays["row_offsets"][row], arrays["row_offsets"][row + 1])
    logits, p = arrays["logits"][entries].astype(float), arrays["target"][entries].astype(float)
    if np.isnan(logits).any():
        seen.without_logits += 1
        return
    strange = {name for name in settings if name not in (*EXAMINED, *ENDS, "order")}
    strange |= {name for name in NEEDS_HISTORY if name in settings and history is None}
    if strange:
        seen.left_out |= strange
        return
    ids, allowed = arrays["ids"][entries], ROW_OFF[header.dtype]
    if settings.get("temperature") == 0 and p.max(initial=0) < 1 - allowed:  # engines take the top of an uncut row
        settings = {name: value for name, value in settings.items() if name not in CUTS}
    text = np.concatenate([np.zeros(0, dtype=int) if history is None else history, drafts])
    rest = arrays["logits_rest"][row], int(arrays["rest_count"][row])
    natural = slice(0, int(arrays["natural"][row]))
    highest = _highest_unlisted(logits, natural, p, arrays["draft"][entries].astype(float))
    given = Given(logits, ids, rest, highest, text, header.epsilon)
    expected = made(given, settings)
    distance, undecided = _off_the_list(expected, float(arrays["rest_target"][row].sum()), rest[1], settings)
    distance = np.maximum(distance, _distance(p, expected))  # nan if either is
    if distance <= allowed and undecided > MOST_UNDECIDED:
        seen.beyond += 1
        return
    if allowed < distance <= allowed + _by_rounding(expected, header.epsilon):
        seen.rounded += 1
        return
    seen.checked += 1
    if distance <= allowed:
        seen.worst, seen.undecided = max(seen.worst, distance), max(seen.undecided, undecided)
        return
    seen.off += 1
    seen.worst = max(seen.worst, 1.0 if np.isnan(distance) else distance)
    cause = _cause(p, given, settings, drafts, allowed)
    seen.causes[cause] += 1
    seen.first = seen.first or (*where, cause)


def _highest_unlisted(logits: Array, natural: slice, target: Array, draft: Array) -> float:
    """Return the most that a logit can be that is not listed.

    natural: entries that are listed because the largest of p, q and exp(l - max l) is large (``sparse.reduced``).
    """
    largest = np.maximum(np.maximum(target, draft), np.exp(logits - logits.max(initial=-np.inf)))[natural]
    return float(logits.max() + np.log(largest.min())) if len(largest) else np.inf


class Given(NamedTuple):
    """A recorded row before settings.

    logits, ids: of what is listed. rest: log sum exp of the logits that are not, and how many they are.
    highest: the most that one of those can be. text: the tokens that penalties count. epsilon: roundoff of each
    operation on a score.
    """

    logits: Array
    ids: Array
    rest: tuple[float, int]
    highest: float
    text: Array
    epsilon: float = 0.0


class Made(NamedTuple):
    """A row as settings make it.

    scores: of what is listed. certain: of each whether it stays: 1, -1, or 0 where what is not listed decides it.
    rest: the least and the most that log sum exp of what is not listed, and stays, can be. highest: the most that a
    score that is not listed can be. off: by how much each score may be off, as operations round.
    """

    scores: Array
    certain: Array
    rest: tuple[float, float]
    highest: float
    off: Array


def _off_the_list(expected: Made, unlisted: float, count: int, settings: Mapping[str, Any]) -> tuple[float, float]:
    """Return how far the mass that is not listed is from what the settings give, and how much of it they leave
    undecided.

    count: tokens that are not listed.
    """
    scores, certain, (least, most), highest, _ = expected
    if not count:
        return 0.0, 0.0
    # What is less probable than a token that is cut is cut, too.
    if settings.get("temperature") == 0 or most == -np.inf or ((certain == -1) & (scores >= highest)).any():
        return unlisted, 0.0
    if any(cut.does(settings.get(name), len(scores) + count) for name, cut in CUTTING.items()):
        return 0.0, 1.0
    listed = np.log(np.exp(scores - scores.max()).sum()) + scores.max()
    lower, upper = float(expit(least - listed)), float(expit(most - listed))
    return max(unlisted - upper, lower - unlisted, 0.0), upper - lower


def _rest_at(rest: tuple[float, float], count: int, temperature: float) -> tuple[float, float]:
    """Return the least and the most that log sum exp of so many scores can be at a temperature.

    rest: the same before. Source: the sum of x^a over n numbers is between their sum^a and n^(1-a) times that.
    """
    if not count:
        return rest
    even = (1 - 1 / temperature) * np.log(count)
    return rest[0] / temperature + min(even, 0.0), rest[1] / temperature + max(even, 0.0)


def _distance(p: Array, expected: Made) -> float:
    """Return the least total variation, on what is listed, from any row with these entries kept for certain, or not."""
    scores, certain, *_ = expected
    undecided = (certain == 0) & (p > 0)
    kept = (certain > 0) | undecided
    weights = (
        np.where(kept, np.exp(scores - scores[kept].max(initial=-np.inf)), 0.0) if kept.any() else np.zeros(len(p))
    )
    total = weights.sum()
    nearest = weights / total * p.sum() if total > 0 else weights
    return float(np.abs(p - nearest).sum() / 2)


def _by_rounding(expected: Made, epsilon: float) -> float:
    """Return the most that rounding can change of a row, in total variation.

    off: by how much each score is, with the difference to the largest, exp and the division by the sum.
    Source: of a row p with factors exp(d), |d| <= off, the total variation is at most A / (1 - A), where A is
      sum p (exp(off) - 1).
    """
    scores, certain, *_, off = expected
    kept = certain >= 0
    if not kept.any():
        return 0.0
    lower = scores[kept] - scores[kept].max()
    with np.errstate(over="ignore", invalid="ignore"):
        a = np.nansum(np.exp(lower) * np.expm1(off[kept] + epsilon * (2 - lower))) / np.exp(lower).sum()
    return float(a / (1 - a)) if a < 1 / 2 else 1.0


def made(given: Given, settings: Mapping[str, Any]) -> Made:
    """Return the row that settings make of logits."""
    ids, text, (outside, count), epsilon = given.ids, given.text, given.rest, given.epsilon
    scores, certain, off = given.logits.copy(), np.ones(len(ids), dtype=int), np.zeros(len(ids))
    least = most = outside if count else -np.inf
    highest = min(given.highest, most)
    temperature, times = settings.get("temperature", 1), Counter(text.tolist())
    unlisted = [n for token, n in times.items() if token not in ids]
    for name in ORDERS.get(str(settings.get("order", USUAL_ORDER)), ORDERS[USUAL_ORDER]):
        value = settings.get(name)
        if value is None or (temperature == 0 and name in CUTS):
            continue
        moved = [0.0]  # by how much the score of a token that is not listed changes
        if name == "temperature":
            scores, off, highest = scores / value, off / value, highest / value
            least, most = _rest_at((least, most), count, value)
        elif name == "logit_bias":
            scores = scores + np.array([value.get(str(t), value.get(int(t), 0.0)) for t in ids])
            moved += [bias for token, bias in value.items() if int(token) not in ids]
        elif name == "repetition_penalty":
            there = np.isin(ids, text)
            scores = np.where(there, np.where(scores > 0, scores / value, scores * value), scores)
            off = off * max(value, 1 / value)
            moved += [np.sign(1 - value) * np.inf] if unlisted and value != 1 else []
        elif name == "presence_penalty":
            scores = scores - value * np.isin(ids, text)
            moved += [-value] if unlisted else []
        elif name == "frequency_penalty":
            scores = scores - value * np.array([times[int(t)] for t in ids])
            moved += [-value * n for n in unlisted]
        elif name in CUTTING and CUTTING[name].does(value, len(scores) + count):
            now = CUTTING[name].staying(Made(scores, certain, (least, most), highest, off), value)
            certain = np.minimum(certain, now)
            cut_all = ((now == -1) & (scores >= highest)).any()
            least, most = -np.inf, -np.inf if cut_all else most
        off = off if name in CUTTING else off + epsilon * np.abs(scores)
        if most > -np.inf:
            least, most, highest = least + min(moved), most + max(moved), highest + max(moved)
    if temperature == 0:  # of several largest an engine takes any
        first = scores + off >= (scores - off).max()
        certain = np.where(first, 1 if first.sum() == 1 else 0, -1)
    return Made(scores, certain, (least, most), highest, off)


def _near(values: Array, threshold: float, off: Array | float) -> Array:
    return np.abs(values - threshold) <= (1e-4 + off) * np.maximum(np.abs(values), abs(threshold))


TIED = 1e-5
"""Difference of two scores within which engines may cut either first."""


def _top_k(row: Made, k: float) -> Array:
    """Return of each listed score whether it stays. What is not listed can only raise the least score that does."""
    there = np.sort(np.where(row.certain >= 0, row.scores, -np.inf))
    least = there[-int(k)] if k <= len(there) else -np.inf
    near = TIED + row.off + row.off[np.argmin(np.abs(row.scores - least))]
    tied = np.abs(row.scores - least) <= near if least > -np.inf else np.zeros(len(there), dtype=bool)
    more_than_k = (tied | (row.scores > least)).sum() > k
    stays = np.where(row.scores > row.highest, 1, 0)
    return np.where(tied, 0 if more_than_k else stays, np.where(row.scores > least, stays, -1))


def _top_p(row: Made, p: float) -> Array:
    order = np.argsort(-row.scores, kind="stable")
    scores, stays = row.scores[order], row.certain[order]
    weights, outside = np.exp(scores - scores[0]), row.rest[1]
    rest = 0.0 if outside == -np.inf else np.exp(outside - scores[0])
    some, every = weights * (stays > 0), weights * (stays >= 0)
    totals = some.sum(), every.sum() + rest
    earlier = np.where(scores < row.highest, rest, 0.0)  # what is not listed may come before
    before = np.cumsum(some) - some, np.cumsum(every) - every + earlier
    with np.errstate(invalid="ignore"):
        shares = np.stack([b / t for b in before for t in totals])
    kept = np.where((shares < p).all(0), 1, np.where((shares >= p).all(0), -1, 0))
    off, may_be = row.off[order], _by_rounding(row, 0.0)
    kept = np.where(_near(shares, p, may_be).any(0), 0, kept)
    group = np.cumsum(np.concatenate([[True], np.diff(scores) < -TIED - off[1:] - off[:-1]]))
    for number in np.unique(group[kept <= 0]):
        mine = group == number
        if len(set(kept[mine].tolist())) > 1:
            kept[mine] = 0
    out = np.empty(len(scores), dtype=int)
    out[order] = kept
    return out


def _min_p(row: Made, p: float) -> Array:
    """Return of each listed score whether it stays. What is not listed can only raise the largest score."""
    most, least = row.scores.max(), max(row.scores.max(), row.highest)
    odds = np.exp(row.scores - most)
    stays = np.where(np.exp(row.scores - least) >= p, 1, 0)
    off = np.expm1(row.off + row.off[row.scores.argmax()])
    return np.where(_near(odds, p, off), 0, np.where(odds >= p, stays, -1))


class RowCut(NamedTuple):
    """A setting that cuts rows.

    does: whether a value cuts anything of rows of so many tokens. staying: returns of each listed score of a row
    whether it stays, as in ``Made``.
    """

    does: Callable[[Any, int], bool]
    staying: Callable[[Made, float], Array]


CUTTING = {
    "top_k": RowCut(lambda k, vocabulary: 0 < (k or 0) < vocabulary, _top_k),
    "top_p": RowCut(lambda p, vocabulary: 0 < (p or 1) < 1, _top_p),
    "min_p": RowCut(lambda p, vocabulary: (p or 0) > 0, _min_p),
}
"""Settings that cut rows, by name."""


def _cause(p: Array, given: Given, settings: Mapping[str, Any], drafts: Array, allowed: float) -> str:
    """Return in words under which other settings the row would be right."""
    if not (p >= 0).all():
        return "not a number"

    def fits(changed: Mapping[str, Any], of: Array = given.text) -> bool:
        return _distance(p, made(given._replace(text=of), changed)) <= allowed

    used = [name for name in EXAMINED if settings.get(name) is not None]
    for name in used:
        if fits({k: v for k, v in settings.items() if k != name}):
            return f"made without {name}"
    if len(drafts) and fits(settings, given.text[: len(given.text) - len(drafts)]):
        return "penalties do not count the drafted tokens"
    for order in ORDERS:
        if order != settings.get("order", USUAL_ORDER) and fits({**settings, "order": order}):
            return f"made in the order of {order}"
    fitted = 0.0 if p.max() >= 1 - allowed else _fitted_temperature(p, given.logits)
    if fitted is not None and fits({**settings, "temperature": fitted}):
        return f"made at temperature {fitted:.3g}"
    if fits({}):
        return "made without any setting"
    return "not made as its settings say"


def _fitted_temperature(p: Array, logits: Array) -> float | None:
    """Return the temperature at which the two most probable tokens have this ratio, if there is one."""
    best = np.argsort(-p)[:2]
    if len(best) < 2 or not (p[best] > 0).all():
        return None
    ratio, difference = np.log(p[best[0]] / p[best[1]]), logits[best[0]] - logits[best[1]]
    return float(difference / ratio) if ratio > 0 and difference > 0 else None
