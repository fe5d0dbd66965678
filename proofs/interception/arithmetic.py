"""In which types a function computes on its rows: what of its arithmetic was followed, and what may go unseen.

Torch's functions are all seen by the mode that is in force. Of NumPy a call more on a path is made, with arrays that
watch what is done to them (``watched_arrays``), until an operation in the rows' own type was seen; what leaves such
arrays is not seen, so that NumPy's arithmetic is known where it is as coarse as the rows, and never to be finer.
"""

import math
import sys
from functools import cache
from typing import Any

TYPES = ("float64", "float32", "float16", "bfloat16")
"""From fine to coarse."""

MOVES = {
    "where", "masked_fill", "fill", "zero", "copy", "argmax", "argmin", "max", "min", "amax", "amin", "maximum",
    "minimum", "clamp", "clamp_min", "clamp_max", "clip", "relu", "neg", "negative", "abs", "absolute", "sort",
    "argsort", "topk", "scatter", "index_fill", "index_copy", "index_put", "masked_select", "nonzero", "floor", "ceil",
    "round", "trunc", "sign", "isnan", "isinf", "isfinite", "searchsorted", "bucketize", "zeros", "ones", "empty",
    "full", "zeros_like", "ones_like", "empty_like", "full_like", "arange", "eye", "tril", "triu", "new_zeros",
    "new_ones", "new_empty", "new_full", "new_tensor", "any", "all", "equal", "item", "tolist", "bool", "repr", "str",
    "format", "from_numpy", "nan_to_num", "one_hot", "detach", "requires_grad", "kthvalue", "take_along_dim", "pad",
    "set", "resize", "iter", "len", "hash", "deepcopy", "data", "int", "long", "short", "index", "is_nonzero", "unique",
    "count_nonzero", "contains", "is_same_size", "version", "base", "grad",
}  # fmt: skip
"""Functions of torch that round nothing, apart from those that move or compare elements."""

CASTS = {"to", "float", "double", "half", "bfloat16", "type", "type_as", "copy", "setitem", "index_put"}
ESCAPES = {"numpy", "array", "dlpack", "data_ptr", "untyped_storage", "storage"}
PASSED = MOVES - CASTS - ESCAPES - {"tolist"}
"""Functions of torch that say nothing of where it rounds."""

BY_ELEMENT = {
    "add", "sub", "subtract", "rsub", "radd", "mul", "multiply", "rmul", "div", "divide", "true_divide", "truediv",
    "rdiv", "rtruediv", "log", "log2", "log10", "log1p", "exp", "exp2", "expm1", "sqrt", "pow", "square", "reciprocal",
    "sigmoid", "tanh", "logit", "tensor", "as_tensor", "rand", "rand_like", "uniform", "exponential", "bernoulli",
    "multinomial", "iadd", "isub", "imul", "itruediv", "rpow", "ipow", "cumprod", *CASTS,
}  # fmt: skip
"""Functions of torch that add up no rows."""

IN_TREES = {"sum", "mean"}
"""Functions of torch that add up rows by a cascade of short sums (``rounding.theorem.sum_depth``)."""

RUNNING = {"cumsum", "logcumsumexp"}
DIVISIONS = {"div", "divide", "true_divide", "truediv", "itruediv"}
ADDITIONS = {"add", "radd", "iadd"}
MANY_ADDITIONS = 64
"""Additions of single numbers in one call from which on they are taken to be a sum in order."""

MANY_ENTRIES = 4096
"""Single entries of rows that are watched in one call; further ones are plain numbers."""

LOOKS = 4
"""Calls more on a wide problem that look for sums in order."""


def coarser(one: str, other: str) -> bool:
    return TYPES.index(one) > TYPES.index(other)


class Arithmetic:
    """Of a subject on one problem.

    rows: their type. followed: types in which an operation was seen to round. unseen: those in which one may.
    in_trees: whether all sums over rows that were followed are of a cascade. in_order: whether a row may be divided by
      a sum in order: by the last of a running sum, by one of single numbers.
    noting: whether it is the function that computes, and not what calls it.
    watching: whether arrays are handed in that watch what is done to them.
    """

    def __init__(self, rows: str, array: str, wide: bool):
        self.rows, self.array = rows, array
        self.followed: set[str] = set()
        self.unseen = set() if array == "torch" else {rows}
        self.in_trees, self.in_order, self.noting, self.watching = array == "torch", array == "list", False, False
        self.looks = LOOKS if wide else 0
        self.additions = self.entries = 0

    @property
    def wanting(self) -> bool:
        """Whether a call more may tell something."""
        of_types = self.rows != "float64" and self.rows in self.unseen
        return self.array in ("numpy", "rows") and (of_types or (self.looks > 0 and not self.in_order))

    def answer(self) -> dict[str, Any]:
        """For the parent."""
        types = {"followed": sorted(self.followed), "unseen": sorted(self.unseen)}
        return types | {"in_trees": self.in_trees, "in_order": self.in_order}

    def note(self, dtype: Any) -> None:
        """An operation rounds to this type."""
        name = str(dtype).removeprefix("torch.")
        if name in TYPES and self.noting:
            self.followed.add(name)
            if self.rows != "float64":
                self.unseen = {one for one in self.unseen if coarser(one, name)}

    def added(self) -> None:
        """Single numbers were added, in a call at whose beginning ``additions`` was 0."""
        self.additions += 1
        self.in_order = self.in_order or self.additions > MANY_ADDITIONS

    def enough(self) -> bool:
        """Whether so many entries of rows were taken one by one in this call that the next may be plain numbers."""
        self.entries += 1
        return self.entries > MANY_ENTRIES

    def torch_call(self, name: str, args: tuple, kwargs: dict, result: Any, exact: bool) -> None:
        """A function of torch was called. exact: whether it moves or compares elements."""
        if name in PASSED and not exact:
            return
        if name == "getitem":
            if getattr(args[0], "is_running_sum", False) and _is_tensor(result):
                result.is_running_sum = True
            return
        taken = [*_types(args), *_types(kwargs.values())]
        if not taken and not (made := _types([result])):
            return
        if name in ESCAPES:
            self.unseen.update(t for t in taken if not any(coarser(f, t) or f == t for f in self.followed))
        elif name == "tolist":
            self.in_order = True  # Python's own sums
        elif name in CASTS:
            made = _types([args[0] if result is None else result])
            if made and any(coarser(made[0], t) for t in taken):
                self.note(made[0])
        elif exact:
            if (kind := _compared_in(name, args)) is not None:
                self.note(kind)
        else:
            made = _types(result if isinstance(result, (tuple, list)) else [result])
            self.note(max(made or taken, key=TYPES.index))
            self._order(name, args, result)

    def _order(self, name: str, args: tuple, result: Any) -> None:
        if name in ADDITIONS and getattr(result, "ndim", 1) == 0:
            self.added()
        if name in RUNNING and _is_tensor(result):
            result.is_running_sum = True
        if name in DIVISIONS and len(args) == 2:
            row, total = (getattr(x, "is_running_sum", False) for x in args)
            self.in_order = self.in_order or (total and not row)
        if name not in BY_ELEMENT | IN_TREES or self.in_order:
            self.in_trees = False


def _is_tensor(x: Any) -> bool:
    return hasattr(x, "is_floating_point") and hasattr(x, "dtype")


@cache
def _type_name(dtype: Any) -> str | None:
    """The name of a type of torch's for numbers with a fraction; None of all others."""
    module, _, name = str(dtype).rpartition(".")
    return name if module == "torch" and name in TYPES else None


def _types(values: Any) -> list[str]:
    """The types of the tensors of numbers with a fraction among them."""
    names = []
    for x in values:
        kind = getattr(x, "dtype", None)
        if kind is not None and (name := _type_name(kind)):
            names.append(name)
    return names


def _compared_in(name: str, args: tuple) -> Any:
    """The type to which a comparison rounds one of its sides; None where both are compared as they are."""
    if len(args) != 2 or name in ("getitem", "view_as", "reshape_as", "expand_as"):
        return None
    plain = [x for x in args if not _is_tensor(x)]
    if any(type(x) is not float and not hasattr(x, "source") for x in plain):
        return None
    if all(type(x) is float and (x in (0.0, 1.0) or math.isinf(x)) for x in plain) and plain:
        return None
    kinds = {str(x.dtype) for x in args if _is_tensor(x)}
    if not plain and len(kinds) < 2:
        return None
    torch: Any = sys.modules["torch"]
    return torch.result_type(*(x if _is_tensor(x) else 0.5 for x in args))
