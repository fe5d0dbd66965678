"""What is said of bad input: an error of one line."""

import pytest

from draftproof.models.errors import InputError


def one_line(call, *arguments, error=InputError, **options) -> str:
    """Return the one line of the error by which a call refuses its input."""
    with pytest.raises(error) as caught:
        call(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)
