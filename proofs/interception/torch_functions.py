"""What torch's functions do to random tensors, found by doing it.

A function that moves entries is seen to do so on entries without meaning (``torch_probes``). One that works element by
element is run on each element with the real kernel, so that precision and promotion are torch's own, and has to be
monotone there (``monotone``). Comparisons, searches, races and what takes numbers out of torch need their meaning.
Anything else ends the trace.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .arithmetic import COMPARE
from .arrays import compared_with_row, traced_array
from .monotone import applied
from .numbers import Traced
from .places import place, site
from .race import race
from .reads import asking_line
from .sources import Lattice
from .tensors import (
    TracedTensor,
    key_of,
    nested,
    numbers_of,
    plain,
    register_view,
    sized,
    tensor_of,
)
from .torch_calls import FollowedCall, MovedPart, by_element, call_key, effect_of, of_one_number, works_by_element
from .tracer import Tracer
from .undecided import OpenAnswer, undecided

FINITE = {"isnan": False, "isinf": False, "isfinite": True}
"""What tests of a random number come to: a number that is not finite is a path of its own where it is met."""


class Functions:
    """The functions of torch on random tensors, for one tracer."""

    def __init__(self, tracer: Tracer):
        self.tracer = tracer

    def follow(self, func: Callable, name: str, args: tuple, kwargs: dict, dunder: bool = False) -> Any:
        """Return func(*args, **kwargs) where some argument is random. name: without underscores."""
        if name in ("tensor", "as_tensor") and not isinstance(args[0], torch.Tensor):
            return self.tensor(*args, **kwargs)
        if name in ("repr", "format"):
            return "<random tensor>"
        if name == "type_as":
            func, name, args = torch.Tensor.to, "to", (args[0], args[1].dtype)
        if name in ("item", "tolist", "numpy") or (dunder and name in ("float", "int", "bool", "index")):
            return self.take_out(name, args[0])
        if name in COMPARE:
            return self.compare(func, name, args, kwargs)
        if name in ("argmax", "argmin"):
            return self.winners(name == "argmax", *args, **kwargs)[1]
        if name in ("max", "min") and ((len(args) > 1 and not isinstance(args[1], torch.Tensor)) or "dim" in kwargs):
            return torch.return_types.max(self.winners(name == "max", *args, **kwargs))
        if name in ("searchsorted", "bucketize"):
            return self.searchsorted(name, *args, **kwargs)
        call = FollowedCall(func, name, args, kwargs)
        if name in FINITE:
            return torch.full(call.slots[0].shape, FINITE[name])
        try:
            result = self.by_what_it_does(call)
        except (RuntimeError, IndexError, TypeError, ValueError):
            call.in_the_middle()  # raises what torch raises of any numbers
            result = None
        if result is None:
            self.tracer.give_up(f"torch's {name} of random numbers at {place()} is not followed")
        return result

    def tensor(self, data: Any, dtype: torch.dtype | None = None, **options: Any) -> Tensor:
        """Return torch.tensor of Python numbers, some of them random."""
        leaves = np.array(data, dtype=object)
        kind = dtype or torch.get_default_dtype()
        shape = (1,) if leaves.ndim else ()
        numbers = np.empty(leaves.shape, dtype=object)
        for where in np.ndindex(*leaves.shape):
            leaf = leaves[where]
            make = lambda v: torch.tensor(v, dtype=kind).reshape(shape)  # noqa: E731
            numbers[where] = leaf.then(make, "tensor", str(kind), shape) if isinstance(leaf, Traced) else make(leaf)
        return tensor_of(numbers, kind)

    def take_out(self, name: str, tensor: Tensor) -> Any:
        """Return Python or NumPy numbers out of a tensor: still followed, unless Python insists on a float."""
        numbers = numbers_of(tensor)
        if name == "tolist":
            return nested(numbers)
        if name == "numpy":
            taken = [x.then(lambda v: v.numpy().flat[0], "numpy") if isinstance(x, Traced) else x.numpy().flat[0]
                     for x in numbers.flat]  # fmt: skip
            return traced_array(taken, numbers.shape)
        if numbers.size != 1:
            raise RuntimeError(f"a Tensor with {numbers.size} elements cannot be converted to a number")
        number = numbers.flat[0]
        if not isinstance(number, Traced):
            return {"item": lambda v: v.item(), "float": float, "bool": bool}.get(name, int)(number)
        if name == "item":
            return number.then(lambda v: v.item(), "item")
        if name == "bool":
            return number.compare(0, "ne")
        return number.whole(int, "int") if name in ("int", "index") else float(number)

    def by_what_it_does(self, call: FollowedCall) -> Any:
        """Call a function that describes random tensors, moves their entries, or works on each; None if it does not."""
        effects, key = self.tracer.exploration.effects, call_key(call)
        effect = effects.get(key) if key else None
        if effect is None:
            effect = effect_of(call)
            if key:
                effects[key] = effect
        if effect.describes:
            args, kwargs = call.build([plain(x) if isinstance(x, TracedTensor) else x for x in call.slots])
            return call.func(*args, **kwargs)
        if effect.parts is not None:
            numbers = [x for k in call.random for x in numbers_of(call.slots[k]).flat]
            return effect.container(iter([self._moved(call, part, numbers) for part in effect.parts]))
        return None if effect.like is None else self.elementwise(call, effect.like)

    def _moved(self, call: FollowedCall, part: MovedPart, numbers: list[Any]) -> Tensor:
        """Return one tensor of what a function returns that moves entries."""
        taken = np.empty(part.places.shape, dtype=object)
        dtype, scalar = part.constants.dtype, part.places.ndim == 0
        fits = all((call.slots[k].ndim == 0) == scalar for k in call.random)
        for where in np.ndindex(*taken.shape):
            came = part.places[where]
            number = numbers[came] if came >= 0 else sized(part.constants[where].clone(), scalar)
            if not fits:
                number = sized(number, scalar)
            if dtype not in call.kinds and isinstance(number, Traced):  # a dtype that holds it exactly
                number = number.then(lambda v: v.to(dtype), "to", dtype)
            taken[where] = number if isinstance(number, Traced) else number.to(dtype)
        if part.view_of is None:
            return tensor_of(taken, dtype)
        # A view has to be traced even if no entry of it is random yet: it can be filled in place.
        start = call.starts[call.random.index(part.view_of)]
        return register_view(tensor_of(taken, dtype, traced=True), call.slots[part.view_of], part.places - start)

    def elementwise(self, call: FollowedCall, like: Tensor) -> Tensor | None:
        """Run a function element by element; None if it does not work so. like: what it returns of other entries."""
        shape = tuple(like.shape)
        try:
            columns = by_element(call.slots, shape)
            if not works_by_element(call, like):
                return None
        except (RuntimeError, ValueError, IndexError):
            return None
        results = np.empty(math.prod(shape), dtype=object)
        for k, operands in zip(range(len(results)), zip(*columns)):
            results[k] = self._one(call, operands, like)
        if not like.dtype.is_floating_point:
            return torch.tensor([int(x) for x in results], dtype=like.dtype).reshape(shape)
        return tensor_of(results.reshape(shape), like.dtype)

    def _one(self, call: FollowedCall, operands: tuple, like: Tensor) -> Any:
        """Return one element of a result: a number, or what it has become."""
        random = [x for x in operands if isinstance(x, Traced)]
        if not random:
            args, kwargs = call.build(operands)
            return call.func(*args, **kwargs)
        number, what = random[0], f"torch's {call.name}"
        if len(random) > 1:
            self.tracer.give_up(f"two random numbers meet in {what} at {place()}")
        apply, key = of_one_number(call, operands, number)
        if not like.dtype.is_floating_point:
            return number.whole(lambda v: int(apply(v)), call.name, *key)
        return applied(number, apply, what, *key)

    def compare(self, func: Callable, name: str, args: tuple, kwargs: dict) -> Tensor:
        """Compare random tensors with others, element by element."""
        call = FollowedCall(func, name, args, kwargs)
        shape = np.broadcast_shapes(*(tuple(x.shape) for x in call.slots if isinstance(x, torch.Tensor)))
        if not kwargs and (passed := self._looked_up(func, COMPARE[name], *args)) is not None:
            return passed.reshape(shape)
        columns = zip(range(math.prod(shape)), *by_element(call.slots, shape))
        at = site(), asking_line()
        return undecided([self._compared(call, operands, at) for _, *operands in columns], shape)

    def _compared(self, call: FollowedCall, operands: list, at: tuple) -> bool | OpenAnswer:
        """Return what one comparison comes to on this path, or a decision. at: where it is asked for."""
        random = [x for x in operands if isinstance(x, Traced)]
        if not random:
            args, kwargs = call.build(operands)
            return bool(call.func(*args, **kwargs))
        number = random[0]
        if len(random) > 1:
            self.tracer.give_up(f"two random numbers meet in torch's {call.name} at {place()}")
        if any(isinstance(x, torch.Tensor) and bool(x.isnan().any()) for x in operands):
            self.tracer.notice("nan", f"a random number is compared with NaN at {place()}")
        if COMPARE[call.name] not in ("eq", "ne"):
            apply, key = of_one_number(call, operands, number)
            true = lambda v: bool(apply(v))  # noqa: E731
            answer = number.foregone(true, *key)
            return OpenAnswer(number, true, key, at) if answer is None else answer
        # Equality is not monotone; "below" and "not above" are.
        (below, one), (up_to, other) = (of_one_number(call, operands, number, side) for side in (torch.lt, torch.le))
        same = not number.decide(lambda v: bool(below(v)), *one) and number.decide(lambda v: bool(up_to(v)), *other)
        return same == (COMPARE[call.name] == "eq")

    def _looked_up(self, func: Callable, name: str, one: Any, other: Any) -> Tensor | None:
        """Return a comparison of a random number with a row that is kept whole; None if it is no such comparison."""
        first = isinstance(one, TracedTensor)
        number, cuts = (one, other) if first else (other, one)
        if name in ("eq", "ne") or not isinstance(number, TracedTensor) or type(cuts) is not torch.Tensor:
            return None
        if cuts.numel() < self.tracer.whole_from or number.numel() > 1 or number.dtype != cuts.dtype:
            return None  # of another type a number without dimension takes the row's
        single = numbers_of(number).item()
        if not isinstance(single, Traced) or not isinstance(single.source, Lattice):
            return None
        row = cuts.reshape(-1).clone()

        def true(values: Tensor) -> np.ndarray:
            return (func(values, row) if first else func(row, values)).numpy()

        ascending = (name in ("gt", "ge")) == first
        return torch.from_numpy(compared_with_row(self.tracer, single, true, ascending, row.tolist))

    def winners(self, largest: bool, tensor: Tensor, dim: int | None = None, keepdim: bool = False, *,
                axis: int | None = None, keepdims: bool = False) -> tuple[Any, Tensor]:  # fmt: skip
        """Return what the winners scored, which is spent noise (None without a dimension), and where they are."""
        numbers = numbers_of(tensor)
        dim, keep = (axis if dim is None else dim), keepdim or keepdims
        if dim is None:
            return None, torch.tensor(race(list(numbers.ravel()), largest)).reshape([1] * numbers.ndim if keep else [])
        rows = np.moveaxis(numbers, dim, -1)
        places = list(np.ndindex(*rows.shape[:-1]))
        chosen = [race(list(rows[w]), largest) for w in places]
        scores = np.empty(rows.shape[:-1], dtype=object)
        for w, k in zip(places, chosen):
            scores[w] = sized(rows[w][k], scores.ndim == 0 and not keep)
        index = torch.tensor(chosen, dtype=torch.int64).reshape(rows.shape[:-1])
        if keep:
            return tensor_of(np.expand_dims(scores, dim), tensor.dtype), index.unsqueeze(dim)
        return tensor_of(scores, tensor.dtype), index

    def searchsorted(self, name: str, *args: Any, out_int32: bool = False, right: bool = False,
                     side: str | None = None, sorter: Any = None) -> Tensor:  # fmt: skip
        """Return the places of random numbers in rows of known cuts."""
        cuts, values = args if name == "searchsorted" else args[::-1]
        if isinstance(cuts, TracedTensor) or sorter is not None:
            self.tracer.give_up(f"torch.searchsorted in random numbers, or by a sorter, at {place()}")
        right = right or side == "right"
        numbers = numbers_of(values) if isinstance(values, torch.Tensor) else np.array(values, dtype=object)
        places = np.zeros(numbers.shape, dtype=np.int64)
        above = torch.ge if right else torch.gt
        for where in np.ndindex(*numbers.shape):
            row = cuts if cuts.ndim == 1 else cuts[where[:-1]]
            number = numbers.item(where)
            if isinstance(number, Traced):
                found = self.tracer.look_up(number, lambda v, row=row: above(v, row).numpy(), row.tolist)
                if found is not None:
                    places[where] = found
                    continue
            for cut in row.unbind():
                if isinstance(number, Traced):
                    passed = number.decide(lambda v, c=cut: bool(above(v, c)), "search", right, key_of(cut))
                else:
                    passed = bool(above(number, cut))
                if not passed:
                    break
                places[where] += 1
        return torch.tensor(places, dtype=torch.int32 if out_int32 else torch.int64)
