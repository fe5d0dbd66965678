"""NumPy arrays that watch in which type is computed with them: in calls that decide nothing else (``arithmetic``)."""

from typing import Any

import numpy as np

from .arithmetic import TYPES, coarser
from .tracer import active

EXACT_UFUNCS = {
    "maximum", "minimum", "fmax", "fmin", "negative", "positive", "absolute", "fabs", "floor", "ceil", "trunc", "rint",
    "sign", "isnan", "isinf", "isfinite", "signbit", "less", "less_equal", "greater", "greater_equal", "equal",
    "not_equal", "logical_and", "logical_or", "logical_not",
}  # fmt: skip
PRODUCTS = {"dot", "inner", "vdot", "einsum", "tensordot"}


class WatchedArray(np.ndarray):
    """A row, or what was computed from one; single entries are such arrays, too."""

    is_running_sum = False

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if options.get("out") is not None:
            options["out"] = tuple(map(_plain, options["out"]))
        result = _watched_entry(getattr(ufunc, method)(*map(_plain, inputs), **options))
        if isinstance(result, np.floating):
            return result
        if ufunc.__name__ not in EXACT_UFUNCS:
            _noted(result)
        if (arithmetic := _arithmetic()) is not None and isinstance(result, WatchedArray):
            if ufunc is np.add and method == "accumulate":
                result.is_running_sum = True
            elif ufunc is np.add and method == "__call__" and result.ndim == 0:
                arithmetic.added()
            elif ufunc is np.true_divide and method == "__call__":
                row, total = (getattr(x, "is_running_sum", False) for x in inputs)
                arithmetic.in_order |= total and not row
        return result

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        result = super().__array_function__(func, types, args, kwargs)
        if func.__name__ in PRODUCTS:
            _noted(result)
        return result

    def __getitem__(self, where: Any) -> Any:
        part = _watched_entry(super().__getitem__(where))
        if self.is_running_sum and isinstance(part, WatchedArray):
            part.is_running_sum = True
        return part

    def __iter__(self) -> Any:
        for k in range(len(self)):
            entry = self[k]
            if isinstance(entry, np.floating):
                yield from self.view(np.ndarray)[k:]
                return
            yield entry

    def tolist(self) -> Any:
        if (arithmetic := _arithmetic()) is not None:
            arithmetic.in_order = True  # Python's own sums
        return super().tolist()

    def astype(self, dtype: Any, *more: Any, **options: Any) -> Any:
        cast = super().astype(dtype, *more, **options)
        if np.dtype(dtype).name in TYPES and coarser(np.dtype(dtype).name, self.dtype.name):
            _noted(cast)
        return cast


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, WatchedArray) else x


def _arithmetic() -> Any:
    """That of the subject whose call is followed."""
    tracer = active()
    return None if tracer is None else tracer.exploration.arithmetic


def watching() -> bool:
    """Whether the call that is made is one with such arrays."""
    arithmetic = _arithmetic()
    return arithmetic is not None and arithmetic.watching


def watched(x: Any) -> Any:
    """The array, entry or list of arrays as one that watches what is done to it; anything else as it is."""
    if isinstance(x, list):
        return [*map(watched, x)]
    if isinstance(x, np.floating) or (isinstance(x, np.ndarray) and x.dtype.kind == "f"):
        return np.asarray(x).view(WatchedArray)
    return x


def _watched_entry(x: Any) -> Any:
    """The same; single numbers as they are once so many were seen in the call that more would tell nothing."""
    plain = isinstance(x, np.floating) and (arithmetic := _arithmetic()) is not None and arithmetic.enough()
    return x if plain else watched(x)


def _noted(result: Any) -> None:
    if (arithmetic := _arithmetic()) is not None and hasattr(result, "dtype"):
        arithmetic.note(result.dtype)


def watch_conversions() -> None:
    """Let what NumPy makes of a watched array be one, too. Before third-party code takes names from NumPy."""
    for name in ("asarray", "array", "ascontiguousarray", "asfortranarray"):
        plain = getattr(np, name)
        if not hasattr(plain, "watches"):
            setattr(np, name, _converting(plain))


def _converting(plain: Any) -> Any:
    def convert(a: Any, *arguments: Any, **options: Any) -> Any:
        made = plain(a, *arguments, **options)
        return watched(made) if _is_watched(a) else made

    convert.__name__, convert.watches = plain.__name__, True  # type: ignore[attr-defined]
    return convert


def _is_watched(a: Any) -> bool:
    return isinstance(a, WatchedArray) or (type(a) is list and bool(a) and isinstance(a[0], WatchedArray))
