"""Hooks of ``numpy.random``: its functions, RandomState and Generator are followed while a function is traced."""

import ctypes
import math
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ..field import rational
from .arrays import traced_array
from .generators import Followed, followed, guarded, named_as, seeding
from .numbers import handed_out
from .places import place
from .sources import Exponential, Lattice, in_double_precision
from .tracer import LookUp, Tracer, active, refuse

PlainGenerator: Any = np.random.Generator
PlainRandomState: Any = np.random.RandomState
"""Any: the traced classes return stand-ins, which NumPy's stubs of these methods do not allow."""

SCRATCH_SEED = 0
"""Seed of generators whose numbers are never used."""

SUM_OFF = 1e-8
"""How far from 1 the sum of a row is that ``choice`` takes without a doubt: NumPy's limit is 1.49e-8."""

SINGLE = 2.0**-22
"""Steps of noise in single precision, at least.

Uniforms have 2^-24. Exponentials, of 23 bits and a factor up to 8, are 0 with probability 2^-23.
"""


def _shaped(size, draw, of_array):
    """Return one number, or an array of them whose elements have NumPy's scalar types."""
    if size is None:
        return draw(False)
    shape = _shape(size)
    return of_array([draw(True) for _ in range(math.prod(shape))], shape)


def _shape(size) -> tuple[int, ...]:
    return () if size is None else (size,) if np.ndim(size) == 0 else tuple(size)


def _step(dtype) -> float:
    return SINGLE if np.dtype(dtype) == np.float32 else 0.0


def _uniforms(tracer: Tracer, size, dtype=np.float64):
    if (noise := tracer.noise(_shape(size), "uniform", dtype, _step(dtype))) is not None:
        return noise
    if size is None and tracer.plain_call is not None and np.dtype(dtype) == np.float64:
        return tracer.plain_number(in_double_precision)
    bits = 24 if np.dtype(dtype) == np.float32 else 53
    kind = np.float32 if bits == 24 else np.float64

    def draw(in_array):
        exact = kind if in_array else float  # a single number comes as a Python float in either precision
        return handed_out(Lattice(tracer, bits, lambda k: exact(k * 2.0**-bits), exact.__name__))

    return _shaped(size, draw, traced_array)


def _exponentials(tracer: Tracer, size, dtype=np.float64):
    if (noise := tracer.noise(_shape(size), "exponential", dtype, _step(dtype))) is not None:
        return noise
    kind = np.dtype(dtype).type
    epsilon = float(np.finfo(kind).eps)
    return _shaped(size, lambda in_array: handed_out(Exponential(tracer, kind, kind.__name__, epsilon)), traced_array)


def _weighted(tracer: Tracer, weights, look_up: LookUp, size, value):
    """Return indices drawn from whole weights, turned into values one by one. weights: see ``draw_row``."""
    return _shaped(
        size,
        lambda in_array: value(tracer.draw_row(weights, look_up)),
        lambda xs, s: np.array(xs).reshape(s + np.shape(xs[0])) if xs else np.array(xs),
    )


def _looked_up(tracer: Tracer, p: np.ndarray) -> np.ndarray:
    """Return the weights that ``choice`` draws with: it looks up a uniform of 53 bits in rounded sums."""
    tracer.lattices.add(53)
    return _weights_of(p.tobytes())


@lru_cache(8)  # replays of a path draw from the same rows again
def _weights_of(row: bytes) -> np.ndarray:
    edges = np.frombuffer(row).cumsum()
    edges /= edges[-1]
    edges *= 2.0**53
    np.ceil(edges, out=edges)
    weights = edges.copy()
    weights[1:] -= edges[:-1]
    weights.flags.writeable = False
    return weights


def _is_row(p: Any, size: int) -> bool:
    """Check whether ``choice`` certainly takes this row: of float64, no entry below 0, and a sum of 1."""
    row = type(p) is np.ndarray and p.dtype == np.float64 and p.shape == (size,) and size > 0
    return row and bool(p.min() >= 0 and abs(p.sum() - 1) < SUM_OFF)


def _broadcast(first, second, size):
    """Return two parameters as NumPy takes them, and the size of what is drawn."""
    first, second = (float(x) if np.ndim(x) == 0 else np.asarray(x, dtype=np.float64) for x in (first, second))
    shape = np.broadcast_shapes(np.shape(first), np.shape(second))
    return first, second, (shape or None) if size is None else size


class _Traced(Followed):
    """A base of the traced Generator and the traced RandomState."""

    @followed
    def uniform(self, tracer, low=0.0, high=1.0, size=None):
        low, high, size = _broadcast(low, high, size)
        return low + (high - low) * _uniforms(tracer, size)

    @followed
    def standard_exponential(self, tracer, size=None, dtype=np.float64, method="zig", out=None):
        _no_out(tracer, out)
        return _exponentials(tracer, size, dtype)

    @followed
    def exponential(self, tracer, scale=1.0, size=None):
        _, scale, size = _broadcast(0.0, scale, size)
        return scale * _exponentials(tracer, size)

    @followed
    def gumbel(self, tracer, loc=0.0, scale=1.0, size=None):
        loc, scale, size = _broadcast(loc, scale, size)
        # NumPy draws loc - scale * log(-log(1 - u)); with e = -log(1 - u) standard exponential that is -log(e).
        return loc + scale * -np.log(_exponentials(tracer, size))

    @followed
    def multinomial(self, tracer, n, pvals, size=None):
        self._scratch().multinomial(n, pvals, size)
        if np.ndim(pvals) != 1 or size is not None or int(n) > 8:
            tracer.give_up(f"a multinomial draw of {n} with rows or a size at {place()}")
        weights = np.array(pvals, dtype=float)
        weights[-1] = max(1 - math.fsum(weights[:-1]), 0.0)  # the last category takes what is left, as in NumPy
        counts = np.zeros(len(weights), dtype=np.int64)
        for _ in range(int(n)):
            counts[tracer.draw_row(weights, (53, "float64"))] += 1  # it subtracts one after the other from 1
        return counts

    @followed
    def binomial(self, tracer, n, p, size=None):
        self._scratch().binomial(n, p, size)
        if np.ndim(n) or int(n) > 8:
            tracer.give_up(f"a binomial draw of {n} at {place()}")
        shape = np.shape(p) if size is None else _shape(size)
        probabilities = [rational(x) for x in np.broadcast_to(p, shape).ravel()]
        drawn = [sum(1 - tracer.choose([q, 1 - q]) for _ in range(int(n))) for q in probabilities]
        return np.array(drawn, dtype=np.int64).reshape(shape) if shape else drawn[0]

    @followed
    def choice(self, tracer, a, size=None, replace=True, p=None, *more, **options):
        if size is None and type(a) is int and not more and not options and _is_row(p, a):
            row: Any = p  # its own check of a whole row takes longer than most calls
            return _scalar_of(self._plain)(tracer.draw_row(lambda: _looked_up(tracer, row), (53, "float64")))
        sample = self._scratch().choice(a, size, replace, p, *more, **options)
        pool: Any = range(int(a)) if np.ndim(a) == 0 else np.asarray(a)
        if (isinstance(pool, np.ndarray) and pool.ndim != 1) or more or options.get("axis"):
            tracer.give_up(f"choice among rows at {place()}")
        if not replace and size is not None and np.size(sample) > 1:
            tracer.give_up(f"several choices without replacement at {place()}")

        @cache
        def weights() -> Any:
            return np.ones(len(pool)) if p is None else _looked_up(tracer, np.asarray(p, dtype=float))

        exact = type(sample) if size is None else None
        look_up = None if p is None else (53, "float64")
        return _weighted(
            tracer, weights, look_up, size, lambda k: exact(pool[k]) if exact in (int, np.int64) else pool[k]
        )

    def _scratch(self) -> Any:
        """Return a plain generator whose numbers are never used: it only lets NumPy check the arguments."""
        return _scratch_of(self._plain)


@cache
def _scratch_of(plain: Any) -> Any:
    return plain(np.random.PCG64(SCRATCH_SEED))


@cache
def _scalar_of(plain: Any) -> type:
    """Return the type of one index that a generator chooses."""
    return type(_scratch_of(plain).choice(1))


def _no_out(tracer, out):
    if out is not None:
        tracer.give_up(f"out= at {place()}: numbers written into a plain array cannot be followed")


@named_as(PlainGenerator)
class TracedGenerator(_Traced, PlainGenerator):
    """A numpy.random.Generator whose numbers the tracer hands out while a function is traced."""

    _plain, _stream = PlainGenerator, "pcg64"

    def __init__(self, bit_generator: np.random.BitGenerator):
        tracer = active()
        if tracer is not None:
            tracer.give_up(f"a numpy Generator is made from a bit generator at {place()}: its seed is not known")
        PlainGenerator.__init__(self, bit_generator)

    @property
    def bit_generator(self) -> np.random.BitGenerator:
        tracer = active()
        if tracer is not None:
            tracer.give_up(f"the bit generator itself is used at {place()}")
        return super().bit_generator

    def spawn(self, n_children: int) -> list[Any]:
        plain = PlainGenerator(super().bit_generator)
        return [followed_generator(child) for child in plain.spawn(n_children)]

    @followed
    def random(self, tracer: Tracer, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        _no_out(tracer, out)
        return _uniforms(tracer, size, dtype)

    @followed
    def integers(self, tracer: Tracer, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64,
                 endpoint: bool = False) -> Any:  # fmt: skip
        return _integers(tracer, low, high, size, endpoint, dtype)


@named_as(PlainRandomState)
class TracedRandomState(_Traced, PlainRandomState):
    """A numpy.random.RandomState that is followed, and with it the global functions of numpy.random."""

    _plain, _stream, _watched = PlainRandomState, "mt19937", True

    __init__ = seeding(PlainRandomState.__init__, "seed", "numpy.random.RandomState(seed)")
    seed = seeding(PlainRandomState.seed, "seed", "numpy.random.seed")
    set_state = seeding(PlainRandomState.set_state, "state", "numpy.random.set_state")

    @followed
    def random_sample(self, tracer: Tracer, size: Any = None) -> Any:
        return _uniforms(tracer, size)

    random = random_sample

    def rand(self, *shape: int) -> Any:
        return self.random_sample(shape or None)

    @followed
    def randint(self, tracer: Tracer, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        return _integers(tracer, low, high, size, False, dtype)


def _integers(tracer, low, high, size, endpoint, dtype):
    low, high = (0, low) if high is None else (low, high)
    if np.ndim(low) or np.ndim(high):
        tracer.give_up(f"whole numbers drawn between arrays of bounds at {place()}")
    count = int(high) - int(low) + int(endpoint)
    if count < 1:
        raise ValueError("low >= high")
    first, kind = int(low), np.dtype(dtype).type

    def draw(in_array):
        exact = kind if in_array or dtype is not int else int  # RandomState gives a single number as Python's
        return exact(first + tracer.pick(count))

    return _shaped(size, draw, traced_array)


plain_default_rng = np.random.default_rng


def default_rng(seed: Any = None) -> Any:
    """Return numpy.random.default_rng(seed), traced. One that is seeded during a call is no chance at all."""
    if isinstance(seed, PlainGenerator):
        return seed
    tracer = active()
    if tracer is not None and isinstance(seed, (np.random.SeedSequence, np.random.BitGenerator)):
        tracer.give_up(f"default_rng of a {type(seed).__name__} at {place()}: its seed is not known")
    generator = followed_generator(plain_default_rng(SCRATCH_SEED if seed is None and tracer else seed))
    if seed is not None:
        generator._seeded("numpy.random.default_rng(seed)", seed)
    return generator


def followed_generator(plain: Any) -> Any:
    """Return a traced generator in place of a plain one that is known to be chance."""
    generator = PlainGenerator.__new__(TracedGenerator)
    PlainGenerator.__init__(generator, plain.bit_generator)
    return generator


def _unfollowed(name: str) -> Any:
    def method(self: Followed, tracer: Tracer, *arguments: Any, **options: Any) -> None:
        tracer.give_up(f"numpy.random's {name} at {place()} is not followed")

    method.__name__ = name
    return followed(method)


PASSIVE = {"bit_generator", "spawn", "seed", "set_state"}

BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def _unread(plain: Any) -> Any:
    """Return a class of bit generators whose raw bits and state cannot be read by third-party code unnoticed."""
    name = plain.__name__

    def refused(part: str) -> None:
        refuse(f"{name}.{part} at {place()} is not followed")

    def state(self: Any) -> Any:
        refused("state")
        return plain.state.__get__(self)

    raw = guarded(plain.random_raw, lambda: refused("random_raw"))
    members = {"random_raw": raw, "state": property(state, plain.state.__set__), "__module__": plain.__module__}
    return type(name, (plain,), members)


def install() -> None:
    """Replace numpy.random's classes and functions. What was imported before stays as it was."""
    aliases = {"random": "random_sample", "ranf": "random_sample", "sample": "random_sample"}
    for kind, base in ((TracedGenerator, PlainGenerator), (TracedRandomState, PlainRandomState)):
        for name in dir(base):
            ours = any(name in c.__dict__ for c in (kind, _Traced, Followed))
            if not name.startswith("_") and callable(getattr(base, name)) and not ours and name not in PASSIVE:
                setattr(kind, name, _unfollowed(name))
    for name in BIT_GENERATORS:
        setattr(np.random, name, _unread(getattr(np.random, name)))
    shared = TracedRandomState()
    np.random.default_rng = default_rng
    np.random.Generator = TracedGenerator
    np.random.RandomState = TracedRandomState
    for name in dir(np.random):
        if callable(getattr(PlainRandomState, aliases.get(name, name), None)) and not name.startswith("_"):
            setattr(np.random, name, getattr(shared, aliases.get(name, name)))


def _read_state() -> tuple[int, int]:
    _, key, position, *_ = np.random.mtrand._rand.get_state(legacy=True)
    return int(position), int(key[0])


_GLOBAL = np.random.mtrand._rand._bit_generator
_WORDS = (ctypes.c_uint32 * 625).from_address(_GLOBAL.ctypes.state_address)  # 624 words and the position among them
_IN_PLACE = (_WORDS[624], _WORDS[0]) == _read_state()


def untraced_state() -> tuple[int, int]:
    """Return a fingerprint of NumPy's global generator: it moves if something draws past the hooks.

    It is asked for twice a call, so it is read in place: in 1 microsecond instead of 160.
    """
    if _IN_PLACE and np.random.mtrand._rand._bit_generator is _GLOBAL:
        return _WORDS[624], _WORDS[0]
    return _read_state()
