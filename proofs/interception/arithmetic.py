"""The dtypes in which a function computes on its rows, as far as torch's functions show them.

The mode that follows a call sees every function of torch. What leaves torch is out of sight, and so is all of NumPy and
of plain Python: rounding there is excused by the dtype of the rows.
"""

import math
import sys
from functools import cache
from typing import Any

TYPES = ("float64", "float32", "float16", "bfloat16")
"""The dtypes of rows, from fine to coarse."""

COMPARE = {
    "lt": "lt", "less": "lt", "le": "le", "less_equal": "le", "gt": "gt", "greater": "gt", "ge": "ge",
    "greater_equal": "ge", "eq": "eq", "ne": "ne", "not_equal": "ne",
}  # fmt: skip
"""torch's comparisons, under each of their names."""

EXACT = {
    "where", "masked_fill", "fill", "zero", "argmax", "argmin", "max", "min", "amax", "amin", "maximum", "minimum",
    "clamp", "clamp_min", "clamp_max", "clip", "relu", "neg", "negative", "abs", "absolute", "sort", "argsort", "topk",
    "scatter", "index_fill", "index_copy", "masked_select", "nonzero", "floor", "ceil", "round", "trunc", "sign",
    "isnan", "isinf", "isfinite", "searchsorted", "bucketize", "zeros", "ones", "empty", "full", "zeros_like",
    "ones_like", "empty_like", "full_like", "arange", "eye", "tril", "triu", "new_zeros", "new_ones", "new_empty",
    "new_full", "new_tensor", "any", "all", "equal", "item", "bool", "repr", "str", "format", "from_numpy",
    "nan_to_num", "one_hot", "kthvalue", "take_along_dim", "pad", "set", "resize", "deepcopy", "int", "long", "short",
    "index", "unique", "stack", "cat", "concat", "hstack", "vstack", "flip", "index_select", "gather", "repeat", "tile",
    "clone", "take", "roll", "contiguous", "reshape", "reshape_as", "flatten", "cpu", "requires_grad", "detach",
}  # fmt: skip
"""Functions of torch that round nothing although they make new tensors."""

CASTS = {"to", "float", "double", "half", "bfloat16", "type", "type_as", "copy", "setitem", "index_put"}
ESCAPES = {"numpy", "array", "dlpack", "data_ptr", "untyped_storage", "storage"}

BY_ELEMENT = {
    "add", "sub", "subtract", "rsub", "radd", "mul", "multiply", "rmul", "div", "divide", "true_divide", "truediv",
    "rdiv", "rtruediv", "log", "log2", "log10", "log1p", "exp", "exp2", "expm1", "sqrt", "pow", "square", "reciprocal",
    "sigmoid", "tanh", "logit", "tensor", "as_tensor", "rand", "rand_like", "uniform", "exponential", "bernoulli",
    "multinomial", "iadd", "isub", "imul", "itruediv", "rpow", "ipow", "cumprod", *CASTS,
}  # fmt: skip
"""Functions of torch that add up no rows."""

IN_TREES = {"sum", "mean"}
"""Functions of torch that add up rows by a cascade of short sums (``rounding.token_and_block.sum_depth``)."""

RUNNING = {"cumsum", "logcumsumexp"}
DIVISIONS = {"div", "divide", "true_divide", "truediv", "itruediv"}
ADDITIONS = {"add", "radd", "iadd"}
MANY_ADDITIONS = 64
"""Additions of single numbers in one call beyond which they count as a sum in order."""


def coarser(one: str, other: str) -> bool:
    """Return whether the first dtype is coarser than the second."""
    return TYPES.index(one) > TYPES.index(other)


class Arithmetic:
    """What is known of the arithmetic of one subject in torch on one problem.

    rows: the dtype of the rows.
    followed: the dtypes in which an operation was seen to round. unseen: those in which one may.
    in_trees: whether all sums over rows that were followed are cascades.
    in_order: whether a row may be divided by a sum in order (the last of a running sum, or a sum of single numbers).
    noting: whether the function itself computes now, and not what calls it.
    additions: single numbers that were added in this call.
    """

    def __init__(self, rows: str):
        self.rows = rows
        self.followed: set[str] = set()
        self.unseen: set[str] = set()
        self.in_trees, self.in_order, self.noting = True, False, False
        self.additions = 0

    def answer(self) -> dict[str, Any]:
        """Return what the parent is told."""
        types = {"followed": sorted(self.followed), "unseen": sorted(self.unseen)}
        return types | {"in_trees": self.in_trees, "in_order": self.in_order}

    def note(self, dtype: Any) -> None:
        """Record that an operation rounds to this dtype."""
        name = str(dtype).removeprefix("torch.")
        if name in TYPES and self.noting:
            self.followed.add(name)
            if self.rows != "float64":
                self.unseen = {one for one in self.unseen if coarser(one, name)}

    def torch_call(self, name: str, args: tuple, kwargs: dict, result: Any) -> None:
        """Record a call of a function of torch. name: without underscores."""
        if name in COMPARE:
            if (kind := _compared_in(args)) is not None:
                self.note(kind)
            return
        if name == "getitem":
            if getattr(args[0], "is_running_sum", False) and _is_tensor(result):
                result.is_running_sum = True
            return
        taken = [*_types(args), *_types(kwargs.values())]
        if name in ESCAPES:
            self.unseen.update(t for t in taken if not any(coarser(f, t) or f == t for f in self.followed))
        elif name == "tolist":
            self.in_order = self.in_order or bool(taken)  # Python adds in order
        elif name in CASTS:
            made = _types([args[0] if result is None else result])
            if made and any(coarser(made[0], t) for t in taken):
                self.note(made[0])
        elif name not in EXACT and not _is_view(result, args):
            results = result if isinstance(result, (tuple, list)) else [result]
            made = _types(results) or (taken if any(map(_is_tensor, results)) else [])
            if made:
                self.note(max(made, key=TYPES.index))
                self._order(name, args, result)

    def _order(self, name: str, args: tuple, result: Any) -> None:
        """Record in which order the call may have added."""
        if name in ADDITIONS and getattr(result, "ndim", 1) == 0:
            self.additions += 1
            self.in_order = self.in_order or self.additions > MANY_ADDITIONS
        if name in RUNNING and _is_tensor(result):
            result.is_running_sum = True
        if name in DIVISIONS and len(args) == 2:
            row, total = (getattr(x, "is_running_sum", False) for x in args)
            self.in_order = self.in_order or (total and not row)
        if name not in BY_ELEMENT | IN_TREES or self.in_order:
            self.in_trees = False


def _is_tensor(x: Any) -> bool:
    return hasattr(x, "is_floating_point") and hasattr(x, "dtype")


def _is_view(result: Any, args: tuple) -> bool:
    """Return whether the result only shows other entries of the first argument's memory."""
    first: Any = result
    if isinstance(result, (tuple, list)) and result:
        first = result[0]
    if not args or result is args[0] or not _is_tensor(first) or not _is_tensor(args[0]):
        return False
    return first.untyped_storage().data_ptr() == args[0].untyped_storage().data_ptr()


@cache
def _type_name(dtype: Any) -> str | None:
    """Return the name of a floating dtype of torch; None for any other."""
    module, _, name = str(dtype).rpartition(".")
    return name if module == "torch" and name in TYPES else None


def _types(values: Any) -> list[str]:
    """Return the names of the floating dtypes of the tensors among the values."""
    names = []
    for x in values:
        kind = getattr(x, "dtype", None)
        if kind is not None and (name := _type_name(kind)):
            names.append(name)
    return names


def _compared_in(args: tuple) -> Any:
    """Return the dtype to which a comparison rounds one of its sides; None if it compares them unrounded."""
    if len(args) != 2:
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
