"""Rows of noise on wide problems: raced in one argmax, whose law is found by calls at many levels of the noise.

An argmax of w_i / E_i, of log w_i plus Gumbel noise and the like draws i with probability proportional to e_i, the
noise at which i reaches a given score. The e_i are measured at one score, by bisection of what the function does to
the noise. At every other of ``levels`` scores, from the rarest smallest noise to the rarest largest, each i must pass
it at the same multiple of its e_i: better just below, worse just above, so that scores are no stairs.

A function that bends the noise within gaps between levels alone is not seen. What that may come to is the probability
that two contestants fall into one gap (``between``): it is stated with the law. The levels are others in each race.
"""

import math
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .arrays import NUMPYS
from .places import place
from .tracer import NotInterceptable, active

GAPS = 64
"""Gaps of equal probability between the levels of a race."""

SMALLEST, LARGEST = 1e-300, 700.0
STEPS = (8, 64)
"""Units of rounding up to which scores may be stairs; logarithms of noise and of weights are the coarser ones."""

LEAST_SLACK = 2e-13
"""Relative step up to which scores may be stairs in any dtype."""

NEVER = 2.0**-200
"""Share of a race below which an index never wins with any generator's noise."""

GRAIN = {"exponential": 0.0, "uniform": 2.0**-52}
"""Steps of the uniform that noise is made of, by kind of noise."""

FINEST = 2.0**-50
"""Smallest noise that a uniform next to an end of its range tells from its neighbours, within an eighth."""

FARTHEST = 36.0
"""Largest noise that a uniform is asked for."""

FORMS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], ...]] = {
    "exponential": (lambda e: e,),
    "uniform": (lambda e: np.exp(-e), lambda e: -np.expm1(-e)),
}
"""Functions from standard exponential noise to what a generator returns, by kind of noise."""


MOST_APART = 65
"""Numbers of a row up to which each is followed by itself where the row is not followed as a whole.

There is one for each token of the longest draft blocks that are examined, and one for the last token.
"""


class Apart(NotInterceptable):
    """Raised where a short row of noise is used in a way that only single numbers can be followed in."""


class NoiseSource:
    """A source of one or several rows of noise, and of the numbers that replays have in their place."""

    def __init__(self, tracer: Any, shape: tuple[int, ...], kind: str, dtype: Any, step: float = 0.0):
        self.tracer, self.shape, self.kind, self.dtype, self.step = tracer, shape, kind, dtype, step
        self.order = len(tracer.sources)
        self.decided: dict[int, tuple[np.ndarray, Callable, int]] = {}
        self.replayed: dict[int, np.ndarray] = {}

    def value(self, point: np.ndarray) -> np.ndarray:
        return point.astype(self.dtype)

    def on_path(self, which: int) -> np.ndarray:
        """Return noise with which every row that was raced has the winner of this path."""
        if which in self.replayed:  # one path is called with many times
            return self.replayed[which]
        noise = np.random.Generator(np.random.PCG64([which, self.order])).standard_exponential(self.shape)
        point = generated(self.kind, noise, FORMS[self.kind][0])
        for row, (weights, form, base) in self.decided.items():
            point = self.won(point, row, weights, form, base)
        self.replayed[which] = point
        return point

    def won(self, point: np.ndarray, row: int, weights: np.ndarray, form: Callable, index: int) -> np.ndarray:
        """Return the noise with that of one row drawn anew, so that the index wins."""
        draw = np.random.Generator(np.random.PCG64([row, index, self.order]))
        noise, running = draw.standard_exponential(len(weights)), weights > 0
        running[index] = False
        best = (noise[running] / weights[running]).min(initial=LARGEST / weights[index])
        if self.kind == "uniform" and weights[index] * best < 2 * FINEST:  # the others have to wait for it
            best = 2 * FINEST / weights[index]
            noise[running] = np.maximum(noise[running], weights[running] * best)
        noise[index] = weights[index] * best * 0.5
        rows = point.copy().reshape(-1, len(weights))
        rows[row] = generated(self.kind, noise, form)
        return rows.reshape(self.shape)

    def lead(self, row: int, weights: np.ndarray, form: Callable, points: list[Any], index: int, where: int) -> None:
        """Set the points of a call so that the index wins, as in ``row_draws.RowDraw``."""
        points[self.order] = self.won(points[self.order], row, weights, form, index)


def generated(kind: str, noise: np.ndarray, form: Callable) -> np.ndarray:
    """Return standard exponential noise as numbers of a generator of this kind."""
    if kind == "exponential":
        return np.maximum(noise, SMALLEST)
    return np.clip(np.floor(form(noise) * 2.0**53), 1, 2.0**53 - 1) * 2.0**-53


class NoiseRow(np.lib.mixins.NDArrayOperatorsMixin):
    """A row, or rows, of noise followed as a whole: what is done to all entries alike, and one argmax for each row.

    viewed: whether it shares its numbers with another.
    """

    __array_priority__ = 2000
    viewed = False

    def __init__(
        self, source: NoiseSource, shape: tuple[int, ...], dtype: Any, row: int | None = None, steps: tuple = ()
    ):
        self.source, self.shape, self.dtype, self.row, self.steps = source, shape, dtype, row, steps
        self.ndim, self.size = len(shape), math.prod(shape)
        self.even: dict[tuple[float, Callable], np.ndarray] = {}

    def then(self, apply: Callable, row: int | None = None) -> "NoiseRow":
        blank = apply(np.ones(self.shape, dtype=self.dtype))
        return NoiseRow(self.source, blank.shape, blank.dtype, self.row if row is None else row, (*self.steps, apply))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        others = [np.array(x) if isinstance(x, np.ndarray) else x for x in inputs]
        noisy = [k for k, x in enumerate(inputs) if isinstance(x, NoiseRow)]
        plain = [x for x in inputs if not isinstance(x, NoiseRow)]
        wider = math.prod(np.broadcast_shapes(self.shape, *map(np.shape, plain))) > self.size
        if method != "__call__" or options or len(noisy) != 1 or wider or ufunc.nout > 1 or _is_not_numpys(ufunc):
            self.stop(f"numpy.{ufunc.__name__}")
        k = noisy[0]

        def apply(noise: np.ndarray) -> np.ndarray:
            with np.errstate(all="ignore"):
                return ufunc(*others[:k], noise, *others[k + 1 :])

        return self.then(apply)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in (np.argmax, np.argmin):
            return getattr(self, func.__name__)(*args[1:], **kwargs)
        if func is np.where and len(args) == 3 and not isinstance(args[0], NoiseRow):
            mask, one, two = args
            if isinstance(one, NoiseRow) != isinstance(two, NoiseRow):
                mask, fixed = np.array(mask), np.array(two if isinstance(one, NoiseRow) else one)
                if isinstance(one, NoiseRow):
                    return one.then(lambda noise: np.where(mask, noise, fixed))
                return two.then(lambda noise: np.where(mask, fixed, noise))
        return self.stop(f"numpy.{func.__name__}")

    def __getitem__(self, where: Any) -> "NoiseRow":
        if self.ndim == 2 and isinstance(where, (int, np.integer)):
            row = int(where) % self.shape[0]
            view = self.then(lambda noise: noise[row], row)
        elif where is None or where is Ellipsis or (isinstance(where, slice) and where == slice(None)):
            view = self.then(lambda noise: noise[where])
        else:
            return self.stop("an index")
        self.viewed = view.viewed = True
        return view

    def __setitem__(self, where: Any, value: Any) -> None:
        """Set some of the entries to known numbers, as for a token that must not win."""
        if self.viewed or isinstance(where, (tuple, NoiseRow)) or isinstance(value, NoiseRow):
            self.stop("an assignment")
        where, value = (np.array(x) if isinstance(x, np.ndarray) else x for x in (where, value))

        def put(noise: np.ndarray) -> np.ndarray:
            noise = noise.copy()
            noise[where] = value
            return noise

        self.steps, self.even = self.then(put).steps, {}

    def __iter__(self) -> Any:
        if self.ndim != 2:
            self.stop("a loop")
        return (self[k] for k in range(self.shape[0]))

    def __len__(self) -> int:
        return self.shape[0]

    def astype(self, dtype: Any, *more: Any, **options: Any) -> "NoiseRow":
        return self.then(lambda noise: noise.astype(dtype))

    def copy(self, *more: Any) -> "NoiseRow":
        return self.then(lambda noise: noise)

    def argmax(self, axis: int | None = None, *more: Any, keepdims: Any = False, **options: Any) -> Any:
        return self._best(axis, True, keepdims)

    def argmin(self, axis: int | None = None, *more: Any, keepdims: Any = False, **options: Any) -> Any:
        return self._best(axis, False, keepdims)

    def _best(self, axis: int | None, largest: bool, keepdims: Any) -> Any:
        winners = self._winners(axis, largest)
        return np.reshape(winners, (-1,) + (1,) * (self.ndim - 1)) if keepdims is True else winners

    def _winners(self, axis: int | None, largest: bool) -> Any:
        if self.ndim == 1:
            return np.int64(_race(self, self.row or 0, largest))
        if self.ndim != 2 or (axis not in (1, -1) and self.shape[0] > 1):
            self.stop("an argmax")
        winners = [_race(self, k if self.row is None else self.row, largest, k) for k in range(self.shape[0])]
        return np.int64(winners[0]) if axis is None else np.array(winners)

    def __array__(self, *more: Any) -> Any:
        return self.stop("a plain array")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.stop(name)

    def stop(self, what: str) -> Any:
        tracer = active()
        if tracer is None:
            raise RuntimeError("a random number outlived the call that drew it")
        if self.shape[-1] <= MOST_APART:
            tracer.failure = apart = Apart(f"{what} of a row of random numbers at {place()}")
            raise apart
        return tracer.give_up(f"{what} of a row of {self.size} random numbers at {place()}")

    def scores(self, noise: np.ndarray, row: int, form: Callable, at: int | None) -> np.ndarray:
        """Return the scores [n] where the noise of this row is ``noise`` [n], standard exponential."""
        rows = np.full((math.prod(self.source.shape) // len(noise), len(noise)), 0.5)
        rows[row] = form(noise)
        return self._scored(rows, at)

    def even_scores(self, noise: float, form: Callable, at: int | None) -> np.ndarray:
        """Return the scores where all noise is one number; they are computed once for all rows."""
        if (noise, form) not in self.even:
            self.even[noise, form] = self._scored(np.full(self.source.shape, form(np.float64(noise))), None)
        return self.even[noise, form] if at is None else self.even[noise, form][at]

    def _scored(self, rows: np.ndarray, at: int | None) -> np.ndarray:
        value: Any = rows.reshape(self.source.shape).astype(self.source.dtype)
        for step in self.steps:
            value = step(value)
        return np.asarray(value if at is None else value[at], dtype=np.float64)


def _is_not_numpys(ufunc: np.ufunc) -> bool:
    """Return whether a ufunc mixes entries, decides, or comes from elsewhere."""
    return bool(ufunc.signature) or ufunc.types[-1].endswith("?") or ufunc not in NUMPYS


def noise_row(tracer: Any, shape: tuple[int, ...], kind: str, dtype: Any, step: float = 0.0) -> Any:
    """Return a row, or rows, of noise for third-party code: plain numbers in a replay."""
    source = NoiseSource(tracer, shape, kind, np.dtype(dtype), step)
    return tracer.hand_out(source, NoiseRow(source, shape, np.dtype(dtype)))


def _race(noise: NoiseRow, row: int, largest: bool, at: int | None = None) -> int:
    """Return the index that wins the race of a row on this path."""
    source, tracer = noise.source, noise.source.tracer
    if row in source.decided:
        tracer.notice("noise-used-twice", f"noise that decided an argmax decides again at {place()}")
        tracer.give_up(f"the noise of a race is used twice, again at {place()}: no closed form")
    size = noise.shape[-1]
    for form in FORMS[source.kind]:

        def rank(e: Any, form: Callable = form) -> np.ndarray:
            alike = isinstance(e, float)
            scores = noise.even_scores(e, form, at) if alike else noise.scores(e, row, form, at)
            return scores if largest else -scores

        middle = rank(1.0)
        leader = int(np.argmax(middle))
        if _without_noise(rank, middle):
            return leader
        if np.isnan(middle).any() or not rank(0.5)[leader] > rank(2.0)[leader]:
            continue
        looked_at = (hash(rank(e).tobytes()) for e in (1e-9, 1e-3, 0.1, 1.0, 2.1, 6.0, 20.0))
        key = (place(), len(noise.steps), largest, source.kind, source.dtype.str, *looked_at)
        epsilon = max(float(np.finfo(kind).eps) for kind in (source.dtype, noise.dtype))
        grain = GRAIN[source.kind]
        if key not in tracer.exploration.races:
            measured = _weights(rank, middle, leader)
            if measured is None:
                break
            slacks = (max(LEAST_SLACK, steps * epsilon) for steps in STEPS)
            every = levels(measured) / measured.sum()
            fits = next((s for s in slacks if same_at_levels(rank, measured, leader, s, grain, every)), None)
            if fits is None:
                break
            tracer.exploration.races[key] = measured, fits, between(levels(measured))
        weights, slack, hidden = tracer.exploration.races[key]
        tracer.uncertain(slack + (size + FARTHEST) * max(grain, source.step), hidden)
        weights = np.where(weights < max(weights.sum() * NEVER, weights.max() * grain), 0.0, weights)
        drawn = tracer.new_row(weights, partial(source.lead, row, weights, form))
        source.decided[row] = weights, form, drawn.base
        return drawn.base
    if size <= MOST_APART:
        noise.stop("an argmax")
    return tracer.give_up(
        f"the argmax of a row at {place()} is not a race of exponential or Gumbel noise: no closed form"
    )


def _without_noise(rank: Callable, middle: np.ndarray) -> bool:
    """Return whether the scores are the same whatever the noise is.

    That is so of a residual without any mass, in rows that nobody reads.
    """
    if not np.array_equal(rank(LARGEST), middle, equal_nan=True):
        return False
    ends = np.geomspace(SMALLEST, LARGEST, len(middle))
    return all(np.array_equal(rank(e), middle, equal_nan=True) for e in (SMALLEST, 0.3, ends, ends[::-1]))


def _weights(rank: Callable, middle: np.ndarray, leader: int) -> np.ndarray | None:
    """Return the noise at which each index has the score that the leader has at 1; None if there is no race.

    It is 0 for an index whose score is fixed, and loses.
    """
    still = np.all([rank(e) == middle for e in (1e-6, 0.3, 3.0, 30.0)], axis=0)
    worst = rank(LARGEST)[~still].min()
    if still[leader] or (still.any() and middle[still].max() > worst):
        return None
    low, high = (np.full(len(middle), x).view(np.int64) for x in (SMALLEST, LARGEST))
    edges = []
    for beyond in (np.less, np.less_equal):
        begin, end = low.copy(), high.copy()
        while int((end - begin).max()) > 1:
            between = begin + (end - begin) // 2
            past = beyond(rank(between.view(np.float64)), middle[leader])
            begin, end = np.where(past, begin, between), np.where(past, between, end)
        edges.append(end.view(np.float64))
    return np.where(still, 0.0, (edges[0] + edges[1]) / 2)


def levels(weights: np.ndarray) -> np.ndarray:
    """Return the winner's noise at which the law of a race is checked, in multiples of its mean.

    No gap between two of them is likelier than 1/32.
    """
    scatter = zlib.crc32(weights.tobytes()) / 2.0**32
    even = -np.log1p(-(np.arange(GAPS) + scatter) / GAPS)
    rare = [10.0 ** np.linspace(-12, -2, 11), np.linspace(4.5, 40, 60)]
    return np.sort(np.concatenate([*rare, even])) * (1 + scatter / GAPS)


def between(at: np.ndarray) -> float:
    """Return the probability that two contestants are between the same two levels, the first of all among them."""
    edges = np.concatenate([[0.0], at, [np.inf]])
    wide = np.diff(edges)
    alone = np.exp(-wide[:-1]) * (1 + wide[:-1])
    return float((np.exp(-edges[:-2]) * (1 - alone)).sum() + np.exp(-edges[-2]))


def same_at_levels(
    rank: Callable, weights: np.ndarray, leader: int, slack: float, grain: float, at: np.ndarray
) -> bool:
    """Return whether all pass the leader's score at the same multiple of their weights.

    grain: of a uniform that the noise is made of, which is coarse where noise is large; 0 of other noise.
    at: the levels, as multiples of the weights.
    """
    running = weights > 0
    for level in at:
        noise = level * weights
        if noise.max() > LARGEST or (grain and noise[leader] > FARTHEST):
            break
        score = rank(noise)[leader]
        apart = grain * (1 + level)  # of this noise, and of that at which the weights were measured
        if grain:
            running = running & (noise < FARTHEST)
            apart = apart + grain * (np.exp(np.minimum(noise, FARTHEST)) + weights * np.exp(noise[leader]))
        better, worse = rank(np.maximum(noise * (1 - slack) - apart, SMALLEST)), rank(noise * (1 + slack) + apart)
        tiny = noise < SMALLEST * 10 + 4 * apart
        if not np.all((better > score) & (worse < score) | ~running | tiny):
            return False
    return True
