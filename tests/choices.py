"""Cases of a test that run each time, and those that a target of make runs."""

from collections.abc import Collection, Iterable

import pytest


def long_unless(cases: Iterable, few: Collection, mark: pytest.MarkDecorator = pytest.mark.long) -> list:
    """Return cases of a test, all but a few with a mark. A tuple is a case of several arguments."""
    return [case if case in few else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=mark)
            for case in cases]  # fmt: skip
