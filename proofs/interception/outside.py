"""Ids outside the vocabulary that a subject returns, and the line of its code, or its answer, that has them."""

import inspect
import linecache
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

KIND = "outside-vocabulary"
"""Of the finding."""

MOST_FOLLOWED = 1000
"""Calls that are followed to the line, at most: each way that the random numbers can fall is called several times."""

Result = TypeVar("Result")


class Outside:
    """What calls on one problem return that is no token.

    id: the first that is none. place: the file, the line and its text, once such a call was followed; a program's
    answer.
    """

    def __init__(self, function: Any):
        self.code = _code_of(function)
        self.begin(0)

    def begin(self, vocabulary: int) -> None:
        """From here on ids are those of a problem; 0: nothing is looked at."""
        self.vocabulary, self.id, self.place, self.followed, self.line = vocabulary, None, "", 0, 0

    def calling(self, call: Callable[[], Result]) -> Result:
        """A call, followed to the line where it returns if it is not known yet which line returns such an id."""
        self.line = 0
        if self.id is None or self.place or self.code is None or self.followed >= MOST_FOLLOWED or sys.getprofile():
            return call()
        self.followed += 1
        sys.setprofile(self._event)
        try:
            return call()
        finally:
            sys.setprofile(None)

    def _event(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and frame.f_code is self.code:
            self.line = frame.f_lineno

    def look_at(self, tokens: Sequence[int], by_a_call: bool = True) -> None:
        """What the last call returned, or, as far as is known, some call."""
        if not self.vocabulary or self.place:
            return
        stray = self._stray(tokens)
        if stray is not None and by_a_call and self.line and self.code:
            text = linecache.getline(self.code.co_filename, self.line).strip()
            self.place = f", at {Path(self.code.co_filename).name}:{self.line}" + (f": {text[:100]}" if text else "")
        self.id = self.id if stray is None else stray

    def look_at_answer(self, tokens: Sequence[int], shown: Callable[[], str]) -> None:
        """What a program answered. shown: its answer, in words."""
        if self.vocabulary and not self.place and (stray := self._stray(tokens)) is not None:
            self.id, self.place = stray, f", in its answer {shown()}"

    def _stray(self, tokens: Sequence[int]) -> int | None:
        if not tokens or (min(tokens) >= 0 and max(tokens) < self.vocabulary):
            return None
        return next(token for token in tokens if not 0 <= token < self.vocabulary)

    @property
    def finding(self) -> dict[str, str]:
        """By its kind, if there is one."""
        return {} if self.id is None else {KIND: f"returns {self.id}, an id outside the vocabulary{self.place}"}


def _code_of(function: Any) -> CodeType | None:
    """The code of a function, or of an object's ``__call__``."""
    function = inspect.unwrap(getattr(function, "func", function))
    function = function if hasattr(function, "__code__") else inspect.getattr_static(type(function), "__call__", None)
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None
