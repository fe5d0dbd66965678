"""Functions of large tensors that calls on one draft block ask again, each time of the same numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

LARGE = 2**15
"""Entries of a tensor from which on a comparison takes less time than what is computed of it."""

MOST_BYTES = 2**26
"""Of tensors that are kept."""

ASKED_AGAIN = {"softmax", "log_softmax", "exp", "log", "sort", "argsort", "cumsum"}
"""Functions of a tensor's numbers and plain settings alone, whose results share no memory with it."""

SETTINGS = {int, bool, str, type(None), torch.dtype}


class _Answers:
    """What such functions gave, for as long as there is room.

    Each is looked up by the function, its settings and a few of the numbers, and taken where all the numbers are, bit
    by bit, those that it was asked of: where somebody has written to them the function is asked itself.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple, tuple[np.ndarray, Any]] = {}
        self._bytes = 0

    def of(self, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        """func(*args, **kwargs), in memory of its own."""
        settings = *args[1:], *kwargs.values()
        if not _large(args[:1]) or not all(type(x) in SETTINGS for x in settings):
            return func(*args, **kwargs)
        numbers = args[0].numpy()
        bits = numbers.reshape(-1).view(f"i{numbers.itemsize}")
        few = tuple(bits[:: len(bits) // 8].tolist())
        key = func, numbers.shape, args[0].dtype, args[1:], tuple(kwargs.items()), few
        asked, answer = self._kept.get(key, (None, None))
        if asked is None or not (asked == bits).all():
            answer = func(*args, **kwargs)
            if self._bytes > MOST_BYTES:
                self._kept, self._bytes = {}, 0
            self._kept[key] = bits.copy(), _copied(answer)
            self._bytes += 2 * bits.nbytes
            return answer
        return _copied(answer)


def _large(tensors: tuple) -> bool:
    return all(
        type(x) is torch.Tensor
        and x.numel() >= LARGE
        and x.dtype in (torch.float64, torch.float32)
        and x.is_contiguous()
        and not x.requires_grad
        and x.device.type == "cpu"
        for x in tensors
    )


def _copied(answer: Any) -> Any:
    return answer.clone() if isinstance(answer, torch.Tensor) else type(answer)([part.clone() for part in answer])


def equal(func: Callable, args: tuple, kwargs: dict[str, Any]) -> bool:
    """torch.equal, of large tensors by NumPy, which takes less than half the time."""
    if kwargs or len(args) != 2 or not _large(args):
        return func(*args, **kwargs)
    one, other = (x.numpy() for x in args)
    return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())


_ANSWERS = _Answers()
OF_LARGE: dict[str, Callable[[Callable, tuple, dict[str, Any]], Any]] = {
    **dict.fromkeys(ASKED_AGAIN, _ANSWERS.of), "equal": equal,
}  # fmt: skip
"""By a function's name, how it is asked: it, its arguments -> its result."""
