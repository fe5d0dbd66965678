"""NumPy arrays of random numbers: object arrays of Traced elements, with NumPy's functions followed.

NumPy runs comparisons, arithmetic, cumulative sums and searches of object arrays element by element in Python,
so most code needs no more than this; what is special here is what object arrays lack (log, astype, argmax).
"""

import importlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from .monotone import applied
from .numbers import REFLECTED, UFUNCS, Traced
from .places import constant_key, place
from .race import race
from .sources import points_at
from .tracer import Tracer, active

COMPARISONS = {ufunc: name for name, ufunc in UFUNCS.items() if name in ("lt", "le", "gt", "ge", "eq", "ne")}
ARITHMETIC = {UFUNCS[name]: name for name in ("add", "sub", "mul", "truediv", "pow")}
UMATH = "numpy._core.umath" if hasattr(np, "_core") else "numpy.core.umath"
FINITE = {np.isnan: False, np.isinf: False, np.isfinite: True}
NUMPYS = {x for x in vars(importlib.import_module(UMATH)).values() if isinstance(x, np.ufunc)}
"""NumPy's own functions of elements. Others may do anything between the points at which they are looked at."""


Array: Any = np.ndarray
"""Any: what replaces it returns stand-ins, which NumPy's stubs of these methods do not allow."""


class TracedArray(Array):
    """An object array of random numbers that answers as a float array would."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return ufunc_call(ufunc, method, inputs, options)

    def __array_function__(self, func, types, args, kwargs):
        if func is np.searchsorted and isinstance(args[1], TracedArray):
            cuts, values = args[0], np.asarray(args[1])
            places = [np.searchsorted(cuts, x, *args[2:], **kwargs) for x in values.flat]
            return np.array(places, dtype=np.int64).reshape(values.shape)
        return super().__array_function__(func, types, args, kwargs)

    def astype(self, dtype: Any, *arguments: Any, **options: Any) -> Any:
        if np.dtype(dtype) == object:
            return super().astype(dtype, *arguments, **options)
        return traced_array([x.astype(dtype) if isinstance(x, Traced) else dtype(x) for x in self.flat], self.shape)

    def argmax(self, axis: int | None = None, out: None = None, keepdims: Any = False) -> Any:
        return along_axis(self, axis, lambda row: race(list(row), largest=True), keepdims is True)

    def argmin(self, axis: int | None = None, out: None = None, keepdims: Any = False) -> Any:
        return along_axis(self, axis, lambda row: race(list(row), largest=False), keepdims is True)

    def item(self, *where: int) -> Any:
        return np.asarray(self).item(*where)


def traced_array(numbers: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Return an array of these numbers: a plain one if none of them is random."""
    if not any(isinstance(x, Traced) for x in numbers):
        return np.array(numbers).reshape(shape)
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array.reshape(shape).view(TracedArray)


def along_axis(array: Any, axis: int | None, decide: Callable[[Any], int], keepdims: bool = False) -> Any:
    rows = np.asarray(array)
    if axis is None or rows.ndim == 1:
        winner = np.int64(decide(rows.ravel()))
        return np.full((1,) * rows.ndim, winner) if keepdims else winner
    rows = np.moveaxis(rows, axis, -1)
    answers = [decide(rows[where]) for where in np.ndindex(rows.shape[:-1])]
    winners = np.array(answers, dtype=np.int64).reshape(rows.shape[:-1])
    return np.expand_dims(winners, axis) if keepdims else winners


def ufunc_call(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    tracer = active()
    if tracer is None:
        raise RuntimeError("a random number outlived the call that drew it")
    options = {key: value for key, value in options.items() if value is not None}
    if method == "__call__" and not options:
        return elementwise(ufunc, inputs)
    if method in ("reduce", "accumulate") and ufunc is np.add and not set(options) - {"axis", "dtype", "keepdims"}:
        plain = [np.asarray(x) if isinstance(x, np.ndarray) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **{k: v for k, v in options.items() if k != "dtype"})
    what = f"numpy.{ufunc.__name__}" + (f".{method}" if method != "__call__" else "")
    return tracer.give_up(f"{what} with {', '.join(options) or 'these arguments'} of random numbers at {place()}")


def elementwise(ufunc: np.ufunc, inputs: Sequence[Any]) -> Any:
    """Return a ufunc of arrays in which some elements are random numbers."""
    if not any(getattr(x, "ndim", 0) for x in inputs):  # loops over a row ask so for each entry
        return _one(ufunc, [x[()] if isinstance(x, np.ndarray) else x for x in inputs])
    tracer = active()
    if tracer is not None and (looked_up := _looked_up(tracer, ufunc, inputs)) is not None:
        return looked_up
    arrays = [_as_objects(x) for x in inputs]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    columns = [np.broadcast_to(a, shape).ravel() for a in arrays]
    results = [_one(ufunc, operands) for operands in zip(*columns)]
    return traced_array(results, shape)


def _looked_up(tracer: Tracer, ufunc: np.ufunc, inputs: Sequence[Any]) -> Any:
    """Return the comparisons of one random number with a row that is kept whole; None for anything else."""
    rows = [
        x
        for x in inputs
        if isinstance(x, np.ndarray) and not isinstance(x, TracedArray) and x.size >= tracer.whole_from
    ]
    if len(rows) != 1 or rows[0].dtype == object:
        return None
    singles = [x for x in inputs if isinstance(x, Traced) or (isinstance(x, TracedArray) and x.size == 1)]
    if len(singles) != 1 or len(inputs) != 2 or COMPARISONS.get(ufunc) not in ("lt", "le", "gt", "ge"):
        return tracer.give_up(f"a random number and a row in numpy.{ufunc.__name__} at {place()}") if singles else None
    number = singles[0] if isinstance(singles[0], Traced) else singles[0].item()
    cuts, first = rows[0].ravel(), inputs[0] is singles[0]
    if not isinstance(number, Traced):
        return None
    weak = type(number.at(number.source.low)) is float and singles[0] is number  # such a number takes the row's type

    def true(x: Any) -> np.ndarray:
        x = x.astype(cuts.dtype) if weak else x
        return ufunc(x, cuts) if first else ufunc(cuts, x)

    ascending = (ufunc in (np.greater, np.greater_equal)) == first
    return compared_with_row(tracer, number, true, ascending, lambda: cuts).reshape(rows[0].shape)


def compared_with_row(
    tracer: Tracer, number: Traced, true: Callable[[Any], np.ndarray], ascending: bool, cuts: Callable[[], Any]
) -> np.ndarray:
    """Compare a random number with each cut of a row at once.

    true(x): the comparisons of numbers [n]. ascending: whether they are true where the cut is passed.
    """
    tracer.look_up(number, true if ascending else lambda x: ~true(x), cuts)
    return true(points_at(number, np.full(1, number.source.low)))


def place_in_row(number: Any, row: Callable[[], Any], side: str) -> int | None:
    """Return the place of a random number in a row of cuts that is kept whole; None if it is found cut by cut."""
    tracer = active()
    if tracer is None or not isinstance(number, Traced):
        return None
    above = np.greater if side == "left" else np.greater_equal

    @cache
    def cuts() -> tuple[np.ndarray, np.ndarray | None]:
        """Return the cuts, and how many there are before each; of equal ones, if they ascend, the first."""
        every = row()
        if every.ndim != 1 or len(every) < 2 or not (every[1:] >= every[:-1]).all():
            return every, None
        first = np.flatnonzero(np.append(True, every[1:] > every[:-1]))
        return every[first], np.append(first, len(every))

    return tracer.look_up(number, lambda x: above(x, cuts()[0]), lambda: cuts()[0], lambda: cuts()[1])


def _searched(plain: Callable) -> Callable:
    """Return numpy.searchsorted that follows one random number."""

    def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
        number = v.item() if isinstance(v, TracedArray) and v.size == 1 else v
        place = None if sorter is not None else place_in_row(number, lambda: np.asarray(a), side)
        if place is None:
            return plain(a, v, side, sorter)
        return np.int64(place) if number is v else np.full(v.shape, np.int64(place))

    return searchsorted


class RowArray(Array):
    """A row of a wide problem, or what is computed from it: a plain array whose ``searchsorted`` is followed."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if array.ndim == 0 else super().__array_wrap__(array, context)  # numbers, as of plain arrays

    def searchsorted(self, v: Any, side: Any = "left", sorter: Any = None) -> Any:
        return np.searchsorted(np.asarray(self), v, side, sorter)


def install() -> None:
    """Replace numpy.searchsorted."""
    np.searchsorted = _searched(np.searchsorted)


def _as_objects(x):
    if isinstance(x, Traced):
        array = np.empty((), dtype=object)
        array[()] = x
        return array
    array = np.asarray(x)
    if array.dtype == object:
        return array
    # Elements have the NumPy type that they had: 0.1 as float32 must stay float32.
    plain_scalar = array.ndim == 0 and not isinstance(x, (np.ndarray, np.generic))
    objects = np.empty(array.shape, dtype=object)
    for where in np.ndindex(array.shape):
        objects[where] = x if plain_scalar else array[where]
    return objects


def _one(ufunc: np.ufunc, operands: Sequence[Any]) -> Any:
    """Return one element of what a ufunc returns: it has to be monotone in the one random operand."""
    random = [x for x in operands if isinstance(x, Traced)]
    if not random:
        return ufunc(*operands)
    number, tracer = random[0], random[0].source.tracer
    if len(random) > 1:
        tracer.give_up(f"two random numbers meet in numpy.{ufunc.__name__} at {place()}")
    if ufunc in FINITE:
        return FINITE[ufunc]
    where = next(k for k, x in enumerate(operands) if x is number)
    if ufunc in COMPARISONS:
        name = COMPARISONS[ufunc]
        return number.compare(operands[1 - where], REFLECTED.get(name, name) if where else name)
    if ufunc in ARITHMETIC:
        return number._binary(operands[1 - where], ARITHMETIC[ufunc], where == 1)
    others = (*operands[:where], *operands[where + 1 :])
    if ufunc not in NUMPYS or ufunc.nout > 1 or not all(map(np.isscalar, others)):
        tracer.give_up(f"{ufunc.__name__} of a random number at {place()} is not followed")

    def apply(value: Any) -> Any:
        return ufunc(*operands[:where], value, *operands[where + 1 :])

    return applied(number, apply, f"numpy.{ufunc.__name__}", ufunc.__name__, where, *map(constant_key, others))
