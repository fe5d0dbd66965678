"""A trainer's logprobs of emitted tokens, compared with the rows that the engine verified with."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import inf, nan
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from ....models.errors import InputError
from ....models.recorded_steps import Recording, Shard, parts
from .importance import MEAN_OFF, ImportanceWeights
from .shard import Found, Place, kinds_of, rows_off
from .tokens import emitted_tokens

Array = np.ndarray

Rollouts = Mapping[int | str, tuple[Any, Any]]
"""Request -> the token ids of its text, prompt included, and the trainer's logprob of each. A request is the number
that was recorded, or the engine's name of it, whose CRC-32 the recorders write. Logprobs of the prompt do not count."""

# SmolLM2 in bfloat16 and in float32 differed by up to 0.33 on 800 tokens, by 0.052 in the mean square: 6 times as much
# on one token. Twice that is allowed, and 2^-3 of it for float16.
TRAINER_OFF = {"float64": 1e-6, "float32": 2e-3, "float16": 0.125, "bfloat16": 1.0}
"""Most that two runs of one model may differ in a logprob, by the type that the model computes in."""

DEVIATIONS = 10
"""How many times the root of the mean square a difference may be."""

ABOVE = 4
"""By which part of the largest difference that is rounding a logprob may be above 0."""

ENOUGH = 100
"""Number of compared tokens that an answer needs, and from which on the root of the mean square is judged, too."""


@dataclass
class TrainerSeen:
    """How a trainer's logprobs differ from the engine's.

    allowed: the largest difference that is rounding.
    count: tokens compared. off: how many differ by more. worst: the largest difference with its sign, and worst_at its
    place. squares, total: sums of the squared differences and of the differences.
    other: how many tokens are others than the engine emitted. other_at: the place of the first.
    uncut: how many have the logprob of the logits before any setting; of recordings without logits, none.
    unscored: emitted tokens without a logprob of the trainer: of requests that it does not have, or behind a text.
    unrecorded: tokens with a logprob that no recorded step emitted, from the first step of their request on.
    above: tokens of the trainer, of prompts too, whose logprob is above 0 by more than rounding. above_at: the place of
    the largest.
    requests, of_requests: requests of the trainer without a recorded step, and their tokens with a logprob.
    weights: of the compared tokens, by the trainer's over the engine's probability.
    """

    allowed: float
    weights: ImportanceWeights
    count: int = 0
    off: int = 0
    worst: float = 0.0
    worst_at: str = ""
    squares: float = 0.0
    total: float = 0.0
    other: int = 0
    other_at: str = ""
    uncut: int = 0
    unscored: int = 0
    unrecorded: int = 0
    above: int = 0
    above_at: str = ""
    requests: int = 0
    of_requests: int = 0

    @property
    def deviation(self) -> float:
        """Return the root of the mean square of the differences."""
        return (self.squares / max(self.count, 1)) ** 0.5

    @property
    def refuted(self) -> bool:
        """Return whether a token differs, a difference is too large, or all of them together are."""
        drifted = self.count >= ENOUGH and not self.deviation <= self.allowed / DEVIATIONS
        return bool(self.other or self.off or drifted)

    def add(self, differences: Array, place: Callable[[int], str]) -> None:
        """Count further tokens. place: of one of them, in words."""
        if not len(differences):
            return
        sizes = np.where(np.isnan(differences), inf, np.abs(differences))
        self.count += len(sizes)
        self.off += int((sizes > self.allowed).sum())
        self.squares += float((sizes**2).sum())
        self.total += float(differences.sum())
        k = int(sizes.argmax())
        if not self.worst_at or sizes[k] > abs(self.worst):
            self.worst, self.worst_at = float(differences[k]), place(k)


class _Scored(NamedTuple):
    """All texts of the trainer in one array.

    names, starts, lengths: of each request, by its number. emitted: which tokens a recorded step emitted.
    recorded: the numbers of the requests that have a recorded step.
    """

    names: dict[int, int | str]
    starts: dict[int, int]
    lengths: dict[int, int]
    tokens: Array
    logprobs: Array
    emitted: Array
    recorded: set[int]


def check_type(dtype: object) -> None:
    """Check the coarsest type of a model. Raises: InputError for any that has no tolerance."""
    if not isinstance(dtype, str) or dtype not in TRAINER_OFF:
        raise InputError(f"dtype {dtype!r}, expected one of {', '.join(TRAINER_OFF)}")


def compared(recording: Recording, rollouts: Rollouts, dtype: str, rule: str | None = None) -> TrainerSeen:
    """Return what comparing each recorded token with the trainer's text shows.

    dtype: a key of TRAINER_OFF. rule: that is claimed, in place of the recording's.
    Raises: InputError for a text without one logprob for each token, and for two requests with one number.
    """
    check_type(dtype)
    scored, allowed = _scored(rollouts), TRAINER_OFF[dtype]
    weights = ImportanceWeights(allowed, allowed / DEVIATIONS, MEAN_OFF[dtype], [*scored.names.values()])
    seen = TrainerSeen(allowed, weights)
    for path in recording.shards:
        with suppress(InputError):  # the judge says which shards cannot be read
            shard = recording.read(path)
            _mark(shard, scored)
            _compare(shard, recording, rule or recording.header.rule, scored, seen)
    _count_unrecorded(scored, seen)
    _count_above(scored, seen)
    return seen


def read_rollouts(file: str | Path) -> Rollouts:
    """Return the rollouts of a file of JSON lines with ``request``, ``tokens`` and ``logprobs`` (null: none).

    Raises: InputError for a line that is none.
    """
    found: dict[int | str, tuple[Any, Any]] = {}
    try:
        lines = Path(file).read_text(encoding="utf-8").split("\n")  # other ends of lines may be inside a string
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read ({error})") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            one = json.loads(line)
            request, tokens, logprobs = one["request"], one["tokens"], one["logprobs"]
            if type(request) not in (int, str) or type(tokens) is not list or type(logprobs) is not list:
                raise ValueError
            if {*map(type, tokens)} - {int} or {*map(type, logprobs)} - {int, float, type(None)}:
                raise ValueError
            logprobs = [nan if x is None else float(x) for x in logprobs]
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            raise InputError(f"{file}, line {number}: expected request, tokens and logprobs") from None
        if request in found:
            raise InputError(f"{file}, line {number}: request {request!r} came before")
        found[request] = tokens, logprobs
    return found


def _scored(rollouts: Rollouts) -> _Scored:
    if not isinstance(rollouts, Mapping):
        raise InputError(f"rollouts of type {type(rollouts).__name__}, expected a dictionary by request")
    starts, lengths, names = dict[int, int](), dict[int, int](), dict[int, int | str]()
    tokens, logprobs, end = list[Array](), list[Array](), 0
    for name, text in rollouts.items():
        number = _number(name)
        if number in names:
            raise InputError(f"requests {names[number]!r} and {name!r} have one number; leave one of them out")
        ids, scores = _text(name, text)
        names[number], starts[number], lengths[number] = name, end, len(ids)
        end += len(ids)
        tokens.append(ids)
        logprobs.append(scores)
    tokens, logprobs = [np.zeros(0, int), *tokens], [np.zeros(0), *logprobs]
    return _Scored(
        names, starts, lengths, np.concatenate(tokens), np.concatenate(logprobs), np.zeros(end, bool), set[int]()
    )


def _number(name: int | str) -> int:
    """Return the number of a request. Raises: InputError for what is neither a number nor a name."""
    with suppress(UnicodeEncodeError):
        if isinstance(name, str):
            return crc32(name.encode())
        if isinstance(name, int | np.integer) and not isinstance(name, bool):
            return int(name)
    raise InputError(f"request {name!r}: expected a whole number, or a name in Unicode")


def _text(name: int | str, text: tuple[Any, Any]) -> tuple[Array, Array]:
    """Return the token ids and the logprobs of a text. Raises: InputError for others than whole and real numbers."""
    expected = f"request {name!r}: expected its token ids and their logprobs"
    if not isinstance(text, tuple | list) or len(text) != 2:
        raise InputError(expected)
    try:
        ids, scores = np.asarray(text[0]), np.asarray(text[1])
        whole, real = not ids.size or ids.dtype.kind in "iu", scores.dtype.kind not in "bcmMSU"
        if not whole or not real:
            raise TypeError(f"got {ids.dtype} and {scores.dtype}")
        ids, scores = ids.astype(int), scores.astype(float)
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:  # RuntimeError: a tensor with a gradient
        raise InputError(f"{expected} ({str(error).splitlines()[0]})") from None
    if ids.ndim != 1 or ids.shape != scores.shape:
        raise InputError(
            f"request {name!r}: tokens of shape {ids.shape} and logprobs of {scores.shape}, expected one each"
        )
    return ids, scores


def _mark(shard: Shard, scored: _Scored) -> None:
    """Mark the trainer's tokens that the steps of a shard emitted."""
    request, offsets = shard.arrays["request"].tolist(), shard.arrays["emitted_offsets"]
    scored.recorded.update(request)
    step = np.repeat(np.arange(len(request)), np.diff(offsets))
    text = shard.arrays["place"][step] + np.arange(len(step)) - offsets[step]
    starts, lengths = (np.array([of.get(r, 0) for r in request], dtype=int) for of in (scored.starts, scored.lengths))
    inside = (text >= 0) & (text < lengths[step])
    scored.emitted[(starts[step] + text)[inside]] = True


def _count_unrecorded(scored: _Scored, seen: TrainerSeen) -> None:
    """Count the tokens with a logprob that no recorded step emitted. What is before the first step may be a prompt."""
    for number, start in scored.starts.items():
        own = slice(start, start + scored.lengths[number])
        emitted, has = scored.emitted[own], ~np.isnan(scored.logprobs[own])
        if number not in scored.recorded:
            seen.requests += 1
            seen.of_requests += int(has.sum())
        else:
            has[: int(emitted.argmax()) if emitted.any() else 0] = False
            seen.unrecorded += int((has & ~emitted).sum())


def _count_above(scored: _Scored, seen: TrainerSeen) -> None:
    """Count the logprobs above 0."""
    above = scored.logprobs > seen.allowed / ABOVE
    seen.above = int(above.sum())
    if seen.above:
        k = int(np.where(above, scored.logprobs, -inf).argmax())
        number = next(n for n, start in scored.starts.items() if start <= k < start + scored.lengths[n])
        place = f"request {scored.names[number]!r}, token {k - scored.starts[number] + 1}"
        seen.above_at = f"{place}: {scored.logprobs[k]:+.3g}"


def _compare(shard: Shard, recording: Recording, rule: str, scored: _Scored, seen: TrainerSeen) -> None:
    """Compare the tokens of a shard."""
    arrays, header = shard.arrays, recording.header
    off, order = rows_off(shard, header, Found(shard.name)).rows, {number: k for k, number in enumerate(scored.names)}
    # What lists of a dump have depends on the tokens; under greedy-block verification tokens follow no row one by one.
    drawn = rule != "greedy-block" and not recording.sequential
    raw = _uncut(arrays) if "logits" in arrays else None
    for part in parts(shard, header):
        tokens, kinds = emitted_tokens(part.steps), kinds_of(part, shard, header, rule, off)
        index = np.arange(len(tokens.n)) - np.searchsorted(tokens.n, tokens.n)
        step = part.places[tokens.n]
        text, request = arrays["place"][step] + index, arrays["request"][step].tolist()
        lengths = np.array([scored.lengths.get(r, 0) for r in request], dtype=int)
        known, good = (text >= 0) & (text < lengths), (part.matches & part.inside)[tokens.n]
        good &= arrays["emitted"][arrays["emitted_offsets"][step] + index] != recording.other
        seen.unscored += int((good & ~known).sum())
        chosen = np.flatnonzero(good & known)
        flat = np.array([scored.starts[request[k]] for k in chosen], dtype=int) + text[chosen]
        step, index, (n, place, at) = step[chosen], index[chosen], tokens.chosen(chosen)
        emitted = arrays["emitted"][arrays["emitted_offsets"][step] + index]
        own = scored.logprobs[flat]
        probability = part.steps.rows.target[n, place, at]
        with np.errstate(divide="ignore", invalid="ignore"):
            differences = own - np.log(probability)

        def where(k: int, shard: Shard = shard, step: Array = step, index: Array = index) -> str:
            return f"{Place(shard.name, int(step[k]))}, token {index[k] + 1}"

        same = scored.tokens[flat] == emitted
        if not same.all() and not seen.other:
            k = int(same.argmin())
            seen.other_at = f"{where(k)}: emitted {emitted[k]}, scored {scored.tokens[flat[k]]}"
        seen.other += int((~same).sum())
        whole = kinds.good[n, place]
        among = np.flatnonzero(same & whole)  # a row that is none is said to be left out
        seen.add(differences[among], lambda k, where=where, among=among: where(among[k]))
        sampled = drawn & ~kinds.greedy[n] & whole
        rounding = 4 * header.epsilon + part.steps.rows.off[n, place]
        which = np.array([order[request[k]] for k in chosen], dtype=int)
        seen.weights.add(*(values[among] for values in (differences, probability, sampled, rounding, which)))
        if raw is not None:
            entry = arrays["row_offsets"][arrays["draft_offsets"][step] + step + place] + at
            seen.uncut += int((np.abs(own - raw[entry])[among] <= seen.allowed).sum())


def _uncut(arrays: Mapping[str, Array]) -> Array:
    """Return the logprob of each listed entry before any setting, [L]."""
    logits, starts = arrays["logits"].astype(float), arrays["row_offsets"][:-1]
    sizes = np.diff(arrays["row_offsets"])
    whole = np.logaddexp(np.logaddexp.reduceat(logits, starts), arrays["logits_rest"])
    return logits - np.repeat(whole, sizes)
