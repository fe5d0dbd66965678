"""``numpy.random``: global functions, RandomState and Generator, followed while a function is traced."""

import math
from contextlib import contextmanager

import numpy as np

from ..field import rational
from .arrays import traced_array
from .numbers import handed_out
from .sources import Exponential, Lattice
from .tracer import Followed, Tracer, active, place

SCRATCH = 0  # the seed of generators that only check arguments: their numbers are never used


def _shaped(size, draw, of_array):
    """One number, or an array of them; array elements have NumPy's scalar types, as they would."""
    if size is None:
        return draw(False)
    shape = (size,) if np.ndim(size) == 0 else tuple(size)
    return of_array([draw(True) for _ in range(math.prod(shape))], shape)


def _uniforms(tracer: Tracer, size, dtype=np.float64):
    bits = 24 if np.dtype(dtype) == np.float32 else 53
    kind = np.float32 if bits == 24 else np.float64

    def draw(in_array):
        exact = kind if in_array else float  # a single number comes as a Python float in either precision
        return handed_out(Lattice(tracer, bits, lambda k: exact(k * 2.0**-bits), exact.__name__))

    return _shaped(size, draw, traced_array)


def _exponentials(tracer: Tracer, size, dtype=np.float64):
    kind = np.dtype(dtype).type
    epsilon = float(np.finfo(kind).eps)
    return _shaped(size, lambda in_array: handed_out(Exponential(tracer, kind, kind.__name__, epsilon)), traced_array)


def _weighted(tracer: Tracer, weights, size, value):
    """Indices drawn from whole weights, turned into values one by one."""
    exact = [rational(w) for w in weights]
    total = sum(exact)
    probabilities = [w / total for w in exact]
    return _shaped(
        size,
        lambda in_array: value(tracer.choose(probabilities)),
        lambda xs, s: np.array(xs).reshape(s + np.shape(xs[0])) if xs else np.array(xs),
    )


def _broadcast(first, second, size):
    """Two parameters as NumPy takes them (floats, or arrays of float64), and the size of what is drawn."""
    first, second = (float(x) if np.ndim(x) == 0 else np.asarray(x, dtype=np.float64) for x in (first, second))
    shape = np.broadcast_shapes(np.shape(first), np.shape(second))
    return first, second, (shape or None) if size is None else size


def _gumbel(noise, loc, scale):
    # NumPy draws loc - scale * log(-log(1 - u)); with e = -log(1 - u) standard exponential that is -log(e).
    return loc + scale * -np.log(noise)


class _Traced(Followed):
    """What the traced Generator and the traced RandomState have in common."""

    def uniform(self, low=0.0, high=1.0, size=None):
        tracer = self._tracer()
        if tracer is None:
            return super().uniform(low, high, size)
        low, high, size = _broadcast(low, high, size)
        return low + (high - low) * _uniforms(tracer, size)

    def standard_exponential(self, size=None, dtype=np.float64, method="zig", out=None):
        tracer = self._tracer()
        if tracer is None:
            options = {} if isinstance(self, np.random.RandomState) else {"dtype": dtype, "method": method, "out": out}
            return super().standard_exponential(size, **options)
        _no_out(tracer, out)
        return _exponentials(tracer, size, dtype)

    def exponential(self, scale=1.0, size=None):
        tracer = self._tracer()
        if tracer is None:
            return super().exponential(scale, size)
        _, scale, size = _broadcast(0.0, scale, size)
        return scale * _exponentials(tracer, size)

    def gumbel(self, loc=0.0, scale=1.0, size=None):
        tracer = self._tracer()
        if tracer is None:
            return super().gumbel(loc, scale, size)
        loc, scale, size = _broadcast(loc, scale, size)
        return _gumbel(_exponentials(tracer, size), loc, scale)

    def multinomial(self, n, pvals, size=None):
        tracer = self._tracer()
        if tracer is None:
            return super().multinomial(n, pvals, size)
        self._scratch().multinomial(n, pvals, size)
        weights = [rational(p) for p in np.asarray(pvals, dtype=float).ravel()[:-1]]
        weights.append(max(1 - sum(weights), rational(0)))  # the last category takes what is left, as in NumPy
        if np.ndim(pvals) != 1 or size is not None or int(n) > 8:
            tracer.give_up(f"a multinomial draw of {n} with rows or a size at {place()}")
        counts = np.zeros(len(weights), dtype=np.int64)
        total = sum(weights)
        for _ in range(int(n)):
            counts[tracer.choose([w / total for w in weights])] += 1
        return counts

    def binomial(self, n, p, size=None):
        tracer = self._tracer()
        if tracer is None:
            return super().binomial(n, p, size)
        self._scratch().binomial(n, p, size)
        if np.ndim(n) or int(n) > 8:
            tracer.give_up(f"a binomial draw of {n} at {place()}")
        shape = np.shape(p) if size is None else (size,) if np.ndim(size) == 0 else tuple(size)
        probabilities = [rational(x) for x in np.broadcast_to(p, shape).ravel()]
        drawn = [sum(1 - tracer.choose([q, 1 - q]) for _ in range(int(n))) for q in probabilities]
        return np.array(drawn, dtype=np.int64).reshape(shape) if shape else drawn[0]

    def choice(self, a, size=None, replace=True, p=None, *more, **options):
        tracer = self._tracer()
        if tracer is None:
            return super().choice(a, size, replace, p, *more, **options)
        sample = self._scratch().choice(a, size, replace, p, *more, **options)  # raises what NumPy raises
        pool = np.arange(a) if np.ndim(a) == 0 else np.asarray(a)
        if pool.ndim != 1 or more or options.get("axis"):
            tracer.give_up(f"choice among rows at {place()}")
        if not replace and size is not None and np.size(sample) > 1:
            tracer.give_up(f"several choices without replacement at {place()}")
        weights = [1] * len(pool) if p is None else np.asarray(p, dtype=float)
        exact = type(sample) if size is None else None
        return _weighted(tracer, weights, size, lambda k: exact(pool[k]) if exact in (int, np.int64) else pool[k])


def _no_out(tracer, out):
    if out is not None:
        tracer.give_up(f"out= at {place()}: numbers written into a plain array cannot be followed")


class TracedGenerator(_Traced, np.random.Generator):
    """numpy.random.Generator; while a function is traced its numbers are handed out by the tracer."""

    def __init__(self, bit_generator):
        tracer = active()
        if tracer is not None and not FRESH:
            tracer.give_up(f"a numpy Generator is made from a bit generator at {place()}: its seed is not known")
        super().__init__(bit_generator)

    @property
    def bit_generator(self):
        tracer = active()
        if tracer is not None and not FRESH:
            tracer.give_up(f"the bit generator itself is used at {place()}")
        return super().bit_generator

    def spawn(self, n_children):
        with _fresh():
            return super().spawn(n_children)

    def _scratch(self):
        return PlainGenerator(np.random.PCG64(SCRATCH))

    def random(self, size=None, dtype=np.float64, out=None):
        tracer = self._tracer()
        if tracer is None:
            return super().random(size, dtype, out)
        _no_out(tracer, out)
        return _uniforms(tracer, size, dtype)

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):
        tracer = self._tracer()
        if tracer is None:
            return super().integers(low, high, size, dtype, endpoint)
        return _integers(tracer, low, high, size, endpoint, dtype)


class TracedRandomState(_Traced, np.random.RandomState):
    """numpy.random.RandomState, and with it the global functions of numpy.random."""

    def __init__(self, seed=None):
        super().__init__(seed)
        if seed is not None:
            self._seeded("numpy.random.RandomState(seed)")

    def _scratch(self):
        return PlainRandomState(SCRATCH)

    def seed(self, seed=None):
        super().seed(seed)
        if seed is not None:
            self._seeded("numpy.random.seed")

    def set_state(self, state):
        super().set_state(state)
        self._seeded("numpy.random.set_state")

    def random_sample(self, size=None):
        tracer = self._tracer()
        return super().random_sample(size) if tracer is None else _uniforms(tracer, size)

    random = random_sample

    def rand(self, *shape):
        return self.random_sample(shape or None)

    def randint(self, low, high=None, size=None, dtype=int):
        tracer = self._tracer()
        if tracer is None:
            return super().randint(low, high, size, dtype)
        return _integers(tracer, low, high, size, False, dtype)


def _integers(tracer, low, high, size, endpoint, dtype):
    low, high = (0, low) if high is None else (low, high)
    if np.ndim(low) or np.ndim(high):
        tracer.give_up(f"whole numbers drawn between arrays of bounds at {place()}")
    count = int(high) - int(low) + int(endpoint)
    if count < 1:
        raise ValueError("low >= high")
    kind = np.dtype(dtype).type
    return _shaped(size, lambda in_array: kind(int(low) + tracer.pick(count)), lambda xs, s: np.array(xs).reshape(s))


PlainGenerator, PlainRandomState = np.random.Generator, np.random.RandomState
plain_default_rng = np.random.default_rng


def default_rng(seed=None):
    """numpy.random.default_rng with a traced Generator; one that is seeded during a call is no chance at all."""
    if isinstance(seed, PlainGenerator):
        return seed
    tracer = active()
    if tracer is not None and isinstance(seed, (np.random.SeedSequence, np.random.BitGenerator)):
        tracer.give_up(f"default_rng of a {type(seed).__name__} at {place()}: its seed is not known")
    with _fresh():
        generator = TracedGenerator(plain_default_rng(SCRATCH if seed is None and tracer else seed).bit_generator)
    if seed is not None:
        generator._seeded("numpy.random.default_rng(seed)")
    return generator


FRESH: list[bool] = []
"""Not empty while a generator is made that is known to be chance."""


@contextmanager
def _fresh():
    FRESH.append(True)
    try:
        yield
    finally:
        FRESH.pop()


def _unfollowed(base, name):
    plain = getattr(base, name)

    def method(self, *arguments, **options):
        tracer = self._tracer()
        if tracer is not None:
            tracer.give_up(f"numpy.random's {name} at {place()} is not followed")
        return plain(self, *arguments, **options)

    method.__name__ = name
    return method


PASSIVE = {"bit_generator", "spawn", "get_state", "seed", "set_state"}


def install() -> None:
    """Replace numpy.random's classes and functions; what was imported before keeps the plain ones."""
    aliases = {"random": "random_sample", "ranf": "random_sample", "sample": "random_sample"}
    for kind, base in ((TracedGenerator, PlainGenerator), (TracedRandomState, PlainRandomState)):
        for name in dir(base):
            ours = any(name in c.__dict__ for c in (kind, _Traced, Followed))
            if not name.startswith("_") and callable(getattr(base, name)) and not ours and name not in PASSIVE:
                setattr(kind, name, _unfollowed(base, name))
    shared = TracedRandomState()
    np.random.default_rng = default_rng
    np.random.Generator = TracedGenerator
    np.random.RandomState = TracedRandomState
    for name in dir(np.random):
        if callable(getattr(PlainRandomState, aliases.get(name, name), None)) and not name.startswith("_"):
            setattr(np.random, name, getattr(shared, aliases.get(name, name)))


def untraced_state():
    """A fingerprint of NumPy's own global generator: it moves if something draws from it past the hooks."""
    _, key, position, *_ = np.random.mtrand._rand.get_state(legacy=True)
    return position, int(key[0])
