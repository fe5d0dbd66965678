"""The checks of a verifier as tests of its own suite: python -m pytest examples/test_right.py"""

import right

from draftproof import parametrize_with_checks


@parametrize_with_checks([right.verify])
def test_right(check):
    check()
